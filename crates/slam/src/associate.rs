//! Data association: the feature that each reading is of.

use super::fixed_lag::{Associated, Role};
use super::gate::{Gate, mahalanobis_squared};
use super::linearize::{Match, Subject, innovation_covariance, linearize};
use super::sensor::{Reading, Sensors};
use super::state::State;
use super::step::Model;
use super::{Counts, DropReason, FeatureKind, Linearization, Observation};
use std::collections::HashSet;

/// The content of a cloud.
#[derive(Clone, Copy, Debug)]
pub enum Evidence<'a> {
    /// Observations, as a sensor gives them.
    Observed {
        /// The sensor that made them.
        kind: FeatureKind,
        /// The observations.
        observations: &'a [Observation],
    },
    /// Readings that were associated before; the fixed lag processes them again.
    Associated(&'a [Associated]),
}

/// A reading with the feature or pose that it is associated with, before the gate.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    /// The reading, linearized.
    pub matched: Match,
    /// Its squared Mahalanobis distance; `None` for a reading that passed its gate before.
    pub distance: Option<f64>,
}

/// A reading of a landmark that is not in the map.
#[derive(Clone, Copy, Debug)]
pub struct Newcomer {
    /// The identity that it names.
    pub id: Option<u32>,
    /// The reading.
    pub reading: Reading,
}

/// All readings of a cloud, associated.
#[derive(Debug)]
pub struct Association<'r> {
    /// Readings of what is in the state, in the order of the observations.
    pub candidates: &'r [Candidate],
    /// Readings of new landmarks, in the order of the observations.
    pub newcomers: &'r [Newcomer],
    /// What was left out so far, by reason.
    pub refused: Counts,
}

/// Buffers of [`associate`], which keep their allocations.
#[derive(Debug, Default)]
pub struct AssociationRoom {
    candidates: Vec<Candidate>,
    newcomers: Vec<Newcomer>,
    named: Named,
}

/// The identities that a cloud has named. A few are compared one by one, which is quicker than anything; many are
/// looked up, or a cloud of a million would be compared a million times.
#[derive(Debug, Default)]
struct Named {
    few: Vec<u32>,
    many: HashSet<u32>,
}

/// More than a front end sees at once.
const FEW: usize = 64;

impl Named {
    fn clear(&mut self) {
        self.few.clear();
        self.many.clear();
    }

    /// Whether this identity is the first of its kind.
    fn insert(&mut self, id: u32) -> bool {
        if self.few.contains(&id) {
            return false;
        }
        if self.few.len() < FEW {
            self.few.push(id);
            return true;
        }
        self.many.insert(id)
    }
}

/// Associates each reading by its identity if it has one, and otherwise with the only feature whose gate it passes.
pub fn associate<'r>(
    state: &State,
    model: &Model,
    evidence: Evidence<'_>,
    room: &'r mut AssociationRoom,
) -> Association<'r> {
    let (sensors, gate, at) = (&model.sensors, &model.gate, model.filter.linearization());
    let AssociationRoom { candidates, newcomers, named } = room;
    candidates.clear();
    newcomers.clear();
    named.clear();
    let mut refused = Counts::default();
    match evidence {
        Evidence::Observed { kind, observations } => {
            for observation in observations {
                match associate_one(state, sensors, at, gate, (kind, observation), named) {
                    Ok(Verdict::Known(candidate)) => candidates.push(candidate),
                    Ok(Verdict::New(newcomer)) => newcomers.push(newcomer),
                    Err(reason) => refused.add(reason),
                }
            }
        }
        Evidence::Associated(readings) => {
            for associated in readings {
                match associated.again(state, sensors, at) {
                    Some(Verdict::Known(candidate)) => candidates.push(candidate),
                    Some(Verdict::New(newcomer)) => newcomers.push(newcomer),
                    None => {}
                }
            }
        }
    }
    Association { candidates, newcomers, refused }
}

// A candidate is copied once and lives for an instant: a box would allocate in every step.
#[allow(clippy::large_enum_variant)]
enum Verdict {
    Known(Candidate),
    New(Newcomer),
}

