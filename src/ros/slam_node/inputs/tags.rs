//! Tags on `/tf`: which transforms are of tags, and which of them belong together.

use super::settings::TagSettings;
use lienav_base::stamp::Stamp;
use lienav_io::convert::{Refusal, TagPattern, stamp_of};
use lienav_io::messages::{TfMessage, TransformStamped};
use lienav_io::transforms::StaticTransforms;
use lienav_slam::Observation;
use std::collections::VecDeque;

/// The most clouds of one stamp: of several cameras, or of a detector that sends each tag by itself.
pub const MOST_PARTS: usize = 16;

/// The most tags of a message, and of a stamp: no image has more, and each is compared with the others.
const MOST_TAGS: usize = 2000;

/// So many stamps are remembered.
const MEMORY: usize = 16;

/// Tags of one camera and one stamp, and where in the base frame they are.
#[derive(Clone, Debug, PartialEq)]
pub struct TagCloud {
    /// When they were seen.
    pub stamp: Stamp,
    /// Clouds of one stamp are numbered.
    pub part: usize,
    /// Their positions on the base.
    pub observations: Vec<Observation>,
}

/// What has come of tags.
#[derive(Clone, Debug, Default)]
pub struct Tags {
    patterns: Vec<TagPattern>,
    recent: VecDeque<Recent>,
}

/// What has come with one stamp.
#[derive(Clone, Debug)]
struct Recent {
    stamp: Stamp,
    parts: usize,
    seen: Vec<(String, u32)>,
}

impl Tags {
    /// With these patterns.
    pub fn new(patterns: Vec<TagPattern>) -> Self {
        Self { patterns, recent: VecDeque::new() }
    }

    /// Whether there can be any.
    pub fn are_wanted(&self) -> bool {
        !self.patterns.is_empty()
    }

    fn identity(&self, transform: &TransformStamped) -> Option<u32> {
        self.patterns.iter().find_map(|pattern| pattern.identity(&transform.child_frame_id))
    }

    /// Time starts anew.
    pub fn restart(&mut self) {
        self.recent.clear();
    }

    /// The clouds in a message: one for each camera and stamp. A tag that has come before with the same camera and
    /// stamp is left out. Beside them, why some cannot be used.
    pub fn clouds(
        &mut self,
        message: &TfMessage,
        (base, tree): (&str, &StaticTransforms),
        settings: &TagSettings,
    ) -> (Vec<TagCloud>, Vec<Refusal>) {
        let (mut clouds, mut refusals) = (Vec::<(&str, TagCloud)>::new(), Vec::new());
        let model = settings.camera();
        let mut tags = 0;
        for transform in &message.transforms {
            let Some(id) = self.identity(transform) else { continue };
            tags += 1;
            if tags > MOST_TAGS {
                let (parent, child) = (transform.header.frame_id.clone(), transform.child_frame_id.clone());
                refusals.push(Refusal::BadTransform { parent, child, why: "there are too many tags in one message" });
                break;
            }
            let camera = transform.header.frame_id.as_str();
            let read = || {
                let stamp = stamp_of(&transform.header.stamp)?;
                let pose = tree.between(base, camera).ok_or_else(|| Refusal::NoTransform {
                    base: base.to_owned(),
                    frame: camera.to_owned(),
                    otherwise: "leave these frames out of tags.frame_patterns",
                })?;
                Ok((stamp, model.reading(id, transform, &pose)?))
            };
            match read() {
                Err(refusal) => refusals.push(refusal),
                Ok((stamp, reading)) => {
                    if !self.is_new(stamp, camera, id) {
                        continue;
                    }
                    let place = clouds.iter().position(|(frame, cloud)| *frame == camera && cloud.stamp == stamp);
                    let place = place.unwrap_or_else(|| {
                        clouds.push((camera, TagCloud { stamp, part: 0, observations: Vec::new() }));
                        clouds.len() - 1
                    });
                    clouds[place].1.observations.extend(reading);
                }
            }
        }
        let mut clouds: Vec<TagCloud> = clouds.into_iter().map(|(_, cloud)| cloud).collect();
        clouds.retain(|cloud| !cloud.observations.is_empty());
        clouds.iter_mut().for_each(|cloud| cloud.part = self.next_part(cloud.stamp));
        (clouds, refusals)
    }

