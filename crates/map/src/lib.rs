//! # lienav-map
//!
//! For programs that keep a map of point landmarks and want to know where a robot is in it.
//!
//! - [`LandmarkMap`]: landmarks with identity, class, position and covariance, joint, near each other
//!   ([`NearCovariances`]) or each by itself; maps of two surveys are merged by [`LandmarkMap::merged_with`].
//! - [`SpatialHash`]: what is near a place, at a cost that does not depend on the size of the map.
//! - [`Finder`]: global localization. From the landmarks that a robot sees as it drives, without its pose and without
//!   their identities, to the pose with its covariance, or to the statement that several poses fit.
//!
//! ```
//! use lienav_lie::Se2;
//! use lienav_map::{Displacement, Finder, FinderConfig, LandmarkMap, MapLandmark, Sighting, Verdict};
//! use nalgebra::{Matrix2, Matrix3, Vector2};
//!
//! let places = [(0.0, 0.0), (4.0, 1.0), (1.5, 5.0), (6.0, 6.5), (9.0, 2.0), (3.0, 9.0)];
//! let covariance = Matrix2::identity() * 1e-4;
//! let landmark = |(id, (x, y))| MapLandmark { id, class: 0, position: Vector2::new(x, y), covariance };
//! let map = LandmarkMap { landmarks: (1..).zip(places).map(landmark).collect(), joint: None, near: None };
//!
//! let mut finder = Finder::new(&map, FinderConfig::default())?;
//! let mut truth = Se2::new(4.0, 4.0, 0.5);
//! let motion = Displacement { motion: Se2::new(0.1, 0.0, 0.02), covariance: Matrix3::identity() * 1e-6 };
//! for _ in 0..10 {
//!     truth = truth * motion.motion;
//!     let seen = map.landmarks.iter().map(|landmark| truth.transform_back(&landmark.position));
//!     let seen = seen.map(|position| Sighting { position, covariance, id: None, class: 0 });
//!     finder.observe(&motion, &seen.collect::<Vec<_>>());
//! }
//! let Verdict::Found(found) = finder.verdict() else { panic!("{:?}", finder.verdict()) };
//! assert!((found.pose.p - truth.p).norm() < 0.01);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Units are SI, axes those of REP 103. The crate reads no clock and no files; the same input gives the same output,
//! bit for bit. `lienav-slam` has the filter that takes the pose, `lienav-io` reads and writes maps as files.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod conditional;
mod find;
mod landmark_map;
mod merge;
mod near_covariances;
mod spatial_hash;

pub use conditional::Conditional;
pub use find::{Candidate, Displacement, Finder, FinderConfig, Sighting, Verdict};
pub use landmark_map::{LandmarkMap, LandmarkMapError, MapLandmark};
pub use merge::{MergeError, Merged, SharedLandmark};
pub use near_covariances::NearCovariances;
pub use spatial_hash::SpatialHash;
