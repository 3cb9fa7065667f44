//! Track loss (the kidnapped robot): the limit on how long the gate may leave out most measurements.
//!
//! If the gate leaves out nearly all measurements, the measurements are right and the pose is wrong: the wheels were
//! lifted, or slipped more than their noise allows. The filter then assumes that the robot has made a motion that
//! odometry did not measure. The map and its covariance stay. The robot is moved to where most measurements fit the
//! map, and the uncertainty of the robot relative to the map is increased, by at least the size of that motion, until
//! most measurements pass the gate. One wrong landmark beside others that fit is no track loss.
//!
//! Measurements that were left out and agree with each other need no such patience: landmarks do not all move by one
//! rigid motion. Where one motion of the robot explains most of them, three scans in a row are enough.

use crate::thresholds::{CONFIRMING, HELD_S};
use crate::wide_prior::{Place, Wide};
use lienav_base::stamp::Stamp;
use lienav_lie::Se2;
use lienav_planar::motion::{Increment, UNKNOWN_HEADING};
use nalgebra::{Matrix3, Vector3};
use serde::{Deserialize, Serialize};

/// How many measurements of known landmarks there are in a scan.
#[derive(Clone, Copy, Debug, Default)]
pub struct Agreement {
    /// Those that one motion of the robot explains.
    pub agreeing: usize,
    /// All.
    pub all: usize,
}

/// How long the gate has left out most measurements of known landmarks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TrackLoss {
    /// How long it may do so, s; 0 for ever.
    pub limit_s: f64,
    since: Option<Stamp>,
    /// How many scans in a row agreed on another place.
    agreed: usize,
    /// Since when measurements that do not tell where the robot is are held back.
    held_since: Option<Stamp>,
    relocations: u64,
}

impl TrackLoss {
    /// Nothing was left out so far.
    pub fn new(limit_s: f64) -> Self {
        Self { limit_s, since: None, agreed: 0, held_since: None, relocations: 0 }
    }

    /// Takes note of a scan in which `passed` measurements of known landmarks passed and `gated` did not, and whether
    /// one motion explains the measurements, which is asked for only if most were left out. Returns whether the robot
    /// is to be relocated; if so, counts it and starts the time anew.
    pub fn reached(&mut self, stamp: Stamp, passed: usize, gated: u64, agreement: impl FnOnce() -> Agreement) -> bool {
        if gated <= passed as u64 {
            if passed > 0 {
                self.forget();
            }
            return false;
        }
        let since = *self.since.get_or_insert(stamp);
        let Agreement { agreeing, all } = agreement();
        let agrees = agreeing >= CONFIRMING.max(4 * passed) && 2 * agreeing > all;
        self.agreed = if agrees { self.agreed.saturating_add(1) } else { 0 };
        let is_reached = self.limit_s > 0.0 && (stamp.since(since) > self.limit_s || self.agreed >= CONFIRMING);
        if is_reached {
            self.forget();
            self.relocations = self.relocations.saturating_add(1);
        }
        is_reached
    }

    /// Whether the last scan agreed on another place, which is not confirmed yet: what is new there is not placed.
    pub fn is_suspected(&self) -> bool {
        self.limit_s > 0.0 && self.agreed > 0
    }

    /// Whether a track loss is suspected at `stamp`: the gate left out most measurements of an earlier scan, and no
    /// scan since has fitted the map. The first misfit after a fit is more probably that of a moved landmark; those
    /// that follow it without a fit in between are as probably all of one lost robot.
    pub fn is_pending(&self, stamp: Stamp) -> bool {
        self.since.is_some_and(|since| since < stamp)
    }

    /// Whether measurements that do not tell where the robot is are left out of a scan of `candidates` measurements at
    /// `stamp`: always if others tell, and otherwise for `HELD_S` at most.
    pub fn holds_back(&mut self, stamp: Stamp, place: Place, candidates: usize, wide: &Wide) -> bool {
        if place != Place::Open {
            self.held_since = None;
            return true;
        }
        candidates > wide.candidates.len() || stamp.since(*self.held_since.get_or_insert(stamp)) <= HELD_S
    }

    /// How often the limit was reached.
    pub fn relocations(&self) -> u64 {
        self.relocations
    }

    /// Counts as if the limit had been reached so often.
    pub fn set_relocations(&mut self, relocations: u64) {
        self.relocations = relocations;
    }

    /// Starts the time anew.
    pub fn forget(&mut self) {
        (self.since, self.agreed, self.held_since) = (None, 0, None);
    }
}

/// Increments of zero motion with growing noise. The standard deviation of the first is at least `least`, m and rad.
pub fn unknown_motions(least: f64) -> impl Iterator<Item = Increment> {
    /// The smallest standard deviation of an assumed motion, m and rad.
    const FIRST: f64 = 0.02;
    /// The factor from one assumed motion to the next.
    const GROWTH: f64 = 2.0;
    /// The largest standard deviation of an assumed motion, m, unless the first is larger.
    const LARGEST: f64 = 12.0;
    let first = FIRST.max(least);
    std::iter::successors(Some(first), |std| Some(std * GROWTH)).take_while(move |std| *std <= LARGEST.max(first)).map(
        |std| {
            let turn = std.min(UNKNOWN_HEADING);
            let covariance = Matrix3::from_diagonal(&Vector3::new(std * std, std * std, turn * turn));
            Increment { motion: Se2::identity(), covariance, drift: None }
        },
    )
}
