//! Messages to what the filter is fed with. Pure functions: what they refuse, they name.

use super::clock::from_time;
use super::tf::planar_block;
use lienav_base::stamp::Stamp;
use lienav_io::bag::cloud::{Cloud, Field, LayoutError, decode_features};
use lienav_io::bag::content::tilt_of;
use lienav_lie::Se2;
use lienav_slam::{FeatureKind, Features, Imu, Odometry};
use nalgebra::{Matrix3, Quaternion, UnitQuaternion, Vector2, Vector3};
use r2r::{geometry_msgs, nav_msgs, sensor_msgs, std_msgs};

/// Why a message does not become input of the filter. What is wrong with numbers, the filter itself says
/// ([`lienav_slam::DropReason`]); here it is only what cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A cloud of the wrong layout.
    #[error("{0}")]
    BadLayout(#[from] LayoutError),
    /// A frame that is not the one of the parameters.
    #[error("its {what} is '{found}', but parameter {parameter} is '{expected}'")]
    UnknownFrame {
        /// Which field of the message.
        what: &'static str,
        /// What it says.
        found: String,
        /// The parameter that says what it should be.
        parameter: &'static str,
        /// What it should be.
        expected: String,
    },
    /// A stamp with a second or more of nanoseconds.
    #[error("its stamp has {0} ns, which is a second or more")]
    BadStamp(u32),
    /// An orientation that is no rotation.
    #[error("its orientation is not a unit quaternion")]
    BadOrientation,
    /// An inertial message that says that it has no angular velocity.
    #[error("it says that it has no angular velocity")]
    NoAngularVelocity,
    /// An inertial message that says that it has no linear acceleration.
    #[error("it says that it has no linear acceleration")]
    NoLinearAcceleration,
}

impl Refusal {
    /// All words of [`Refusal::word`].
    pub const WORDS: [&'static str; 6] = [
        "bad_layout",
        "unknown_frame",
        "bad_stamp",
        "bad_orientation",
        "no_angular_velocity",
        "no_linear_acceleration",
    ];

    /// The reason as one word, as `/diagnostics` has it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::BadLayout(_) => Self::WORDS[0],
            Self::UnknownFrame { .. } => Self::WORDS[1],
            Self::BadStamp(_) => Self::WORDS[2],
            Self::BadOrientation => Self::WORDS[3],
            Self::NoAngularVelocity => Self::WORDS[4],
            Self::NoLinearAcceleration => Self::WORDS[5],
        }
    }
}

/// A frame of a message: `what` it is called there, and the `parameter` of ours, that it has to equal.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Name of the parameter.
    pub parameter: &'static str,
    /// Its value.
    pub name: &'a str,
}

/// One frame name, or another; a leading slash, as ROS 1 wrote it, does not count.
fn check_frame(what: &'static str, found: &str, allowed: &[Frame<'_>]) -> Result<(), Refusal> {
    let plain = |name: &str| name.strip_prefix('/').unwrap_or(name).to_owned();
    if allowed.iter().any(|frame| plain(frame.name) == plain(found)) {
        return Ok(());
    }
    let (parameter, expected) = allowed.first().map_or(("", String::new()), |f| (f.parameter, f.name.to_owned()));
    Err(Refusal::UnknownFrame { what, found: found.to_owned(), parameter, expected })
}

