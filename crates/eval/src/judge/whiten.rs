//! Errors in units of their own covariance, w = L⁻¹ e with Σ = L Lᵀ: ‖w‖² is the NEES.

use lienav_slam::EXACT_VARIANCE;
use nalgebra::{Matrix6, Vector6};

/// The least part of a variance that must be left, given the other components, for a covariance to be taken for
/// regular. Rounding leaves some 10⁻¹⁶ where there should be none.
const LEAST_PIVOT: f64 = 1e-12;

/// The whitened numbers `of` an error, in front, then zeros; `None` where the covariance of these numbers is not positive
/// definite, or singular but for rounding (Bar-Shalom, Li, Kirubarajan 2001, eq. (5.4.2-1)). The factorisation is that of
/// the correlation matrix, so that units do not matter.
pub fn whiten(error: &Vector6<f64>, covariance: &Matrix6<f64>, of: &[usize]) -> Option<[f64; 6]> {
    let (mut scale, mut factor, mut white) = ([0.0; 6], [[0.0; 6]; 6], [0.0; 6]);
    for (i, &at) in of.iter().enumerate().take(6) {
        let variance = covariance[(at, at)];
        if !(variance > EXACT_VARIANCE && variance.is_finite()) {
            return None;
        }
        scale[i] = 1.0 / variance.sqrt();
    }
    for (i, &row) in of.iter().enumerate().take(6) {
        for (j, &column) in of.iter().enumerate().take(i + 1) {
            let given: f64 = (0..j).map(|k| factor[i][k] * factor[j][k]).sum();
            let rest = scale[i] * covariance[(row, column)] * scale[j] - given;
            if i == j {
                if rest.is_nan() || rest < LEAST_PIVOT {
                    return None;
                }
                factor[i][i] = rest.sqrt();
            } else {
                factor[i][j] = rest / factor[j][j];
            }
        }
        let given: f64 = (0..i).map(|k| factor[i][k] * white[k]).sum();
        white[i] = (scale[i] * error[row] - given) / factor[i][i];
    }
    white.iter().all(|w| w.is_finite()).then_some(white)
}

/// ‖w‖².
pub fn square(white: &[f64]) -> f64 {
    white.iter().map(|w| w * w).sum()
}
