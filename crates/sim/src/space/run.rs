//! A simulated run: what the sensors measured, the truth, and an estimate of the start.

use super::camera::{Camera, Seen, Tracker, cameras};
use super::course::Course;
use super::inertial::{Biases, InertialSample, draw, samples};
use super::kinematics::Kinematics;
use super::motion::Motion;
use super::scenario::{SpaceScenario, SpaceScenarioError};
use super::world::landmarks;
use crate::random::{Purpose, generator};
use lienav_base::stamp::Stamp;
use lienav_lie::{LieGroup, Se3, So3};
use nalgebra::{Matrix3, Vector3};
use std::collections::BTreeMap;

/// What the cameras saw at an instant.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// What the frame is stamped.
    pub stamp: Stamp,
    /// Pose and motion at that stamp.
    pub truth: Kinematics,
    /// Each landmark once.
    pub seen: Vec<Seen>,
}

/// What is known at the start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Start {
    /// When: at the first sample.
    pub stamp: Stamp,
    /// An estimate of the pose.
    pub pose: Se3,
    /// An estimate of the velocity, m/s.
    pub velocity: Vector3<f64>,
    /// Standard deviations of both and of zero biases, by axis: rotation, rad; velocity, m/s; position, m; rad/s; m/s².
    pub std: [f64; 5],
}

/// A run.
#[derive(Clone, Debug, PartialEq)]
pub struct SpaceRun {
    /// Of the inertial sensor.
    pub samples: Vec<InertialSample>,
    /// Pose and motion at each sample that is there or missing, with the biases then.
    pub truth: Vec<(Stamp, Kinematics, Biases)>,
    /// Of the cameras.
    pub frames: Vec<Frame>,
    /// The cameras.
    pub cameras: Vec<Camera>,
    /// Landmarks by identity, m; where tracks end, those of tracks as well.
    pub landmarks: BTreeMap<u64, Vector3<f64>>,
    /// What is known at the start.
    pub start: Start,
}

/// Draws a run from a seed; the scenario's own seed is not used.
///
/// # Errors
/// [`SpaceScenarioError`].
pub fn simulate(scenario: &SpaceScenario, seed: u64) -> Result<SpaceRun, SpaceScenarioError> {
    scenario.validate()?;
    let motion = Motion::new(scenario.motion, scenario.duration_s, seed);
    let motion = Course { motion, rest_s: scenario.start.rest_s };
    let (mut samples, biases) = samples(scenario, &motion, seed);
    let truth = samples.iter().zip(biases).map(|(sample, bias)| (sample.stamp, motion.at(sample.stamp.secs()), bias));
    let truth = truth.collect();
    let imu = &scenario.imu;
    samples.retain(|sample| !(0.0..imu.gap_s).contains(&(sample.stamp.secs() - imu.gap_start_s)));
    let mount = if imu.upside_down { Vector3::new(1.0, -1.0, -1.0) } else { Vector3::repeat(1.0) };
    for sample in &mut samples {
        sample.rate = sample.rate.component_mul(&mount) * imu.gyro_factor;
        sample.force = sample.force.component_mul(&mount) * imu.force_factor;
    }
    let mut landmarks = landmarks(scenario, seed);
    let cameras = cameras(&scenario.camera);
    let (frames, tracks) = frames(scenario, &motion, &cameras, &landmarks, seed);
    let of_tracks: Vec<_> = tracks.iter().filter_map(|(track, id)| Some((*track, *landmarks.get(id)?))).collect();
    landmarks.extend(of_tracks);
    let start = start(scenario, &motion.at(0.0), seed);
    Ok(SpaceRun { samples, truth, frames, cameras, landmarks, start })
}

/// The frames, and the landmark of each track where tracks end.
fn frames(
    scenario: &SpaceScenario,
    motion: &Course,
    cameras: &[Camera],
    landmarks: &BTreeMap<u64, Vector3<f64>>,
    seed: u64,
) -> (Vec<Frame>, BTreeMap<u64, u64>) {
    let camera = &scenario.camera;
    let mut tracker = Tracker::new(camera, cameras, landmarks);
    let mut rng = generator(seed, Purpose::SpaceCamera);
    let count = ((scenario.duration_s - camera.late_s) * camera.rate_hz).floor().max(0.0) as u64;
    let frame = |k: u64| {
        let t = k as f64 / camera.rate_hz;
        let stamp = Stamp::from_secs(t + camera.late_s);
        let seen = tracker.frame(&motion.at(t).pose, &mut rng);
        Frame { stamp, truth: motion.at(stamp.secs()), seen }
    };
    let frames = (0..=count).map(frame).collect();
    (frames, tracker.of_tracks().clone())
}

/// An estimate with errors as stated.
fn start(scenario: &SpaceScenario, truth: &Kinematics, seed: u64) -> Start {
    let (config, imu) = (&scenario.start, &scenario.imu);
    let (turn, velocity, position) = (config.rotation_std_rad, config.velocity_std_m_s, config.position_std_m);
    let mut rng = generator(seed, Purpose::SpaceStart);
    let rotation = So3::exp(&draw(&mut rng, turn)) * truth.pose.rotation;
    let moved = truth.velocity + draw(&mut rng, velocity);
    let place = truth.pose.translation + draw(&mut rng, position);
    debug_assert!((rotation.matrix().transpose() * rotation.matrix() - Matrix3::identity()).norm() < 1e-9);
    Start {
        stamp: Stamp::from_secs(0.0),
        pose: Se3::new(rotation, place),
        velocity: moved,
        std: [turn, velocity, position, imu.gyro_bias_std, imu.force_bias_std],
    }
}
