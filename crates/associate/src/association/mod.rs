//! Association of measurements without identity.
//!
//! `docs/association.md` has the derivation. In short:
//!
//! - [`joint`]: the measurements of a scan, all together, by the joint density of their innovations ([`beam`]).
//! - [`memory`]: what is reinitialized is a candidate until it was seen often enough beside how often it was missed;
//!   the rates of detections and of clutter are learned ([`rates`]).
//! - [`loop_closure`]: landmarks that turn out to be one become one, many at once; so loops are closed.
//! - [`duplicates`]: two landmarks at one place that are never read at once.
//! - [`field_of_view`]: from where the sensor has looked: a loop that brings a new landmark there, where none was, is
//!   wrong.
//! - [`cuts`]: where the map hangs together by odometry alone.
//! - [`evidence_tally`]: what scans make of the landmarks, if the robot has slipped and if it has not.
//! - [`trial`]: whether a loop that was closed turns out right.

pub mod beam;
pub mod cuts;
pub mod duplicates;
pub mod evidence_tally;
pub mod existence;
pub mod field_of_view;
pub mod identity;
pub mod joint;
pub mod loop_closure;
pub mod memory;
pub mod never_read;
pub mod rates;
#[cfg(test)]
mod rules_tests;
pub mod tally;
pub mod trial;
