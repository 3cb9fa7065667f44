//! A robot with a narrow camera among landmarks without identity that stand in groups, as those of MR.CLAM do.

use super::with_stated_noise;
use crate::{
    Config, LandmarkMap, MapLandmark, MapMode, Measurement, MeasurementKind, NoiseUnit, Odometry, Slam, StartMode, Step,
};
use lienav_base::stamp::Stamp;
use lienav_lie::{Se2, wrap_angle};
use nalgebra::{Matrix2, Vector2};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use std::f64::consts::TAU;

const DT: f64 = 0.1;
/// The camera sees so far to either side and ahead, and measures what is in view in so many of its scans.
const HALF_VIEW_RAD: f64 = 0.56;
const VIEW_M: f64 = 7.0;
const MEASURED: f64 = 0.5;
/// Odometry is wrong by these factors.
const SCALES: (f64, f64) = (1.03, 0.96);

/// Groups of three landmarks, 0.2 m apart, in a room of 8 m × 6 m.
fn map(rng: &mut ChaCha8Rng) -> LandmarkMap {
    let mut landmarks = Vec::new();
    for group in 0..5 {
        let middle = Vector2::new(rng.random_range(-4.5..4.5), rng.random_range(-3.5..3.5));
        for k in 0..3 {
            let (sine, cosine) = (TAU / 3.0 * (f64::from(k) + rng.random_range(-0.2..0.2))).sin_cos();
            let position = middle + 0.12 * Vector2::new(cosine, sine);
            landmarks.push(MapLandmark {
                id: 3 * group + k as u32,
                class: 0,
                position,
                covariance: Matrix2::identity() * 1e-4,
            });
        }
    }
    LandmarkMap { landmarks, joint: None, near: None }
}

/// The true pose: an eight that shifts.
fn truth(time: f64) -> Se2 {
    let place = |t: f64| Vector2::new(3.0 * (0.11 * t).sin(), 2.0 * (0.17 * t + 0.4).sin());
    let ahead = place(time + 1e-3) - place(time - 1e-3);
    Se2 { p: place(time), theta: ahead.y.atan2(ahead.x) }
}

fn config(start: StartMode) -> Config {
    let mut config = with_stated_noise();
    (config.map.mode, config.initial.mode) = (MapMode::Localization, start);
    config.motion.noise = NoiseUnit::SpectralDensity;
    (config.motion.velocity_x_std, config.motion.velocity_y_std, config.motion.yaw_rate_std) = (0.02, 0.01, 0.03);
    (config.sensor.range_std_m, config.sensor.range_std_ratio, config.sensor.bearing_std_rad) = (0.03, 0.03, 0.015);
    config.sensor.correlation_s = 0.5;
    (config.calibration.scale_v.sigma, config.calibration.scale_w.sigma) = (0.03, 0.03);
    let Se2 { p, theta } = truth(0.0);
    (config.initial.x_m, config.initial.y_m, config.initial.yaw_rad) = (p.x, p.y, theta);
    (config.initial.position_std_m, config.initial.yaw_std_rad) = (0.02, 0.02);
    config
}

/// The steps of a run of so many seconds, with their times; nothing is measured, and the wheels slip, in `blind`.
fn run(seed: u64, start: StartMode, seconds: u32, blind: std::ops::Range<f64>) -> Vec<(f64, Step)> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let map = map(&mut rng);
    let mut slam = Slam::new(config(start)).unwrap();
    slam.set_map(map.clone()).unwrap();
    let normal = |rng: &mut ChaCha8Rng, std: f64| -> f64 {
        let x: f64 = StandardNormal.sample(rng);
        std * x
    };
    let mut steps = Vec::new();
    for k in 0..10 * seconds {
        let time = DT * f64::from(k);
        let (pose, next) = (truth(time), truth(time + DT));
        let is_blind = blind.contains(&time);
        let slip = if is_blind { 0.05 } else { 0.0 };
        let speed = (next.p - pose.p).norm() / DT / SCALES.0 + normal(&mut rng, 0.02);
        let yaw_rate = wrap_angle(next.theta - pose.theta) / DT / SCALES.1 + normal(&mut rng, 0.03) + slip;
        let stamp = Stamp::from_secs(time);
        slam.odometry(&Odometry { stamp, velocity: Vector2::new(speed, 0.0), yaw_rate, covariance: None }).unwrap();
        let mut seen = Vec::new();
        for landmark in &map.landmarks {
            let z = pose.transform_back(&landmark.position);
            let (range, bearing) = (z.norm(), z.y.atan2(z.x));
            if (0.9..VIEW_M).contains(&range) && bearing.abs() < HALF_VIEW_RAD && rng.random::<f64>() < MEASURED {
                let range = range + normal(&mut rng, 0.03 * range.hypot(1.0));
                seen.push(Measurement::new(None, [range, bearing + normal(&mut rng, 0.015)]));
            }
        }
        if k % 3 == 0 && !seen.is_empty() && !is_blind {
            slam.features(stamp, MeasurementKind::RangeBearing, &seen).unwrap();
        }
        steps.extend(std::iter::from_fn(|| slam.poll()).map(|step| (step.estimate.stamp.secs(), step)));
    }
    steps
}

/// Position error, m, and NEES.
fn error((time, step): &(f64, Step)) -> (f64, f64) {
    let (estimate, truth) = (step.estimate, truth(*time));
    let apart = (estimate.pose.p - truth.p).push(wrap_angle(estimate.pose.theta - truth.theta));
    (apart.xy().norm(), apart.dot(&(estimate.covariance.try_inverse().unwrap() * apart)))
}

/// Steps with a pose that is off by more than the distance of neighbours, and says that it is not.
fn wrong(steps: &[(f64, Step)]) -> Vec<(f64, (f64, f64))> {
    let errors = steps.iter().map(|step| (step.0, error(step)));
    errors.filter(|(_, (distance, nees))| *distance > 0.25 && *nees > 30.0).collect()
}

/// The constellation of the last scans, which [`lienav_map::Finder`] joins by odometry, finds none of these.
#[test]
fn a_robot_that_sees_one_group_at_a_time_is_found() {
    for seed in 1..=4 {
        let steps = run(seed, StartMode::Unknown, 180, 0.0..0.0);
        let first = steps.first().map(|(time, _)| *time);
        assert!(first.is_some_and(|time| time < 120.0), "seed {seed}: found after {first:?} s");
        assert!(wrong(&steps).is_empty(), "seed {seed}: {:?}", wrong(&steps));
        let (last, _) = error(steps.last().unwrap());
        assert!(last < 0.2, "seed {seed}: {last} m");
    }
}

/// With its few hypotheses alone, the filter takes the measurements that follow for those of other landmarks.
#[test]
fn wheels_that_slip_while_nothing_is_measured_do_not_make_a_pose_wrong_and_sure() {
    for seed in 1..=4 {
        let steps = run(seed, StartMode::Given, 150, 40.0..64.0);
        assert!(wrong(&steps).is_empty(), "seed {seed}: {:?}", wrong(&steps));
        let last = steps.last().unwrap();
        // At the end, no landmark may be in view for some seconds.
        assert!(last.0 > 120.0 && error(last).0 < 0.2, "seed {seed}: {:?} at {}", error(last), last.0);
    }
}
