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
