//! Track loss: the limit on how long the gate may leave out most of what is seen.
//!
//! A gate that leaves out nearly everything is not wrong about the observations but about the pose: the wheels were lifted,
//! or slipped more than their noise says. What is honest then is to say that the robot has moved in a way odometry knows
//! nothing of. The map stays as it is and as certain as it is; the robot is put where most of what is seen belongs, and robot
//! against map is widened, by as much as it was moved or more, until most of that passes. One feature
//! seen wrong beside others that fit is no track loss.

use super::motion::Increment;
use lienav_base::stamp::Stamp;
use lienav_lie::Se2;
use nalgebra::{Matrix3, Vector3};

/// The least standard deviation of a motion that is assumed, m and rad.
const FIRST: f64 = 0.02;

/// Each is so many times as large as the last.
const GROWTH: f64 = 2.0;

/// The largest, m; for the heading a whole turn is known to be enough long before.
const LARGEST: f64 = 12.0;

/// Beyond this the heading is not known at all, rad.
const LARGEST_TURN: f64 = std::f64::consts::PI;

/// How long the gate has left out most of what is seen of known features.
#[derive(Clone, Debug)]
pub struct TrackLoss {
    /// For how long it may, s; 0 for ever.
    pub limit_s: f64,
    since: Option<Stamp>,
    relocations: u64,
}

impl TrackLoss {
    /// Nothing left out so far.
    pub fn new(limit_s: f64) -> Self {
        Self { limit_s, since: None, relocations: 0 }
    }

    /// Takes note of a cloud in which `passed` observations of known features passed and `gated` did not, and says whether
    /// the robot is to be relocated: that counts, and the time starts anew.
    pub fn reached(&mut self, stamp: Stamp, passed: usize, gated: u64) -> bool {
        if gated <= passed as u64 {
            if passed > 0 {
                self.since = None;
            }
            return false;
        }
        let since = *self.since.get_or_insert(stamp);
        let is_reached = self.limit_s > 0.0 && stamp.since(since) > self.limit_s;
        if is_reached {
            self.since = None;
            self.relocations += 1;
        }
        is_reached
    }

    /// How often.
    pub fn relocations(&self) -> u64 {
        self.relocations
    }

    /// Time starts anew.
    pub fn forget(&mut self) {
        self.since = None;
    }
}

/// Motions nobody knows of, of growing size from `least` on, all with the expectation that there was none.
pub fn unknown_motions(least: f64) -> impl Iterator<Item = Increment> {
    let first = FIRST.max(least);
    std::iter::successors(Some(first), |std| Some(std * GROWTH)).take_while(move |std| *std <= LARGEST.max(first)).map(
        |std| {
            let turn = std.min(LARGEST_TURN);
            let covariance = Matrix3::from_diagonal(&Vector3::new(std * std, std * std, turn * turn));
            Increment { motion: Se2::identity(), covariance, drift: None }
        },
    )
}
