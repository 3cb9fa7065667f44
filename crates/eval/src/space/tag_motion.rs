//! What a recording of tags says of the motion between frames.

use lienav_base::stamp::Stamp;
use lienav_inertial::preintegration::Preintegrated;
use lienav_inertial::preintegration::twist::{Twist, held};
use lienav_inertial::state::State;
use lienav_inertial::tag::sight::Sight;
use lienav_io::space::data::{Layout, SpaceRecording};
use nalgebra::Vector3;
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
    pub twists: &'a [lienav_io::space::data::Twist],
    /// Densities of rate, rad/√s, and velocity, m/√s.
    density: [f64; 2],
    /// By which part of its last change a value of rate and velocity is uncertain.
    late: f64,
    /// Whether the body stays on a level floor.
    pub is_planar: bool,
    /// Standard deviation of the stamp of a frame, s.
    pub stamp_sigma_s: f64,
}

/// Accelerations of a body, m/s² and rad/s²; odometry that changes faster has jumped.
const FASTEST_CHANGE: [f64; 2] = [10.0, 10.0];

impl<'a> Motion<'a> {
    /// Of a recording.
    pub fn of(recording: &'a SpaceRecording, odometry: Odometry) -> Self {
        // A simulator draws its images from the pose of its last cycle: they are up to 20 ms old.
        const CYCLE_S: f64 = 0.02;
        let stamp_sigma_s = CYCLE_S / 12_f64.sqrt();
        match (recording.layout, odometry) {
            // Increments of the wheels, of what slips: a millimetre and a milliradian in a second.
            (Layout::Frc, Odometry::Twist) => {
                Self { twists: &recording.twists, density: [1e-3, 1e-3], late: 0.0, is_planar: true, stamp_sigma_s }
            }
            // A speed is that of a cycle before or after: it is off by what changes in a cycle.
            (Layout::Frc, Odometry::Chassis) => {
                Self { twists: &recording.chassis, density: [1e-3, 1e-3], late: 1.0, is_planar: true, stamp_sigma_s }
            }
            // Odometry by a camera and an inertial sensor: a degree and 0.2 m in a minute of small motions.
            _ => Self {
                twists: &recording.twists,
                density: [3e-3, 2e-2],
                late: 0.0,
                is_planar: false,
                stamp_sigma_s: 0.0,
            },
        }
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

    /// The twist that is held at a stamp, and until when.
    pub fn at(&self, stamp: Stamp) -> Option<(usize, Option<Stamp>)> {
        let k = self.twists.partition_point(|twist| twist.stamp <= stamp).checked_sub(1)?;
        Some((k, self.twists.get(k + 1).map(|next| next.stamp)))
    }

    /// How fast the image of a tag moves, px/s, at the twist that is held at a stamp.
    pub fn blur(&self, stamp: Stamp, sight: &Sight) -> f64 {
        let Some((k, _)) = self.at(stamp) else { return 0.0 };
        let twist = &self.twists[k];
        let edge = (sight.corners[1] - sight.corners[0]).norm().max((sight.corners[2] - sight.corners[1]).norm());
        sight.lens.pinhole.focal.x * twist.rate.norm() + edge / sight.size_m * twist.velocity.norm()
    }

    /// What twist `k` says of so many seconds.
    pub fn increment(&self, k: usize, seconds: f64, state: &State) -> Preintegrated {
        let twist = &self.twists[k];
        let white = |which: usize| self.density[which].powi(2) / seconds.max(1e-6);
        let (mut rate_variance, mut velocity_variance) = (Vector3::repeat(white(0)), Vector3::repeat(white(1)));
        if let Some(before) = k.checked_sub(1).map(|k| &self.twists[k]) {
            let step = twist.stamp.since(before.stamp).max(1e-3);
            let changes = [twist.rate - before.rate, twist.velocity - before.velocity];
            if self.is_planar {
                let late = changes.map(|change| change * self.late);
                rate_variance.z += late[0].z.powi(2);
                velocity_variance += Vector3::new(1.0, 1.0, 0.0) * late[1].xy().norm_squared();
            } else {
                let jump = |which: usize| {
                    let change = changes[which].norm();
                    if change > FASTEST_CHANGE[which] * step { change * change } else { 0.0 }
                };
                rate_variance.add_scalar_mut(jump(0));
                velocity_variance.add_scalar_mut(jump(1));
            }
        }
        let (rate, velocity) = (twist.rate, twist.velocity);
        held(&Twist { rate, velocity, rate_variance, velocity_variance }, &state.nav.biases, seconds)
    }
}
