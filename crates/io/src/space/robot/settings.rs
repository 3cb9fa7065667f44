//! The parameters of `slam3d_node` beside those of the filter ([`lienav_space::SPECS`]).

use crate::convert::TagSizes;
use crate::intake::{SpaceFrames, TagRobot};
use lienav_base::settings::{Described, Spec};
use lienav_base::{settings, words};
use lienav_space::Config;
use std::collections::BTreeSet;

/// Every setting of [`Settings`], in the order of its fields.
pub const SPECS: &[Spec] = Settings::SPECS;

settings! {
    /// What can be set about the node itself.
    pub struct Settings {
        /// Frame of the map: that of the estimates.
        map_frame: String = "map".into();
        /// Frame of the odometry (REP 105), frame_id of odom; empty: odom is not used, and the transform leads from
        /// map_frame to base_frame.
        odom_frame: String = String::new();
        /// Frame of the robot; imu, features and odom are in frames with static transforms to it.
        base_frame: String = "base_link".into();
        /// Publish the transform from map_frame.
        publish_tf: bool = true;
        /// Where the map is kept.
        map: MapSettings;
        /// Tags in the images of cameras.
        tags: TagTopics;
    }
}

settings! {
    /// Tags in the images of cameras.
    pub struct TagTopics {
        /// Topics of apriltag_msgs/AprilTagDetectionArray, one a camera; none: the node takes imu and features.
        detections: Vec<String> = Vec::new(), names;
        /// Topics of sensor_msgs/CameraInfo, one for each of detections; none: camera_info beside each.
        camera_infos: Vec<String> = Vec::new(), names;
        /// Edge of the black square of a tag, m.
        size_m: f64 = 0.16, within 0.001..=10.0, unit "m";
        /// Edges of the tags that have another one: ID:METRES or FIRST-LAST:METRES, as 7:0.10.
        sizes: Vec<String> = Vec::new(), names;
        /// The most wrong bits that a detection may have.
        max_hamming: usize = 0, within 0.0..=10.0;
        /// The detector takes rectified images; false: raw ones, with the distortion of camera_info.
        rectified: bool = true;
        /// Where the detector has the centre of the first pixel, px: AprilTag 3 at 0.5, camera_info at 0.
        pixel_centre_px: f64 = 0.5, within -1.0..=1.0, unit "px";
        /// The corner that the detector lists first, by the picture on the tag: AprilTag 3 left_lower, OpenCV left_upper.
        first_corner: FirstCorner = FirstCorner::LeftLower, one_of FirstCorner::WORDS;
        /// The detector goes on clockwise, as OpenCV does for ArUco.
        clockwise: bool = false;
        /// Tags on something that moves, as a cart: ID or FIRST-LAST. They are followed, and show nothing of the pose.
        moving: Vec<String> = Vec::new(), names;
    }
}

words! {
    /// The corner that a detector lists first.
    pub enum FirstCorner {
        /// That at (−, −).
        LeftLower = "left_lower",
        /// That at (+, −).
        RightLower = "right_lower",
        /// That at (+, +).
        RightUpper = "right_upper",
        /// That at (−, +).
        LeftUpper = "left_upper",
    }
}

settings! {
    /// Where the map is kept.
    pub struct MapSettings {
        /// File of the map, read at the start if it is there, and written by save_map; empty for none.
        file: String = String::new();
    }
}

/// Cameras are fewer than this.
pub const MOST_CAMERAS: usize = 16;

/// Entries of a list; ROS has no empty lists in files, and an empty text stands for one.
fn filled(list: &[String]) -> Vec<&str> {
    list.iter().map(String::as_str).filter(|text| !text.is_empty()).collect()
}

impl TagTopics {
    /// The topics of tags, one a camera; without any, the node takes landmarks.
    pub fn topics(&self) -> Vec<&str> {
        filled(&self.detections)
    }

    /// Whether the node takes tags.
    pub fn is_used(&self) -> bool {
        !self.topics().is_empty()
    }

    /// The topic of the description of each camera.
    pub fn camera_infos(&self) -> Vec<String> {
        let beside = |topic: &str| {
            topic.rsplit_once('/').map_or("camera_info".to_owned(), |(of, _)| format!("{of}/camera_info"))
        };
        let (topics, given) = (self.topics(), filled(&self.camera_infos));
        let all = topics.iter().enumerate();
        all.map(|(k, topic)| given.get(k).map_or_else(|| beside(topic), |topic| (*topic).to_owned())).collect()
    }

    /// The sizes of tags.
    ///
    /// # Errors
    /// The sentence to show.
    pub fn sizes(&self) -> Result<TagSizes, String> {
        TagSizes::parse(filled(&self.sizes))
    }

