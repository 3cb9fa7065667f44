//! Parameter files name parameters there are, with values of the type and in the range a node accepts.

use super::read;
use lienav_attitude::{BODY_SPECS, BodyGroup};
use lienav_base::settings::{Spec, assign, check, lookup};
use lienav_io::recording;
use lienav_io::settings_file::overlay;
use lienav_sim::{Scenario, Simulation};
use lienav_slam::{Config, InitialConfig};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Files for slam_node that hold only what differs from the defaults.
const PRESETS: [&str; 5] = ["lost_in_the_woods", "mrclam", "simulation", "stereo", "victoria"];

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
        Value::Array(items) => items.first().map_or("none", |first| match first {
            Value::Number(number) if number.is_f64() => "doubles",
            _ => "other list",
        }),
        _ => "none",
    }
}

/// `defaults` with those parameters of a file that are among `specs`: every one of them known, of its type and in
/// range.
fn configured<T: Serialize + DeserializeOwned>(file: &str, defaults: &T, specs: &[Spec]) -> T {
    let mut tree = serde_json::to_value(defaults).unwrap();
    for (name, value) in parameters(file) {
        if !specs.iter().any(|spec| spec.name == name) {
            continue;
        }
        let default = lookup(&tree, &name).unwrap();
        assert_eq!(ros_type(&value), ros_type(&default), "{file}.yaml: the type of '{name}'");
        assign(&mut tree, &name, value);
    }
    check(&tree, specs).unwrap_or_else(|error| panic!("{file}.yaml: {error}"));
    serde_json::from_value(tree).unwrap_or_else(|error| panic!("{file}.yaml: {error}"))
}

/// The filter that slam_node would start with.
fn filter(file: &str) -> Config {
    configured(file, &Config::default(), lienav_slam::SPECS)
}

fn names(specs: &[Spec]) -> BTreeSet<String> {
    specs.iter().map(|spec| spec.name.to_owned()).collect()
}

/// The parameters of a node itself have names without a dot (but for a few groups), and those of the filter (but two)
/// names with one. Where ROS is not built in, the former are not known here.
fn is_the_nodes_own(name: &str) -> bool {
    let group = name.split('.').next().unwrap_or_default();
    let is_of_group = ["detections", "gnss", "odometry", "quality", "tags"].contains(&group)
        || ["map.file", "map.autosave_s"].contains(&name);
    !name.contains('.') && !["association", "filter"].contains(&name) || is_of_group
}

/// Every parameter of slam_node that is known here.
fn specs_of_slam() -> impl Iterator<Item = &'static Spec> {
    #[cfg(feature = "ros")]
    let own = lienav::ros::slam_node::SPECS;
    #[cfg(not(feature = "ros"))]
    let own: &[Spec] = &[];
    own.iter().chain(lienav_slam::SPECS)
}

#[cfg(feature = "ros")]
#[test]
fn slam_holds_every_parameter_of_the_node_at_its_default() {
    use lienav::ros::slam_node::{SPECS, Settings};
    assert_eq!(configured("slam", &Settings::default(), SPECS), Settings::default());
    let named: BTreeSet<String> = parameters("slam").into_keys().filter(|name| is_the_nodes_own(name)).collect();
    // ROS has no parameter files with empty lists; these stand in comments.
    let known = names(SPECS).into_iter().filter(|name| !LISTS.contains(&name.as_str())).collect();
    assert_eq!(named, known);
    for name in LISTS {
        assert!(!lines_of(&read("config/slam.yaml"), name).is_empty(), "config/slam.yaml does not show '{name}'");
    }
}

#[cfg(feature = "ros")]
const LISTS: [&str; 5] = ["sensors", "odometry.fallbacks", "tags.frame_patterns", "tags.sizes", "detections.classes"];

/// Who gives these says that `/tf_static` is not to be asked: they stand in comments.
const PLACE: [&str; 3] = ["sensor.x_m", "sensor.y_m", "sensor.yaw_rad"];

#[test]
fn slam_holds_every_parameter_of_the_filter_at_its_default() {
    assert_eq!(filter("slam"), Config::default());
    let named: BTreeSet<String> = parameters("slam").into_keys().filter(|name| !is_the_nodes_own(name)).collect();
    let known = names(lienav_slam::SPECS).into_iter().filter(|name| !PLACE.contains(&name.as_str())).collect();
    assert_eq!(named, known);
}