fn associate_one(
    state: &State,
    sensors: &Sensors,
    at: Linearization,
    gate: &Gate,
    (kind, observation): (FeatureKind, &Observation),
    named: &mut Named,
) -> Result<Verdict, DropReason> {
    let reading = sensors.read(kind, observation)?;
    if sensors.is_of_pose(&reading) {
        return candidate(state, sensors, &reading, Subject::Pose, at).map(Verdict::Known);
    }
    let Some(id) = observation.id else { return by_distance(state, sensors, &reading, gate, at) };
    if !named.insert(id) {
        return Err(DropReason::DuplicateFeature);
    }
    match state.find(id) {
        Some(i) => candidate(state, sensors, &reading, Subject::Feature(i), at).map(Verdict::Known),
        None => Ok(Verdict::New(Newcomer { id: Some(id), reading })),
    }
}

/// Linearizes a reading as one of `subject`, and computes its Mahalanobis distance.
///
/// # Errors
/// [`DropReason::Singular`] if there is no Jacobian, or the innovation covariance is not positive definite.
fn candidate(
    state: &State,
    sensors: &Sensors,
    reading: &Reading,
    subject: Subject<usize>,
    at: Linearization,
) -> Result<Candidate, DropReason> {
    let matched = linearize(state, sensors, reading, subject, at).ok_or(DropReason::Singular)?;
    let distance = distance(state, &matched).ok_or(DropReason::Singular)?;
    Ok(Candidate { matched, distance: Some(distance) })
}

/// Associates a reading without identity: with the only feature whose gate it passes, or with a new feature if it is
/// far from all features.
///
/// # Errors
/// [`DropReason::Ambiguous`] if it passes two gates, or if it passes none and is not far from all features.
fn by_distance(
    state: &State,
    sensors: &Sensors,
    reading: &Reading,
    gate: &Gate,
    at: Linearization,
) -> Result<Verdict, DropReason> {
    let dim = sensors.dim(reading);
    let mut nearest: Option<(f64, Match)> = None;
    let mut inside = 0;
    for i in 0..state.features.len() {
        let Some(matched) = linearize(state, sensors, reading, Subject::Feature(i), at) else { continue };
        let Some(distance) = distance(state, &matched) else { continue };
        inside += usize::from(distance <= gate.known(dim));
        if nearest.is_none_or(|(least, _)| distance < least) {
            nearest = Some((distance, matched));
        }
    }
    match nearest {
        Some((least, matched)) if least <= gate.known(dim) && inside == 1 => {
            Ok(Verdict::Known(Candidate { matched, distance: Some(least) }))
        }
        Some((least, _)) if least <= gate.new_feature(dim) => Err(DropReason::Ambiguous),
        _ => Ok(Verdict::New(Newcomer { id: None, reading: *reading })),
    }
}

fn distance(state: &State, m: &Match) -> Option<f64> {
    mahalanobis_squared(&m.residual, &innovation_covariance(state, m), m.dim)
}

impl Associated {
    /// Associates the same reading in another state. `None` if the state does not have its feature, or already has the
    /// feature that the reading would begin.
    fn again(&self, state: &State, sensors: &Sensors, at: Linearization) -> Option<Verdict> {
        let known = match self.subject {
            Subject::Pose => Some(Subject::Pose),
            Subject::Feature(id) => state.find(id).map(Subject::Feature),
        };
        match (self.role, self.subject, known) {
            (Role::First, Subject::Feature(id), None) => {
                Some(Verdict::New(Newcomer { id: Some(id), reading: self.reading }))
            }
            (Role::Again, _, Some(subject)) => {
                let mut matched = linearize(state, sensors, &self.reading, subject, at)?;
                matched.scale(self.noise_scale);
                matched.linearization_point = self.linearization_point;
                Some(Verdict::Known(Candidate { matched, distance: None }))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_is_new_once_among_few_and_among_many() {
        let mut named = Named::default();
        for count in [FEW as u32 / 2, 10 * FEW as u32] {
            named.clear();
            assert!((0..count).all(|id| named.insert(id)));
            assert!((0..count).all(|id| !named.insert(id)));
        }
    }
}
