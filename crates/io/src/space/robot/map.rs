//! Maps as files: landmarks with their joint covariance as JSON, tags as `tags.yaml` or the layout of a field.

use super::filter::Filter;
use crate::files;
use crate::space::tag_map::{TagMap, TagsTogether};
use crate::space::tags::StatedTag;
use lienav_space::Map3d;
use lienav_space::tags::{JointMap, KnownTag, OnBoard, TagPose};
use std::path::Path;

/// No map file is longer: the joint covariance of 1,000 landmarks with all digits.
const LONGEST_MAP: u64 = 1 << 27;

/// Loads a map; what was loaded.
pub fn load(filter: &mut Filter, path: &Path) -> Result<String, String> {
    match filter {
        Filter::Landmarks { slam, .. } => {
            let text = crate::open::read_text(path, LONGEST_MAP);
            let text = text.map_err(|error| format!("{error}{}", files::remedy(&error)))?;
            let map = Map3d::from_json(&text).map_err(|error| error.to_string())?;
            let landmarks = map.landmarks.len();
            slam.load_map(map).map_err(|error| error.to_string())?;
            Ok(format!("{landmarks} landmarks loaded"))
        }
        Filter::Tags { slam, intake, .. } => {
            let map = TagMap::read(path).map_err(|error| error.to_string())?;
            let (count, refused) = (map.known.len(), map.refused);
            intake.set_map(&map);
            let known = map.known.iter().map(|(id, tag)| (*id, KnownTag { pose: tag.pose, sigma: tag.sigma }));
            let place =
                |on: &crate::space::tags::OnBoard| OnBoard { board: on.board, pose: on.pose, sigma_m: on.sigma_m };
            let on_board = map.on_board.iter().map(|(id, on)| (*id, place(on)));
            slam.set_known(known.collect(), on_board.collect());
            let together = map
                .joint
                .as_ref()
                .and_then(|joint| JointMap::new(joint.tags.iter().map(|id| u64::from(*id)).collect(), joint.matrix()));
            together.into_iter().for_each(|joint| slam.set_joint_map(joint));
            let invalid = if refused > 0 { format!(", {refused} left out as invalid") } else { String::new() };
            Ok(format!("{count} tags loaded{invalid}"))
        }
    }
}

/// Saves the map; what was saved.
pub fn save(filter: &Filter, path: &Path) -> Result<String, String> {
    let shown = path.display();
    let (text, sentence) = match filter {
        Filter::Landmarks { slam, .. } => {
            let map = slam.map();
            if map.landmarks.is_empty() {
                return Err(format!("the map has no landmarks yet: nothing was saved, and '{shown}' stays as it is"));
            }
            (map.to_json(), format!("{} landmarks saved", map.landmarks.len()))
        }
        Filter::Tags { slam, intake, .. } => {
            let is_kept = path.exists() && TagMap::read(path).is_ok_and(|map| map.is_by_hand);
            if is_kept || path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json")) {
                let why = "it has boards or ignored tags, or is the layout of a field: set map.file to another name";
                return Err(format!("'{shown}' stays as it is, since {why}"));
            }
            let mut map = TagMap::default();
            // A tag with an invalid variance would be written as one that is known exactly.
            let is_valid = |tag: &TagPose| tag.covariance.diagonal().iter().all(|variance| *variance >= 0.0);
            for tag in slam.tags().into_iter().filter(is_valid) {
                // Standard deviations of the axes together, so that none is smaller than it is.
                let sigma = |first: usize| tag.covariance.fixed_view::<3, 3>(first, first).trace().max(1e-16).sqrt();
                let stated = slam.known().get(&tag.id).filter(|known| known.is_exact()).map(|known| known.sigma);
                let sigma = stated.unwrap_or_else(|| (sigma(3), sigma(0)));
                map.known.insert(tag.id, StatedTag { pose: tag.pose, sigma });
                let size_m = u32::try_from(tag.id).ok().map(|id| intake.size_of(id));
                map.sizes_m.extend(size_m.map(|size_m| (tag.id, size_m)));
            }
            if map.known.is_empty() {
                return Err(format!("the map has no tags yet: nothing was saved, and '{shown}' stays as it is"));
            }
            let joint = slam.joint_map();
            let is_kept = joint.tags().iter().all(|id| map.known.contains_key(id));
            map.joint = TagsTogether::of(joint.tags(), joint.covariance()).filter(|_| is_kept);
            (map.to_yaml(), format!("{} tags saved", map.known.len()))
        }
    };
    let written = files::write_atomically(path, |out| out.write_all(text.as_bytes()));
    written.map_err(|error| format!("{shown}: {error}{}", files::remedy(&error)))?;
    Ok(sentence)
}
