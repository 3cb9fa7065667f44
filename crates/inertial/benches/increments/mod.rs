//! Preintegration against finer integration and against draws.

use lienav_base::stamp::Stamp;
use lienav_inertial::imu::{Biases, Imu, ImuNoise, ImuSample};
use lienav_inertial::preintegration::galilei::Increment;
use lienav_inertial::preintegration::integrator::Integrator;
use lienav_inertial::preintegration::samples::Interpolation;
use lienav_inertial::preintegration::{Preintegrated, Preintegration, difference};
use lienav_lie::{LieGroup, So3};
use nalgebra::{SMatrix, SVector, Vector3};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

/// A hand that turns at 3 rad/s and shakes at 5 m/s², 1 to 2 Hz.
fn smooth(t: f64) -> Imu {
    let rate = Vector3::new(2.0 * (6.0 * t).sin(), 1.5 * (7.5 * t + 0.3).cos(), 1.0 + (5.0 * t).sin());
    let force = Vector3::new(3.0 * (8.0 * t).cos(), 2.0 * (9.0 * t + 1.0).sin(), 9.8 + 4.0 * (6.5 * t).sin());
    Imu::new(rate, force)
}

/// The second from 0 on; samples of the past are known.
fn integrate(rate_hz: i64, interpolation: Interpolation) -> Preintegrated {
    let mut integrator = Integrator::new(Biases::default(), ImuNoise::default(), interpolation);
    for k in -3..=rate_hz {
        let stamp = Stamp::from_nanos(k * 1_000_000_000 / rate_hz);
        integrator.push(ImuSample { stamp, value: smooth(stamp.secs()) }).expect("in order");
        if k == 0 {
            integrator.take(stamp).expect("the start");
        }
    }
    integrator.take(Stamp::from_nanos(1_000_000_000)).expect("the end")
}

/// Each sample held until the next.
fn held(rate_hz: u32) -> Increment {
    let h = 1.0 / f64::from(rate_hz);
    (0..rate_hz).fold(Increment::default(), |sum, k| {
        let value = smooth(f64::from(k) * h);
        let rotation = *So3::exp(&(value.rate * h)).matrix();
        let (velocity, position) = (value.force * h, value.force * (0.5 * h * h));
        sum.then(&Increment { rotation, velocity, position, duration_s: h })
    })
}

/// Largest relative differences of variances, and of covariances in units of the standard deviations.
fn compare_with_draws(draws: u32, noise: ImuNoise) -> (f64, f64) {
    const STEPS: u32 = 200;
    let h = 1.0 / f64::from(STEPS);
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut normal = |sigma: f64| {
        Vector3::from_fn(|_, _| {
            let unit: f64 = StandardNormal.sample(&mut rng);
            sigma * unit
        })
    };
    let run = |disturb: &mut dyn FnMut() -> (Vector3<f64>, Vector3<f64>)| {
        let mut sum = Preintegration::new(Biases::default(), noise);
        for k in 0..STEPS {
            let (middle, offset) = ((f64::from(k) + 0.5) * h, 3f64.sqrt() / 6.0 * h);
            let (rate, force) = disturb();
            let at = |t: f64| Imu::new(smooth(t).rate + rate, smooth(t).force + force);
            sum.add(h, &[at(middle - offset), at(middle + offset)]);
        }
        sum
    };
    let ideal = run(&mut || (Vector3::zeros(), Vector3::zeros())).finish();
    let mut sum = SMatrix::<f64, 15, 15>::zeros();
    for _ in 0..draws {
        let (mut gyro, mut force) = (Vector3::zeros(), Vector3::zeros());
        let drawn = run(&mut || {
            // The walk goes half its way before and half after the middle of the step.
            let before = (normal(noise.gyro_walk * h.sqrt()), normal(noise.accelerometer_walk * h.sqrt()));
            let seen = (gyro + before.0 * 0.5, force + before.1 * 0.5);
            (gyro, force) = (gyro + before.0, force + before.1);
            (seen.0 + normal(noise.gyro / h.sqrt()), seen.1 + normal(noise.accelerometer / h.sqrt()))
        });
        let mut error = SVector::<f64, 15>::zeros();
        error.fixed_rows_mut::<9>(0).copy_from(&difference(&ideal.increment, drawn.increment()));
        error.fixed_rows_mut::<3>(9).copy_from(&gyro);
        error.fixed_rows_mut::<3>(12).copy_from(&force);
        sum += error * error.transpose() / f64::from(draws);
    }
    let p = &ideal.covariance;
    let ratio = |i: usize, j: usize| ((sum[(i, j)] - p[(i, j)]) / (p[(i, i)] * p[(j, j)]).sqrt()).abs();
    let variances = (0..15).map(|i| ratio(i, i)).fold(0.0, f64::max);
    (variances, (0..225).map(|k| ratio(k / 15, k % 15)).fold(0.0, f64::max))
}

/// Prints both.
pub fn report() {
    let truth = integrate(8000, Interpolation::Cubic).increment;
    println!("| 200 Hz, 1 s, against 8 kHz | rotation [rad] | velocity [m/s] | position [m] |\n|---|---|---|---|");
    let cases = [
        ("samples held", held(200)),
        ("straight lines", integrate(200, Interpolation::Linear).increment),
        ("cubics", integrate(200, Interpolation::Cubic).increment),
    ];
    for (name, increment) in cases {
        let error = difference(&increment, &truth);
        let [r, v, p] = [0, 3, 6].map(|row| error.fixed_rows::<3>(row).norm());
        println!("| {name} | {r:.1e} | {v:.1e} | {p:.1e} |");
    }
    let loud = ImuNoise { gyro: 2e-3, accelerometer: 2e-2, gyro_walk: 3e-3, accelerometer_walk: 3e-2 };
    for (name, noise) in [("white noise", ImuNoise::default()), ("with large random walks", loud)] {
        let (variances, all) = compare_with_draws(100_000, noise);
        println!(
            "{name}, 100,000 draws: variances differ by at most {:.2} %, correlations by {all:.4}",
            100.0 * variances
        );
    }
}
