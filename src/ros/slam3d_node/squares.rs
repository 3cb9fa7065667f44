//! Tags as squares with their numbers, for displays.

use super::output::pose_of;
use lienav_io::space::robot::filter::Filter;
use lienav_space::tags::{MovingTag, TagPose};
use r2r::builtin_interfaces::msg::Duration;
use r2r::geometry_msgs::msg::Vector3;
use r2r::std_msgs::msg::{ColorRGBA, Header};
use r2r::visualization_msgs::msg::Marker;

/// Namespaces of the markers.
pub const NAMES: [&str; 2] = ["tags", "numbers"];

/// Squares of tags on something that moves: they go when these have not been seen for a second.
const MOVING: &str = "moving_tags";

/// A square and a number for each tag, and a square for each that moves; none for landmarks that are points.
pub fn of(header: &Header, filter: &Filter) -> Vec<Marker> {
    let Filter::Tags { slam, intake, .. } = filter else { return Vec::new() };
    let size = |id: u64| u32::try_from(id).map_or(0.1, |id| intake.size_of(id));
    let fixed = slam.tags();
    let fixed = fixed.iter().flat_map(|tag| [square(header, tag, size(tag.id)), number(header, tag, size(tag.id))]);
    let moving = slam.moving();
    let newest = slam.pose().map(|pose| pose.stamp);
    let is_recent = |tag: &&MovingTag| newest.is_none_or(|newest| newest.since(tag.stamp) < 1.0);
    fixed.chain(moving.iter().filter(is_recent).map(|tag| on_body(header, tag, size(tag.id)))).collect()
}

/// Orange.
fn on_body(header: &Header, tag: &MovingTag, size_m: f64) -> Marker {
    Marker {
        header: header.clone(),
        ns: MOVING.to_owned(),
        id: tag.id as i32,
        type_: Marker::CUBE as i32,
        action: Marker::ADD as i32,
        pose: pose_of(&tag.pose),
        scale: Vector3 { x: size_m, y: size_m, z: 0.1 * size_m },
        color: ColorRGBA { r: 0.9, g: 0.5, b: 0.1, a: 0.9 },
        lifetime: Duration { sec: 1, nanosec: 0 },
        ..Marker::default()
    }
}

/// Known tags are dark, those that are estimated light.
fn square(header: &Header, tag: &TagPose, size_m: f64) -> Marker {
    let grey = if tag.is_known { 0.1 } else { 0.6 };
    Marker {
        header: header.clone(),
        ns: NAMES[0].to_owned(),
        id: tag.id as i32,
        type_: Marker::CUBE as i32,
        action: Marker::ADD as i32,
        pose: pose_of(&tag.pose),
        scale: Vector3 { x: size_m, y: size_m, z: 0.1 * size_m },
        color: ColorRGBA { r: grey, g: grey, b: grey, a: 0.9 },
        ..Marker::default()
    }
}

fn number(header: &Header, tag: &TagPose, size_m: f64) -> Marker {
    let mut pose = tag.pose;
    pose.translation.z += size_m;
    Marker {
        header: header.clone(),
        ns: NAMES[1].to_owned(),
        id: tag.id as i32,
        type_: Marker::TEXT_VIEW_FACING as i32,
        action: Marker::ADD as i32,
        pose: pose_of(&pose),
        scale: Vector3 { x: 0.0, y: 0.0, z: size_m.max(0.1) },
        color: ColorRGBA { r: 0.9, g: 0.5, b: 0.1, a: 1.0 },
        text: tag.id.to_string(),
        ..Marker::default()
    }
}
