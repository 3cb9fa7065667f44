//! Global localization: where in a known map is a robot that knows neither its pose nor which landmark it sees?
//!
//! 1. **Constellation.** Scans are joined by odometry to a local map in the base frame: landmarks, each once, with
//!    their joint covariance. It needs no pose.
//! 2. **Votes.** Two landmarks of it are as far apart as two of the map: each such pair gives a rigid motion. The other
//!    landmarks say which motions are worth a look.
//! 3. **Weights.** A motion is fitted with all landmarks that match it, and weighed: by the fit, by what matches
//!    nothing, and by what the map has in view and was not seen.
//! 4. **Verdict.** Weights are compared with each other and with that of a place that is not in the map at all. A pose
//!    is [`Found`](Verdict::Found) if it has all but 10⁻³ of the sum, for several scans, with several landmarks.
//!
//! `docs/global-localization.md` has the equations and measurements.

mod config;
mod constellation;
mod hypothesis;
mod identify;
mod index;
mod search;
mod sighting;
#[cfg(test)]
mod tests;
mod visibility;

use crate::{LandmarkMap, LandmarkMapError};
pub use config::FinderConfig;
use constellation::{Constellation, STALE};
use hypothesis::{Evidence, Fit, Judgement, Matches, Past, log_sum};
use index::MapIndex;
use lienav_lie::{Se2, wrap_angle};
use nalgebra::Matrix3;
use search::Proposal;
pub use sighting::{Displacement, Sighting};
use visibility::{Detection, Views};

/// A pose that the robot may have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// Of the base in the map frame.
    pub pose: Se2,
    /// Covariance of (x, y, θ) in the map frame, m and rad.
    pub covariance: Matrix3<f64>,
    /// Its share of the probability; the rest is that of others, and of places that are not among them.
    pub probability: f64,
    /// How many landmarks it explains.
    pub landmarks: usize,
}

/// What the evidence comes to so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    /// Not enough was seen.
    Searching,
    /// The robot is at one of the candidates, and nothing that was seen tells which.
    Ambiguous,
    /// The robot is here.
    Found(Candidate),
    /// What was seen is not in this map.
    Nothing,
}

/// Landmarks of the constellation that are kept: enough to tell places apart, few enough for a scan to take
/// milliseconds.
const MAX_LANDMARKS: usize = 24;
/// Pairs of the map that are indexed.
const MAX_PAIRS: usize = 200_000;
/// Motions that are tried for one scan, and those of them that are fitted.
const MOST_TRIED: usize = 6000;
const MOST_FITTED: usize = 48;
/// A hypothesis goes if its weight is less than this share of the greatest, as a logarithm.
const NEGLIGIBLE: f64 = -16.0;
/// Pairs of the constellation that have to be swept before a pose can be found: if one has a landmark that the map has
/// not, others have none.
const SWEEPS: u32 = 3;
/// Sweeps that are remembered: a landmark is in three of the pairs at most.
const MEMORY: usize = 6;
/// Without identities, this many landmarks have to be seen before they contradict the map.
const MIN_CONTRADICTION: usize = 8;
/// A motion of which less is known says nothing about where the constellation is, m and rad.
const MAX_MOTION_STD_M: f64 = 3.0;
const MAX_MOTION_STD_RAD: f64 = 0.3;

/// Finds a robot in a map.
///
/// The same input gives the same output. Work and memory are bounded: with the default configuration a scan takes at
/// most 6000 motions with 24 landmarks each, and 240 fits with 48.
#[derive(Clone, Debug)]
pub struct Finder {
    config: FinderConfig,
    index: MapIndex,
    constellation: Constellation,
    detection: Detection,
    views: Views,
    hypotheses: Vec<Hypothesis>,
    /// Which base is swept next, and from which pair on.
    turn: (usize, usize),
    /// Sweeps over all of the map that have ended.
    sweeps: u32,
    /// The log weight of motions that each of the last sweeps had no room for, the newest last: a sweep from a pair
    /// with a landmark that is not in the map sees none of them.
    left_out: [f64; MEMORY],
    /// Whether poses were left out when evidence went into the past that could have spoken for them.
    is_past_partial: bool,
    /// For how many scans in a row the best one has been as good as certain.
    certain: u32,
    next_number: u64,
    candidates: Vec<Candidate>,
    elsewhere: f64,
    verdict: Verdict,
}

