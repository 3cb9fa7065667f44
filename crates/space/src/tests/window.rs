//! The filter with a window of poses, in the pipeline.

use super::{Run, config, error, play, run, slam};
use crate::{Config, DropReason, Frame, Imu, ImuSample, Quality, Seen, Value};
use lienav_base::stamp::Stamp;
use lienav_lie::LieGroup;
use nalgebra::{Vector2, Vector3};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn with_window() -> Config {
    let mut config = Config { filter: "window".into(), ..config() };
    config.map.tracks_end = true;
    config
}

/// The pixels of a run as tracks that end after ten frames.
fn tracks(seconds: f64, seed: u64) -> Run {
    let mut run = run(seconds, seed, true);
    for (number, (_, frame)) in run.frames.iter_mut().enumerate() {
        frame.seen.iter_mut().for_each(|seen| seen.id += 100 * ((number as u64 + 7 * seen.id) / 10));
    }
    run
}

#[test]
fn tracks_of_corners_show_the_motion() {
    let run = tracks(15.0, 3);
    let mut slam = slam(with_window());
    let steps = play(&mut slam, &run);
    let worst = steps
        .iter()
        .map(|step| error(&run, &step.estimate))
        .fold((0.0_f64, 0.0_f64), |a, b| (a.0.max(b.0), a.1.max(b.1)));
    println!("{worst:?}");
    assert!(steps.len() > 250 && worst.0 < 0.15 && worst.1 < 4.5, "{worst:?}");
    assert_eq!(slam.quality(), Quality::Ok);
    // Clones of 21 frames and ten landmarks at most.
    assert!(steps.iter().all(|step| step.landmarks <= 2 * 21 + 10));
    assert!(slam.counts().by_word().values().all(|count| *count < 200), "{:?}", slam.counts().by_word());
    let again = play(&mut self::slam(with_window()), &run);
    assert!(steps == again);
}

/// Beyond 80 measurements a frame, the others drop what the window takes.
#[test]
fn a_frame_may_have_three_hundred_tracks() {
    for (filter, dropped) in [("window", 0), ("default", 220)] {
        let mut slam = slam(Config { filter: filter.into(), ..with_window() });
        let value = Imu::new(Vector3::zeros(), Vector3::new(0.0, 0.0, 9.80665));
        let seen = |id: u64| Seen { id, sensor: 0, value: Value::Normalized(Vector2::repeat(id as f64 * 1e-3)) };
        for k in 0..500 {
            slam.push_imu(&ImuSample { stamp: Stamp::from_secs(f64::from(k) * 0.005), value }).unwrap();
            while slam.poll().is_some() {}
        }
        slam.push_frame(&Frame { stamp: Stamp::from_secs(2.4), seen: (0..300).map(seen).collect() }).unwrap();
        while slam.poll().is_some() {}
        assert_eq!(slam.counts().get(DropReason::TooManyPoints), dropped, "{filter}");
    }
}

/// A robot that stands, with biases that do not drift: no drift beyond three standard deviations, and nothing is learned
/// of heading and position.
fn stand(seconds: usize) {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let mut normal = move || {
        let (a, b): (f64, f64) = (rng.random_range(f64::MIN_POSITIVE..1.0), rng.random());
        (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
    };
    let mut config = with_window();
    (config.imu.gyro_walk, config.imu.accelerometer_walk) = (0.0, 0.0);
    (config.start.position_std_m, config.start.yaw_std_rad) = (0.01, 0.01);
    let mut slam = slam(config);
    let (mut worst, mut least) = (0.0_f64, [f64::MAX; 2]);
    for k in 0..200 * seconds {
        let stamp = Stamp::from_secs(k as f64 * 0.005);
        if k % 20 == 0 {
            let mut corner = |id: u64| {
                let x =
                    Vector3::new(3.0 * (id as f64).sin(), 2.0 * (2.0 * id as f64).sin(), 4.0 + (3.0 * id as f64).sin());
                let pixel = x.xy() / x.z + Vector2::from_fn(|_, _| normal() / 400.0);
                // A fifth of the tracks stay.
                let track = if id.is_multiple_of(5) { id } else { id + 100 * ((k as u64 / 20 + 7 * id) / 10) };
                Seen { id: track, sensor: 0, value: Value::Normalized(pixel) }
            };
            slam.push_frame(&Frame { stamp, seen: (0..40).map(&mut corner).collect() }).unwrap();
        }
        let mut noise = |sigma: f64| Vector3::from_fn(|_, _| sigma * 200_f64.sqrt() * normal());
        let bias = (Vector3::new(0.002, -0.003, 0.001), Vector3::new(0.02, 0.03, -0.02));
        let value = Imu::new(bias.0 + noise(2e-4), Vector3::z() * 9.80665 + bias.1 + noise(2e-3));
        slam.push_imu(&ImuSample { stamp, value }).unwrap();
        while let Some(step) = slam.poll() {
            let covariance = step.estimate.covariance;
            let (place, turn) = (step.estimate.pose.translation, step.estimate.pose.rotation.log());
            let variances = covariance.diagonal();
            let off = place.iter().chain(turn.iter()).zip(variances.iter()).map(|(e, p)| e.abs() / p.sqrt());
            worst = off.fold(worst, f64::max);
            least = [least[0].min(covariance[(0, 0)] / 1e-4), least[1].min(covariance[(5, 5)] / 1e-4)];
        }
    }
    println!("{worst:.2} standard deviations, variances {least:?} of the first");
    assert!(worst < 3.0, "{worst}");
    assert!(least.iter().all(|part| *part > 1.0 - 1e-6), "{least:?}");
}

#[test]
fn at_rest_for_ten_minutes_the_pose_does_not_drift() {
    stand(600);
}
