//! What `slam3d_node` says for every input: poses and the transform from the map.

use crate::ros::qos_overrides::publisher;
use crate::ros::rate::due;
use crate::ros::{qos, tf};
use lienav_base::stamp::Stamp;
use lienav_io::convert::{covariance_message, quaternion_of, space_pose_message};
use lienav_io::space::robot::settings::Settings;
use lienav_lie::{LieGroup, Se3};
use nalgebra::{Matrix3, Matrix6, Vector3};
use r2r::geometry_msgs::msg::{
    self, Pose, PoseWithCovariance, PoseWithCovarianceStamped, Transform, TransformStamped, Twist, TwistWithCovariance,
};
use r2r::nav_msgs::msg::Odometry;
use r2r::tf2_msgs::msg::TFMessage;
use r2r::{Node, Publisher};

/// The pose of the robot's frame, as it is published.
#[derive(Clone, Copy, Debug)]
pub struct BaseEstimate {
    /// When.
    pub stamp: Stamp,
    /// In the map.
    pub pose: Se3,
    /// Of position and rotation about the axes of the map.
    pub covariance: Matrix6<f64>,
    /// Velocity in the robot's own axes, m/s.
    pub velocity: Vector3<f64>,
    /// Its covariance.
    pub velocity_covariance: Matrix3<f64>,
    /// Angular rate in the robot's own axes, rad/s.
    pub rate: Vector3<f64>,
    /// Variance of each of its coordinates, (rad/s)².
    pub rate_variance: f64,
}

/// Transforms a second, at most, Hz.
const TF_RATE_HZ: f64 = 50.0;

/// The publishers of poses. Stamps of each topic increase strictly: what would repeat one or go back is left out.
pub struct Outputs {
    pose: Publisher<PoseWithCovarianceStamped>,
    filtered: Publisher<Odometry>,
    tf: Option<Publisher<TFMessage>>,
    map: String,
    odom: Option<String>,
    base: String,
    newest_pose: Option<Stamp>,
    newest_filtered: Option<Stamp>,
    newest_tf: Option<Stamp>,
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
            odom: settings.uses_odometry().then(|| settings.odom_frame.clone()),
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

    /// `pose`: the estimate after a frame.
    ///
    /// # Errors
    /// ROS refuses.
    pub fn corrected(&mut self, estimate: &BaseEstimate) -> r2r::Result<()> {
        if !later(&mut self.newest_pose, estimate.stamp) {
            return Ok(());
        }
        self.pose.publish(&PoseWithCovarianceStamped {
            header: tf::header(estimate.stamp, &self.map),
            pose: pose_with_covariance(&estimate.pose, &estimate.covariance),
        })
    }

    /// `odometry/filtered`: the estimate at the newest sample of the inertial sensor.
    ///
    /// # Errors
    /// ROS refuses.
    pub fn predicted(&mut self, estimate: &BaseEstimate) -> r2r::Result<()> {
        if !later(&mut self.newest_filtered, estimate.stamp) {
            return Ok(());
        }
        let mut covariance = Matrix6::zeros();
        covariance.fixed_view_mut::<3, 3>(0, 0).copy_from(&estimate.velocity_covariance);
        covariance.fixed_view_mut::<3, 3>(3, 3).fill_diagonal(estimate.rate_variance);
        let twist = Twist { linear: vector(&estimate.velocity), angular: vector(&estimate.rate) };
        self.filtered.publish(&Odometry {
            header: tf::header(estimate.stamp, &self.map),
            child_frame_id: self.base.clone(),
            pose: pose_with_covariance(&estimate.pose, &estimate.covariance),
            twist: TwistWithCovariance { twist, covariance: covariance_message(&covariance).0.to_vec() },
        })
    }

    /// map → odom, from the pose of the base in both frames at about one instant; without odometry, map → base.
    ///
    /// # Errors
    /// ROS refuses.
    pub fn transform(&mut self, estimate: &BaseEstimate, base_in_odom: Option<&Se3>) -> r2r::Result<()> {
        let Some(publisher) = &self.tf else { return Ok(()) };
        let (child, pose) = match (&self.odom, base_in_odom) {
            (None, _) => (&self.base, estimate.pose),
            (Some(odom), Some(base_in_odom)) => (odom, estimate.pose * base_in_odom.inverse()),
            (Some(_), None) => return Ok(()),
        };
        if !(later(&mut self.newest_tf, estimate.stamp) && due(&mut self.tf_slot, estimate.stamp, TF_RATE_HZ)) {
            return Ok(());
        }
        let transforms = vec![transform(estimate.stamp, &self.map, child, &pose)];
        publisher.publish(&TFMessage { transforms })
    }
}

/// `child` in `parent`.
pub fn transform(stamp: Stamp, parent: &str, child: &str, pose: &Se3) -> TransformStamped {
    let q = quaternion_of(&pose.rotation);
    TransformStamped {
        header: tf::header(stamp, parent),
        child_frame_id: child.to_owned(),
        transform: Transform {
            translation: vector(&pose.translation),
            rotation: msg::Quaternion { x: q.i, y: q.j, z: q.k, w: q.w },
        },
    }
}

/// A pose as a message of r2r.
pub fn pose_of(pose: &Se3) -> Pose {
    let plain = space_pose_message(pose);
    let (p, q) = (&plain.position, &plain.orientation);
    Pose {
        position: msg::Point { x: p.x, y: p.y, z: p.z },
        orientation: msg::Quaternion { x: q.x, y: q.y, z: q.z, w: q.w },
    }
}

/// The same with its covariance.
pub fn pose_with_covariance(pose: &Se3, covariance: &Matrix6<f64>) -> PoseWithCovariance {
    PoseWithCovariance { pose: pose_of(pose), covariance: covariance_message(covariance).0.to_vec() }
}

fn vector(v: &Vector3<f64>) -> msg::Vector3 {
    msg::Vector3 { x: v.x, y: v.y, z: v.z }
}
