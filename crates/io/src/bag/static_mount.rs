//! Where the feature sensor of a bag sits, as `/tf_static` in it says.

use super::cdr;
use super::read::BagReader;
use super::topics::Role;
use crate::convert::{Extrinsics, Frames};
use crate::messages::{Message, Odometry, PointCloud2, TfMessage};
use crate::transforms::{StaticTransforms, plain};
use lienav_base::stamp::Stamp;

/// Transforms are looked for until so long after the first cloud, s: who starts later is no part of the robot.
const LOOK_S: f64 = 10.0;

/// What `/tf_static` says.
#[derive(Clone, Debug, PartialEq)]
pub enum StatedExtrinsics {
    /// The sensor of this frame sits there.
    Extrinsics {
        /// Where.
        extrinsics: Extrinsics,
        /// The frame of the first cloud.
        frame: String,
        /// For people.
        sentence: String,
    },
    /// Nothing of this sensor.
    Nothing {
        /// For people, where that is a surprise.
        sentence: Option<String>,
    },
}

/// Reads as much of a bag as is needed, and goes back to its beginning. `frames` are those that are stated.
pub fn extrinsics_of(bag: &mut BagReader, roles: &[Option<Role>], frames: &Frames) -> StatedExtrinsics {
    let is_static: Vec<bool> =
        bag.topics().iter().map(|t| t.name.ends_with("/tf_static") && t.type_name == TfMessage::TYPE).collect();
    if !is_static.contains(&true) {
        return StatedExtrinsics::Nothing { sentence: None };
    }
    let asked = |role: &Option<Role>| matches!(role, Some(Role::Odometry | Role::Scan));
    let wanted: Vec<bool> = is_static.iter().zip(roles).map(|(tf, role)| *tf || asked(role)).collect();
    bag.select(&wanted);
    let stated = search(bag, roles, &is_static, frames.base_frame.clone());
    bag.seek(Stamp::MIN);
    stated
}

fn search(
    bag: &mut BagReader,
    roles: &[Option<Role>],
    is_static: &[bool],
    mut base: Option<String>,
) -> StatedExtrinsics {
    let (mut tree, mut frame, mut refused) = (StaticTransforms::default(), None, None);
    for record in bag.by_ref() {
        // What cannot be read is counted where the bag is.
        if is_static[record.topic] {
            let message = cdr::decode::<TfMessage>(&record.data);
            for transform in message.iter().flat_map(|message| &message.transforms) {
                refused = tree.insert(transform).err().or(refused);
            }
        } else if roles[record.topic] == Some(Role::Scan) {
            let found = || Some((record.log_time, cdr::decode::<PointCloud2>(&record.data).ok()?.header.frame_id));
            frame = frame.or_else(found);
        } else if base.is_none() {
            base = cdr::decode::<Odometry>(&record.data).ok().map(|message| message.child_frame_id);
        }
        let (Some(base), Some((first, frame))) = (&base, &frame) else { continue };
        if plain(base) == plain(frame) {
            return StatedExtrinsics::Nothing { sentence: None };
        }
        if let Some(pose) = tree.between(base, frame) {
            let extrinsics = Extrinsics::of(&pose);
            let (p, over) = (extrinsics.mount.p, if extrinsics.is_upside_down() { ", upside down" } else { "" });
            let sentence = format!(
                "the sensor sits at x {:.3} y {:.3} yaw {:.3}{over}, as /tf_static says ({base} -> {frame})",
                p.x, p.y, extrinsics.mount.theta
            );
            return StatedExtrinsics::Extrinsics { extrinsics, frame: frame.clone(), sentence };
        }
        if record.log_time.since(*first) > LOOK_S {
            break;
        }
    }
    let (Some(base), Some((_, frame))) = (base, frame) else { return StatedExtrinsics::Nothing { sentence: None } };
    let why = refused.map_or_else(String::new, |refusal| format!(" ({refusal})"));
    let sentence = format!(
        "nothing on /tf_static joins '{base}' to '{frame}'{why}: the sensor is taken to sit at the base; if it does not, \
         set sensor.x_m, sensor.y_m and sensor.yaw_rad"
    );
    StatedExtrinsics::Nothing { sentence: Some(sentence) }
}
