//! What `attitude_node` publishes.

use super::Settings;
use crate::ros::clock::to_time;
use crate::ros::qos_overrides::publisher;
use crate::ros::rate::due;
use crate::ros::{qos, tf};
use lienav_attitude::{Body, Estimate};
use lienav_base::stamp::Stamp;
use lienav_io::messages;
use nalgebra::{Matrix3, UnitQuaternion, Vector3};
use r2r::geometry_msgs::msg::{self, Quaternion, Transform, TransformStamped, Vector3Stamped};
use r2r::sensor_msgs::msg::Imu;
use r2r::tf2_msgs::msg::TFMessage;
use r2r::{Node, Publisher};

/// The publishers. Stamps of each topic increase strictly, since those of the filter do.
pub struct Outputs {
    attitude: Publisher<Imu>,
    gyro_bias: Publisher<Vector3Stamped>,
    tf: Option<Publisher<TFMessage>>,
    /// Kept from message to message: its lists need not be made anew.
    message: Imu,
    world: String,
    newest_attitude: Option<Stamp>,
    newest_bias: Option<Stamp>,
    newest_tf: Option<Stamp>,
}

impl Outputs {
    /// Advertises the topics.
    ///
    /// # Errors
    /// ROS refuses one of them.
    pub fn of(node: &mut Node, settings: &Settings) -> r2r::Result<Self> {
        let message = Imu { header: tf::header(Stamp::default(), &settings.imu_frame), ..Imu::default() };
        Ok(Self {
            attitude: publisher(node, "attitude", qos::reliable())?,
            gyro_bias: publisher(node, "gyro_bias", qos::reliable())?,
            tf: if settings.publish_tf { Some(publisher(node, "/tf", qos::reliable())?) } else { None },
            message,
            world: settings.world_frame.clone(),
            newest_attitude: None,
            newest_bias: None,
            newest_tf: None,
        })
    }

    /// Time starts anew: the next stamp may be any.
    pub fn restart(&mut self) {
        (self.newest_attitude, self.newest_bias, self.newest_tf) = (None, None, None);
    }

    /// The estimate after a sample, which came in as `sample`.
    ///
    /// # Errors
    /// ROS refuses.
    pub fn estimate(&mut self, estimate: &Estimate, sample: &messages::Imu, settings: &Settings) -> r2r::Result<()> {
        if self.wants_attitude(estimate.stamp, settings) {
            let message = &mut self.message;
            message.header.stamp = to_time(estimate.stamp);
            message.orientation = quaternion(&estimate.orientation);
            fill(&mut message.orientation_covariance, &estimate.orientation_covariance, &[]);
            message.angular_velocity = vector(&estimate.angular_velocity);
            let bias = &estimate.gyro_bias_covariance;
            fill(&mut message.angular_velocity_covariance, bias, &sample.angular_velocity_covariance);
            message.linear_acceleration = vector(&estimate.specific_force);
            message.linear_acceleration_covariance.clear();
            message.linear_acceleration_covariance.extend(sample.linear_acceleration_covariance);
            self.attitude.publish(&self.message)?;
        }
        if due(&mut self.newest_bias, estimate.stamp, settings.bias_rate_hz) {
            let header = tf::header(estimate.stamp, &settings.imu_frame);
            self.gyro_bias.publish(&Vector3Stamped { header, vector: vector(&estimate.gyro_bias) })?;
        }
        self.transform(estimate.stamp, &estimate.orientation, settings)
    }

    /// Where a body that is moved by torques is turned. Nobody knows how well: its covariance is zero, which ROS reads
    /// as unknown; it has no accelerometer.
    ///
    /// # Errors
    /// ROS refuses.
    pub fn body(&mut self, stamp: Stamp, body: &Body, settings: &Settings) -> r2r::Result<()> {
        if self.wants_attitude(stamp, settings) {
            let message = &mut self.message;
            message.header.stamp = to_time(stamp);
            message.orientation = quaternion(&body.orientation());
            message.angular_velocity = vector(&body.angular_velocity());
            if let Some(first) = message.linear_acceleration_covariance.first_mut() {
                *first = -1.0;
            }
            self.attitude.publish(&self.message)?;
        }
        self.transform(stamp, &body.orientation(), settings)
    }

    /// Whether an orientation is due, and somebody listens.
    fn wants_attitude(&mut self, stamp: Stamp, settings: &Settings) -> bool {
        due(&mut self.newest_attitude, stamp, settings.attitude_rate_hz)
            && !matches!(self.attitude.get_inter_process_subscription_count(), Ok(0))
    }

    fn transform(&mut self, stamp: Stamp, orientation: &UnitQuaternion<f64>, settings: &Settings) -> r2r::Result<()> {
        let Some(publisher) = &self.tf else { return Ok(()) };
        if !due(&mut self.newest_tf, stamp, settings.tf_rate_hz) {
            return Ok(());
        }
        let transform = TransformStamped {
            header: tf::header(stamp, &self.world),
            child_frame_id: settings.imu_frame.clone(),
            transform: Transform { translation: vector(&Vector3::zeros()), rotation: quaternion(orientation) },
        };
        publisher.publish(&TFMessage { transforms: vec![transform] })
    }
}

fn quaternion(q: &UnitQuaternion<f64>) -> Quaternion {
    Quaternion { x: q.i, y: q.j, z: q.k, w: q.w }
}

fn vector(v: &Vector3<f64>) -> msg::Vector3 {
    msg::Vector3 { x: v.x, y: v.y, z: v.z }
}

/// Writes a covariance by rows, with `known` added where it has nine numbers and says something.
fn fill(out: &mut Vec<f64>, covariance: &Matrix3<f64>, known: &[f64]) {
    out.clear();
    out.extend(covariance.transpose().iter());
    if known.len() == 9 && known.first().is_some_and(|first| *first >= 0.0) {
        out.iter_mut().zip(known).for_each(|(x, known)| *x += known);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_kept_whatever_the_stamps_are() {
        for (rate_hz, expected) in [(50.0, 50), (300.0, 300), (1000.0, 1000), (2000.0, 1000), (0.0, 1000)] {
            let mut slot = None;
            let stamps = (0..1000).map(|k| Stamp::from_nanos(1_000_000 * k + (k % 3) * 200_000));
            let kept = stamps.filter(|&stamp| due(&mut slot, stamp, rate_hz)).count();
            assert_eq!(kept, expected, "{rate_hz} Hz");
        }
    }

    #[test]
    fn after_a_gap_nothing_is_made_up_for() {
        let mut slot = None;
        let stamps = [0, 100, 5000, 5010, 5020, 5100].map(|ms| Stamp::from_nanos(1_000_000 * ms));
        assert_eq!(stamps.map(|stamp| due(&mut slot, stamp, 10.0)), [true, true, true, false, false, true]);
    }

    #[test]
    fn covariances_are_by_rows_and_those_of_the_sensor_are_added_where_it_has_any() {
        let covariance = Matrix3::new(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0);
        let mut out = Vec::new();
        fill(&mut out, &covariance, &[1.0; 9]);
        assert_eq!(out, [2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0]);
        fill(&mut out, &covariance, &[-1.0; 9]);
        assert_eq!(out[0], 1.0);
    }
}
