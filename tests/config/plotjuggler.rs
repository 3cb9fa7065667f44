//! `config/lienav.plotjuggler.xml` draws fields that the messages on the nodes' topics have.

use super::read;
use super::rviz::TOPICS;
use std::collections::BTreeSet;

/// The numbers of a message that the layout may draw, as PlotJuggler names them: angles of quaternions and entries of
/// covariances are its own.
fn fields(type_name: &str) -> Vec<String> {
    let pose = |prefix: &str| {
        ["position/x", "position/y", "position/z", "orientation/roll", "orientation/pitch", "orientation/yaw"]
            .map(|field| format!("{prefix}/{field}"))
    };
    let with_covariance = |prefix: &str| {
        let entries = (0..6).flat_map(|i| (i..6).map(move |j| (i, j)));
        let entries = entries.map(|(i, j)| format!("{prefix}/covariance[{i};{j}]"));
        pose(&format!("{prefix}/pose")).into_iter().chain(entries).collect::<Vec<_>>()
    };
    match type_name {
        "geometry_msgs/msg/PoseStamped" => pose("pose").into(),
        "geometry_msgs/msg/PoseWithCovarianceStamped" => with_covariance("pose"),
        "nav_msgs/msg/Odometry" => {
            let parts = ["linear/x", "linear/y", "angular/z"].map(|part| format!("twist/twist/{part}"));
            with_covariance("pose").into_iter().chain(parts).collect()
        }
        _ => Vec::new(),
    }
}

/// The values of an attribute of all elements of a name.
fn attributes<'a>(xml: &'a str, element: &str, attribute: &str) -> Vec<&'a str> {
    let opened = xml.split('<').filter(|piece| piece.split([' ', '>', '/']).next() == Some(element));
    let value = |piece: &'a str| piece.split(&format!(" {attribute}=\"")).nth(1)?.split('"').next();
    opened.filter_map(value).collect()
}

#[test]
fn every_curve_is_a_number_of_a_topic_that_is_subscribed() {
    let xml = read("config/lienav.plotjuggler.xml");
    let subscribed: BTreeSet<&str> = attributes(&xml, "topic", "name").into_iter().collect();
    let mut drawn = attributes(&xml, "curve", "curve_x");
    drawn.extend(attributes(&xml, "curve", "curve_y"));
    // A curve in the plane has a name of its own.
    drawn.extend(attributes(&xml, "curve", "name").into_iter().filter(|name| !name.ends_with("[x;y]")));
    assert!(drawn.len() >= 10, "{drawn:?}");
    let mut used = BTreeSet::new();
    for curve in drawn {
        let of = |(topic, _, _): &&(&'static str, &str, bool)| {
            curve.strip_prefix(*topic).is_some_and(|rest| rest.starts_with('/'))
        };
        let (topic, type_name, _) =
            TOPICS.iter().filter(of).max_by_key(|(topic, ..)| topic.len()).unwrap_or_else(|| {
                panic!("{curve} is of no topic of the nodes");
            });
        let field = &curve[topic.len() + 1..];
        assert!(fields(type_name).iter().any(|known| known == field), "{type_name} has no {field}");
        used.insert(*topic);
    }
    assert_eq!(used, subscribed);
}

#[test]
fn elements_are_closed_in_the_order_they_were_opened() {
    let xml = read("config/lienav.plotjuggler.xml");
    let mut open = Vec::new();
    for piece in xml.split('<').skip(1).filter(|piece| !piece.starts_with('?')) {
        let name = piece.trim_start_matches('/').split([' ', '>', '/']).next().unwrap_or_default();
        let tag = piece.split('>').next().unwrap_or_default();
        if piece.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "{piece}");
        } else if !tag.ends_with('/') {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?}");
}
