//! The step of a filter that sees tags: `predict` moves the state, `correct` takes in what the cameras saw at an instant.
//!
//! Tags are taken in one after the other, by the posterior of the six numbers that each shows. Where the prior is wide
//! both poses of the square are tried; where both explain the corners, the tag is set aside until the others of the frame
//! were taken in, and not used if that does not decide.

use super::joint::Joint;
use super::landmark::{self, KnownTag};
use super::motion::ConstantVelocity;
use super::posterior::{Columns, Posterior, maximize};
use super::sight::{NUMBERS, Sight};
use super::square::{Solutions, solve};
use super::waiting::Waitings;
use crate::chi_square::chi2_bound;
use crate::filter::Filter;
use crate::preintegration::Preintegrated;
use crate::propagate::propagate;
use crate::state::State;
use lienav_lie::{LieGroup, Se3};
use nalgebra::Vector6;
use std::collections::BTreeMap;

/// What is decided how.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TagOptions {
    /// Probability of the χ² gate that the corners of a tag must pass.
    pub gate: f64,
    /// A pose of a square is taken for the right one if its χ² is less than that of the other one by this much: twice
    /// the logarithm of the odds.
    pub odds: f64,
    /// A state with more tags takes in no new ones.
    pub most_tags: usize,
}

impl Default for TagOptions {
    /// Odds of 1000 to 1.
    fn default() -> Self {
        Self { gate: 0.999, odds: 13.8, most_tags: 120 }
    }
}

/// What a correction did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Corrected {
    /// Tags that were taken in.
    pub used: usize,
    /// Tags that failed the gate.
    pub gated: usize,
    /// Tags that were not used because both of their poses explain what was seen.
    pub ambiguous: usize,
    /// Tags whose corners no pose explains.
    pub unexplained: usize,
    /// Tags that were initialized.
    pub initialized: usize,
    /// Tags that were removed because they failed the gate again and again.
    pub removed: usize,
}

/// A filter that sees tags.
#[derive(Clone, Debug)]
pub struct TagFilter {
    /// Errors on the group, relative to the robot.
    pub filter: Filter,
    /// What is decided how.
    pub options: TagOptions,
    /// Tags whose places are known beforehand.
    pub known: BTreeMap<u64, KnownTag>,
    /// The motion where no sensor measures it.
    pub motion: ConstantVelocity,
    waiting: Waitings,
    rejected: BTreeMap<u64, u32>,
    order: Vec<usize>,
    aside: Vec<usize>,
    columns: Columns,
    bound: f64,
}

/// What became of a tag of a frame.
enum Outcome {
    Used,
    Gated,
    Ambiguous,
    Unexplained,
}

/// A tag that failed the gate so often in a row is not where the state has it.
const MOST_REJECTED: u32 = 5;

/// Where the rotation between body and tag is known to this, rad, one of the poses of a square is out of question.
const NARROW: f64 = 0.1;

impl TagFilter {
    /// With tags whose places are known beforehand.
    pub fn new(known: BTreeMap<u64, KnownTag>, options: TagOptions) -> Self {
        let rows = crate::covariance::NAV + 6 * options.most_tags;
        let mut columns = Columns::default();
        columns.reserve(rows);
        Self {
            filter: Filter::GROUP,
            options,
            known,
            motion: ConstantVelocity::default(),
            waiting: Waitings::new(),
            rejected: BTreeMap::new(),
            order: Vec::with_capacity(MOST_SIGHTS),
            aside: Vec::with_capacity(MOST_SIGHTS),
            columns,
            bound: chi2_bound(NUMBERS, options.gate),
        }
    }

    /// The state moves by what a sensor says of an interval.
    pub fn predict(&self, state: &mut State, increment: &Preintegrated) {
        propagate(state, increment, &self.filter);
    }

    /// The state moves by so many seconds, of which no sensor says anything.
    pub fn coast(&self, state: &mut State, seconds: f64) {
        if seconds > self.motion.memory_s {
            self.motion.forget(state);
        }
        propagate(state, &self.motion.interval(state, seconds), &self.filter);
    }

