//! Messages in frames of their own, brought to the robot by a transform that is known.

use super::extrinsics::Extrinsics;
use super::frame::{Frame, check_frame};
use super::read::{check_orientation, stamp_of, stated_covariance, yaw_of};
use super::refusal::Refusal;
use crate::cloud::{Wanted, decode_points};
use crate::messages::{self, Covariance6, PointCloud2, Pose, PoseArray, Quaternion, Transform, Twist};
use lienav_base::stamp::Stamp;
use lienav_lie::{Se2, wrap_angle};
use lienav_slam::{Measurement, MeasurementKind, Odometry, Scan};
use nalgebra::{Isometry3, Matrix3x6, Matrix6, Translation3, UnitQuaternion, Vector3, Vector6};

/// The pose that a transform gives its child. The translation may be anything.
///
/// # Errors
/// [`Refusal::BadOrientation`].
pub fn isometry_of(transform: &Transform) -> Result<Isometry3<f64>, Refusal> {
    check_orientation(&transform.rotation)?;
    let t = &transform.translation;
    Ok(Isometry3::from_parts(Translation3::new(t.x, t.y, t.z), rotation_of(&transform.rotation)))
}

fn rotation_of(q: &Quaternion) -> UnitQuaternion<f64> {
    UnitQuaternion::new_normalize(nalgebra::Quaternion::new(q.w, q.x, q.y, q.z))
}

/// A cloud of features as a level sensor at [`Extrinsics::mount`] would have made it. `preferred` decides where its
/// fields are those of several kinds. Its frame is not looked at: who knows the extrinsics has done that.
///
/// # Errors
/// [`Refusal::BadStamp`], [`Refusal::BadLayout`], [`Refusal::TiltedSensor`].
pub fn features_from(
    message: &PointCloud2,
    preferred: MeasurementKind,
    extrinsics: &Extrinsics,
) -> Result<Scan, Refusal> {
    let stamp = stamp_of(&message.header.stamp)?;
    let (kind, points) = decode_points(message, preferred)?;
    let heights = match message.reader("z", Wanted::Number) {
        Ok(Some(z)) => points.iter().map(|&(point, _)| z.number(&message.data.0, point)).collect(),
        _ => Vec::new(),
    };
    let measurements = points.into_iter().map(|(_, measurement)| measurement).collect();
    let mut features = Scan { stamp, kind, measurements };
    extrinsics.level(&mut features, &heights)?;
    Ok(features)
}

/// Poses of things without identity: their positions, as a level sensor at [`Extrinsics::mount`] would have seen them.
/// Orientations are not read.
///
/// # Errors
/// [`Refusal::BadStamp`].
pub fn pose_array(message: &PoseArray, extrinsics: &Extrinsics) -> Result<Scan, Refusal> {
    let stamp = stamp_of(&message.header.stamp)?;
    let positions = message.poses.iter().map(|pose| &pose.position);
    let measurements = positions.clone().map(|p| Measurement::new(None, [p.x, p.y])).collect();
    let mut features = Scan { stamp, kind: MeasurementKind::RelativePosition, measurements };
    let heights: Vec<f64> = positions.map(|p| p.z).collect();
    extrinsics.level(&mut features, &heights)?;
    Ok(features)
}

