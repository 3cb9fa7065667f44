//! The parameters of `simulator_node` beside those of the scenario ([`lienav_sim::SPECS`]).

use lienav_base::settings;
use lienav_base::settings::{Described, Spec};

/// Every setting of [`Settings`], in the order of its fields. None may change while running.
pub const SPECS: &[Spec] = Settings::SPECS;

settings! {
    /// What can be set about the node itself.
    pub struct Settings {
        /// Scenario whose values are the defaults of all others; empty for the default one; space:NAME[:SEED] in space.
        scenario: String = String::new();
        /// Seconds of the simulation in a second of the wall.
        rate: f64 = 1.0, within 0.01..=1000.0;
        /// Publish the time of the simulation on /clock; otherwise stamps are of the system.
        publish_clock: bool = false;
        /// Begin when odom and features have this many subscribers each.
        wait_for_subscribers: u32 = 0, within 0.0..=100.0;
        /// End the process when the run is over.
        exit_at_end: bool = false;
        /// Publish the transforms odom to base and base to sensor.
        publish_tf: bool = true;
        /// Frame of the truth.
        map_frame: String = "map".into();
        /// Frame the odometry drifts in.
        odom_frame: String = "odom".into();
        /// Frame of the robot.
        base_frame: String = "base_link".into();
        /// Frame of the feature sensor.
        sensor_frame: String = "feature_sensor".into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lienav_base::settings::check;

    #[test]
    fn the_defaults_are_valid_and_no_name_is_one_of_the_scenario() {
        assert_eq!(check(&Settings::default(), SPECS), Ok(()));
        assert!(lienav_sim::SPECS.iter().all(|theirs| SPECS.iter().all(|ours| ours.name != theirs.name)));
    }
}
