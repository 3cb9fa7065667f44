//! The parameters of `attitude_node` beside those of the filter ([`lienav_attitude::SPECS`]).

use lienav_attitude::BodyConfig;
use lienav_base::settings::{Allowed, Spec, spec};
use lienav_io::convert::Frame;
use serde::{Deserialize, Serialize};

/// What can be set about the node itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Where the orientation comes from.
    pub mode: Mode,
    /// Frame of the sensor.
    pub imu_frame: String,
    /// Frame the orientation is in, z up.
    pub world_frame: String,
    /// Publish the transform from the world to the sensor.
    pub publish_tf: bool,
    /// The longest that samples wait to be taken together, s; 0 for each at once.
    pub batch_s: f64,
    /// Messages of `attitude` a second, at most; 0 for one of each sample.
    pub attitude_rate_hz: f64,
    /// Transforms a second, at most.
    pub tf_rate_hz: f64,
    /// `gyro_bias` a second, at most.
    pub bias_rate_hz: f64,
    /// The body whose torques are integrated.
    pub body: BodyConfig,
}

/// Where the orientation comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// From `imu`, through the filter.
    #[default]
    Imu,
    /// From `wrench`, by the dynamics of a rigid body.
    Dynamics,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            mode: Mode::Imu,
            imu_frame: "imu_link".into(),
            world_frame: "odom".into(),
            publish_tf: false,
            batch_s: 0.0,
            attitude_rate_hz: 0.0,
            tf_rate_hz: 50.0,
            bias_rate_hz: 10.0,
            body: BodyConfig::default(),
        }
    }
}

impl Settings {
    /// Frame of the sensor, as a message has to name it.
    pub fn imu(&self) -> [Frame<'_>; 1] {
        [Frame::parameter("imu_frame", &self.imu_frame)]
    }
}

/// Every setting of [`Settings`] but those of the body ([`lienav_attitude::BODY_SPECS`]), in the order of its fields.
pub const SPECS: &[Spec] = {
    use Allowed::{Any, Range, Words};
    &[
        spec(
            "mode",
            Words(&["imu", "dynamics"]),
            false,
            "Whether the orientation comes from imu, or from wrench by the dynamics of a rigid body.",
        ),
        spec("imu_frame", Any, false, "Frame of the sensor; frame_id of imu, mag and wrench has to be this."),
        spec("world_frame", Any, false, "Frame the orientation is in, z up: parent of the transform."),
        spec("publish_tf", Any, false, "Publish the transform from world_frame to imu_frame: a rotation alone."),
        spec(
            "batch_s",
            Range(0.0, 0.05),
            true,
            "The longest that samples wait to be taken together, which saves processor time, s; 0 for each at once.",
        ),
        spec("attitude_rate_hz", Range(0.0, 2000.0), true, "attitude a second, at most, Hz; 0 for one of each sample."),
        spec("tf_rate_hz", Range(0.1, 2000.0), true, "Transforms a second, at most, Hz."),
        spec("bias_rate_hz", Range(0.1, 2000.0), true, "gyro_bias a second, at most, Hz."),
    ]
};

#[cfg(test)]
mod tests {
    use super::*;
    use lienav_attitude::BODY_SPECS;
    use lienav_base::settings::{check, lookup};

    #[test]
    fn the_tables_have_every_setting_once_and_the_defaults_are_valid() {
        let tree = serde_json::to_value(Settings::default()).unwrap();
        let body = lookup(&tree, "body").unwrap();
        let mut found: Vec<String> = body.as_object().unwrap().keys().map(|key| format!("body.{key}")).collect();
        found.extend(tree.as_object().unwrap().keys().filter(|key| *key != "body").cloned());
        let mut described: Vec<String> = SPECS.iter().chain(BODY_SPECS).map(|s| s.name.to_owned()).collect();
        found.sort_unstable();
        described.sort_unstable();
        assert_eq!(found, described);
        assert_eq!(check(&Settings::default(), SPECS), Ok(()));
        assert_eq!(check(&Settings::default(), BODY_SPECS), Ok(()));
    }
}
