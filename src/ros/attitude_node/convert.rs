//! Messages to what the filter is fed with. Pure functions: what they refuse, they name.

use crate::ros::convert::{Frame, Refusal, check_header};
use lienav_attitude::{ImuSample, MagneticField, Torque};
use nalgebra::Vector3;
use r2r::{geometry_msgs, sensor_msgs};

fn vector(v: &geometry_msgs::msg::Vector3) -> Vector3<f64> {
    Vector3::new(v.x, v.y, v.z)
}

/// Angular velocity and specific force of an inertial message; its orientation is not read.
///
/// # Errors
/// Another frame, a stamp that is none, or a message that says that it has not both (REP 145).
pub fn imu(message: &sensor_msgs::msg::Imu, frames: &[Frame<'_>]) -> Result<ImuSample, Refusal> {
    let stamp = check_header(&message.header, frames)?;
    if message.angular_velocity_covariance.first() == Some(&-1.0) {
        return Err(Refusal::NoAngularVelocity);
    }
    if message.linear_acceleration_covariance.first() == Some(&-1.0) {
        return Err(Refusal::NoLinearAcceleration);
    }
    Ok(ImuSample {
        stamp,
        angular_velocity: vector(&message.angular_velocity),
        specific_force: vector(&message.linear_acceleration),
    })
}

/// The magnetic field.
///
/// # Errors
/// Another frame, or a stamp that is none.
pub fn magnetic_field(
    message: &sensor_msgs::msg::MagneticField,
    frames: &[Frame<'_>],
) -> Result<MagneticField, Refusal> {
    let stamp = check_header(&message.header, frames)?;
    Ok(MagneticField { stamp, field: vector(&message.magnetic_field) })
}

/// The torque of a wrench, in the body frame.
///
/// # Errors
/// Another frame, or a stamp that is none.
pub fn torque(message: &geometry_msgs::msg::WrenchStamped, frames: &[Frame<'_>]) -> Result<Torque, Refusal> {
    let stamp = check_header(&message.header, frames)?;
    Ok(Torque { stamp, torque: vector(&message.wrench.torque) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ros::tf;
    use lienav_base::stamp::Stamp;

    const FRAMES: [Frame<'static>; 1] = [Frame { parameter: "imu_frame", name: "imu_link" }];

    fn message() -> sensor_msgs::msg::Imu {
        sensor_msgs::msg::Imu {
            header: tf::header(Stamp::from_nanos(1_000_000_007), "imu_link"),
            angular_velocity: geometry_msgs::msg::Vector3 { x: 1.0, y: 2.0, z: 3.0 },
            linear_acceleration: geometry_msgs::msg::Vector3 { x: 4.0, y: 5.0, z: 6.0 },
            ..Default::default()
        }
    }

    #[test]
    fn rates_and_forces_are_taken_as_they_are() {
        let sample = imu(&message(), &FRAMES).unwrap();
        assert_eq!(sample.stamp.nanos(), 1_000_000_007);
        assert_eq!(sample.angular_velocity, Vector3::new(1.0, 2.0, 3.0));
        assert_eq!(sample.specific_force, Vector3::new(4.0, 5.0, 6.0));
    }

    #[test]
    fn what_a_message_says_it_has_not_is_not_taken() {
        let refused = |change: &dyn Fn(&mut sensor_msgs::msg::Imu)| {
            let mut message = message();
            change(&mut message);
            imu(&message, &FRAMES).unwrap_err().word()
        };
        assert_eq!(refused(&|m| m.angular_velocity_covariance[0] = -1.0), "no_angular_velocity");
        assert_eq!(refused(&|m| m.linear_acceleration_covariance[0] = -1.0), "no_linear_acceleration");
        assert_eq!(refused(&|m| m.header.frame_id = "camera".into()), "unknown_frame");
        assert_eq!(refused(&|m| m.header.stamp.nanosec = 1_000_000_000), "bad_stamp");
    }
}
