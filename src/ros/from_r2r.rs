//! Messages as r2r has them to plain ones ([`lienav_io::messages`]), field by field. What they mean, and whether they
//! can be used, [`lienav_io::convert`] says, to a node as to the reader of a bag.
//!
//! Messages are taken by value: their strings and the data of a cloud are moved, not copied.

use lienav_io::messages as plain;
use r2r::{builtin_interfaces, geometry_msgs, nav_msgs, sensor_msgs, std_msgs};

/// `nav_msgs/Odometry`
pub fn odometry(message: nav_msgs::msg::Odometry) -> plain::Odometry {
    plain::Odometry {
        header: header(message.header),
        child_frame_id: message.child_frame_id,
        pose: pose_with_covariance(&message.pose),
        twist: plain::TwistWithCovariance {
            twist: plain::Twist {
                linear: vector(&message.twist.twist.linear),
                angular: vector(&message.twist.twist.angular),
            },
            covariance: plain::Covariance6(array(&message.twist.covariance)),
        },
    }
}

/// `sensor_msgs/Imu`
pub fn imu(message: sensor_msgs::msg::Imu) -> plain::Imu {
    plain::Imu {
        header: header(message.header),
        orientation: quaternion(&message.orientation),
        orientation_covariance: array(&message.orientation_covariance),
        angular_velocity: vector(&message.angular_velocity),
        angular_velocity_covariance: array(&message.angular_velocity_covariance),
        linear_acceleration: vector(&message.linear_acceleration),
        linear_acceleration_covariance: array(&message.linear_acceleration_covariance),
    }
}

/// `sensor_msgs/PointCloud2`
pub fn cloud(message: sensor_msgs::msg::PointCloud2) -> plain::PointCloud2 {
    let field = |field: sensor_msgs::msg::PointField| plain::PointField {
        name: field.name,
        offset: field.offset,
        datatype: field.datatype,
        count: field.count,
    };
    plain::PointCloud2 {
        header: header(message.header),
        height: message.height,
        width: message.width,
        fields: message.fields.into_iter().map(field).collect(),
        is_bigendian: message.is_bigendian,
        point_step: message.point_step,
        row_step: message.row_step,
        data: plain::Bytes(message.data),
        is_dense: message.is_dense,
    }
}

/// `geometry_msgs/PoseWithCovarianceStamped`
pub fn pose_stamped(message: geometry_msgs::msg::PoseWithCovarianceStamped) -> plain::PoseWithCovarianceStamped {
    plain::PoseWithCovarianceStamped { header: header(message.header), pose: pose_with_covariance(&message.pose) }
}

/// `sensor_msgs/MagneticField`
pub fn magnetic_field(message: sensor_msgs::msg::MagneticField) -> plain::MagneticField {
    plain::MagneticField {
        header: header(message.header),
        magnetic_field: vector(&message.magnetic_field),
        magnetic_field_covariance: array(&message.magnetic_field_covariance),
    }
}

/// `geometry_msgs/WrenchStamped`
pub fn wrench(message: geometry_msgs::msg::WrenchStamped) -> plain::WrenchStamped {
    plain::WrenchStamped {
        header: header(message.header),
        wrench: plain::Wrench { force: vector(&message.wrench.force), torque: vector(&message.wrench.torque) },
    }
}

fn header(header: std_msgs::msg::Header) -> plain::Header {
    plain::Header { stamp: time(&header.stamp), frame_id: header.frame_id }
}

fn time(time: &builtin_interfaces::msg::Time) -> plain::Time {
    plain::Time { sec: time.sec, nanosec: time.nanosec }
}

fn pose_with_covariance(message: &geometry_msgs::msg::PoseWithCovariance) -> plain::PoseWithCovariance {
    let p = &message.pose.position;
    plain::PoseWithCovariance {
        pose: plain::Pose {
            position: plain::Point { x: p.x, y: p.y, z: p.z },
            orientation: quaternion(&message.pose.orientation),
        },
        covariance: plain::Covariance6(array(&message.covariance)),
    }
}

fn vector(v: &geometry_msgs::msg::Vector3) -> plain::Vector3 {
    plain::Vector3 { x: v.x, y: v.y, z: v.z }
}

fn quaternion(q: &geometry_msgs::msg::Quaternion) -> plain::Quaternion {
    plain::Quaternion { x: q.x, y: q.y, z: q.z, w: q.w }
}

/// A covariance, which r2r has in a list. The middleware gives no list of another length; it would say nothing that
/// can be used.
fn array<const N: usize>(covariance: &[f64]) -> [f64; N] {
    covariance.try_into().unwrap_or([f64::NAN; N])
}

#[cfg(test)]
mod tests {
    use super::*;
    use lienav_io::bag::cdr;
    use r2r::WrappedTypesupport;

    /// `message` with every number in it another one, in the order of the fields, and a name for every string.
    fn filled<M: WrappedTypesupport + serde::Serialize + serde::de::DeserializeOwned>(message: &M) -> M {
        fn fill(value: &mut serde_json::Value, next: &mut u32) {
            match value {
                serde_json::Value::Number(_) => {
                    *next += 1;
                    *value = (*next).into();
                }
                serde_json::Value::String(text) => *text = format!("name {next}"),
                serde_json::Value::Array(items) => items.iter_mut().for_each(|item| fill(item, next)),
                serde_json::Value::Object(fields) => fields.values_mut().for_each(|field| fill(field, next)),
                serde_json::Value::Bool(_) | serde_json::Value::Null => (),
            }
        }
        let mut value = serde_json::to_value(message).unwrap();
        fill(&mut value, &mut 0);
        serde_json::from_value(value).unwrap()
    }

    /// What the middleware's own encoding of a message says, read as a bag is read.
    fn as_from_a_bag<M: WrappedTypesupport, P: plain::Message>(message: &M) -> P {
        cdr::decode(&message.to_serialized_bytes().unwrap()).unwrap()
    }

    #[test]
    fn a_message_from_a_topic_is_that_from_a_bag_in_every_field() {
        let message = filled(&nav_msgs::msg::Odometry::default());
        assert_eq!(as_from_a_bag::<_, plain::Odometry>(&message), odometry(message));
        let message = filled(&sensor_msgs::msg::Imu::default());
        assert_eq!(as_from_a_bag::<_, plain::Imu>(&message), imu(message));
        let fields = vec![sensor_msgs::msg::PointField::default(); 2];
        let mut message = filled(&sensor_msgs::msg::PointCloud2 { fields, data: vec![0; 3], ..Default::default() });
        (message.is_bigendian, message.is_dense) = (true, false);
        assert_eq!(as_from_a_bag::<_, plain::PointCloud2>(&message), cloud(message));
        let message = filled(&geometry_msgs::msg::PoseWithCovarianceStamped::default());
        assert_eq!(as_from_a_bag::<_, plain::PoseWithCovarianceStamped>(&message), pose_stamped(message));
        let message = filled(&sensor_msgs::msg::MagneticField::default());
        assert_eq!(as_from_a_bag::<_, plain::MagneticField>(&message), magnetic_field(message));
        let message = filled(&geometry_msgs::msg::WrenchStamped::default());
        assert_eq!(as_from_a_bag::<_, plain::WrenchStamped>(&message), wrench(message));
    }
}
