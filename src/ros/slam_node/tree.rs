//! The transform map → odom has one publisher (REP 105): who hears its own on `/tf` knows that of somebody else.

use super::Settings;
use lienav_io::messages::{TfMessage, TransformStamped};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// So many of the node's own transforms are remembered: what it hears of itself is younger.
const OWN: usize = 1024;
/// Somebody who has not been heard for so long has ended.
const GONE: Duration = Duration::from_secs(3);

/// What tells one transform from another: its stamp and its numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Mark {
    stamp: (i32, u32),
    numbers: [f64; 4],
}

/// Who publishes on `/tf`, as ROS lists them; filled by the thread that has the node, while it [is asked](Self::ask).
#[derive(Clone, Debug, Default)]
pub struct Publishers(Arc<Mutex<(bool, Vec<String>)>>);

impl Publishers {
    fn ask(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0 = true;
    }

    /// Whether somebody wants to know, since the last call.
    pub fn is_asked(&self) -> bool {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner).0)
    }

    /// These are they.
    pub fn tell(&self, names: Vec<String>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).1 = names;
    }

    fn names(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).1.clone()
    }
}

/// Transforms to the frame of the odometry, the node's own and those of others.
#[derive(Debug, Default)]
pub struct Tree {
    own: VecDeque<Mark>,
    /// The parent that somebody else gives the odometry frame, and when that was heard last.
    foreign: Option<(String, Instant)>,
    publishers: Publishers,
}

impl Tree {
    /// With those who tell who publishes on `/tf`.
    pub fn new(publishers: Publishers) -> Self {
        Self { publishers, ..Self::default() }
    }

    /// The node publishes a transform with this stamp, translation and rotation (z, w).
    pub fn publish(&mut self, stamp: (i32, u32), [x, y]: [f64; 2], [z, w]: [f64; 2]) {
        if self.own.len() >= OWN {
            self.own.pop_front();
        }
        self.own.push_back(Mark { stamp, numbers: [x, y, z, w] });
    }

    /// Takes what has come on `/tf`. Says so where somebody is heard for the first time, or again.
    pub fn take(&mut self, message: &TfMessage, settings: &Settings, now: Instant) -> bool {
        let is_to_odom = |t: &&TransformStamped| plain(&t.child_frame_id) == plain(&settings.odom_frame);
        let is_from_map = |t: &TransformStamped| plain(&t.header.frame_id) == plain(&settings.map_frame);
        let is_foreign = |t: &&TransformStamped| !is_from_map(t) || !self.own.iter().rev().any(|own| *own == mark(t));
        let Some(foreign) = message.transforms.iter().filter(is_to_odom).find(is_foreign) else { return false };
        let is_new = self.since(now).is_none();
        self.foreign = Some((plain(&foreign.header.frame_id).to_owned(), now));
        self.publishers.ask();
        is_new
    }

    /// How long ago somebody else was heard, while that is worth a word.
    fn since(&self, now: Instant) -> Option<Duration> {
        let (_, at) = self.foreign.as_ref()?;
        Some(now.saturating_duration_since(*at)).filter(|since| *since < GONE)
    }

    /// A sentence while somebody else publishes a transform to the odometry frame.
    pub fn conflict(&self, settings: &Settings, now: Instant) -> Option<String> {
        self.since(now)?;
        let (parent, _) = self.foreign.as_ref()?;
        let names = self.publishers.names();
        let who = match names.is_empty() {
            true => String::new(),
            false => format!(" (others that publish on /tf: {})", names.join(", ")),
        };
        Some(format!(
            "somebody else publishes {parent} -> {} on /tf{who}: the robot jumps between the two; end the other, or start \
             slam_node with publish_tf: false",
            settings.odom_frame
        ))
    }
}

fn mark(t: &TransformStamped) -> Mark {
    let (translation, rotation) = (&t.transform.translation, &t.transform.rotation);
    let numbers = [translation.x, translation.y, rotation.z, rotation.w];
    Mark { stamp: (t.header.stamp.sec, t.header.stamp.nanosec), numbers }
}

/// Without the slash of ROS 1.
fn plain(frame: &str) -> &str {
    frame.strip_prefix('/').unwrap_or(frame)
}

/// Whether a message has a transform to this frame.
pub fn leads_to(message: &TfMessage, frame: &str) -> bool {
    message.transforms.iter().any(|t| plain(&t.child_frame_id) == plain(frame))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transform(parent: &str, child: &str, x: f64) -> TfMessage {
        let mut transform = TransformStamped { child_frame_id: child.into(), ..TransformStamped::default() };
        transform.header.frame_id = parent.into();
        (transform.transform.translation.x, transform.transform.rotation.w) = (x, 1.0);
        TfMessage { transforms: vec![transform] }
    }

    #[test]
    fn somebody_else_is_told_from_the_node_itself_and_is_gone_after_a_while() {
        let (settings, now, publishers) = (Settings::default(), Instant::now(), Publishers::default());
        let mut tree = Tree::new(publishers.clone());
        tree.publish((0, 0), [1.5, 0.0], [0.0, 1.0]);
        assert!(!tree.take(&transform("map", "odom", 1.5), &settings, now), "its own");
        assert!(!tree.take(&transform("odom", "base_link", 9.0), &settings, now), "another transform");
        assert_eq!(tree.conflict(&settings, now), None);
        assert!(tree.take(&transform("map", "odom", 1.6), &settings, now));
        assert!(!tree.take(&transform("map", "odom", 1.7), &settings, now), "it was said");
        assert!(publishers.is_asked() && !publishers.is_asked());
        publishers.tell(vec!["/amcl".into()]);
        let said = tree.conflict(&settings, now).unwrap();
        assert!(said.contains("map -> odom on /tf (others that publish on /tf: /amcl)"), "{said}");
        let later = now + 2 * GONE;
        assert_eq!(tree.conflict(&settings, later), None);
        assert!(tree.take(&transform("world", "odom", 1.5), &settings, later), "another parent");
        assert!(tree.conflict(&settings, later).unwrap().contains("world -> odom"));
    }
}
