//! A prior that is wide beside the range of the linearization: after a gap of the input, or at a start that nobody
//! knows.
//!
//! An update is linearized at one estimate. If the robot may be metres and radians from there, the measurements bend
//! away from their tangents by more than their noise; the update then lands beside the landmarks that it was computed
//! from, with the covariance of one that had met them. Three cases:
//!
//! - The bend over one standard deviation of the prior is within the noise of the measurement, or the measurements
//!   agree with the estimate as it is: the update is linear enough. This is every ordinary scan, and costs it one
//!   comparison for each measurement.
//! - The measurements say where the robot is among their landmarks: the estimate moves there first, and the update is
//!   linearized there. The rigid motions of a robot among the landmarks are a linear space of errors, the same one
//!   wherever the robot is; the prior therefore stays as it is.
//! - They do not: one landmark leaves a circle. Whatever a linear update would claim is a tangent of it. These
//!   measurements are held back until others tell.
//!
//! Only measurements that name their landmark are judged: a match without identity was made by this very prior. For
//! these, `slam/recovery.rs` searches the map.
//!
//! Landmarks that the robot has come to know since move along with it. Where it is the robot whose place in the map is
//! known, and others are not (a part of the map that was begun in between), these move instead.

use crate::bounds::BOUNDS;
use crate::relocate::displacement;
use crate::thresholds::{AGREES, CONFIRMING};
use lienav_ekf::mahalanobis::mahalanobis_squared;
use lienav_lie::{Se2, skew};
use lienav_planar::associated::Subject;
use lienav_planar::checked::CheckedMeasurement;
use lienav_planar::filter::{Coordinates, Errors, Filter, Initialization};
use lienav_planar::linearize::Match;
use lienav_planar::model::Model;
use lienav_planar::sensor::Sensors;
use lienav_planar::state::State;
use lienav_planar::without::Mechanism;
use nalgebra::{Matrix2, Matrix2x3, Matrix3, Vector2, Vector3};

/// Two directions differ if the sine of the angle between them is more than this: 30°.
const ACROSS: f64 = 0.5;

/// What the measurements of landmarks whose place relative to the robot is uncertain say of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Place {
    /// Near the estimate: the update may be linearized there.
    Here,
    /// This motion of the base away from the estimate.
    Elsewhere(Se2),
    /// Not enough.
    Open,
}

/// Buffers of [`place`], which keep their allocations.
#[derive(Debug, Default)]
pub struct Wide {
    /// The candidates with a wide prior that do not tell where the robot is, by their index.
    pub candidates: Vec<usize>,
    /// How many candidates were judged, the first ones; of the others nothing is known.
    judged: usize,
    measurements: Vec<(Vector2<f64>, CheckedMeasurement)>,
    /// Those of one part of the map, by their index.
    part: Vec<usize>,
    /// The landmarks of the map that tell where the robot is.
    pub members: Vec<usize>,
    /// By how much the state was moved, if it was: see [`displace`](super::displaced::displace).
    pub moved_by: Vec<f64>,
}

impl Wide {
    /// Whether the candidate `index` has a wide prior and does not tell where the robot is.
    pub fn is_open(&self, index: usize) -> bool {
        self.candidates.binary_search(&index).is_ok()
    }
}

/// Judges the measurements of a scan, before the gate.
pub fn place(state: &State, model: &Model, candidates: &[Match], wide: &mut Wide) -> Place {
    wide.candidates.clear();
    wide.measurements.clear();
    wide.moved_by.clear();
    wide.judged = candidates.len();
    if model.without.has(Mechanism::WidePrior) {
        return Place::Here;
    }
    let mut measurements = 0;
    for (index, candidate) in candidates.iter().enumerate() {
        let Subject::Landmark(i) = candidate.subject else { continue };
        if wide.measurements.len() == BOUNDS.wide_prior {
            wide.judged = index;
            break;
        }
        measurements += 1;
        // A prior that is narrower than the noise has no room to bend. Without an identity, a match is a guess by this
        // prior: it does not tell where the robot is.
        if candidate.prior <= 1.0 || candidate.measurement.id().is_none() {
            continue;
        }
        let z = state.in_robot(i);
        let bend = bend(&z, &state.relative_covariance(i));
        let bend = if state.coordinates == Coordinates::Robot { bend } else { state.pose.rotation() * bend };
        if exceeds_noise(&(candidate.by_landmark * bend), &candidate.stated_noise(), candidate.dim) {
            wide.candidates.push(index);
            wide.measurements.push((z, candidate.measurement));
        }
    }
    if wide.measurements.len() < measurements {
        leave_out_loners(state, candidates, wide);
    }
    if wide.measurements.is_empty() {
        return Place::Here;
    }
    let place = find(state, &model.sensors, candidates, wide);
    // A range that was vague and may still be is the landmark's own, from whichever side it is seen.
    let is_own = |index: &usize| match candidates[*index].subject {
        Subject::Landmark(i) => state.landmarks[i].is_relinearized(),
        Subject::Pose => true,
    };
    let are_own = wide.candidates.len() < measurements && wide.candidates.iter().all(is_own);
    if place == Place::Open && (are_own || !states_its_prior(&model.filter)) {
        wide.candidates.clear();
        return Place::Here;
    }
    place
}

