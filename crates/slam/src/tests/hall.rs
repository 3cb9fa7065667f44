//! A hall of landmarks on a jittered grid, and a robot that drives through it: shared by the tests and the benchmark of
//! known maps.

use lienav_slam::{
    Config, LandmarkMap, MapLandmark, MapMode, Measurement, MeasurementKind, Odometry, Se2, Slam, Stamp,
};
use nalgebra::{Matrix2, Matrix3, Vector2, Vector3};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal, Uniform};

/// Distance between landmarks, m.
pub const SPACING_M: f64 = 3.0;
/// Landmarks within this distance are seen, m: about eight.
pub const VIEW_M: f64 = 4.8;
/// Time between scans, s.
pub const DT: f64 = 0.1;
const VELOCITY_STD: f64 = 0.05;
const YAW_RATE_STD: f64 = 0.03;
const RANGE_STD: f64 = 0.05;
const BEARING_STD: f64 = 0.02;

/// How the robot drives, 1 m/s.
#[derive(Clone, Copy, Debug)]
pub enum Path {
    /// On a circle of this radius about the middle of the hall, m: the same landmarks again and again.
    Circle(f64),
    /// Winding through the hall from the middle of its left side, to places never seen before.
    Winding,
    /// To and fro within a metre.
    Staying,
}

/// One instant.
#[derive(Clone, Debug)]
pub struct Instant {
    pub odometry: Odometry,
    pub truth: Se2,
    /// What is seen, with identities.
    pub seen: Vec<Measurement>,
}

/// A source of noise.
pub struct Noise(ChaCha8Rng);

impl Noise {
    pub fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    pub fn normal(&mut self, std: f64) -> f64 {
        let x: f64 = StandardNormal.sample(&mut self.0);
        std * x
    }
}

/// The true places of `side`² landmarks about the origin.
pub fn landmarks(side: usize, seed: u64) -> Vec<Vector2<f64>> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let jitter = Uniform::new(-0.8, 0.8).expect("an interval");
    let middle = 0.5 * (side - 1) as f64;
    let at = |k: usize| SPACING_M * (k as f64 - middle);
    let mut jittered = |k: usize| at(k) + jitter.sample(&mut random);
    (0..side * side).map(|k| Vector2::new(jittered(k % side), jittered(k / side))).collect()
}

/// A map with errors drawn from its covariance, in directions of its own for each landmark.
pub fn map(truth: &[Vector2<f64>], std: f64, seed: u64) -> LandmarkMap {
    let mut noise = Noise::new(seed);
    let landmark = |(id, p): (usize, &Vector2<f64>)| {
        let turn = Se2::new(0.0, 0.0, id as f64).rotation();
        let position = p + turn * Vector2::new(noise.normal(std), noise.normal(0.5 * std));
        let covariance = turn * Matrix2::new(std * std, 0.0, 0.0, 0.25 * std * std) * turn.transpose();
        let covariance = 0.5 * (covariance + covariance.transpose());
        MapLandmark { id: id as u32, class: 0, position, covariance }
    };
    LandmarkMap { landmarks: truth.iter().enumerate().map(landmark).collect(), joint: None, near: None }
}

/// The true start.
pub fn start(way: Path, side: usize) -> Se2 {
    match way {
        Path::Circle(radius) => Se2::new(radius, 0.0, std::f64::consts::FRAC_PI_2),
        Path::Winding => Se2::new(-0.45 * SPACING_M * side as f64, 0.0, 0.0),
        Path::Staying => Se2::new(0.3, 0.2, 0.5),
    }
}

/// The drive, and what is seen.
pub fn drive(truth: &[Vector2<f64>], side: usize, way: Path, steps: usize, seed: u64) -> Vec<Instant> {
    let mut noise = Noise::new(seed);
    let mut pose = start(way, side);
    (0..steps)
        .map(|k| {
            let t = DT * k as f64;
            let (v, w) = match way {
                Path::Circle(radius) => (1.0, 1.0 / radius),
                Path::Winding => (1.0, 0.4 * (0.25 * t).cos()),
                Path::Staying => ((0.8 * t).cos(), 0.3 * (0.5 * t).sin()),
            };
            if k > 0 {
                pose = pose * Se2::exp(&Vector3::new(v * DT, 0.0, w * DT));
            }
            let near = truth.iter().enumerate().filter(|(_, p)| (*p - pose.p).norm() < VIEW_M);
            let mut see = |(id, p): (usize, &Vector2<f64>)| {
                let z = pose.transform_back(p);
                let value = [z.norm() + noise.normal(RANGE_STD), z.y.atan2(z.x) + noise.normal(BEARING_STD)];
                Measurement::new(Some(id as u32), value)
            };
            let seen = near.map(&mut see).collect();
            let velocity = Vector2::new(v + noise.normal(VELOCITY_STD), noise.normal(VELOCITY_STD));
            let stamp = Stamp::from_nanos(100_000_000 * k as i64);
            let odometry = Odometry { stamp, velocity, yaw_rate: w + noise.normal(YAW_RATE_STD), covariance: None };
            Instant { odometry, truth: pose, seen }
        })
        .collect()
}

/// Settings that say what the noise is.
pub fn config(filter: &str, mode: MapMode) -> Config {
    let mut config = Config { filter: filter.into(), ..Config::default() };
    config.learning.enabled = false;
    (config.motion.velocity_x_std, config.motion.velocity_y_std) = (VELOCITY_STD, VELOCITY_STD);
    config.motion.yaw_rate_std = YAW_RATE_STD;
    (config.sensor.range_std_m, config.sensor.bearing_std_rad) = (RANGE_STD, BEARING_STD);
    config.map.mode = mode;
    config
}

/// The same with a start that is wrong by what its covariance says.
pub fn config_from(start: Se2, stds: (f64, f64), filter: &str, mode: MapMode, seed: u64) -> Config {
    let (mut config, mut noise) = (config(filter, mode), Noise::new(seed));
    let initial = &mut config.initial;
    (initial.x_m, initial.y_m) = (start.p.x + noise.normal(stds.0), start.p.y + noise.normal(stds.0));
    let yaw = start.theta + noise.normal(stds.1);
    initial.yaw_rad = yaw.sin().atan2(yaw.cos());
    (initial.position_std_m, initial.yaw_std_rad) = stds;
    config
}

/// Feeds one instant, and gives the estimate after it.
pub fn feed(slam: &mut Slam, instant: &Instant, with_identities: bool) -> (Se2, Matrix3<f64>) {
    let mut seen = instant.seen.clone();
    if !with_identities {
        seen.iter_mut().for_each(|measurement| measurement.id = None);
    }
    slam.odometry(&instant.odometry).expect("good odometry");
    slam.features(instant.odometry.stamp, MeasurementKind::RangeBearing, &seen).expect("a good cloud");
    let mut last = None;
    while let Some(step) = slam.poll() {
        last = Some((step.estimate.pose, step.estimate.covariance));
    }
    last.expect("a step for each cloud")
}

/// The squared Mahalanobis distance of a pose from the truth; 3 is right.
pub fn nees((pose, covariance): &(Se2, Matrix3<f64>), truth: &Se2) -> f64 {
    let d = truth.p - pose.p;
    let turn = (truth.theta - pose.theta).sin().atan2((truth.theta - pose.theta).cos());
    let error = Vector3::new(d.x, d.y, turn);
    covariance.cholesky().map_or(f64::INFINITY, |factor| error.dot(&factor.solve(&error)))
}
