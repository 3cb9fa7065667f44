//! The time-correlated errors of the landmarks that were measured last, as rows of the state.

use lienav_base::stamp::Stamp;
use lienav_ekf::covariance::{Covariance, POSE};
use nalgebra::Vector2;
use serde::Deserialize;
use serde::Serialize;
/// An error is forgotten after this many times its correlation time: what is left of it is 5 %.
const FORGOTTEN_AFTER: f64 = 3.0;

/// It is given up for that of a landmark that is in view after this many times its correlation time.
const GIVEN_UP_AFTER: f64 = 0.3;

/// The time-correlated errors of the landmarks that were read last. Their rows come after those of the calibration.
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
    #[inline]
    pub fn copy_from(&mut self, other: &Self) {
        self.slots.clone_from(&other.slots);
        (self.stamp, self.row) = (other.stamp, other.row);
    }

    /// `slots` of them behind so many parameters of the calibration.
    #[inline]
    pub fn new(slots: usize, calibration: usize) -> Self {
        Self { slots: vec![FREE; slots], stamp: None, row: POSE + calibration, factors: Vec::new() }
    }

    /// So many rows came into the state before theirs.
    #[inline]
    pub fn shift_rows(&mut self, rows: usize) {
        self.row += rows;
    }

    /// How many rows they have.
    #[inline]
    pub fn rows(&self) -> usize {
        2 * self.slots.len()
    }

    /// Whether what was saved is whole.
    #[inline]
    pub fn is_sound(&self, calibration: usize) -> bool {
        (self.slots.is_empty() || self.row == POSE + calibration)
            && self.slots.iter().all(|slot| slot.value.iter().all(|x| x.is_finite()))
    }

    /// The first row of the error of a sensor's measurements of a landmark.
    #[inline]
    pub fn find(&self, id: u32, sensor: u8) -> Option<usize> {
        let k = self.slots.iter().position(|slot| slot.of == Some((id, sensor)))?;
        Some(self.row + 2 * k)
    }

    /// The estimates of all, in the order of their rows.
    #[inline]
    pub fn values(&self) -> impl Iterator<Item = f64> + '_ {
        self.slots.iter().flat_map(|slot| slot.value)
    }

    /// The estimate of b in these rows.
    #[inline]
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
    #[inline]
    pub fn forget(&mut self, id: u32, sensor: u8, covariance: &mut Covariance) {
        if let Some(k) = self.slots.iter().position(|slot| slot.of == Some((id, sensor))) {
            self.free(k, covariance);
        }
    }

    /// The rows that they have.
    #[inline]
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
    #[inline]
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

/// So many landmarks have one.
pub const SLOTS: usize = 16;
