//! Several hypotheses of where the robot is in a known map, while readings without identity may be of several
//! landmarks.
//!
//! Each cloud has ways to be read ([`Ways`]), and each way makes a state of each one that there was. Its weight is that
//! of the one before, times the density of the innovations that it has used, times what the readings that it has left
//! out cost (multiple hypotheses; Reid 1979). States that are nearly one become the one that has the mean and the
//! covariance of both; the others live until later clouds tell them apart. Where every reading is clear there is one
//! way of one state, and this is the filter without hypotheses, to the last bit.

use crate::associate::Evidence;
use crate::associated::Associated;
use crate::config::{Association, MapMode};
use crate::estimator::Estimator;
use crate::filter::{Coordinates, Errors};
use crate::input::{FeatureKind, Observation};
use crate::model::Model;
use crate::motion::Increment;
use crate::noise::NoiseFactors;
use crate::output::DropReason;
use crate::propagate::{Rows, propagate};
use crate::retract::retract;
use crate::state::State;
use crate::step::{Input, Outcome, correct, predict};
use crate::ways::{Way, Ways, affordable, weigh};
use lienav_base::stamp::Stamp;
use lienav_lie::Se2;
use nalgebra::{Matrix2, Matrix3, Vector3};

/// So many hypotheses go on after a cloud, or less where the state is large.
const MOST: usize = 16;
/// One that is less likely than the best by this factor, as a logarithm, is given up: one in 22,000.
const GIVEN_UP: f64 = -10.0;
/// Hypotheses become one if the squared distance of their poses is less than this, by the covariance of the likelier
/// one.
const NEAR: f64 = 2.0;

/// A state, and what the last cloud has made of it.
#[derive(Clone, Debug)]
pub(super) struct Hypothesis {
    pub state: State,
    /// The logarithm of its weight beside the estimate's.
    weight: f64,
    outcome: Outcome,
    readings: Vec<Associated>,
    /// What it has learned of the noise, where that is learned.
    learned: Option<NoiseFactors>,
}

/// The hypotheses beside the estimate, and buffers, which keep their allocations.
#[derive(Default)]
pub(super) struct Hypotheses {
    pub others: Vec<Hypothesis>,
    children: Vec<Hypothesis>,
    spare: Vec<Hypothesis>,
    ways: Ways,
    noise: Vec<[f64; 3]>,
    merging: Merging,
}

/// Buffers of [`Hypothesis::absorb`]: how far apart, nothing, and what transports features.
type Merging = (Vec<f64>, Vec<f64>, Vec<Matrix2<f64>>);

impl Hypotheses {
    /// Gives up all but the estimate.
    pub fn clear(&mut self) {
        self.spare.append(&mut self.others);
    }

    /// Moves them as the estimate `best` was moved.
    pub fn propagate(&mut self, best: &State, motion: &Increment, model: &Model, rows: &mut Rows) {
        for Hypothesis { state, .. } in &mut self.others {
            let motion = motion.recalibrated(&best.calibration, &state.calibration);
            propagate(state, &motion, &model.filter, rows);
        }
    }
}

impl Estimator {
    /// Whether a cloud is taken as it may be read, and not as one rule says.
    pub(super) fn follows_hypotheses(&self, observations: &[Observation]) -> bool {
        let is_possible = self.model.map.mode == MapMode::Localization
            && self.model.association == Association::Unique
            && self.rows.record.is_none();
        is_possible && (!self.hypotheses.others.is_empty() || observations.iter().any(|o| o.id.is_none()))
    }

    /// Processes a cloud in all ways that it may be read, `motion` after the last. The likeliest hypothesis is the
    /// estimate then.
    pub(super) fn step_each(
        &mut self,
        motion: &Increment,
        stamp: Stamp,
        kind: FeatureKind,
        observations: &[Observation],
    ) -> Outcome {
        let Self { state, model, room, hypotheses, track_loss, learned, memory, .. } = self;
        let Hypotheses { others, ways, children, spare, noise, .. } = hypotheses;
        let left_out = |outcome: &mut Outcome, way: &Way| {
            let count = observations.len() - way.observations.len();
            outcome.refused.add_many(DropReason::Ambiguous, count as u64);
        };
        let is_alone = others.is_empty();
        let then = (!is_alone).then(|| state.calibration.clone());
        let mut rest = std::mem::take(others);
        children.clear();
        for parent in 0..=rest.len() {
            let (weight, state, learned) = match parent.checked_sub(1).and_then(|k| rest.get_mut(k)) {
                None => (0.0, &mut *state, &mut *learned),
                Some(other) => (other.weight, &mut other.state, &mut other.learned),
            };
            let motion = then.as_ref().map_or(*motion, |then| motion.recalibrated(then, &state.calibration));
            let input = Input { motion: &motion, stamp, evidence: Evidence::Observed { kind, observations, memory } };
            let before = state.pose;
            predict(state, model, &input, &mut room.rows);
            ways.find(state, model, kind, observations);
            if let ([way], true) = (ways.found(), is_alone) {
                let evidence = Evidence::Observed { kind, observations: &way.observations, memory };
                let input = Input { evidence, ..input };
                let mut outcome = correct((state, &before), model, &input, Some(track_loss), learned.as_mut(), room);
                left_out(&mut outcome, way);
                return outcome;
            }
            noise.clone_from(&room.rows.noise);
            for (k, way) in ways.found().iter().enumerate() {
                // One of them is enough to notice that the robot was carried away, of which all know nothing.
                let track_loss = (parent == 0 && k == 0).then_some(&mut *track_loss);
                let mut child = copy(state, learned.as_ref(), spare);
                room.rows.noise.clone_from(noise);
                let evidence = Evidence::Observed { kind, observations: &way.observations, memory };
                let input = Input { evidence, ..input };
                let pair = (&mut child.state, &before);
                child.outcome = correct(pair, model, &input, track_loss, child.learned.as_mut(), room);
                left_out(&mut child.outcome, way);
                let (matches, pivots) = room.last_update();
                let told =
                    if child.outcome.accepted == 0 { 0.0 } else { weigh(model, matches, child.outcome.nis, pivots) };
                child.weight = weight + told;
                child.readings.clone_from(&room.readings);
                children.push(child);
            }
        }
        spare.append(&mut rest);
        *others = rest;
        if let Some(found) = children.iter().position(|child| child.outcome.is_displaced) {
            // What the others say is of a place where the robot is not any more.
            children.swap(0, found);
            spare.extend(children.drain(1..));
        }
        self.keep_the_likeliest()
    }

