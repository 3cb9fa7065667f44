//! Landmarks whose place one reading does not determine: a range alone, a bearing alone.
//!
//! The first reading begins several features, the hypotheses, each a normal distribution in which the measurement is
//! nearly linear. They are in the joint covariance as any feature is, so that the motion of the robot between the
//! readings counts, with its noise. Further readings of the landmark correct each hypothesis, and nothing else:
//! which hypothesis is true is not known yet, so that none may move the robot. With w = P Hᵀ and S = H P Hᵀ + R, the
//! gain that is zero but in the rows h of the hypothesis, k = w_h/S, gives
//!
//! P_hh ← P_hh − w_h w_hᵀ/S, P_hr ← P_hr − w_h w_rᵀ/S, P_rr ← P_rr
//!
//! which is the covariance of the error of this correction (Schmidt's), however it was chosen. The weights of the
//! hypotheses are multiplied by the likelihoods of the readings. Improbable ones are dropped, ones that cannot be told
//! apart become one, and the last one that is left becomes the landmark. As long as there are two, a beacon and its
//! mirror image for a robot that drives straight on, both stay.

use super::covariance::Covariance;
use super::fixed_lag::Associated;
use super::gate::mahalanobis_squared;
use super::linearize::{Match, Subject, innovation_covariance, linearize};
use super::prune::make_room;
use super::sensor::{Reading, Sensors};
use super::state::{Feature, State};
use super::step::Model;
use super::{Coordinates, DropReason, Linearization};
use lienav_base::stamp::Stamp;
use nalgebra::{Matrix2, Matrix2x3, SymmetricEigen, Vector2};
use serde::{Deserialize, Serialize};

/// A hypothesis that is less probable than the best by this factor, as a logarithm, is dropped.
const IMPROBABLE: f64 = -10.0;
/// The probability that a reading says nothing about its landmark: a misread, a reflection.
const MISREAD: f64 = 0.02;
/// How far a misread may be off, in the standard deviations of the reading.
const MISREAD_WIDTH: f64 = 100.0;
/// The factor for the variance of readings of a landmark that may be in several places: what is linearized far from the
/// place tells less than it seems to.
const CAUTION: f64 = 2.0;
/// The largest error of linearization in the place that becomes a landmark, in standard deviations of the reading.
const BEND: f64 = 0.15;
/// The same in a place that stands for two.
const UNITED: f64 = 1.0;
/// The largest standard deviation of a place that becomes a landmark, as a part of its distance: from elsewhere the
/// measurement would not be linear over a larger one.
const SPREAD: f64 = 0.04;
/// Two hypotheses that are nearer than this, in standard deviations of their distance, cannot be told apart.
const ALIKE: f64 = 2.0;
/// A landmark is dropped after so many readings in a row that do not fit.
const WRONG: u8 = 30;
/// If so many others fit.
const OTHERS: usize = 2;
/// Two readings that differ by more than this, in standard deviations, beside the way between them, do not confirm each
/// other.
const CONFIRMED: f64 = 4.0;
/// After so many readings in a row that fit no hypothesis, none of them is true.
const MISFITS: u32 = 8;

/// Where a landmark may be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hypotheses {
    /// The landmark, as the front end calls it.
    pub id: u32,
    /// The features that stand for its places, by their identities, and the logarithms of their weights.
    members: Vec<(u32, f64)>,
    /// How many readings in a row fit none of them.
    misfits: u32,
    /// How many readings there were.
    readings: u32,
    /// The first reading, and where the robot was then, until a second one confirms it: there are no members before.
    #[serde(default)]
    unconfirmed: Option<(f64, Vector2<f64>)>,
}

/// What became of a reading of a landmark that is not in the map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It began hypotheses.
    Begun,
    /// It corrected hypotheses.
    Corrected,
}

/// Whether readings of this sensor begin landmarks by hypotheses.
pub fn is_hypothetical(sensors: &Sensors, reading: &Reading) -> bool {
    sensors.dim(reading) == 1 && !sensors.is_of_pose(reading)
}