/// A pose that is followed.
#[derive(Clone, Debug)]
struct Hypothesis {
    number: u64,
    fit: Fit,
    matches: Matches,
    named: usize,
    /// Log weight by what is in the constellation and in the views.
    log_present: f64,
    /// What has left them.
    past: Past,
    /// Log weight for a past in which it was not followed.
    log_benefit: f64,
}

impl Hypothesis {
    fn log_weight(&self) -> f64 {
        self.log_present + self.log_past()
    }

    fn log_past(&self) -> f64 {
        self.log_benefit + self.past.log_matched(&self.matches)
    }
}

impl Finder {
    /// For a map.
    ///
    /// # Errors
    /// Those of [`LandmarkMap::check`].
    pub fn new(map: &LandmarkMap, config: FinderConfig) -> Result<Self, LandmarkMapError> {
        let index = MapIndex::new(map, MAX_PAIRS)?;
        Ok(Self {
            config,
            index,
            constellation: Constellation::default(),
            detection: Detection::new(config.detection_probability, config.max_range_m, config.field_of_view_rad),
            views: Views::default(),
            hypotheses: Vec::new(),
            turn: (0, 0),
            sweeps: 0,
            left_out: [f64::NEG_INFINITY; MEMORY],
            is_past_partial: false,
            certain: 0,
            next_number: 0,
            candidates: Vec::new(),
            elsewhere: 1.0,
            verdict: Verdict::Searching,
        })
    }

    /// Forgets everything but the map, and what was learned of the sensor.
    pub fn restart(&mut self) {
        self.constellation = Constellation::default();
        self.views = Views::default();
        self.hypotheses.clear();
        (self.turn, self.sweeps, self.certain) = ((0, 0), 0, 0);
        self.left_out = [f64::NEG_INFINITY; MEMORY];
        self.is_past_partial = false;
        self.judge();
    }

    /// What the evidence comes to so far.
    pub fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// The poses that the robot may have, the most probable first.
    pub fn candidates(&self) -> &[Candidate] {
        &self.candidates
    }

    /// The probability that the robot is at none of them: elsewhere in the map, or not in it.
    pub fn elsewhere(&self) -> f64 {
        self.elsewhere
    }

    /// The robot has moved by `step` since the last scan, and sees this one. Measurements with numbers that are not
    /// finite or a covariance that is not positive definite are left out.
    pub fn observe(&mut self, step: &Displacement, sightings: &[Sighting]) -> Verdict {
        self.carry(step);
        let (sightings, horizon_m) = self.usable(sightings);
        let detection = &self.detection;
        let (outcome, ignored_m) = self.constellation.take(&sightings, MAX_LANDMARKS, |place| detection.at(place));
        let horizon_m = horizon_m.min(ignored_m);
        self.views.add(horizon_m);
        for (place, is_seen) in outcome.iter().filter(|(place, _)| place.norm() < horizon_m) {
            self.detection.learn(place, *is_seen);
        }
        let mut hypotheses = std::mem::take(&mut self.hypotheses);
        hypotheses.retain_mut(|hypothesis| self.weigh(hypothesis));
        self.hypotheses = hypotheses;
        self.sweep();
        self.make_room();
        self.select();
        self.judge();
        self.verdict
    }

