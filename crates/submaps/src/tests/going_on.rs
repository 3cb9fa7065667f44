//! What a submap leaves to the next one: landmarks whose ranges are vague, errors of measurements that last,
//! candidates.

use super::{World, of_submaps};
use crate::near::Near;
use crate::problem::Start;
use crate::{Submaps, Worker};
use lienav_lie::Se2;
use lienav_slam::{Config, Measurement, MeasurementKind, Odometry, Stamp};
use nalgebra::Vector2;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Normal};

/// A straight way among posts at random places.
struct Lane {
    random: ChaCha8Rng,
    posts: Vec<Vector2<f64>>,
}

const LENGTH_M: f64 = 40.0;
const STEP_M: f64 = 0.1;

impl Lane {
    fn new(seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut post = |_| Vector2::new(random.random_range(0.0..LENGTH_M + 5.0), random.random_range(-4.0..4.0_f64));
        let posts = (0..120).map(&mut post).filter(|post: &Vector2<f64>| post.y.abs() > 0.7).collect();
        Self { random, posts }
    }

    fn normal(&mut self, std: f64) -> f64 {
        Normal::new(0.0, std).unwrap().sample(&mut self.random)
    }

    /// Drives along it, 1 m/s, ten scans a second. `read` gives a measurement of a post at z that the sensor sees.
    /// Returns the mean square of the position's error, the mean NEES of the position, and the number of submaps.
    fn drive(
        mut self,
        config: &Config,
        kind: MeasurementKind,
        mut read: impl FnMut(&mut Self, usize, &Vector2<f64>) -> Option<Measurement>,
    ) -> (f64, f64, usize) {
        let mut slam = of_submaps(config.clone());
        let mut submaps = Submaps::new(&slam, Worker::InPlace).unwrap();
        let (mut truth, mut square, mut nees, mut count) = (Se2::identity(), 0.0, 0.0, 0.0);
        for k in 0..(LENGTH_M / STEP_M) as u32 {
            let stamp = Stamp::from_secs(0.1 * f64::from(k));
            truth.p.x = STEP_M * f64::from(k);
            let velocity = Vector2::new(1.0 + self.normal(config.motion.velocity_x_std), 0.0);
            let yaw_rate = self.normal(config.motion.yaw_rate_std);
            slam.odometry(&Odometry { stamp, velocity, yaw_rate, covariance: None }).unwrap();
            let posts = self.posts.clone();
            let seen: Vec<Measurement> = posts
                .iter()
                .enumerate()
                .filter_map(|(i, post)| read(&mut self, i, &truth.transform_back(post)))
                .collect();
            slam.features(stamp, kind, &seen).unwrap();
            while let Some(step) = slam.poll() {
                let step = match &mut submaps {
                    Some(submaps) => submaps.join(&mut slam, step),
                    None => step,
                };
                if k < 50 {
                    // Hardly uncertain yet.
                    continue;
                }
                let d = step.estimate.pose.p - truth.p;
                let own = step.estimate.covariance.fixed_view::<2, 2>(0, 0).into_owned();
                square += d.norm_squared();
                nees += own.try_inverse().map_or(0.0, |inverse| d.dot(&(inverse * d)));
                count += 1.0;
            }
        }
        (square / count, nees / count, submaps.map_or(0, |submaps| submaps.status().submaps))
    }
}

/// One map and submaps over some seeds: the ratio of their errors, and the means of NEES.
fn compare(runs: u64, drive: impl Fn(u64, usize) -> (f64, f64, usize)) -> (f64, f64, f64) {
    let (mut one, mut in_submaps) = ((0.0, 0.0), (0.0, 0.0));
    for seed in 1..=runs {
        let (dense, submaps) = (drive(seed, 0), drive(seed, 10));
        assert!(submaps.2 >= 2, "{} parts", submaps.2);
        (one.0, one.1) = (one.0 + dense.0, one.1 + dense.1 / runs as f64);
        (in_submaps.0, in_submaps.1) = (in_submaps.0 + submaps.0, in_submaps.1 + submaps.1 / runs as f64);
    }
    (f64::sqrt(in_submaps.0 / one.0), in_submaps.1, one.1)
}

/// A stereo camera knows the range of a far post hardly when it sees it first. A submap that began it anew would
/// linearize its measurements with that range again: errors were doubled by it.
#[test]
fn vague_ranges_are_not_begun_anew() {
    let (ratio, nees, dense) = compare(8, |seed, local_features| {
        let mut config = Config::default();
        (config.motion.velocity_x_std, config.motion.velocity_y_std, config.motion.yaw_rate_std) = (0.02, 0.002, 0.01);
        (config.sensor.bearing_std_rad, config.sensor.baseline_m, config.sensor.max_range_m) = (0.01, 0.5, 6.0);
        (config.timing.reorder_window_s, config.map.local_features) = (0.0, local_features);
        config.map.forget_after_s = 2.0;
        Lane::new(seed).drive(&config, MeasurementKind::StereoBearings, |lane, i, z| {
            let is_seen = z.x > 0.3 && z.y.abs() < 1.7 * z.x && z.norm() < 5.0;
            let bearing = |lane: &mut Lane, y: f64| (z.y - y).atan2(z.x) + lane.normal(0.01);
            is_seen.then(|| {
                let bearings = [bearing(lane, 0.25), bearing(lane, -0.25)];
                Measurement::new(Some(i as u32), bearings)
            })
        })
    });
    assert!((0.97..1.03).contains(&ratio) && (nees / dense - 1.0).abs() < 0.1, "{ratio} {nees} {dense}");
}

