//! How good an attitude is: an inertial [recording](lienav_io::inertial::InertialRecording) through the filter
//! ([`run`](run())), held against true orientations ([`errors`]); how far the gyroscope alone drifts ([`drift`]); a
//! [`report`] in numbers and figures.

pub mod drift;
pub mod errors;
pub mod report;
mod run;
#[cfg(test)]
mod tests;

pub use run::{Begin, Point, Run, run};