    fn of(&mut self, stamp: Stamp) -> &mut Recent {
        let place = self.recent.iter().position(|recent| recent.stamp == stamp).unwrap_or_else(|| {
            if self.recent.len() >= MEMORY {
                self.recent.pop_front();
            }
            self.recent.push_back(Recent { stamp, parts: 0, seen: Vec::new() });
            self.recent.len() - 1
        });
        &mut self.recent[place]
    }

    fn is_new(&mut self, stamp: Stamp, camera: &str, id: u32) -> bool {
        let seen = &mut self.of(stamp).seen;
        let is_new = seen.len() < MOST_TAGS && !seen.iter().any(|(frame, known)| *known == id && frame == camera);
        if is_new {
            seen.push((camera.to_owned(), id));
        }
        is_new
    }

    fn next_part(&mut self, stamp: Stamp) -> usize {
        let recent = self.of(stamp);
        recent.parts += 1;
        recent.parts - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lienav_io::convert::header;

    fn tag(ms: i64, camera: &str, child: &str, z: f64) -> TransformStamped {
        let header = header(Stamp::from_nanos(1_000_000 * ms), camera);
        let mut transform = TransformStamped { header, child_frame_id: child.into(), ..TransformStamped::default() };
        (transform.transform.translation.z, transform.transform.rotation.w) = (z, 1.0);
        transform
    }

    fn shown(clouds: &[TagCloud]) -> Vec<(i64, usize, Vec<u32>)> {
        let ids = |cloud: &TagCloud| cloud.observations.iter().filter_map(|o| o.id).collect();
        clouds.iter().map(|cloud| (cloud.stamp.nanos() / 1_000_000, cloud.part, ids(cloud))).collect()
    }

    #[test]
    fn tags_of_one_camera_and_stamp_are_one_cloud_and_none_counts_twice() {
        let patterns = ["tag36h11:{id}", "marker_{id+1000}"].map(|text| text.parse().unwrap());
        let mut tags = Tags::new(patterns.to_vec());
        let mut tree = StaticTransforms::default();
        for camera in ["left", "right"] {
            tree.insert(&tag(0, "base_link", camera, 0.1)).unwrap();
        }
        let settings = TagSettings::default();
        let mut take = |transforms: Vec<TransformStamped>| {
            let (clouds, refusals) = tags.clouds(&TfMessage { transforms }, ("base_link", &tree), &settings);
            (shown(&clouds), refusals.iter().map(Refusal::word).collect::<Vec<_>>())
        };
        // One image; a robot's own transforms beside it; one tag too far away.
        let image = vec![
            tag(5, "left", "tag36h11:1", 2.0),
            tag(5, "odom", "base_link", 2.0),
            tag(5, "left", "marker_2", 3.0),
            tag(5, "left", "tag36h11:3", 99.0),
        ];
        assert_eq!(take(image.clone()), (vec![(5, 0, vec![1, 1002])], vec![]));
        assert_eq!(take(image), (vec![], vec![]), "a relay sends it again");
        // A second camera, and a detector that sends each tag by itself.
        assert_eq!(take(vec![tag(5, "right", "tag36h11:1", 2.0)]).0, [(5, 1, vec![1])]);
        assert_eq!(take(vec![tag(5, "left", "tag36h11:4", 2.0)]).0, [(5, 2, vec![4])]);
        let both = vec![tag(9, "left", "tag36h11:1", 2.0), tag(9, "right", "tag36h11:1", 2.0)];
        assert_eq!(take(both).0, [(9, 0, vec![1]), (9, 1, vec![1])]);
        let flood = (0..5000).map(|k| tag(11, "left", &format!("tag36h11:{k}"), 2.0)).collect();
        let (found, refused) = take(flood);
        assert_eq!((found[0].2.len(), refused), (MOST_TAGS, vec!["bad_transform"]));
        let unknown = vec![tag(9, "map", "tag36h11:1", 2.0), tag(10, "left", "tag36h11:6", f64::NAN)];
        assert_eq!(take(unknown), (vec![], vec!["no_transform", "bad_transform"]));
    }
}
