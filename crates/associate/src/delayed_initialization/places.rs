//! Where a landmark may be, from all its measurements.

use crate::delayed_initialization::row::{Row, linearize_sighting, points, pose_of};
use crate::thresholds::CONFIRMING;
use lienav_lie::Se2;
use lienav_planar::checked::CheckedMeasurement;
use lienav_planar::model::Model;
use lienav_planar::sensor::Sensors;
use lienav_planar::state::State;
use lienav_planar::state::waiting::Sighting;
use nalgebra::{DMatrix, DVector, Matrix2, SymmetricEigen, Vector2};

/// So many starts are tried at most.
const STARTS: usize = 16;
/// Iterations before measurements are weighed by how well they fit.
const PLAIN: usize = 6;
/// All iterations.
const ITERATIONS: usize = 14;
/// Two results that are nearer than this, in standard deviations, are one.
const ALIKE: f64 = 3.0;
/// The probability that a measurement says nothing about its landmark: a misread, a reflection.
const MISREAD: f64 = 0.02;
/// How far a misread may be off, in the standard deviations of the measurement.
const MISREAD_WIDTH: f64 = 100.0;
/// Measurements that are off by more than this, in standard deviations, hardly count in the search.
const FAR_OFF: f64 = 5.0;
/// A place that leaves out more than this part of the measurements is none.
const LEFT_OUT: f64 = 0.4;
/// Farther away than this multiple of the farthest start, a landmark has no place.
const BEYOND: f64 = 2.0;

/// Iterations with the errors of the anchor poses taken into account, at most.
const WEIGHED: usize = 5;
/// The last of them moves a place by less than this, in standard deviations.
const SETTLED: f64 = 0.1;

/// A place where the landmark may be.
#[derive(Clone, Debug)]
pub struct Place {
    /// In the frame of the landmarks, m.
    pub x: Vector2<f64>,
    /// Covariance of that, relative to the robot and with the errors of the anchor poses.
    pub covariance: Matrix2<f64>,
    /// The logarithm of the probability of the measurements, up to a constant.
    pub evidence: f64,
    /// Whether the search has ended there: the covariance is that of where it ended, and says nothing elsewhere.
    pub is_settled: bool,
    /// How far each measurement is to be trusted; 0 for one that the place does not explain.
    pub used: Vec<f64>,
}

/// All places that explain the measurements, in no particular order.
pub fn places(state: &State, model: &Model, sightings: &[Sighting]) -> Vec<Place> {
    let seen: Vec<(Se2, &CheckedMeasurement)> = sightings
        .iter()
        .filter_map(|sighting| Some((pose_of(state, points(&sighting.anchor_pose, state)?), &sighting.measurement)))
        .collect();
    let Some((first, measurement)) = seen.first() else { return Vec::new() };
    let starts = model.sensors.hypotheses(&state.mounts, measurement);
    let farthest = starts.iter().map(|(z, _)| z.norm()).fold(0.0, f64::max);
    let step = starts.len().div_ceil(STARTS).max(1);
    let mut found: Vec<(Vector2<f64>, Matrix2<f64>)> = Vec::new();
    for (z, _) in starts.iter().step_by(step) {
        let Some((x, information)) = descend(state, &model.sensors, &seen, first.transform(z)) else { continue };
        let is_known = |(other, _): &(Vector2<f64>, Matrix2<f64>)| {
            let apart = x - other;
            apart.dot(&(information * apart)) < ALIKE * ALIKE
        };
        if (x - first.p).norm() <= BEYOND * farthest && !found.iter().any(is_known) {
            found.push((x, information));
        }
    }
    let mut all: Vec<Place> = Vec::new();
    for (x, _) in found {
        let Some(place) = weigh(state, model, sightings, x) else { continue };
        let is_known = |other: &Place| {
            let apart = place.x - other.x;
            let both = place.covariance + other.covariance;
            both.try_inverse().is_some_and(|inverse| apart.dot(&(inverse * apart)) < ALIKE * ALIKE)
        };
        match all.iter_mut().find(|other| is_known(other)) {
            Some(other) if other.evidence < place.evidence => *other = place,
            Some(_) => {}
            None => all.push(place),
        }
    }
    all
}

