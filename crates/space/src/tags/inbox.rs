//! What waits until every source that speaks has reached its instant: then nothing that is earlier comes.

use super::input::BodyTwist;
use crate::input::Pose;
use lienav_base::stamp::Stamp;
use lienav_tags::sight::Sight;
use nalgebra::Matrix6;
use std::collections::VecDeque;

/// Cameras have smaller numbers than this.
pub const MOST_CAMERAS: usize = 16;
/// The most instants that wait: those of three cameras at 30 Hz during the 5 s that a start may take.
pub const MOST_ITEMS: usize = 512;
/// The source behind the cameras.
const ODOMETRY: usize = MOST_CAMERAS;

/// The images of an instant.
#[derive(Clone, Debug, Default)]
pub struct Images {
    /// Of which cameras, one bit each.
    pub cameras: u32,
    /// What they saw, in the order of the cameras.
    pub sights: Vec<Sight>,
    /// The camera of each.
    pub of: Vec<u8>,
}

impl Images {
    /// Adds the image of a camera behind those of the cameras before it.
    fn add(&mut self, other: &Self) {
        let camera = other.cameras.trailing_zeros() as u8;
        let at = self.of.partition_point(|of| *of <= camera);
        self.sights.splice(at..at, other.sights.iter().copied());
        self.of.splice(at..at, other.of.iter().copied());
        self.cameras |= other.cameras;
    }
}

/// What is to be done at an instant.
#[derive(Clone, Debug)]
pub enum What {
    /// Take in tags.
    Frame(Images),
    /// Take in a pose.
    Pose(Pose),
    /// Add an error that all poses that were given have in common.
    Common(Matrix6<f64>),
    /// Take in a velocity of the body.
    Velocity(BodyTwist),
    /// Give an estimate.
    Instant,
}

impl What {
    /// Its place among others of its instant.
    fn rank(&self) -> u8 {
        match self {
            Self::Pose(_) => 0,
            Self::Common(_) => 1,
            Self::Velocity(_) => 2,
            Self::Frame(_) => 3,
            Self::Instant => 4,
        }
    }
}

/// An instant that waits.
#[derive(Clone, Debug)]
pub struct Item {
    /// When.
    pub stamp: Stamp,
    /// What is to be done.
    pub what: What,
}

/// The queue.
#[derive(Clone, Debug)]
pub struct Inbox {
    items: VecDeque<Item>,
    /// Memory of frames that were taken in.
    free: Vec<Images>,
    /// The newest of each source.
    reached: [Option<Stamp>; MOST_CAMERAS + 1],
    /// The newest sample of an inertial sensor: where there is one, nothing is due that it has not reached.
    inertial: Option<Option<Stamp>>,
    /// The newest of all, and the first.
    pub newest: Option<Stamp>,
    first: Option<Stamp>,
    /// Sources that are expected to speak, one bit each.
    expected: u32,
    /// Nothing more is expected.
    pub is_flushed: bool,
}

impl Default for Inbox {
    fn default() -> Self {
        Self {
            items: VecDeque::with_capacity(MOST_ITEMS),
            free: Vec::with_capacity(MOST_ITEMS),
            reached: [None; MOST_CAMERAS + 1],
            inertial: None,
            newest: None,
            first: None,
            expected: 0,
            is_flushed: false,
        }
    }
}

impl Inbox {
    /// Forgets everything.
    pub fn clear(&mut self) {
        while let Some(item) = self.items.pop_front() {
            self.recycle(item.what);
        }
        (self.reached, self.newest, self.first, self.is_flushed) = ([None; MOST_CAMERAS + 1], None, None, false);
        self.inertial = self.inertial.map(|_| None);
    }

    /// Time has come to this stamp.
    pub fn note(&mut self, stamp: Stamp) {
        self.newest = self.newest.max(Some(stamp));
        self.first.get_or_insert(stamp);
        self.is_flushed = false;
    }

    /// These cameras have come to this stamp.
    pub fn note_cameras(&mut self, cameras: u32, stamp: Stamp) {
        for (k, reached) in self.reached.iter_mut().enumerate().take(MOST_CAMERAS) {
            if cameras >> k & 1 == 1 {
                *reached = (*reached).max(Some(stamp));
            }
        }
    }

    /// Odometry has come to this stamp.
    pub fn note_odometry(&mut self, stamp: Stamp) {
        self.reached[ODOMETRY] = self.reached[ODOMETRY].max(Some(stamp));
    }

