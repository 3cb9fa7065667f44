//! Calibration: how often errors are within a claimed quantile; sharpness: how much is claimed; axis by axis.

use super::steps::{Setting, Steps};
use super::whiten::square;
use serde::Serialize;
use statrs::distribution::{ChiSquared, ContinuousCDF};

/// Claimed probabilities at which the curve is taken.
pub const CLAIMED: [f64; 13] = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999];

/// The calibration curve of the pose.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Calibration {
    /// Probabilities of ellipsoids that the covariance claims.
    pub claimed: Vec<f64>,
    /// The part of the errors that is inside of them.
    pub found: Vec<f64>,
    /// Mean distance of the two; 0 is right.
    pub error: f64,
}

impl Calibration {
    /// Of whitened errors; `None` of nothing.
    pub fn new(white: &[f64], dof: usize) -> Option<Self> {
        let chi = ChiSquared::new(dof as f64).ok()?;
        let mut nees: Vec<f64> = white.chunks_exact(dof).map(square).collect();
        if nees.is_empty() {
            return None;
        }
        nees.sort_unstable_by(f64::total_cmp);
        let part = |limit: f64| nees.partition_point(|x| *x <= limit) as f64 / nees.len() as f64;
        let found: Vec<f64> = CLAIMED.iter().map(|&p| part(chi.inverse_cdf(p))).collect();
        let error = found.iter().zip(CLAIMED).map(|(found, claimed)| (found - claimed).abs()).sum::<f64>();
        Some(Self { claimed: CLAIMED.to_vec(), found, error: error / CLAIMED.len() as f64 })
    }
}

/// How much is claimed: root mean squares of the stated standard deviations, over all axes that count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Sharpness {
    /// Of the position, m: what its RMSE would be if the covariance were right.
    pub position_m: f64,
    /// Of the orientation, degrees.
    pub orientation_deg: f64,
}

/// One of the six numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Axis {
    /// `x_m`, … `yaw_deg`; angles are about the fixed axes.
    pub axis: &'static str,
    /// Mean error, truth − estimate.
    pub mean: f64,
    /// Root mean square of the error.
    pub rms: f64,
    /// Root mean square of the stated standard deviations; `null` where none is stated.
    pub stated: Option<f64>,
}

const NAMES: [&str; 6] = ["x_m", "y_m", "z_m", "roll_deg", "pitch_deg", "yaw_deg"];

/// Axis by axis, and the sharpness where covariances are stated.
pub fn axes(setting: &Setting<'_>, steps: &Steps) -> (Vec<Axis>, Option<Sharpness>) {
    let (variances, stated) = (steps.variances, steps.all.len() - steps.unstated);
    let n = steps.all.len().max(1) as f64;
    let unit = |k: usize| if k < 3 { 1.0 } else { 1f64.to_degrees() };
    let of = |&k: &usize| Axis {
        axis: NAMES[k],
        mean: unit(k) * steps.all.iter().map(|step| step.error[k]).sum::<f64>() / n,
        rms: unit(k) * (steps.all.iter().map(|step| step.error[k].powi(2)).sum::<f64>() / n).sqrt(),
        stated: (stated > 0).then(|| unit(k) * (variances[k] / stated as f64).sqrt()),
    };
    let (position, orientation) = setting.space.parts();
    let sum = |part: &[usize]| (part.iter().map(|&k| variances[k]).sum::<f64>() / stated.max(1) as f64).sqrt();
    let sharpness = Sharpness { position_m: sum(position), orientation_deg: sum(orientation).to_degrees() };
    (setting.space.all().iter().map(of).collect(), (stated > 0).then_some(sharpness))
}
