//! The lasting part of the errors of readings, as states.
//!
//! A trunk is read off its centre, and off by as much a moment later. Of the covariance R of a reading, a share s is
//! of an error that lasts, and the rest is independent from one reading to the next:
//!
//! ```math
//! y = h(x) + L b + v, \quad L L^T = s R, \quad \mathrm{Cov}(v) = R - L L^T, \quad
//! b^+ = \varrho b + n, \quad \varrho = e^{-\Delta t/T}, \quad \mathrm{Cov}(n) = (1 - \varrho^2) I
//! ```
//!
//! (a shaping filter; Bryson and Johansen 1965), where s is one for each number and R has correlations, L Lᵀ is
//! [split](Match::split) off so that both parts are positive semidefinite. b is in units of one standard deviation, so
//! that it stays the same where R grows with the range. With b in the state, what a landmark says of the robot's motion
//! between two readings is as exact as v, and what it says of the place no surer than L b. The state has two rows of b
//! for each of [`SLOTS`] landmarks, those that were read last: before it is read, b of a landmark is unknown, with
//! variance 1, and independent of the rest; and it is again when T has passed several times. A landmark that finds all
//! slots taken by others of the last moments is read with an inflated noise instead,
//! [`Sensors::repetition`](super::sensor::Sensors::repetition).

use crate::associated::Subject;
use crate::covariance::{Covariance, POSE};
use crate::filter::Linearization;
use crate::linearize::{Match, linearize};
use crate::reading::Reading;
use crate::sensor::Sensors;
use crate::state::State;
use crate::step::Model;
use lienav_base::stamp::Stamp;
use nalgebra::{Matrix3x2, Vector2};
use serde::{Deserialize, Serialize};

/// So many landmarks have one.
pub const SLOTS: usize = 16;

/// An error is forgotten after this many times its correlation time: what is left of it is 5 %.
const FORGOTTEN_AFTER: f64 = 3.0;

/// It is given up for that of a landmark that is in view after this many times its correlation time.
const GIVEN_UP_AFTER: f64 = 0.3;

/// The lasting errors of the landmarks that were read last. Their rows come after those of the calibration.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Offsets {
    slots: Vec<Slot>,
    /// The instant that they hold for.
    stamp: Option<Stamp>,
    /// The row of the first.
    row: usize,
    /// A buffer of [`Offsets::fade`].
    #[serde(skip)]
    factors: Vec<f64>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Slot {
    /// The landmark and the sensor that reads it.
    of: Option<(u32, u8)>,
    /// When it was read last.
    last: Stamp,
    /// The estimate of b.
    value: [f64; 2],
}

const FREE: Slot = Slot { of: None, last: Stamp::MIN, value: [0.0; 2] };

fn longest(time_s: [f64; 3]) -> f64 {
    time_s[0].max(time_s[1])
}

impl Offsets {
    /// Becomes what others are, in the memory that it has.
    pub fn copy_from(&mut self, other: &Self) {
        self.slots.clone_from(&other.slots);
        (self.stamp, self.row) = (other.stamp, other.row);
    }

    /// `slots` of them behind so many parameters of the calibration.
    pub fn new(slots: usize, calibration: usize) -> Self {
        Self { slots: vec![FREE; slots], stamp: None, row: POSE + calibration, factors: Vec::new() }
    }

    /// So many rows came into the state before theirs.
    pub fn shift_rows(&mut self, rows: usize) {
        self.row += rows;
    }

    /// How many rows they have.
    pub fn rows(&self) -> usize {
        2 * self.slots.len()
    }

    /// Whether what was saved is whole.
    pub fn is_sound(&self, calibration: usize) -> bool {
        (self.slots.is_empty() || self.row == POSE + calibration)
            && self.slots.iter().all(|slot| slot.value.iter().all(|x| x.is_finite()))
    }

    /// The first row of the error of a sensor's readings of a landmark.
    pub fn find(&self, id: u32, sensor: u8) -> Option<usize> {
        let k = self.slots.iter().position(|slot| slot.of == Some((id, sensor)))?;
        Some(self.row + 2 * k)
    }

    /// The estimate of b in these rows.
    pub fn value(&self, row: usize) -> Vector2<f64> {
        self.slots.get((row - self.row) / 2).map_or_else(Vector2::zeros, |slot| Vector2::from(slot.value))
    }

    /// The same; a slot that is free, or that nobody needs any more, if there was none. It is independent of the rest
    /// of the state then.
    pub fn take(
        &mut self,
        id: u32,
        sensor: u8,
        stamp: Stamp,
        time_s: [f64; 3],
        covariance: &mut Covariance,
    ) -> Option<usize> {
        let time_s = longest(time_s);
        let own = self.slots.iter().position(|slot| slot.of == Some((id, sensor)));
        let is_old = |slot: &Slot| slot.of.is_none() || stamp.since(slot.last) > GIVEN_UP_AFTER * time_s;
        let oldest = || {
            let old = self.slots.iter().enumerate().filter(|(_, slot)| is_old(slot));
            old.min_by_key(|(k, slot)| (slot.last, *k)).map(|(k, _)| k)
        };
        let k = own.or_else(oldest)?;
        if own.is_none() {
            self.free(k, covariance);
        }
        (self.slots[k].of, self.slots[k].last) = (Some((id, sensor)), stamp);
        Some(self.row + 2 * k)
    }

