//! Trajectories of any estimator, with the covariances that it states: what is judged, and the truth it is judged by.
//!
//! - [`data`]: poses in SE(3) with stamps and 6×6 covariances, and a pose between two of them;
//! - [`convention`]: what the numbers of a covariance mean: order, axes and side of the error;
//! - `blocks`, `columns` and `text`: TUM, KITTI, EuRoC, OpenVINS and CSV files;
//! - `bag` and `chain`: topics and transforms of a bag;
//! - `source`: which of these a word on the command line means.

mod bag;
mod blocks;
mod chain;
mod columns;
pub mod convention;
pub mod data;
mod source;
mod text;

pub use convention::{Axes, Convention, Meaning, Order};
pub(crate) use data::matrix;
pub use data::{Trajectory, Upper};
pub use source::{Options, open};

#[cfg(test)]
mod bag_tests;
#[cfg(test)]
mod tests;
