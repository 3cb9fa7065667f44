//! Parameters: every setting of a table of [`Spec`]s, with its type, description, range and value.
//!
//! r2r has parameter services, but its descriptors hold no ranges, its handler cannot tell what may change while
//! running from what may not, and it takes no `5` for a double. The services are therefore our own: [`Services`].

mod given;
mod services;
mod value;

pub use given::{Overrides, ParameterError};
pub use services::{Events, Request, Services};
pub use value::Kind;

use crate::ros::arguments::RosArguments;
use crate::ros::log::Log;
use crate::ros::qos_overrides;
use lienav_base::settings;
use lienav_base::settings::{Allowed, Described, OutOfRange, Spec, assign, check, lookup};
use lienav_io::convert::check_frame_name;
use lienav_io::files::read_text;
use r2r::ParameterValue;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::path::Path;

/// The overrides that ROS has for `node`.
pub fn overrides(node: &r2r::Node) -> Overrides {
    let given = node.params.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    given.iter().map(|(name, parameter)| (name.clone(), parameter.value.clone())).collect()
}

settings! {
    /// Whose time counts; every ROS node has this parameter.
    pub struct Time {
        /// Take the time from /clock instead of the system.
        use_sim_time: bool = false, runtime;
    }
}

/// The settings of [`Time`].
pub const TIME_SPECS: &[Spec] = Time::SPECS;

/// Whether the node follows `/clock`.
///
/// # Errors
/// [`TIME_SPECS`] were not declared.
pub fn use_sim_time(parameters: &Parameters) -> Result<bool, ParameterError> {
    Ok(parameters.read::<Time>(TIME_SPECS)?.use_sim_time)
}

/// Checks the names of frames that a node publishes, by their parameters.
///
/// # Errors
/// What is wrong with the first name that tf2 refuses.
pub fn check_frames(frames: &[(&str, &str)]) -> Result<(), ParameterError> {
    for (parameter, name) in frames {
        check_frame_name(name)
            .map_err(|why| ParameterError::Unusable(format!("parameter '{parameter}' is '{name}', which {why}")))?;
    }
    Ok(())
}

/// Whether the user has given a part of the place of the sensor whose parameters begin with `prefix`.
pub fn is_placed(prefix: &str, overrides: &Overrides) -> bool {
    ["x_m", "y_m", "yaw_rad"].iter().any(|part| overrides.contains_key(&format!("{prefix}.{part}")))
}

/// Warns of parameters that are set and that nobody has asked for: a slip of the pen, most often.
pub fn warn_of_unknown(parameters: &Parameters, overrides: &Overrides, log: &Log) {
    for name in parameters.unknown(overrides).filter(|name| !name.starts_with(qos_overrides::PREFIX)) {
        log.warn(&format!("parameter '{name}' is unknown and has no effect; `ros2 param list` shows the known ones"));
    }
}

/// Declares the quality of service of the topics of `node`, which all have been made; warns of that of others.
pub fn declare_qos(parameters: &mut Parameters, node: &r2r::Node, log: &Log) {
    let given = node.params.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    for (name, parameter) in given.iter().filter(|(name, _)| name.starts_with(qos_overrides::PREFIX)) {
        if parameter.description != qos_overrides::DESCRIPTION {
            log.warn(&format!(
                "parameter '{name}' has no effect: the node has no such topic; they are full and remapped"
            ));
            continue;
        }
        let value = match &parameter.value {
            ParameterValue::Integer(depth) => Value::from(*depth),
            ParameterValue::String(word) => Value::from(word.as_str()),
            _ => continue,
        };
        // Once, at the start: a table of settings has names that last as long as the process.
        let spec = Spec::new(Box::leak(name.clone().into_boxed_str()), qos_overrides::DESCRIPTION);
        parameters.entries.push(Entry { spec, kind: Kind::of(&spec, &value), value });
    }
}