    /// There is an inertial sensor.
    pub fn expect_inertial(&mut self) {
        self.inertial = Some(None);
    }

    /// The inertial sensor has come to this stamp.
    pub fn note_inertial(&mut self, stamp: Stamp) {
        self.inertial = Some(Some(stamp));
    }

    /// Whether every source has reached this stamp, but for those that are behind the newest of all by more than the
    /// window: they are silent. For as long, those that are expected are waited for in the beginning.
    pub fn is_due(&self, stamp: Stamp, window_s: f64) -> bool {
        let (Some(newest), Some(first)) = (self.newest, self.first) else { return false };
        let has_reached = |(k, source): (usize, &Option<Stamp>)| match source {
            Some(source) => *source >= stamp || newest.since(*source) > window_s,
            None => self.expected >> k & 1 == 0 || newest.since(first) > window_s,
        };
        let has_inertial = self.inertial.is_none_or(|newest| newest.is_some_and(|newest| newest >= stamp));
        has_inertial && (self.is_flushed || self.reached.iter().enumerate().all(has_reached))
    }

    /// These many cameras are expected to speak, and odometry or none.
    pub fn expect(&mut self, cameras: usize, odometry: bool) {
        self.expected = ((1 << cameras.min(MOST_CAMERAS)) - 1) | u32::from(odometry) << ODOMETRY;
    }

    /// What waits, in order.
    pub fn items(&self) -> impl Iterator<Item = &Item> {
        self.items.iter()
    }

    /// The cameras whose frames of this stamp wait.
    pub fn cameras_at(&self, stamp: Stamp) -> u32 {
        let at = self.items.partition_point(|item| item.stamp < stamp);
        let same = self.items.iter().skip(at).take_while(|item| item.stamp == stamp);
        same.fold(0, |all, item| if let What::Frame(one) = &item.what { all | one.cameras } else { all })
    }

    /// Whether something of this kind and stamp waits.
    pub fn has(&self, stamp: Stamp, what: &What) -> bool {
        let is_like = |item: &Item| std::mem::discriminant(&item.what) == std::mem::discriminant(what);
        self.items.iter().any(|item| item.stamp == stamp && is_like(item))
    }

    /// Whether there is no room for one more.
    pub fn is_full(&self) -> bool {
        self.items.len() >= MOST_ITEMS
    }

    /// Adds what waits at its place: of one stamp in the order of [`What::rank`], whatever came first. Frames of one
    /// stamp become one, in the order of the cameras, in whatever order they came: tags that several cameras see at an
    /// instant decide together.
    pub fn push(&mut self, stamp: Stamp, what: What) {
        let end = self.items.partition_point(|item| (item.stamp, item.what.rank()) <= (stamp, what.rank()));
        if let What::Frame(new) = &what {
            let begin = self.items.partition_point(|item| item.stamp < stamp);
            for item in self.items.range_mut(begin..end) {
                if let What::Frame(images) = &mut item.what {
                    images.add(new);
                    self.recycle(what);
                    return;
                }
            }
        }
        self.items.insert(end, Item { stamp, what });
    }

    /// Removes the earliest instant if it is due.
    pub fn pop_due(&mut self, window_s: f64) -> Option<Item> {
        let first = self.items.front()?.stamp;
        if self.is_due(first, window_s) { self.items.pop_front() } else { None }
    }

    /// Removes the earliest instant.
    pub fn pop(&mut self) -> Option<Item> {
        self.items.pop_front()
    }

    /// Memory for a frame.
    pub fn images(&mut self) -> Images {
        self.free.pop().unwrap_or_default()
    }

    /// Keeps the memory of a frame.
    pub fn recycle(&mut self, what: What) {
        if let What::Frame(mut images) = what
            && self.free.len() < MOST_ITEMS
        {
            images.sights.clear();
            images.of.clear();
            images.cameras = 0;
            self.free.push(images);
        }
    }

    /// Removes what waits from before a stamp; says how much.
    pub fn drop_before(&mut self, stamp: Stamp) -> usize {
        let mut dropped = 0;
        while self.items.front().is_some_and(|item| item.stamp < stamp) {
            if let Some(item) = self.items.pop_front() {
                self.recycle(item.what);
                dropped += 1;
            }
        }
        dropped
    }
}