    fn carry(&mut self, step: &Displacement) {
        let variances = step.covariance.diagonal();
        let is_known = variances.x.max(variances.y) < MAX_MOTION_STD_M * MAX_MOTION_STD_M
            && variances.z < MAX_MOTION_STD_RAD * MAX_MOTION_STD_RAD
            && step.motion.p.iter().all(|x| x.is_finite());
        if !is_known {
            self.restart();
            return;
        }
        self.constellation.carry(step);
        self.views.carry(step);
        for hypothesis in &mut self.hypotheses {
            hypothesis.fit.pose = hypothesis.fit.pose * step.motion;
        }
    }

    /// The sightings that can be used, in an order of their own, and how far they reach if that is not all.
    fn usable(&self, sightings: &[Sighting]) -> (Vec<Sighting>, f64) {
        let is_usable = |sighting: &&Sighting| {
            let Sighting { position, covariance, .. } = sighting;
            let is_finite = position.iter().chain(covariance).all(|x| x.is_finite());
            is_finite && covariance[(0, 0)] > 0.0 && covariance.determinant() > 0.0 && position.norm() < 1e6
        };
        let mut usable: Vec<Sighting> = sightings.iter().filter(is_usable).copied().collect();
        let key = |sighting: &Sighting| (sighting.position.norm(), sighting.position.x, sighting.position.y);
        usable.sort_by(|one, other| {
            let (one_key, other_key) = (key(one), key(other));
            let by_place = one_key.0.total_cmp(&other_key.0).then(one_key.1.total_cmp(&other_key.1));
            by_place.then(one_key.2.total_cmp(&other_key.2)).then(one.id.cmp(&other.id))
        });
        if usable.len() <= self.config.max_sightings {
            return (usable, f64::INFINITY);
        }
        usable.truncate(self.config.max_sightings);
        let horizon_m = usable.last().map_or(0.0, |sighting| sighting.position.norm());
        (usable, horizon_m)
    }

