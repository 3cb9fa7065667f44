//! Settings as text: plain YAML or a ROS parameter file in, a ROS parameter file or a Markdown table out.

use lienav_base::settings::{Spec, assign, lookup};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fmt::Write as _;

/// Settings that cannot be read: which one, and why.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SettingsError {
    /// The text is not YAML, or not a mapping of names to values.
    #[error("not a YAML mapping of settings: {0}")]
    Yaml(String),
    /// There is no such setting.
    #[error("there is no setting '{0}'; `lienav parameters` lists them")]
    Unknown(String),
    /// A value of the wrong type.
    #[error("setting '{name}': {problem}")]
    Type {
        /// Its dotted name.
        name: String,
        /// What is wrong with the value.
        problem: String,
    },
}

/// Settings laid over others: `base` with what `yaml` says.
///
/// The text is either a mapping of names, nested or dotted, all of which must exist, or a ROS parameter file. Of
/// that, the sections `/**` and `node` (in any namespace, in this order) are read, and parameters that are not of
/// this struct's groups are somebody else's. Ranges are not checked here.
///
/// # Errors
/// Not YAML, an unknown name, or a value of the wrong type.
pub fn overlay<T: Serialize + DeserializeOwned>(base: &T, yaml: &str, node: &str) -> Result<T, SettingsError> {
    overlay_with(base, yaml, node, false)
}

/// [`overlay`] where plain YAML, too, may hold settings of others.
///
/// # Errors
/// Not YAML, or a value of the wrong type.
pub fn overlay_known<T: Serialize + DeserializeOwned>(base: &T, yaml: &str, node: &str) -> Result<T, SettingsError> {
    overlay_with(base, yaml, node, true)
}

fn overlay_with<T: Serialize + DeserializeOwned>(
    base: &T,
    yaml: &str,
    node: &str,
    skip_unknown: bool,
) -> Result<T, SettingsError> {
    let parsed: serde_yaml_ng::Value = serde_yaml_ng::from_str(yaml).map_err(|e| SettingsError::Yaml(one_line(&e)))?;
    let document = serde_json::to_value(parsed).map_err(|e| SettingsError::Yaml(one_line(&e)))?;
    let mut tree = to_tree(base)?;
    match ros_sections(&document, node) {
        Some(sections) => {
            for (name, value) in sections.into_iter().flat_map(leaves) {
                if is_foreign(&tree, &name) {
                    continue;
                }
                put::<T>(&mut tree, &name, value)?;
            }
        }
        None if document.is_null() => {}
        None if document.is_object() => {
            let known = |name: &str| !skip_unknown || !is_foreign(&tree, name);
            let leaves: Vec<_> = leaves(&document).into_iter().filter(|(name, _)| known(name)).collect();
            for (name, value) in leaves {
                put::<T>(&mut tree, &name, value)?;
            }
        }
        None => return Err(SettingsError::Yaml("it holds a single value or a list".into())),
    }
    from_tree(&tree)
}

/// One setting changed: `value` is read as YAML reads a scalar.
///
/// # Errors
/// An unknown name, or a value of the wrong type.
pub fn with<T: Serialize + DeserializeOwned>(base: &T, name: &str, value: &str) -> Result<T, SettingsError> {
    let as_text = Value::String(value.to_owned());
    let value = serde_yaml_ng::from_str::<Value>(value).unwrap_or(as_text);
    let mut tree = to_tree(base)?;
    put::<T>(&mut tree, name, value)?;
    from_tree(&tree)
}

/// The settings as a ROS parameter file for every node, each with its description and range in a comment.
pub fn to_ros_yaml<T: Serialize>(settings: &T, specs: &[Spec]) -> String {
    let tree = serde_json::to_value(settings).unwrap_or_default();
    let mut text = String::from("/**:\n  ros__parameters:\n");
    let mut group: Vec<&str> = Vec::new();
    for spec in specs {
        let mut path: Vec<&str> = spec.name.split('.').collect();
        let leaf = path.pop().unwrap_or_default();
        let common = path.iter().zip(&group).take_while(|(a, b)| a == b).count();
        for (depth, name) in path.iter().enumerate().skip(common) {
            line(&mut text, depth, &format!("{name}:"));
        }
        line(&mut text, path.len(), &format!("# {} Allowed: {}.", spec.description, spec.allowed.describe()));
        let value = lookup(&tree, spec.name).unwrap_or(Value::Null);
        line(&mut text, path.len(), &format!("{leaf}: {}", scalar(&value)));
        group = path;
    }
    text
}

