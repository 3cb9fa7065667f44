//! Readings without identity that may be of several landmarks of a frozen map: tags of one cluster, say.
//!
//! Each way to give the readings of a cloud to landmarks, no landmark twice, has a weight. The share of the ways in which
//! a reading is of a landmark is the probability of that (joint probabilistic data association; Bar-Shalom and Fortmann
//! 1988). The reading is then used with the mean of the innovations that it may have, and with their spread as further
//! noise: landmarks close together still say where the robot is, and ones far apart say nothing.
//!
//! The weights have heavy tails, (1 + d²/4)⁻³ (Student's distribution with four degrees of freedom), because an error of
//! the map stays: a landmark far outside of its gate is not taken for its neighbour.

use super::enter::Neighbourhood;
use super::gate::mahalanobis_squared;
use super::linearize::{Match, Subject, innovation_covariance};
use super::sensor::Reading;
use super::state::State;
use super::step::Model;
use nalgebra::{Matrix3, Vector3};

/// So many readings of a cloud are resolved together; more than that are left out.
const TOGETHER: usize = 4;
/// So many landmarks one reading may be of.
const RIVALS: usize = 4;

/// What a reading may be of.
#[derive(Clone, Copy, Debug)]
struct Rival {
    feature: usize,
    residual: Vector3<f64>,
    distance: f64,
    weight: f64,
    /// The weights of all ways in which the reading is of this landmark.
    share: f64,
}

/// A reading, and what it may be of.
#[derive(Clone, Copy, Debug)]
struct Unclear {
    reading: Reading,
    rivals: [Option<Rival>; RIVALS],
}

/// Buffers, which keep their allocations.
#[derive(Debug, Default)]
pub struct UnclearRoom {
    /// The readings of the cloud that are not clear.
    pub readings: Vec<Reading>,
    unclear: Vec<Unclear>,
}

/// Adds the readings of `room` to the candidates, and returns how many could not be used.
pub fn resolve(state: &State, model: &Model, room: &mut UnclearRoom, candidates: &mut Vec<Match>) -> usize {
    room.unclear.clear();
    let mut left_out = 0;
    for reading in &room.readings {
        match rivals(state, model, reading, candidates) {
            Some(rivals) if room.unclear.len() < TOGETHER => room.unclear.push(Unclear { reading: *reading, rivals }),
            _ => left_out += 1,
        }
    }
    let mut taken = [usize::MAX; TOGETHER];
    share_out(&mut room.unclear, 0, 1.0, &mut taken);
    for unclear in &room.unclear {
        if !add(state, model, unclear, candidates) {
            left_out += 1;
        }
    }
    left_out
}

/// The landmarks that a reading may be of, the likeliest ones, without those that a clear reading is of. `None` if it
/// passes no gate.
fn rivals(state: &State, model: &Model, reading: &Reading, clear: &[Match]) -> Option<[Option<Rival>; RIVALS]> {
    let dim = model.sensors.dim(reading);
    let near = Neighbourhood::of(state, model, reading)?;
    let mut rivals = [None; RIVALS];
    for feature in (0..state.features.len()).filter(|i| near.reaches(state, *i)) {
        let mut candidate = Match::new(Subject::Feature(feature), reading);
        let Some(distance) = super::associate::distance(state, model, &mut candidate) else { continue };
        if distance > model.gate.new_feature(dim) || clear.iter().any(|other| other.subject == candidate.subject) {
            continue;
        }
        let weight = (1.0 + 0.25 * distance).powi(-3);
        let rival = Rival { feature, residual: candidate.residual, distance, weight, share: 0.0 };
        let place = rivals.partition_point(|other: &Option<Rival>| other.is_some_and(|o| o.distance <= distance));
        if place < RIVALS {
            rivals[place..].rotate_right(1);
            rivals[place] = Some(rival);
        }
    }
    rivals[0].filter(|nearest| nearest.distance <= model.gate.known(dim)).map(|_| rivals)
}

/// Goes through all ways to give the readings from `k` on to landmarks that are not `taken`, and adds the weight of each
/// to the shares. Gives back the sum of the weights.
fn share_out(unclear: &mut [Unclear], k: usize, before: f64, taken: &mut [usize; TOGETHER]) -> f64 {
    if k == unclear.len() {
        return before;
    }
    let mut sum = 0.0;
    for r in 0..RIVALS {
        let Some(Rival { feature, weight, .. }) = unclear[k].rivals[r] else { break };
        if taken[..k].contains(&feature) {
            continue;
        }
        taken[k] = feature;
        let of_way = share_out(unclear, k + 1, before * weight, taken);
        if let Some(rival) = &mut unclear[k].rivals[r] {
            rival.share += of_way;
        }
        sum += of_way;
    }
    sum
}

/// Adds a reading as one of its likeliest landmark, with the mean of all residuals and their spread.
fn add(state: &State, model: &Model, unclear: &Unclear, candidates: &mut Vec<Match>) -> bool {
    let rivals = || unclear.rivals.iter().flatten();
    let whole: f64 = rivals().map(|rival| rival.share).sum();
    let Some(best) = rivals().max_by(|a, b| a.share.total_cmp(&b.share)).filter(|_| whole > 0.0) else { return false };
    let mean = rivals().fold(Vector3::zeros(), |sum, rival| sum + rival.residual * (rival.share / whole));
    let spread = rivals().fold(Matrix3::zeros(), |sum, rival| {
        let d = rival.residual - mean;
        sum + d * d.transpose() * (rival.share / whole)
    });
    let candidate = Match::add(candidates, Subject::Feature(best.feature), &unclear.reading);
    if super::associate::distance(state, model, candidate).is_none() {
        candidates.pop();
        return false;
    }
    candidate.blur(&(mean - best.residual), &spread);
    candidate.distance =
        mahalanobis_squared(&candidate.residual, &innovation_covariance(state, candidate), candidate.dim);
    if candidate.distance.is_none() {
        candidates.pop();
        return false;
    }
    true
}