    /// Forgets that of a landmark.
    pub fn forget(&mut self, id: u32, sensor: u8, covariance: &mut Covariance) {
        if let Some(k) = self.slots.iter().position(|slot| slot.of == Some((id, sensor))) {
            self.free(k, covariance);
        }
    }

    /// The rows that they have.
    pub fn range(&self) -> std::ops::Range<usize> {
        self.row..self.row + self.rows()
    }

    fn free(&mut self, k: usize, covariance: &mut Covariance) {
        self.slots[k] = FREE;
        let row = self.row + 2 * k;
        covariance.separate_row(row, 1.0);
        covariance.separate_row(row + 1, 1.0);
    }

    /// All are independent of the rest, and of what was read so far.
    pub fn clear(&mut self, covariance: &mut Covariance) {
        (0..self.slots.len()).for_each(|k| self.free(k, covariance));
        self.stamp = None;
    }

    /// Time has come to `stamp`; `time_s` is the correlation time of each sensor.
    pub fn fade(&mut self, stamp: Stamp, time_s: impl Fn(u8) -> [f64; 3], covariance: &mut Covariance) {
        let Some(before) = self.stamp.replace(stamp).filter(|_| !self.slots.is_empty()) else { return };
        let duration = stamp.since(before);
        if duration <= 0.0 {
            return;
        }
        self.factors.clear();
        self.factors.resize(self.rows(), 1.0);
        let mut of_last: Option<(u8, [f64; 2])> = None;
        for k in 0..self.slots.len() {
            let Some((_, sensor)) = self.slots[k].of else { continue };
            let time_s = time_s(sensor);
            if stamp.since(self.slots[k].last) > FORGOTTEN_AFTER * longest(time_s) {
                self.free(k, covariance);
                continue;
            }
            let rho = match of_last {
                Some((last, rho)) if last == sensor => rho,
                _ => [0, 1].map(|d: usize| (-duration / time_s[d].max(1e-3)).exp()),
            };
            of_last = Some((sensor, rho));
            for (d, rho) in rho.into_iter().enumerate() {
                self.slots[k].value[d] *= rho;
                self.factors[2 * k + d] = rho;
            }
        }
        covariance.forget_rows(self.row, &self.factors);
    }

    /// Adds a correction.
    pub fn correct(&mut self, delta: &[f64]) {
        for (slot, delta) in self.slots.iter_mut().zip(delta.chunks_exact(2)) {
            slot.value[0] += delta[0];
            slot.value[1] += delta[1];
        }
    }
}

impl State {
    /// Forgets all lasting errors of readings: what was known of them is of another time, or part of another map.
    pub fn forget_offsets(&mut self) {
        self.offsets.clear(&mut self.covariance);
    }

    /// Time has come to `stamp`: errors of readings that last are forgotten by and by.
    pub fn fade_offsets(&mut self, stamp: Stamp, sensors: &Sensors) {
        self.offsets.fade(stamp, |sensor| sensors.lasting(sensor).time_s, &mut self.covariance);
    }

    /// The first row of the lasting error of a sensor's readings of a landmark, which is read at `stamp`; `None` if
    /// it has none, or nobody has a place for it.
    pub fn take_offset(&mut self, id: u32, sensor: u8, stamp: Stamp, sensors: &Sensors) -> Option<usize> {
        let lasting = sensors.lasting(sensor);
        if lasting.share == [0.0; 3] {
            return None;
        }
        self.offsets.take(id, sensor, stamp, lasting.time_s, &mut self.covariance)
    }
}

/// The first reading of the newest feature has a lasting error, too, which is in the place of the feature.
pub fn begin_offset(state: &mut State, model: &Model, reading: &Reading, stamp: Stamp) {
    let share = model.sensors.lasting(reading.sensor).share;
    if state.offsets.rows() == 0 || share == [0.0; 3] || model.sensors.dim(reading) != 2 {
        return;
    }
    let i = state.features.len() - 1;
    let id = state.features[i].id;
    state.offsets.forget(id, reading.sensor, &mut state.covariance);
    let Some(row) = state.take_offset(id, reading.sensor, stamp, &model.sensors) else { return };
    let mut first = Match::new(Subject::Feature(i), reading);
    // Where the landmark was initialized: with the Jacobian at another heading, the joint covariance of landmark and
    // error would be indefinite for a correlated covariance.
    if !linearize(state, &model.sensors, &mut first, Linearization::Current) {
        return;
    }
    let corner = |m: &Matrix3x2<f64>| m.fixed_rows::<2>(0).into_owned();
    // The feature is off by as much as its reading, the other way.
    if let Some(inverse) = corner(&first.by_feature).try_inverse() {
        state.covariance.set_feature_rows(i, row, &-(inverse * corner(&first.by_lasting)));
    }
}

/// The candidates whose errors last, and whose lasting errors are not in the state, get a place for these there.
pub fn take_offsets(state: &mut State, model: &Model, stamp: Stamp, candidates: &mut [Match]) {
    if state.offsets.rows() == 0 {
        return;
    }
    for candidate in candidates.iter_mut() {
        let Subject::Feature(i) = candidate.subject else { continue };
        if candidate.dim != 2 {
            continue;
        }
        let (id, sensor) = (state.features[i].id, candidate.reading.sensor);
        let Some(row) = state.take_offset(id, sensor, stamp, &model.sensors) else { continue };
        if candidate.lasting.is_none() {
            candidate.lasting = Some(row);
            candidate.split(state, model.sensors.lasting(sensor).share);
        }
    }
}
