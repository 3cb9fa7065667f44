//! # lienav-report
//!
//! What is written of runs: plots, pages, tables and folders, and Monte Carlo experiments of many runs with their
//! reports. The runs themselves and their errors are those of `lienav-runs`; `lienav-eval` has all of both.
//!
//! - [`report`] gives the numbers of a run as a table and as JSON, [`expect`] compares them with what is expected of it.
//! - [`monte_carlo`] makes many runs, with paired differences between filters and bootstrap intervals; [`compare`]
//!   compares two results.
//! - [`plot`] draws SVG, [`page`] makes one HTML file, [`folder`] writes everything of a run, all or nothing.

#![forbid(unsafe_code)]

pub mod compare;
pub mod expect;
pub mod folder;
pub mod monte_carlo;
pub mod page;
pub mod plot;
pub mod report;

use lienav_runs::{
    associations, consistency, errors, fixes, mean, method, motions, run, sample, simulated, study, tables, trajectory,
};

#[cfg(test)]
use lienav_runs::synthetic;
