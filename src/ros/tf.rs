//! The transform map → odom (REP 105), and planar poses and clouds as ROS has them.

use super::clock::to_time;
use lienav_base::stamp::Stamp;
use lienav_io::cloud::Encoded;
use lienav_io::convert::PLANAR;
use lienav_lie::Se2;
use nalgebra::Matrix3;
use r2r::geometry_msgs::msg::{Point, Pose, PoseWithCovariance, Quaternion, Transform, TransformStamped, Vector3};
use r2r::sensor_msgs::msg::{PointCloud2, PointField};
use r2r::std_msgs::msg::Header;

/// map → odom from the pose of the base in the map, and that in the odometry frame at the same instant.
pub fn map_to_odom(base_in_map: Se2, base_in_odom: Se2) -> Se2 {
    base_in_map * base_in_odom.inverse()
}

/// `child` in `parent`.
pub fn transform(stamp: Stamp, parent: &str, child: &str, pose: Se2) -> TransformStamped {
    TransformStamped {
        header: header(stamp, parent),
        child_frame_id: child.to_owned(),
        transform: Transform {
            translation: Vector3 { x: pose.p.x, y: pose.p.y, z: 0.0 },
            rotation: quaternion(pose.theta),
        },
    }
}

/// When, and in which frame.
pub fn header(stamp: Stamp, frame: &str) -> Header {
    Header { stamp: to_time(stamp), frame_id: frame.to_owned() }
}

/// A planar pose at height 0.
pub fn pose(pose: Se2) -> Pose {
    Pose { position: Point { x: pose.p.x, y: pose.p.y, z: 0.0 }, orientation: quaternion(pose.theta) }
}

/// The rotation by `yaw` about the vertical.
fn quaternion(yaw: f64) -> Quaternion {
    let (z, w) = (0.5 * yaw).sin_cos();
    Quaternion { x: 0.0, y: 0.0, z, w }
}

/// A planar pose with its covariance. What the plane leaves out (z, roll, pitch) is known to be 0: variance 0.
#[allow(clippy::indexing_slicing, reason = "PLANAR has rows of the 6×6 matrix, and i, j are rows of the 3×3 one")]
pub fn pose_with_covariance(estimate: Se2, covariance: &Matrix3<f64>) -> PoseWithCovariance {
    let mut out = vec![0.0; 36];
    for (i, row) in PLANAR.into_iter().enumerate() {
        for (j, column) in PLANAR.into_iter().enumerate() {
            out[6 * row + column] = covariance[(i, j)];
        }
    }
    PoseWithCovariance { pose: pose(estimate), covariance: out }
}

/// A cloud as it was laid out.
pub fn cloud(header: Header, encoded: Encoded) -> PointCloud2 {
    let field = |(name, offset, datatype): &(&str, u32, u8)| PointField {
        name: (*name).to_owned(),
        offset: *offset,
        datatype: *datatype,
        count: 1,
    };
    PointCloud2 {
        header,
        height: 1,
        width: encoded.width,
        fields: encoded.fields.iter().map(field).collect(),
        is_bigendian: false,
        point_step: encoded.point_step,
        row_step: encoded.point_step * encoded.width,
        data: encoded.data,
        is_dense: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lienav_io::convert::planar_block;
    use lienav_io::messages::Covariance6;
    use std::f64::consts::FRAC_PI_2;

    #[test]
    fn the_chain_map_odom_base_gives_the_estimate() {
        let (map, odom) = (Se2::new(3.0, -1.0, 0.7), Se2::new(1.0, 2.0, -2.0));
        let chained = map_to_odom(map, odom) * odom;
        assert!((chained.p - map.p).norm() < 1e-12 && (chained.theta - map.theta).abs() < 1e-12);
    }

    #[test]
    fn covariances_go_to_the_places_of_x_y_and_yaw_and_back() {
        let covariance = Matrix3::new(1.0, 0.1, 0.2, 0.1, 2.0, 0.3, 0.2, 0.3, 3.0);
        let message = pose_with_covariance(Se2::identity(), &covariance).covariance;
        assert_eq!((message[0], message[7], message[35], message[5], message[11]), (1.0, 2.0, 3.0, 0.2, 0.3));
        let read = Covariance6(message.try_into().unwrap());
        assert_eq!(planar_block(&read), covariance);
    }

    #[test]
    fn a_left_turn_is_counterclockwise() {
        let q = quaternion(FRAC_PI_2);
        assert!((q.z - 0.5f64.sqrt()).abs() < 1e-15 && (q.w - 0.5f64.sqrt()).abs() < 1e-15);
    }
}
