//! # lienav-submaps
//!
//! How does a robot map ten thousand landmarks at the cost of fifty? A filter keeps the joint covariance of all
//! landmarks, and a step costs what its square costs. This crate makes the map in submaps: the filter of `lienav-slam`
//! has the submap that the robot is in, and the submaps that it has left are joined by sparse least squares. At each
//! scan, the pose in the map follows from both, with an honest covariance, also just after a loop.
//!
//! A robot drives along a row of posts, in submaps of eight posts:
//!
//! ```
//! use lienav_submaps::{Submaps, Worker};
//! use lienav_slam::{Config, MeasurementKind, Filter, Measurement, Odometry, Slam, Stamp};
//! use nalgebra::Vector2;
//!
//! let mut config = Config::default();
//! config.map.local_features = 8;
//! let mut slam = Slam::of_submaps(Filter::default(), config)?;
//! let mut submaps = Submaps::new(&slam, Worker::InPlace)?.ok_or("map.local_features is 0")?;
//! for k in 0..400_i32 {
//!     let (stamp, x) = (Stamp::from_secs(0.1 * f64::from(k)), 0.1 * f64::from(k));
//!     slam.odometry(&Odometry { stamp, velocity: Vector2::new(1.0, 0.0), yaw_rate: 0.0, covariance: None })?;
//!     let posts = (0..20_u32).map(|id| (id, Vector2::new(2.0 * f64::from(id) - x, 1.5)));
//!     let seen = posts.filter(|(_, z)| z.norm() < 4.0);
//!     let seen: Vec<_> = seen.map(|(id, z)| Measurement::new(Some(id), [z.norm(), z.y.atan2(z.x)])).collect();
//!     slam.features(stamp, MeasurementKind::RangeBearing, &seen)?;
//!     while let Some(step) = slam.poll() {
//!         let step = submaps.join(&mut slam, step);
//!         assert!((step.estimate.pose.p.x - x).abs() < 0.01);
//!     }
//! }
//! submaps.finish(&mut slam);
//! assert_eq!((submaps.status().submaps > 3, submaps.landmarks().len()), (true, 20));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Submaps`] stands beside the filter: after each step of [`Slam::poll`](lienav_slam::Slam::poll), [`Submaps::join`] gives
//! the same step with the pose in the map, and begins the next submap where the last one is full. The least squares are
//! done beside the filter ([`Worker`]); what comes out depends on the input alone, bit for bit. [`Submaps::snapshot`]
//! and [`Submaps::resume`] go on with the submaps in another process, [`Submaps::take_map`] with a survey,
//! [`Submaps::adopt`] with the map of a filter that had one, and [`Submaps::set_pose`] moves all of it.
//!
//! ```math
//! \begin{array}{lll}
//! \text{submap} & \xi = \log(B^{-1}E \hat X^{-1}),\; e_i = R(\hat X)(E^{-1}p_i - \hat z_i) & (\xi, e) \sim N(0, P_k) \\
//! \text{all submaps} & \min \sum_k (\xi, e)^T P_k^{-1} (\xi, e) & B_k, E_k = B_{k+1} \in SE(2),\; p_i \in \mathbb{R}^2 \\
//! \text{pose} & X = \hat B\, \mathrm{Exp}(\beta + \xi)\, \hat X & \beta + \xi \sim N(-c S^{-1} d,\ P_\beta + P_\xi - c S^{-1} c^T)
//! \end{array}
//! ```
//!
//! with d the differences between the landmarks of the open submap and what the closed ones know of them, S their
//! covariance, and c = Cov(β + ξ, d). A submap goes on with the landmarks in view when the last one is closed; that
//! both know these from the same measurements is in S and c. `docs/submaps.md` derives it and has costs and errors over
//! the size of the map.
//!
//! # Where to go on
//!
//! - `lienav-slam` has the filter; `lienav-eval` runs both over recordings (`map.local_features`), and its bench
//!   `scale` measures them.
//! - The idea is that of map joining by sparse least squares: Huang, Wang, Dissanayake, "Sparse local submap joining
//!   filter for building large-scale maps", IEEE T-RO 24 (2008); Zhao, Huang, Dissanayake, "Linear SLAM", IROS 2013.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod ask;
mod chain;
mod common;
mod differences;
mod information;
mod join;
mod near;
mod outside;
mod problem;
mod recognise;
mod reduce;
pub mod sparse;
mod submap;
mod submaps;
mod symmetric;
#[cfg(test)]
mod tests;
mod work;
mod world;

pub use problem::SolveError;
pub use submaps::{ResumeSubmapsError, SavedSubmaps, Snapshot, Status, Submaps, WholeMap};
pub use work::Worker;
