//! What `slam_node` says for every input: poses and the transform map → odom.

use super::Settings;
use crate::ros::qos_overrides::publisher;
use crate::ros::rate::due;
use crate::ros::{qos, tf};
use lienav_base::stamp::Stamp;
use lienav_lie::Se2;
use lienav_slam::PoseEstimate;
use r2r::geometry_msgs::msg::{PoseWithCovarianceStamped, TransformStamped, Twist, TwistWithCovariance, Vector3};
use r2r::nav_msgs::msg::Odometry;
use r2r::tf2_msgs::msg::TFMessage;
use r2r::{Node, Publisher};

/// The publishers of poses. Stamps of each topic increase strictly: what would repeat one or go back is left out.
pub struct Outputs {
    pose: Publisher<PoseWithCovarianceStamped>,
    filtered: Publisher<Odometry>,
    tf: Option<Publisher<TFMessage>>,
    map: String,
    odom: String,
    base: String,
    newest_pose: Option<Stamp>,
    newest_filtered: Option<Stamp>,
    newest_tf: Option<Stamp>,
    /// When the last transform was due.
    tf_slot: Option<Stamp>,
}

/// Whether `stamp` is later than all before; remembers it if so.
fn later(newest: &mut Option<Stamp>, stamp: Stamp) -> bool {
    let later = newest.is_none_or(|n| stamp > n);
    if later {
        *newest = Some(stamp);
    }
    later
}

impl Outputs {
    /// Advertises the topics.
    ///
    /// # Errors
    /// ROS refuses one of them.
    pub fn of(node: &mut Node, settings: &Settings) -> r2r::Result<Self> {
        Ok(Self {
            pose: publisher(node, "pose", qos::reliable())?,
            filtered: publisher(node, "odometry/filtered", qos::reliable())?,
            tf: if settings.publish_tf { Some(publisher(node, "/tf", qos::reliable())?) } else { None },
            map: settings.map_frame.clone(),
            odom: settings.odom_frame.clone(),
            base: settings.base_frame.clone(),
            newest_pose: None,
            newest_filtered: None,
            newest_tf: None,
            tf_slot: None,
        })
    }

    /// Time starts anew: the next stamp may be any.
    pub fn restart(&mut self) {
        (self.newest_pose, self.newest_filtered, self.newest_tf, self.tf_slot) = (None, None, None, None);
    }

    /// `pose`: the estimate after a cloud of features.
    ///
    /// # Errors
    /// ROS refuses.
    pub fn corrected(&mut self, estimate: &PoseEstimate) -> r2r::Result<()> {
        if !later(&mut self.newest_pose, estimate.stamp) {
            return Ok(());
        }
        self.pose.publish(&PoseWithCovarianceStamped {
            header: tf::header(estimate.stamp, &self.map),
            pose: tf::pose_with_covariance(estimate.pose, &estimate.covariance),
        })
    }

    /// `odometry/filtered`: the estimate carried on to the newest odometry.
    ///
    /// # Errors
    /// ROS refuses.
    pub fn predicted(&mut self, estimate: &PoseEstimate) -> r2r::Result<()> {
        if !later(&mut self.newest_filtered, estimate.stamp) {
            return Ok(());
        }
        let v = estimate.twist;
        let twist = Twist { linear: Vector3 { x: v.x, y: v.y, z: 0.0 }, angular: Vector3 { x: 0.0, y: 0.0, z: v.z } };
        self.filtered.publish(&Odometry {
            header: tf::header(estimate.stamp, &self.map),
            child_frame_id: self.base.clone(),
            pose: tf::pose_with_covariance(estimate.pose, &estimate.covariance),
            twist: TwistWithCovariance { twist, covariance: vec![0.0; 36] },
        })
    }

    /// map → odom, from the pose of the base in both frames at one instant; stamped ahead by
    /// `transform_tolerance_s`, for which it is taken to stay as it is, and at most `tf_rate_hz` times a second. Gives
    /// what was published.
    ///
    /// # Errors
    /// ROS refuses.
    pub fn map_to_odom(
        &mut self,
        estimate: &PoseEstimate,
        base_in_odom: Se2,
        settings: &Settings,
    ) -> r2r::Result<Option<TransformStamped>> {
        let Some(publisher) = &self.tf else { return Ok(None) };
        if !(later(&mut self.newest_tf, estimate.stamp) && due(&mut self.tf_slot, estimate.stamp, settings.tf_rate_hz))
        {
            return Ok(None);
        }
        let map_to_odom = tf::map_to_odom(estimate.pose, base_in_odom);
        let stamp = estimate.stamp + settings.transform_tolerance_s;
        let transform = tf::transform(stamp, &self.map, &self.odom, map_to_odom);
        publisher.publish(&TFMessage { transforms: vec![transform.clone()] })?;
        Ok(Some(transform))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_that_repeat_or_go_back_are_left_out() {
        let mut newest = None;
        let kept: Vec<i64> =
            [3, 3, 5, 4, 5, 6].into_iter().filter(|&n| later(&mut newest, Stamp::from_nanos(n))).collect();
        assert_eq!(kept, [3, 5, 6]);
    }
}