pub(super) fn check_header(header: &std_msgs::msg::Header, allowed: &[Frame<'_>]) -> Result<Stamp, Refusal> {
    check_frame("frame_id", &header.frame_id, allowed)?;
    from_time(&header.stamp).ok_or(Refusal::BadStamp(header.stamp.nanosec))
}

/// The twist of an odometry message, in `base`, with the pose in `odom` where it has a usable one: a source of twists
/// alone may leave it empty.
///
/// # Errors
/// Frames other than these, or a stamp that is none.
pub fn odometry(
    message: &nav_msgs::msg::Odometry,
    odom: Frame<'_>,
    base: Frame<'_>,
) -> Result<(Odometry, Option<Se2>), Refusal> {
    let stamp = check_header(&message.header, &[odom])?;
    check_frame("child_frame_id", &message.child_frame_id, &[base])?;
    let twist = &message.twist.twist;
    let input = Odometry {
        stamp,
        velocity: Vector2::new(twist.linear.x, twist.linear.y),
        yaw_rate: twist.angular.z,
        covariance: covariance_of(&message.twist.covariance),
    };
    Ok((input, pose(&message.pose.pose)))
}

/// The covariance of (v_x, v_y, w); none where the message has none: nothing but zeros, or −1 first.
fn covariance_of(covariance: &[f64]) -> Option<Matrix3<f64>> {
    let says_something = covariance.first() != Some(&-1.0) && covariance.iter().any(|&x| x != 0.0);
    planar_block(covariance).filter(|_| says_something)
}

/// Position and heading of a pose in space; `None` where it is not finite or not a pose.
pub fn pose(pose: &geometry_msgs::msg::Pose) -> Option<Se2> {
    let yaw = heading(&rotation(&pose.orientation)?);
    let (x, y) = (pose.position.x, pose.position.y);
    (x.is_finite() && y.is_finite()).then(|| Se2::new(x, y, yaw))
}

/// How far the norm of a quaternion may be from 1: drivers send rounded ones.
const NORM_TOLERANCE: f64 = 1e-3;

fn rotation(q: &geometry_msgs::msg::Quaternion) -> Option<UnitQuaternion<f64>> {
    let q = Quaternion::new(q.w, q.x, q.y, q.z);
    ((q.norm() - 1.0).abs() < NORM_TOLERANCE).then(|| UnitQuaternion::new_normalize(q))
}

/// The angle from the X axis of the parent to the horizontal part of the X axis of the body.
fn heading(rotation: &UnitQuaternion<f64>) -> f64 {
    // Of a planar pose this is 2 atan2(z, w), and no bit is lost on the way through a matrix.
    if rotation.i == 0.0 && rotation.j == 0.0 {
        return lienav_lie::wrap_angle(2.0 * rotation.k.atan2(rotation.w));
    }
    let ahead = rotation * Vector3::x();
    ahead.y.atan2(ahead.x)
}

/// A cloud of features in the sensor's frame, or in the base's.
///
/// # Errors
/// Another frame, a stamp that is none, or fields that are not those of features.
pub fn features(
    message: &sensor_msgs::msg::PointCloud2,
    frames: &[Frame<'_>],
    preferred: FeatureKind,
) -> Result<Features, Refusal> {
    let stamp = check_header(&message.header, frames)?;
    let fields: Vec<Field<'_>> = message
        .fields
        .iter()
        .map(|f| Field { name: &f.name, offset: f.offset, datatype: f.datatype, count: f.count })
        .collect();
    let cloud = Cloud {
        fields: &fields,
        height: message.height,
        width: message.width,
        point_step: message.point_step,
        row_step: message.row_step,
        is_bigendian: message.is_bigendian,
        data: &message.data,
    };
    let (kind, observations) = decode_features(&cloud, preferred)?;
    Ok(Features { stamp, kind, observations })
}

/// The rate of the heading that a gyroscope measures, and how it leans, with the orientation of the message where it has
/// one: its covariance does not begin with −1, and it is not left empty. Otherwise the sensor is taken to stand upright.
///
/// # Errors
/// Another frame, a stamp that is none, an orientation that is no rotation, or no angular velocity.
pub fn imu(message: &sensor_msgs::msg::Imu, frames: &[Frame<'_>]) -> Result<Imu, Refusal> {
    let stamp = check_header(&message.header, frames)?;
    if message.angular_velocity_covariance.first() == Some(&-1.0) {
        return Err(Refusal::NoAngularVelocity);
    }
    let (w, q) = (&message.angular_velocity, &message.orientation);
    let values = [q.x, q.y, q.z, q.w];
    let has_orientation = message.orientation_covariance.first() != Some(&-1.0) && values != [0.0; 4];
    if has_orientation && rotation(q).is_none() {
        return Err(Refusal::BadOrientation);
    }
    let tilt = if has_orientation { tilt_of(values) } else { None };
    Ok(Imu::new(stamp, &Vector3::new(w.x, w.y, w.z), tilt))
}

/// A pose given from outside, in the map, with the covariance of (x, y, θ).
///
/// # Errors
/// Another frame, or an orientation that is no rotation. The covariance is the filter's to judge.
pub fn initial_pose(
    message: &geometry_msgs::msg::PoseWithCovarianceStamped,
    map: Frame<'_>,
) -> Result<(Se2, Matrix3<f64>), Refusal> {
    check_frame("frame_id", &message.header.frame_id, &[map])?;
    let given = &message.pose.pose;
    let rotation = rotation(&given.orientation).ok_or(Refusal::BadOrientation)?;
    let covariance = planar_block(&message.pose.covariance).unwrap_or_else(|| Matrix3::repeat(f64::NAN));
    Ok((Se2::new(given.position.x, given.position.y, heading(&rotation)), covariance))
}

#[cfg(test)]
#[path = "convert_tests.rs"]
mod tests;
