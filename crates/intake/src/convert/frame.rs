//! Which frames messages may be in: a node's parameters say so; of a bag, its `params.yaml`, or its first messages.

use super::refusal::{Origin, Refusal};
use lienav_base::settings::{Described, Spec};
use serde::{Deserialize, Serialize};

/// A frame that a message may be in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Its name.
    pub name: &'a str,
    /// Where the name comes from.
    pub origin: Origin,
}

impl<'a> Frame<'a> {
    /// A frame that a parameter states.
    pub const fn parameter(parameter: &'static str, name: &'a str) -> Self {
        Self { name, origin: Origin::Parameter(parameter) }
    }

    /// Whether `found` is this frame. A leading slash, as ROS 1 wrote it, does not count.
    fn is(&self, found: &str) -> bool {
        let plain = |name: &'a str| name.strip_prefix('/').unwrap_or(name);
        plain(self.name) == found.strip_prefix('/').unwrap_or(found)
    }
}

/// Checks the name of a frame that a parameter gives.
///
/// # Errors
/// The end of a sentence: what is wrong with it, and what to do.
pub fn check_frame_name(name: &str) -> Result<(), String> {
    if let Some(plain) = name.strip_prefix('/') {
        return Err(format!("begins with a slash, which tf2 refuses: set it to '{plain}'"));
    }
    if name.contains(|sign: char| sign.is_whitespace() || sign.is_control()) {
        return Err("has a blank in it: give the name of one frame, for example 'map'".to_owned());
    }
    Ok(())
}

/// Checks that a field of a message names one of the `allowed` frames. If none is listed, any will do.
///
/// # Errors
/// [`Refusal::UnknownFrame`].
pub fn check_frame(field: &'static str, found: &str, allowed: &[Frame<'_>]) -> Result<(), Refusal> {
    let Some(first) = allowed.first() else { return Ok(()) };
    if allowed.iter().any(|frame| frame.is(found)) {
        return Ok(());
    }
    let (expected, origin) = (first.name.to_owned(), first.origin);
    Err(Refusal::UnknownFrame { field, found: found.to_owned(), expected, origin })
}

/// The frames that are stated for a recording, by the names of `slam_node`'s parameters. `None` where nothing is
/// stated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Frames {
    /// Frame the odometry drifts in: `frame_id` of odometry.
    pub odom_frame: Option<String>,
    /// Frame of the robot: `child_frame_id` of odometry; also allowed for clouds and inertial messages.
    pub base_frame: Option<String>,
    /// Frame of the feature sensor: `frame_id` of clouds.
    pub sensor_frame: Option<String>,
    /// Frame of the inertial sensor.
    pub imu_frame: Option<String>,
}

/// Names of frames have no range and no description of their own here: slam_node's parameters have.
impl Described for Frames {
    const SPECS: &'static [Spec] = &[];
}

impl Frames {
    /// Those that are stated, with their parameters.
    pub fn stated(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let all = [
            ("odom_frame", &self.odom_frame),
            ("base_frame", &self.base_frame),
            ("sensor_frame", &self.sensor_frame),
            ("imu_frame", &self.imu_frame),
        ];
        all.into_iter().filter_map(|(parameter, name)| Some((parameter, name.as_deref()?)))
    }

    /// These, and from `other` what they do not state.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            odom_frame: self.odom_frame.or(other.odom_frame),
            base_frame: self.base_frame.or(other.base_frame),
            sensor_frame: self.sensor_frame.or(other.sensor_frame),
            imu_frame: self.imu_frame.or(other.imu_frame),
        }
    }
}

/// The frame expected of the messages of a recording: the one that is stated, else that of the first message.
#[derive(Clone, Debug)]
pub struct Expected {
    name: Option<String>,
    origin: Origin,
}

impl Expected {
    /// The frame that `stated` names, as `parameter` does for a node.
    pub fn new(parameter: &'static str, stated: Option<String>) -> Self {
        let origin = if stated.is_some() { Origin::Parameter(parameter) } else { Origin::FirstMessage };
        Self { name: stated, origin }
    }

    /// Takes the frame of an accepted message for the expected one, if none is known yet.
    pub fn learn(&mut self, found: &str) {
        self.name.get_or_insert_with(|| found.to_owned());
    }

    /// The frame; `None` before the first message, if none is stated.
    pub fn frame(&self) -> Option<Frame<'_>> {
        self.name.as_deref().map(|name| Frame { name, origin: self.origin })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leading_slash_does_not_count_and_the_first_allowed_frame_is_named() {
        let allowed = [Frame::parameter("sensor_frame", "/camera"), Frame::parameter("base_frame", "base")];
        for good in ["camera", "/camera", "/base"] {
            assert_eq!(check_frame("frame_id", good, &allowed), Ok(()));
        }
        let refusal = check_frame("frame_id", "//base", &allowed).unwrap_err();
        assert_eq!(refusal.to_string(), "frame_id is '//base', expected '/camera' (parameter sensor_frame)");
        assert_eq!(check_frame("frame_id", "anything", &[]), Ok(()));
    }

    #[test]
    fn what_is_stated_counts_and_otherwise_the_first_message() {
        let mut stated = Expected::new("odom_frame", Some("odom".into()));
        stated.learn("world");
        assert_eq!(stated.frame(), Some(Frame::parameter("odom_frame", "odom")));
        let mut seen = Expected::new("odom_frame", None);
        assert_eq!(seen.frame(), None);
        seen.learn("world");
        seen.learn("odom");
        let refusal = check_frame("frame_id", "odom", seen.frame().as_slice()).unwrap_err();
        assert_eq!(refusal.to_string(), "frame_id is 'odom', expected 'world' (as in the first message of the topic)");
    }
}