    fn evidence(&self) -> Evidence<'_> {
        Evidence {
            index: &self.index,
            constellation: &self.constellation,
            detection: &self.detection,
            views: &self.views,
            unmapped: self.config.unmapped,
            repeating: self.config.repeating,
            area: self.index.area(self.detection.reach().max(1.0)),
        }
    }

    /// Drops what constellation and views have no room for. What it said stays in the weights: of landmarks that have
    /// gone out of view what they were worth, of views what was not seen.
    fn make_room(&mut self) {
        let surplus = self.constellation.surplus(MAX_LANDMARKS);
        let stale: Vec<usize> =
            surplus.iter().copied().filter(|i| self.constellation.tracks[*i].unseen >= STALE).collect();
        let view = self.views.surplus().copied();
        if !stale.is_empty() || view.is_some() {
            let best = self.hypotheses.iter().map(Hypothesis::log_weight).fold(0.0, f64::max);
            self.is_past_partial |= self.log_left_out() > best + self.config.doubt.ln();
        }
        let mut hypotheses = std::mem::take(&mut self.hypotheses);
        let (evidence, mut unseen) = (self.evidence(), Vec::new());
        for hypothesis in &mut hypotheses {
            let pose = hypothesis.fit.pose;
            for &(i, k) in hypothesis.matches.iter().filter(|(i, _)| stale.contains(i)) {
                if let Some(worth) = evidence.log_worth(&pose, i, k) {
                    hypothesis.past.keep_match(k, worth);
                }
            }
            if let Some(view) = &view {
                unseen.clear();
                evidence.unseen(&pose, view, &evidence.excused(&pose, &hypothesis.matches), &mut unseen);
                hypothesis.past.keep_unseen(&unseen);
            }
        }
        self.hypotheses = hypotheses;
        surplus.iter().for_each(|i| self.constellation.remove(*i));
        if view.is_some() {
            self.views.drop_oldest();
        }
        if !surplus.is_empty() {
            let mut hypotheses = std::mem::take(&mut self.hypotheses);
            hypotheses.retain_mut(|hypothesis| self.weigh(hypothesis));
            self.hypotheses = hypotheses;
        }
    }

    /// What the past says of a pose that was not followed then: nothing, unless poses had to be left out that the past
    /// may have said as much of as of the best.
    fn log_past_of_others(&self) -> f64 {
        if !self.is_past_partial {
            return 0.0;
        }
        self.hypotheses.iter().map(Hypothesis::log_past).fold(0.0, f64::max)
    }

    /// Weighs a hypothesis by all that is there now, and says whether it still is one.
    fn weigh(&self, hypothesis: &mut Hypothesis) -> bool {
        let Fit { pose, relative, .. } = hypothesis.fit;
        let Some(judgement) = self.evidence().judge(&pose, &relative, &hypothesis.past) else { return false };
        let Judgement { fit, matches, log_weight, named } = judgement;
        (hypothesis.fit, hypothesis.matches, hypothesis.named) = (fit, matches, named);
        hypothesis.log_present = log_weight;
        true
    }

    /// Looks for poses that are not followed yet.
    fn sweep(&mut self) {
        let bases = search::bases(&self.constellation, &self.index);
        let (turn, first) = self.turn;
        if bases.is_empty() {
            return;
        }
        let base = bases[turn % bases.len()];
        let result = search::sweep(&self.evidence(), base, first, MOST_TRIED);
        self.turn = match result.rest {
            Some(rest) => (turn, rest),
            None => ((turn + 1) % search::BASES, 0),
        };
        self.sweeps = self.sweeps.saturating_add(u32::from(result.rest.is_none()));
        let log_left_out = self.propose(&result.proposals) + self.log_past_of_others();
        if first == 0 {
            self.left_out.rotate_left(1);
            self.left_out[MEMORY - 1] = log_left_out;
        } else {
            self.leave_out(log_left_out);
        }
    }

    /// Adds a weight to what the last sweep had no room for.
    fn leave_out(&mut self, log_weight: f64) {
        let last = &mut self.left_out[MEMORY - 1];
        *last = log_sum([*last, log_weight].into_iter());
    }

    fn log_left_out(&self) -> f64 {
        self.left_out.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    }

    /// Takes the best that are not followed yet, and others in turn: what speaks against some is not in their score.
    /// Gives the log weight of the rest, by what the evidence is for those that were taken, or are followed, beside
    /// their score.
    fn propose(&mut self, proposals: &[Proposal]) -> f64 {
        let mut beside_score = f64::NEG_INFINITY;
        let mut fresh = Vec::new();
        for proposal in proposals {
            let known = self.hypotheses.iter().find(|one| is_same(&one.fit.pose, &proposal.pose, 0.2, 0.1));
            match known {
                Some(hypothesis) => beside_score = beside_score.max(hypothesis.log_present - proposal.score),
                None => fresh.push(*proposal),
            }
        }
        if fresh.len() > MOST_FITTED {
            let others = &mut fresh[MOST_FITTED / 2..];
            let turns = self.sweeps as usize * (MOST_FITTED / 2) % others.len();
            others.rotate_left(turns);
        }
        for proposal in fresh.iter().take(MOST_FITTED) {
            if let Some(log_present) = self.follow(proposal) {
                beside_score = beside_score.max(log_present - proposal.score);
            }
        }
        let log_left_out = log_sum(fresh.iter().skip(MOST_FITTED).map(|proposal| proposal.score));
        if beside_score.is_finite() { log_left_out + beside_score } else { log_left_out }
    }

    /// Makes a hypothesis of a proposal, unless it is one already. Gives what the evidence says.
    fn follow(&mut self, proposal: &Proposal) -> Option<f64> {
        let evidence = self.evidence();
        let fit = evidence.fit(&proposal.base, &proposal.pose)?;
        let Judgement { fit, matches, log_weight, named } =
            evidence.judge(&fit.pose, &fit.relative, &Past::default())?;
        if !self.hypotheses.iter().any(|hypothesis| hypothesis.matches == matches) {
            self.next_number += 1;
            let (number, log_present, past) = (self.next_number, log_weight, Past::default());
            let log_benefit = self.log_past_of_others();
            self.hypotheses.push(Hypothesis { number, fit, matches, named, log_present, past, log_benefit });
        }
        Some(log_weight)
    }

    /// Sorts, merges what has become the same, and drops what is negligible or too much.
    fn select(&mut self) {
        let mut hypotheses = std::mem::take(&mut self.hypotheses);
        hypotheses
            .sort_by(|one, other| other.log_weight().total_cmp(&one.log_weight()).then(one.number.cmp(&other.number)));
        let best = hypotheses.first().map_or(0.0, |hypothesis| hypothesis.log_weight().max(0.0));
        hypotheses.retain(|hypothesis| hypothesis.log_weight() > best + NEGLIGIBLE);
        let mut kept: Vec<Hypothesis> = Vec::with_capacity(hypotheses.len());
        for hypothesis in hypotheses {
            let is_duplicate = |other: &Hypothesis| {
                other.matches == hypothesis.matches || is_same(&other.fit.pose, &hypothesis.fit.pose, 0.1, 0.05)
            };
            if kept.iter().any(is_duplicate) {
                continue;
            }
            if kept.len() < self.config.max_hypotheses {
                kept.push(hypothesis);
            } else {
                self.leave_out(hypothesis.log_weight());
            }
        }
        self.hypotheses = kept;
    }

    /// Probabilities, and what follows from them.
    fn judge(&mut self) {
        let weights = self.hypotheses.iter().map(Hypothesis::log_weight);
        let strange = self.evidence().log_elsewhere();
        let elsewhere = log_sum([strange, self.log_left_out()].into_iter());
        let total = log_sum(weights.chain([elsewhere]));
        self.elsewhere = (elsewhere - total).exp();
        self.candidates = self
            .hypotheses
            .iter()
            .map(|hypothesis| Candidate {
                pose: hypothesis.fit.pose,
                covariance: hypothesis.fit.covariance(),
                probability: (hypothesis.log_weight() - total).exp(),
                landmarks: hypothesis.matches.len(),
            })
            .collect();
        let others = |best: &Hypothesis| {
            let rest = self.hypotheses.iter().filter(|other| other.number != best.number);
            (log_sum(rest.map(Hypothesis::log_weight).chain([elsewhere])) - total).exp()
        };
        let best = self.hypotheses.first();
        let is_certain = best.is_some_and(|best| others(best) < self.config.doubt);
        self.certain = if is_certain { self.certain + 1 } else { 0 };
        let confirmed = self.constellation.confirmed().count();
        self.verdict = match (best, self.candidates.first()) {
            (Some(best), Some(candidate)) if is_certain => {
                let is_named = best.named >= 2;
                let is_proven = best.matches.len() >= self.config.landmarks
                    && self.certain >= self.config.scans
                    && self.sweeps >= SWEEPS;
                if is_named || is_proven { Verdict::Found(*candidate) } else { Verdict::Searching }
            }
            (Some(_), _) if strange - total < self.config.doubt.ln() => Verdict::Ambiguous,
            _ if confirmed >= MIN_CONTRADICTION
                && self.sweeps >= SWEEPS
                && 1.0 - self.elsewhere < self.config.doubt
                && self.log_left_out() - total < self.config.doubt.ln() =>
            {
                Verdict::Nothing
            }
            _ => Verdict::Searching,
        };
    }
}

/// Whether two poses are one, but for what a fit brings together.
fn is_same(one: &Se2, other: &Se2, near_m: f64, near_rad: f64) -> bool {
    (one.p - other.p).norm_squared() < near_m * near_m && wrap_angle(one.theta - other.theta).abs() < near_rad
}