/// The measurements of each post are off by an error of its own that lasts. A submap that began it anew would take the
/// same error for another one, and believe the posts more than it may.
#[test]
fn errors_that_last_go_on() {
    let (ratio, nees, dense) = compare(8, |seed, local_features| {
        let mut config = Config::default();
        (config.motion.velocity_x_std, config.motion.velocity_y_std, config.motion.yaw_rate_std) = (0.03, 0.003, 0.02);
        (config.sensor.range_std_m, config.sensor.bearing_std_rad, config.sensor.max_range_m) = (0.1, 0.02, 6.0);
        (config.timing.reorder_window_s, config.map.local_features) = (0.0, local_features);
        config.sensor.correlation_s = 3.0;
        let mut time_correlated = vec![[0.0; 2]; 120];
        let mut lane = Lane::new(seed);
        time_correlated.iter_mut().for_each(|error| *error = [lane.normal(0.1), lane.normal(0.02)]);
        lane.drive(&config, MeasurementKind::RangeBearing, move |lane, i, z| {
            let rho = f64::exp(-0.1 / 3.0);
            let fresh = f64::sqrt(1.0 - rho * rho);
            let [range, bearing] = &mut time_correlated[i];
            (*range, *bearing) = (rho * *range + lane.normal(0.1 * fresh), rho * *bearing + lane.normal(0.02 * fresh));
            let is_seen = z.x > 0.3 && z.norm() < 5.0;
            is_seen.then(|| Measurement::new(Some(i as u32), [z.norm() + *range, z.y.atan2(z.x) + *bearing]))
        })
    });
    assert!((0.95..1.05).contains(&ratio) && (nees / dense - 1.0).abs() < 0.15, "{ratio} {nees} {dense}");
}

/// Posts without names that are read in every eighth scan are no landmarks yet when a submap is closed: the next submap
/// goes on with what speaks for them.
#[test]
fn candidates_go_on() {
    let (ratio, nees, dense) = compare(6, |seed, local_features| {
        let mut config = Config::default();
        (config.motion.velocity_x_std, config.motion.velocity_y_std, config.motion.yaw_rate_std) = (0.05, 0.005, 0.02);
        (config.sensor.range_std_m, config.sensor.bearing_std_rad, config.sensor.max_range_m) = (0.03, 0.01, 8.0);
        (config.timing.reorder_window_s, config.map.local_features) = (0.0, local_features);
        let mut lane = Lane::new(seed);
        lane.posts.truncate(70);
        lane.drive(&config, MeasurementKind::RangeBearing, move |lane, _, z| {
            let is_seen = z.norm() < 7.0 && lane.random.random_bool(0.125);
            is_seen.then(|| Measurement::new(None, [z.norm() + lane.normal(0.03), z.y.atan2(z.x) + lane.normal(0.01)]))
        })
    });
    assert!((0.9..1.1).contains(&ratio) && nees < 1.5 * dense, "{ratio} {nees} {dense}");
}

/// The joint covariance of all differences, gathered at once and eliminated, is that of the formulas: with landmarks
/// that the submap was begun with, and with others.
#[test]
fn differences_are_joined_by_their_formulas() {
    let mut world = World::new(3, 0.05);
    let mut slam = of_submaps(world.config(8));
    let mut submaps = Submaps::new(&slam, Worker::InPlace).unwrap().unwrap();
    let mut shared = 0;
    while world.time < 100.0 {
        let step = world.advance(&mut slam).unwrap();
        submaps.join(&mut slam, step);
        shared = shared.max(submaps.check_join(&slam));
    }
    assert!(shared >= 6, "{shared}");
}

/// A base that is known exactly has a covariance that rounding makes negative; one that is wrong is told.
#[test]
fn a_covariance_is_unsound_where_it_is_indefinite_and_not_where_it_is_rounded() {
    let mut near = Near::start(&Start::Known(Se2::identity()));
    assert!(near.is_sound());
    near.covariance[(0, 0)] = 1.0;
    near.covariance[(2, 2)] = -1e-12;
    assert!(near.is_sound());
    near.covariance[(2, 2)] = -1e-3;
    assert!(!near.is_sound());
    near.covariance[(2, 2)] = f64::NAN;
    assert!(!near.is_sound());
}
