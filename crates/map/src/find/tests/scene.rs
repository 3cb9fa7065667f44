//! Simulated robots among landmarks, from a seed.

use crate::find::{Displacement, Sighting};
use crate::{LandmarkMap, MapLandmark};
use lienav_lie::{Se2, wrap_angle};
use nalgebra::{Matrix2, Matrix3, Vector2, Vector3};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use std::f64::consts::TAU;

pub fn normal(rng: &mut ChaCha8Rng) -> f64 {
    StandardNormal.sample(rng)
}

/// Landmarks at these places, surveyed with this standard deviation.
pub fn map(places: impl IntoIterator<Item = Vector2<f64>>, std_m: f64) -> LandmarkMap {
    let covariance = Matrix2::identity() * (std_m * std_m);
    let landmarks =
        places.into_iter().zip(1..).map(|(position, id)| MapLandmark { id, class: 0, position, covariance });
    LandmarkMap { landmarks: landmarks.collect(), joint: None, near: None }
}

/// `columns` × `rows` of them, every `spacing` metres, moved by a normal jitter.
pub fn grid(columns: usize, rows: usize, spacing: f64, jitter: f64, seed: u64) -> LandmarkMap {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let places: Vec<_> = (0..columns * rows)
        .map(|k| {
            let node = Vector2::new((k % columns) as f64, (k / columns) as f64) * spacing;
            node + Vector2::new(normal(&mut rng), normal(&mut rng)) * jitter
        })
        .collect();
    map(places, 0.01)
}

/// So many anywhere in a square of `side` metres.
pub fn random_map(count: usize, side: f64, seed: u64) -> LandmarkMap {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let places: Vec<_> = (0..count).map(|_| Vector2::new(rng.random::<f64>(), rng.random::<f64>()) * side).collect();
    map(places, 0.01)
}

/// What the robot's sensors are like.
#[derive(Clone, Copy, Debug)]
pub struct Sensing {
    pub rate_hz: f64,
    pub range_m: f64,
    pub field_of_view_rad: f64,
    pub range_std_m: f64,
    pub bearing_std_rad: f64,
    pub detection: f64,
    /// False measurements for each true one.
    pub clutter: f64,
    pub velocity_std: Vector3<f64>,
    pub with_ids: bool,
}

/// A lidar among reflectors, and wheels that are neither good nor bad.
pub const SENSING: Sensing = Sensing {
    rate_hz: 10.0,
    range_m: 10.0,
    field_of_view_rad: TAU,
    range_std_m: 0.05,
    bearing_std_rad: 0.02,
    detection: 0.9,
    clutter: 0.1,
    velocity_std: Vector3::new(0.05, 0.02, 0.05),
    with_ids: false,
};

/// A robot that drives about at 1 m/s and turns back where the landmarks end.
pub struct Robot {
    pub pose: Se2,
    /// It keeps to this y, m, towards greater x; or drives about.
    pub lane: Option<f64>,
    yaw_rate: f64,
    landmarks: Vec<(u32, Vector2<f64>)>,
    low: Vector2<f64>,
    high: Vector2<f64>,
    sensing: Sensing,
    rng: ChaCha8Rng,
}

impl Robot {
    /// Somewhere in the map; the true landmarks are drawn from its covariance.
    pub fn new(map: &LandmarkMap, sensing: Sensing, seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let landmarks: Vec<_> = map
            .landmarks
            .iter()
            .map(|landmark| {
                let error = Vector2::new(normal(&mut rng), normal(&mut rng)) * landmark.covariance[(0, 0)].sqrt();
                (landmark.id, landmark.position + error)
            })
            .collect();
        let mut low = landmarks[0].1;
        let mut high = low;
        for (_, place) in &landmarks {
            (low, high) = (low.inf(place), high.sup(place));
        }
        let share = Vector2::new(rng.random::<f64>(), rng.random::<f64>());
        let p = low + (high - low).component_mul(&share);
        let pose = Se2 { p, theta: TAU * rng.random::<f64>() };
        Self { pose, lane: None, yaw_rate: 0.0, landmarks, low, high, sensing, rng }
    }