    /// The state takes in the tags of one instant; those that it does not have are initialized when their pose is clear.
    pub fn correct(&mut self, state: &mut State, sights: &[Sight]) -> Corrected {
        let mut corrected = Corrected::default();
        self.waiting.begin_frame();
        self.order.clear();
        for (k, sight) in sights.iter().enumerate().take(MOST_SIGHTS) {
            if self.is_known(state, sight.id) {
                self.order.push(k);
            }
        }
        // Large ones first: their poses are the clearest.
        self.order.sort_by(|a, b| area(&sights[*b]).total_cmp(&area(&sights[*a])));
        self.aside.clear();
        for n in 0..self.order.len() {
            let k = self.order[n];
            match self.take(state, &sights[k]) {
                Outcome::Ambiguous => self.aside.push(k),
                outcome => self.count(state, &sights[k], &outcome, &mut corrected),
            }
        }
        for n in 0..self.aside.len() {
            let k = self.aside[n];
            let outcome = self.take(state, &sights[k]);
            self.count(state, &sights[k], &outcome, &mut corrected);
        }
        for sight in sights.iter().take(MOST_SIGHTS) {
            if !self.is_known(state, sight.id) {
                self.initialize(state, sight, &mut corrected);
            }
        }
        corrected
    }

    fn is_known(&self, state: &State, id: u64) -> bool {
        self.known.contains_key(&id) || landmark::find(state, id).is_some()
    }

    fn count(&mut self, state: &mut State, sight: &Sight, outcome: &Outcome, corrected: &mut Corrected) {
        match outcome {
            Outcome::Used => {
                corrected.used += 1;
                self.rejected.remove(&sight.id);
            }
            Outcome::Ambiguous => corrected.ambiguous += 1,
            Outcome::Unexplained => corrected.unexplained += 1,
            Outcome::Gated => {
                corrected.gated += 1;
                let count = self.rejected.entry(sight.id).or_default();
                *count += 1;
                if *count >= MOST_REJECTED && !self.known.contains_key(&sight.id) {
                    self.rejected.remove(&sight.id);
                    landmark::remove(state, sight.id);
                    corrected.removed += 1;
                }
            }
        }
    }

    /// Takes in a tag of the state or of the map.
    fn take(&mut self, state: &mut State, sight: &Sight) -> Outcome {
        let known = self.known.get(&sight.id).copied();
        let joint = match known.filter(KnownTag::is_exact) {
            Some(known) => Some(Joint::of_known(state, &known.pose)),
            None => {
                if let (Some(known), None) = (known, landmark::find(state, sight.id)) {
                    landmark::append_known(state, sight.id, &known);
                }
                landmark::find(state, sight.id).and_then(|tag| Joint::of_state(state, &tag))
            }
        };
        let Some(joint) = joint else { return Outcome::Unexplained };
        match choose(sight, &joint, self.options.odds) {
            Choice::One(found) if found.cost <= self.bound => {
                self.columns.apply(state, &joint, &found, &self.filter);
                Outcome::Used
            }
            Choice::One(_) => Outcome::Gated,
            Choice::Two => Outcome::Ambiguous,
            Choice::None => Outcome::Unexplained,
        }
    }

    fn initialize(&mut self, state: &mut State, sight: &Sight, corrected: &mut Corrected) {
        /// A tag whose distance is not known to this part, or whose rotation not to this angle, waits.
        const CLEAR: (f64, f64) = (0.2, 0.3);
        let is_full = state.landmarks.len() >= 2 * self.options.most_tags;
        let Some(solutions) = solve(sight).filter(|_| !is_full) else {
            corrected.unexplained += 1;
            return;
        };
        let body = Se3::new(state.nav.rotation, state.nav.position);
        let Some(fit) = self.waiting.decide(sight, &body, &solutions, self.options.odds) else {
            corrected.ambiguous += 1;
            return;
        };
        let Some(covariance) = fit.information.try_inverse().filter(|c| c.cholesky().is_some()) else { return };
        let range = (fit.pose.translation - sight.on_body.translation).norm();
        let spread = |row: usize| covariance.fixed_view::<3, 3>(row, row).trace().sqrt();
        if spread(0) < CLEAR.0 * range && spread(3) < CLEAR.1 {
            landmark::append_seen(state, sight.id, &fit.pose, &(0.5 * (covariance + covariance.transpose())));
            corrected.initialized += 1;
        }
    }

