//! Data sets as their authors publish them. None of them comes with this package.
//!
//! - [`open_woods`]: Lost in the Woods, of the course AER1513 of the University of Toronto (ASRL, T. D. Barfoot), with its arrays
//!   written as CSV, values unchanged.
//! - [`open_mrclam`]: UTIAS Multi-Robot Cooperative Localization and Mapping, from the data set pages of the same laboratory.

mod mrclam;
mod text;
mod woods;

pub use mrclam::open as open_mrclam;
pub use woods::open as open_woods;

#[cfg(test)]
mod tests;
