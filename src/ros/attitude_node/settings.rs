//! The parameters of `attitude_node` beside those of the filter ([`lienav_attitude::SPECS`]).

use lienav_attitude::BodyConfig;
use lienav_base::settings::{Described, Spec};
use lienav_base::{settings, words};
use lienav_io::convert::Frame;

/// Every setting of [`Settings`], in the order of its fields; those of the body
/// ([`lienav_attitude::BODY_SPECS`]) are the last ones.
pub const SPECS: &[Spec] = Settings::SPECS;

settings! {
    /// What can be set about the node itself.
    pub struct Settings {
        /// Whether the orientation comes from imu, or from wrench by the dynamics of a rigid body.
        mode: Mode = Mode::Imu, one_of Mode::WORDS;
        /// Frame of the sensor; frame_id of imu, mag and wrench has to be this.
        imu_frame: String = "imu_link".into();
        /// Frame the orientation is in, z up: parent of the transform.
        world_frame: String = "odom".into();
        /// Publish the transform from world_frame to imu_frame: a rotation alone.
        publish_tf: bool = false;
        /// The longest that samples wait to be taken together, which saves processor time, s; 0 for each at once.
        batch_s: f64 = 0.0, within 0.0..=0.05, unit "s", runtime;
        /// attitude a second, at most, Hz; 0 for one of each sample.
        attitude_rate_hz: f64 = 0.0, within 0.0..=2000.0, unit "Hz", runtime;
        /// Transforms a second, at most, Hz.
        tf_rate_hz: f64 = 50.0, within 0.1..=2000.0, unit "Hz", runtime;
        /// gyro_bias a second, at most, Hz.
        bias_rate_hz: f64 = 10.0, within 0.1..=2000.0, unit "Hz", runtime;
        /// The body whose torques are integrated.
        body: BodyConfig;
    }
}

words! {
    /// Where the orientation comes from.
    pub enum Mode {
        /// From `imu`, through the filter.
        Imu = "imu",
        /// From `wrench`, by the dynamics of a rigid body.
        Dynamics = "dynamics",
    }
}

impl Settings {
    /// Frame of the sensor, as a message has to name it.
    pub fn imu(&self) -> [Frame<'_>; 1] {
        [Frame::parameter("imu_frame", &self.imu_frame)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lienav_attitude::BODY_SPECS;
    use lienav_base::settings::check;

    #[test]
    fn the_defaults_are_valid_and_the_table_ends_with_the_body() {
        assert_eq!(check(&Settings::default(), SPECS), Ok(()));
        assert_eq!(SPECS[SPECS.len() - BODY_SPECS.len()..], *BODY_SPECS);
    }
}
