//! How far and how long the errors of a landmark's measurements last, learned from innovations.
//!
//! A trunk is read off its centre, and off by as much a moment later; a camera takes a tag for larger in some light.
//! Such errors are alike from one measurement of a landmark to its next, by ρ = exp(−Δt/T), and N of them tell less
//! than N independent ones. An innovation is the error of the measurement less that of the prediction. Predictions of
//! one scan have the error of the robot's motion in common, which a filter that is told too small a noise drags along:
//! the innovations are therefore taken without what the motion explains, by least squares over its three numbers with a
//! prior: a noise of four times what is stated. Without that prior, a scan of two measurements would leave next to
//! nothing, and that would be taken for independent errors. Landmarks that are not well known yet weigh less. What is
//! left is compared with what was left of the same landmark before: Σ e e′ / Σ ½(e² + e′²) is s·exp(−Δt/T) at the mean
//! Δt of the pairs, where the share s of the variance lasts. Pairs of measurements that follow each other and pairs
//! that are farther apart tell s and T.

use crate::associated::Subject;
use crate::linearize::Match;
use crate::state::State;
use crate::update::noise_of_motion_by;
use lienav_base::stamp::Stamp;
use lienav_ekf::time_correlated::{STATED_SHARE, TimeCorrelatedNoise};
use nalgebra::{Matrix3, Vector3};
use serde::{Deserialize, Serialize};

/// The stated correlation time counts as much as so many pairs of numbers.
const STATED_PAIRS: f64 = 40.0;

/// Measurements farther apart than this are no pair, s: errors that stay alike for a moment are told by the next
/// measurement.
const PAIR_WITHIN_S: f64 = 1.5;

/// What was left of the last measurements is remembered of so many landmarks.
const PLACES: usize = 256;

/// Errors last if their correlation time is this many times the time between measurements: ρ = 0.3.
const LASTS: f64 = 0.83;

/// The variance that the noise of a motion may have, as a multiple of the stated one.
const MOST_OF_MOTION: f64 = 16.0;

/// The correlation is not believed beyond this.
const MOST_ALIKE: f64 = 0.98;

/// And at most: what lasts exactly would make a second reading of a landmark exact.
const MAX_CORRELATION: f64 = 0.95;

/// The longest correlation time that is believed, s: pairs are at most [`FAR_S`] apart.
const LONGEST_S: f64 = 4.0;

/// Measurements of one landmark so far apart tell how long its errors last, s.
const FAR_S: (f64, f64) = (0.6, 4.0);

/// What is known of the correlation time of each sensor.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TimeCorrelation {
    stated_s: f64,
    sums: Vec<Sums>,
    /// By identity, modulo the length.
    last: Vec<Last>,
}

/// Pairs of measurements of one landmark, fading.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Pairs {
    /// Σ e e′.
    product: f64,
    /// Σ ½(e² + e′²).
    square: f64,
    /// Σ ½(e² + e′²) Δt, s.
    time: f64,
    /// How many pairs of numbers.
    pairs: f64,
}

impl Pairs {
    fn add(&mut self, now: f64, before: f64, apart: f64) {
        let square = 0.5 * (now * now + before * before);
        // One measurement that is far off is not to decide.
        let weight = 1.0 / (1.0 + square / 9.0);
        self.product += weight * now * before;
        self.square += weight * square;
        self.time += weight * square * apart;
        self.pairs += weight;
    }

    fn fade(&mut self, keep: f64) {
        [&mut self.product, &mut self.square, &mut self.time, &mut self.pairs].into_iter().for_each(|x| *x *= keep);
    }

    fn is_whole(&self) -> bool {
        self.product.is_finite() && [self.square, self.time, self.pairs].iter().all(|x| is_amount(*x))
    }

    /// How far apart they are in the mean, s; `None` if there are none.
    fn apart(&self) -> Option<f64> {
        (self.square > 0.0).then(|| self.time / self.square)
    }

    /// One standard error of a correlation that is none: independent errors are to be taken for that.
    fn tolerance(&self) -> f64 {
        1.0 / self.pairs.max(1.0).sqrt()
    }

