//! The update by all measurements of a landmark that has just taken its place.
//!
//! It is linearized twice, at the estimate before and at the one that this gives. The first linearization takes the way
//! of the robot as odometry has it, and the noise of odometry is in the residuals as well: a way that was measured too
//! long pulls more than one that was measured too short by as much, and over many landmarks the scale of the map
//! drifts. The errors of the better estimate are not correlated with the residuals.

use crate::delayed_initialization::row::linearize_sighting;
use lienav_base::stamp::Stamp;
use lienav_planar::model::Model;
use lienav_planar::retract::retract;
use lienav_planar::state::State;
use lienav_planar::state::waiting::{Sighting, Waiting};

/// How far a measurement is to be trusted, of a landmark that is in the state: 0 where the gate leaves it out.
pub fn trust_in(state: &State, model: &Model, waiting: &Waiting, sighting: &Sighting) -> f64 {
    let Some(i) = state.find(waiting.id) else { return 0.0 };
    let Some(mut row) = linearize_sighting(sighting, state, &model.sensors, &state.landmarks[i].x) else { return 0.0 };
    let at = state.covariance.row_of(i);
    row.entries.extend([(at, row.by_landmark.x), (at + 1, row.by_landmark.y)]);
    row.trust(model, &sighting.measurement, row.with(&row, state) + row.variance)
}

/// Updates the state by all measurements of a landmark that is in it, each trusted as far as `trusted` says.
pub fn use_all(state: &mut State, model: &Model, waiting: &Waiting, trusted: &[f64]) {
    let mut better = state.clone();
    if let Some(delta) = correct(&mut better, model, waiting, trusted, None) {
        correct(state, model, waiting, trusted, Some((&better, &delta)));
    }
}

/// The update, linearized at the state itself or at the state that a correction of it has led to; with that correction.
/// Returns its own correction; `None` where there is none to be made, and the estimate is as before.
fn correct(
    state: &mut State,
    model: &Model,
    waiting: &Waiting,
    trusted: &[f64],
    linearized_at: Option<(&State, &[f64])>,
) -> Option<Vec<f64>> {
    let i = state.find(waiting.id)?;
    let at = state.covariance.row_of(i);
    let n = state.covariance.dim();
    let mut delta = vec![0.0; n];
    let mut before: Option<Stamp> = None;
    for (sighting, trust) in waiting.sightings.iter().zip(trusted).filter(|(_, trust)| **trust > 0.0) {
        let there = linearized_at.map_or(&*state, |(there, _)| there);
        let Some(mut row) = linearize_sighting(sighting, there, &model.sensors, &there.landmarks[i].x) else {
            continue;
        };
        let since = before.map_or(f64::INFINITY, |before| sighting.anchor_pose.stamp.since(before));
        row.variance *= model.sensors.repetition(&sighting.measurement, since) / trust;
        row.entries.extend([(at, row.by_landmark.x), (at + 1, row.by_landmark.y)]);
        let mut w = vec![0.0; n];
        for (row, h) in &row.entries {
            w.iter_mut().enumerate().for_each(|(j, w)| *w += h * state.covariance.get(*row, j));
        }
        let variance = row.along(&w) + row.variance;
        if variance.is_nan() || variance <= 0.0 {
            continue;
        }
        // The residual of the state before: r(x̂) = r(x̂ + d) + H d.
        let way = linearized_at.map_or(0.0, |(_, correction)| row.along(correction));
        let residual = row.residual + way - row.along(&delta);
        before = Some(sighting.anchor_pose.stamp);
        let (root, gain) = (1.0 / variance.sqrt(), residual / variance);
        delta.iter_mut().zip(&w).for_each(|(d, w)| *d += w * gain);
        w.iter_mut().for_each(|w| *w *= root);
        state.covariance.subtract_outer(&w, 1, n);
    }
    if !delta.iter().all(|d| d.is_finite()) {
        return None;
    }
    retract(state, &delta, &vec![0.0; n], model.filter.errors, &mut Vec::new());
    state.landmarks[i].first = state.landmarks[i].x;
    Some(delta)
}