/// Warns of entries of parameter files that look as if they were for `node`, and that ROS does not give to it.
pub fn warn_of_entries(node: &r2r::Node, log: &Log) {
    let (Ok(name), Ok(full_name)) = (node.name(), node.fully_qualified_name()) else { return };
    for path in RosArguments::read(std::env::args()).params_files {
        // What is no file or no YAML, rcl has refused.
        let Ok(text) = read_text(Path::new(&path)) else { continue };
        let entries = entries_of(&text);
        for entry in entries_that_miss(&entries, &name, &full_name) {
            log.warn(&format!(
                "{path}: the entry '{entry}' has no effect on the node '{full_name}'; write '{name}', '{full_name}' or \
                 '/**'"
            ));
        }
        if !entries.is_empty() && !entries.iter().any(|entry| reaches(entry, &name, &full_name)) {
            log.warn(&format!(
                "{path}: has entries for '{}' alone, and none for the node '{full_name}': nothing of it has an effect; \
                 write '{name}', '{full_name}' or '/**'",
                entries.join("', '")
            ));
        }
    }
}

/// The names of nodes that a parameter file has entries for.
fn entries_of(text: &str) -> Vec<String> {
    fn add(prefix: &str, value: &serde_yaml_ng::Value, found: &mut Vec<String>) {
        for (key, value) in value.as_mapping().into_iter().flatten() {
            match key.as_str() {
                Some("ros__parameters") => found.push(prefix.to_owned()),
                Some(key) if prefix.is_empty() => add(key, value, found),
                Some(key) => add(&format!("{prefix}/{key}"), value, found),
                None => (),
            }
        }
    }
    let mut entries = Vec::new();
    if let Ok(value) = lienav_io::yaml::from_str(text) {
        add("", &value, &mut entries);
    }
    entries
}

/// Whether ROS gives an entry of a parameter file to the node.
fn reaches(entry: &str, name: &str, full_name: &str) -> bool {
    ["/**", "**", name, full_name].contains(&entry)
}

/// The entries that have a wildcard or the name of the node, and do not reach it.
fn entries_that_miss(entries: &[String], name: &str, full_name: &str) -> Vec<String> {
    let is_like = |entry: &String| entry.contains('*') || entry.rsplit('/').next() == Some(name);
    entries.iter().filter(|entry| !reaches(entry, name, full_name) && is_like(entry)).cloned().collect()
}

/// All parameters of a node, in the order of their declaration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parameters {
    entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    spec: Spec,
    kind: Kind,
    value: Value,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.spec.name == other.spec.name && self.value == other.value
    }
}

impl Parameters {
    /// Declares the settings that `specs` names, with the values they have in `defaults`, or as overridden.
    ///
    /// # Errors
    /// An override of the wrong type or out of range.
    pub fn declare<T: Serialize>(
        &mut self,
        defaults: &T,
        specs: &[Spec],
        overrides: &Overrides,
    ) -> Result<(), ParameterError> {
        let tree = serde_json::to_value(defaults).map_err(|e| ParameterError::Unusable(e.to_string()))?;
        for spec in specs {
            let value = lookup(&tree, spec.name).ok_or_else(|| ParameterError::Unknown(spec.name.to_owned()))?;
            let mut entry = Entry { spec: *spec, kind: Kind::of(spec, &value), value };
            if let Some(given) = overrides.get(spec.name) {
                entry.value = entry.accept(given)?;
            }
            self.entries.push(entry);
        }
        Ok(())
    }

    /// Declares a group of settings under a name that the user has given; its names are those of `specs` behind a dot.
    ///
    /// # Errors
    /// As [`Parameters::declare`].
    pub fn declare_group<T: Serialize + Default>(
        &mut self,
        group: &str,
        specs: &[Spec],
        overrides: &Overrides,
    ) -> Result<(), ParameterError> {
        let tree = serde_json::to_value(T::default()).map_err(|e| ParameterError::Unusable(e.to_string()))?;
        let tree = Value::Object(std::iter::once((group.to_owned(), tree)).collect());
        // Parameters are declared once, at the start, and their names are wanted until the end.
        let named = |spec: &Spec| Spec { name: Box::leak(format!("{group}.{}", spec.name).into_boxed_str()), ..*spec };
        self.declare(&tree, &specs.iter().map(named).collect::<Vec<_>>(), overrides)
    }