/// Takes in a reading of a landmark that is not in the map.
///
/// # Errors
/// [`DropReason::UnknownLandmark`] for one without identity, [`DropReason::MapFull`], and [`DropReason::OutOfRange`]
/// where the sensor does not say where the landmark may be.
pub fn take(
    state: &mut State,
    model: &Model,
    id: Option<u32>,
    reading: &Reading,
    stamp: Stamp,
) -> Result<Taken, DropReason> {
    let Some(id) = id else {
        let says_where = !model.sensors.hypotheses(&state.mounts, reading).is_empty();
        return Err(if says_where { DropReason::UnknownLandmark } else { DropReason::OutOfRange });
    };
    state.hypotheses.retain(|known| !known.members.is_empty() || known.unconfirmed.is_some());
    let Some(at) = state.hypotheses.iter().position(|known| known.id == id) else {
        if model.sensors.may_be_late(reading) {
            let unconfirmed = Some((reading.value.x, state.pose.p));
            state.hypotheses.push(Hypotheses { id, members: Vec::new(), misfits: 0, readings: 0, unconfirmed });
            return Err(DropReason::Undetermined);
        }
        return begin(state, model, id, reading, stamp);
    };
    let mut set = state.hypotheses.swap_remove(at);
    if let Some((value, place)) = set.unconfirmed {
        // A reading that is too long begins nothing.
        let bound = CONFIRMED * reading.covariance[(0, 0)].sqrt() + (state.pose.p - place).norm();
        if !model.sensors.may_be_late(reading) || (reading.value.x - value).abs() <= bound {
            return begin(state, model, id, reading, stamp);
        }
        if reading.value.x < value {
            set.unconfirmed = Some((reading.value.x, state.pose.p));
        }
        state.hypotheses.push(set);
        return Err(DropReason::Undetermined);
    }
    set.members.retain(|(member, _)| state.find(*member).is_some());
    correct(state, model, &mut set, reading, stamp);
    if set.members.is_empty() || set.misfits >= MISFITS {
        set.members.iter().for_each(|(member, _)| drop_feature(state, *member));
        return begin(state, model, id, reading, stamp);
    }
    unite(state, model, &mut set, reading);
    if !promote(state, model, &set, reading) {
        state.hypotheses.push(set);
    }
    Ok(Taken::Corrected)
}

fn begin(state: &mut State, model: &Model, id: u32, reading: &Reading, stamp: Stamp) -> Result<Taken, DropReason> {
    let places = model.sensors.hypotheses(&state.mounts, reading);
    if places.is_empty() {
        return Err(DropReason::OutOfRange);
    }
    let first = state.features.len();
    for (z, covariance) in &places {
        if !make_room(state, &model.map, stamp) {
            (first..state.features.len()).rev().for_each(|i| state.swap_remove(i));
            return Err(DropReason::MapFull);
        }
        append(state, model, (z, covariance), reading, stamp);
    }
    // As many landmarks are to be expected in each as it has area: those far away on a line of sight stand for more.
    let weights = places.iter().map(|(_, covariance)| 0.5 * covariance.determinant().max(f64::MIN_POSITIVE).ln());
    let most = weights.clone().fold(f64::NEG_INFINITY, f64::max);
    let members = state.features[first..].iter().zip(weights).map(|(feature, weight)| (feature.id, weight - most));
    let members = members.collect();
    state.hypotheses.push(Hypotheses { id, members, misfits: 0, readings: 1, unconfirmed: None });
    Ok(Taken::Begun)
}

/// Takes note of readings of one number that the gate has left out. A landmark that they leave for so long, while most
/// others are where they were, is a wrong one, and is dropped: the next reading begins it anew.
pub fn note_misfits(state: &mut State, model: &Model, gated: &[Associated]) {
    for Associated { subject, reading, .. } in gated {
        let Subject::Feature(id) = *subject else { continue };
        if model.sensors.dim(reading) != 1 || state.is_frozen {
            continue;
        }
        let Some(i) = state.find(id) else { continue };
        state.features[i].misfits = state.features[i].misfits.saturating_add(1);
        let fit = state.features.iter().filter(|other| !other.is_hypothesis && other.misfits == 0).count();
        if state.features[i].misfits >= WRONG && fit >= OTHERS {
            state.swap_remove(i);
        }
    }
}

/// Adds the feature of a hypothesis at z, in the robot frame.
fn append(
    state: &mut State,
    model: &Model,
    (z, covariance): (&Vector2<f64>, &Matrix2<f64>),
    reading: &Reading,
    stamp: Stamp,
) {
    let id = state.new_identity();
    let (r, p_feature) = (state.pose.rotation(), state.pose.transform(z));
    let (x, own, turn) = match state.coordinates {
        Coordinates::Robot => (*z, *covariance, Matrix2::identity()),
        Coordinates::World | Coordinates::Invariant => (p_feature, r * covariance * r.transpose(), r),
    };
    let from_pose = match state.coordinates {
        Coordinates::World => super::state::lever(&(p_feature - state.pose.p)),
        Coordinates::Robot | Coordinates::Invariant => Matrix2x3::zeros(),
    };
    let feature = Feature {
        id,
        x,
        first: x,
        anchor: state.pose.p,
        is_vague: false,
        last_seen: stamp,
        observations: 1,
        wanted: stamp,
        // Corrections of a mapped feature use no chart: a hypothesis is as good as straight.
        is_mapped: true,
        is_hypothesis: true,
        misfits: 0,
    };
    state.append(feature, &from_pose, &own);
    let expected = model.sensors.expect(&state.mounts, reading, z, z);
    let Some((h, by_calibration)) = expected.and_then(|e| e.by_calibration.map(|c| (e.by_landmark, c))) else { return };
    // What a parameter does to the reading, the place does against it along the gradient.
    let gradient = h.row(0).transpose() / h.row(0).norm_squared();
    let columns = state.calibration.sensor().map(|(k, column)| (k, turn * gradient * -by_calibration[(0, column)]));
    state.covariance.add_to_feature(state.features.len() - 1, columns);
}

