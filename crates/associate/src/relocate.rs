//! Relocation: the rigid motion of the robot that makes most measurements agree with the map.

use lienav_ekf::mahalanobis::mahalanobis_squared;
use lienav_lie::{Se2, skew};
use lienav_planar::checked::CheckedMeasurement;
use lienav_planar::gate_bounds::Gate;
use lienav_planar::measurement::Mount;
use lienav_planar::measurement::value::{fixed, padded};
use lienav_planar::sensor::Sensors;
use lienav_planar::state::State;
use nalgebra::{Matrix2x3, Matrix3, Vector2, Vector3};
use std::f64::consts::PI;

/// Measurements beyond this many standard deviations lose weight (Cauchy): some landmarks may have been moved, too.
const SCALE: f64 = 3.0;

/// Where the robot is, as measurements say.
#[derive(Clone, Copy, Debug)]
pub struct Fit {
    /// The motion of the base, in its estimated frame.
    pub motion: Se2,
    /// The information about it, of ν where X ← X Exp(ν).
    pub information: Matrix3<f64>,
    /// Whether no other motion explains the measurements nearly as well.
    pub is_unique: bool,
}

/// The motion of the base, in its estimated frame, that best explains measurements of landmarks at `z`: it minimizes Σ
/// c² ln(1 + d²/c²) over their Mahalanobis distances d, and takes the landmarks as known. `None` for fewer than two
/// measurements.
pub fn displacement(
    sensors: (&Sensors, &[Mount]),
    checked_measurements: &[(Vector2<f64>, CheckedMeasurement)],
) -> Option<Fit> {
    /// The number of initial headings, evenly spaced: Gauss–Newton converges from 30° away.
    const HEADINGS: usize = 12;
    /// Two motions are different ones if they are this many standard deviations apart.
    const APART: f64 = 10.0;
    if checked_measurements.len() < 2 {
        return None;
    }
    let from = |k: usize| Se2::new(0.0, 0.0, -PI + 2.0 * PI * k as f64 / HEADINGS as f64);
    let minima: [_; HEADINGS] = std::array::from_fn(|k| descend(sensors, checked_measurements, from(k)));
    let (motion, best) = minima.iter().flatten().min_by(|(_, a), (_, b)| a.cost.total_cmp(&b.cost))?;
    // Another minimum within this cost is as good an explanation.
    let is_rival = |(other, at): &(Se2, Normal)| {
        let apart = (motion.inverse() * *other).log();
        at.cost - best.cost < SCALE * SCALE && apart.dot(&(best.matrix * apart)) > APART * APART
    };
    let is_unique = !minima.iter().flatten().any(is_rival);
    Some(Fit { motion: *motion, information: best.matrix, is_unique })
}

/// How many of the measurements pass the gate of their landmark for a base that has moved by `motion`.
pub fn agreeing(
    state: &State,
    (sensors, gate): (&Sensors, &Gate),
    checked_measurements: impl Iterator<Item = (usize, CheckedMeasurement)>,
    motion: &Se2,
) -> usize {
    let back = motion.rotation().transpose();
    let passes = |(i, checked): &(usize, CheckedMeasurement)| {
        let z = motion.transform_back(&state.in_robot(*i));
        let Some(expected) = sensors.expect(&state.mounts, checked, &z, &z) else { return false };
        let to_measurement = expected.by_landmark * back;
        let covariance = to_measurement * state.relative_covariance(*i) * to_measurement.transpose() + expected.noise;
        let distance = mahalanobis_squared(&expected.residual, &covariance, expected.dim);
        distance.is_some_and(|distance| distance <= gate.known(expected.dim))
    };
    checked_measurements.filter(passes).count()
}

/// Gauss–Newton from `motion`, and where it ends.
fn descend(
    sensors: (&Sensors, &[Mount]),
    checked_measurements: &[(Vector2<f64>, CheckedMeasurement)],
    mut motion: Se2,
) -> Option<(Se2, Normal)> {
    /// Gauss–Newton steps from each initial heading.
    const STEPS: usize = 15;
    let mut normal = linearize(sensors, checked_measurements, &motion)?;
    for _ in 0..STEPS {
        let Some(factor) = normal.matrix.cholesky() else { break };
        let step = factor.solve(&normal.vector);
        // Halved until it is a descent.
        let better = (0..6).find_map(|halvings| {
            let tried = motion * Se2::exp(&(step * 0.5_f64.powi(halvings)));
            let next = linearize(sensors, checked_measurements, &tried)?;
            (next.cost < normal.cost).then_some((tried, next))
        });
        let Some((tried, next)) = better else { break };
        (motion, normal) = (tried, next);
    }
    Some((motion, normal))
}

/// Normal equations of the weighted problem at a motion, and its cost.
#[derive(Clone, Copy, Debug)]
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

/// With X ← X Exp(ν), a landmark is seen at z⁺ = Exp(ν)⁻¹z, ∂z⁺/∂ν = −[I, J z⁺].
fn linearize(
    sensors: (&Sensors, &[Mount]),
    checked_measurements: &[(Vector2<f64>, CheckedMeasurement)],
    motion: &Se2,
) -> Option<Normal> {
    let mut normal = Normal { matrix: Matrix3::zeros(), vector: Vector3::zeros(), cost: 0.0 };
    for (z, checked) in checked_measurements {
        let seen = motion.transform_back(z);
        let Some(expected) = sensors.0.expect(sensors.1, checked, &seen, &seen) else { continue };
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