    /// The children become the hypotheses: those that are nearly one are merged, and the likeliest is the estimate.
    fn keep_the_likeliest(&mut self) -> Outcome {
        let Self { state, model, room, hypotheses, learned, .. } = self;
        let Hypotheses { others, children, spare, merging, .. } = hypotheses;
        children.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        let highest = children.first().map_or(0.0, |best| best.weight);
        let most = affordable(state, MOST);
        for mut child in children.drain(..) {
            child.weight -= highest;
            let of_child = |into: &mut Hypothesis| into.absorb(&child, model.filter.errors, merging);
            let is_given_up = child.weight < GIVEN_UP || others.iter_mut().any(of_child) || others.len() == most;
            if is_given_up { spare.push(child) } else { others.push(child) }
        }
        others.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        if others.is_empty() {
            return Outcome::default();
        }
        let mut best = others.remove(0);
        std::mem::swap(state, &mut best.state);
        std::mem::swap(&mut room.readings, &mut best.readings);
        std::mem::swap(learned, &mut best.learned);
        others.iter_mut().for_each(|other| other.weight -= best.weight);
        let outcome = best.outcome;
        spare.push(best);
        outcome
    }

    /// How many hypotheses there are beside the estimate.
    pub fn other_hypotheses(&self) -> usize {
        self.hypotheses.others.len()
    }

    /// Pose and covariance after one more motion, of all hypotheses together.
    pub fn carried(&self, increment: &Increment) -> (Se2, Matrix3<f64>) {
        let (best, covariance) = self.state.carried(increment);
        if self.hypotheses.others.is_empty() {
            return (best, covariance);
        }
        let (mut whole, mut mean, mut square) = (1.0, Vector3::zeros(), covariance);
        for Hypothesis { state, weight, .. } in &self.hypotheses.others {
            let increment = increment.recalibrated(&self.state.calibration, &state.calibration);
            let (pose, covariance) = state.carried(&increment);
            let apart =
                Vector3::new(pose.p.x - best.p.x, pose.p.y - best.p.y, lienav_lie::wrap_angle(pose.theta - best.theta));
            let weight = weight.exp();
            whole += weight;
            mean += weight * apart;
            square += weight * (covariance + apart * apart.transpose());
        }
        mean /= whole;
        let pose = Se2 { p: best.p + mean.xy(), theta: best.theta + mean.z };
        (pose, square / whole - mean * mean.transpose())
    }
}

impl Hypothesis {
    /// Becomes the mixture with another child, if they are nearly one.
    fn absorb(&mut self, other: &Self, errors: Errors, (apart, rigid, blocks): &mut Merging) -> bool {
        let (state, from) = (&mut self.state, &other.state);
        let pose = match state.coordinates {
            Coordinates::Invariant => (from.pose * state.pose.inverse()).log(),
            Coordinates::World | Coordinates::Robot => {
                let turn = lienav_lie::wrap_angle(from.pose.theta - state.pose.theta);
                Vector3::new(from.pose.p.x - state.pose.p.x, from.pose.p.y - state.pose.p.y, turn)
            }
        };
        let Some(inverse) = state.covariance.pose_block().try_inverse() else { return false };
        if pose.dot(&(inverse * pose)) > NEAR || !has_the_same_features(state, from) {
            return false;
        }
        apart.clear();
        apart.extend(pose.iter());
        let active = state.calibration.active().iter();
        apart.extend(active.map(|p| from.calibration.get(*p) - state.calibration.get(*p)));
        let share = 1.0 / (1.0 + (self.weight - other.weight).exp());
        state.covariance.mix(&from.covariance, share, apart);
        apart.iter_mut().for_each(|d| *d *= share);
        apart.resize(state.covariance.dim(), 0.0);
        rigid.clear();
        rigid.resize(state.covariance.dim(), 0.0);
        retract(state, apart, rigid, errors, blocks);
        self.weight += (other.weight - self.weight).exp().ln_1p();
        true
    }
}

/// A hypothesis like a state, in the place of one that is not needed any more.
fn copy(state: &State, learned: Option<&NoiseFactors>, spare: &mut Vec<Hypothesis>) -> Hypothesis {
    match spare.pop() {
        Some(mut kept) => {
            kept.state.copy_from(state);
            match (&mut kept.learned, learned) {
                (Some(kept), Some(learned)) => kept.copy_from(learned),
                (kept, learned) => *kept = learned.cloned(),
            }
            kept
        }
        None => Hypothesis {
            state: state.clone(),
            weight: 0.0,
            outcome: Outcome::default(),
            readings: Vec::new(),
            learned: learned.cloned(),
        },
    }
}

fn has_the_same_features(one: &State, other: &State) -> bool {
    one.features.iter().map(|feature| feature.id).eq(other.features.iter().map(|feature| feature.id))
}
