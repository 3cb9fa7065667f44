//! Tags on `/tf`: which transforms are of tags, and which of them belong together.

use super::settings::TagSettings;
use crate::convert::{Refusal, TagPattern, TagSizes, stamp_of};
use crate::messages::{TfMessage, TransformStamped};
use crate::transforms::StaticTransforms;
use lienav_base::stamp::Stamp;
use lienav_slam::Measurement;
use std::collections::{BTreeMap, VecDeque};

/// The most scans of one stamp: of several cameras, or of a detector that sends each tag by itself.
pub const MOST_PARTS: usize = 16;

/// The most tags of a message, and of a stamp: no image has more, and each is compared with the others.
const MOST_TAGS: usize = 2000;

/// The most identities of which it is remembered which pattern gives them.
const MOST_IDENTITIES: usize = 100_000;

/// So many stamps are remembered.
const MEMORY: usize = 16;

/// The tags of one camera and one stamp, with their positions in the base frame.
#[derive(Clone, Debug, PartialEq)]
pub struct TagScan {
    /// The time of the image.
    pub stamp: Stamp,
    /// Scans of one stamp are numbered.
    pub part: usize,
    /// Their positions in the base frame.
    pub measurements: Vec<Measurement>,
}

/// The state of the tags on `/tf`.
#[derive(Clone, Debug, Default)]
pub struct Tags {
    patterns: Vec<TagPattern>,
    sizes: TagSizes,
    recent: VecDeque<Recent>,
    unmatched: Unmatched,
    /// Which pattern gives each identity that was seen, and of which name; `None` where two do.
    owners: BTreeMap<u32, Option<(usize, String)>>,
}

/// Frames on `/tf` while none has fitted a pattern.
#[derive(Clone, Debug, Default)]
struct Unmatched {
    /// Frames that are not fixed on the robot, the first few.
    seen: Vec<String>,
    is_matched: bool,
    is_said: bool,
}

/// So many frames are remembered: a robot has a few moving ones itself.
const MOST_FRAMES: usize = 64;

impl Unmatched {
    fn note(&mut self, frame: &str) {
        if self.seen.len() < MOST_FRAMES && !self.seen.iter().any(|seen| seen == frame) {
            self.seen.push(frame.to_owned());
        }
    }
}

/// The tags that came with one stamp.
#[derive(Clone, Debug)]
struct Recent {
    stamp: Stamp,
    parts: usize,
    seen: Vec<(String, u32)>,
}

impl Tags {
    /// With these patterns, and these sizes where a tag is not as large as the others.
    pub fn new(patterns: Vec<TagPattern>, sizes: TagSizes) -> Self {
        Self { patterns, sizes, ..Self::default() }
    }

    /// Whether there can be any.
    pub fn are_wanted(&self) -> bool {
        !self.patterns.is_empty()
    }

    /// The identity of a tag, and which pattern gives it.
    fn identity(&self, transform: &TransformStamped) -> Option<(u32, usize)> {
        let all = self.patterns.iter().enumerate();
        all.into_iter().find_map(|(k, pattern)| Some((pattern.identity(&transform.child_frame_id)?, k)))
    }

    /// Whether no other pattern has given this identity to another name: two tags would be one landmark. What stands before
    /// the last `/` is the name of a detector, not of a tag.
    fn is_alone(&mut self, id: u32, pattern: usize, name: &str) -> bool {
        if self.owners.len() >= MOST_IDENTITIES && !self.owners.contains_key(&id) {
            return true;
        }
        let name = name.rsplit('/').next().unwrap_or(name);
        let owner = self.owners.entry(id).or_insert_with(|| Some((pattern, name.to_owned())));
        if owner.as_ref().is_some_and(|(other, of)| *other != pattern && of != name) {
            *owner = None;
        }
        owner.is_some()
    }

    /// Time starts again.
    pub fn restart(&mut self) {
        self.recent.clear();
    }