#[test]
fn presets_name_parameters_of_the_filter_and_change_them() {
    for file in PRESETS {
        let unknown: Vec<String> =
            parameters(file).into_keys().filter(|name| !names(lienav_slam::SPECS).contains(name)).collect();
        assert_eq!(unknown, [] as [&str; 0], "{file}.yaml");
        assert_ne!(filter(file), Config::default(), "{file}.yaml");
        filter(file).validate().unwrap_or_else(|error| panic!("{file}.yaml: {error}"));
    }
}

#[test]
fn the_command_line_reads_these_files_as_the_nodes_do() {
    for file in PRESETS.into_iter().chain(["slam"]) {
        let text = read(&format!("config/{file}.yaml"));
        assert_eq!(overlay(&Config::default(), &text, "slam_node"), Ok(filter(file)), "{file}.yaml");
    }
    let attitude = lienav_attitude::Config::default();
    assert_eq!(overlay(&attitude, &read("config/attitude.yaml"), "attitude_node"), Ok(attitude));
}

#[test]
fn the_preset_for_simulation_states_what_the_simulator_makes() {
    let simulation = Simulation::new(&configured("simulator", &Scenario::default(), lienav_sim::SPECS)).unwrap();
    let (preset, mut told) = (filter("simulation"), simulation.filter_config("default"));
    // Few of the world's features are in the map at a time, since they are forgotten.
    told.map.max_features = preset.map.max_features;
    assert_eq!(preset, told);
}

#[test]
fn the_presets_of_data_sets_are_what_the_converter_writes() {
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/data");
    for (file, source) in [
        ("lost_in_the_woods", format!("woods:{data}/lost_in_the_woods")),
        ("mrclam", format!("mrclam:{data}/mrclam/MRCLAM_Dataset6:1")),
        ("victoria", format!("victoria:{data}/victoria_park")),
    ] {
        if !Path::new(data).exists() {
            println!("skipped: {source} is not here");
            continue;
        }
        let mut written = recording::open(&source).unwrap().config.unwrap();
        written.initial = InitialConfig::default();
        assert_eq!(filter(file), written, "{file}.yaml");
    }
}

#[test]
fn simulator_holds_every_parameter_of_the_simulation_at_its_default() {
    assert_eq!(configured("simulator", &Scenario::default(), lienav_sim::SPECS), Scenario::default());
    let missing: Vec<String> = lienav_sim::SPECS
        .iter()
        .filter(|spec| !parameters("simulator").contains_key(spec.name))
        .map(|spec| spec.name.to_owned())
        .collect();
    // ROS has no parameter files with empty lists.
    assert_eq!(missing, ["world.features_x_m", "world.features_y_m", "world.features_class"]);
}

#[cfg(feature = "ros")]
#[test]
fn simulator_holds_every_parameter_of_the_node_at_its_default() {
    use lienav::ros::simulator_node::{SPECS, Settings};
    assert_eq!(configured("simulator", &Settings::default(), SPECS), Settings::default());
    let known: BTreeSet<String> = names(SPECS).union(&names(lienav_sim::SPECS)).cloned().collect();
    let unknown: Vec<String> = parameters("simulator").into_keys().filter(|name| !known.contains(name)).collect();
    assert_eq!(unknown, [] as [&str; 0]);
    assert!(names(SPECS).iter().all(|name| parameters("simulator").contains_key(name)));
}

#[test]
fn attitude_holds_every_parameter_of_the_filter_and_of_the_body_at_its_default() {
    assert_eq!(
        configured("attitude", &lienav_attitude::Config::default(), lienav_attitude::SPECS),
        lienav_attitude::Config::default()
    );
    assert_eq!(configured("attitude", &BodyGroup::default(), BODY_SPECS), BodyGroup::default());
    #[cfg(feature = "ros")]
    let own = lienav::ros::attitude_node::SPECS; // those of the body are among them
    #[cfg(not(feature = "ros"))]
    let own = BODY_SPECS;
    let named: BTreeSet<String> = parameters("attitude").into_keys().collect();
    let known: Vec<&Spec> = lienav_attitude::SPECS.iter().chain(own).collect();
    for spec in &known {
        assert!(named.contains(spec.name), "config/attitude.yaml has no '{}'", spec.name);
        let marked = lines_of(&read("config/attitude.yaml"), spec.name).iter().any(|line| line.contains("[start]"));
        assert_eq!(marked, !spec.runtime, "config/attitude.yaml: [start] at '{}'", spec.name);
    }
    #[cfg(feature = "ros")]
    assert_eq!(named.len(), known.len(), "config/attitude.yaml names what there is not");
    #[cfg(feature = "ros")]
    {
        use lienav::ros::attitude_node::{SPECS, Settings};
        assert_eq!(configured("attitude", &Settings::default(), SPECS), Settings::default());
    }
}

