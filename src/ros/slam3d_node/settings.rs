//! The parameters of `slam3d_node` beside those of the filter ([`lienav_space::SPECS`]).

use lienav_base::settings;
use lienav_base::settings::{Described, Spec};
use lienav_io::intake::SpaceFrames;
use lienav_space::Config;

/// Every setting of [`Settings`], in the order of its fields.
pub const SPECS: &[Spec] = Settings::SPECS;

settings! {
    /// What can be set about the node itself.
    pub struct Settings {
        /// Frame of the map: that of the estimates.
        map_frame: String = "map".into();
        /// Frame of the odometry (REP 105), frame_id of odom; empty: odom is not used, and the transform leads from
        /// map_frame to base_frame.
        odom_frame: String = String::new();
        /// Frame of the robot; imu, features and odom are in frames with static transforms to it.
        base_frame: String = "base_link".into();
        /// Publish the transform from map_frame.
        publish_tf: bool = true;
        /// Where the map is kept.
        map: MapSettings;
    }
}

settings! {
    /// Where the map is kept.
    pub struct MapSettings {
        /// File of the map, read at the start if it is there, and written by save_map; empty for none.
        file: String = String::new();
    }
}

impl Settings {
    /// Whether `odom` is used.
    pub fn uses_odometry(&self) -> bool {
        !self.odom_frame.is_empty()
    }

    /// What the intake has to know.
    pub fn frames(&self, config: &Config) -> SpaceFrames {
        SpaceFrames {
            map: self.map_frame.clone(),
            odom: self.odom_frame.clone(),
            base: self.base_frame.clone(),
            pixel_std_px: config.sensor.pixel_std_px,
            baseline_m: config.sensor.baseline_m,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lienav_base::settings::check;

    #[test]
    fn the_defaults_are_valid_and_there_are_few() {
        assert_eq!(check(&Settings::default(), SPECS), Ok(()));
        let all = SPECS.len() + lienav_space::SPECS.len();
        assert!(all <= 30, "{all} parameters");
        assert!(lienav_space::SPECS.iter().all(|theirs| SPECS.iter().all(|ours| ours.name != theirs.name)));
    }
}
