//! The gate: which associated measurements correct the state.

use crate::associate::Associations;
use crate::thresholds::UNLIKELY;
use lienav_base::stamp::Stamp;
use lienav_planar::associated::{Associated, Role, Subject};
use lienav_planar::linearize::Match;
use lienav_planar::model::Model;
use lienav_planar::output::DropReason;
use lienav_planar::state::State;
use nalgebra::Matrix3;

/// Keeps the matches that pass their gates, in their order. Matches that are left out are counted in `refused`; those
/// outside the gate of their landmark are kept in `gated`.
///
/// Measurements that the fixed lag processes again passed their gates before, and are not gated again.
pub fn gate(
    state: &State,
    model: &Model,
    stamp: Stamp,
    Associations { matches: candidates, refused, .. }: &mut Associations,
    gated: &mut Vec<Associated>,
) {
    gated.clear();
    let mut kept = 0;
    for k in 0..candidates.len() {
        let (passed, rest) = candidates.split_at_mut(k);
        let candidate = &mut rest[0];
        match check(state, model, stamp, &passed[..kept], candidate) {
            Ok(()) => {
                if kept < k {
                    passed[kept] = *candidate;
                }
                kept += 1;
            }
            Err(reason) => {
                refused.add(reason);
                if reason == DropReason::Gated {
                    gated.push(Associated::new(state.identity(candidate.subject), candidate.measurement, Role::Gated));
                }
            }
        }
    }
    candidates.truncate(kept);
}

/// Whether a candidate passes its gate, `passed` before it; the covariance of one that does is scaled for repetition
/// and robustness.
///
/// # Errors
/// [`DropReason::Gated`], or [`DropReason::DuplicateFeature`] where a measurement of the same landmark has passed.
fn check(
    state: &State,
    model: &Model,
    stamp: Stamp,
    passed: &[Match],
    candidate: &mut Match,
) -> Result<(), DropReason> {
    let Some(distance) = candidate.distance else { return Ok(()) };
    if distance > model.gate.known(candidate.dim) {
        return Err(DropReason::Gated);
    }
    candidate.scale(model.gate.inflation(distance));
    if candidate.dim == 1 {
        let covariance = Matrix3::from_diagonal_element(candidate.residual.x.powi(2) / distance.max(1e-300));
        let trust = model.sensors.trust(&candidate.measurement, &candidate.residual, &covariance);
        if trust < UNLIKELY {
            return Err(DropReason::Gated);
        }
        candidate.scale(1.0 / trust);
    }
    if let Subject::Landmark(i) = candidate.subject {
        if passed.iter().any(|other| other.subject == candidate.subject) {
            return Err(DropReason::DuplicateFeature);
        }
        candidate.repetition =
            model.sensors.repetition(&candidate.measurement, stamp.since(state.landmarks[i].last_seen));
        if candidate.time_correlated.is_none() {
            candidate.scale(candidate.repetition);
        }
    }
    Ok(())
}
