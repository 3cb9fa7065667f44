//! What a recording of tags says of the motion between frames, and how well.

use lienav_base::stamp::Stamp;
use lienav_io::space::data::{Layout, SpaceRecording, Twist};
use lienav_space::tags::{BodyTwist, TagConfig};
use std::collections::BTreeMap;

/// Which measurements of the motion are used, where a recording has several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Odometry {
    /// Speeds over the whole recording, before increments over some of it.
    #[default]
    Chassis,
    /// Increments, over the time that has them.
    Twist,
}

/// An instant with an estimate, and the frame that it has.
pub struct Moment {
    /// When.
    pub stamp: Stamp,
    /// Which frame, if it has one.
    pub frame: Option<usize>,
}

/// What is measured of the motion, and how well.
pub struct Motion<'a> {
    /// Each held until the next.
    pub twists: &'a [Twist],
    /// Densities of rate, rad/√s, and velocity, m/√s.
    density: [f64; 2],
    /// By which part of its last change a value of rate and velocity is uncertain.
    lag: f64,
    /// Whether the body stays on a level floor.
    pub is_planar: bool,
    /// Standard deviation of the stamp of a frame, s.
    stamp_sigma_s: f64,
}

impl<'a> Motion<'a> {
    /// Of a recording.
    pub fn of(recording: &'a SpaceRecording, odometry: Odometry) -> Self {
        // A simulator draws its images from the pose of its last cycle: they are up to 20 ms old.
        const CYCLE_S: f64 = 0.02;
        let stamp_sigma_s = CYCLE_S / 12_f64.sqrt();
        match (recording.layout, odometry) {
            // Increments of the wheels, of what slips: a millimetre and a milliradian in a second.
            (Layout::Frc, Odometry::Twist) => {
                Self { twists: &recording.twists, density: [1e-3, 1e-3], lag: 0.0, is_planar: true, stamp_sigma_s }
            }
            // A speed is that of a cycle before or after: it is off by what changes in a cycle.
            (Layout::Frc, Odometry::Chassis) => {
                Self { twists: &recording.chassis, density: [1e-3, 1e-3], lag: 1.0, is_planar: true, stamp_sigma_s }
            }
            // Odometry by a camera and an inertial sensor: a degree and 0.2 m in a minute of small motions.
            _ => Self {
                twists: &recording.twists,
                density: [3e-3, 2e-2],
                lag: 0.0,
                is_planar: false,
                stamp_sigma_s: 0.0,
            },
        }
    }

    /// The same as settings of the pipeline, with this noise of corners, px.
    pub fn config(&self, corner_std_px: f64) -> TagConfig {
        let mut config = TagConfig::default();
        let tags = &mut config.tags;
        (tags.corner_std_px, tags.stamp_std_s, tags.level_floor) = (corner_std_px, self.stamp_sigma_s, self.is_planar);
        [tags.odometry_rate_noise, tags.odometry_velocity_noise] = self.density;
        // A recording that has odometry has it until its end: what is logged on change holds.
        (tags.odometry_lag, tags.odometry_hold_s) = (self.lag, 1e9);
        config
    }

    /// Frames, and where a twist begins.
    pub fn instants(&self, recording: &SpaceRecording, begin: Stamp) -> Vec<Moment> {
        let end = self.twists.last().map(|twist| twist.stamp);
        let frames = recording.tags.frames.iter().enumerate();
        let frames = frames.filter(|(_, frame)| self.twists.is_empty() || self.covers(frame.stamp, end));
        let mut all: BTreeMap<Stamp, Option<usize>> = self.twists.iter().map(|twist| (twist.stamp, None)).collect();
        all.extend(frames.map(|(k, frame)| (frame.stamp, Some(k))));
        all.into_iter().filter(|(stamp, _)| *stamp >= begin).map(|(stamp, frame)| Moment { stamp, frame }).collect()
    }

    /// Whether there is a twist for this stamp.
    pub fn covers(&self, stamp: Stamp, end: Option<Stamp>) -> bool {
        self.twists.first().is_some_and(|first| first.stamp <= stamp) && end.is_some_and(|end| stamp <= end)
    }
}

/// A twist as input of the pipeline.
pub fn input(twist: &Twist) -> BodyTwist {
    BodyTwist { stamp: twist.stamp, velocity: twist.velocity, rate: twist.rate, variances: None }
}