/// The settings as a Markdown table: name, default, range, whether it may change while running, meaning.
pub fn to_markdown<T: Serialize>(settings: &T, specs: &[Spec]) -> String {
    let tree = serde_json::to_value(settings).unwrap_or_default();
    let mut text = String::from("| parameter | default | allowed | while running | meaning |\n|---|---|---|---|---|\n");
    for spec in specs {
        let value = lookup(&tree, spec.name).unwrap_or(Value::Null);
        let allowed = spec.allowed.describe().replace('|', "\\|");
        let runtime = if spec.runtime { "yes" } else { "no" };
        let row = format!("| `{}` | {} | {allowed} | {runtime} | {} |\n", spec.name, scalar(&value), spec.description);
        text.push_str(&row);
    }
    text
}

fn line(text: &mut String, depth: usize, content: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{:indent$}{content}", "", indent = 4 + 2 * depth);
}

/// A value as YAML 1.1 and 1.2 both read it, a float always with its point: a node takes `5` for an integer.
fn scalar(value: &Value) -> String {
    match value {
        Value::String(word) if word.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c)) => word.clone(),
        Value::Number(number) if number.is_f64() => {
            let shown = number.to_string();
            match shown.split_once('e') {
                Some((mantissa, exponent)) if !mantissa.contains('.') => format!("{mantissa}.0e{exponent}"),
                _ => shown,
            }
        }
        other => other.to_string(),
    }
}

/// The sections of a ROS parameter file that speak to `node`; `None` where the document is none.
fn ros_sections<'a>(document: &'a Value, node: &str) -> Option<Vec<&'a Value>> {
    let entries = document.as_object()?;
    let of = |wanted: fn(&str, &str) -> bool| {
        let mine = entries.iter().filter(move |(name, _)| wanted(name.as_str(), node));
        mine.filter_map(|(_, section)| section.get("ros__parameters"))
    };
    entries.values().any(|section| section.get("ros__parameters").is_some()).then(|| {
        let everybody = of(|name, _| name == "/**" || name == "**");
        everybody.chain(of(|name, node| name.rsplit('/').next() == Some(node))).collect()
    })
}

/// Every value that is no mapping, by dotted name.
fn leaves(node: &Value) -> Vec<(String, Value)> {
    fn walk(prefix: &str, node: &Value, found: &mut Vec<(String, Value)>) {
        match node {
            Value::Object(entries) => entries.iter().for_each(|(key, value)| {
                let name = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
                walk(&name, value, found);
            }),
            // An empty group in YAML: `motion:` and nothing below it.
            Value::Null => {}
            value => found.push((prefix.to_owned(), value.clone())),
        }
    }
    let mut found = Vec::new();
    walk("", node, &mut found);
    found
}

/// Whether a parameter belongs to none of the groups of these settings.
fn is_foreign(tree: &Value, name: &str) -> bool {
    name.split('.').next().is_none_or(|group| tree.get(group).is_none())
}

/// Puts a value in its place, if the settings can still be read with it.
fn put<T: DeserializeOwned>(tree: &mut Value, name: &str, value: Value) -> Result<(), SettingsError> {
    if lookup(tree, name).is_none_or(|old| old.is_object()) {
        return Err(SettingsError::Unknown(name.to_owned()));
    }
    let mut changed = tree.clone();
    assign(&mut changed, name, value);
    if let Err(error) = serde_json::from_value::<T>(changed.clone()) {
        return Err(SettingsError::Type { name: name.to_owned(), problem: one_line(&error) });
    }
    *tree = changed;
    Ok(())
}