    /// Their correlation less `tolerance`, where `stated` is expected of [`STATED_PAIRS`].
    fn alike(&self, stated: f64, tolerance: f64) -> f64 {
        let correlation = if self.square > 0.0 { (self.product / self.square - tolerance).max(0.0) } else { 0.0 };
        (self.pairs * correlation + STATED_PAIRS * stated) / (self.pairs + STATED_PAIRS)
    }
}

/// Of one sensor: measurements that follow each other, and measurements farther apart.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Sums {
    #[serde(flatten)]
    near: Pairs,
    #[serde(default)]
    far: Pairs,
}

/// What was left of the last measurement of a landmark.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Last {
    id: u32,
    sensor: u8,
    stamp: Stamp,
    rest: [f64; 3],
    /// And of an earlier one.
    #[serde(default)]
    anchor: (Stamp, [f64; 3]),
}

fn is_amount(x: f64) -> bool {
    x.is_finite() && x >= 0.0
}

impl TimeCorrelation {
    /// Becomes what another one is, in the memory that it has.
    #[inline]
    pub fn copy_from(&mut self, other: &Self) {
        self.stated_s = other.stated_s;
        self.sums.clone_from(&other.sums);
        self.last.clone_from(&other.last);
    }

    /// As stated, for so many sensors.
    #[inline]
    pub fn new(stated_s: f64, sensors: usize) -> Self {
        Self { stated_s, sums: vec![Sums::default(); 3 * sensors], last: vec![Last::default(); PLACES] }
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
        let whole = |s: &Sums| s.near.is_whole() && s.far.is_whole();
        is_amount(self.stated_s)
            && (self.sums.len(), self.last.len()) == (3 * sensors, PLACES)
            && self.sums.iter().all(whole)
            && self.last.iter().all(|last| last.rest.iter().chain(&last.anchor.1).all(|x| x.is_finite()))
    }

    /// The correlation time of a sensor if all of its errors last, s; 0 for independent errors.
    pub fn correlation_s(&self, sensor: usize) -> f64 {
        let near = self.near(sensor);
        let Some(apart) = near.apart() else { return self.stated_s };
        let alike = near.alike(self.stated(apart), near.tolerance());
        if alike <= 0.0 { 0.0 } else { -apart / alike.min(MOST_ALIKE).ln() }
    }

    /// Pairs of all numbers of a sensor.
    fn near(&self, sensor: usize) -> Pairs {
        self.sums.iter().skip(3 * sensor).take(3).fold(Pairs::default(), |sum, Sums { near, .. }| Pairs {
            product: sum.product + near.product,
            square: sum.square + near.square,
            time: sum.time + near.time,
            pairs: sum.pairs + near.pairs,
        })
    }

    fn stated(&self, apart: f64) -> f64 {
        if self.stated_s > 0.0 { (-apart / self.stated_s).exp() } else { 0.0 }
    }

    /// How long and how far the errors of a sensor last.
    pub fn of_sensor(&self, sensor: usize) -> TimeCorrelatedNoise {
        let of = [0, 1, 2].map(|d| self.of_number(sensor, d));
        TimeCorrelatedNoise {
            time_s: of.map(|(time, _)| time),
            share: of.map(|(_, share)| share),
            whole_s: self.correlation_s(sensor),
        }
    }

    /// T and share of one number.
    fn of_number(&self, sensor: usize, d: usize) -> (f64, f64) {
        let TimeCorrelatedNoise { time_s, share, .. } = TimeCorrelatedNoise::stated(self.stated_s);
        let as_stated = (time_s[d], share[d]);
        let Some(Sums { near, far }) = self.sums.get(3 * sensor + d).copied() else { return as_stated };
        let Some(apart) = near.apart() else { return as_stated };
        let alike = near.alike(STATED_SHARE * self.stated(apart), near.tolerance());
        if alike <= 0.0 {
            return (0.0, 0.0);
        }
        // What is known of pairs that follow each other says how far the others are alike, if the share is as stated.
        let time = if alike < STATED_SHARE { (apart / (STATED_SHARE / alike).ln()).min(LONGEST_S) } else { LONGEST_S };
        let Some(farther) = far.apart().filter(|farther| *farther > 1.5 * apart) else {
            return (time, (alike * (apart / time).exp()).min(MAX_CORRELATION));
        };
        let alike_far = far.alike(STATED_SHARE * (-farther / time).exp(), 0.0).max(1e-3 * alike);
        let time =
            if alike_far < alike { ((farther - apart) / (alike / alike_far).ln()).min(LONGEST_S) } else { LONGEST_S };
        (time, (alike * (apart / time).exp()).min(MAX_CORRELATION))
    }

