//! `params.yaml` beside a bag: what is known of its sensors and of the start, as a ROS parameter file for `slam_node`.

use crate::filter::{Config, SPECS};
use crate::settings::{assign, lookup};
use serde_json::Value;
use std::fmt::Write;

/// The name of the file.
pub const FILE_NAME: &str = "params.yaml";

/// A parameter file for any node, with each setting's meaning behind it.
pub fn to_yaml(config: &Config) -> String {
    let tree = serde_json::to_value(config).unwrap_or_default();
    let mut text = String::from("/**:\n  ros__parameters:\n");
    let mut group = "";
    for spec in SPECS {
        let (this_group, name) = spec.name.split_once('.').unwrap_or(("", spec.name));
        if this_group != group {
            group = this_group;
            let _ = writeln!(text, "    {group}:");
        }
        let indent = if group.is_empty() { "    " } else { "      " };
        let value = lookup(&tree, spec.name).unwrap_or_default();
        let value = serde_yaml_ng::to_string(&value).unwrap_or_default();
        let _ = writeln!(text, "{indent}{name}: {}  # {}", value.trim_end(), spec.description);
    }
    text
}

/// Reads the filter's settings out of a parameter file: those of all nodes (`/**`) and of any node of this file, nested or
/// with dotted names. Parameters that are not the filter's are passed over.
///
/// # Errors
/// What is wrong with the file, in words: not YAML, not a parameter file, or a value of the wrong type or range.
pub fn from_yaml(text: &str) -> Result<Config, String> {
    let document: Value = serde_yaml_ng::from_str(text).map_err(|e| e.to_string())?;
    let nodes = document.as_object().ok_or("not a ROS parameter file")?;
    let mut tree = serde_json::to_value(Config::default()).map_err(|e| e.to_string())?;
    for node in nodes.values() {
        let parameters = node.get("ros__parameters").ok_or("no node with ros__parameters")?;
        for spec in SPECS {
            let Some(value) = parameters.get(spec.name).cloned().or_else(|| lookup(parameters, spec.name)) else {
                continue;
            };
            // YAML writes a double without a fraction as it writes an integer.
            let value = match (lookup(&tree, spec.name), value.as_i64()) {
                (Some(Value::Number(old)), Some(whole)) if old.is_f64() => Value::from(whole as f64),
                _ => value,
            };
            assign(&mut tree, spec.name, value);
        }
    }
    let config: Config = serde_json::from_value(tree).map_err(|e| e.to_string())?;
    config.validate().map_err(|e| e.to_string())?;
    Ok(config)
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
    fn foreign_parameters_nodes_and_dotted_names_are_borne() {
        let text =
            "slam_node:\n  ros__parameters:\n    map_frame: map\n    sensor.x_m: 1\n    gate: {probability: 0.9}\n";
        let config = from_yaml(text).unwrap();
        assert_eq!((config.sensor.x_m, config.gate.probability), (1.0, 0.9));
    }

    #[test]
    fn what_is_wrong_is_said() {
        assert!(from_yaml("- 1").unwrap_err().contains("parameter file"));
        assert!(from_yaml("a: {b: 1}").unwrap_err().contains("ros__parameters"));
        let text = "/**:\n  ros__parameters:\n    gate.probability: 7\n";
        assert!(from_yaml(text).unwrap_err().contains("gate.probability"));
    }
}
