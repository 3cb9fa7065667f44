//! Data association: the landmark that each measurement is of.

use crate::association::joint;
use crate::association::joint::JointWorkspace;
use crate::association::memory::Memory;
use crate::bounds::BOUNDS;
use lienav_base::stamp::Stamp;
use lienav_ekf::mahalanobis::{mahalanobis_squared, relative_trace};
use lienav_planar::associated::{Ambiguity, Associated, Newcomer, Role, Subject};
use lienav_planar::checked::CheckedMeasurement;
use lienav_planar::config::{Association, MapMode};
use lienav_planar::input::{Measurement, MeasurementKind};
use lienav_planar::linearize::{Match, innovation_covariance, linearize};
use lienav_planar::model::Model;
use lienav_planar::motion::Increment;
use lienav_planar::neighbourhood::Neighbourhood;
use lienav_planar::output::{Counts, DropReason};
use lienav_planar::state::State;
use std::collections::HashSet;

/// The content of a scan.
#[derive(Clone, Copy, Debug)]
pub enum Evidence<'a> {
    /// Measurements, as a sensor gives them.
    Observed {
        /// The sensor that made them.
        kind: MeasurementKind,
        /// The measurements.
        measurements: &'a [Measurement],
        /// What association remembers from scan to scan.
        memory: &'a Memory,
    },
    /// Measurements that were associated before; the fixed lag processes them again.
    Associated(&'a [Associated]),
}

/// The measurements of a scan, associated, with buffers of [`associate`] that keep their allocations.
#[derive(Debug, Default)]
pub struct Associations {
    /// Measurements of what is in the state, linearized, in the order of the measurements. The gate keeps those that
    /// the state is updated by.
    pub matches: Vec<Match>,
    /// Measurements of new landmarks, in the order of the measurements.
    pub newcomers: Vec<Newcomer>,
    /// What was left out so far, by reason.
    pub refused: Counts,
    named: Named,
    scan: JointWorkspace,
}

impl Associations {
    /// Measurements of the last scan that were left out, and landmarks that each of them may be of.
    pub fn ambiguous(&self) -> &[Ambiguity] {
        &self.scan.ambiguous
    }
}

/// The identities that a scan has named. A few are compared one by one, which is quicker than anything; many are
/// looked up, or a scan of a million would be compared a million times.
#[derive(Debug, Default)]
struct Named {
    few: Vec<u32>,
    many: HashSet<u32>,
}

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
        if self.few.len() < BOUNDS.measurements {
            self.few.push(id);
            return true;
        }
        self.many.insert(id)
    }
}

/// Associates each measurement by its identity if it has one, and otherwise as [`Association`] says. Returns whether
/// measurements without identity had to be searched for, because they were not clear one by one.
pub fn associate(state: &State, model: &Model, evidence: Evidence<'_>, workspace: &mut Associations) -> bool {
    workspace.matches.clear();
    workspace.newcomers.clear();
    workspace.named.clear();
    workspace.scan.measurements.clear();
    workspace.scan.ambiguous.clear();
    workspace.refused = Counts::default();
    match evidence {
        Evidence::Observed { kind, measurements, .. } => {
            for measurement in measurements {
                let associated = match model.sensors.read(kind, measurement) {
                    Ok(checked) if is_for_later(model, &checked) => {
                        workspace.scan.measurements.push(checked);
                        Ok(())
                    }
                    Ok(checked) => associate_one(state, model, &checked, workspace),
                    Err(reason) => Err(reason),
                };
                if let Err(reason) = associated {
                    workspace.refused.add(reason);
                }
            }
        }
        Evidence::Associated(checked_measurements) => {
            checked_measurements.iter().for_each(|checked| associate_again(checked, state, model, workspace))
        }
    }
    let Associations { matches, newcomers, refused, scan, .. } = workspace;
    let mut is_searched = false;
    if !scan.measurements.is_empty()
        && let Evidence::Observed { memory, .. } = evidence
    {
        match model.association {
            Association::Ids => refused.add_many(DropReason::UnknownLandmark, scan.measurements.len() as u64),
            Association::Auto => {
                is_searched = joint::associate(state, (model, memory), scan, matches, newcomers, refused);
            }
        }
    }
    is_searched
}

/// Whether a measurement has no identity, and is associated when all that have one are.
fn is_for_later(model: &Model, checked: &CheckedMeasurement) -> bool {
    let is_alone = model.association == Association::Auto && !model.is_joint();
    checked.id().is_none() && !is_alone && !model.sensors.is_of_pose(checked)
}

/// Adds a measurement to the candidates, linearized and with its Mahalanobis distance, or to the newcomers.
///
/// # Errors
/// [`DropReason::Singular`] if there is no Jacobian, or the innovation covariance is not positive definite; those of
/// [`subject_of`].
fn associate_one(
    state: &State,
    model: &Model,
    checked: &CheckedMeasurement,
    workspace: &mut Associations,
) -> Result<(), DropReason> {
    let is_untied = state.georeference.is_some() && model.sensors.is_of_world(checked);
    if is_untied {
        workspace.newcomers.push(Newcomer { id: None, measurement: *checked });
        return Ok(());
    }
    let Some(subject) = subject_of(state, model, checked, &mut workspace.named)? else {
        workspace.newcomers.push(Newcomer { id: checked.id(), measurement: *checked });
        return Ok(());
    };
    let candidate = Match::add(&mut workspace.matches, subject, checked);
    candidate.distance = distance(state, model, candidate);
    if candidate.distance.is_none() {
        workspace.matches.pop();
        return Err(DropReason::Singular);
    }
    Ok(())
}