#[test]
fn slam3d_holds_every_parameter_of_the_filter_and_of_the_node_at_its_default() {
    let config = lienav_space::Config::default();
    assert_eq!(configured("slam3d", &config, lienav_space::SPECS), config);
    let named: BTreeSet<String> = parameters("slam3d").into_keys().collect();
    assert!(named.len() <= 30, "{} parameters", named.len());
    assert!(lienav_space::SPECS.iter().all(|spec| named.contains(spec.name) && !spec.runtime));
    #[cfg(feature = "ros")]
    {
        use lienav::ros::slam3d_node::{SPECS, Settings};
        assert_eq!(configured("slam3d", &Settings::default(), SPECS), Settings::default());
        let all: BTreeSet<String> = names(SPECS).union(&names(lienav_space::SPECS)).cloned().collect();
        assert_eq!(named, all.into_iter().filter(|name| !name.starts_with("tags.")).collect());
    }
}

/// Lists of `slam3d_node`, which stand in comments.
const LISTS_OF_TAGS: [&str; 4] = ["tags.detections", "tags.camera_infos", "tags.sizes", "tags.moving"];

#[test]
fn tags_holds_every_parameter_of_tags_and_others_of_slam3d_at_their_defaults() {
    use lienav_space::tags::TagConfig;
    use lienav_space::tags::settings::SPECS as TAG_SPECS;
    assert_eq!(configured("tags", &TagConfig::default(), TAG_SPECS), TagConfig::default());
    let config = lienav_space::Config::default();
    assert_eq!(configured("tags", &config, lienav_space::SPECS), config);
    let named: BTreeSet<String> = parameters("tags").into_keys().collect();
    assert!(TAG_SPECS.iter().all(|spec| named.contains(spec.name)));
    let text = read("config/tags.yaml");
    assert!(LISTS_OF_TAGS.iter().all(|name| !lines_of(&text, name).is_empty()));
    #[cfg(feature = "ros")]
    {
        use lienav::ros::slam3d_node::{SPECS, Settings};
        assert_eq!(configured("tags", &Settings::default(), SPECS), Settings::default());
        let own: BTreeSet<String> = names(SPECS).into_iter().filter(|n| !LISTS_OF_TAGS.contains(&n.as_str())).collect();
        assert!(own.is_subset(&named), "{:?}", own.difference(&named));
        let all = names(TAG_SPECS).union(&names(lienav_space::SPECS)).cloned().collect::<BTreeSet<_>>();
        let unknown: Vec<&String> = named.difference(&all).filter(|name| !own.contains(*name)).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }
}

#[test]
fn slam_says_which_parameters_are_read_at_start_only() {
    let text = read("config/slam.yaml");
    for spec in specs_of_slam() {
        let lines: Vec<&str> = lines_of(&text, spec.name);
        let marked = lines.iter().any(|line| line.contains("[start]"));
        assert_eq!(marked, !spec.runtime, "config/slam.yaml: [start] at '{}'", spec.name);
    }
}

/// The line that sets a parameter, be it in a comment, and the comment right above it, at any depth.
fn lines_of<'a>(text: &'a str, name: &str) -> Vec<&'a str> {
    let lines: Vec<&str> = text.lines().collect();
    let sets = |line: &str, key: &str| {
        let line = line.trim_start();
        line.strip_prefix("# ").unwrap_or(line).starts_with(&format!("{key}:"))
    };
    let mut from = 0;
    for key in name.split('.') {
        from += lines[from..].iter().position(|line| sets(line, key)).unwrap() + 1;
    }
    let setting = from - 1;
    let is_word = |key: &str| key.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    let is_text = |line: &&&str| {
        let comment = line.trim_start().strip_prefix('#').map(str::trim_start);
        comment.is_some_and(|comment| comment.split_once(':').is_none_or(|(key, _)| !is_word(key)))
    };
    let above = lines[..setting].iter().rev().take_while(is_text).count();
    lines[setting - above..=setting].to_vec()
}
