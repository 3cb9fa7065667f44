//! A recorded run as data.

use super::equipment::Equipment;
use crate::identities::Identities;
use lienav_base::stamp::Stamp;
use lienav_lie::Se2;
use lienav_slam::{Config, Imu, Odometry, Scan};
use nalgebra::Vector2;
use std::collections::BTreeMap;

/// One thing the filter is fed with.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// Velocities.
    Odometry(Odometry),
    /// Velocities of a further source, which count while those before it are silent ([`Feeder`](super::Feeder)).
    Fallback {
        /// Its place among the sources, from 1.
        source: u8,
        /// The velocities.
        odometry: Odometry,
    },
    /// Velocities whose arrival is known, as that of messages that were held up and came all at once may be.
    Received {
        /// The place among the sources, 0 for the first.
        source: u8,
        /// The velocities.
        odometry: Odometry,
        /// When they arrived, by a clock that no message sets, s since anything.
        received_s: f64,
    },
    /// A gyroscope's yaw rate.
    Imu(Imu),
    /// What the feature sensor saw at one instant.
    Scan(Scan),
}

impl Input {
    /// When it was measured.
    pub fn stamp(&self) -> Stamp {
        match self {
            Self::Odometry(odometry) | Self::Fallback { odometry, .. } | Self::Received { odometry, .. } => {
                odometry.stamp
            }
            Self::Imu(imu) => imu.stamp,
            Self::Scan(features) => features.stamp,
        }
    }

    /// Velocities of the first source.
    pub fn odometry(&self) -> Option<&Odometry> {
        match self {
            Self::Odometry(odometry) | Self::Received { source: 0, odometry, .. } => Some(odometry),
            _ => None,
        }
    }
}

/// A recorded run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    /// What to call it in a report.
    pub name: String,
    /// The filter's input in order of arrival.
    pub inputs: Vec<Input>,
    /// True poses of the base in the map frame, by increasing stamp; empty where no writer knows.
    pub truth: Vec<(Stamp, Se2)>,
    /// True positions of features in the map frame, m, by identity; empty where no writer knows.
    pub true_landmarks: Vec<(u32, Vector2<f64>)>,
    /// What measurements without identity are of, where a judge may know; `None` where identities are known to all or
    /// to nobody.
    pub identities: Option<Identities>,
    /// Positions of one point of the robot, where somebody has them; no truth, but a check.
    pub fixes: Option<PositionFixes>,
    /// What the source says of its sensors and of the start; `None` where it says nothing.
    pub config: Option<Config>,
    /// What a filter needs beside its settings: further sensors, and further sources of odometry.
    pub equipment: Equipment,
    /// Input that could not be read or does not belong to this run, by reason.
    pub dropped: BTreeMap<String, u64>,
    /// Statements of the source that contradict each other or cannot be meant, one sentence each: they come first in a
    /// report.
    pub contradictions: Vec<String>,
    /// What the reader should know, one sentence each: where a damaged file ends, which topics were left out.
    pub warnings: Vec<String>,
}

/// Where one point of the robot was, as a satellite receiver or another device had it, in a frame of its own: with
/// errors, jumps and gaps, and without a heading.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PositionFixes {
    /// The point, in the base frame, m: the antenna.
    pub antenna: Vector2<f64>,
    /// Its positions, m, by increasing stamp.
    pub fixes: Vec<(Stamp, Vector2<f64>)>,
}

impl Recording {
    /// Counts input that is left out.
    pub fn drop_one(&mut self, reason: &str) {
        match self.dropped.get_mut(reason) {
            Some(count) => *count += 1,
            None => {
                self.dropped.insert(reason.to_owned(), 1);
            }
        }
    }
}
