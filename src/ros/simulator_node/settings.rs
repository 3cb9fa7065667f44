//! The parameters of `simulator_node` beside those of the scenario ([`lienav_sim::SPECS`]).

use lienav_base::settings::{Allowed, Spec, fixed as spec};
use serde::{Deserialize, Serialize};

/// What can be set about the node itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The scenario whose values are the defaults of all others; empty for the default scenario.
    pub scenario: String,
    /// Seconds of the simulation in a second of the wall.
    pub rate: f64,
    /// Publish the time of the simulation on `/clock`.
    pub publish_clock: bool,
    /// Begin when `odom` and `features` have this many subscribers each.
    pub wait_for_subscribers: u32,
    /// End the process when the run is over.
    pub exit_at_end: bool,
    /// Publish odom → base and base → sensor.
    pub publish_tf: bool,
    /// Frame of the truth.
    pub map_frame: String,
    /// Frame the odometry drifts in.
    pub odom_frame: String,
    /// Frame of the robot.
    pub base_frame: String,
    /// Frame of the feature sensor.
    pub sensor_frame: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            scenario: String::new(),
            rate: 1.0,
            publish_clock: false,
            wait_for_subscribers: 0,
            exit_at_end: false,
            publish_tf: true,
            map_frame: "map".into(),
            odom_frame: "odom".into(),
            base_frame: "base_link".into(),
            sensor_frame: "feature_sensor".into(),
        }
    }
}

/// Every setting of [`Settings`], in the order of its fields. None may change while running.
pub const SPECS: &[Spec] = {
    use Allowed::{Any, Range};
    &[
        spec("scenario", Any, "Scenario whose values are the defaults of all others; empty for the default one."),
        spec("rate", Range(0.01, 1000.0), "Seconds of the simulation in a second of the wall."),
        spec("publish_clock", Any, "Publish the time of the simulation on /clock; otherwise stamps are of the system."),
        spec(
            "wait_for_subscribers",
            Range(0.0, 100.0),
            "Begin when odom and features have this many subscribers each.",
        ),
        spec("exit_at_end", Any, "End the process when the run is over."),
        spec("publish_tf", Any, "Publish the transforms odom to base and base to sensor."),
        spec("map_frame", Any, "Frame of the truth."),
        spec("odom_frame", Any, "Frame the odometry drifts in."),
        spec("base_frame", Any, "Frame of the robot."),
        spec("sensor_frame", Any, "Frame of the feature sensor."),
    ]
};

#[cfg(test)]
mod tests {
    use super::*;
    use lienav_base::settings::check;

    #[test]
    fn the_table_has_every_setting_once_and_no_name_of_the_scenario() {
        let tree = serde_json::to_value(Settings::default()).unwrap();
        let mut found: Vec<_> = tree.as_object().unwrap().keys().map(String::as_str).collect();
        let mut described: Vec<_> = SPECS.iter().map(|s| s.name).collect();
        found.sort_unstable();
        described.sort_unstable();
        assert_eq!(found, described);
        assert_eq!(check(&Settings::default(), SPECS), Ok(()));
        assert!(lienav_sim::SPECS.iter().all(|s| !described.contains(&s.name)));
    }
}