/// Leaves out landmarks that are uncertain by themselves, as those with a vague range that are seen from another side.
/// They are no part of a body that the robot may have moved against: their distances from others are known in one
/// direction at most.
fn leave_out_loners(state: &State, candidates: &[Match], wide: &mut Wide) {
    let is_part = |index: usize| {
        let matched = &candidates[index];
        let Subject::Landmark(i) = matched.subject else { return false };
        let mut first: Option<Vector2<f64>> = None;
        (0..state.landmarks.len()).filter(|k| *k != i && !state.landmarks[*k].is_anchor_point).any(|k| {
            let Some((along, variance)) = distance_variance(state, i, k) else { return false };
            let is_known = variance <= 2.0 * AGREES * variance_along(matched, &along);
            is_known && skew(first.get_or_insert(along)).dot(&along).abs() > ACROSS
        })
    };
    // Nor does one that stands in a part among others to which the robot is known: it is near, and bends by itself.
    let is_known_among = |index: usize| {
        let narrow = (0..wide.judged).filter(|other| wide.candidates.binary_search(other).is_err());
        narrow.filter(|other| distance_is_known(state, candidates, index, *other)).nth(CONFIRMING - 1).is_some()
    };
    wide.part.clear();
    wide.part.extend(wide.candidates.iter().copied().filter(|index| is_part(*index) && !is_known_among(*index)));
    let mut kept = wide.candidates.iter().map(|index| wide.part.binary_search(index).is_ok());
    wide.measurements.retain(|_| kept.next().unwrap_or(false));
    std::mem::swap(&mut wide.candidates, &mut wide.part);
}

/// Landmarks that are begun without the error of the pose seem uncertain although they were just seen.
fn states_its_prior(filter: &Filter) -> bool {
    !matches!(filter.errors, Errors::World { initialization: Initialization::Independent, .. })
}

/// How far a landmark at `z` in the robot frame, with this covariance, is from where a linear motion of the robot has
/// it, m. Seen from r away, a shift by σ across the line of sight and by τ along it leaves the tangent by σ²/2r along
/// it and by στ/r across. A range that is vague although the direction is known is the landmark's own and not of a
/// robot that may be elsewhere: τ is taken to be σ at most.
fn bend(z: &Vector2<f64>, covariance: &Matrix2<f64>) -> Vector2<f64> {
    let range = z.norm().max(f64::MIN_POSITIVE);
    let along = z / range;
    let across = skew(&along);
    let std = |axis: &Vector2<f64>| axis.dot(&(covariance * axis)).max(0.0).sqrt();
    let (tau, sigma) = (std(&along), std(&across));
    (along * (0.5 * sigma) + across * tau.min(sigma)) * (sigma / range)
}

/// Whether an error of the prediction is larger than the noise of the measurement, on average over its numbers.
pub fn exceeds_noise(error: &Vector3<f64>, noise: &Matrix3<f64>, dim: usize) -> bool {
    mahalanobis_squared(error, noise, dim).is_none_or(|d| d > dim as f64)
}

/// Finds the robot by the measurements of `wide` that are of one part of the map. Others, and those that do not agree,
/// stay in [`Wide::candidates`].
fn find(state: &State, sensors: &Sensors, candidates: &[Match], wide: &mut Wide) -> Place {
    let mut open = keep_one_part(state, candidates, wide);
    let Some(fit) = displacement((sensors, &state.mounts), &wide.measurements) else { return Place::Open };
    let Some(covariance) = fit.information.try_inverse().filter(|_| fit.is_unique) else { return Place::Open };
    let shift = fit.motion.log();
    let (mut is_elsewhere, mut is_across, mut agreeing) = (false, false, 0);
    let mut first: Option<Vector2<f64>> = None;
    wide.members.clear();
    for ((z, measurement), index) in wide.measurements.iter().zip(&wide.part) {
        let seen = fit.motion.transform_back(z);
        let expect = |z: &Vector2<f64>| sensors.expect(&state.mounts, measurement, z, z);
        let (Some(here), Some(there)) = (expect(z), expect(&seen)) else {
            open.push(*index);
            continue;
        };
        let distance = mahalanobis_squared(&there.residual, &there.noise, there.dim);
        if distance.is_none_or(|distance| distance > AGREES * there.dim as f64) {
            open.push(*index);
            continue;
        }
        let by_motion = by_motion(&seen);
        let bend = bend(&seen, &(by_motion * covariance * by_motion.transpose()));
        if exceeds_noise(&(there.by_landmark * bend), &there.noise, there.dim) {
            return Place::Open;
        }
        agreeing += 1;
        if let Some(direction) = seen.try_normalize(1e-9) {
            is_across |= skew(first.get_or_insert(direction)).dot(&direction).abs() > ACROSS;
        }
        if let Subject::Landmark(i) = candidates[*index].subject {
            wide.members.push(i);
        }
        let linear = here.by_landmark * (self::by_motion(z) * shift);
        is_elsewhere |= exceeds_noise(&(here.residual - there.residual - linear), &here.noise, here.dim);
    }
    if agreeing < 2 {
        return Place::Open;
    }
    // Moving the robot forgets where the prior had it, and two landmarks one behind the other tell the place from its
    // mirror image by their bearings alone.
    if is_elsewhere && agreeing < CONFIRMING && !is_across {
        return Place::Open;
    }
    open.sort_unstable();
    if is_elsewhere
        && contradicting(state, sensors, &candidates[..wide.judged], (&wide.part, &open), &fit.motion) >= agreeing
    {
        // The robot is known among others of the same part: these measurements are left to them.
        open.extend_from_slice(&wide.part);
        open.sort_unstable();
        open.dedup();
        wide.candidates = open;
        return Place::Open;
    }
    wide.candidates = open;
    if is_elsewhere { Place::Elsewhere(fit.motion) } else { Place::Here }
}