fn to_tree<T: Serialize>(settings: &T) -> Result<Value, SettingsError> {
    serde_json::to_value(settings).map_err(|e| SettingsError::Yaml(one_line(&e)))
}

fn from_tree<T: DeserializeOwned>(tree: &Value) -> Result<T, SettingsError> {
    serde_json::from_value(tree.clone()).map_err(|e| SettingsError::Yaml(one_line(&e)))
}

fn one_line(error: &dyn std::fmt::Display) -> String {
    error.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use lienav_slam::{Config, SPECS, TwistHold};

    fn read(yaml: &str) -> Result<Config, SettingsError> {
        overlay(&Config::default(), yaml, "slam_node")
    }

    #[test]
    fn nested_and_dotted_names_say_the_same() {
        let nested = read("motion: {velocity_x_std: 2, hold: after}\nfilter: ekf").unwrap();
        let dotted = read("motion.velocity_x_std: 2.0\nmotion.hold: after\nfilter: ekf").unwrap();
        assert_eq!(nested, dotted);
        assert_eq!((nested.motion.velocity_x_std, nested.motion.hold), (2.0, TwistHold::After));
        assert_eq!(nested.sensor, Config::default().sensor);
        assert_eq!(read("").unwrap(), Config::default());
    }

    #[test]
    fn of_a_parameter_file_the_section_of_the_node_wins_and_what_is_not_the_filters_is_left_alone() {
        let text = "
slam_node: {ros__parameters: {motion: {yaw_rate_std: 0.5}}}
/robot/slam_node: {ros__parameters: {gate.probability: 0.9}}
simulator_node: {ros__parameters: {motion: {yaw_rate_std: 0.7}}}
/**: {ros__parameters: {use_sim_time: true, frames: {map: map}, motion: {yaw_rate_std: 0.3, velocity_x_std: 0.4}}}
";
        let config = read(text).unwrap();
        let motion = config.motion;
        assert_eq!((motion.yaw_rate_std, motion.velocity_x_std, config.gate.probability), (0.5, 0.4, 0.9));
    }

    #[test]
    fn a_wrong_name_and_a_wrong_type_are_named() {
        let unknown = read("motion: {velocity_z_std: 1.0}").unwrap_err();
        assert_eq!(unknown, SettingsError::Unknown("motion.velocity_z_std".into()));
        let ros = read("/**: {ros__parameters: {motion: {velocity_z_std: 1.0}}}").unwrap_err();
        assert_eq!(ros, unknown);
        let wrong = read("gate: {probability: high}").unwrap_err().to_string();
        assert!(wrong.starts_with("setting 'gate.probability': invalid type"), "{wrong}");
        for text in ["[1, 2]", "a: [", "7", "motion: 3"] {
            let message = read(text).unwrap_err().to_string();
            assert!(!message.contains('\n'), "{message}");
        }
    }

    #[test]
    fn one_setting_is_changed_by_name() {
        let config = with(&Config::default(), "map.max_features", "40").unwrap();
        assert_eq!(config.map.max_features, 40);
        assert_eq!(with(&config, "filter", "ekf").unwrap().filter, "ekf");
        assert!(with(&config, "map", "3").is_err());
        assert!(with(&config, "map.max_features", "4.5").is_err());
    }

    #[test]
    fn what_is_written_is_read_back() {
        let mut config = Config::default();
        config.sensor.range_std_m = 1e-9;
        config.motion.velocity_x_std = 3.0;
        config.filter = "fe-ekf".into();
        let text = to_ros_yaml(&config, SPECS);
        assert!(text.contains("range_std_m: 1.0e-9\n") && text.contains("velocity_x_std: 3.0\n"), "{text}");
        assert_eq!(read(&text).unwrap(), config);
    }

    #[test]
    fn the_table_has_a_row_for_each_setting_and_five_columns() {
        let table = to_markdown(&Config::default(), SPECS);
        assert_eq!(table.lines().count(), SPECS.len() + 2);
        assert!(table.lines().all(|row| row.replace("\\|", "").matches('|').count() == 6), "{table}");
    }
}
