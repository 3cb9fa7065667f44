//! Tests of the filter as a whole; each room has its own tests beside it.

mod again;
mod any_dimension;
mod association;
mod bound;
mod calibrated;
mod calibration;
mod clocks;
mod dead_reckoning;
mod delayed;
mod frozen;
mod gate;
mod gaussian_sum;
mod global_localization;
mod hall;
mod hypotheses;
mod kalman_filter;
mod known_map;
mod laws;
mod lookahead;
mod map;
mod motion_delay;
mod noise;
mod order;
mod out_of_sequence;
mod outside;
mod parts;
mod refilter;
mod robustness;
mod saved;
mod search;
mod sensors;
mod single;
mod slips;
mod take_map;
mod tilt;
mod time_correlated;
mod undo_loop;
mod unknown;
mod validity;
mod wide_prior;
mod window;

use crate::{Config, LearningConfig, Linearization, Measurement, MeasurementKind, Odometry, Slam, Step};
use lienav_base::stamp::Stamp;
use lienav_lie::Se2;
use lienav_planar::associated::Subject;
use lienav_planar::checked::CheckedMeasurement;
use lienav_planar::linearize::Match;
use lienav_planar::linearize::linearize;
use lienav_planar::sensor::Sensors;
use lienav_planar::state::State;
use nalgebra::Vector2;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

/// One instant of a recording made for a test.
#[derive(Clone, Debug)]
struct Instant {
    odometry: Odometry,
    truth: Se2,
    seen: Vec<Measurement>,
}

/// A measurement of landmark `i`, linearized at the state.
fn linearized(state: &State, sensors: &Sensors, measurement: &CheckedMeasurement, i: usize) -> Match {
    let mut m = Match::new(Subject::Landmark(i), measurement);
    assert!(linearize(state, sensors, &mut m, Linearization::Current));
    m
}

const DT: f64 = 0.1;
const VELOCITY_STD: f64 = 0.05;
const YAW_RATE_STD: f64 = 0.02;
const POSITION_STD: f64 = 0.05;

/// The settings of a robot whose stated noise is right: the filter learns nothing of it.
fn with_stated_noise() -> Config {
    let learning = LearningConfig { enabled: false, ..LearningConfig::default() };
    Config { learning, ..Config::default() }
}

fn config(filter: &str) -> Config {
    let mut config = Config { filter: filter.into(), ..with_stated_noise() };
    config.motion.velocity_x_std = VELOCITY_STD;
    config.motion.velocity_y_std = VELOCITY_STD;
    config.motion.yaw_rate_std = YAW_RATE_STD;
    config.sensor.kind = MeasurementKind::RelativePosition;
    config.sensor.position_std_m = POSITION_STD;
    config
}

fn stamp(k: usize) -> Stamp {
    Stamp::from_nanos(k as i64 * 100_000_000)
}

/// A robot on a circle of 3 m among eight landmarks on a ring of 4 m around its middle, all seen, relative positions.
fn recording(steps: usize, seed: u64) -> Vec<Instant> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut noise = |std: f64| {
        let x: f64 = StandardNormal.sample(&mut rng);
        std * x
    };
    let landmarks: Vec<Vector2<f64>> = (0..8)
        .map(|i| Se2::new(0.0, 3.0, i as f64 * std::f64::consts::FRAC_PI_4).transform(&Vector2::new(4.0, 0.0)))
        .collect();
    let (v, w) = (0.9, 0.3);
    let mut truth = Se2::identity();
    (0..steps)
        .map(|k| {
            if k > 0 {
                truth = truth * Se2::exp(&nalgebra::Vector3::new(v * DT, 0.0, w * DT));
            }
            let velocity = Vector2::new(v + noise(VELOCITY_STD), noise(VELOCITY_STD));
            let yaw_rate = w + noise(YAW_RATE_STD);
            let seen = landmarks
                .iter()
                .enumerate()
                .map(|(id, p)| {
                    let z = truth.transform_back(p) + Vector2::new(noise(POSITION_STD), noise(POSITION_STD));
                    Measurement::new(Some(id as u32), z)
                })
                .collect();
            Instant { odometry: Odometry { stamp: stamp(k), velocity, yaw_rate, covariance: None }, truth, seen }
        })
        .collect()
}

fn drain(slam: &mut Slam) -> Vec<Step> {
    std::iter::from_fn(|| slam.poll()).collect()
}

fn feed(slam: &mut Slam, instant: &Instant) -> Vec<Step> {
    slam.odometry(&instant.odometry).unwrap();
    slam.features(instant.odometry.stamp, MeasurementKind::RelativePosition, &instant.seen).unwrap();
    drain(slam)
}

fn run(filter: &str, instants: &[Instant]) -> (Slam, Vec<Step>) {
    let mut slam = Slam::new(config(filter)).unwrap();
    let steps = instants.iter().flat_map(|instant| feed(&mut slam, instant)).collect();
    (slam, steps)
}