    /// The settings of a group, as a struct.
    ///
    /// # Errors
    /// A setting that was not declared, or values that `T` cannot hold.
    pub fn read_group<T: Serialize + DeserializeOwned + Default>(
        &self,
        group: &str,
        specs: &[Spec],
    ) -> Result<T, ParameterError> {
        let unusable = |e: serde_json::Error| ParameterError::Unusable(e.to_string());
        let mut tree = serde_json::to_value(T::default()).map_err(unusable)?;
        for spec in specs {
            let name = format!("{group}.{}", spec.name);
            let entry = self.entry(&name).ok_or(ParameterError::Unknown(name))?;
            assign(&mut tree, spec.name, entry.value.clone());
        }
        serde_json::from_value(tree).map_err(unusable)
    }

    /// The names of all parameters.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.spec.name)
    }

    /// The settings that `specs` names, as a struct.
    ///
    /// # Errors
    /// A setting that was not declared, or values that `T` cannot hold.
    pub fn read<T: Serialize + DeserializeOwned + Default>(&self, specs: &[Spec]) -> Result<T, ParameterError> {
        let unusable = |e: serde_json::Error| ParameterError::Unusable(e.to_string());
        let mut tree = serde_json::to_value(T::default()).map_err(unusable)?;
        for spec in specs {
            let entry = self.entry(spec.name).ok_or_else(|| ParameterError::Unknown(spec.name.to_owned()))?;
            assign(&mut tree, spec.name, entry.value.clone());
        }
        check(&tree, specs)?;
        serde_json::from_value(tree).map_err(unusable)
    }

    /// The overrides that no declared parameter has asked for.
    pub fn unknown<'a>(&'a self, overrides: &'a Overrides) -> impl Iterator<Item = &'a str> + 'a {
        overrides.keys().map(String::as_str).filter(|name| self.entry(name).is_none())
    }

    /// These parameters with some of them changed.
    ///
    /// # Errors
    /// A change that is refused, with the reason to show; none of the changes is made then.
    pub fn changed(&self, changes: &[(String, ParameterValue)]) -> Result<Self, ParameterError> {
        let mut changed = self.clone();
        for (name, given) in changes {
            let unknown = || ParameterError::Unknown(name.clone());
            let entry = changed.entries.iter_mut().find(|e| e.spec.name == name).ok_or_else(unknown)?;
            let value = entry.accept(given)?;
            if value != entry.value && !entry.spec.runtime {
                return Err(ParameterError::NeedsRestart(entry.spec.name));
            }
            entry.value = value;
        }
        Ok(changed)
    }

    fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|e| e.spec.name == name)
    }
}

