//! `odometry/local`: odometry without corrections, in the odometry frame. It never jumps, and drifts.

use super::{LocalOdometry, Settings};
use crate::ros::qos_overrides::publisher;
use crate::ros::{qos, tf};
use lienav_base::stamp::Stamp;
use lienav_lie::{LieGroup, Se2};
use lienav_slam::{Increment, Slam, valid_covariance};
use nalgebra::Matrix3;
use r2r::geometry_msgs::msg::{Twist, TwistWithCovariance, Vector3};
use r2r::nav_msgs::msg::Odometry;
use r2r::tf2_msgs::msg::TFMessage;
use r2r::{Node, Publisher};

/// What was driven, and who is told of it.
pub struct Local {
    topic: Publisher<Odometry>,
    tf: Option<Publisher<TFMessage>>,
    odom: String,
    base: String,
    driven: Driven,
}

/// The sum of all motions.
#[derive(Clone, Copy, Debug, Default)]
struct Driven {
    /// Where the odometry had the robot at first.
    start: Option<Se2>,
    sum: Option<Increment>,
    newest: Option<Stamp>,
}

/// Odometry at one instant.
#[derive(Clone, Copy, Debug, PartialEq)]
struct At {
    pose: Se2,
    covariance: Matrix3<f64>,
    twist: nalgebra::Vector3<f64>,
    twist_covariance: Matrix3<f64>,
}

/// Odometry without corrections whose covariance is invalid: it is not published.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error(
    "odometry/local not published: the sum of the covariances of odom is not positive semidefinite, with variances \
     {x:.1e} m², {y:.1e} m², {yaw:.1e} rad²; look at the covariance of its twist and at motion.…_std"
)]
pub struct InvalidLocal {
    x: f64,
    y: f64,
    yaw: f64,
}

impl At {
    /// The covariances of pose and twist, as they may be published.
    fn valid_covariances(&self) -> Result<(Matrix3<f64>, Matrix3<f64>), InvalidLocal> {
        let valid = |covariance: &Matrix3<f64>| {
            let invalid = || InvalidLocal { x: covariance.m11, y: covariance.m22, yaw: covariance.m33 };
            valid_covariance(covariance).ok_or_else(invalid)
        };
        Ok((valid(&self.covariance)?, valid(&self.twist_covariance)?))
    }
}

impl Driven {
    /// Goes on to `stamp`, to which `motion` leads from a stamp; `None` where that is not later than all before.
    fn go_on(
        &mut self,
        stamp: Stamp,
        base_in_odom: Option<Se2>,
        motion: impl FnOnce(Stamp) -> Increment,
    ) -> Option<At> {
        let start = *self.start.get_or_insert_with(|| base_in_odom.unwrap_or_else(Se2::identity));
        let before = self.newest.replace(stamp);
        if before.is_some_and(|before| stamp <= before) {
            self.newest = before;
            return None;
        }
        let step = before.map_or_else(Increment::none, motion);
        let sum = self.sum.map_or(step, |sum| sum.then(&step));
        self.sum = Some(sum);
        let seconds = before.map_or(0.0, |before| stamp.since(before));
        let rate = if seconds > 0.0 { 1.0 / seconds } else { 0.0 };
        let (pose, covariance) = sum.carry(&start, &Matrix3::zeros());
        let (twist, twist_covariance) = (LieGroup::log(&step.motion) * rate, step.covariance * rate * rate);
        Some(At { pose, covariance, twist, twist_covariance })
    }
}

impl Local {
    /// Advertises what is wanted.
    ///
    /// # Errors
    /// ROS refuses a topic.
    pub fn of(node: &mut Node, settings: &Settings) -> r2r::Result<Option<Self>> {
        if settings.local_odometry == LocalOdometry::Nothing {
            return Ok(None);
        }
        let has_tf = settings.local_odometry == LocalOdometry::Tf;
        Ok(Some(Self {
            topic: publisher(node, "odometry/local", qos::reliable())?,
            tf: if has_tf { Some(publisher(node, "/tf", qos::reliable())?) } else { None },
            odom: settings.odom_frame.clone(),
            base: settings.base_frame.clone(),
            driven: Driven::default(),
        }))
    }

    /// Time starts anew: the robot is where it was.
    pub fn restart(&mut self) {
        self.driven.newest = None;
    }

