//! The referee: how far any estimator is from the truth, and whether its covariance says so.
//!
//! Poses in SE(3), or in the plane, with optional 6×6 covariances go in as [`lienav_io::trajectory`] has them; numbers
//! come out. To be read in this order:
//!
//! - [`associate`] pairs estimates with the truth of their instant, [`alignment`] lays one frame onto the other and moves
//!   the covariance along, [`space`] says whether the plane is meant;
//! - [`steps`] has the errors, whitened by the covariance ([`whiten`]); [`sample`] says how many independent errors a run
//!   holds, [`consistency`] what follows from them, with its interval;
//! - [`relative`] and [`motions`] compare motions, [`calibration`] quantiles and axes, [`stretches`] pieces of the run;
//! - [`contradiction`] finds a convention that fits better, [`plausibility`] another unit or clock, [`agreement`] compares two estimates without a truth,
//!   [`innovations`] judges the residuals of a filter;
//! - [`run`] does all of it; [`report`], [`text`], [`page`] and [`folder`] say it.

pub mod agreement;
pub mod alignment;
pub mod associate;
pub mod calibration;
pub mod consistency;
pub mod contradiction;
pub mod folder;
pub mod innovations;
pub mod motions;
pub mod options;
pub mod page;
pub mod plausibility;
pub mod relative;
pub mod report;
pub mod run;
pub mod space;
pub mod steps;
pub mod stretches;
pub mod text;
pub mod whiten;

pub use alignment::Method;
pub use lienav_runs::sample;
pub use options::Options;
pub use report::Report;
pub use run::{Judged, judge};

#[cfg(test)]
mod tests;
