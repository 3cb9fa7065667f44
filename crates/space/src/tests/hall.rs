//! A robot on the floor of a hall with tags on its walls, seen by two cameras.

use super::camera;
use crate::lens::{Distortion, Lens};
use crate::tags::{BodyTwist, Camera, KnownTag, TagConfig, TagFrame, TagSeen, TagSlam3d};
use crate::{Config, Pinhole, Step};
use lienav_base::stamp::Stamp;
use lienav_lie::{LieGroup, Se3, So3};
use nalgebra::{Matrix3, Vector2, Vector3};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;
use std::f64::consts::TAU;

/// Edge of a tag, m.
pub const SIZE_M: f64 = 0.16;
/// Noise of corners, px.
pub const NOISE_PX: f64 = 0.3;
/// Images and odometry a second, Hz.
const RATES_HZ: (f64, f64) = (20.0, 50.0);

/// What arrives, in the order of its stamps.
#[derive(Clone, Debug)]
pub enum Input {
    Twist(BodyTwist),
    Frame(TagFrame),
}

impl Input {
    pub fn stamp(&self) -> Stamp {
        match self {
            Self::Twist(twist) => twist.stamp,
            Self::Frame(frame) => frame.stamp,
        }
    }

    pub fn push(&self, slam: &mut TagSlam3d) -> Result<(), crate::DropReason> {
        match self {
            Self::Twist(twist) => slam.push_twist(twist),
            Self::Frame(frame) => slam.push_frame(frame),
        }
    }
}

pub fn stamp(t: f64) -> Stamp {
    Stamp::from_nanos(100_000_000_000 + (t * 1e9).round() as i64)
}

/// The robot at an instant: a circle of 2 m radius, after a second at rest.
pub fn truth(t: f64) -> Se3 {
    let angle = 0.3 * (t - 1.0).max(0.0);
    let place = Vector3::new(2.0 * angle.sin(), 2.0 * (1.0 - angle.cos()), 0.0);
    Se3::new(So3::exp(&(Vector3::z() * angle)), place)
}

pub fn truth_at(stamp: Stamp) -> Se3 {
    truth(stamp.secs() - 100.0)
}

pub fn lens() -> Lens {
    let pinhole = Pinhole { focal: Vector2::repeat(600.0), centre: Vector2::new(320.0, 240.0) };
    Lens { pinhole, distortion: Distortion::None }
}

/// One looks ahead, one back.
pub fn cameras() -> [Camera; 2] {
    let back = Se3::new(So3::exp(&(Vector3::z() * 0.5 * TAU)), Vector3::zeros());
    [camera(), back * camera()].map(|on_body| Camera { lens: lens(), on_body })
}

/// x is to the right and y up on the wall, z into the hall.
pub fn tags() -> BTreeMap<u64, Se3> {
    let tag = |id: u64| {
        let angle = TAU * id as f64 / 24.0;
        let out = Vector3::new(-angle.cos(), -angle.sin(), 0.0);
        let axes = Matrix3::from_columns(&[Vector3::z().cross(&out), Vector3::z(), out]);
        let place = Vector3::new(0.0, 2.0, 0.4 * (id % 3) as f64) - 5.0 * out;
        (id, Se3::new(So3::from_matrix_unchecked(axes), place))
    };
    (0..24).map(tag).collect()
}

/// The corners of a tag in a camera, where it is in its image and seen from before.
pub fn corners(tag: &Se3, body: &Se3, camera: &Camera) -> Option<[Vector2<f64>; 4]> {
    let eye = *body * camera.on_body;
    let is_before = (tag.rotation * Vector3::z()).dot(&(eye.translation - tag.translation)) > 0.1;
    let half = 0.5 * SIZE_M;
    let all = [(-half, -half), (half, -half), (half, half), (-half, half)].map(|(x, y)| {
        let point = eye.inverse().transform(&tag.transform(&Vector3::new(x, y, 0.0)));
        camera.lens.project(&point).map(|(pixel, _)| pixel)
    });
    let is_inside = |p: &Vector2<f64>| (0.0..640.0).contains(&p.x) && (0.0..480.0).contains(&p.y);
    let [a, b, c, d] = all;
    let all = [a?, b?, c?, d?];
    (is_before && all.iter().all(is_inside)).then_some(all)
}

