//! Tests of the pipeline.

mod again;
mod clocks;
mod hall;
mod maps;
mod mounts;
mod order;
mod saved;
mod silence;
mod simple;
mod still;
mod tag_imu;
mod tags;
mod window;

use crate::{Config, Frame, Imu, ImuSample, Seen, Sensor, Slam3d, Step, Value};
use lienav_base::stamp::Stamp;
use lienav_lie::{LieGroup, Se3, So3};
use nalgebra::{Vector2, Vector3};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::f64::consts::TAU;

/// Samples a second, Hz.
const RATE_HZ: f64 = 200.0;
/// A frame comes with so many samples.
const FRAME_EVERY: usize = 10;
const GRAVITY: f64 = 9.80665;

/// A run: samples, and frames with the sample that they belong to.
#[derive(Clone)]
pub struct Run {
    pub samples: Vec<ImuSample>,
    pub frames: Vec<(usize, Frame)>,
    pub truth: Vec<Se3>,
}

/// What a sensor in a camera is: x right, y down, z forward.
pub fn camera() -> Se3 {
    let axes = So3::from_matrix_unchecked(nalgebra::Matrix3::new(0., 0., 1., -1., 0., 0., 0., -1., 0.));
    Se3::new(axes, Vector3::new(0.1, 0.0, 0.05))
}

fn pose_at(t: f64) -> (Se3, Vector3<f64>) {
    // Two seconds at rest, then round and up and down, ever faster within a second.
    let s = (t - 2.0).max(0.0);
    let s = if s < 1.0 { 0.5 * s * s * s * (2.0 - s) } else { 0.5 + (s - 1.0) };
    let angle = 0.4 * s;
    let place = Vector3::new(1.5 * angle.sin(), 1.5 * (1.0 - angle.cos()), 0.3 * (1.0 - (0.9 * s).cos()));
    let rotation = So3::exp(&(Vector3::z() * angle)) * So3::exp(&(Vector3::x() * (0.2 * (0.7 * s).sin().powi(2))));
    (Se3::new(rotation, place), place)
}

/// A motion of so many seconds that begins at rest, with landmarks on the walls about it, seen by position or by pixel.
pub fn run(seconds: f64, seed: u64, by_pixels: bool) -> Run {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut normal = move || {
        let (a, b): (f64, f64) = (rng.random_range(f64::MIN_POSITIVE..1.0), rng.random());
        (-2.0 * a.ln()).sqrt() * (TAU * b).cos()
    };
    let h = 1.0 / RATE_HZ;
    let (mut samples, mut frames, mut truth) = (Vec::new(), Vec::new(), Vec::new());
    let bias = (Vector3::new(0.002, -0.003, 0.001), Vector3::new(0.02, 0.03, -0.02));
    let landmark = |id: u64| {
        let angle = TAU * id as f64 / 40.0;
        Vector3::new(5.0 * angle.cos(), 5.0 * angle.sin() + 1.5, (id % 5) as f64 * 0.6 - 1.2)
    };
    for k in 0..=(seconds * RATE_HZ) as usize {
        let t = k as f64 * h;
        // Values by differences that are far below the noise.
        let e = 1e-4;
        let ((before, p0), (pose, p1), (after, p2)) = (pose_at(t - e), pose_at(t), pose_at(t + e));
        let rate = (before.rotation.inverse() * after.rotation).log() / (2.0 * e);
        let acceleration = (p2 - 2.0 * p1 + p0) / (e * e);
        let force = pose.rotation.rotate_back(&(acceleration + Vector3::z() * GRAVITY));
        let mut noise = |sigma: f64| Vector3::from_fn(|_, _| sigma * RATE_HZ.sqrt() * normal());
        let value = Imu::new(rate + bias.0 + noise(2e-4), force + bias.1 + noise(2e-3));
        let stamp = Stamp::from_secs(100.0 + t);
        samples.push(ImuSample { stamp, value });
        truth.push(pose);
        if k % FRAME_EVERY == 0 {
            let mut seen = Vec::new();
            for id in 0..40 {
                let x = (pose * camera()).inverse().transform(&landmark(id));
                if x.z < 0.5 || x.x.abs() > x.z || x.y.abs() > 0.8 * x.z {
                    continue;
                }
                let value = if by_pixels {
                    Value::Normalized(Vector2::new(x.x / x.z + normal() / 400.0, x.y / x.z + normal() / 400.0))
                } else {
                    Value::Position(x + Vector3::from_fn(|_, _| 0.02 * normal()), None)
                };
                seen.push(Seen { id, sensor: 0, value });
            }
            frames.push((k, Frame { stamp, seen }));
        }
    }
    Run { samples, frames, truth }
}

pub fn config() -> Config {
    let mut config = Config::default();
    config.imu.gyro_noise = 2e-4;
    config.imu.accelerometer_noise = 2e-3;
    config.sensor.position_std_m = 0.02;
    config
}

pub fn slam(config: Config) -> Slam3d {
    let mut slam = Slam3d::new(config).unwrap();
    let sensor = Sensor { mount: camera(), focal: Vector2::repeat(400.0), ..Sensor::default() };
    slam.set_sensor(0, sensor).unwrap();
    slam
}

pub fn steps(slam: &mut Slam3d) -> Vec<Step> {
    std::iter::from_fn(|| slam.poll()).collect()
}

/// Everything in order; frames before their samples.
pub fn play(slam: &mut Slam3d, run: &Run) -> Vec<Step> {
    play_range(slam, run, 0.0, f64::INFINITY)
}

/// The same of an interval of the run, s.
pub fn play_range(slam: &mut Slam3d, run: &Run, from: f64, to: f64) -> Vec<Step> {
    let mut all = Vec::new();
    let mut frames = run.frames.iter().peekable();
    for (k, sample) in run.samples.iter().enumerate() {
        let t = k as f64 / RATE_HZ;
        while let Some((_, frame)) = frames.next_if(|(at, _)| *at <= k) {
            if (from..to).contains(&t) {
                slam.push_frame(frame).unwrap();
            }
        }
        if (from..to).contains(&t) {
            slam.push_imu(sample).unwrap();
            all.extend(steps(slam));
        }
    }
    all
}

/// The true pose at a stamp of a sample.
pub fn truth_at(run: &Run, stamp: Stamp) -> Se3 {
    run.truth[((stamp.secs() - 100.0) * RATE_HZ).round() as usize]
}

/// Distance of a step from the truth, m, and the same in standard deviations.
pub fn error(run: &Run, estimate: &crate::PoseEstimate) -> (f64, f64) {
    let apart = estimate.pose.translation - truth_at(run, estimate.stamp).translation;
    let covariance = estimate.covariance.fixed_view::<3, 3>(0, 0) + nalgebra::Matrix3::identity() * 1e-10;
    let square = covariance.cholesky().map_or(f64::INFINITY, |c| apart.dot(&c.solve(&apart)));
    (apart.norm(), square.sqrt())
}
