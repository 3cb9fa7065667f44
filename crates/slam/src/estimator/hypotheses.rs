//! Several hypotheses of where the robot is in a known map, while readings without identity may be of several landmarks.
//!
//! Each cloud has ways to be read ([`Ways`]), and each way makes a state of each one that there was. Its weight is that
//! of the one before, times the density of the innovations that it has used, times what the readings that it has left
//! out cost (multiple hypotheses; Reid 1979). States that are nearly one become the one that has the mean and the
//! covariance of both; the others live until later clouds tell them apart. Where every reading is clear there is one way
//! of one state, and this is the filter without hypotheses, to the last bit.

use super::Estimator;
use crate::associate::Evidence;
use crate::fixed_lag::Associated;
use crate::motion::Increment;
use crate::propagate::{Rows, propagate};
use crate::retract::retract;
use crate::state::State;
use crate::step::{Input, Model, Outcome, correct, predict};
use crate::ways::{Way, Ways, weigh};
use crate::{Association, Coordinates, Discretization, DropReason, Errors, FeatureKind, MapMode, Observation};
use lienav_base::stamp::Stamp;
use lienav_lie::Se2;
use nalgebra::{Matrix2, Matrix3, Vector3};

/// So many hypotheses go on after a cloud.
const MOST: usize = 8;
/// One that is less likely than the best by this factor, as a logarithm, is given up: one in a thousand.
const GIVEN_UP: f64 = -7.0;
/// Hypotheses become one if the squared distance of their poses is less than this, by the covariance of either.
const NEAR: f64 = 0.5;

/// A state, and the logarithm of its weight beside the estimate's.
#[derive(Clone, Debug)]
pub(super) struct Hypothesis {
    pub state: State,
    pub weight: f64,
}

/// What a way of a cloud has made of a hypothesis.
struct Child {
    state: State,
    weight: f64,
    outcome: Outcome,
    readings: Vec<Associated>,
}

/// The hypotheses beside the estimate, and buffers, which keep their allocations.
#[derive(Default)]
pub(super) struct Hypotheses {
    pub others: Vec<Hypothesis>,
    ways: Ways,
    children: Vec<Child>,
    spare: Vec<State>,
    noise: Vec<[f64; 3]>,
    kept: Vec<Child>,
    merging: Merging,
}

/// Buffers of [`Child::absorb`]: how far apart, nothing, and what transports features.
type Merging = (Vec<f64>, Vec<f64>, Vec<Matrix2<f64>>);

impl Hypotheses {
    /// Gives up all but the estimate.
    pub fn clear(&mut self) {
        self.spare.extend(self.others.drain(..).map(|other| other.state));
    }

    /// Moves them as the estimate `best` was moved.
    pub fn settle(&mut self, best: &State, motion: &Increment, model: &Model, rows: &mut Rows) {
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
            && self.model.filter.discretization() == Discretization::Exponential
            && self.rows.record.is_none();
        is_possible && (!self.hypotheses.others.is_empty() || observations.iter().any(|o| o.id.is_none()))
    }

    /// Processes a cloud in all ways that it may be read, `motion` after the last. The likeliest hypothesis is the estimate
    /// then.
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
        let then = state.calibration.clone();
        let is_alone = others.is_empty();
        let mut rest = std::mem::take(others);
        children.clear();
        for parent in 0..=rest.len() {
            let (weight, state) = match parent.checked_sub(1).and_then(|k| rest.get_mut(k)) {
                None => (0.0, &mut *state),
                Some(other) => (other.weight, &mut other.state),
            };
            let motion = if parent == 0 { *motion } else { motion.recalibrated(&then, &state.calibration) };
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
            for way in ways.found() {
                let mut state = match spare.pop() {
                    Some(mut kept) => {
                        kept.copy_from(state);
                        kept
                    }
                    None => state.clone(),
                };
                room.rows.noise.clone_from(noise);
                let evidence = Evidence::Observed { kind, observations: &way.observations, memory };
                let input = Input { evidence, ..input };
                let mut outcome = correct((&mut state, &before), model, &input, None, None, room);
                left_out(&mut outcome, way);
                let (matches, pivots) = room.last_update();
                let told = if matches.is_empty() { 0.0 } else { weigh(model, matches, outcome.nis, pivots) };
                children.push(Child { state, weight: weight + told, outcome, readings: room.readings.clone() });
            }
        }
        spare.extend(rest.drain(..).map(|other| other.state));
        *others = rest;
        self.keep_the_likeliest()
    }

    /// The children become the hypotheses: those that are nearly one are merged, and the likeliest is the estimate.
    fn keep_the_likeliest(&mut self) -> Outcome {
        let Self { state, model, room, hypotheses, .. } = self;
        let Hypotheses { others, children, kept, spare, merging, .. } = hypotheses;
        children.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        let highest = children.first().map_or(0.0, |best| best.weight);
        for mut child in children.drain(..) {
            child.weight -= highest;
            let of_child = |into: &mut Child| into.absorb(&child, model.filter.errors, merging);
            let is_given_up = child.weight < GIVEN_UP || kept.iter_mut().any(of_child) || kept.len() == MOST;
            if is_given_up {
                spare.push(child.state);
            } else {
                kept.push(child);
            }
        }
        kept.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        let mut kept = kept.drain(..);
        let Some(best) = kept.next() else { return Outcome::default() };
        spare.push(std::mem::replace(state, best.state));
        room.readings = best.readings;
        others.extend(kept.map(|child| Hypothesis { state: child.state, weight: child.weight - best.weight }));
        best.outcome
    }

    /// Pose and covariance after one more motion, of all hypotheses together.
    pub fn carried(&self, increment: &Increment) -> (Se2, Matrix3<f64>) {
        let (best, covariance) = self.state.carried(increment);
        if self.hypotheses.others.is_empty() {
            return (best, covariance);
        }
        let (mut whole, mut mean, mut square) = (1.0, Vector3::zeros(), covariance);
        for Hypothesis { state, weight } in &self.hypotheses.others {
            let increment = increment.recalibrated(&self.state.calibration, &state.calibration);
            let (pose, covariance) = state.carried(&increment);
            let apart = Vector3::new(
                pose.p.x - best.p.x,
                pose.p.y - best.p.y,
                lienav_lie::wrap_angle(pose.theta - best.theta),
            );
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

impl Child {
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

fn has_the_same_features(one: &State, other: &State) -> bool {
    one.features.iter().map(|feature| feature.id).eq(other.features.iter().map(|feature| feature.id))
}