    /// The scans in a message: one for each camera and stamp. A tag that has come before with the same camera and
    /// stamp is left out. Beside them, why some cannot be used.
    pub fn scans(
        &mut self,
        message: &TfMessage,
        (base, tree): (&str, &StaticTransforms),
        settings: &TagSettings,
    ) -> (Vec<TagScan>, Vec<Refusal>) {
        let (mut scans, mut refusals) = (Vec::<(&str, TagScan)>::new(), Vec::new());
        let model = settings.camera();
        let mut tags = 0;
        for transform in &message.transforms {
            let Some((id, pattern)) = self.identity(transform) else {
                if !self.unmatched.is_matched && tree.between(base, &transform.child_frame_id).is_none() {
                    self.unmatched.note(&transform.child_frame_id);
                }
                continue;
            };
            self.unmatched.is_matched = true;
            tags += 1;
            if tags > MOST_TAGS {
                let (parent, child) = (transform.header.frame_id.clone(), transform.child_frame_id.clone());
                refusals.push(Refusal::BadTransform { parent, child, why: "there are too many tags in one message" });
                break;
            }
            if !self.is_alone(id, pattern, &transform.child_frame_id) {
                let (parent, child) = (transform.header.frame_id.clone(), transform.child_frame_id.clone());
                let why =
                    "two of tags.frame_patterns give this identity to different tags: write {id+1000} in one of them";
                refusals.push(Refusal::BadTransform { parent, child, why });
                continue;
            }
            let camera = transform.header.frame_id.as_str();
            let read = || {
                let stamp = stamp_of(&transform.header.stamp)?;
                let pose = tree.between(base, camera).ok_or_else(|| Refusal::NoTransform {
                    base: base.to_owned(),
                    frame: camera.to_owned(),
                    otherwise: "leave these frames out of tags.frame_patterns",
                })?;
                Ok((stamp, self.sizes.of(Some(id), &model).measurement(id, transform, &pose)?))
            };
            match read() {
                Err(refusal) => refusals.push(refusal),
                Ok((stamp, checked)) => {
                    if !self.is_new(stamp, camera, id) {
                        continue;
                    }
                    let own = scans.iter_mut().find(|(frame, scan)| *frame == camera && scan.stamp == stamp);
                    match own {
                        Some((_, scan)) => scan.measurements.extend(checked),
                        None => {
                            let measurements = checked.into_iter().collect();
                            scans.push((camera, TagScan { stamp, part: 0, measurements }));
                        }
                    }
                }
            }
        }
        let mut scans: Vec<TagScan> = scans.into_iter().map(|(_, scan)| scan).collect();
        scans.retain(|scan| !scan.measurements.is_empty());
        scans.iter_mut().for_each(|scan| scan.part = self.next_part(scan.stamp));
        (scans, refusals)
    }

    /// A sentence, once, where `/tf` has had frames and none fits a pattern. `own` are the frames of the robot itself.
    /// A detector needs time: the caller asks after ten seconds, or at the end of a recording.
    pub fn misses(&mut self, own: &[&str], patterns: &[String]) -> Option<String> {
        let Unmatched { seen, is_matched, is_said } = &mut self.unmatched;
        if patterns.is_empty() || *is_matched || *is_said {
            return None;
        }
        let others = || seen.iter().filter(|frame| !own.contains(&frame.as_str()));
        // Those of tags have a number.
        let numbered = others().find(|frame| frame.contains(|c: char| c.is_ascii_digit()));
        let seen = numbered.or_else(|| others().next())?;
        *is_said = true;
        let patterns: Vec<String> = patterns.iter().map(|pattern| format!("'{pattern}'")).collect();
        Some(format!(
            "no frame on /tf fits tags.frame_patterns ({}) so far; there is '{seen}', for example: is it of a tag? Then \
             write its number as {{id}}",
            patterns.join(", ")
        ))
    }

    #[allow(clippy::indexing_slicing, reason = "the place is that of the one found, or of the last one")]
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
    use crate::convert::header;

    fn tag(ms: i64, camera: &str, child: &str, z: f64) -> TransformStamped {
        let header = header(Stamp::from_nanos(1_000_000 * ms), camera);
        let mut transform = TransformStamped { header, child_frame_id: child.into(), ..TransformStamped::default() };
        (transform.transform.translation.z, transform.transform.rotation.w) = (z, 1.0);
        transform
    }

    fn shown(scans: &[TagScan]) -> Vec<(i64, usize, Vec<u32>)> {
        let ids = |scan: &TagScan| scan.measurements.iter().filter_map(|o| o.id).collect();
        scans.iter().map(|scan| (scan.stamp.nanos() / 1_000_000, scan.part, ids(scan))).collect()
    }