    /// The robot is where the next odometry message has it.
    pub fn forget(&mut self) {
        self.driven = Driven::default();
    }

    /// Where the robot was at the newest message, if the transform says so.
    pub fn base_in_odom(&self) -> Option<Se2> {
        let sum = self.tf.as_ref().and(self.driven.sum)?;
        Some(self.driven.start.unwrap_or_else(Se2::identity) * sum.motion)
    }

    /// Goes on to an odometry message that the filter has taken in and not used up. Says why nothing is published
    /// where the covariance is invalid.
    ///
    /// # Errors
    /// ROS refuses.
    pub fn publish(
        &mut self,
        stamp: Stamp,
        base_in_odom: Option<Se2>,
        slam: &Slam,
    ) -> r2r::Result<Option<InvalidLocal>> {
        let Some(now) = self.driven.go_on(stamp, base_in_odom, |since| slam.motion_since(since)) else {
            return Ok(None);
        };
        let (covariance, of_twist) = match now.valid_covariances() {
            Ok(valid) => valid,
            Err(invalid) => return Ok(Some(invalid)),
        };
        let (v, pose) = (now.twist, tf::pose_with_covariance(now.pose, &covariance));
        let twist = Twist { linear: Vector3 { x: v.x, y: v.y, z: 0.0 }, angular: Vector3 { x: 0.0, y: 0.0, z: v.z } };
        let covariance = tf::pose_with_covariance(now.pose, &of_twist).covariance;
        self.topic.publish(&Odometry {
            header: tf::header(stamp, &self.odom),
            child_frame_id: self.base.clone(),
            pose,
            twist: TwistWithCovariance { twist, covariance },
        })?;
        let Some(publisher) = &self.tf else { return Ok(None) };
        let transform = tf::transform(stamp, &self.odom, &self.base, now.pose);
        publisher.publish(&TFMessage { transforms: vec![transform] }).map(|()| None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn motion(x: f64, turn: f64) -> Increment {
        Increment { motion: Se2::new(x, 0.0, turn), covariance: Matrix3::identity() * 1e-4, drift: None }
    }

    #[test]
    fn an_invalid_covariance_is_refused_with_its_variances() {
        let mut driven = Driven::default();
        let first = driven.go_on(Stamp::from_secs(1.0), None, |_| motion(9.0, 0.0)).unwrap();
        assert!(first.valid_covariances().is_ok());
        let invalid = At { covariance: Matrix3::from_diagonal(&nalgebra::Vector3::new(-1.0, 2.0, 3.0)), ..first };
        let refused = invalid.valid_covariances().unwrap_err().to_string();
        assert!(
            refused.contains("odometry/local not published") && refused.contains("-1.0e0 m², 2.0e0 m²"),
            "{refused}"
        );
    }

    #[test]
    fn it_begins_where_the_odometry_is_and_goes_on_from_there_whatever_happens_to_time() {
        let (mut driven, start) = (Driven::default(), Se2::new(5.0, -1.0, 0.5));
        let at = |s: f64| Stamp::from_secs(s);
        let first = driven.go_on(at(1.0), Some(start), |_| panic!("there is nothing before")).unwrap();
        assert_eq!((first.pose, first.covariance, first.twist.norm()), (start, Matrix3::zeros(), 0.0));
        let second =
            driven.go_on(at(1.5), None, |since| motion(if since == at(1.0) { 0.2 } else { 9.0 }, 0.0)).unwrap();
        assert!((second.twist.x - 0.4).abs() < 1e-12 && (second.pose.p - start.p).norm() - 0.2 < 1e-12);
        assert!((second.twist_covariance.m11 - 4e-4).abs() < 1e-15 && second.covariance.trace() > 0.0);
        // A message that is not newer adds nothing.
        assert_eq!(driven.go_on(at(1.5), None, |_| motion(9.0, 0.0)), None);
        assert_eq!(driven.go_on(at(1.2), None, |_| motion(9.0, 0.0)), None);
        driven.newest = None;
        let restarted = driven.go_on(at(0.0), Some(Se2::identity()), |_| motion(9.0, 0.0)).unwrap();
        assert_eq!(restarted.pose, second.pose);
        let turned = driven.go_on(at(0.1), None, |_| motion(0.0, 0.3)).unwrap();
        assert!((turned.pose.theta - 0.8).abs() < 1e-12 && turned.covariance.m11 > second.covariance.m11);
    }
}
