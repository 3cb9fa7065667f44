//! `params.yaml` beside a bag: what is known of its sensors and of the start, as a ROS parameter file for `slam_node`.

use lienav_intake::convert::{Frames, check_frame_name};
use lienav_intake::settings_file::{overlay, overlay_known, to_ros_yaml};
use lienav_slam::{Config, SPECS};

/// The name of the file.
pub const FILE_NAME: &str = "params.yaml";

/// The node whose section is read besides that for all nodes.
pub const NODE: &str = "slam_node";

/// A parameter file for any node, with each setting's meaning and range above it.
pub fn to_yaml(config: &Config) -> String {
    to_ros_yaml(config, SPECS)
}

/// Reads the filter's settings out of a parameter file, or out of plain YAML; what it leaves out keeps its default.
///
/// # Errors
/// What is wrong with the file, in words: not YAML, or a name, type or range that is not the filter's.
pub fn from_yaml(text: &str) -> Result<Config, String> {
    let config = overlay(&Config::default(), text, NODE).map_err(|e| e.to_string())?;
    config.validate().map_err(|e| e.to_string())?;
    Ok(config)
}

/// Whether a parameter file says where the sensor of the filter's settings sits.
///
/// # Errors
/// As of [`from_yaml`].
pub fn states_mount(text: &str) -> Result<bool, String> {
    // Of a sensor that sits where no other does, all that the file does not state stays.
    let mut unstated = Config::default();
    (unstated.sensor.x_m, unstated.sensor.y_m, unstated.sensor.yaw_rad) = (-0.917_134_1, 0.571_823_3, 0.391_472_9);
    let read = overlay(&unstated, text, NODE).map_err(|e| e.to_string())?;
    let place = |config: &Config| (config.sensor.x_m, config.sensor.y_m, config.sensor.yaw_rad);
    Ok(place(&read) != place(&unstated))
}

/// The frames that a parameter file states for `node`.
///
/// # Errors
/// What is wrong with the file, in words: not YAML, or the name of a frame that is not a text, or not one that the node
/// takes ([`check_frame_name`]).
pub fn frames_from_yaml(text: &str, node: &str) -> Result<Frames, String> {
    let frames = overlay_known(&Frames::default(), text, node).map_err(|e| e.to_string())?;
    for (parameter, name) in frames.stated() {
        check_frame_name(name).map_err(|wrong| format!("parameter '{parameter}': '{name}' {wrong}"))?;
    }
    Ok(frames)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back_to_the_last_bit() {
        let mut config = Config::default();
        config.motion.yaw_rate_std = 0.00818609f64.sqrt();
        config.initial.yaw_rad = -2.910157;
        config.sensor.x_m = 0.1 + 0.2;
        assert_eq!(from_yaml(&to_yaml(&config)), Ok(config));
    }

    #[test]
    fn a_place_counts_as_stated_where_any_number_of_it_is() {
        let states = |text: &str| states_mount(text).unwrap();
        assert!(states(&to_yaml(&Config::default())));
        assert!(states("/**: {ros__parameters: {sensor: {yaw_rad: 0.0}}}") && states("sensor.x_m: 0.1"));
        assert!(!states("/**: {ros__parameters: {sensor: {kind: range_bearing}}}") && !states("gate.probability: 0.9"));
    }

    #[test]
    fn frames_are_read_beside_the_settings_of_the_filter() {
        let text = "/**: {ros__parameters: {odom_frame: odom, gate.probability: 0.9}}\n\
                    slam_node: {ros__parameters: {odom_frame: wheels, base_frame: robot}}\n";
        let expected =
            Frames { odom_frame: Some("wheels".into()), base_frame: Some("robot".into()), ..Frames::default() };
        assert_eq!(frames_from_yaml(text, NODE), Ok(expected));
        assert_eq!(from_yaml(text).unwrap().gate.probability, 0.9);
        assert_eq!(frames_from_yaml(&to_yaml(&Config::default()), NODE), Ok(Frames::default()));
        assert_eq!(frames_from_yaml("gate: {probability: 0.9}", NODE), Ok(Frames::default()));
        let wrong = frames_from_yaml("/**: {ros__parameters: {odom_frame: [1]}}", NODE).unwrap_err();
        assert!(wrong.starts_with("setting 'odom_frame'"), "{wrong}");
        let wrong = frames_from_yaml("odom_frame: /odom", NODE).unwrap_err();
        assert!(wrong.contains("'odom_frame': '/odom' begins with a slash"), "{wrong}");
        let wrong = frames_from_yaml("imu_frame: imu link", NODE).unwrap_err();
        assert!(wrong.contains("'imu_frame': 'imu link' has a blank"), "{wrong}");
    }

    #[test]
    fn what_is_wrong_is_said() {
        assert!(from_yaml("- 1").unwrap_err().contains("not a YAML mapping"));
        assert!(from_yaml("a: {b: 1}").unwrap_err().contains("'a.b'"));
        let text = "/**:\n  ros__parameters:\n    gate.probability: 7\n";
        assert!(from_yaml(text).unwrap_err().contains("gate.probability"));
    }
}
