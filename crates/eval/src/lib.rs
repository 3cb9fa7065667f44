//! Recordings in, errors and consistency out.
//!
//! A [`recording`] goes through the filter ([`run`]) and is held against its [`truth`]: [`errors`] after [`align`]ment,
//! [`consistency`] of the covariances; a [`report`] in numbers, [`plot`]s, and [`trajectory`] files for other tools. In [`monte_carlo`], many
//! simulated runs; in [`reproduce`], published experiments.

pub mod align;
pub mod attitude;
pub mod batch;
pub mod consistency;
pub mod errors;
pub mod folder;
pub mod method;
pub mod monte_carlo;
pub mod plot;
pub mod report;
pub mod run;
pub mod simulated;
pub mod study;
#[cfg(test)]
mod synthetic;
pub mod thesis5;
pub mod trajectory;
