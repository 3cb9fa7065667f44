//! The tables of `docs/` are those of the code. `LIENAV_UPDATE_DOCS=1 cargo test --test config` writes them anew.

use super::read;
#[cfg(feature = "ros")]
use lienav::ros::{
    attitude_node, landmark_detector_node, lifecycle, parameters, simulator_node, slam_node, slam3d_node,
};
use lienav_attitude::{BODY_SPECS, BodyGroup};
use lienav_base::settings::Spec;
use lienav_eval::study::Study;
use lienav_io::bag::{BAD_TRUTH, UNREADABLE};
use lienav_io::convert::Refusal;
use lienav_io::files::write_atomically;
#[cfg(feature = "ros")]
use lienav_io::intake;
use lienav_io::settings_file::to_markdown;
use lienav_sim::Scenario;
use lienav_slam::{Config, DropReason};
use std::path::Path;

/// The parameters of the nodes and of the filters.
const ROBOTS: &str = "docs/parameters.md";

/// What only studies and simulations need.
const STUDIES: &str = "docs/lab/simulation.md";

/// Headings of [`STUDIES`], and the table that belongs below each.
fn tables_of_studies() -> Vec<(&'static str, String)> {
    vec![
        ("## Choices of a study", to_markdown(&Study::default(), &Study::choices())),
        ("## The simulation", to_markdown(&Scenario::default(), lienav_sim::SPECS)),
    ]
}

/// Headings of [`ROBOTS`], and the table that belongs below each. Those of the nodes need ROS.
fn tables() -> Vec<(&'static str, String)> {
    vec![
        #[cfg(feature = "ros")]
        (
            "## What a new robot needs",
            [
                to_markdown(&Config::default(), &first(lienav_slam::SPECS, true)),
                rows(&to_markdown(&slam_node::Settings::default(), &first(slam_node::SPECS, true))),
            ]
            .concat(),
        ),
        ("## The rest of the filter", to_markdown(&Config::default(), &first(lienav_slam::SPECS, false))),
        #[cfg(feature = "ros")]
        ("## Every node", to_markdown(&parameters::Time::default(), parameters::TIME_SPECS)),
        #[cfg(feature = "ros")]
        ("## Managed nodes", to_markdown(&lifecycle::Start::default(), lifecycle::START_SPECS)),
        #[cfg(feature = "ros")]
        ("## The rest of slam_node", to_markdown(&slam_node::Settings::default(), &first(slam_node::SPECS, false))),
        #[cfg(feature = "ros")]
        ("## Sensors with a name", to_markdown(&intake::SensorSettings::default(), intake::NAMED_SPECS[0].1)),
        #[cfg(feature = "ros")]
        (
            "## Sources of odometry with a name",
            to_markdown(&intake::FallbackSettings::default(), intake::NAMED_SPECS[1].1),
        ),
        ("## The attitude filter", to_markdown(&lienav_attitude::Config::default(), lienav_attitude::SPECS)),
        ("## The body of attitude_node", to_markdown(&BodyGroup::default(), BODY_SPECS)),
        #[cfg(feature = "ros")]
        (
            "## attitude_node itself",
            to_markdown(&attitude_node::Settings::default(), &without_body(attitude_node::SPECS)),
        ),
        ("## The filter in space", to_markdown(&lienav_space::Config::default(), lienav_space::SPECS)),
        (
            "## Tags in space",
            to_markdown(&lienav_space::tags::TagConfig::default(), lienav_space::tags::settings::SPECS),
        ),
        #[cfg(feature = "ros")]
        ("## slam3d_node itself", to_markdown(&slam3d_node::Settings::default(), slam3d_node::SPECS)),
        ("## The landmark detector", to_markdown(&lienav_detect::Config::default(), lienav_detect::SPECS)),
        #[cfg(feature = "ros")]
        (
            "## landmark_detector_node itself",
            to_markdown(&landmark_detector_node::Settings::default(), landmark_detector_node::SPECS),
        ),
        #[cfg(feature = "ros")]
        ("## simulator_node itself", to_markdown(&simulator_node::Settings::default(), simulator_node::SPECS)),
    ]
}

