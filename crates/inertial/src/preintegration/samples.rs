//! Samples of an inertial sensor as functions of time: a polynomial through the last of them.

use crate::imu::{Imu, ImuSample};
use lienav_base::stamp::Stamp;
use nalgebra::Vector6;
use serde::{Deserialize, Serialize};

/// How rate and force run between two samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Interpolation {
    /// A straight line: second order in the interval of the samples.
    Linear,
    /// The cubic through both samples and the two before them: fourth order. Where samples before are missing, or an
    /// interval is more than twice as long as its neighbour, it is a polynomial of lower degree.
    #[default]
    Cubic,
}

/// An interval may be so much longer than the one before it; a polynomial would otherwise extrapolate.
const LARGEST_RATIO: f64 = 2.0;

/// The last samples, the newest last, and the polynomial on the interval before the newest.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Samples {
    interpolation: Interpolation,
    last: [ImuSample; 4],
    count: usize,
    /// Newton's divided differences from the newest sample backwards.
    differences: [Vector6<f64>; 4],
    /// Times of the four samples relative to the newest, s: 0 and three negative ones.
    times_s: [f64; 4],
    degree: usize,
}

impl Samples {
    /// Without samples.
    pub fn new(interpolation: Interpolation) -> Self {
        let none = ImuSample { stamp: Stamp::default(), value: Imu::default() };
        let zero = Vector6::zeros();
        Self { interpolation, last: [none; 4], count: 0, differences: [zero; 4], times_s: [0.0; 4], degree: 0 }
    }

    /// Whether its counts fit its arrays, as they do unless it was read from damaged text.
    pub fn is_sound(&self) -> bool {
        self.count <= self.last.len() && self.degree < self.differences.len()
    }

    /// The newest sample.
    pub fn newest(&self) -> Option<&ImuSample> {
        (self.count > 0).then_some(&self.last[3])
    }

    /// The sample before the newest.
    pub fn previous(&self) -> Option<&ImuSample> {
        (self.count > 1).then_some(&self.last[2])
    }

    /// Takes in a sample later than the newest.
    pub fn push(&mut self, sample: ImuSample) {
        self.last.rotate_left(1);
        self.last[3] = sample;
        self.count = (self.count + 1).min(4);
        self.interpolate();
    }

    fn interpolate(&mut self) {
        let most = match self.interpolation {
            Interpolation::Linear => 1,
            Interpolation::Cubic => 3,
        };
        for k in 0..self.count {
            self.times_s[k] = self.last[3 - k].stamp.since(self.last[3].stamp);
            self.differences[k] = vector(&self.last[3 - k].value);
        }
        self.degree = usize::from(self.count > 1);
        while self.degree < most && self.degree + 1 < self.count {
            let intervals = [0, 1].map(|k| self.times_s[self.degree - k] - self.times_s[self.degree + 1 - k]);
            let is_even = (1.0 / LARGEST_RATIO..=LARGEST_RATIO).contains(&(intervals[0] / intervals[1]));
            if !is_even {
                break;
            }
            self.degree += 1;
        }
        for order in 1..=self.degree {
            for k in (order..=self.degree).rev() {
                let span = self.times_s[k] - self.times_s[k - order];
                self.differences[k] = (self.differences[k] - self.differences[k - 1]) / span;
            }
        }
    }

    /// The value at an instant relative to the newest sample, s.
    #[inline]
    pub fn at(&self, time_s: f64) -> Imu {
        let mut value = self.differences[self.degree];
        for k in (0..self.degree).rev() {
            value = value * (time_s - self.times_s[k]) + self.differences[k];
        }
        Imu::new(value.fixed_rows::<3>(0).into_owned(), value.fixed_rows::<3>(3).into_owned())
    }
}

fn vector(value: &Imu) -> Vector6<f64> {
    let (rate, force) = (&value.rate, &value.force);
    Vector6::new(rate.x, rate.y, rate.z, force.x, force.y, force.z)
}
