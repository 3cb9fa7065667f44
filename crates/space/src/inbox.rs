//! What waits: samples of the inertial sensor, and frames until these have come.

use crate::input::{ImuSample, Odometry, Pose, Seen};
use lienav_base::stamp::Stamp;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The most samples that wait, at 2 kHz for two seconds; beyond it, the oldest are taken in.
pub const MOST_SAMPLES: usize = 4096;
/// The most frames and other instants that wait: those of a camera during 12 s without samples.
pub const MOST_ITEMS: usize = 256;

/// A camera without a frame for so long is not waited for, s: as long as `Slam3d` calls a pose good without landmarks.
const SILENT_CAMERA_S: f64 = 1.0;
/// Instants wait for the samples of an inertial sensor that is silent for so long, s: as many frames as the queue holds.
pub const LONGEST_SILENCE_S: f64 = 12.0;
/// Sensors have smaller numbers than this.
pub const MOST_SENSORS: usize = 16;

/// What is to be done at an instant.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum What {
    /// Take in a frame.
    Frame(Vec<Seen>),
    /// Take in a velocity.
    Odometry(Odometry),
    /// Take in a pose.
    Pose(Pose),
    /// Give an estimate.
    Instant,
}

/// Of which kind that is, and of which sensor a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Key {
    /// A frame whose first measurement is of this sensor; an empty one has none.
    Frame(Option<usize>),
    /// A velocity.
    Odometry,
    /// A pose.
    Pose,
    /// An estimate.
    Instant,
}

impl What {
    /// Two with the same key and stamp are one.
    pub fn key(&self) -> Key {
        match self {
            Self::Frame(seen) => Key::Frame(seen.first().map(|seen| seen.sensor)),
            Self::Odometry(_) => Key::Odometry,
            Self::Pose(_) => Key::Pose,
            Self::Instant => Key::Instant,
        }
    }
}

/// An instant that waits.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Item {
    /// When.
    pub stamp: Stamp,
    /// What is to be done.
    pub what: What,
}

/// The queues.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Inbox {
    /// Samples that were not integrated, in order.
    pub samples: VecDeque<ImuSample>,
    items: VecDeque<Item>,
    /// Memory of frames that were taken in.
    #[serde(skip)]
    free: Vec<Vec<Seen>>,
    /// The newest sample.
    pub newest: Option<Stamp>,
    /// The newest frame of each camera.
    #[serde(default)]
    cameras: [Option<Stamp>; MOST_SENSORS],
    /// Whether nothing more comes: no camera is waited for.
    #[serde(skip)]
    pub has_ended: bool,
}

impl Default for Inbox {
    fn default() -> Self {
        Self {
            samples: VecDeque::with_capacity(256),
            items: VecDeque::with_capacity(MOST_ITEMS),
            free: Vec::with_capacity(MOST_ITEMS),
            newest: None,
            cameras: [None; MOST_SENSORS],
            has_ended: false,
        }
    }
}

impl Inbox {
    /// Forgets everything.
    pub fn clear(&mut self) {
        self.samples.clear();
        self.items.clear();
        (self.newest, self.cameras) = (None, [None; MOST_SENSORS]);
    }

    /// Whether items are in the order of their stamps, and not more than wait.
    pub fn is_sorted(&self) -> bool {
        let stamps = self.items.iter().map(|item| item.stamp);
        self.items.len() <= MOST_ITEMS && stamps.is_sorted()
    }

    /// Adds a sample that is later than all before.
    pub fn push_sample(&mut self, sample: ImuSample) {
        self.newest = Some(sample.stamp);
        self.samples.push_back(sample);
    }

    /// Whether something of this kind and stamp waits. Frames of one stamp may be of different sensors.
    pub fn has(&self, stamp: Stamp, what: &What) -> bool {
        self.items.iter().any(|item| item.stamp == stamp && item.what.key() == what.key())
    }

    /// Whether an instant beyond all samples follows others that wait: then the inertial sensor is silent, and the stamp is
    /// not from the future.
    pub fn continues(&self, stamp: Stamp) -> bool {
        let since = |before: Stamp| stamp.since(before);
        self.items.back().is_some_and(|last| (0.0..SILENT_CAMERA_S).contains(&since(last.stamp)))
            && self.newest.is_some_and(|newest| since(newest) < LONGEST_SILENCE_S)
    }

    /// Whether there is no room for one more.
    pub fn is_full(&self) -> bool {
        self.items.len() >= MOST_ITEMS
    }

    /// Adds what waits at its place, behind others of its stamp.
    pub fn push(&mut self, stamp: Stamp, what: What) {
        if let Key::Frame(Some(sensor)) = what.key()
            && let Some(newest) = self.cameras.get_mut(sensor)
        {
            *newest = (*newest).max(Some(stamp));
        }
        self.has_ended = false;
        let at = self.items.partition_point(|item| item.stamp <= stamp);
        self.items.insert(at, Item { stamp, what });
    }

    /// Removes the earliest instant if samples reach it. Of two cameras, the slower one is waited for, but for no longer
    /// than the window, s.
    pub fn pop_due(&mut self, window_s: f64) -> Option<Item> {
        let (first, newest) = (self.items.front()?.stamp, self.newest?);
        let has_reached = |camera: &Stamp| *camera >= first || newest.since(*camera) > SILENT_CAMERA_S;
        let is_late = self.has_ended || newest.since(first) >= window_s;
        let is_due = is_late || self.cameras.iter().flatten().all(has_reached);
        if newest >= first && is_due { self.items.pop_front() } else { None }
    }

    /// Memory for a frame.
    pub fn list(&mut self) -> Vec<Seen> {
        self.free.pop().unwrap_or_default()
    }

    /// Keeps the memory of a frame.
    pub fn recycle(&mut self, mut seen: Vec<Seen>) {
        seen.clear();
        if self.free.len() < MOST_ITEMS {
            self.free.push(seen);
        }
    }

    /// The frames that wait, in order.
    pub fn frames(&self) -> impl Iterator<Item = (Stamp, &[Seen])> + Clone {
        self.items.iter().filter_map(|item| match &item.what {
            What::Frame(seen) => Some((item.stamp, seen.as_slice())),
            _ => None,
        })
    }

    /// Whether a velocity or a pose waits.
    pub fn has_motion(&self) -> bool {
        self.items.iter().any(|item| matches!(item.what, What::Odometry(_) | What::Pose(_)))
    }

    /// Removes what waits from before a stamp; says how much.
    pub fn drop_before(&mut self, stamp: Stamp) -> usize {
        let before = self.items.len();
        self.items.retain(|item| item.stamp >= stamp);
        before - self.items.len()
    }
}
