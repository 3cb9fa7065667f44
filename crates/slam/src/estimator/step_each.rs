//! One step of all hypotheses of where the robot is in a known map.

use crate::estimator::Estimator;
use crate::estimator::hypotheses::{Hypotheses, Hypothesis};
use crate::noise_estimation::NoiseFactors;
use crate::step::{Outcome, correct, predict};
use lienav_associate::associate::{Evidence, Input};
use lienav_associate::pose_hypotheses::{PoseHypothesis, affordable, weigh};
use lienav_base::stamp::Stamp;
use lienav_lie::Se2;
use lienav_planar::config::{Association, MapMode};
use lienav_planar::input::{Measurement, MeasurementKind};
use lienav_planar::motion::Increment;
use lienav_planar::output::DropReason;
use lienav_planar::state::State;
use lienav_planar::without::Mechanism;
use nalgebra::Matrix3;
use nalgebra::Vector3;

impl Estimator {
    /// Whether a scan is taken as it may be read, and not as one rule says.
    pub fn follows_hypotheses(&self, measurements: &[Measurement]) -> bool {
        let is_possible = !self.model.without.has(Mechanism::PoseHypotheses)
            && self.model.map.mode == MapMode::Localization
            && self.model.association == Association::Auto
            && self.rows.record.is_none();
        is_possible && (!self.hypotheses.others.is_empty() || measurements.iter().any(|o| o.id.is_none()))
    }

    /// Processes a scan in all ways that it may be read, `motion` after the last. The likeliest hypothesis is the
    /// estimate then.
    pub fn step_each(
        &mut self,
        motion: &Increment,
        stamp: Stamp,
        kind: MeasurementKind,
        measurements: &[Measurement],
    ) -> Outcome {
        let Self { state, model, workspace, hypotheses, track_loss, learned, memory, learns_noise, .. } = self;
        let learns_noise = *learns_noise;
        let Hypotheses { others, pose_hypotheses, children, spare, noise, .. } = hypotheses;
        let left_out = |outcome: &mut Outcome, pose_hypothesis: &PoseHypothesis| {
            let count = measurements.len() - pose_hypothesis.measurements.len();
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
            let input = Input { motion: &motion, stamp, evidence: Evidence::Observed { kind, measurements, memory } };
            let before = state.pose;
            predict(state, model, &input, &mut workspace.rows);
            pose_hypotheses.find(state, model, kind, measurements);
            if let ([pose_hypothesis], true) = (pose_hypotheses.found(), is_alone) {
                let evidence = Evidence::Observed { kind, measurements: &pose_hypothesis.measurements, memory };
                let input = Input { evidence, ..input };
                let learned = learned.as_mut().filter(|_| learns_noise);
                let mut outcome = correct((state, &before), model, &input, Some(track_loss), learned, workspace);
                left_out(&mut outcome, pose_hypothesis);
                return outcome;
            }
            noise.clone_from(&workspace.rows.noise);
            for (k, pose_hypothesis) in pose_hypotheses.found().iter().enumerate() {
                // One of them is enough to notice that the robot was carried away, of which all know nothing.
                let track_loss = (parent == 0 && k == 0).then_some(&mut *track_loss);
                let mut child = copy(state, learned.as_ref(), spare);
                workspace.rows.noise.clone_from(noise);
                let evidence = Evidence::Observed { kind, measurements: &pose_hypothesis.measurements, memory };
                let input = Input { evidence, ..input };
                let pair = (&mut child.state, &before);
                let learned = child.learned.as_mut().filter(|_| learns_noise);
                child.outcome = correct(pair, model, &input, track_loss, learned, workspace);
                left_out(&mut child.outcome, pose_hypothesis);
                let (matches, pivots) = workspace.last_update();
                let log_ratio =
                    if child.outcome.accepted == 0 { 0.0 } else { weigh(model, matches, child.outcome.nis, pivots) };
                child.weight = weight + log_ratio;
                child.measurements.clone_from(&workspace.measurements);
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
        /// So many hypotheses go on after a scan, or less where the state is large.
        const MOST: usize = 16;
        /// One that is less likely than the best by this factor, as a logarithm, is given up: one in 22,000.
        const GIVEN_UP: f64 = -10.0;
        let Self { state, model, workspace, hypotheses, learned, .. } = self;
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
        std::mem::swap(&mut workspace.measurements, &mut best.measurements);
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
            measurements: Vec::new(),
            learned: learned.cloned(),
        },
    }
}
