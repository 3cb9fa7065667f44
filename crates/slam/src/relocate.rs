//! Relocation: the rigid motion of the robot that makes most readings agree with the map.

use super::measurement::{Mount, fixed, padded};
use super::sensor::{Reading, Sensors};
use lienav_lie::{Se2, skew};
use nalgebra::{Matrix2x3, Matrix3, Vector2, Vector3};
use std::f64::consts::PI;

/// The number of initial headings, evenly spaced: Gauss–Newton converges from 30° away.
const HEADINGS: usize = 12;

/// Gauss–Newton steps from each initial heading.
const STEPS: usize = 15;

/// Readings beyond this many standard deviations lose weight (Cauchy): some features may have been moved, too.
const SCALE: f64 = 3.0;

/// The motion of the base, in its estimated frame, that best explains readings of features at `z`: it minimizes Σ c²
/// ln(1 + d²/c²) over their Mahalanobis distances d, and takes the features as known. `None` for fewer than two
/// readings.
pub fn displacement(sensors: (&Sensors, &[Mount]), readings: &[(Vector2<f64>, Reading)]) -> Option<Se2> {
    if readings.len() < 2 {
        return None;
    }
    let from = |k: usize| Se2::new(0.0, 0.0, -PI + 2.0 * PI * k as f64 / HEADINGS as f64);
    (0..HEADINGS)
        .filter_map(|k| descend(sensors, readings, from(k)))
        .min_by(|(_, a), (_, b)| a.total_cmp(b))
        .map(|(motion, _)| motion)
}

/// Gauss–Newton from `motion`, and the cost it ends at.
fn descend(sensors: (&Sensors, &[Mount]), readings: &[(Vector2<f64>, Reading)], mut motion: Se2) -> Option<(Se2, f64)> {
    let mut normal = linearize(sensors, readings, &motion)?;
    for _ in 0..STEPS {
        let Some(factor) = normal.matrix.cholesky() else { break };
        let step = factor.solve(&normal.vector);
        // Halved until it is a descent.
        let better = (0..6).find_map(|halvings| {
            let tried = motion * Se2::exp(&(step * 0.5_f64.powi(halvings)));
            let next = linearize(sensors, readings, &tried)?;
            (next.cost < normal.cost).then_some((tried, next))
        });
        let Some((tried, next)) = better else { break };
        (motion, normal) = (tried, next);
    }
    Some((motion, normal.cost))
}

/// Normal equations of the weighted problem at a motion, and its cost.
struct Normal {
    matrix: Matrix3<f64>,
    vector: Vector3<f64>,
    cost: f64,
}

/// The inverse of the covariance of the first `dim` numbers.
fn information(noise: &Matrix3<f64>, dim: usize) -> Option<Matrix3<f64>> {
    match dim {
        1 => Some(padded(&fixed::<1, 1, 3>(noise).try_inverse()?)),
        2 => Some(padded(&fixed::<2, 2, 3>(noise).try_inverse()?)),
        _ => noise.try_inverse(),
    }
}

/// With X ← X Exp(ν), a feature is seen at z⁺ = Exp(ν)⁻¹z, ∂z⁺/∂ν = −[I, J z⁺].
fn linearize(sensors: (&Sensors, &[Mount]), readings: &[(Vector2<f64>, Reading)], motion: &Se2) -> Option<Normal> {
    let mut normal = Normal { matrix: Matrix3::zeros(), vector: Vector3::zeros(), cost: 0.0 };
    for (z, reading) in readings {
        let seen = motion.transform_back(z);
        let Some(expected) = sensors.0.expect(sensors.1, reading, &seen, &seen) else { continue };
        let information = information(&expected.noise, expected.dim)?;
        let lever = skew(&seen);
        let jacobian = expected.by_landmark * Matrix2x3::new(-1.0, 0.0, -lever.x, 0.0, -1.0, -lever.y);
        let ratio = expected.residual.dot(&(information * expected.residual)) / (SCALE * SCALE);
        let weighted = jacobian.transpose() * information / (1.0 + ratio);
        normal.matrix += weighted * jacobian;
        normal.vector += weighted * expected.residual;
        normal.cost += SCALE * SCALE * ratio.ln_1p();
    }
    normal.cost.is_finite().then_some(normal)
}
