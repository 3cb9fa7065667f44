//! What the filter can go back to for scans that come late.

use crate::history::checkpoint::Point;
use crate::inbox::QueuedScan;
use std::collections::VecDeque;
/// What the filter can go back to, and what it has processed since.
#[derive(Default)]
pub struct Rollback {
    /// In the order of their times.
    pub points: VecDeque<Numbered>,
    /// Scans as they came, since the first point, in the order in which they were processed.
    pub scans: VecDeque<QueuedScan>,
    /// How many scans were processed before those.
    pub forgotten: u64,
    /// How many scans were taken in late.
    pub late: u64,
}

/// The filter before a scan, and how many scans were processed before it.
pub struct Numbered {
    pub point: Point,
    pub scans: u64,
}