/// Odometry of another frame that is fixed on the robot, with `pose` in the base frame: the twist of the base, and the
/// pose of the base, if the message has a usable one. `odom` lists the frames that `frame_id` may name.
///
/// The velocity of the base is that of the frame less what the turning of the robot gives the frame, v = R v' − ω × t,
/// with ω along the vertical of the base: the robot drives in its plane. The covariance goes along.
///
/// # Errors
/// [`Refusal::UnknownFrame`], [`Refusal::BadStamp`].
pub fn placed_odometry(
    message: &messages::Odometry,
    odom: &[Frame<'_>],
    pose: &Isometry3<f64>,
) -> Result<(Odometry, Option<Se2>), Refusal> {
    check_frame("frame_id", &message.header.frame_id, odom)?;
    let stamp = stamp_of(&message.header.stamp)?;
    let twist = &message.twist;
    Ok((placed_twist(stamp, &twist.twist, &twist.covariance, pose), base_pose(&message.pose.pose, pose)))
}

/// The twist of a frame that is fixed on the robot, with `pose` in the base frame, as odometry of the base; as of
/// [`placed_odometry`].
///
/// # Errors
/// [`Refusal::BadStamp`].
pub fn twist(message: &messages::TwistWithCovarianceStamped, pose: &Isometry3<f64>) -> Result<Odometry, Refusal> {
    let stamp = stamp_of(&message.header.stamp)?;
    Ok(placed_twist(stamp, &message.twist.twist, &message.twist.covariance, pose))
}

fn placed_twist(stamp: Stamp, twist: &Twist, covariance: &Covariance6, pose: &Isometry3<f64>) -> Odometry {
    let Twist { linear: v, angular: w } = twist;
    if *pose == Isometry3::identity() {
        let (velocity, covariance) = ([v.x, v.y].into(), stated_covariance(covariance, twist));
        return Odometry { stamp, velocity, yaw_rate: w.z, covariance };
    }
    let to_base = planar_adjoint(pose);
    // What is not in a row counts as 0 times whatever it is: an axis that nobody measures may be anything.
    let times = |row: usize, x: &Vector6<f64>| {
        to_base.row(row).iter().zip(x).filter(|(a, _)| **a != 0.0).map(|(a, x)| a * x).sum::<f64>()
    };
    let x = Vector6::new(v.x, v.y, v.z, w.x, w.y, w.z);
    let planar: Vector3<f64> = Vector3::from_fn(|row, _| times(row, &x));
    let moved = stated_covariance(covariance, twist).map(|_| {
        let all = Matrix6::from_row_slice(&covariance.0);
        let half = Matrix3x6::from_fn(|row, column| times(row, &all.column(column).into_owned()));
        nalgebra::Matrix3::from_fn(|i, j| times(j, &half.row(i).transpose()))
    });
    Odometry { stamp, velocity: planar.xy(), yaw_rate: planar.z, covariance: moved }
}

/// (v_x, v_y, ω_z) of the base from the six numbers of a frame on it.
#[allow(clippy::indexing_slicing, reason = "the matrices are 3×6 and 3×3, and k is below 3")]
fn planar_adjoint(pose: &Isometry3<f64>) -> Matrix3x6<f64> {
    let (r, t) = (pose.rotation.to_rotation_matrix().into_inner(), pose.translation.vector);
    // Rounding of a rotation about the vertical is no tilt.
    let clean = |x: f64| if x.abs() < 1e-12 { 0.0 } else { x };
    let mut a = Matrix3x6::zeros();
    for k in 0..3 {
        (a[(0, k)], a[(1, k)]) = (clean(r[(0, k)]), clean(r[(1, k)]));
        let vertical = clean(r[(2, k)]);
        (a[(0, 3 + k)], a[(1, 3 + k)], a[(2, 3 + k)]) = (t.y * vertical, -t.x * vertical, vertical);
    }
    a
}

/// The planar pose of the base from that of the frame.
fn base_pose(found: &Pose, pose: &Isometry3<f64>) -> Option<Se2> {
    check_orientation(&found.orientation).ok()?;
    let p = &found.position;
    let planar = if *pose == Isometry3::identity() {
        Se2::new(p.x, p.y, yaw_of(&found.orientation))
    } else {
        let frame = Isometry3::from_parts(Translation3::new(p.x, p.y, p.z), rotation_of(&found.orientation));
        let base = frame * pose.inverse();
        let (t, q) = (base.translation.vector, base.rotation);
        Se2::new(t.x, t.y, yaw_of(&Quaternion { x: q.i, y: q.j, z: q.k, w: q.w }))
    };
    let is_finite = planar.p.x.is_finite() && planar.p.y.is_finite();
    is_finite.then(|| Se2::new(planar.p.x, planar.p.y, wrap_angle(planar.theta)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convert::{header, odometry, pose_message};
    use nalgebra::{Matrix3, Vector2};
    use proptest::prelude::*;

    const ODOM: [Frame<'static>; 1] = [Frame::parameter("odom_frame", "odom")];

    fn message(v: [f64; 3]) -> messages::Odometry {
        let mut message = messages::Odometry { header: header(Stamp::from_secs(1.0), "odom"), ..Default::default() };
        message.pose.pose = pose_message(&Se2::new(1.0, 2.0, 0.5));
        (message.twist.twist.linear.x, message.twist.twist.linear.y, message.twist.twist.angular.z) =
            (v[0], v[1], v[2]);
        message
    }

    fn upright(x: f64, y: f64, z: f64, yaw: f64) -> Isometry3<f64> {
        Isometry3::from_parts(Translation3::new(x, y, z), UnitQuaternion::from_euler_angles(0.0, 0.0, yaw))
    }

    proptest! {
        #[test]
        fn the_base_moves_as_the_frame_that_is_fixed_on_it(
            v in prop::array::uniform3(-2.0..2.0f64), at in prop::array::uniform3(-1.0..1.0f64), yaw in -3.0..3.0f64,
        ) {
            let extrinsics = upright(at[0], at[1], at[2], yaw);
            let (found, pose) = placed_odometry(&message(v), &ODOM, &extrinsics).unwrap();
            // Both are carried on for a moment: the frame by its twist, the base by the one found.
            let h = 1e-6;
            let mount = Se2::new(at[0], at[1], yaw);
            let base = Se2::exp(&(h * found.twist()));
            let frame = mount * Se2::exp(&(h * Vector3::from(v)));
            let off = (base * mount).inverse() * frame;
            prop_assert!(off.p.norm() / h < 1e-5 && off.theta.abs() / h < 1e-9, "{off:?}");
            let whole = pose.unwrap() * mount;
            prop_assert!((whole.p - Vector2::new(1.0, 2.0)).norm() < 1e-12 && wrap_angle(whole.theta - 0.5).abs() < 1e-12);
        }

        #[test]
        fn the_covariance_is_that_of_the_moved_twist(
            at in prop::array::uniform3(-1.0..1.0f64), yaw in -3.0..3.0f64, c in prop::array::uniform3(0.01..1.0f64),
        ) {
            let mut told = message([1.0, 0.1, 0.3]);
            for (i, place) in [0, 7, 35].into_iter().enumerate() {
                told.twist.covariance.0[place] = c[i];
            }
            told.twist.covariance.0[5] = 0.1 * (c[0] * c[2]).sqrt();
            told.twist.covariance.0[30] = told.twist.covariance.0[5];
            // Axes that a planar robot has not are often said to be unknown.
            for place in [14, 21, 28] {
                told.twist.covariance.0[place] = 1e6;
            }
            let extrinsics = upright(at[0], at[1], at[2], yaw);
            let found = placed_odometry(&told, &ODOM, &extrinsics).unwrap().0.covariance.unwrap();
            let twist_of = |v: [f64; 3]| placed_odometry(&message(v), &ODOM, &extrinsics).unwrap().0.twist();
            let a = Matrix3::from_columns(&[twist_of([1., 0., 0.]), twist_of([0., 1., 0.]), twist_of([0., 0., 1.])]);
            let expected = a * crate::convert::planar_block(&told.twist.covariance) * a.transpose();
            prop_assert!((found - expected).amax() < 1e-12, "{found} {expected}");
        }
    }

    #[test]
    fn odometry_of_the_base_is_what_it_was_to_the_last_bit() {
        let mut told = message([0.7, -0.1, 0.3]);
        told.child_frame_id = "base_link".into();
        told.twist.covariance.0[0] = 0.1;
        let plain = odometry(&told, &ODOM, &[]).unwrap();
        assert_eq!(placed_odometry(&told, &ODOM, &Isometry3::identity()).unwrap(), plain);
        let lifted = placed_odometry(&told, &ODOM, &upright(0.0, 0.0, -0.1, 0.0)).unwrap();
        assert_eq!(lifted, plain, "a footprint below the base moves as the base");
    }

    #[test]
    fn a_twist_is_odometry_without_a_pose() {
        let told = messages::TwistWithCovarianceStamped {
            header: header(Stamp::from_secs(2.0), "base_link"),
            twist: message([0.5, 0.1, 0.2]).twist,
        };
        let found = twist(&told, &Isometry3::identity()).unwrap();
        assert_eq!((found.stamp, found.velocity, found.yaw_rate), (Stamp::from_secs(2.0), [0.5, 0.1].into(), 0.2));
        // A gyroscope on its side, as a driver's frame may be: its Y axis is the vertical.
        let side = UnitQuaternion::from_axis_angle(&Vector3::x_axis(), std::f64::consts::FRAC_PI_2);
        let mut told = told;
        (told.twist.twist.angular.y, told.twist.twist.angular.z) = (0.9, f64::NAN);
        let found = twist(&told, &Isometry3::from_parts(Translation3::identity(), side)).unwrap();
        assert!((found.yaw_rate - 0.9).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn poses_of_a_camera_are_positions_on_the_floor() {
        // z forward, x to the right, y down (REP 103).
        let optical =
            UnitQuaternion::from_euler_angles(-std::f64::consts::FRAC_PI_2, 0.0, -std::f64::consts::FRAC_PI_2);
        let extrinsics = Extrinsics::of(&Isometry3::from_parts(Translation3::new(0.2, 0.0, 0.5), optical));
        let mut pose = Pose::default();
        (pose.position.x, pose.position.y, pose.position.z) = (-1.0, 0.3, 4.0);
        let told = PoseArray { header: header(Stamp::from_secs(2.0), "camera"), poses: vec![pose] };
        let found = pose_array(&told, &extrinsics).unwrap();
        let on_base = extrinsics.mount.transform(&found.measurements[0].value.xy());
        assert!((on_base - Vector2::new(4.2, 1.0)).norm() < 1e-12, "{on_base}");
        assert!((found.measurements[0].height_m - 0.2).abs() < 1e-12, "0.3 m below the camera");
        assert_eq!((found.kind, found.measurements[0].id), (MeasurementKind::RelativePosition, None));
    }
}
