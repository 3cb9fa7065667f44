//! What the filter can go back to for scans that come late.

use crate::history::checkpoint::Checkpoint;
use std::collections::VecDeque;
/// What the filter can go back to.
#[derive(Default)]
pub struct LateScans {
    /// In the order of their times.
    pub checkpoints: VecDeque<Checkpoint>,
    /// How many scans were processed late.
    pub count: u64,
}