impl Entry {
    fn accept(&self, given: &ParameterValue) -> Result<Value, ParameterError> {
        let name = self.spec.name;
        let value = self.kind.accept(given).ok_or_else(|| ParameterError::WrongType {
            name,
            given: value::show(given),
            expected: self.kind.describe(),
        })?;
        let not_finite = || value.is_null() || value.as_array().is_some_and(|a| a.contains(&Value::Null));
        if not_finite() {
            let allowed = match self.spec.allowed {
                Allowed::Any => "finite numbers".to_owned(),
                _ => self.spec.allowed.describe(),
            };
            return Err(OutOfRange { name, value: value::show(given), allowed }.into());
        }
        let mut tree = value.clone();
        for key in name.rsplit('.') {
            tree = Value::Object(std::iter::once((key.to_owned(), tree)).collect());
        }
        check(&tree, &[self.spec])?;
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lienav_slam::{Config, SPECS};

    fn declared(overrides: &[(&str, ParameterValue)]) -> Result<Parameters, ParameterError> {
        let overrides = overrides.iter().map(|(n, v)| ((*n).to_owned(), v.clone())).collect();
        let mut parameters = Parameters::default();
        parameters.declare(&Config::default(), SPECS, &overrides)?;
        Ok(parameters)
    }

    #[test]
    fn frames_that_tf2_refuses_are_named_with_their_parameter() {
        assert_eq!(check_frames(&[("map_frame", "map"), ("odom_frame", "robot_1/odom")]), Ok(()));
        for name in ["/map", "map odom"] {
            let refused = check_frames(&[("odom_frame", "odom"), ("map_frame", name)]).unwrap_err().to_string();
            assert!(refused.starts_with(&format!("parameter 'map_frame' is '{name}', which ")), "{refused}");
        }
    }

    #[test]
    fn without_overrides_the_defaults_are_read_back() {
        assert_eq!(declared(&[]).unwrap().read::<Config>(SPECS), Ok(Config::default()));
    }

    #[test]
    fn entries_that_reach_no_node_are_found() {
        let file = |key: &str| format!("{key}:\n  ros__parameters: {{filter: ekf}}\n");
        let misses = |text: &str| entries_that_miss(&entries_of(text), "slam_node", "/robot_1/slam_node");
        for key in ["slam_node", "/**", "/robot_1/slam_node", "amcl", "/robot_2/amcl"] {
            assert_eq!(misses(&file(key)), [""; 0], "{key}");
        }
        for key in ["/**/slam_node", "/*/slam_node", "/robot_2/slam_node", "/slam_node"] {
            assert_eq!(misses(&file(key)), [key]);
        }
        let nested = "robot_2:\n  slam_node:\n    ros__parameters: {filter: ekf}\n";
        assert_eq!(misses(nested), ["robot_2/slam_node"]);
        assert_eq!(misses("no: [yaml"), [""; 0]);
        assert_eq!(entries_of(nested), ["robot_2/slam_node"]);
        assert!(!reaches("slam", "slam_node", "/slam_node") && reaches("**", "slam_node", "/slam_node"));
    }

    #[test]
    fn overrides_reach_the_struct_and_a_whole_number_does_for_a_double() {
        let parameters = declared(&[
            ("motion.max_speed", ParameterValue::Integer(5)),
            ("filter", ParameterValue::String("fe-ekf".into())),
            ("map.max_features", ParameterValue::Integer(20)),
        ]);
        let config: Config = parameters.unwrap().read(SPECS).unwrap();
        assert_eq!((config.motion.max_speed, config.filter.as_str(), config.map.max_features), (5.0, "fe-ekf", 20));
    }

    #[test]
    fn an_error_names_the_parameter_its_value_and_what_is_allowed() {
        let text = |name, value| declared(&[(name, value)]).unwrap_err().to_string();
        assert_eq!(
            text("sensor.range_std_m", ParameterValue::Double(-1.0)),
            "parameter 'sensor.range_std_m' is -1.0; allowed: 0.000000001 … 100"
        );
        assert_eq!(
            text("map.max_features", ParameterValue::Double(2.5)),
            "parameter 'map.max_features' is 2.5; it has to be a whole number"
        );
        assert_eq!(
            text("motion.max_speed", ParameterValue::Double(f64::NAN)),
            "parameter 'motion.max_speed' is NaN; allowed: 0.01 … 1000"
        );
        assert!(text("filter", ParameterValue::String("ukf".into())).contains("thesis-reduced"));
    }

    #[test]
    fn a_change_is_made_where_it_may_be_and_refused_with_a_reason_where_not() {
        let parameters = declared(&[]).unwrap();
        let change = |name: &str, value| parameters.changed(&[(name.to_owned(), value)]);
        let changed = change("gate.probability", ParameterValue::Double(0.9)).unwrap();
        assert_eq!(changed.read::<Config>(SPECS).unwrap().gate.probability, 0.9);
        let refused = change("sensor.x_m", ParameterValue::Double(1.0)).unwrap_err();
        assert_eq!(refused, ParameterError::NeedsRestart("sensor.x_m"));
        assert!(change("sensor.x_m", ParameterValue::Double(0.0)).is_ok(), "the same value is no change");
        assert!(change("gate.probability", ParameterValue::Double(2.0)).unwrap_err().to_string().contains("0.5 … 1"));
        assert!(change("gate.probabilty", ParameterValue::Double(0.9)).is_err());
    }

    #[test]
    fn what_nobody_declared_is_reported() {
        let overrides = Overrides::from([("gate.probabilty".to_owned(), ParameterValue::Double(0.9))]);
        assert_eq!(declared(&[]).unwrap().unknown(&overrides).collect::<Vec<_>>(), ["gate.probabilty"]);
    }
}
