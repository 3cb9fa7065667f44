//! The ways in which measurements without identity are of landmarks of a known map: hypotheses about one scan.
//!
//! A measurement that one landmark alone explains is of that. Others are of one of the landmarks in whose gates they
//! lie, or of none, and a landmark is of one measurement: [`Beam`] weighs all of it together, because the measurements
//! of a scan have the error of the pose in common.
//!
//! Of clutter nothing is known here. A measurement at the edge of the gate of a landmark that is known exactly is as
//! likely of none, up to the odds that a landmark is read.

use crate::association::beam::{Beam, Item, Joint, Pair, WINDOW};
use crate::bounds::BOUNDS;
use crate::thresholds::FIFTY_TO_ONE;
use lienav_ekf::mahalanobis::mahalanobis_squared;
use lienav_planar::associated::Subject;
use lienav_planar::checked::CheckedMeasurement;
use lienav_planar::input::{Measurement, MeasurementKind};
use lienav_planar::linearize::{Match, innovation_covariance, linearize, shared_covariance};
use lienav_planar::model::Model;
use lienav_planar::neighbourhood::Neighbourhood;
use lienav_planar::state::State;
use nalgebra::Matrix3;

/// How many hypotheses there is room for, at most `most`.
pub fn affordable(state: &State, most: usize) -> usize {
    let rows = state.covariance.dim();
    (BOUNDS.numbers / (rows * rows)).clamp(2, most)
}

/// One way: what each measurement is of. A measurement is clear if it is of one landmark, that is nearer than any other
/// by as much as the gate is wide.
#[derive(Clone, Debug, Default)]
pub struct PoseHypothesis {
    /// The measurements that are used, with the identities of their landmarks.
    pub measurements: Vec<Measurement>,
    /// The logarithm of its weight beside the likeliest.
    pub weight: f64,
}

/// Buffers, which keep their allocations, and what was found.
#[derive(Debug, Default)]
pub struct PoseHypotheses {
    all: Vec<PoseHypothesis>,
    found: usize,
    pairs: Vec<Pair>,
    matches: Vec<Match>,
    items: Vec<Item>,
    /// Of each measurement, whether it says what it is of.
    is_placed: Vec<bool>,
    /// Of each pair the place of its measurement in the scan.
    of: Vec<usize>,
    near: Vec<(Match, Pair)>,
    beam: Beam,
    order: Vec<(f64, usize)>,
    chosen: Vec<usize>,
}

struct Pairs<'a>(&'a State, &'a [Match]);

impl Joint for Pairs<'_> {
    fn covariance(&self, a: usize, b: usize) -> Matrix3<f64> {
        shared_covariance(self.0, &self.1[a], &self.1[b])
    }
}

/// What speaks for a pair beside its residual: the odds that it was read over the density of measurements of none.
fn surprise(model: &Model, matched: &Match) -> f64 {
    let dim = matched.dim;
    let noise = matched.stated_noise();
    let noise = noise.view((0, 0), (dim, dim)).determinant().max(f64::MIN_POSITIVE);
    let edge = model.gate.associated(dim)[0];
    FIFTY_TO_ONE.ln + 0.5 * (edge + noise.ln() + dim as f64 * std::f64::consts::TAU.ln())
}

/// The logarithm of how likely the measurements of an update are, beside that all are of none: with the squared
/// distance and the factor of their joint covariance.
pub fn weigh(model: &Model, matches: &[Match], nis: f64, factor: impl Iterator<Item = f64>) -> f64 {
    let log_ratio: f64 = matches.iter().map(|matched| surprise(model, matched)).sum();
    let numbers: usize = matches.iter().map(|matched| matched.dim).sum();
    let ln_det = 2.0 * factor.map(f64::ln).sum::<f64>() + numbers as f64 * std::f64::consts::TAU.ln();
    log_ratio - 0.5 * (nis + ln_det)
}

impl PoseHypotheses {
    /// The ways that were found, the likeliest first.
    pub fn found(&self) -> &[PoseHypothesis] {
        &self.all[..self.found]
    }

