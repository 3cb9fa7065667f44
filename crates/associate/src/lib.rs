//! # lienav-associate
//!
//! Which landmark is each measurement of, if the sensor names none? And where is a robot whose estimate its
//! measurements contradict? This crate answers both for the states of `lienav-planar`. It is for programs that put a
//! filter together by themselves; `lienav-slam` has the filter that calls all of it in each step. Association depends
//! on the state of a planar robot, since landmarks, calibration and errors in time decide together what fits.
//!
//! The robot has two posts 5 m ahead in its map, 2 m apart, and measures one of them without an identity:
//!
//! ```
//! use lienav_associate::associate::{Associations, Evidence, associate};
//! use lienav_associate::association::memory::Memory;
//! use lienav_base::stamp::Stamp;
//! use lienav_lie::Se2;
//! use lienav_planar::associated::Subject;
//! use lienav_planar::config::Config;
//! use lienav_planar::filter::Filter;
//! use lienav_planar::input::{Measurement, MeasurementKind};
//! use lienav_planar::model::Model;
//! use lienav_planar::state::{State, points::new_landmark};
//! use nalgebra::{Matrix2, Matrix2x3, Matrix3, Vector2};
//!
//! let (config, filter) = (Config::default(), Filter::named("ekf")?);
//! let model = Model::new(filter, &config, &[]);
//! let start = (Se2::identity(), &(Matrix3::identity() * 1e-4));
//! let mut state = State::new(filter.coordinates(), start, &config.calibration, &model.sensors, 2);
//! for (id, y) in [(7, -1.0), (8, 1.0)] {
//!     let post = new_landmark(&state, id, Vector2::new(5.0, y), Stamp::MIN);
//!     state.append(post, &Matrix2x3::zeros(), &(Matrix2::identity() * 1e-4));
//! }
//!
//! let (memory, mut associations) = (Memory::default(), Associations::default());
//! let seen = [Measurement::new(None, [5.02, 0.97])];
//! let scan = Evidence::Observed { kind: MeasurementKind::RelativePosition, measurements: &seen, memory: &memory };
//! associate(&state, &model, scan, &mut associations);
//! assert_eq!(associations.matches[0].subject, Subject::Landmark(1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # In the order of a step
//!
//! 1. [`active_landmarks`]: activates the landmarks of a known map that a scan may have measurements
//!    of.
//! 2. [`mod@associate`]: each measurement by its identity, or by [`association`], whose pages are the joint search, the
//!    odds that a landmark exists, and loop closures; [`pose_hypotheses`] in a known map.
//! 3. [`mod@recover`]: what is exceptional. [`wide_prior`] and [`displaced`] are for a prior too wide to linearize at,
//!    [`track_loss`] and [`relocate`] for a robot that is lost.
//! 4. [`mod@gate`]: which measurements correct the state.
//! 5. [`newcomers`]: measurements of new landmarks, with [`delayed_initialization`] of those that one measurement does
//!    not determine.
//!
//! Beside the step, [`gaussian_sum`] covers the poses that a robot may have in a known map, and
//! [`global_localization`] searches the whole map for it. [`thresholds`] has the odds and counts by which all of these
//! decide, and [`bounds`] what they may cost.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod active_landmarks;
pub mod associate;
pub mod association;
pub mod bounds;
pub mod delayed_initialization;
pub mod displaced;
pub mod gate;
pub mod gaussian_sum;
pub mod global_localization;
pub mod newcomers;
pub mod pose_hypotheses;
pub mod recover;
pub mod relocate;
pub mod thresholds;
pub mod track_loss;
pub mod wide_prior;
