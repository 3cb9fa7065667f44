//! The topics that `slam_node` listens to, and how many there can be.

use lienav_io::intake::{MOST_FALLBACKS, MOST_SENSORS};

/// Topics of odometry: `odom`, and the fallbacks.
pub const ODOMETRY_TOPICS: usize = 1 + MOST_FALLBACKS;

/// Topics of features: `features`, and those of named sensors.
pub const FEATURE_TOPICS: usize = 1 + MOST_SENSORS;

/// The topics, in the order in which messages of one stamp are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// `initialpose`
    InitialPose,
    /// `/tf_static`
    StaticTransforms,
    /// `odom`, and the other sources of odometry behind it
    Odometry(u8),
    /// `imu`
    Imu,
    /// `/tf`
    Transforms,
    /// `absolute_pose`
    AbsolutePose,
    /// `fix`
    Fix,
    /// What the camera of a feature sensor says of itself.
    CameraInfo(u8),
    /// `features`, and those of named sensors behind it
    Scan(u8),
}

impl Topic {
    /// How many there can be.
    pub const COUNT: usize = 6 + ODOMETRY_TOPICS + 2 * FEATURE_TOPICS;

    /// Its place among them.
    pub fn index(self) -> usize {
        match self {
            Self::InitialPose => 0,
            Self::StaticTransforms => 1,
            Self::Odometry(k) => 2 + usize::from(k).min(ODOMETRY_TOPICS - 1),
            Self::Imu => 2 + ODOMETRY_TOPICS,
            Self::Transforms => 3 + ODOMETRY_TOPICS,
            Self::AbsolutePose => 4 + ODOMETRY_TOPICS,
            Self::Fix => 5 + ODOMETRY_TOPICS,
            Self::CameraInfo(k) => 6 + ODOMETRY_TOPICS + usize::from(k).min(FEATURE_TOPICS - 1),
            Self::Scan(k) => 6 + ODOMETRY_TOPICS + FEATURE_TOPICS + usize::from(k).min(FEATURE_TOPICS - 1),
        }
    }

    /// Those of features.
    pub fn of_features() -> impl Iterator<Item = Self> {
        (0..FEATURE_TOPICS as u8).map(Self::Scan)
    }

    /// Those of odometry.
    pub fn of_odometry() -> impl Iterator<Item = Self> {
        (0..ODOMETRY_TOPICS as u8).map(Self::Odometry)
    }
}
