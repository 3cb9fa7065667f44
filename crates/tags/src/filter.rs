//! The step of a filter that sees tags: `predict` moves the state, `correct` takes in what the cameras saw at an instant.
//!
//! Tags are taken in one after the other, by the posterior of the six numbers that each shows. Where the prior is wide
//! both poses of the square are tried; where both explain the corners, the tag is set aside until the others of the frame
//! were taken in, and not used if that does not decide.

use crate::agreement::Agreements;
use crate::choice::{NARROW, Weight, choose};
use crate::joint::Joint;
use crate::known::JointMap;
use crate::landmark::{self, KnownTag};
use crate::motion::ConstantVelocity;
use crate::moving::Moving;
use crate::posterior::{Columns, Posterior, by_place, maximize};
use crate::sight::{NUMBERS, Sight};
use crate::square::{Solutions, solve};
use crate::waiting::Waitings;
use lienav_inertial::chi_square::chi2_bound;
use lienav_inertial::filter::Filter;
use lienav_inertial::preintegration::Preintegrated;
use lienav_inertial::propagate::propagate;
use lienav_inertial::state::State;
use lienav_lie::{LieGroup, Se3};
use nalgebra::Matrix6;
use std::collections::{BTreeMap, BTreeSet};

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
    /// So many elements of the covariance are updated in a frame; of more tags than that allows, the largest are used.
    pub work: usize,
}

