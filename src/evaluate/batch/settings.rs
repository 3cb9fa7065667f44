//! Which batch estimate.

use super::{Calibration, Loss};
use crate::filter::Discretization;

/// The choices of a batch estimate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// How a velocity becomes a motion.
    pub discretization: Discretization,
    /// What an observation far off counts.
    pub loss: Loss,
    /// Standard deviations of the calibration around no correction at all; `None` leaves it out.
    pub calibration: Option<Calibration>,
}

impl Settings {
    /// The names [`Settings::named`] knows.
    pub const NAMES: &'static [&'static str] = &["batch", "batch-euler", "batch-cauchy", "batch-calibrated"];

    /// A batch estimate by name; `None` where the name is no batch estimate's.
    ///
    /// - `batch`: what the default filter accepts, squared residuals, steps by the exponential.
    /// - `batch-euler`: the same with Euler's steps (Shen 2019, eq. (5.9)), for worlds that move so.
    /// - `batch-cauchy`: all observations, also those outside the gate, with Cauchy's loss.
    /// - `batch-calibrated`: the same, with [`Calibration`] as further unknowns.
    pub fn named(name: &str) -> Option<Self> {
        let plain = Self { discretization: Discretization::Exponential, loss: Loss::Squares, calibration: None };
        let cauchy = Self { loss: Loss::Cauchy, ..plain };
        match name {
            "batch" => Some(plain),
            "batch-euler" => Some(Self { discretization: Discretization::Euler, ..plain }),
            "batch-cauchy" => Some(cauchy),
            "batch-calibrated" => Some(Self { calibration: Some(Calibration::PRIOR_STD), ..cauchy }),
            _ => None,
        }
    }
}
