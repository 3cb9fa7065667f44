//! # lienav-eval
//!
//! How far is an estimate from the truth, and does its covariance say so? This crate runs filters over recordings and
//! simulations and reports errors, consistency (NEES and NIS with their χ² bands), and the loss against a batch
//! estimate that uses the same information. It is for those who tune or compare filters, and for papers and tests that
//! need numbers with intervals.
//!
//! A simulated recording through the default filter, judged against the truth:
//!
//! ```
//! use lienav_eval::{errors::Errors, run, simulated};
//! use lienav_io::truth::{MAX_TRUTH_GAP_S, Truth};
//! use lienav_sim::Scenario;
//!
//! let mut recording = simulated::recording(&Scenario::named("range-bearing")?)?;
//! recording.inputs.truncate(1000);
//! let config = recording.config.clone().ok_or("the simulator states its sensors")?;
//! let run = run::run(&recording, &config, |_| ())?;
//! let truth = Truth::new(&recording.truth, &recording.true_landmarks, MAX_TRUTH_GAP_S);
//! let errors = Errors::new(&run, &truth);
//! let rmse = errors.position_rmse().ok_or("no step has a true pose")?;
//! assert!(rmse > 0.0 && rmse < 0.5);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! ```math
//! \begin{array}{lll}
//! \text{NEES} & \varepsilon = \delta^T P^{-1} \delta,\; \delta = (x, y, \theta) - (\hat x, \hat y, \hat\theta)
//!     & E\,\varepsilon = 3 \text{ for a consistent filter} \\
//! \text{NIS} & \nu = r^T S^{-1} r & E\,\nu \text{ is the number of values read} \\
//! \text{band} & \bar\varepsilon \sim \chi^2_{3N} / N & \text{the mean NEES of N runs: its 95 \% interval}
//! \end{array}
//! ```
//!
//! # Where to go on
//!
//! - One run: [`run`](mod@run) feeds a recording to a filter, [`errors`] compares with the truth after [`align`]ment,
//!   [`consistency`] judges covariances, [`report`] gives the numbers as a table and as JSON, [`folder`] writes
//!   everything. Where identities are withheld, [`associations`] judges what the filter made of that; [`fixes`]
//!   compares with a satellite receiver.
//! - Many runs: [`monte_carlo`], with paired differences between filters and bootstrap intervals.
//! - References: [`batch`] is the maximum-likelihood estimate of a whole run; [`thesis5`] the tables of Shen 2019,
//!   chapter 5.
//! - [`observability`] finds what a filter takes for observable, from the Jacobians that it used.
//! - [`space`] does the same for motions in space with an inertial sensor.
//! - [`study`] sets the open choices of a filter one by one. [`attitude`] judges orientations.
//! - [`judge`] does the same for trajectories of other programs: poses in space with covariances of any convention.
//! - [`plot`] draws SVG, [`trajectory`] and [`tables`] write TUM and CSV files for other tools.
//! - `examples/02_stereo.rs` compares three filters on one recording, `04_monte_carlo.rs` on many runs. `lienav-slam`
//!   has the filters, `lienav-sim` the scenarios, `lienav-io` the recordings; `lienav-lab` judges integrators.
//! - What is not of this crate comes from `lienav-runs` (single runs and their errors) and `lienav-report` (Monte Carlo,
//!   plots, pages, folders).

#![forbid(unsafe_code)]

pub mod attitude;
pub mod honesty;
pub mod judge;
pub mod observability;
pub mod space;
pub mod thesis5;

pub use lienav_report::{compare, expect, folder, monte_carlo, page, plot, report};
use lienav_runs::mean;
pub use lienav_runs::{
    align, associations, batch, consistency, errors, fixes, harder, method, motions, run, simulated, study, tables,
    timeline, trajectory,
};