impl Default for TagOptions {
    /// Odds of 1000 to 1, and about a millisecond.
    fn default() -> Self {
        Self { gate: 0.999, odds: 13.8, most_tags: 120, work: 2_500_000 }
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
    /// What these have in common.
    pub joint_map: JointMap,
    /// The motion where no sensor measures it.
    pub motion: ConstantVelocity,
    /// Tags on bodies that move.
    pub moving: Moving,
    waiting: Waitings,
    /// How many frames in a row a tag failed the gate, and the last of them.
    rejected: BTreeMap<u64, (u32, u64)>,
    frame: u64,
    /// How known tags agree that are seen together.
    agreement: Agreements,
    /// Tags of the state of which it is not decided which of two poses is theirs.
    unclear: BTreeSet<u64>,
    order: Vec<usize>,
    aside: Vec<usize>,
    /// Tags that were removed in this frame.
    gone: Vec<u64>,
    columns: Columns,
    bound: f64,
    place_bound: f64,
    /// Sum of the costs of fits of single tags, each χ² of two degrees of freedom, and how many.
    fits: (f64, f64),
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

impl TagFilter {
    /// With tags whose places are known beforehand.
    pub fn new(known: BTreeMap<u64, KnownTag>, options: TagOptions) -> Self {
        let rows = lienav_inertial::covariance::NAV + 6 * options.most_tags;
        let mut columns = Columns::default();
        columns.reserve(rows);
        Self {
            filter: Filter::GROUP,
            options,
            known,
            joint_map: JointMap::default(),
            motion: ConstantVelocity::default(),
            moving: Moving::new(BTreeSet::new()),
            gone: Vec::with_capacity(MOST_SIGHTS),
            waiting: Waitings::new(),
            rejected: BTreeMap::new(),
            frame: 0,
            agreement: Agreements::default(),
            unclear: BTreeSet::new(),
            order: Vec::with_capacity(MOST_SIGHTS),
            aside: Vec::with_capacity(MOST_SIGHTS),
            columns,
            bound: chi2_bound(NUMBERS, options.gate),
            place_bound: chi2_bound(3, options.gate),
            fits: (2.0 * FIRST_FITS, FIRST_FITS),
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
        self.frame += 1;
        self.order.clear();
        for (k, sight) in sights.iter().enumerate().take(MOST_SIGHTS) {
            if self.is_known(state, sight.id) {
                self.order.push(k);
            }
        }
        // Those of the map first: others may be on something that moves. Then large ones: their poses are the clearest.
        // Behind them those of two poses, whose rotation shows nothing.
        let (unclear, known) = (&self.unclear, &self.known);
        let rank = |sight: &Sight| (unclear.contains(&sight.id), !known.contains_key(&sight.id));
        self.order.sort_by(|a, b| {
            let [a, b] = [&sights[*a], &sights[*b]];
            rank(a).cmp(&rank(b)).then(area(b).total_cmp(&area(a)))
        });
        self.aside.clear();
        self.gone.clear();
        self.agreement.begin_frame();
        let n = state.covariance.dim();
        self.order.truncate((self.options.work / (n * n)).max(LEAST_SIGHTS));
        for n in 0..self.order.len() {
            let k = self.order[n];
            match self.take(state, &sights[k], sights, false) {
                Outcome::Ambiguous => self.aside.push(k),
                outcome => self.count(state, &sights[k], &outcome, &mut corrected),
            }
        }
        for n in 0..self.aside.len() {
            let k = self.aside[n];
            let outcome = self.take(state, &sights[k], sights, true);
            self.count(state, &sights[k], &outcome, &mut corrected);
        }
        self.agreement.end_frame();
        if corrected.used > 0 && corrected.used >= corrected.gated {
            self.gone.iter().for_each(|id| self.moving.removed(*id));
        }
        for sight in sights.iter().take(MOST_SIGHTS) {
            if self.moving.contains(sight.id) {
                self.moving.follow(state, &sight.placed(state), self.frame, &self.filter);
            } else if !self.is_known(state, sight.id) {
                self.initialize(state, sight, sights, &mut corrected);
            }
        }
        corrected
    }

    /// Known tags whose stated places contradict each other, by [`Agreements::contradictions`].
    pub fn contradictions(&self) -> impl Iterator<Item = ([u64; 2], f64)> + '_ {
        self.agreement.contradictions()
    }

    fn is_known(&self, state: &State, id: u64) -> bool {
        self.known.contains_key(&id) || landmark::find(state, id).is_some()
    }

    fn count(&mut self, state: &mut State, sight: &Sight, outcome: &Outcome, corrected: &mut Corrected) {
        match outcome {
            Outcome::Used => {
                corrected.used += 1;
                if self.known.contains_key(&sight.id) {
                    self.agreement.used(sight.id);
                }
                self.unclear.remove(&sight.id);
                self.rejected.remove(&sight.id);
            }
            Outcome::Ambiguous => corrected.ambiguous += 1,
            Outcome::Unexplained => corrected.unexplained += 1,
            Outcome::Gated => {
                corrected.gated += 1;
                if let (Some(known), Some(solutions)) = (self.known.get(&sight.id), solve(sight)) {
                    let body = Se3::new(state.nav.rotation, state.nav.position);
                    let place = body.transform(&solutions.best.pose.translation);
                    self.agreement.gated(sight.id, (place - known.pose.translation).norm());
                }
                let (count, last) = self.rejected.entry(sight.id).or_default();
                // A board has several squares in a frame.
                *count += u32::from(*last != self.frame);
                *last = self.frame;
                if *count >= MOST_REJECTED && !self.known.contains_key(&sight.id) {
                    self.rejected.remove(&sight.id);
                    self.unclear.remove(&sight.id);
                    landmark::remove(state, sight.id);
                    self.gone.push(sight.id);
                    corrected.removed += 1;
                }
            }
        }
    }

    /// Takes in a tag of the state or of the map; of two poses, the others of the frame may decide.
    fn take(&mut self, state: &mut State, of: &Sight, all: &[Sight], is_last: bool) -> Outcome {
        let sight = &of.placed(state);
        if let (Some(known), None) = (self.known.get(&sight.id), landmark::find(state, sight.id))
            && !known.is_exact()
        {
            let stated = |id: u64| self.known.get(&id).copied();
            if !self.joint_map.append(state, sight.id, known, stated) {
                landmark::append_known(state, sight.id, known);
            }
        }
        let Some(joint) = self.joint(state, sight) else { return Outcome::Unexplained };
        let is_narrow = joint.rotation_sigma() < NARROW;
        let set_aside = |outcome: Outcome| if is_last { outcome } else { Outcome::Ambiguous };
        let found = match choose(sight, &joint, is_narrow, self.options.odds) {
            Some((found, None)) if is_narrow => found,
            Some((found, None)) => match self.weigh(state, of, &joint, &found, all) {
                weight if weight.is_contradicted() => return set_aside(Outcome::Gated),
                _ => found,
            },
            Some((one, Some(two))) => {
                let both = [one, two];
                let weights = both.map(|one| self.weigh(state, of, &joint, &one, all));
                let margin = both[1].cost + weights[1].cost - both[0].cost - weights[0].cost;
                let [is_first, is_second] = weights.map(|weight| !weight.is_contradicted());
                match (is_first, is_second) {
                    (true, _) if margin > self.options.odds => both[0],
                    (_, true) if margin < -self.options.odds => both[1],
                    (false, false) => return set_aside(Outcome::Gated),
                    _ if is_last => return self.take_place(state, sight, &joint, &both),
                    _ => return Outcome::Ambiguous,
                }
            }
            None => return Outcome::Unexplained,
        };
        if found.cost > self.bound {
            return Outcome::Gated;
        }
        self.columns.apply(state, &joint, &found, &self.filter);
        Outcome::Used
    }

    /// Takes in a tag whose pose is not clear from this frame: where former views decide, in that pose, else by its place.
    fn take_place(&mut self, state: &mut State, sight: &Sight, joint: &Joint, both: &[Posterior; 2]) -> Outcome {
        let Some(solutions) = solve(sight) else { return Outcome::Unexplained };
        let body = Se3::new(state.nav.rotation, state.nav.position);
        let odds = self.options.odds * self.noise();
        if let Some(fit) = self.waiting.decide(sight, &body, &solutions, odds) {
            let off = |one: &Posterior| (joint.pose(&one.y).0.rotation * fit.pose.rotation.inverse()).log().norm();
            let found = if off(&both[0]) <= off(&both[1]) { both[0] } else { both[1] };
            if found.cost > self.bound {
                return Outcome::Gated;
            }
            self.columns.apply(state, joint, &found, &self.filter);
            return Outcome::Used;
        }
        // Turned about by much, the place of a known tag says nothing that is linear in the pose of the body.
        let turn = (0..3).map(|k| state.covariance.get(k, k)).sum::<f64>().sqrt();
        if turn > TURNED && self.known.contains_key(&sight.id) {
            return Outcome::Ambiguous;
        }
        match by_place(&solutions, joint) {
            Some(found) if found.cost <= self.place_bound => {
                self.columns.apply(state, joint, &found, &self.filter);
                Outcome::Ambiguous
            }
            Some(_) => Outcome::Gated,
            None => Outcome::Unexplained,
        }
    }

    /// How well the corners of a tag fit its better pose shows how noisy they are.
    fn learn(&mut self, solutions: &Solutions) {
        /// A worse one is no tag.
        const WORST: f64 = 20.0;
        if solutions.best.cost < WORST {
            self.fits = (self.fits.0 + solutions.best.cost, self.fits.1 + 1.0);
        }
    }

    /// The variance of corners within an image in units of the stated one, which is of what stays from image to image as
    /// well. It counts fourfold: a lens that is not quite as calibrated bends a tag a little.
    fn noise(&self) -> f64 {
        const LEAST: f64 = 0.05;
        (4.0 * self.fits.0 / (2.0 * self.fits.1)).clamp(LEAST, 1.0)
    }

    /// What the corners of a tag of the state or of the map depend on.
    fn joint(&self, state: &State, sight: &Sight) -> Option<Joint> {
        match self.known.get(&sight.id).filter(|known| known.is_exact()) {
            Some(known) => Some(Joint::of_known(state, &known.pose, sight.mount)),
            None => landmark::find(state, sight.id).and_then(|tag| Joint::of_state(state, &tag, sight.mount)),
        }
    }

    /// What the other tags of the frame say of a posterior of one.
    fn weigh(&self, state: &State, sight: &Sight, joint: &Joint, found: &Posterior, all: &[Sight]) -> Weight {
        let mut weight = Weight::default();
        let Some(information) = found.information() else { return weight };
        let by = found.weights();
        let is_other = |other: &&Sight| !std::ptr::eq(*other, sight) && !self.unclear.contains(&other.id);
        for other in all.iter().take(MOST_SIGHTS).filter(is_other) {
            let Some(own) = self.joint(state, other) else { continue };
            let given = own.given(state, joint, &by, &information);
            let cost = given
                .and_then(|given| maximize(&other.placed(state), &given, &given.mean))
                .map_or(f64::INFINITY, |one| one.cost);
            weight.cost += cost.min(MOST_EVIDENCE);
            if cost <= self.bound {
                weight.agree += 1;
            } else {
                weight.contradict += 1;
            }
            if weight.agree + weight.contradict >= MOST_CONSULTED {
                break;
            }
        }
        weight
    }

    fn initialize(&mut self, state: &mut State, sight: &Sight, all: &[Sight], corrected: &mut Corrected) {
        /// A tag whose distance is not known to this part, or whose rotation not to this angle, waits.
        const CLEAR: (f64, f64) = (0.2, 0.3);
        /// Of one of two poses, the rotation is known to this angle.
        const EITHER: f64 = 1.0;
        let sight = &sight.placed(state);
        let is_full = state.landmarks.len() >= 2 * self.options.most_tags;
        let Some(solutions) = solve(sight).filter(|_| !is_full) else {
            corrected.unexplained += 1;
            return;
        };
        let body = Se3::new(state.nav.rotation, state.nav.position);
        self.learn(&solutions);
        let odds = self.options.odds * self.noise();
        let clear = self.waiting.decide(sight, &body, &solutions, odds);
        // Of a board, the other squares will decide.
        let is_board = || all.iter().any(|other| other.id == sight.id && other.on_tag != sight.on_tag);
        if clear.is_none() && is_board() {
            corrected.ambiguous += 1;
            return;
        }
        let covariance = match &clear {
            Some(fit) => fit.information.try_inverse(),
            None => solutions.place_covariance().map(|place| {
                let mut covariance = Matrix6::from_diagonal_element(EITHER * EITHER);
                covariance.fixed_view_mut::<3, 3>(0, 0).copy_from(&place);
                covariance
            }),
        };
        let Some(covariance) = covariance.filter(|c| c.cholesky().is_some()) else { return };
        let pose = clear.map_or(solutions.best.pose, |fit| fit.pose);
        let range = (pose.translation - sight.on_body.translation).norm();
        let spread = |row: usize| covariance.fixed_view::<3, 3>(row, row).trace().sqrt();
        if spread(0) < CLEAR.0 * range && (clear.is_none() || spread(3) < CLEAR.1) {
            let covariance = 0.5 * (covariance + covariance.transpose());
            landmark::append_seen(state, sight.id, &pose, &covariance, sight.mount);
            corrected.initialized += 1;
            if clear.is_none() {
                self.unclear.insert(sight.id);
            }
        }
        corrected.ambiguous += usize::from(clear.is_none());
    }
}

/// The rotation of a body is known to this at least where places of known tags are taken in, rad.
const TURNED: f64 = 0.5;

/// So many tags of an instant are used, if it has them, however large the state is.
const LEAST_SIGHTS: usize = 6;

/// Most tags of an instant.
const MOST_SIGHTS: usize = 300;

/// What a single tag tells at most against one of two hypotheses, as χ².
const MOST_EVIDENCE: f64 = 50.0;

/// So many other tags are consulted at most.
const MOST_CONSULTED: usize = 6;

/// The stated noise counts as much as so many fits.
const FIRST_FITS: f64 = 3.0;

/// Twice the area of a tag in the image, px².
fn area(sight: &Sight) -> f64 {
    let c = &sight.corners;
    (c[2] - c[0]).perp(&(c[3] - c[1])).abs()
}
