//! Whether the filter is as good as it says with a sensor whose errors are drawn from the filter's own priors.
//!
//! The simulated sensors of the tables are better than the default priors, so there the filter claims too much error.
//! Here biases, scales and axes, noise, wandering biases, a change of the bias where the motion begins and a mount that
//! gives way have the standard deviations of the configuration; only the motion is not the filter's model of it.

use super::super::filter::MOUNT_STD;
use super::sensors::Mems;
use super::trips::{Kind, Trip};
use super::*;
use nalgebra::{Matrix2, Matrix3};

/// Mean NEES over the motion of a trip.
#[derive(Clone, Copy, Debug, Default)]
struct Nees {
    /// Two is right.
    tilt: f64,
    /// One is right.
    heading: f64,
    /// Three is right.
    bias: f64,
}

/// A name, what is right, and the value.
type Part = (&'static str, f64, fn(&Nees) -> f64);

/// From rest, 50 s of motion.
fn nees(kind: Kind, seed: u64) -> Nees {
    const RATE: u32 = 200;
    const BEGINS: f64 = 10.0;
    const SECONDS: u32 = 60;
    let config = config();
    let mut rng = ChaCha8Rng::seed_from_u64(1000 * seed + kind as u64);
    let trip = Trip::new(kind, BEGINS, f64::from(SECONDS), &mut rng);
    let mut sensor = Mems::of_priors(&config, 0.01, RATE, &mut rng);
    let mount = Matrix3::from_fn(|_, _| -> f64 { StandardNormal.sample(&mut rng) }) * (MOUNT_STD / G);
    let first_force = trip.sample(Stamp::from_nanos(0)).specific_force;
    let mut attitude = Attitude::new(config.clone()).unwrap();
    let (mut sum, mut count, mut first, mut moving) = (Nees::default(), 0.0, None, false);
    for (k, stamp) in stamps(RATE, SECONDS).enumerate() {
        let sample = trip.sample(stamp);
        if stamp.secs() >= BEGINS && !moving {
            moving = true;
            sensor.change_bias(config.rest.bias_change);
        }
        attitude.imu(&sensor.spoil(&sample)).unwrap();
        if !moving || k % 10 != 0 {
            continue;
        }
        let estimate = attitude.estimate().unwrap();
        let bent = UnitQuaternion::from_scaled_axis(mount * (sample.specific_force - first_force));
        // truth = turn about the vertical · tilt · estimate.
        let error = trip.orientation(stamp.secs()) * bent * estimate.orientation.inverse();
        let turned = 2.0 * error.k.atan2(error.w);
        let tilt = (UnitQuaternion::from_scaled_axis(Vector3::z() * -turned) * error).scaled_axis().xy();
        let covariance: Matrix2<f64> = estimate.orientation_covariance.fixed_view::<2, 2>(0, 0).into_owned();
        sum.tilt += tilt.dot(&covariance.cholesky().unwrap().solve(&tilt));
        let drift = UnitQuaternion::from_scaled_axis(Vector3::z() * (turned - *first.get_or_insert(turned)));
        sum.heading += drift.angle().powi(2) / estimate.orientation_covariance.m33;
        let bias = sensor.gyro_bias - estimate.gyro_bias;
        sum.bias += bias.dot(&estimate.gyro_bias_covariance.cholesky().unwrap().solve(&bias));
        count += 1.0;
    }
    Nees { tilt: sum.tilt / count, heading: sum.heading / count, bias: sum.bias / count }
}

/// Bands: a mean over N trips has at least the N times 2, 1 and 3 degrees of freedom of one instant each, so it is
/// within three standard deviations √(2 dof/N) of that where the filter is right. It may be less by a factor of three:
/// hypotheses that the motion does not decide between make the covariance larger.
#[test]
fn with_errors_of_its_priors_it_is_as_good_as_it_says() {
    const SEEDS: u64 = 8;
    let check = |name: &str, all: &[Nees]| {
        let parts: [Part; 3] = [("tilt", 2.0, |n| n.tilt), ("heading", 1.0, |n| n.heading), ("bias", 3.0, |n| n.bias)];
        let count = all.len() as f64;
        for (part, right, of) in parts {
            let mean = all.iter().map(of).sum::<f64>() / count;
            let least = all.iter().map(of).fold(f64::INFINITY, f64::min);
            let most = all.iter().map(of).fold(0.0, f64::max);
            println!("{name}: NEES of {part} {mean:.2} ({least:.2} to {most:.2})");
            let band = 3.0 * (2.0 * right / count).sqrt();
            let range = right / 3.0 - band..right + band;
            assert!(range.contains(&mean), "{name}: {part} {mean}, not in {range:.2?}");
        }
    };
    let mut all = Vec::new();
    for kind in Kind::ALL {
        let runs: Vec<Nees> = (0..SEEDS).map(|seed| nees(kind, seed)).collect();
        check(&format!("{kind:?}"), &runs);
        all.extend(runs);
    }
    check("all", &all);
}
