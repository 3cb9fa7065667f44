//! Messages with measurements of landmarks and with odometry, of whichever type.

use crate::messages::{
    self, AprilTagDetectionArray, Detection3DArray, PointCloud2, PoseArray, TwistWithCovarianceStamped,
};

/// A message with measurements of landmarks.
pub enum FeaturesOf {
    /// A point cloud.
    PointCloud(Box<PointCloud2>),
    /// Poses.
    Poses(Box<PoseArray>),
    /// Things in space.
    Detections(Box<Detection3DArray>),
    /// Tags in an image.
    AprilTags(Box<AprilTagDetectionArray>),
}

impl FeaturesOf {
    /// When it was made, and in which frame.
    pub fn header(&self) -> &messages::Header {
        match self {
            Self::PointCloud(message) => &message.header,
            Self::Poses(message) => &message.header,
            Self::Detections(message) => &message.header,
            Self::AprilTags(message) => &message.header,
        }
    }
}

/// A message with odometry.
pub enum OdometryOf {
    /// With a pose.
    Odometry(Box<messages::Odometry>),
    /// Velocities alone.
    Twist(Box<TwistWithCovarianceStamped>),
}
