//! Recordings in, errors and consistency out.
//!
//! A [`recording`] goes through the filter ([`run`]) and is held against its [`truth`]: [`errors`] after [`align`]ment,
//! [`consistency`] of the covariances; a [`report`] in numbers, [`plot`]s, and [`trajectory`] files for other tools. In [`monte_carlo`], many
//! simulated runs; in [`reproduce`], published experiments.

pub mod align;
pub mod bag;
pub mod batch;
pub mod consistency;
pub mod convert;
pub mod datasets;
pub mod errors;
pub mod files;
pub mod folder;
pub mod method;
pub mod monte_carlo;
pub mod plot;
pub mod recording;
pub mod report;
pub mod reproduce;
pub mod run;
pub mod settings_file;
pub mod simulated;
#[cfg(test)]
mod synthetic;
pub mod trajectory;
pub mod truth;