    #[test]
    fn a_pattern_that_fits_nothing_is_said_once_with_a_frame_that_was_seen() {
        let mut tags = Tags::new(vec!["tag36h11:{id}".parse().unwrap()], TagSizes::default());
        let (tree, settings) = (StaticTransforms::default(), TagSettings::default());
        let after = |frames: &[&str], tags: &mut Tags| {
            let transforms = frames.iter().map(|frame| tag(5, "left", frame, 2.0)).collect();
            tags.scans(&TfMessage { transforms }, ("base_link", &tree), &settings);
            tags.misses(&["odom", "base_link"], &["tag36h11:{id}".into()])
        };
        assert_eq!(after(&["base_link"], &mut tags), None, "frames of the robot alone: no tag was in view");
        let said = after(&["wheel", "tag16h5:7", "arm"], &mut tags).unwrap();
        assert!(said.contains("('tag36h11:{id}')") && said.contains("there is 'tag16h5:7'"), "{said}");
        assert_eq!(after(&["tag16h5:7"], &mut tags), None, "once");
        let mut fine = Tags::new(vec!["tag36h11:{id}".parse().unwrap()], TagSizes::default());
        after(&["tag36h11:7"], &mut fine);
        assert_eq!(after(&["tag16h5:7"], &mut fine), None);
    }

    #[test]
    fn tags_of_one_camera_and_stamp_are_one_scan_and_none_counts_twice() {
        let patterns = ["tag36h11:{id}", "marker_{id+1000}"].map(|text| text.parse().unwrap());
        let mut tags = Tags::new(patterns.to_vec(), TagSizes::default());
        let mut tree = StaticTransforms::default();
        for camera in ["left", "right"] {
            tree.insert(&tag(0, "base_link", camera, 0.1)).unwrap();
        }
        let settings = TagSettings::default();
        let mut take = |transforms: Vec<TransformStamped>| {
            let (scans, refusals) = tags.scans(&TfMessage { transforms }, ("base_link", &tree), &settings);
            (shown(&scans), refusals.iter().map(Refusal::word).collect::<Vec<_>>())
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
        // None of them has the identity of marker_2.
        let flood = (2000..7000).map(|k| tag(11, "left", &format!("tag36h11:{k}"), 2.0)).collect();
        let (found, refused) = take(flood);
        assert_eq!((found[0].2.len(), refused), (MOST_TAGS, vec!["bad_transform"]));
        let unknown = vec![tag(9, "map", "tag36h11:1", 2.0), tag(10, "left", "tag36h11:6", f64::NAN)];
        assert_eq!(take(unknown), (vec![], vec!["no_transform", "bad_transform"]));
    }

    #[test]
    fn two_patterns_that_give_one_identity_are_refused_with_the_remedy() {
        let patterns = ["tag36h11:{id}", "*/tag36h11:{id}", "dock=500"].map(|text| text.parse().unwrap());
        let mut tags = Tags::new(patterns.to_vec(), TagSizes::default());
        let mut tree = StaticTransforms::default();
        tree.insert(&tag(0, "base_link", "left", 0.1)).unwrap();
        let settings = TagSettings::default();
        let mut take = |ms: i64, frames: &[&str]| {
            let transforms = frames.iter().map(|frame| tag(ms, "left", frame, 2.0)).collect();
            let (scans, refusals) = tags.scans(&TfMessage { transforms }, ("base_link", &tree), &settings);
            (shown(&scans).into_iter().flat_map(|scan| scan.2).collect::<Vec<_>>(), refusals)
        };
        assert_eq!(take(5, &["tag36h11:1", "dock"]).0, [1, 500]);
        assert_eq!(take(5, &["robot_1/tag36h11:2"]).0, [2]);
        assert_eq!(take(8, &["tag36h11:2"]).0, [2], "the same tag of another detector");
        let (seen, refused) = take(6, &["tag36h11:1", "tag36h11:500", "dock"]);
        assert_eq!(seen, [1]);
        assert_eq!(refused.iter().map(Refusal::word).collect::<Vec<_>>(), ["bad_transform"; 2]);
        assert!(refused[0].to_string().contains("{id+1000}"), "{}", refused[0]);
        assert_eq!(take(7, &["dock"]).0, [] as [u32; 0], "it stays refused");
    }
}
