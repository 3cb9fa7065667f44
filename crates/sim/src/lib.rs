//! # lienav-sim
//!
//! Whether a filter is right can be told only where the truth is known. This crate simulates a planar robot among
//! landmarks: odometry, a feature sensor, an inertial sensor and sensors that a program adds, each with stated noise,
//! and the true pose at every instant. It is for tests, Monte Carlo studies and demonstrations of filters. A
//! [`Scenario`] with the same seed gives the same bytes every time on one machine (sines and logarithms may differ in
//! their last bit between mathematical libraries).
//!
//! The first minute of a simulated run, through a filter:
//!
//! ```
//! use lienav_sim::{Scenario, Simulation};
//! use lienav_slam::Slam;
//!
//! let simulation = Simulation::new(&Scenario::named("range-bearing")?)?;
//! let mut slam = Slam::new(simulation.filter_config("default"))?;
//! let mut truth = simulation.initial_pose();
//! for frame in simulation.take_while(|frame| frame.stamp.secs() < 60.0) {
//!     slam.odometry(&frame.odometry)?;
//!     if let Some(scan) = &frame.features {
//!         slam.features(scan.stamp, scan.kind, &scan.measurements)?;
//!     }
//!     while slam.poll().is_some() {}
//!     truth = frame.truth;
//! }
//! let estimate = slam.predicted().ok_or("no odometry")?;
//! let error = (estimate.pose.p - truth.p).norm();
//! assert!(error > 0.0 && error < 0.5 && slam.landmarks().count() > 3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where to go on
//!
//! - [`Scenario`] states world, trajectory, sensors and noise, and is read from YAML; [`Scenario::named`] has those of
//!   Shen 2019, chapter 5, and others. `docs/scenarios.md` lists them.
//! - [`ConeTrack`] makes a scenario of a track of cones.
//! - [`Simulation`] is an iterator over [`Frame`]s: what the sensors read at one instant, and the truth.
//!   [`Simulation::add_sensor`] adds a sensor; [`Simulation::filter_config`] tells a filter the noise of all of them.
//! - World, odometry, feature sensor, misreads, missed features, clutter, classes, gyroscope and initial error have a
//!   stream of random numbers each: a change of one leaves the others as they are.
//! - [`scan`] casts the rays of a laser scanner among poles, walls and people.
//! - [`space`] has bodies with six degrees of freedom, an inertial sensor and cameras.
//! - [`trajectory`] gives pose, twist and acceleration along a path in closed form.
//! - Units are SI, axes those of REP 103.
//! - `lienav-slam` has the filters, `lienav-eval` the evaluation and Monte Carlo runs. `examples/02_stereo.rs`,
//!   `03_a_sensor_of_your_own.rs` and `04_monte_carlo.rs` are built on simulations.

#![forbid(unsafe_code)]

mod added;
mod closed_line;
mod cones;
mod disturbed;
mod filter_config;
mod grids;
mod imu;
mod measurement_noise;
mod odometry;
mod outside;
mod random;
mod relations;
pub mod scan;
mod scenario;
mod sensors;
mod shipped;
mod simulation;
pub mod space;
#[cfg(test)]
mod tests;
pub mod trajectory;
mod truth;
mod world;
mod yaml;

pub use cones::ConeTrack;
pub use imu::ImuMeasurement;
pub use measurement_noise::NoiseConfig;
pub use scenario::{
    FeatureSensorConfig, ImuConfig, InitialErrorConfig, OdometryConfig, OutsideConfig, PathKind, SPECS, Scenario,
    ScenarioError, SingleSensorConfig, TrajectoryConfig, TruthModel, TwistUnit, WorldConfig, WorldKind,
};
pub use shipped::UnknownScenario;
pub use simulation::{Frame, Simulation};