pub fn normal(seed: u64) -> impl FnMut() -> f64 {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    move || {
        let (a, b): (f64, f64) = (rng.random_range(f64::MIN_POSITIVE..1.0), rng.random());
        (-2.0 * a.ln()).sqrt() * (TAU * b).cos()
    }
}

/// So many seconds of it, with odometry or without.
pub fn inputs(seconds: f64, seed: u64, has_odometry: bool) -> Vec<Input> {
    let (mut normal, tags, cameras) = (normal(seed), tags(), cameras());
    let mut all = Vec::new();
    for k in 0..(seconds * RATES_HZ.0) as usize {
        // The second camera is half an interval later.
        for (number, camera) in cameras.iter().enumerate() {
            let t = (k as f64 + 0.5 * number as f64) / RATES_HZ.0;
            let mut seen = Vec::new();
            for (id, tag) in &tags {
                if let Some(exact) = corners(tag, &truth(t), camera) {
                    let corners = exact.map(|p| p + Vector2::new(normal(), normal()) * NOISE_PX);
                    seen.push(TagSeen { camera: number, id: *id, size_m: SIZE_M, corners });
                }
            }
            all.push(Input::Frame(TagFrame { stamp: stamp(t), camera: Some(number), seen }));
        }
    }
    if has_odometry {
        for k in 0..(seconds * RATES_HZ.1) as usize {
            let t = k as f64 / RATES_HZ.1;
            let turn = if t < 1.0 { 0.0 } else { 0.3 };
            let velocity = Vector3::new(2.0 * turn + 0.02 * normal(), 0.0, 0.0);
            let rate = Vector3::z() * (turn + 0.01 * normal());
            all.push(Input::Twist(BodyTwist { stamp: stamp(t), velocity, rate, variances: None }));
        }
    }
    all.sort_by_key(Input::stamp);
    all
}

pub fn tag_config() -> TagConfig {
    let mut config = TagConfig::default();
    config.tags.corner_std_px = NOISE_PX;
    config
}

/// A filter with the cameras, and with the true tags as a map of this standard deviation, m.
pub fn slam(config: Config, own: TagConfig, sigma: Option<f64>) -> TagSlam3d {
    let mut slam = TagSlam3d::new(config, own).unwrap();
    cameras().iter().enumerate().for_each(|(k, camera)| slam.set_camera(k, *camera).unwrap());
    slam.expect(2, false);
    if let Some(sigma) = sigma {
        let known = tags().into_iter().map(|(id, pose)| (id, KnownTag { pose, sigma: (sigma, sigma) }));
        slam.set_known(known.collect(), BTreeMap::new());
    }
    slam
}

pub fn play(slam: &mut TagSlam3d, inputs: &[Input]) -> Vec<Step> {
    let mut steps = Vec::new();
    for input in inputs {
        let _ = input.push(slam);
        steps.extend(std::iter::from_fn(|| slam.poll()));
    }
    slam.flush();
    steps.extend(std::iter::from_fn(|| slam.poll()));
    steps
}

/// Distance of a step from the truth, m, and NEES of its pose, six numbers.
pub fn error(estimate: &crate::PoseEstimate) -> (f64, f64) {
    let truth = truth_at(estimate.stamp);
    let apart = estimate.pose.translation - truth.translation;
    let turn = (estimate.pose.rotation * truth.rotation.inverse()).log();
    let mut off = nalgebra::Vector6::zeros();
    off.fixed_rows_mut::<3>(0).copy_from(&apart);
    off.fixed_rows_mut::<3>(3).copy_from(&turn);
    let covariance = estimate.covariance + nalgebra::Matrix6::identity() * 1e-12;
    (apart.norm(), covariance.cholesky().map_or(f64::INFINITY, |c| off.dot(&c.solve(&off))))
}
