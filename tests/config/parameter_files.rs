//! Parameter files name parameters there are, with values of the type and in the range a node accepts.

use super::read;
use lienav::filter::{Config, SPECS};
use lienav::settings::{assign, lookup};
use serde_json::Value;
use std::collections::BTreeMap;

/// Files for slam_node that hold only what differs from the defaults.
const PRESETS: [&str; 3] = ["lost_in_the_woods", "mrclam", "stereo"];

/// The parameters of a file, by dotted name, as ROS reads them: nested mappings under `/**`.
fn parameters(file: &str) -> BTreeMap<String, Value> {
    let document: Value = serde_yaml_ng::from_str(&read(&format!("config/{file}.yaml"))).unwrap();
    let nodes = document.as_object().unwrap();
    assert_eq!(nodes.keys().collect::<Vec<_>>(), ["/**"], "{file}.yaml is for a node of any name");
    let mut found = BTreeMap::new();
    collect("", &nodes["/**"]["ros__parameters"], &mut found);
    found
}

fn collect(prefix: &str, node: &Value, found: &mut BTreeMap<String, Value>) {
    match node.as_object() {
        Some(group) => group.iter().for_each(|(key, value)| {
            let name = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
            collect(&name, value, found);
        }),
        None => {
            found.insert(prefix.to_owned(), node.clone());
        }
    }
}

/// What ROS calls the type of a value: a node refuses 5 where it wants 5.0.
fn ros_type(value: &Value) -> &'static str {
    match value {
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "double",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        _ => "none",
    }
}

/// The configuration a node would start with.
fn configured(file: &str) -> Config {
    let mut tree = serde_json::to_value(Config::default()).unwrap();
    for (name, value) in parameters(file) {
        let default = lookup(&tree, &name).unwrap_or_else(|| panic!("{file}.yaml: there is no parameter '{name}'"));
        assert_eq!(ros_type(&value), ros_type(&default), "{file}.yaml: the type of '{name}'");
        assign(&mut tree, &name, value);
    }
    let config: Config = serde_json::from_value(tree).unwrap_or_else(|error| panic!("{file}.yaml: {error}"));
    config.validate().unwrap_or_else(|error| panic!("{file}.yaml: {error}"));
    config
}

#[test]
fn slam_holds_every_parameter_at_its_default() {
    assert_eq!(configured("slam"), Config::default());
    let named: Vec<String> = parameters("slam").into_keys().collect();
    let mut known: Vec<String> = SPECS.iter().map(|spec| spec.name.to_owned()).collect();
    known.sort();
    assert_eq!(named, known);
}

#[test]
fn slam_says_which_parameters_are_read_at_start_only() {
    let text = read("config/slam.yaml");
    for spec in SPECS {
        let lines: Vec<&str> = lines_of(&text, spec.name);
        let marked = lines.iter().any(|line| line.contains("[start]"));
        assert_eq!(marked, !spec.runtime, "config/slam.yaml: [start] at '{}'", spec.name);
    }
}

/// The line that sets a parameter, and the comment right above it, at any depth.
fn lines_of<'a>(text: &'a str, name: &str) -> Vec<&'a str> {
    let lines: Vec<&str> = text.lines().collect();
    let mut from = 0;
    for key in name.split('.') {
        from += lines[from..].iter().position(|line| line.trim_start().starts_with(&format!("{key}:"))).unwrap() + 1;
    }
    let setting = from - 1;
    let above = lines[..setting].iter().rev().take_while(|line| line.trim_start().starts_with('#')).count();
    lines[setting - above..=setting].to_vec()
}

#[test]
fn presets_are_valid_and_differ_from_the_defaults() {
    for file in PRESETS {
        assert_ne!(configured(file), Config::default(), "{file}.yaml");
    }
}