/// Corrects each hypothesis by a reading, and its weight by the likelihood; drops those that have become improbable.
fn correct(state: &mut State, model: &Model, set: &mut Hypotheses, reading: &Reading, stamp: Stamp) {
    let mut fits = false;
    for (member, weight) in &mut set.members {
        let Some(i) = state.find(*member) else { continue };
        let mut m = Match::new(Subject::Feature(i), reading);
        if !linearize(state, &model.sensors, &mut m, Linearization::Current) {
            *weight = f64::NEG_INFINITY;
            continue;
        }
        let std = m.noise[(0, 0)].sqrt();
        let (shift, spread) = bend(state, &model.sensors, reading, i);
        m.residual.x -= shift;
        m.noise[(0, 0)] = m.noise[(0, 0)] * CAUTION + spread;
        let covariance = innovation_covariance(state, &m);
        let Some(distance) = mahalanobis_squared(&m.residual, &covariance, 1) else {
            *weight = f64::NEG_INFINITY;
            continue;
        };
        let variance = covariance[(0, 0)];
        let trust = model.sensors.trust(reading, &m.residual, &covariance);
        let likelihood = (-0.5 * distance).exp() / variance.sqrt() / trust.max(1e-9);
        *weight += ((1.0 - MISREAD) * likelihood + MISREAD / (MISREAD_WIDTH * std)).ln();
        let feature = &mut state.features[i];
        feature.last_seen = stamp;
        feature.observations = feature.observations.saturating_add(1);
        if distance <= model.gate.known(1).min(25.0) && trust > 0.1 {
            fits = true;
            let inflated = model.gate.inflation(distance) / trust - 1.0;
            correct_alone(state, &m, i, variance + inflated * m.noise[(0, 0)]);
        }
    }
    set.misfits = if fits { 0 } else { set.misfits + 1 };
    set.readings = set.readings.saturating_add(1);
    let best = set.members.iter().map(|(_, weight)| *weight).fold(f64::NEG_INFINITY, f64::max);
    for (member, weight) in &mut set.members {
        *weight -= best;
        if weight.is_nan() || *weight < IMPROBABLE {
            drop_feature(state, *member);
        }
    }
    set.members.retain(|(member, _)| state.find(*member).is_some());
}

/// Corrects feature `i` by a match of it, and nothing else; `variance` is that of the innovation.
fn correct_alone(state: &mut State, m: &Match, i: usize, variance: f64) {
    let p = &state.covariance;
    let row = p.row_of(i);
    let column = |j: usize| {
        let mut sum = m.by_feature[(0, 0)] * p.get(row, j) + m.by_feature[(0, 1)] * p.get(row + 1, j);
        if m.sees_pose {
            sum += (0..3).map(|k| m.by_pose[(0, k)] * p.get(k, j)).sum::<f64>();
        }
        let calibration = state.calibration.sensor();
        sum + calibration.map(|(k, c)| m.by_calibration[(0, c)] * p.get(Covariance::calibration_row(k), j)).sum::<f64>()
    };
    let w: Vec<f64> = (0..p.dim()).map(column).collect();
    let own = Vector2::new(w[row], w[row + 1]);
    state.features[i].x += own * (m.residual.x / variance);
    state.covariance.correct_feature(i, &(own / variance), &w);
}