/// What a measurement is of; `None` for a new landmark.
///
/// # Errors
/// [`DropReason::DuplicateFeature`] for an identity that the scan has named before; those of [`nearest`].
fn subject_of(
    state: &State,
    model: &Model,
    checked: &CheckedMeasurement,
    named: &mut Named,
) -> Result<Option<Subject<usize>>, DropReason> {
    if model.sensors.is_of_pose(checked) {
        return Ok(Some(Subject::Pose));
    }
    let Some(id) = checked.id() else { return Ok(nearest(state, model, checked)?.map(Subject::Landmark)) };
    if !named.insert(id) {
        return Err(DropReason::DuplicateFeature);
    }
    Ok(state.find(id).map(Subject::Landmark))
}

/// The landmark that a measurement without identity is of: the only one whose gate it passes; of a known map, one that
/// is nearer than any other by as much as the gate is wide. `None` if it is far from all landmarks.
///
/// # Errors
/// [`DropReason::Ambiguous`] if it passes two gates, or if it passes none and is not far from all landmarks.
fn nearest(state: &State, model: &Model, checked: &CheckedMeasurement) -> Result<Option<usize>, DropReason> {
    let (gate, dim) = (&model.gate, model.sensors.dim(checked));
    // Beside a known map many are in the state, and few near.
    let is_mapping = model.map.mode == MapMode::Mapping;
    let near = if is_mapping { None } else { Neighbourhood::of(state, model, checked) };
    let mut nearest: Option<(f64, usize)> = None;
    let (mut inside, mut rival) = (0, f64::INFINITY);
    for i in 0..state.landmarks.len() {
        if state.landmarks[i].is_anchor_point || near.is_some_and(|near| !near.reaches(state, i)) {
            continue;
        }
        let mut candidate = Match::new(Subject::Landmark(i), checked);
        let Some(distance) = distance(state, model, &mut candidate) else { continue };
        inside += usize::from(distance <= gate.known(dim));
        if nearest.is_none_or(|(least, _)| distance < least) {
            rival = nearest.map_or(rival, |(least, _)| least);
            nearest = Some((distance, i));
        } else {
            rival = rival.min(distance);
        }
    }
    // A landmark of a known map that is one of the few outside of its gate stays there, and so would the mistake: its
    // neighbour is not taken for it, unless it is so much likelier.
    let is_clear = |least: f64| if is_mapping { inside == 1 } else { rival - least > gate.known(dim) };
    match nearest {
        Some((least, i)) if least <= gate.known(dim) && is_clear(least) => Ok(Some(i)),
        Some((least, _)) if least <= gate.new_landmark(dim) => Err(DropReason::Ambiguous),
        _ => Ok(None),
    }
}

/// Linearizes a match, and gives the squared Mahalanobis distance of its residual. `None` if there is no Jacobian, or
/// the innovation covariance is not positive definite.
pub fn distance(state: &State, model: &Model, m: &mut Match) -> Option<f64> {
    if !linearize(state, &model.sensors, m, model.filter.linearization()) {
        return None;
    }
    let covariance = innovation_covariance(state, m);
    m.prior = relative_trace(&covariance, &m.stated_noise(), m.dim) - m.dim as f64;
    mahalanobis_squared(&m.residual, &covariance, m.dim)
}

/// Associates the same measurement in another state; not at all if that state does not have its landmark, or
/// already has the landmark that the measurement would begin.
fn associate_again(measurement: &Associated, state: &State, model: &Model, workspace: &mut Associations) {
    let known = match measurement.subject {
        Subject::Pose => Some(Subject::Pose),
        Subject::Landmark(id) => state.find(id).map(Subject::Landmark),
    };
    match (measurement.role, measurement.subject, known) {
        (Role::First, Subject::Landmark(id), None) => {
            workspace.newcomers.push(Newcomer { id: Some(id), measurement: measurement.measurement });
        }
        (Role::Held, Subject::Landmark(id), None) => {
            workspace.newcomers.push(Newcomer { id: Some(id), measurement: measurement.measurement });
        }
        (Role::Held, Subject::Pose, _) if state.georeference.is_some() => {
            workspace.newcomers.push(Newcomer { id: None, measurement: measurement.measurement });
        }
        (Role::Again | Role::Held, _, Some(subject)) => {
            let candidate = Match::add(&mut workspace.matches, subject, &measurement.measurement);
            if linearize(state, &model.sensors, candidate, model.filter.linearization()) {
                candidate.scale(measurement.noise_scale);
                candidate.linearization_point = measurement.linearization_point;
            } else {
                workspace.matches.pop();
            }
        }
        _ => {}
    }
}

impl Evidence<'_> {
    /// Whether a measurement of the scan has a height.
    pub fn has_heights(&self) -> bool {
        match self {
            Evidence::Observed { measurements, .. } => measurements.iter().any(|o| o.height_m != 0.0),
            Evidence::Associated(checked_measurements) => {
                checked_measurements.iter().any(|r| r.measurement.height_m() != 0.0)
            }
        }
    }
}

/// A scan, and the motion from the state to the pose at which the scan was taken.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The motion of the base since the state, t in m and a in rad.
    pub motion: &'a Increment,
    /// When the scan was taken.
    pub stamp: Stamp,
    /// What was measured.
    pub evidence: Evidence<'a>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_is_new_once_among_few_and_among_many() {
        let mut named = Named::default();
        for count in [BOUNDS.measurements as u32 / 2, 10 * BOUNDS.measurements as u32] {
            named.clear();
            assert!((0..count).all(|id| named.insert(id)));
            assert!((0..count).all(|id| !named.insert(id)));
        }
    }
}