/// The parameters of slam_node and of its filter that a new robot may need: where its sensors are, how exact they are,
/// where it starts, and what becomes of the map.
const FIRST: [&str; 35] = [
    "motion.velocity_x_std",
    "motion.velocity_y_std",
    "motion.yaw_rate_std",
    "motion.noise",
    "motion.use_message_covariance",
    "motion.hold",
    "motion.delay_s",
    "sensor.kind",
    "sensor.x_m",
    "sensor.y_m",
    "sensor.yaw_rad",
    "sensor.delay_s",
    "sensor.position_std_m",
    "sensor.range_std_m",
    "sensor.bearing_std_rad",
    "sensor.baseline_m",
    "sensor.max_range_m",
    "map.max_features",
    "map.mode",
    "initial.mode",
    "initial.x_m",
    "initial.y_m",
    "initial.yaw_rad",
    "initial.position_std_m",
    "initial.yaw_std_rad",
    "learning.enabled",
    "map_frame",
    "odom_frame",
    "base_frame",
    "use_imu",
    "features_message",
    "sensors",
    "tags.size_m",
    "map.file",
    "map.autosave_s",
];

/// Those of `specs` that are among the first, or the rest.
fn first(specs: &[Spec], are_first: bool) -> Vec<Spec> {
    specs.iter().filter(|spec| FIRST.contains(&spec.name) == are_first).copied().collect()
}

/// A table without its head, to go on with another.
#[cfg(feature = "ros")]
fn rows(table: &str) -> String {
    table.split_inclusive('\n').skip(2).collect()
}

/// The settings of attitude_node that are not of the body, which has a table of its own.
#[cfg(feature = "ros")]
fn without_body(specs: &[Spec]) -> Vec<Spec> {
    specs.iter().filter(|spec| !BODY_SPECS.contains(spec)).copied().collect()
}

/// `text` with `table` in place of the first table below `heading`.
fn with_table(text: &str, heading: &str, table: &str) -> String {
    let start = text.find(&format!("\n{heading}\n")).unwrap_or_else(|| panic!("no heading '{heading}'"));
    let table_start = start + text[start..].find("\n|").unwrap_or_else(|| panic!("no table below '{heading}'")) + 1;
    let length: usize =
        text[table_start..].split_inclusive('\n').take_while(|l| l.starts_with('|')).map(str::len).sum();
    format!("{}{table}{}", &text[..table_start], &text[table_start + length..])
}

#[test]
fn the_parameters_in_the_documents_are_those_of_the_code() {
    for (path, tables) in [(ROBOTS, tables()), (STUDIES, tables_of_studies())] {
        let found = read(path);
        let expected = tables.iter().fold(found.clone(), |text, (heading, table)| with_table(&text, heading, table));
        if found != expected && std::env::var_os("LIENAV_UPDATE_DOCS").is_some() {
            let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
            write_atomically(&file, |out| out.write_all(expected.as_bytes())).unwrap();
            continue;
        }
        let wrong = expected.lines().find(|line| !found.contains(line)).unwrap_or("a row too many");
        assert!(
            found == expected,
            "{path} is out of date: {wrong}\nLIENAV_UPDATE_DOCS=1 cargo test --test config mends it"
        );
    }
}

#[cfg(feature = "ros")]
#[test]
fn the_first_parameters_are_parameters() {
    let all = lienav_slam::SPECS.iter().chain(slam_node::SPECS).map(|spec| spec.name);
    assert_eq!(all.filter(|name| FIRST.contains(name)).count(), FIRST.len());
}

#[test]
fn the_page_about_running_names_what_the_nodes_publish() {
    let page = read("docs/running.md");
    for (topic, message, _) in super::rviz::TOPICS {
        let (topic, message) = (topic.trim_start_matches('/'), message.replace("/msg/", "/"));
        if !topic.starts_with("ground_truth") {
            let named = |line: &str| line.contains(&format!("`{topic}`")) && line.contains(&message);
            assert!(page.lines().any(named), "docs/running.md does not name {topic} ({message})");
        }
    }
}

