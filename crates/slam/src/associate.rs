//! Which feature an observation is of, and whether it is believed.

use super::gate::{chi2_bound_2, mahalanobis_squared};
use super::measure::{Match, innovation_covariance, linearize};
use super::sensor::{Reading, Sensor};
use super::state::State;
use super::{DropReason, GateConfig, Linearization};

/// What an observation turned out to be.
// A match is copied once and lives for an instant: a box would allocate in every step.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Copy, Debug)]
pub enum Verdict {
    /// Of a feature of the state.
    Known(Match),
    /// Of a feature that is not in the state.
    New,
}

/// Bounds on the squared Mahalanobis distance, from probabilities.
#[derive(Clone, Copy, Debug)]
pub struct Gate {
    known: f64,
    new: f64,
    robust_scale: f64,
}

impl Gate {
    /// As configured.
    pub fn new(config: &GateConfig) -> Self {
        let known = chi2_bound_2(config.probability);
        let new = chi2_bound_2(config.new_feature_probability).max(known);
        Self { known, new, robust_scale: config.robust_scale }
    }

    /// By what the covariance of a reading that passed is multiplied, from its squared Mahalanobis distance: Cauchy's
    /// weight, inverted.
    fn doubt(&self, distance: f64) -> f64 {
        if self.robust_scale > 0.0 { 1.0 + distance / (self.robust_scale * self.robust_scale) } else { 1.0 }
    }
}

/// An observation that says which feature it is of.
///
/// # Errors
/// [`DropReason::Gated`] outside the gate, [`DropReason::Singular`] where the model gives no distance.
pub fn by_identity(
    state: &State,
    sensor: &Sensor,
    reading: &Reading,
    id: u32,
    gate: &Gate,
    at: Linearization,
) -> Result<Verdict, DropReason> {
    let Some(i) = state.find(id) else { return Ok(Verdict::New) };
    let candidate = linearize(state, sensor, reading, i, at).ok_or(DropReason::Singular)?;
    let distance = distance(state, &candidate).ok_or(DropReason::Singular)?;
    if distance > gate.known {
        Err(DropReason::Gated)
    } else {
        Ok(Verdict::Known(candidate.scaled(gate.doubt(distance))))
    }
}

/// An observation without identity: the one feature inside whose gate it lies, or a new one where it is far from all.
///
/// # Errors
/// [`DropReason::Ambiguous`] inside two gates, or neither inside a gate nor clearly outside all of them.
pub fn by_distance(
    state: &State,
    sensor: &Sensor,
    reading: &Reading,
    gate: &Gate,
    at: Linearization,
) -> Result<Verdict, DropReason> {
    let mut nearest: Option<(f64, Match)> = None;
    let mut inside = 0;
    for i in 0..state.features.len() {
        let Some(candidate) = linearize(state, sensor, reading, i, at) else { continue };
        let Some(distance) = distance(state, &candidate) else { continue };
        inside += usize::from(distance <= gate.known);
        if nearest.is_none_or(|(least, _)| distance < least) {
            nearest = Some((distance, candidate));
        }
    }
    match nearest {
        None => Ok(Verdict::New),
        Some((least, candidate)) if least <= gate.known && inside == 1 => {
            Ok(Verdict::Known(candidate.scaled(gate.doubt(least))))
        }
        Some((least, _)) if least > gate.new => Ok(Verdict::New),
        Some(_) => Err(DropReason::Ambiguous),
    }
}

fn distance(state: &State, m: &Match) -> Option<f64> {
    mahalanobis_squared(&m.residual, &innovation_covariance(state, m))
}
