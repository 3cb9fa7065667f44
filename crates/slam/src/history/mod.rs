//! Where the filter was, and the scans since: what it needs to process the same scans again under another assumption.
//!
//! - [`checkpoint`]: the pipeline before a scan.
//! - [`log`]: the scans since the oldest checkpoint, which all of the following share.
//! - [`late`]: for scans that come out of sequence.
//! - [`refilter`]: for noise that turns out to be another.
//! - [`undo_loop`]: for loop closures that turn out wrong.
//! - [`odometry_faults`]: for odometry faults.
//!
//! # Memory
//! At most 600 scans with 8,192 measurements, 4,096 messages of odometry and inertial samples, and 32 copies of the
//! state: 16 of branch points, 12 of hypotheses, 4 others. Where there would be more, the oldest checkpoint is given up.
//! With more landmarks than [`MAX_LANDMARKS`], or [`MAX_LANDMARKS_OF_LOOPS`], nothing is kept, because steps that are
//! made again would take longer than a robot should wait.

pub mod checkpoint;
pub mod late;
pub mod log;
pub mod odometry_faults;
pub mod refilter;
pub mod undo_loop;

use lienav_base::stamp::Stamp;
use odometry_faults::OdometryFaults;
use refilter::Refilter;
use undo_loop::UndoLoop;

/// The most messages of odometry and inertial samples that are kept after their use.
pub const MAX_MESSAGES: usize = 4096;
/// A scan with more measurements says nothing of noise and motions: in a map this small, most are of no landmark.
pub const MAX_MEASUREMENTS_OF_A_SCAN: usize = 256;
/// The most landmarks with which scans are processed again, where that happens often.
pub const MAX_LANDMARKS: usize = 64;
/// And where it happens once in a while, for loops.
pub const MAX_LANDMARKS_OF_LOOPS: usize = 512;

/// All of it.
#[derive(Default)]
pub struct History {
    pub log: log::ScanLog,
    /// For scans that come too late.
    pub late: late::LateScans,
    /// For scans that taught what the noise is.
    pub refilter: Refilter,
    /// For loops that turn out wrong.
    pub undo_loop: UndoLoop,
    /// For motions that may not have been what odometry says.
    pub odometry_faults: OdometryFaults,
}

/// What a checkpoint is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    Late,
    Refilter,
    UndoLoop,
    OdometryFaults,
}

impl History {
    /// The number of the first scan after the oldest checkpoint, its instant, and what it is for.
    pub fn oldest(&self) -> Option<(u64, Stamp, Purpose)> {
        let late = self.late.checkpoints.front().map(|kept| (kept.scan, kept.point.time, Purpose::Late));
        let refilter = self.refilter.checkpoint.as_ref().map(|kept| (kept.scan, kept.point.time, Purpose::Refilter));
        let closed = self.undo_loop.closed.as_ref();
        let closed = closed.map(|closed| (closed.before.scan, closed.before.point.time, Purpose::UndoLoop));
        let branch = self.odometry_faults.branch_points.front();
        let branch = branch.map(|kept| (kept.scan, kept.branch.point.time, Purpose::OdometryFaults));
        [late, refilter, closed, branch].into_iter().flatten().min()
    }
}