    /// The tags that are on something that moves.
    ///
    /// # Errors
    /// The sentence to show.
    pub fn moving(&self) -> Result<BTreeSet<u64>, String> {
        /// No range has more.
        const MOST: u32 = 100_000;
        let mut all = BTreeSet::new();
        for entry in filled(&self.moving) {
            let (first, last) = entry.split_once('-').unwrap_or((entry, entry));
            let [first, last] = [first, last].map(|text| text.trim().parse::<u32>());
            match (first, last) {
                (Ok(first), Ok(last)) if first <= last && last - first <= MOST => {
                    all.extend((first..=last).map(u64::from));
                }
                _ => return Err(format!("tags.moving: '{entry}' names no tag; give ID, as 7, or FIRST-LAST, as 7-9")),
            }
        }
        Ok(all)
    }

    /// Whether topics and sizes fit.
    ///
    /// # Errors
    /// The sentence to show.
    pub fn check(&self) -> Result<(), String> {
        self.sizes()?;
        self.moving()?;
        let (topics, infos) = (self.topics(), filled(&self.camera_infos).len());
        let detections = topics.len();
        if detections >= MOST_CAMERAS {
            return Err(format!(
                "parameter 'tags.detections' has {detections} topics, and there are at most 15 cameras"
            ));
        }
        if infos > 0 && infos != detections {
            return Err(format!(
                "parameter 'tags.camera_infos' has {infos} topics, and 'tags.detections' {detections}: give one for each"
            ));
        }
        let is_twice = |(k, topic): &(usize, &&str)| topics.iter().take(*k).any(|other| other == *topic);
        match topics.iter().enumerate().find(is_twice) {
            Some((_, topic)) => Err(format!("parameter 'tags.detections': '{topic}' stands twice")),
            None => Ok(()),
        }
    }
}

impl Settings {
    /// Whether `odom` is used.
    pub fn uses_odometry(&self) -> bool {
        !self.odom_frame.is_empty()
    }

    /// What the intake has to know.
    pub fn frames(&self, config: &Config) -> SpaceFrames {
        SpaceFrames {
            map: self.map_frame.clone(),
            odom: self.odom_frame.clone(),
            base: self.base_frame.clone(),
            pixel_std_px: config.sensor.pixel_std_px,
            baseline_m: config.sensor.baseline_m,
        }
    }

    /// What the intake of tags has to know.
    pub fn tags(&self, uses_imu: bool) -> Result<TagRobot, String> {
        self.tags.check()?;
        Ok(TagRobot {
            map: self.map_frame.clone(),
            odom: self.odom_frame.clone(),
            base: self.base_frame.clone(),
            camera_infos: self.tags.camera_infos(),
            size_m: self.tags.size_m,
            sizes: self.tags.sizes()?,
            max_hamming: self.tags.max_hamming as u32,
            is_rectified: self.tags.rectified,
            uses_imu,
            pixel_centre_px: self.tags.pixel_centre_px,
            first_corner: self.tags.first_corner as usize,
            is_clockwise: self.tags.clockwise,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lienav_base::settings::check;

    #[test]
    fn the_defaults_are_valid_and_there_are_few() {
        assert_eq!(check(&Settings::default(), SPECS), Ok(()));
        let own = SPECS.iter().filter(|spec| !spec.name.starts_with("tags.")).count();
        let all = own + lienav_space::SPECS.len();
        assert!(all <= 30, "{all} parameters without tags");
        let theirs = lienav_space::SPECS.iter().chain(lienav_space::tags::settings::SPECS);
        assert!(theirs.into_iter().all(|theirs| SPECS.iter().all(|ours| ours.name != theirs.name)));
    }

    #[test]
    fn topics_of_cameras_are_complete_or_refused_with_a_sentence() {
        let of = |detections: &[&str], infos: &[&str]| TagTopics {
            detections: detections.iter().map(|s| (*s).to_owned()).collect(),
            camera_infos: infos.iter().map(|s| (*s).to_owned()).collect(),
            ..TagTopics::default()
        };
        assert_eq!(of(&["front/detections", "tags"], &[]).camera_infos(), ["front/camera_info", "camera_info"]);
        assert_eq!(of(&["a", "b"], &["c", "d"]).check(), Ok(()));
        assert!(of(&["a", "b"], &["c"]).check().unwrap_err().contains("'tags.camera_infos' has 1 topics"));
        assert!(!of(&[""], &[""]).is_used());
        assert!(of(&["a", "a"], &[]).check().unwrap_err().contains("stands twice"));
        assert!(TagTopics { sizes: vec!["7".into()], ..of(&["a"], &[]) }.check().unwrap_err().contains("tags.sizes"));
        let moving = |entry: &str| TagTopics { moving: vec!["3".into(), entry.into()], ..of(&["a"], &[]) }.moving();
        assert_eq!(moving("7-9").unwrap(), [3, 7, 8, 9].into());
        assert!(["cart", "9-7", "-1", "0-4000000000"].iter().all(|e| moving(e).unwrap_err().contains("tags.moving")));
    }
}
