//! How long the errors of a landmark's readings stay alike, learned from innovations.
//!
//! A trunk is read off its centre, and off by as much a moment later; a camera takes a tag for larger in some light. Such
//! errors are alike from one reading of a landmark to its next, by ρ = exp(−Δt/T), and N of them tell less than N
//! independent ones. An innovation is the error of the reading less that of the prediction. Predictions of one cloud have
//! the error of the robot's motion in common, which a filter that is told too small a noise drags along: the innovations
//! are therefore taken without what the motion explains, by least squares over its three numbers with a prior: a noise of
//! four times what is stated. Without that prior, a cloud of two readings would leave next to nothing, and that would be
//! taken for independent errors. Landmarks that are not well known yet weigh less. What is left is compared with what was left of the same landmark
//! before: Σ e e′ / Σ ½(e² + e′²) is ρ at the mean Δt of the pairs.

use super::linearize::{Match, Subject};
use super::state::State;
use super::update::noise_of_motion_by;
use lienav_base::stamp::Stamp;
use nalgebra::{Matrix3, Vector3};
use serde::{Deserialize, Serialize};

/// The stated correlation time counts as much as so many pairs of numbers.
const STATED_PAIRS: f64 = 40.0;

/// Readings farther apart than this are no pair, s: errors that stay alike for a moment are told by the next reading.
const PAIR_WITHIN_S: f64 = 1.5;

/// What was left of the last readings is remembered of so many landmarks.
const PLACES: usize = 256;

/// Errors last if their correlation time is this many times the time between readings: ρ = 0.3.
const LASTS: f64 = 0.83;

/// The variance that the noise of a motion may have, as a multiple of the stated one.
const MOST_OF_MOTION: f64 = 16.0;

/// The correlation is not believed beyond this.
const MOST_ALIKE: f64 = 0.98;

/// What is known of the correlation time of each sensor.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Lasting {
    stated_s: f64,
    sums: Vec<Sums>,
    /// By identity, modulo the length.
    last: Vec<Last>,
}

/// Of the pairs of one sensor, fading.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Sums {
    /// Σ e e′.
    product: f64,
    /// Σ ½(e² + e′²).
    square: f64,
    /// Σ ½(e² + e′²) Δt, s.
    time: f64,
    /// How many pairs of numbers.
    pairs: f64,
}

/// What was left of the last reading of a landmark.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Last {
    id: u32,
    sensor: u8,
    stamp: Stamp,
    rest: [f64; 3],
}

fn is_amount(x: f64) -> bool {
    x.is_finite() && x >= 0.0
}

impl Lasting {
    /// As stated, for so many sensors.
    pub fn new(stated_s: f64, sensors: usize) -> Self {
        Self { stated_s, sums: vec![Sums::default(); sensors], last: vec![Last::default(); PLACES] }
    }

    /// Goes on with what `old` has learned of the sensors that both have.
    pub fn take_over(&mut self, old: Self) {
        for (new, old) in self.sums.iter_mut().zip(&old.sums) {
            *new = *old;
        }
        self.last = old.last;
    }

    /// Whether it is of so many sensors, and whole.
    pub fn is_of(&self, sensors: usize) -> bool {
        let whole = |s: &Sums| s.product.is_finite() && [s.square, s.time, s.pairs].iter().all(|x| is_amount(*x));
        is_amount(self.stated_s)
            && (self.sums.len(), self.last.len()) == (sensors, PLACES)
            && self.sums.iter().all(whole)
            && self.last.iter().all(|last| last.rest.iter().all(|x| x.is_finite()))
    }

    /// The correlation time of a sensor, s; 0 for independent errors.
    pub fn correlation_s(&self, sensor: usize) -> f64 {
        let Some(sums) = self.sums.get(sensor) else { return self.stated_s };
        if sums.square <= 0.0 {
            return self.stated_s;
        }
        let apart = sums.time / sums.square;
        let stated = if self.stated_s > 0.0 { (-apart / self.stated_s).exp() } else { 0.0 };
        // One standard error of a correlation that is none: independent errors are to be taken for that.
        let doubt = 1.0 / sums.pairs.max(1.0).sqrt();
        let told = (sums.product / sums.square - doubt).max(0.0);
        let alike = (sums.pairs * told + STATED_PAIRS * stated) / (sums.pairs + STATED_PAIRS);
        if alike <= 0.0 { 0.0 } else { -apart / alike.min(MOST_ALIKE).ln() }
    }

