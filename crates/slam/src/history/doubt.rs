//! Odometry fault hypotheses: where the filter was, and what it would have been had the robot slipped.

use crate::associated::Associated;
use crate::association::account::{Account, Glance};
use crate::estimator::Slip;
use crate::history::checkpoint::Point;
use crate::inbox::QueuedScan;
use lienav_base::stamp::Stamp;
use std::collections::VecDeque;
/// The logarithm of the odds against a slip, and of those at which it is believed.
pub const UNLIKELY: f64 = 6.9;

pub const BELIEVED: f64 = 3.0;

/// And of those at which it is believed where no more of what was known is read: where the robot is, is vague then, and
/// what it should see cannot be missed.
pub const VAGUE: f64 = 16.0;

/// Landmarks that are missed and others that begin are weighed from here on, as logarithms of odds. One of each says
/// 2.3 at most, and a rival that reads the one for the other would not be believed.
pub const SUSPICIOUS: f64 = 3.0;

/// A fork has rivals again when as much more speaks against it.
pub const GROWN: f64 = 5.3;

/// Rivals begin while no more than so many are followed: with those that begin nine, or twelve where the map has a cut.
pub const RIVALS: usize = 6;

/// Where a filter is, and what it makes of clouds.
pub struct Branch {
    pub point: Point,
    pub account: Account,
}

/// Where the filter was, and what it has made of the clouds since.
pub struct Fork {
    pub way: Branch,
    /// How many clouds had come before.
    pub scans: u64,
    /// What it had made of them when the last rivals began.
    pub weighed: f64,
    pub rivals: Vec<Rival>,
}

/// The filter, if the robot had slipped at the time of a fork.
pub struct Rival {
    /// After the last cloud, since the fork.
    pub way: Branch,
    pub scans: usize,
    pub slip: Slip,
}

impl Rival {
    /// What rivals are compared by, and how it has slipped.
    pub fn order(&self) -> (f64, Slip) {
        (self.way.account.evidence(), self.slip)
    }

    /// By how much likelier the clouds are than if the robot had not slipped: the logarithm.
    pub fn told(&self, own: &Account) -> f64 {
        self.way.account.evidence() - own.evidence()
    }

    /// Whether that is enough, beside how rarely a robot slips.
    pub fn is_believed(&self, own: &Account) -> bool {
        let odds = self.told(own) - UNLIKELY;
        odds >= if self.way.account.reads() > own.reads() { BELIEVED } else { VAGUE }
    }
}

/// Motions that may not have been what odometry says.
#[derive(Default)]
pub struct Doubt {
    pub forks: VecDeque<Fork>,
    /// The clouds since the first one, and how many were before.
    pub scans: VecDeque<QueuedScan>,
    pub before: u64,
    /// Clouds with readings since the last one.
    pub since: usize,
    /// Merges since the first one: after how many clouds, the landmark that is gone, and the one that was kept.
    pub merged: Vec<(u64, (u32, u32))>,
    /// Those that are not followed any more, for their memory.
    pub spare: Vec<Branch>,
    /// A buffer of what a cloud makes of the features, and whether the last one makes something of them.
    pub glances: Vec<Glance>,
    pub has_glanced: bool,
    /// And of what the last cloud was of, while others are taken in.
    pub measurements: Vec<Associated>,
}

impl Doubt {
    /// The cloud that has come last.
    pub fn last_scan(&mut self) -> Option<&mut QueuedScan> {
        self.scans.back_mut()
    }

    /// The first time to which the filter may go back.
    pub fn oldest(&self) -> Option<Stamp> {
        self.forks.front().map(|fork| fork.way.point.time)
    }

    /// Whether no other rival that has the robot elsewhere is nearly as likely as this one: that it has slipped is sure
    /// then, and where it is, is not.
    pub fn is_undisputed(&self, fork: usize, slip: Slip) -> bool {
        let all = || self.forks.iter().flat_map(|fork| fork.rivals.iter().map(move |rival| (&fork.way.account, rival)));
        let Fork { way, rivals, .. } = &self.forks[fork];
        let Some(one) = rivals.iter().find(|rival| rival.slip == slip) else { return false };
        let least = one.told(&way.account) - BELIEVED;
        let disputes = |(own, other): (&Account, &Rival)| {
            other.told(own) > least && one.way.point.estimator.is_elsewhere(&other.way.point.estimator)
        };
        !all().any(disputes)
    }

    /// The fork for which rivals should begin: that against which most speaks since it had some.
    pub fn next_fork(&self) -> Option<usize> {
        if self.forks.iter().map(|fork| fork.rivals.len()).sum::<usize>() > RIVALS {
            return None;
        }
        let grown = |fork: &Fork| fork.weighed - fork.way.account.against();
        let is_due =
            |fork: &Fork| fork.rivals.is_empty() && fork.way.account.is_suspicious(SUSPICIOUS) && grown(fork) >= GROWN;
        let due = self.forks.iter().enumerate().filter(|(_, fork)| is_due(fork));
        due.max_by(|a, b| grown(a.1).total_cmp(&grown(b.1)).then(a.0.cmp(&b.0))).map(|(k, _)| k)
    }
}