/// What a reading of feature `i` does beyond the first order, by the spread of the feature: the mean of the prediction
/// less the prediction of the mean, and the variance that linearization misses. Both from the predictions at two
/// standard deviations' worth of points along the axes of the covariance (unscented transform, exact to third order).
fn bend(state: &State, sensors: &Sensors, reading: &Reading, i: usize) -> (f64, f64) {
    const REACH: f64 = 1.732_050_807_568_877_2;
    let z = state.in_robot(i);
    let axes = SymmetricEigen::new(state.relative_covariance(i));
    let at =
        |point: &Vector2<f64>| sensors.expect(&state.mounts, reading, point, &z).map(|expected| expected.residual.x);
    let Some(here) = at(&z) else { return (0.0, 0.0) };
    let (mut shift, mut spread) = (0.0, 0.0);
    for k in 0..2 {
        let arm = axes.eigenvectors.column(k) * (REACH * axes.eigenvalues[k].max(0.0).sqrt());
        let (Some(ahead), Some(behind)) = (at(&(z + arm)), at(&(z - arm))) else { continue };
        // Residuals fall as predictions rise.
        let second = -(ahead + behind - 2.0 * here) / (REACH * REACH);
        shift += 0.5 * second;
        spread += 0.5 * second * second;
    }
    (shift, spread)
}

/// Makes one of hypotheses that cannot be told apart, where one normal distribution can stand for both.
fn unite(state: &mut State, model: &Model, set: &mut Hypotheses, reading: &Reading) {
    let mut a = 0;
    while a < set.members.len() {
        let mut b = a + 1;
        while b < set.members.len() {
            let [(first, w_a), (second, w_b)] = [set.members[a], set.members[b]];
            let (Some(i), Some(k)) = (state.find(first), state.find(second)) else { return };
            let share = w_a.exp() / (w_a.exp() + w_b.exp());
            if are_alike(state, (i, k), share) && stays_straight(state, model, (i, k), share, reading) {
                state.blend(i, k, share);
                drop_feature(state, second);
                set.members[a].1 = (w_a.exp() + w_b.exp()).ln();
                set.members.swap_remove(b);
            } else {
                b += 1;
            }
        }
        a += 1;
    }
    let best = set.members.iter().map(|(_, weight)| *weight).fold(f64::NEG_INFINITY, f64::max);
    set.members.iter_mut().for_each(|(_, weight)| *weight -= best);
}

fn are_alike(state: &State, (i, k): (usize, usize), share: f64) -> bool {
    let apart = state.features[k].x - state.features[i].x;
    let (one, other) = (state.relative_covariance(i), state.relative_covariance(k));
    let turn = match state.coordinates {
        Coordinates::Robot => Matrix2::identity(),
        Coordinates::World | Coordinates::Invariant => state.pose.rotation(),
    };
    let own = turn * (one * share + other * (1.0 - share)) * turn.transpose();
    own.try_inverse().is_some_and(|inverse| apart.dot(&(inverse * apart)) < ALIKE * ALIKE)
}

/// Whether the measurement is nearly linear over both hypotheses together.
fn stays_straight(state: &State, model: &Model, (i, k): (usize, usize), share: f64, reading: &Reading) -> bool {
    let (z_i, z_k) = (state.in_robot(i), state.in_robot(k));
    let mean = z_i * share + z_k * (1.0 - share);
    let at = |z: &Vector2<f64>| model.sensors.expect(&state.mounts, reading, z, &mean).map(|e| e.residual.x);
    let (Some(here), Some(one), Some(other)) = (at(&mean), at(&z_i), at(&z_k)) else { return false };
    let std = reading.covariance[(0, 0)].sqrt();
    let (_, first) = bend(state, &model.sensors, reading, i);
    let (_, second) = bend(state, &model.sensors, reading, k);
    (one + other - 2.0 * here).abs() < UNITED * std && first.max(second).sqrt() < UNITED * std
}

/// Makes a landmark of the last hypothesis, if the measurement is nearly linear there; says whether it did.
fn promote(state: &mut State, model: &Model, set: &Hypotheses, reading: &Reading) -> bool {
    let [(member, _)] = set.members[..] else { return false };
    let Some(i) = state.find(member) else { return true };
    let (shift, spread) = bend(state, &model.sensors, reading, i);
    let std = reading.covariance[(0, 0)].sqrt();
    let is_wide = state.relative_spread(i) > SPREAD * SPREAD * state.in_robot(i).norm_squared();
    if is_wide || (shift * shift + spread).sqrt() > BEND * std || set.readings < 3 {
        return false;
    }
    state.rename(i, set.id);
    let feature = &mut state.features[i];
    (feature.is_hypothesis, feature.observations) = (false, set.readings);
    feature.first = feature.x;
    true
}

fn drop_feature(state: &mut State, id: u32) {
    if let Some(i) = state.find(id) {
        state.swap_remove(i);
    }
}

impl Hypotheses {
    /// The most probable place, by the identity of its feature.
    pub fn best(&self) -> Option<u32> {
        self.members.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map(|(member, _)| *member)
    }

    /// How many places are left.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether its features are in the state.
    pub fn is_sound(&self, has: impl Fn(u32) -> bool) -> bool {
        self.members.iter().all(|(member, weight)| has(*member) && !weight.is_nan())
    }
}
