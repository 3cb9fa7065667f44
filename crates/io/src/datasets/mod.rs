//! Data sets as their authors publish them. None of them comes with this package.
//!
//! - [`open_woods`]: Lost in the Woods, of the course AER1513 of the University of Toronto (ASRL, T. D. Barfoot), with
//!   its arrays written as CSV, values unchanged.
//! - [`open_mrclam`]: UTIAS Multi-Robot Cooperative Localization and Mapping, from the data set pages of the same
//!   laboratory.
//! - [`open_victoria`]: Victoria Park, of the Australian Centre for Field Robotics (Nebot, Guivant), with its trunks
//!   detected and its arrays written as text.
//! - [`open_plaza`]: Plaza, a mowing robot among radio beacons (Djugash and Singh, CMU), its arrays written as CSV.
//! - [`open_g2o`]: graphs of poses and landmarks, g2o's and its older form, as of the iSAM distribution.
//! - [`open_broad`]: BROAD, the Berlin Robust Orientation Estimation Assessment Dataset (Laidig et al. 2021), CC BY
//!   4.0, a trial as compressed CSV.
//! - [`open_euroc`]: EuRoC MAV (Burri et al. 2016), its inertial sensor and the truth.

mod broad;
mod euroc;
mod format;
mod g2o;
mod mrclam;
mod plaza;
pub(crate) mod text;
mod victoria;
mod woods;

pub use broad::open as open_broad;
pub use euroc::open as open_euroc;
pub use format::Format;
pub use g2o::{StatedNoise, open as open_g2o};
pub use mrclam::open as open_mrclam;
pub use plaza::open as open_plaza;
pub(crate) use text::stamp_of;
pub use victoria::open as open_victoria;
pub use woods::open as open_woods;

/// The formats of data sets that a robot among landmarks recorded.
pub const FORMATS: &[Format] = &[woods::FORMAT, mrclam::FORMAT, victoria::FORMAT, g2o::FORMAT, plaza::FORMAT];

#[cfg(test)]
mod tests;
