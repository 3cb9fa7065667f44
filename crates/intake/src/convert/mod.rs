//! Between messages and what the filters take: one conversion with one set of checks, whether a message comes from a
//! topic or from a bag.
//!
//! A function of the `read` half takes a [plain message](crate::messages) and the frames it may be in, and gives input
//! of a filter or a [`Refusal`]. It checks what makes a message unreadable: frames, nanoseconds, unit quaternions,
//! fields that a message says it does not have, the layout of a cloud. Whether numbers make sense is the filter's to
//! judge.
//!
//! ```
//! use lienav_intake::convert::{Frame, odometry};
//! use lienav_intake::messages::Odometry;
//!
//! let mut message = Odometry { child_frame_id: "base_link".into(), ..Odometry::default() };
//! message.header.frame_id = "odom2".into();
//! let odom = Frame::parameter("odom_frame", "odom");
//! let refusal = odometry(&message, &[odom], &[]).unwrap_err();
//! assert_eq!(refusal.word(), "unknown_frame");
//! assert_eq!(refusal.to_string(), "frame_id is 'odom2', expected 'odom' (parameter odom_frame)");
//! ```

mod april;
mod detections;
mod extrinsics;
mod frame;
mod outside;
mod placed;
mod read;
mod refusal;
mod space;
mod tag_sizes;
mod tags;
mod write;

pub use april::{Pinhole, april_tags};
pub use detections::{DetectionWords, detections};
pub use extrinsics::{Extrinsics, MAX_TILT_RAD};
pub use frame::{Expected, Frame, Frames, check_frame, check_frame_name};
pub use outside::{MAX_YAW_VARIANCE, absolute_pose, absolute_pose_message, nav_sat_fix};
pub use placed::{features_from, isometry_of, placed_odometry, pose_array, twist};
pub(crate) use read::{ABSURDLY_SMALL, MOVING};
pub use read::{
    features, imu, imu_sample, initial_pose, landmarks, magnetic_field, odometry, planar_block, pose_of, stamp_of,
    torque, yaw_of,
};
pub use refusal::{Origin, Refusal};
pub use space::{
    SpaceKind, covariance_message, lens_of, moved_covariance, quaternion_of, se3_of, se3_of_isometry, space_features,
    space_imu, space_kind, space_odometry, space_pose, space_pose_message,
};
pub use tag_sizes::TagSizes;
pub use tags::{TagCamera, TagPattern, TagPatternError};
pub use write::{
    cloud_message, features_message, header, imu_message, odometry_message, pose_message, pose_stamped,
    transform_message,
};

/// Where (x, y, rotation about Z) stand among the six of ROS (x, y, z, rotations about X, Y, Z).
pub const PLANAR: [usize; 3] = [0, 1, 5];

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