/// Gauss–Newton with damping from one start, with the anchor poses where they are estimated: the place, and the inverse
/// of its covariance. `None` where it leads nowhere.
fn descend(
    state: &State,
    sensors: &Sensors,
    seen: &[(Se2, &CheckedMeasurement)],
    start: Vector2<f64>,
) -> Option<(Vector2<f64>, Matrix2<f64>)> {
    let normal = |x: &Vector2<f64>, is_plain: bool| {
        let (mut information, mut gradient, mut cost) = (Matrix2::zeros(), Vector2::zeros(), 0.0);
        for (pose, measurement) in seen {
            let z = pose.transform_back(x);
            let Some(expected) = sensors.expect(&state.mounts, measurement, &z, &z) else { continue };
            let (r, variance) = (expected.residual.x, expected.noise[(0, 0)]);
            let trust = if is_plain { 1.0 } else { sensors.trust_of_one(measurement, r, variance) };
            // Cauchy's loss: what is far off hardly counts.
            let square = r * r / variance / (FAR_OFF * FAR_OFF);
            let weight = trust / variance / (1.0 + square);
            let h = pose.rotation() * expected.by_landmark.row(0).transpose();
            information += h * h.transpose() * weight;
            gradient += h * (r * weight);
            cost += square.ln_1p() - trust.max(1e-12).ln();
        }
        (information, gradient, cost)
    };
    let mut x = start;
    let mut damping = 1e-3;
    let mut at = normal(&x, true);
    for k in 0..ITERATIONS {
        if k == PLAIN {
            at = normal(&x, false);
        }
        let (information, gradient, cost) = at;
        let damped = information + Matrix2::identity() * (damping * information.trace());
        let step = damped.try_inverse()? * gradient;
        let next = normal(&(x + step), k < PLAIN);
        if next.2 <= cost {
            x += step;
            at = next;
            damping = (damping * 0.1).max(1e-9);
            if step.norm() < 1e-4 && k >= PLAIN {
                break;
            }
        } else {
            damping = (damping * 10.0).max(1e-6);
        }
    }
    let information = at.0;
    (x.iter().all(|v| v.is_finite()) && information.determinant() > 0.0).then_some((x, information))
}

/// The place near `x` with the errors of the anchor poses taken into account, r = H δl + C δ(anchor poses) + n:
/// generalised least squares with S = C P Cᵀ + R, and the probability of the measurements with the place integrated
/// out. `None` where it does not explain them.
fn weigh(state: &State, model: &Model, sightings: &[Sighting], mut x: Vector2<f64>) -> Option<Place> {
    let mut place = None;
    for _ in 0..WEIGHED {
        let rows: Vec<Option<Row>> =
            sightings.iter().map(|s| linearize_sighting(s, state, &model.sensors, &x)).collect();
        let (mut left_out, mut trusted, mut used) =
            (0.0, Vec::with_capacity(rows.len()), Vec::with_capacity(rows.len()));
        for (sighting, row) in sightings.iter().zip(&rows) {
            let trust = row.as_ref().map_or(0.0, |row| {
                row.trust(model, &sighting.measurement, row.with(row, state).max(0.0) + row.variance)
            });
            trusted.push(trust);
            let Some(row) = row else { continue };
            if trust > 0.0 {
                used.push((row, row.variance / trust));
            } else {
                left_out += (MISREAD / (MISREAD_WIDTH * row.variance.sqrt())).ln();
            }
        }
        let n = used.len();
        if n < CONFIRMING || ((rows.len() - n) as f64) > LEFT_OUT * rows.len() as f64 {
            return None;
        }
        let mut s = DMatrix::zeros(n, n);
        for a in 0..n {
            for b in 0..=a {
                s[(a, b)] = used[a].0.with(used[b].0, state);
                s[(b, a)] = s[(a, b)];
            }
            s[(a, a)] += used[a].1;
        }
        let factor = s.cholesky()?;
        let h = DMatrix::from_fn(n, 2, |k, c| used[k].0.by_landmark[c]);
        let r = DVector::from_fn(n, |k, _| used[k].0.residual);
        let weighted = factor.solve(&h);
        let information: Matrix2<f64> = (h.transpose() * &weighted).fixed_view::<2, 2>(0, 0).into_owned();
        let pull = weighted.transpose() * &r;
        let covariance = information.try_inverse()?;
        let step = covariance * Vector2::new(pull[0], pull[1]);
        let rest = &r - &h * DVector::from_column_slice(step.as_slice());
        let square = rest.dot(&factor.solve(&rest));
        let log_det: f64 = factor.l_dirty().diagonal().iter().map(|d| d.ln()).sum::<f64>();
        let normal = 0.5 * (square + (n as f64) * std::f64::consts::TAU.ln()) + log_det;
        x += step;
        let evidence = left_out - normal - 0.5 * information.determinant().ln();
        let is_settled = step.dot(&(information * step)) < SETTLED * SETTLED;
        place = Some(Place { x, covariance, evidence, is_settled, used: trusted });
        if is_settled {
            break;
        }
    }
    place.filter(|place| place.evidence.is_finite() && place.x.iter().all(|v| v.is_finite()))
}

/// What a measurement of a landmark at z in the robot frame does beyond the first order, by the spread of z: from its
/// expectations along the axes of the covariance (unscented transform, exact to third order).
pub fn bend(
    state: &State,
    sensors: &Sensors,
    measurement: &CheckedMeasurement,
    z: &Vector2<f64>,
    covariance: &Matrix2<f64>,
) -> Option<f64> {
    const REACH: f64 = 1.732_050_807_568_877_2;
    let axes = SymmetricEigen::new(*covariance);
    let at =
        |point: &Vector2<f64>| sensors.expect(&state.mounts, measurement, point, z).map(|expected| expected.residual.x);
    let here = at(z)?;
    let (mut shift, mut spread) = (0.0, 0.0);
    for k in 0..2 {
        let arm = axes.eigenvectors.column(k) * (REACH * axes.eigenvalues[k].max(0.0).sqrt());
        let second = (at(&(z + arm))? + at(&(z - arm))? - 2.0 * here) / (REACH * REACH);
        shift += 0.5 * second;
        spread += 0.5 * second * second;
    }
    Some((shift * shift + spread).sqrt())
}
