//! # lienav-runs
//!
//! One run of a filter, or of the batch estimate, over a recording, and how far it is from the truth. This crate has the
//! numbers; `lienav-report` writes them, plots them and makes experiments of many runs, and `lienav-eval` has all of
//! both.
//!
//! - [`run`](mod@run) feeds a recording to a [`method`]: a filter, or the maximum-likelihood estimate [`batch`], with the
//!   choices of a [`study`]; a [`timeline`] keeps what a page shows of the time between.
//! - [`errors`] compares with the truth after [`align`]ment, [`consistency`] judges covariances, [`associations`] what
//!   the filter made of measurements without identity, [`motions`] those of the odometry, [`fixes`] a satellite
//!   receiver. [`mean`](mod@mean) and [`sample`] are the statistics of this.
//! - [`simulated`] makes recordings of scenarios, [`harder`] makes recordings harder.
//! - [`tables`] and [`trajectory`] write CSV and TUM files.

#![forbid(unsafe_code)]

pub mod align;
pub mod associations;
pub mod batch;
pub mod consistency;
pub mod errors;
pub mod fixes;
pub mod harder;
pub mod mean;
pub mod method;
pub mod motions;
pub mod run;
pub mod sample;
pub mod simulated;
pub mod study;
#[doc(hidden)]
pub mod synthetic;
pub mod tables;
#[cfg(test)]
mod tests;
pub mod timeline;
pub mod trajectory;
