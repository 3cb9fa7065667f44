//! Motions in space: a body with an inertial sensor and cameras among landmarks, from a seed.
//!
//! Pose, velocity, acceleration and rate of every motion are closed forms ([`motion`], [`course`]), so that the inertial sensor
//! ([`inertial`]) measures the exact rate and force plus what is stated of its errors. [`camera`] sees the landmarks of
//! [`world`]. [`scenario`] has all settings, [`shipped`] the scenarios with a name, [`run`] draws a run: plain data.
//!
//! ```
//! use lienav_sim::space::run::simulate;
//! use lienav_sim::space::scenario::SpaceScenario;
//!
//! let scenario = SpaceScenario::named("hand-mono-consumer")?;
//! let run = simulate(&scenario, 7)?;
//! assert_eq!((run.samples.len(), run.frames.len()), (6001, 601));
//! assert!(run.frames.iter().all(|frame| frame.seen.len() <= 20));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod camera;
pub mod car;
pub mod course;
pub mod inertial;
pub mod kinematics;
pub mod motion;
pub mod run;
pub mod scenario;
pub mod shipped;
pub mod spline;
#[cfg(test)]
mod tests;
pub mod wave;
pub mod world;
