//! Messages of inputs that come in several types.

use super::cdr::{self, CdrError};
use lienav_intake::intake::{FeaturesMessage, FeaturesOf, OdometryMessage, OdometryOf};

/// A message with measurements of landmarks.
pub fn decode_features(kind: FeaturesMessage, bytes: &[u8]) -> Result<FeaturesOf, CdrError> {
    Ok(match kind {
        FeaturesMessage::PointCloud => FeaturesOf::PointCloud(Box::new(cdr::decode(bytes)?)),
        FeaturesMessage::PoseArray => FeaturesOf::Poses(Box::new(cdr::decode(bytes)?)),
        FeaturesMessage::Detections => FeaturesOf::Detections(Box::new(cdr::decode(bytes)?)),
        FeaturesMessage::AprilTags => FeaturesOf::AprilTags(Box::new(cdr::decode(bytes)?)),
    })
}

/// A message with odometry.
pub fn decode_odometry(kind: OdometryMessage, bytes: &[u8]) -> Result<OdometryOf, CdrError> {
    Ok(match kind {
        OdometryMessage::Odometry => OdometryOf::Odometry(Box::new(cdr::decode(bytes)?)),
        OdometryMessage::Twist => OdometryOf::Twist(Box::new(cdr::decode(bytes)?)),
    })
}
