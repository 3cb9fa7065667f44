//! Where the filter was before the last scans, for refiltering them with the noise that was learned.

use crate::association::account::{Account, Glance};
use crate::history::checkpoint::Point;
use crate::inbox::QueuedScan;
/// Where the filter was, and the clouds that have come since, in the order of their places.
#[derive(Default)]
pub struct SecondLook {
    pub point: Option<Point>,
    /// What the filter has made of the clouds since, of landmarks without identity.
    pub account: Option<Account>,
    pub scans: Vec<QueuedScan>,
    /// Landmarks that have turned out to be one since: the one that is gone, and the one that was kept.
    pub merged: Vec<(u32, u32)>,
    /// How often it was looked again.
    pub looks: u64,
}

impl SecondLook {
    /// Whether it is known what the filter has made of the clouds.
    pub fn has_account(&self) -> bool {
        self.point.is_some() && self.account.is_some()
    }

    /// The cloud that has come last.
    pub fn last_scan(&mut self) -> Option<&mut QueuedScan> {
        self.scans.last_mut()
    }

    /// Takes in what a cloud makes of the features, and its normalized squared innovation with the degrees of freedom.
    pub fn note(&mut self, glances: &[Glance], nis: (f64, usize)) {
        if let Some(account) = &mut self.account {
            account.note(glances, nis);
        }
    }
}
