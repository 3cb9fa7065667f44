//! `config/lienav.rviz` and `config/attitude.rviz` show what the nodes publish, with displays that every rviz2 has.

use super::read;
use serde_yaml_ng::Value;

/// A topic of the nodes that rviz can show or fill: name, type, whether it is published transient-local.
pub const TOPICS: [(&str, &str, bool); 8] = [
    ("/pose", "geometry_msgs/msg/PoseWithCovarianceStamped", false),
    ("/path", "nav_msgs/msg/Path", false),
    ("/landmarks", "sensor_msgs/msg/PointCloud2", false),
    ("/markers", "visualization_msgs/msg/MarkerArray", false),
    ("/odometry/filtered", "nav_msgs/msg/Odometry", false),
    ("/ground_truth/pose", "geometry_msgs/msg/PoseStamped", false),
    ("/ground_truth/path", "nav_msgs/msg/Path", true),
    ("/ground_truth/landmarks", "sensor_msgs/msg/PointCloud2", true),
];

/// Displays of rviz2 with a topic, and what they show.
const DISPLAYS: [(&str, &str); 5] = [
    ("rviz_default_plugins/PoseWithCovariance", "geometry_msgs/msg/PoseWithCovarianceStamped"),
    ("rviz_default_plugins/Path", "nav_msgs/msg/Path"),
    ("rviz_default_plugins/PointCloud2", "sensor_msgs/msg/PointCloud2"),
    ("rviz_default_plugins/MarkerArray", "visualization_msgs/msg/MarkerArray"),
    ("rviz_default_plugins/Odometry", "nav_msgs/msg/Odometry"),
];

/// Displays of rviz2 without one.
const DISPLAYS_WITHOUT_TOPIC: [&str; 2] = ["rviz_default_plugins/Grid", "rviz_default_plugins/TF"];

/// Panels, tools and views of rviz2.
const OTHERS: [&str; 13] = [
    "rviz_common/Displays",
    "rviz_common/Selection",
    "rviz_common/Time",
    "rviz_common/Tool Properties",
    "rviz_common/Views",
    "rviz_default_plugins/FocusCamera",
    "rviz_default_plugins/Interact",
    "rviz_default_plugins/Measure",
    "rviz_default_plugins/MoveCamera",
    "rviz_default_plugins/Orbit",
    "rviz_default_plugins/Select",
    "rviz_default_plugins/SetInitialPose",
    "rviz_default_plugins/TopDownOrtho",
];

fn document() -> Value {
    document_of("lienav")
}

fn document_of(file: &str) -> Value {
    serde_yaml_ng::from_str(&read(&format!("config/{file}.rviz"))).unwrap()
}

fn text<'a>(node: &'a Value, key: &str) -> &'a str {
    node[key].as_str().unwrap_or_else(|| panic!("no text at '{key}' in {node:?}"))
}

fn list(node: &Value) -> &[Value] {
    node.as_sequence().map_or(&[], Vec::as_slice)
}

#[test]
fn the_fixed_frame_is_the_map() {
    assert_eq!(text(&document()["Visualization Manager"]["Global Options"], "Fixed Frame"), "map");
}

#[test]
fn each_display_shows_a_topic_of_its_type_with_a_matching_qos() {
    let document = document();
    let mut shown = Vec::new();
    for display in list(&document["Visualization Manager"]["Displays"]) {
        let class = text(display, "Class");
        if DISPLAYS_WITHOUT_TOPIC.contains(&class) {
            continue;
        }
        let (_, wanted) = DISPLAYS.iter().find(|(name, _)| *name == class).unwrap_or_else(|| panic!("{class}"));
        let topic = &display["Topic"];
        let name = text(topic, "Value");
        let (_, published, keeps) =
            TOPICS.iter().find(|(known, ..)| *known == name).unwrap_or_else(|| panic!("{name}"));
        assert_eq!(published, wanted, "{class} on {name}");
        // A subscriber that asks for more than is offered gets nothing; one that asks for less misses what was sent
        // before it came.
        let durability = if *keeps { "Transient Local" } else { "Volatile" };
        assert_eq!(text(topic, "Durability Policy"), durability, "{name}");
        assert_eq!(text(topic, "Reliability Policy"), "Reliable", "{name}");
        shown.push(name.to_owned());
    }
    for name in ["/pose", "/path", "/landmarks", "/markers", "/ground_truth/path", "/ground_truth/landmarks"] {
        assert!(shown.contains(&name.to_owned()), "{name} is not shown");
    }
}

#[test]
fn panels_tools_and_views_are_those_of_rviz() {
    for document in ["lienav", "attitude"].map(document_of) {
        let manager = &document["Visualization Manager"];
        let view = &manager["Views"]["Current"];
        let classes = list(&document["Panels"]).iter().chain(list(&manager["Tools"])).chain([view]);
        for class in classes.map(|node| text(node, "Class")) {
            assert!(OTHERS.contains(&class), "{class}");
        }
    }
}

#[test]
fn the_frame_of_the_sensor_is_shown_in_that_of_the_world() {
    let document = document_of("attitude");
    let manager = &document["Visualization Manager"];
    let classes: Vec<&str> = list(&manager["Displays"]).iter().map(|display| text(display, "Class")).collect();
    assert_eq!(classes, DISPLAYS_WITHOUT_TOPIC);
    let config: Value = serde_yaml_ng::from_str(&read("config/attitude.yaml")).unwrap();
    let world = &config["/**"]["ros__parameters"]["world_frame"];
    assert_eq!(&manager["Global Options"]["Fixed Frame"], world);
}

#[test]
fn a_pose_can_be_given_to_the_node() {
    let document = document();
    let tools = list(&document["Visualization Manager"]["Tools"]);
    let tool = tools.iter().find(|tool| text(tool, "Class") == "rviz_default_plugins/SetInitialPose").unwrap();
    assert_eq!(text(&tool["Topic"], "Value"), "/initialpose");
}
