//! # lienav
//!
//! A robot that drives on a plane sees landmarks and measures its own motion. This ROS 2 package estimates its pose
//! and a map of the landmarks, with a consistent covariance, by symmetry-reduced and invariant Kalman filters. It also
//! estimates orientation from inertial sensors, simulates robots, and evaluates recorded runs. It is for people who
//! put a node into a launch file, and for people who compare filters from the command line. A program in Rust uses the
//! library crates below instead; they do not know ROS.
//!
//! ```sh
//! ros2 launch lienav slam.launch.py                                  # the node, as configured in config/slam.yaml
//! lienav evaluate woods:lost_in_the_woods --filter default --filter ekf --out results
//! ```
//!
//! This package has the nodes and the command line. A node's parameter file is also a settings file of the library:
//!
//! ```
//! use lienav_io::settings_file;
//! use lienav_slam::{Config, Slam};
//!
//! let file = concat!(env!("CARGO_MANIFEST_DIR"), "/config/stereo.yaml");
//! let config = settings_file::overlay_known(&Config::default(), &std::fs::read_to_string(file)?, "slam_node")?;
//! assert_ne!(config, Config::default());
//! let slam = Slam::new(config)?;
//! assert_eq!(slam.landmarks().count(), 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where to go on
//!
//! - [`cli`]: the command line `lienav`. `ros` (feature `ros`): the nodes, and the only module that names ROS.
//! - [`lienav_slam`]: the SLAM filters as a library; start here for a program of your own. `lienav-planar`,
//!   `lienav-associate` and `lienav-ekf` have what it is made of.
//! - [`lienav_attitude`]: orientation and gyroscope bias.
//! - [`lienav_lie`]: Lie groups. [`lienav_integrate`]: one-step methods on groups and other curved spaces.
//! - [`lienav_io`]: messages, bags, data sets and settings files (of `lienav-intake`, `lienav-bag` and `lienav-files`).
//!   [`lienav_base`]: stamps and settings.
//! - [`lienav_sim`]: simulated runs from a seed. [`lienav_eval`]: errors, consistency, Monte Carlo, plots (of
//!   `lienav-runs` and `lienav-report`).
//! - `lienav-lab` (feature `lab`): the published experiments with integrators.
//! - `examples/01_range_bearing_slam.rs` to `05_attitude.rs` are programs with their equations; `docs/running.md`
//!   describes nodes, topics and parameters, `docs/filters.md` the filters.

#![forbid(unsafe_code)]
#![warn(missing_docs)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic))]

pub mod cli;
#[cfg(feature = "ros")]
pub mod ros;
mod serve;
