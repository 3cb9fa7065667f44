//! Where the filter was, and the inputs since: what it needs to take the same scans in again under another assumption.
//!
//! - [`checkpoint`]: the pipeline before a scan.
//! - [`rollback`]: for scans that come late.
//! - [`refilter`]: for noise that turns out to be another.
//! - [`undo_loop`]: for loop closures that turn out wrong.
//! - [`odometry_faults`]: for odometry faults.

pub mod checkpoint;
pub mod odometry_faults;
pub mod refilter;
pub mod rollback;
pub mod undo_loop;

use odometry_faults::OdometryFaults;
use refilter::Refilter;
use rollback::Rollback;
use undo_loop::UndoLoop;

/// All of it.
#[derive(Default)]
pub struct History {
    /// For scans that come too late.
    pub rollback: Rollback,
    /// For scans that taught what the noise is.
    pub refilter: Refilter,
    /// For loops that turn out wrong.
    pub undo_loop: UndoLoop,
    /// For motions that may not have been what odometry says.
    pub odometry_faults: OdometryFaults,
}