#[test]
fn each_reason_to_drop_input_has_a_remedy() {
    let text = read("docs/running.md");
    let reasons = DropReason::ALL.iter().map(|reason| reason.word()).chain(Refusal::WORDS);
    let reasons = reasons.chain([UNREADABLE, BAD_TRUTH]);
    #[cfg(feature = "ros")]
    let reasons = reasons.chain([slam_node::QUEUE_FULL, slam_node::STALE, slam_node::NO_ODOM_POSE, intake::STANDBY]);
    for reason in reasons {
        assert!(text.contains(&format!("\n| `{reason}` |")), "docs/running.md says nothing of '{reason}'");
    }
}

#[test]
fn each_reason_of_the_attitude_filter_has_a_remedy() {
    let text = read("docs/attitude.md");
    let reasons = lienav_attitude::DropReason::ALL.iter().map(|reason| reason.word());
    #[cfg(feature = "ros")]
    let reasons = reasons.chain([attitude_node::NOT_INTEGRATED]);
    for reason in reasons {
        assert!(text.contains(&format!("\n| `{reason}` |")), "docs/attitude.md says nothing of '{reason}'");
    }
}

#[test]
fn each_reason_of_the_filter_in_space_has_a_remedy() {
    let text = read("docs/slam3d.md");
    let reasons = lienav_space::DropReason::ALL.iter().map(|reason| reason.word());
    #[cfg(feature = "ros")]
    let reasons = reasons.chain([slam3d_node::NO_IDENTITY]);
    for reason in reasons.chain(lienav_io::intake::TAG_WORDS) {
        assert!(text.contains(&format!("`{reason}`")), "docs/slam3d.md says nothing of '{reason}'");
    }
}

/// Every parameter of slam_node in the snippet for Nav2 is one of its own, with a value that it takes.
#[cfg(feature = "ros")]
#[test]
fn the_snippet_for_nav2_is_of_parameters_that_there_are() {
    use lienav::ros::parameters::{Overrides, Parameters};
    use serde_json::Value;

    let text = read("docs/localization.md");
    let start = text.find("\n    slam_node:\n").expect("a snippet") + 1;
    let block: String =
        text[start..].lines().take_while(|line| line.starts_with("    ")).map(|l| format!("{}\n", &l[4..])).collect();
    let snippet: Value = serde_yaml_ng::from_str(&block).unwrap();
    fn leaves(prefix: &str, node: &Value, found: &mut Vec<(String, Value)>) {
        match node.as_object() {
            Some(group) => group.iter().for_each(|(key, value)| {
                leaves(&if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") }, value, found);
            }),
            None => found.push((prefix.to_owned(), node.clone())),
        }
    }
    let mut given = Vec::new();
    leaves("", &snippet["slam_node"]["ros__parameters"], &mut given);
    assert!(given.len() >= 8, "{given:?}");
    let overrides: Overrides = given
        .into_iter()
        .map(|(name, value)| {
            let value = match value {
                Value::Bool(flag) => r2r::ParameterValue::Bool(flag),
                Value::Number(number) => r2r::ParameterValue::Double(number.as_f64().unwrap()),
                Value::String(text) => r2r::ParameterValue::String(text),
                other => panic!("{name}: {other}"),
            };
            (name, value)
        })
        .collect();
    let mut all = Parameters::default();
    all.declare(&Config::default(), lienav_slam::SPECS, &overrides).unwrap();
    all.declare(&slam_node::Settings::default(), slam_node::SPECS, &overrides).unwrap();
    all.declare(&lifecycle::Start::default(), lifecycle::START_SPECS, &overrides).unwrap();
    assert_eq!(all.unknown(&overrides).collect::<Vec<_>>(), [""; 0]);
    let manager = &snippet["lifecycle_manager_localization"]["ros__parameters"];
    assert!(manager["node_names"].as_array().unwrap().contains(&Value::from("slam_node")));
    assert_eq!(
        (&manager["bond_timeout"], &snippet["slam_node"]["ros__parameters"]["autostart"]),
        (&Value::from(0.0), &Value::from(false))
    );
}
