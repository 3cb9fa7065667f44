//! Data sets as their authors publish them. None of them comes with this package.
//!
//! - [`open_woods`]: Lost in the Woods, of the course AER1513 of the University of Toronto (ASRL, T. D. Barfoot), with
//!   its arrays written as CSV, values unchanged.
//! - [`open_mrclam`]: UTIAS Multi-Robot Cooperative Localization and Mapping, from the data set pages of the same
//!   laboratory.
//! - [`open_broad`]: BROAD, the Berlin Robust Orientation Estimation Assessment Dataset (Laidig et al. 2021), CC BY
//!   4.0, a trial as compressed CSV.
//! - [`open_euroc`]: EuRoC MAV (Burri et al. 2016), its inertial sensor and the truth.

mod broad;
mod euroc;
mod mrclam;
mod text;
mod woods;

pub use broad::open as open_broad;
pub use euroc::open as open_euroc;
pub use mrclam::open as open_mrclam;
pub use woods::open as open_woods;

#[cfg(test)]
mod tests;
