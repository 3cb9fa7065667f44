//! # lienav-detect
//!
//! Where are the poles? This crate finds reflectors, poles, trunks and cones in the scans of a planar laser scanner,
//! each with its position, its covariance and its diameter, for a filter that localizes by them. It is for robots that
//! drive among such things, with walls and people in the way. The motion of the scanner during the scan is taken out.
//!
//! A pole of 20 cm, 3 m ahead, before a wall:
//!
//! ```
//! use lienav_detect::{Class, Config, Detector, Scan};
//! use nalgebra::Vector3;
//!
//! let step = 0.25_f64.to_radians();
//! let ranges: Vec<f32> = (-200..=200)
//!     .map(|k| {
//!         let (sin, cos) = (step * f64::from(k)).sin_cos();
//!         let squared: f64 = 0.01 - (3.0 * sin).powi(2);
//!         if squared > 0.0 { (3.0 * cos - squared.sqrt()) as f32 } else { (6.0 / cos) as f32 }
//!     })
//!     .collect();
//! let mut detector = Detector::new(Config::default())?;
//! let found = detector.detect(&Scan {
//!     angle_min_rad: -200.0 * step,
//!     angle_increment_rad: step,
//!     time_increment_s: 0.0,
//!     range_min_m: 0.1,
//!     range_max_m: 30.0,
//!     ranges: &ranges,
//!     intensities: &[],
//!     twist: Vector3::zeros(),
//! })?;
//! assert_eq!((found.len(), found[0].class), (1, Class::Pole));
//! assert!((found[0].position.x - 3.0).abs() < 0.01 && (found[0].diameter_m - 0.2).abs() < 0.02);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where to go on
//!
//! - [`Detector`] judges single scans: it cuts them where the range jumps, takes what is small and free to both sides,
//!   and integrates over all circles that have those edges.
//! - [`Tracker`] follows detections in the odometry frame and lets pass what stands still: one scan cannot tell a pole
//!   of 12 cm from the leg of somebody whose other leg is hidden.
//! - [`Config`] lists all settings. `docs/detector.md` has the equations and what was measured.
//! - `lienav_sim::scan` makes scans by ray casting.
//!
//! Units are SI, axes those of REP 103. The crate reads no clock and no files, and allocates nothing once its buffers
//! have grown to the size of the scans.

#![forbid(unsafe_code)]

mod bright;
mod circle;
mod config;
mod detector;
mod output;
mod scan;
mod segment;
#[cfg(test)]
mod tests;
mod track;

pub use config::{
    Config, ConfigError, PersistenceConfig, ReflectorConfig, SPECS, ScannerConfig, ShapeConfig, SizesConfig,
};
pub use detector::Detector;
pub use output::{Class, Counts, Detection, Rejection};
pub use scan::{Scan, ScanError};
pub use track::Tracker;
