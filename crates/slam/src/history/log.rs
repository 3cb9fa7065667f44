//! The scans since the oldest checkpoint, one copy of each for all who may go back.

use crate::inbox::{Inbox, QueuedScan};
use std::collections::VecDeque;

/// So many scans are kept at most, those without measurements too: a sensor looks often, and reads rarely.
const MAX_SCANS: usize = 600;
/// So many measurements are kept at most, 0.8 MB: as many are processed again where the filter goes back, and a step of
/// 8,192 measurements is what a robot waits for.
const MAX_MEASUREMENTS: usize = 8192;

/// Scans, in the order in which they were processed. They are numbered from the first that was ever kept.
#[derive(Default)]
pub struct ScanLog {
    scans: VecDeque<QueuedScan>,
    /// The number of the first one.
    first: u64,
    measurements: usize,
    /// Merges: the number of the scan after that which has brought them, the landmark that is gone, and the one that was
    /// kept.
    merged: Vec<(u64, (u32, u32))>,
}

impl ScanLog {
    /// The number of the next scan.
    pub fn next(&self) -> u64 {
        self.first + self.scans.len() as u64
    }

    /// How many scans there are from this number on.
    pub fn count(&self, from: u64) -> usize {
        self.next().saturating_sub(from.max(self.first)) as usize
    }

    /// Whether there are more than should be kept.
    pub fn is_too_long(&self) -> bool {
        self.scans.len() > MAX_SCANS || self.measurements > MAX_MEASUREMENTS
    }

    /// Adds a scan that was processed, or is to be.
    pub fn push(&mut self, scan: QueuedScan) {
        self.measurements += scan.measurements.len();
        self.scans.push_back(scan);
    }

    /// The scan that has come last.
    pub fn last_mut(&mut self) -> Option<&mut QueuedScan> {
        self.scans.back_mut()
    }

    /// The scan that has come last, to read.
    pub fn last(&self) -> Option<&QueuedScan> {
        self.scans.back()
    }

    /// The scans from this number on.
    pub fn since(&self, from: u64) -> impl Iterator<Item = &QueuedScan> {
        self.scans.iter().skip(from.saturating_sub(self.first) as usize)
    }

    /// Removes the scans from this number on, to process them again and add them again, and forgets their merges.
    pub fn take(&mut self, from: u64) -> VecDeque<QueuedScan> {
        self.merged.retain(|(count, _)| *count <= from);
        let taken = self.scans.split_off((from.saturating_sub(self.first) as usize).min(self.scans.len()));
        self.measurements -= taken.iter().map(|scan| scan.measurements.len()).sum::<usize>();
        taken
    }

    /// These landmarks were merged with the last scan. Where no scan is kept, no merge is.
    pub fn note_merges(&mut self, merged: &[(u32, u32)]) {
        if self.scans.is_empty() {
            return;
        }
        let count = self.next();
        self.merged.extend(merged.iter().map(|pair| (count, *pair)));
    }

    /// The merges of the scans from this number on.
    pub fn merged_since(&self, from: u64) -> Vec<(u32, u32)> {
        self.merged.iter().filter(|(count, _)| *count > from).map(|(_, pair)| *pair).collect()
    }

    /// Forgets the scans before this number.
    pub fn forget_before(&mut self, from: u64, inbox: &mut Inbox) {
        while self.first < from
            && let Some(scan) = self.scans.pop_front()
        {
            self.first += 1;
            self.measurements -= scan.measurements.len();
            inbox.recycle(scan);
        }
        self.merged.retain(|(count, _)| *count > self.first);
    }
}