    /// The pose of the body and its covariance of (ξ_R, ξ_p), by tags whose places are known alone; `None` where there
    /// are none, or their poses are not clear.
    pub fn locate(&self, sights: &[Sight]) -> Option<Se3> {
        let known = sights.iter().filter_map(|sight| Some((sight, self.known.get(&sight.id)?)));
        let mut all: Vec<(&Sight, &KnownTag, Solutions)> =
            known.filter_map(|(sight, known)| Some((sight, known, solve(sight)?))).collect();
        all.sort_by(|a, b| area(b.0).total_cmp(&area(a.0)));
        let costs = |pose: &Se3| -> f64 {
            let cost = |(sight, known, _): &(&Sight, &KnownTag, Solutions)| {
                let joint = Joint::alone(pose, &known.pose);
                // A tag that contradicts counts as one that is beyond the gate.
                maximize(sight, &joint, &Vector6::zeros()).map_or(LOST, |found| found.cost.min(LOST))
            };
            all.iter().map(cost).sum()
        };
        const LOST: f64 = 100.0;
        let mut found: Vec<(f64, Se3)> = Vec::new();
        for (_, known, solutions) in &all {
            for fit in [Some(solutions.best), solutions.other].into_iter().flatten() {
                let pose = known.pose * fit.pose.inverse();
                found.push((costs(&pose), pose));
            }
        }
        found.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (cost, pose) = *found.first()?;
        let is_other = |other: &Se3| (other.rotation * pose.rotation.inverse()).log().norm() > NARROW;
        let second = found.iter().find(|(_, other)| is_other(other)).map_or(f64::INFINITY, |(cost, _)| *cost);
        (second > cost + self.options.odds && cost < LOST).then_some(pose)
    }
}

/// Most tags of an instant.
const MOST_SIGHTS: usize = 300;

enum Choice {
    One(Posterior),
    Two,
    None,
}

/// The posterior of a tag; both poses of the square are tried where the prior does not rule one out.
fn choose(sight: &Sight, joint: &Joint, odds: f64) -> Choice {
    let zero = Vector6::zeros();
    let from_prior = maximize(sight, joint, &zero);
    if let (Some(found), true) = (from_prior, joint.rotation_sigma() < NARROW) {
        return Choice::One(found);
    }
    let Some(solutions) = solve(sight) else { return Choice::None };
    let starts = [Some(solutions.best), solutions.other].map(|fit| fit.map(|fit| joint.numbers_of(&fit.pose)));
    let mut found: Vec<Posterior> = Vec::with_capacity(3);
    found.extend(starts.into_iter().flatten().filter_map(|start| maximize(sight, joint, &start)));
    found.extend(from_prior);
    found.sort_by(|a, b| a.cost.total_cmp(&b.cost));
    let Some(best) = found.first() else { return Choice::None };
    let rotation = |one: &Posterior| joint.pose(&one.y).0.rotation;
    let is_other = |one: &&Posterior| (rotation(one) * rotation(best).inverse()).log().norm() > 0.5 * NARROW;
    match found.iter().find(is_other) {
        Some(other) if other.cost < best.cost + odds => Choice::Two,
        _ => Choice::One(*best),
    }
}

/// Twice the area of a tag in the image, px².
fn area(sight: &Sight) -> f64 {
    let c = &sight.corners;
    (c[2] - c[0]).perp(&(c[3] - c[1])).abs()
}