    /// Whether the errors of a sensor stay alike from one reading to the next, more than not.
    pub fn lasts(&self, sensor: usize) -> bool {
        let Some(sums) = self.sums.get(sensor).filter(|sums| sums.square > 0.0) else { return false };
        self.correlation_s(sensor) > LASTS * sums.time / sums.square
    }

    /// Learns from the matches of a cloud at `stamp`. `rows` is the effect of the last motion's noise, `s` the covariance
    /// of the innovation with that of the readings as stated, lower triangle, row by row; `rests` is a buffer. What was
    /// learned fades within `memory` clouds.
    pub fn learn(
        &mut self,
        state: &State,
        matches: &[Match],
        (rows, s): (&[[f64; 3]], &[f64]),
        rests: &mut Vec<f64>,
        (stamp, memory): (Stamp, f64),
    ) {
        without_motion(state, matches, rows, rests);
        let keep = (-1.0 / memory).exp();
        for sums in &mut self.sums {
            for x in [&mut sums.product, &mut sums.square, &mut sums.time, &mut sums.pairs] {
                *x *= keep;
            }
        }
        let (m, mut row) = (rests.len(), 0);
        for matched in matches {
            let first = row;
            row += matched.dim;
            let Subject::Feature(i) = matched.subject else { continue };
            let mut rest = [0.0; 3];
            for d in 0..matched.dim {
                let own = matched.noise[(d, d)] / matched.noise_scale;
                // A landmark that is known as well as it is read counts half.
                let known = own / s[(first + d) * m + first + d];
                rest[d] = rests[first + d] * known;
            }
            // A number that is none would stay in the sums for ever.
            if !rest.iter().all(|x| x.is_finite()) {
                continue;
            }
            let id = state.features[i].id;
            let last = &mut self.last[id as usize % PLACES];
            let apart = stamp.since(last.stamp);
            if (last.id, last.sensor) == (id, matched.reading.sensor)
                && apart > 0.0
                && apart < PAIR_WITHIN_S
                && let Some(sums) = self.sums.get_mut(usize::from(last.sensor))
            {
                for (now, before) in rest.iter().zip(&last.rest).take(matched.dim) {
                    let square = 0.5 * (now * now + before * before);
                    // One reading that is far off is not to decide.
                    let weight = 1.0 / (1.0 + square / 9.0);
                    sums.product += weight * now * before;
                    sums.square += weight * square;
                    sums.time += weight * square * apart;
                    sums.pairs += weight;
                }
            }
            *last = Last { id, sensor: matched.reading.sensor, stamp, rest };
        }
    }
}

/// The residuals beside the standard deviations of the readings, without the part that the most likely noise of the last
/// motion explains; `rows` is its effect for unit variances.
fn without_motion(state: &State, matches: &[Match], rows: &[[f64; 3]], rests: &mut Vec<f64>) {
    rests.clear();
    let std = |matched: &Match, d: usize| (matched.noise[(d, d)] / matched.noise_scale).sqrt();
    let by_motion =
        |matched: &Match, d: usize| Vector3::from(noise_of_motion_by(state, matched, rows, d)) / std(matched, d);
    let (mut normal, mut pull) = (Matrix3::zeros(), Vector3::zeros());
    for matched in matches {
        for d in 0..matched.dim {
            let rest = matched.residual[d] / std(matched, d);
            let b = by_motion(matched, d);
            normal += b * b.transpose();
            pull += b * rest;
            rests.push(rest);
        }
    }
    let Some(inverse) = (normal + Matrix3::identity() / MOST_OF_MOTION).try_inverse() else { return };
    let motion = inverse * pull;
    let mut rests = rests.iter_mut();
    for matched in matches {
        for d in 0..matched.dim {
            if let Some(rest) = rests.next() {
                *rest -= by_motion(matched, d).dot(&motion);
            }
        }
    }
}