    /// Whether errors of a number last longer or shorter than was known `before`, so that many measurements are worth
    /// less or more by this factor, and surely: by so many standard errors of the correlation.
    pub fn differs(&self, before: &Self, by: f64, surely: f64) -> bool {
        self.sums.iter().enumerate().any(|(i, Sums { near, .. })| {
            let Some(apart) = near.apart() else { return false };
            let [now, then] = [self, before].map(|time_correlated| time_correlated.of_number(i / 3, i % 3));
            let alike = |(time, share): (f64, f64)| if time > 0.0 { share * (-apart / time).exp() } else { 0.0 };
            // Of a sum of many measurements, beside that of independent errors.
            let variance = |(time, share): (f64, f64)| {
                if time > 0.0 { 1.0 - share + share / (0.5 * apart / time).tanh() } else { 1.0 }
            };
            (variance(now) / variance(then)).ln().abs() > by.ln()
                && (alike(now) - alike(then)).abs() > surely * near.tolerance()
        })
    }

    /// Whether the errors of a sensor stay alike from one measurement to the next, more than not.
    #[inline]
    pub fn lasts(&self, sensor: usize) -> bool {
        let Some(apart) = self.near(sensor).apart() else { return false };
        self.correlation_s(sensor) > LASTS * apart
    }

    /// Learns from the matches of a scan at `stamp`. `rows` is the effect of the last motion's noise, `s` the
    /// covariance of the innovation with that of the measurements as stated, lower triangle, row by row; `rests` is a
    /// buffer. What was learned fades within `memory` scans.
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
            sums.near.fade(keep);
            sums.far.fade(keep);
        }
        let (m, mut row) = (rests.len(), 0);
        for matched in matches {
            let first = row;
            row += matched.dim;
            let Subject::Landmark(i) = matched.subject else { continue };
            let mut rest = [0.0; 3];
            for d in 0..matched.dim {
                let own = matched.stated_noise()[(d, d)];
                // A landmark that is known as well as it is read counts half.
                let known = own / s[(first + d) * m + first + d];
                rest[d] = rests[first + d] * known;
            }
            // A number that is none would stay in the sums for ever.
            if !rest.iter().all(|x| x.is_finite()) {
                continue;
            }
            let id = state.landmarks[i].id;
            let last = &mut self.last[id as usize % PLACES];
            let is_same = (last.id, last.sensor) == (id, matched.measurement.sensor);
            let (apart, farther) = (stamp.since(last.stamp), stamp.since(last.anchor.0));
            let mut anchor = last.anchor;
            let numbers = self.sums.iter_mut().skip(3 * usize::from(last.sensor)).take(matched.dim);
            for (d, Sums { near, far }) in numbers.enumerate().filter(|_| is_same) {
                if apart > 0.0 && apart < PAIR_WITHIN_S {
                    near.add(rest[d], last.rest[d], apart);
                }
                if farther > FAR_S.0 && farther < FAR_S.1 {
                    far.add(rest[d], last.anchor.1[d], farther);
                }
            }
            if !is_same || farther > FAR_S.0 {
                anchor = (stamp, rest);
            }
            *last = Last { id, sensor: matched.measurement.sensor, stamp, rest, anchor };
        }
    }
}

/// The residuals beside the standard deviations of the measurements, without the part that the most likely noise of the
/// last motion explains; `rows` is its effect for unit variances.
fn without_motion(state: &State, matches: &[Match], rows: &[[f64; 3]], rests: &mut Vec<f64>) {
    rests.clear();
    let std = |matched: &Match, d: usize| matched.stated_noise()[(d, d)].sqrt();
    let by_motion =
        |matched: &Match, d: usize| Vector3::from(noise_of_motion_by(state, matched, rows, d)) / std(matched, d);
    let (mut normal, mut pull) = (Matrix3::zeros(), Vector3::zeros());
    for matched in matches {
        for d in 0..matched.dim {
            let rest = (matched.residual[d] + matched.known_time_correlated[d]) / std(matched, d);
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
