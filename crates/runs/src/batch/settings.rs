//! Which batch estimate.

use super::Loss;
use lienav_slam::{CalibrationConfig, CalibrationParameter, Discretization, Prior};

/// The choices of a batch estimate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// How a velocity becomes a motion.
    pub discretization: Discretization,
    /// What a measurement far off counts.
    pub loss: Loss,
    /// Whether scales and biases are estimated even where the configuration has them off.
    pub calibrates: bool,
}

/// How far off wheels and sensors usually are: for `batch-calibrated`, where the configuration says nothing.
const USUAL_PRIORS: [(CalibrationParameter, f64); 4] = [
    (CalibrationParameter::ScaleV, 0.1),
    (CalibrationParameter::ScaleW, 0.1),
    (CalibrationParameter::RangeBias, 0.1),
    (CalibrationParameter::BearingBias, 0.05),
];

impl Settings {
    /// The names [`Settings::named`] knows.
    pub const NAMES: &'static [&'static str] = &["batch", "batch-euler", "batch-cauchy", "batch-calibrated"];

    /// A batch estimate by name; `None` where the name is no batch estimate's.
    ///
    /// - `batch`: what the filter `iterated` accepts, squared residuals, steps by the exponential.
    /// - `batch-euler`: the same with Euler's steps (Shen 2019, eq. (5.9)), for worlds that move so.
    /// - `batch-cauchy`: all measurements, also those outside the gate, with Cauchy's loss.
    /// - `batch-calibrated`: the same, with the scales of both velocities and the biases of range and bearing as
    ///   further unknowns, where `calibration` does not switch on any parameter itself.
    ///
    /// All of them estimate the parameters that `calibration` switches on.
    pub fn named(name: &str) -> Option<Self> {
        let plain = Self { discretization: Discretization::Exponential, loss: Loss::Squares, calibrates: false };
        let cauchy = Self { loss: Loss::Cauchy, ..plain };
        match name {
            "batch" => Some(plain),
            "batch-euler" => Some(Self { discretization: Discretization::Euler, ..plain }),
            "batch-cauchy" => Some(cauchy),
            "batch-calibrated" => Some(Self { calibrates: true, ..cauchy }),
            _ => None,
        }
    }

    /// What is known of the calibration parameters beforehand.
    pub(super) fn priors(&self, config: &CalibrationConfig) -> CalibrationConfig {
        let mut priors = config.clone();
        if self.calibrates && *config == CalibrationConfig::default() {
            for (parameter, sigma) in USUAL_PRIORS {
                if let Some(prior) = priors.prior_mut(parameter) {
                    *prior = Prior { sigma, ..Prior::default() };
                }
            }
        }
        priors
    }
}
