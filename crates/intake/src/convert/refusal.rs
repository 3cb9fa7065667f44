//! Why a message does not become input of a filter.

pub(super) use crate::cloud::{FieldReader, LayoutError, Wanted};
use std::fmt;

/// Why a message does not become input of a filter. This is about what cannot be read; what is wrong with numbers, the
/// filter itself says ([`lienav_slam::DropReason`], [`lienav_attitude::DropReason`]).
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// A cloud of the wrong layout.
    #[error(transparent)]
    BadLayout(#[from] LayoutError),
    /// A frame other than the expected one.
    #[error("{field} is '{found}', expected '{expected}' ({origin})")]
    UnknownFrame {
        /// Which field of the message: `frame_id` or `child_frame_id`.
        field: &'static str,
        /// Its value.
        found: String,
        /// The expected frame, or the first one if several are allowed.
        expected: String,
        /// Where the expected frame is stated.
        origin: Origin,
    },
    /// A frame of which it is not known where it is on the robot.
    #[error(
        "no static transform from '{base}' to '{frame}' has come yet: publish it on /tf_static (robot_state_publisher, \
         static_transform_publisher), or {otherwise}"
    )]
    NoTransform {
        /// The frame of the robot.
        base: String,
        /// The frame of the message.
        frame: String,
        /// What else can be done.
        otherwise: &'static str,
    },
    /// A sensor that leans, with measurements that are meant in the plane.
    #[error(
        "the frame of the sensor leans by {tilt_deg:.0} degrees, and {what}: send positions x, y, z, or put the frame \
         upright"
    )]
    TiltedSensor {
        /// The angle from the vertical, degrees.
        tilt_deg: f64,
        /// Why that is not used.
        what: &'static str,
    },
    /// Tags in an image of a camera of which nothing is known.
    #[error(
        "no sensor_msgs/CameraInfo with a focal length has come on {topic}: remap {topic} to the topic beside the \
         detector's image"
    )]
    NoCameraInfo {
        /// Where it is expected.
        topic: String,
    },
    /// A transform that is none.
    #[error("the transform from '{parent}' to '{child}': {why}")]
    BadTransform {
        /// `frame_id`.
        parent: String,
        /// `child_frame_id`.
        child: String,
        /// What is wrong.
        why: &'static str,
    },
    /// A stamp with a second or more of nanoseconds.
    #[error("stamp.nanosec is {0}, expected less than 1000000000")]
    BadStamp(u32),
    /// An orientation whose quaternion is not of length 1.
    #[error("the quaternion of the orientation has length {norm}, expected 1")]
    BadOrientation {
        /// The length of the quaternion.
        norm: f64,
    },
    /// An inertial message that says that it has no angular velocity (REP 145).
    #[error("angular_velocity_covariance[0] is -1: the message has no angular velocity")]
    NoAngularVelocity,
    /// An inertial message that says that it has no linear acceleration (REP 145).
    #[error("linear_acceleration_covariance[0] is -1: the message has no linear acceleration")]
    NoLinearAcceleration,
    /// A receiver that has no fix.
    #[error("status.status is {status}: the receiver has no fix; nothing is to be done but to wait for one")]
    NoFix {
        /// The status.
        status: i8,
    },
    /// A fix that cannot be used.
    #[error("the fix is not used: {why}")]
    BadFix {
        /// Why not, and what to do.
        why: &'static str,
    },
}

impl Refusal {
    /// All words of [`Refusal::word`].
    pub const WORDS: [&'static str; 12] = [
        "bad_layout",
        "unknown_frame",
        "bad_stamp",
        "bad_orientation",
        "no_angular_velocity",
        "no_linear_acceleration",
        "no_transform",
        "tilted_sensor",
        "bad_transform",
        "no_fix",
        "bad_fix",
        "no_camera_info",
    ];

    /// The reason as one word: the one it is counted under in `/diagnostics` and in reports.
    pub fn word(&self) -> &'static str {
        match self {
            Self::BadLayout(_) => Self::WORDS[0],
            Self::UnknownFrame { .. } => Self::WORDS[1],
            Self::BadStamp(_) => Self::WORDS[2],
            Self::BadOrientation { .. } => Self::WORDS[3],
            Self::NoAngularVelocity => Self::WORDS[4],
            Self::NoLinearAcceleration => Self::WORDS[5],
            Self::NoTransform { .. } => Self::WORDS[6],
            Self::TiltedSensor { .. } => Self::WORDS[7],
            Self::BadTransform { .. } => Self::WORDS[8],
            Self::NoFix { .. } => Self::WORDS[9],
            Self::BadFix { .. } => Self::WORDS[10],
            Self::NoCameraInfo { .. } => Self::WORDS[11],
        }
    }
}

/// Where the name of an expected frame comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// From this parameter.
    Parameter(&'static str),
    /// From this parameter; a frame with a static transform to it would do as well.
    OnRobot(&'static str),
    /// From the first message of the topic.
    FirstMessage,
    /// From the header of the same message.
    Header,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parameter(name) => write!(f, "parameter {name}"),
            Self::OnRobot(name) => {
                write!(f, "parameter {name}, or a frame with a transform to it, of which none has come on /tf_static")
            }
            Self::FirstMessage => write!(f, "as in the first message of the topic"),
            Self::Header => write!(f, "as in the header of the message"),
        }
    }
}