/// How many measurements with a narrow prior, of the same part of the map, the motion would turn from right to wrong.
fn contradicting(
    state: &State,
    sensors: &Sensors,
    candidates: &[Match],
    (part, open): (&[usize], &[usize]),
    motion: &Se2,
) -> usize {
    let is_narrow = |index: &usize| part.binary_search(index).is_err() && open.binary_search(index).is_err();
    let is_beside = |index: usize| part.iter().any(|member| distance_is_known(state, candidates, index, *member));
    let is_wrong = |index: usize, z: &Vector2<f64>| {
        let measurement = &candidates[index].measurement;
        let expected = sensors.expect(&state.mounts, measurement, z, z);
        let distance = expected.and_then(|there| mahalanobis_squared(&there.residual, &there.noise, there.dim));
        distance.is_none_or(|distance| distance > AGREES * candidates[index].dim as f64)
    };
    let of_narrow = |index: &usize| match candidates[*index].subject {
        Subject::Landmark(i) => {
            let z = state.in_robot(i);
            is_beside(*index) && is_wrong(*index, &motion.transform_back(&z)) && !is_wrong(*index, &z)
        }
        Subject::Pose => false,
    };
    (0..candidates.len()).filter(is_narrow).filter(of_narrow).count()
}

/// Keeps the measurements of the largest part of the map whose distances from one landmark of it are known as well as
/// the measurements could tell, and gives back the indices of the rest. Only such a part moves as one body against the
/// robot.
fn keep_one_part(state: &State, candidates: &[Match], wide: &mut Wide) -> Vec<usize> {
    let is_known = |one: usize, other: usize| one == other || distance_is_known(state, candidates, one, other);
    let all = &wide.candidates;
    let count = |one: usize| all.iter().filter(|other| is_known(one, **other)).count();
    // Of equals the first.
    let seed = all.iter().rev().copied().max_by_key(|one| count(*one));
    let is_part = |index: usize| seed.is_some_and(|seed| is_known(seed, index));
    let open = all.iter().copied().filter(|index| !is_part(*index)).collect();
    let mut parts = all.iter().map(|index| is_part(*index));
    wide.measurements.retain(|_| parts.next().unwrap_or(false));
    wide.part.clear();
    wide.part.extend(all.iter().copied().filter(|index| is_part(*index)));
    open
}

/// The direction from one landmark to another, in the coordinates of the state, and the variance of their distance, m².
pub fn distance_variance(state: &State, i: usize, k: usize) -> Option<(Vector2<f64>, f64)> {
    let along = (state.landmarks[i].x - state.landmarks[k].x).try_normalize(1e-9)?;
    let block = |i: usize, k: usize| along.dot(&(state.covariance.landmark_block(i, k) * along));
    Some((along, block(i, i) + block(k, k) - 2.0 * block(i, k)))
}

/// Whether the distance of two landmarks is known to [`AGREES`] times the variance of their measurements. The distance
/// does not depend on where the robot is.
fn distance_is_known(state: &State, candidates: &[Match], one: usize, other: usize) -> bool {
    let (one, other) = (&candidates[one], &candidates[other]);
    let (Subject::Landmark(i), Subject::Landmark(k)) = (one.subject, other.subject) else { return false };
    let Some((along, variance)) = distance_variance(state, i, k) else { return false };
    variance <= AGREES * (variance_along(one, &along) + variance_along(other, &along))
}

/// The variance, m², with which a measurement tells where its landmark is along a direction; infinite where it does
/// not.
fn variance_along(matched: &Match, along: &Vector2<f64>) -> f64 {
    let change = matched.by_landmark * along;
    mahalanobis_squared(&change, &matched.stated_noise(), matched.dim)
        .map_or(f64::INFINITY, |information| 1.0 / information)
}

/// ∂z/∂ν of a landmark at z for a base that moves by Exp(ν): −[I, J z].
fn by_motion(z: &Vector2<f64>) -> Matrix2x3<f64> {
    let lever = skew(z);
    Matrix2x3::new(-1.0, 0.0, -lever.x, 0.0, -1.0, -lever.y)
}
