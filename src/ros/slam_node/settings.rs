//! The parameters of `slam_node` beside those of the filter ([`lienav_slam::SPECS`]).

use lienav_base::settings::{Allowed, Spec, spec};
use lienav_io::convert::Frame;
use serde::{Deserialize, Serialize};

/// What can be set about the node itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Frame of the map: that of the estimates.
    pub map_frame: String,
    /// Frame the odometry drifts in.
    pub odom_frame: String,
    /// Frame of the robot, to which the odometry's twist belongs.
    pub base_frame: String,
    /// Frame of the feature sensor.
    pub sensor_frame: String,
    /// Frame of the gyroscope.
    pub imu_frame: String,
    /// Publish map → odom.
    pub publish_tf: bool,
    /// Take the yaw rate from `imu`.
    pub use_imu: bool,
    /// Messages that may wait for the filter.
    pub queue_size: usize,
    /// Poses in `path`.
    pub path_length: usize,
    /// Distance from one pose of `path` to the next, m.
    pub path_spacing_m: f64,
    /// `path`, `landmarks` and `markers` a second, at most.
    pub display_rate_hz: f64,
    /// Probability with which a feature lies inside its ellipse.
    pub marker_probability: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            map_frame: "map".into(),
            odom_frame: "odom".into(),
            base_frame: "base_link".into(),
            sensor_frame: "feature_sensor".into(),
            imu_frame: "imu_link".into(),
            publish_tf: true,
            use_imu: false,
            queue_size: 2000,
            path_length: 5000,
            path_spacing_m: 0.05,
            display_rate_hz: 5.0,
            marker_probability: 0.95,
        }
    }
}

impl Settings {
    /// Frame of the map, as a message has to name it.
    pub fn map(&self) -> Frame<'_> {
        Frame::parameter("map_frame", &self.map_frame)
    }

    /// Frame of the odometry, as a message has to name it.
    pub fn odom(&self) -> Frame<'_> {
        Frame::parameter("odom_frame", &self.odom_frame)
    }

    /// Frame of the robot, as a message has to name it.
    pub fn base(&self) -> Frame<'_> {
        Frame::parameter("base_frame", &self.base_frame)
    }

    /// Frames a cloud of features may be in. The lever arm is what `sensor.x_m` and so on say in either.
    pub fn sensor(&self) -> [Frame<'_>; 2] {
        [Frame::parameter("sensor_frame", &self.sensor_frame), self.base()]
    }

    /// Frames a gyroscope may be in: all stand upright where the message has no orientation.
    pub fn imu(&self) -> [Frame<'_>; 2] {
        [Frame::parameter("imu_frame", &self.imu_frame), self.base()]
    }
}

/// Every setting of [`Settings`], in the order of its fields.
pub const SPECS: &[Spec] = {
    use Allowed::{Any, Range};
    &[
        spec("map_frame", Any, false, "Frame of the map: that of the estimates."),
        spec("odom_frame", Any, false, "Frame the odometry drifts in; frame_id of odom has to be this."),
        spec("base_frame", Any, false, "Frame of the robot; child_frame_id of odom has to be this."),
        spec("sensor_frame", Any, false, "Frame of the feature sensor; frame_id of features is this or base_frame."),
        spec("imu_frame", Any, false, "Frame of the gyroscope; frame_id of imu is this or base_frame."),
        spec("publish_tf", Any, false, "Publish the transform from map_frame to odom_frame."),
        spec("use_imu", Any, false, "Take the yaw rate from imu instead of odom."),
        spec(
            "queue_size",
            Range(10.0, 100_000.0),
            false,
            "Messages that may wait for the filter; beyond, the oldest go.",
        ),
        spec("path_length", Range(0.0, 100_000.0), true, "Poses in path; beyond, the oldest go. 0 for no path."),
        spec("path_spacing_m", Range(0.0, 1000.0), true, "Distance from one pose of path to the next, m."),
        spec("display_rate_hz", Range(0.1, 50.0), true, "path, landmarks and markers a second, at most, Hz."),
        spec("marker_probability", Range(0.01, 0.9999), true, "Probability with which a feature lies in its ellipse."),
    ]
};

#[cfg(test)]
mod tests {
    use super::*;
    use lienav_base::settings::check;

    #[test]
    fn the_table_has_every_setting_once_and_the_defaults_are_valid() {
        let tree = serde_json::to_value(Settings::default()).unwrap();
        let mut found: Vec<_> = tree.as_object().unwrap().keys().map(String::as_str).collect();
        let mut described: Vec<_> = SPECS.iter().map(|s| s.name).collect();
        found.sort_unstable();
        described.sort_unstable();
        assert_eq!(found, described);
        assert_eq!(check(&Settings::default(), SPECS), Ok(()));
    }
}
