//! The trajectory of a frame in another one, from the transforms of a bag.
//!
//! The transform that comes most often gives the stamps; the others of the chain are taken between their neighbours.

use super::data::Trajectory;
use crate::convert::isometry_of;
use crate::convert::stamp_of;
use crate::messages::TfMessage;
use crate::transforms::plain;
use nalgebra::Isometry3;
use std::collections::BTreeMap;

/// Transforms farther apart than this are not joined, s: tf2 keeps ten seconds.
const MAX_GAP_S: f64 = 10.0;
/// No robot has more frames.
const MOST_FRAMES: usize = 10_000;
/// A transform that cannot be used.
const BAD_TRANSFORM: &str = "bad_transform";

/// Transforms on their way to a trajectory.
pub struct Chain {
    parent: String,
    child: String,
    /// By frame: its parent, and its poses there.
    links: BTreeMap<String, (String, Trajectory)>,
    count: usize,
    refused: u64,
}

impl Chain {
    /// Of `child` in `parent`.
    pub fn new(parent: &str, child: &str) -> Self {
        let (parent, child) = (plain(parent).to_owned(), plain(child).to_owned());
        Self { parent, child, links: BTreeMap::new(), count: 0, refused: 0 }
    }

    /// How many transforms are kept.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Takes the transforms of a message.
    pub fn take(&mut self, message: &TfMessage) {
        for transform in &message.transforms {
            let (parent, child) = (plain(&transform.header.frame_id), plain(&transform.child_frame_id));
            let (stamp, pose) = (stamp_of(&transform.header.stamp), isometry_of(&transform.transform));
            let (Ok(stamp), Ok(pose), true) = (stamp, pose, parent != child) else {
                self.refused += 1;
                continue;
            };
            if self.links.len() >= MOST_FRAMES && !self.links.contains_key(child) {
                self.refused += 1;
                continue;
            }
            let (known, poses) =
                self.links.entry(child.to_owned()).or_insert_with(|| (parent.to_owned(), Trajectory::default()));
            if known != parent {
                self.refused += 1;
                continue;
            }
            poses.stamps.push(stamp);
            poses.poses.push(pose);
            self.count += 1;
        }
    }

    /// The trajectory.
    ///
    /// # Errors
    /// No chain joins the two frames: with the frames that there are.
    pub fn finish(mut self) -> Result<Trajectory, String> {
        let mut chain = Vec::new();
        let mut at = self.child.clone();
        while at != self.parent {
            let Some((above, mut poses)) = self.links.remove(&at) else {
                let frames: Vec<&str> = self.links.keys().map(String::as_str).take(20).collect();
                let (parent, child) = (&self.parent, &self.child);
                return Err(format!(
                    "no chain of transforms leads from {parent} to {child}; other frames are: {}",
                    frames.join(", ")
                ));
            };
            poses.put_in_order();
            chain.push(poses);
            at = above;
        }
        let Some(fastest) = chain.iter().max_by_key(|link| link.len()) else {
            return Err(format!("{} is given as both frames; give two", self.parent));
        };
        let stamps = fastest.stamps.clone();
        let mut near = vec![0; chain.len()];
        let mut trajectory = Trajectory::default();
        for stamp in stamps {
            let joined = chain.iter().zip(&mut near).try_fold(Isometry3::identity(), |below, (link, near)| {
                let pose = match link.poses[..] {
                    // One that was sent once does not change.
                    [only] => Some(only),
                    _ => link.at(stamp, MAX_GAP_S, near),
                };
                pose.map(|pose| pose * below)
            });
            if let Some(pose) = joined {
                trajectory.stamps.push(stamp);
                trajectory.poses.push(pose);
            }
        }
        if self.refused > 0 {
            trajectory.dropped.insert(BAD_TRANSFORM, self.refused);
        }
        Ok(trajectory)
    }
}