    /// The motion to the next scan as odometry has it, and the scan.
    pub fn step(&mut self) -> (Displacement, Vec<Sighting>) {
        let dt = 1.0 / self.sensing.rate_hz;
        let margin = (self.high - self.low).min().min(4.0) * 0.25;
        let inside = self.pose.p.inf(&self.high.add_scalar(-margin)).sup(&self.low.add_scalar(margin));
        self.yaw_rate = if let Some(lane) = self.lane {
            ((lane - self.pose.p.y).atan2(2.0) - self.pose.theta).clamp(-0.6, 0.6)
        } else if inside == self.pose.p {
            (0.95 * self.yaw_rate + 0.25 * dt.sqrt() * normal(&mut self.rng)).clamp(-0.6, 0.6)
        } else {
            let back = inside - self.pose.p;
            (1.5 * wrap_angle(back.y.atan2(back.x) - self.pose.theta)).clamp(-0.8, 0.8)
        };
        let twist = Vector3::new(1.0, 0.0, self.yaw_rate);
        self.pose = self.pose * Se2::exp(&(twist * dt));
        let std = self.sensing.velocity_std;
        let noisy = twist + Vector3::from_fn(|k, _| std[k] * normal(&mut self.rng));
        // ∂(t, a)/∂(v, w) by central differences.
        let at = |change: Vector3<f64>| Se2::exp(&((noisy + change) * dt));
        let column = |k: usize| {
            let h = Vector3::from_fn(|i, _| if i == k { 1e-5 } else { 0.0 });
            let (one, other) = (at(h), at(-h));
            Vector3::new(one.p.x - other.p.x, one.p.y - other.p.y, one.theta - other.theta) / 2e-5
        };
        let by_twist = Matrix3::from_columns(&[0, 1, 2].map(column));
        let variance = Matrix3::from_diagonal(&std.component_mul(&std));
        let covariance = by_twist * variance * by_twist.transpose();
        let step = Displacement { motion: at(Vector3::zeros()), covariance };
        (step, self.look())
    }

    fn look(&mut self) -> Vec<Sighting> {
        let Sensing { range_m, field_of_view_rad, detection, clutter, with_ids, .. } = self.sensing;
        let landmarks = std::mem::take(&mut self.landmarks);
        let mut scan = Vec::new();
        for (id, place) in &landmarks {
            let z = self.pose.transform_back(place);
            let (range, bearing) = (z.norm(), z.y.atan2(z.x));
            if range > range_m || range < 0.1 || bearing.abs() > 0.5 * field_of_view_rad {
                continue;
            }
            if self.rng.random::<f64>() < detection {
                let sighting = self.sighting(range, bearing, with_ids.then_some(*id));
                scan.push(sighting);
            }
            if self.rng.random::<f64>() < clutter {
                let range = range_m * self.rng.random::<f64>().sqrt();
                let bearing = field_of_view_rad * (self.rng.random::<f64>() - 0.5);
                let sighting = self.sighting(range, bearing, None);
                scan.push(sighting);
            }
        }
        self.landmarks = landmarks;
        scan
    }

    fn sighting(&mut self, range: f64, bearing: f64, id: Option<u32>) -> Sighting {
        let Sensing { range_std_m, bearing_std_rad, .. } = self.sensing;
        let range = (range + range_std_m * normal(&mut self.rng)).max(0.01);
        let bearing = bearing + bearing_std_rad * normal(&mut self.rng);
        let (s, c) = bearing.sin_cos();
        let turn = Matrix2::new(c, -s, s, c);
        let across = range * bearing_std_rad;
        let noise = Matrix2::new(range_std_m * range_std_m, 0.0, 0.0, across * across);
        let covariance = turn * noise * turn.transpose();
        Sighting { position: Vector2::new(c, s) * range, covariance, id, class: 0 }
    }
}

/// Whether a pose is the true one, as far as sensors go: within 0.5 m and 0.2 rad (issue 15 says "right").
pub fn is_right(pose: &Se2, truth: &Se2) -> bool {
    (pose.p - truth.p).norm() < 0.5 && wrap_angle(pose.theta - truth.theta).abs() < 0.2
}
