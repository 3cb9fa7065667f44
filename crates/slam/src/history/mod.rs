//! Where the filter was, and the inputs since: what it needs to take the same scans in again under another assumption.
//!
//! - [`checkpoint`]: the pipeline before a scan.
//! - [`rollback`]: for scans that come late.
//! - [`second_look`]: for noise that turns out to be another.
//! - [`take_back`]: for loop closures that turn out wrong.
//! - [`doubt`]: for odometry faults.

pub mod checkpoint;
pub mod doubt;
pub mod rollback;
pub mod second_look;
pub mod take_back;
