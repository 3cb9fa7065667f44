//! Data sets as their authors publish them.

mod mrclam;
mod text;
mod woods;

pub use mrclam::open as open_mrclam;
pub use woods::open as open_woods;