    /// Finds the ways of a scan. `state` is at the scan, with the landmarks that its measurements may be of.
    pub fn find(&mut self, state: &State, model: &Model, kind: MeasurementKind, measurements: &[Measurement]) {
        self.pairs.clear();
        self.matches.clear();
        self.of.clear();
        self.items.clear();
        self.is_placed.clear();
        let mut unclear = 0;
        for (place, measurement) in measurements.iter().enumerate() {
            // What is no measurement of a landmark is not for this to judge.
            let checked = model.sensors.read(kind, measurement).ok().filter(|r| !model.sensors.is_of_pose(r));
            let checked = checked.filter(|checked| checked.id().is_none());
            self.is_placed.push(checked.is_none());
            let Some(checked) = checked else { continue };
            let first = self.pairs.len();
            let nearest_other = self.pair_up(state, model, &checked, measurements);
            // Far from everything it is of nothing that is known, which the update sees for itself.
            self.is_placed[place] =
                self.near.is_empty() && nearest_other > model.gate.new_landmark(model.sensors.dim(&checked));
            let is_clear = match self.near.as_slice() {
                [] => true,
                [(only, _)] => only.distance.is_some_and(|own| nearest_other - own > model.gate.known(only.dim)),
                _ => false,
            };
            if !is_clear && unclear == BOUNDS.unclear {
                self.pairs.truncate(first);
                self.matches.truncate(first);
            }
            let last = self.pairs.len();
            if last > first {
                unclear += usize::from(!is_clear);
                self.of.resize(last, place);
                self.items.push(Item { first, last, is_clear });
            }
        }
        if unclear == 0 && !self.share_landmarks() {
            self.found = 0;
            self.chosen.clear();
            self.chosen.extend(0..self.pairs.len());
            self.add(measurements, 0.0, state);
            return;
        }
        // The surest first: they tell where the others are.
        let pairs = &self.pairs;
        self.items.sort_by(|a, b| {
            let of = |item: &Item| {
                pairs[item.first..item.last].iter().map(|pair| pair.alone).fold(f64::NEG_INFINITY, f64::max)
            };
            b.is_clear.cmp(&a.is_clear).then(of(b).total_cmp(&of(a))).then(a.first.cmp(&b.first))
        });
        let gate = [1, 2, 3].map(|dim| model.gate.associated(dim)[0]);
        self.beam.search((&self.pairs, &self.items), &Pairs(state, &self.matches), &gate, |_| 0.0);
        self.order.clear();
        self.order.extend(self.beam.scores().enumerate().map(|(k, score)| (score, k)));
        self.order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let best = self.order.first().map_or(0.0, |(score, _)| *score);
        self.order.retain(|(score, _)| *score > best - WINDOW);
        self.order.truncate(affordable(state, BOUNDS.pose_hypotheses));
        self.found = 0;
        for k in 0..self.order.len() {
            let (score, hypothesis) = self.order[k];
            self.chosen.clear();
            self.chosen.extend_from_slice(self.beam.pairs_of(hypothesis));
            self.add(measurements, score - best, state);
        }
    }

    /// Whether two clear measurements are of one landmark.
    fn share_landmarks(&self) -> bool {
        let is_twice = |(k, pair): (usize, &Pair)| self.pairs[..k].iter().any(|other| other.target == pair.target);
        self.pairs.iter().enumerate().any(is_twice)
    }

    /// Adds the pairs of a measurement. Gives back the squared distance of the nearest landmark that it is no pair
    /// with.
    fn pair_up(
        &mut self,
        state: &State,
        model: &Model,
        checked: &CheckedMeasurement,
        measurements: &[Measurement],
    ) -> f64 {
        self.near.clear();
        let mut nearest_other = f64::INFINITY;
        let Some(near) = Neighbourhood::of(state, model, checked) else { return nearest_other };
        let dim = model.sensors.dim(checked);
        let gate = model.gate.associated(dim)[0];
        for (i, landmark) in state.landmarks.iter().enumerate() {
            let is_named = || measurements.iter().any(|o| o.id == Some(landmark.id));
            if landmark.is_anchor_point || !near.reaches(state, i) || is_named() {
                continue;
            }
            let mut candidate = Match::new(Subject::Landmark(i), checked);
            if !linearize(state, &model.sensors, &mut candidate, model.filter.linearization()) {
                continue;
            }
            let covariance = innovation_covariance(state, &candidate);
            let Some(distance) = mahalanobis_squared(&candidate.residual, &covariance, dim) else { continue };
            if distance > gate {
                nearest_other = nearest_other.min(distance);
                continue;
            }
            candidate.distance = Some(distance);
            let weight = surprise(model, &candidate);
            if let Some(pair) = Pair::new(i, (candidate.residual, covariance), dim, weight) {
                self.near.push((candidate, pair));
            }
        }
        self.near.sort_by(|a, b| b.1.alone.total_cmp(&a.1.alone).then(a.1.target.cmp(&b.1.target)));
        self.near.truncate(BOUNDS.unclear_candidates);
        for (candidate, pair) in &self.near {
            self.matches.push(*candidate);
            self.pairs.push(*pair);
        }
        nearest_other
    }

    /// Adds the way of the chosen pairs.
    fn add(&mut self, measurements: &[Measurement], weight: f64, state: &State) {
        if self.all.len() == self.found {
            self.all.push(PoseHypothesis::default());
        }
        let mut pose_hypothesis = std::mem::take(&mut self.all[self.found]);
        pose_hypothesis.weight = weight;
        pose_hypothesis.measurements.clear();
        for (place, measurement) in measurements.iter().enumerate() {
            if self.is_placed[place] {
                pose_hypothesis.measurements.push(*measurement);
            } else if let Some(pair) = self.chosen.iter().find(|pair| self.of[**pair] == place) {
                let id = Some(state.landmarks[self.pairs[*pair].target].id);
                pose_hypothesis.measurements.push(Measurement { id, ..*measurement });
            }
        }
        self.all[self.found] = pose_hypothesis;
        self.found += 1;
    }
}
