//! Settings as text: what is read, refused with which words, and written.

use super::*;
use lienav_base::settings;
use lienav_slam::{Config, SPECS, TwistHold};

settings! {
    /// Settings that are no numbers.
    pub struct World {
        /// What it is called.
        name: String = "flat".into();
        /// Where features are, m.
        features_m: Vec<f64> = vec![1.0], unit "m";
    }
}

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
    let nearest = Some("motion.velocity_x_std");
    assert_eq!(unknown, SettingsError::Unknown { name: "motion.velocity_z_std".into(), nearest });
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
fn what_is_not_finite_or_missing_is_refused_with_name_value_and_range() {
    for (given, shown) in [(".nan", "NaN"), (".inf", "inf"), ("-.inf", "-inf"), ("~", "null"), ("", "null")]
        .into_iter()
        .chain(["NaN", "inf", "-Infinity", "1e999"].map(|word| (word, word)))
    {
        let expected = format!("setting 'gate.probability' is {shown}; allowed: 0.5 … 1");
        let text = |read: Result<Config, SettingsError>| read.unwrap_err().to_string();
        assert_eq!(text(read(&format!("gate:\n  probability: {given}\n"))), expected);
        assert_eq!(text(read(&format!("gate.probability: {given}\n"))), expected);
        let ros = format!("slam_node:\n  ros__parameters:\n    gate:\n      probability: {given}\n");
        assert_eq!(text(read(&ros)), expected);
        assert_eq!(text(with(&Config::default(), "gate.probability", given)), expected);
    }
    let list = with(&World::default(), "features_m", "[1, .nan]").unwrap_err();
    assert_eq!(list.to_string(), "setting 'features_m' is a list with NaN; allowed: finite numbers");
    assert_eq!(with(&World::default(), "name", "inf").unwrap().name, "inf", "text may say anything");
    assert_eq!(read("motion:\nfilter: ekf").unwrap().filter, "ekf", "an empty group is none");
}

#[test]
fn a_slip_of_the_pen_is_told_from_a_parameter_of_somebody_else() {
    let text = |yaml: &str| read(yaml).unwrap_err().to_string();
    let section = |parameters: &str| format!("/**: {{ros__parameters: {{{parameters}}}}}");
    for yaml in ["sensr: {range_std_m: 0.1}", "sensor: {rang_std_m: 0.1}", "sensro.range_std_m: 0.1"] {
        let name = leaves(&parse(yaml).unwrap()).unwrap().remove(0).0;
        let expected = format!("there is no setting '{name}'; did you mean 'sensor.range_std_m'?");
        assert_eq!(text(yaml), expected);
        assert_eq!(text(&section(yaml)), expected);
    }
    assert_eq!(text(&section("fitler: ekf")), "there is no setting 'fitler'; did you mean 'filter'?");
    assert_eq!(text("camera: {exposure: 3}"), "there is no setting 'camera.exposure'; `lienav parameters` lists them");
    assert_eq!(text("nothing:"), "there is no setting 'nothing'; `lienav parameters` lists them");
    let others = section("map_frame: map, use_sim_time: true, queue_size: 10, camera: {exposure: .nan}");
    assert_eq!(read(&others), Ok(Config::default()));
}

#[test]
fn a_parameter_file_has_to_reach_the_node_and_has_nothing_outside_of_nodes() {
    let text = |yaml: &str| read(yaml).unwrap_err().to_string();
    assert_eq!(
        text("slam_nod: {ros__parameters: {filter: ekf}}\nattitude_node: {ros__parameters: {}}"),
        "nothing in the file is for 'slam_node': it has 'slam_nod', 'attitude_node'; \
         call one of them 'slam_node', or '/**' for all nodes"
    );
    let outside = "/**: {ros__parameters: {filter: ekf}}\ngate: {probability: 0.9}";
    assert!(text(outside).starts_with("'gate' belongs to no node: "), "{}", text(outside));
    for name in ["slam_node", "/slam_node", "/robot/slam_node", "/robot/**", "'*'"] {
        let config = read(&format!("{name}: {{ros__parameters: {{filter: ekf}}}}")).unwrap();
        assert_eq!(config.filter, "ekf", "{name}");
    }
    assert_eq!(read("robot: {slam_node: {ros__parameters: {filter: ekf}}}").unwrap().filter, "ekf", "namespaces");
}

#[test]
fn sections_of_other_nodes_are_named() {
    let file = "/**: {ros__parameters: {filter: ekf}}\n/r/attitude_node: {ros__parameters: {}}\n\
                slam_nod: {ros__parameters: {}}\nr: {amcl: {ros__parameters: {}}}";
    assert_eq!(sections_of_others(file), ["slam_nod", "r/amcl"]);
    assert_eq!(sections_of_others("filter: ekf"), [] as [&str; 0]);
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

#[test]
fn a_setting_that_is_stated_twice_in_one_section_is_refused() {
    let twice = "gate: {probability: 0.9}\ngate.probability: 0.8\n";
    for text in [
        twice.to_owned(),
        "slam_node:\n  ros__parameters:\n    gate: {probability: 0.9}\n    gate.probability: 0.8\n".into(),
    ] {
        let refused = overlay(&lienav_slam::Config::default(), &text, "slam_node").unwrap_err().to_string();
        assert!(refused.contains("'gate.probability' is stated twice"), "{refused}");
    }
    let over =
        "/**: {ros__parameters: {gate.probability: 0.8}}\nslam_node: {ros__parameters: {gate.probability: 0.9}}\n";
    assert_eq!(overlay(&lienav_slam::Config::default(), over, "slam_node").unwrap().gate.probability, 0.9);
}
