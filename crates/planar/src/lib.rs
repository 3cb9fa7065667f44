//! # lienav-planar
//!
//! What a landmark filter for a robot on a plane is made of: the state, the measurement types, and the functions of a
//! step. It is for programs that put a filter together by themselves. `lienav-slam` has the filter that is ready to
//! run, with association, clocks and recovery, and re-exports from here what its interface is made of; the equations
//! are on its landing page.
//!
//! A robot knows its pose to 0.1 m, and a post 5 m ahead to 0.01 m. It drives 1 m by its odometry, and then measures
//! the post at 3.8 m, where 4 m are expected. The update moves the robot two thirds of these 0.2 m ahead:
//!
//! ```
//! use lienav_base::stamp::Stamp;
//! use lienav_lie::Se2;
//! use lienav_planar::associated::Subject;
//! use lienav_planar::config::Config;
//! use lienav_planar::filter::Filter;
//! use lienav_planar::input::{Measurement, MeasurementKind};
//! use lienav_planar::linearize::{Match, linearize};
//! use lienav_planar::model::Model;
//! use lienav_planar::motion::Increment;
//! use lienav_planar::propagate::{Rows, propagate};
//! use lienav_planar::state::{State, points::new_landmark};
//! use lienav_planar::update::{Workspace, update};
//! use nalgebra::{Matrix2, Matrix2x3, Matrix3, Vector2, Vector3};
//!
//! let (config, filter) = (Config::default(), Filter::named("ekf")?);
//! let model = Model::new(filter, &config, &[]);
//! let covariance = Matrix3::from_diagonal(&Vector3::new(0.01, 0.01, 1e-4));
//! let start = (Se2::identity(), &covariance);
//! let mut state = State::new(filter.coordinates(), start, &config.calibration, &model.sensors, 1);
//! let post = new_landmark(&state, 7, Vector2::new(5.0, 0.0), Stamp::MIN);
//! state.append(post, &Matrix2x3::zeros(), &(Matrix2::identity() * 1e-4));
//!
//! let (mut rows, mut workspace) = (Rows::default(), Workspace::default());
//! let increment = Increment { motion: Se2::new(1.0, 0.0, 0.0), covariance, drift: None };
//! propagate(&mut state, &increment, &filter, &mut rows);
//!
//! let seen = Measurement::new(Some(7), [3.8, 0.0]);
//! let checked = model.sensors.read(MeasurementKind::RelativePosition, &seen).map_err(|reason| format!("{reason:?}"))?;
//! let mut matched = Match::new(Subject::Landmark(0), &checked);
//! assert!(linearize(&state, &model.sensors, &mut matched, filter.linearization()));
//! update(&mut state, &[matched], &filter, (&rows.noise, &[]), &mut workspace).map_err(|e| format!("{e:?}"))?;
//! assert!(state.pose.p.x > 1.12 && state.pose_covariance()[(0, 0)] < 0.007);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # In the order of a step
//!
//! 1. **Input**: [`input`] has odometry and measurements as they come, [`sensor`] and [`measurement`] check and predict
//!    them, [`checked`] is what passed. [`level`] and [`tilt`] take a base that leans into account.
//! 2. **State**: [`state`] is pose, calibration, landmarks and their joint covariance; [`calibration`], [`tilt_noise`],
//!    [`time_correlated_errors`] and [`pose_clones`] are blocks of it.
//! 3. **Propagate**: [`motion`] makes relative motion of odometry, [`mod@propagate`] moves the state along it.
//! 4. **Associate**: `lienav-associate`. [`associated`] is its result, [`gate_bounds`] has the bounds, [`known_map`]
//!    the landmarks that are known before the run.
//! 5. **Update**: [`mod@linearize`] computes residuals and Jacobians, [`mod@update`] the gain, [`mod@retract`] and
//!    [`chart`] apply the correction. [`time_correlation`] learns how long errors last.
//! 6. **Augment**, **prune**: [`augment`] adds landmarks, [`prune`] drops them, [`georeference`] ties the map to the
//!    world.
//!
//! [`config`] has the settings, [`filter`] the choices that make a filter, [`model`] what a step needs of both,
//! [`output`] what comes out.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod associated;
pub mod augment;
pub mod belief;
pub mod calibration;
pub mod chart;
pub mod check;
pub mod checked;
pub mod config;
pub mod filter;
pub mod gate_bounds;
pub mod georeference;
pub mod input;
pub mod known_map;
pub mod level;
pub mod linearize;
pub mod linearized;
pub mod measurement;
pub mod model;
pub mod motion;
pub mod names;
pub mod neighbourhood;
pub mod output;
pub mod pose_clones;
pub mod propagate;
pub mod prune;
pub mod record;
pub mod retract;
pub mod sensor;
pub mod state;
pub mod tilt;
pub mod tilt_noise;
pub mod time_correlated_errors;
pub mod time_correlation;
pub mod update;
pub mod without;
