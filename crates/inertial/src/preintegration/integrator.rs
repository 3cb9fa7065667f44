//! Samples in, one increment a frame out.

use super::samples::{Interpolation, Samples};
use super::{Preintegrated, Preintegration};
use crate::imu::{Biases, Imu, ImuNoise, ImuSample};
use lienav_base::stamp::Stamp;

/// Integrates samples up to the stamps of frames, which may lie between samples.
///
/// Push a sample; as long as frames are not later than it, [`take`](Self::take) what lies before them.
#[derive(Clone, Debug)]
pub struct Integrator {
    samples: Samples,
    current: Preintegration,
    /// Up to where samples were integrated.
    until: Stamp,
    /// How long samples were missing since the last call of [`Integrator::take`], s, and until how long before its end.
    outages: Vec<(f64, Stamp)>,
}

/// A sample or a frame that does not continue what came before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutOfOrder {
    /// Not later than the last sample.
    #[error("a sample is not later than the one before it")]
    Sample,
    /// Not finite.
    #[error("a sample is not finite")]
    NotFinite,
    /// A frame before what was integrated already, or after the newest sample.
    #[error("a frame is not between the last two samples")]
    Frame,
}

impl Integrator {
    /// Without samples, at these biases.
    pub fn new(biases: Biases, noise: ImuNoise, interpolation: Interpolation) -> Self {
        let current = Preintegration::new(biases, noise);
        Self { samples: Samples::new(interpolation), current, until: Stamp::default(), outages: Vec::with_capacity(8) }
    }

    /// Takes in a sample, and integrates up to the one before it.
    ///
    /// # Errors
    /// A sample that is not finite or not later than the last one; it is left out.
    pub fn push(&mut self, sample: ImuSample) -> Result<(), OutOfOrder> {
        if !sample.value.is_finite() {
            return Err(OutOfOrder::NotFinite);
        }
        match self.samples.newest().map(|newest| newest.stamp) {
            Some(newest) if sample.stamp <= newest => return Err(OutOfOrder::Sample),
            Some(newest) => self.advance(newest),
            None => self.until = sample.stamp,
        }
        self.samples.push(sample);
        Ok(())
    }

    /// What lies between the last call and this stamp. The next interval begins there.
    ///
    /// # Errors
    /// A stamp before the last call, before the sample before the newest, or after the newest.
    pub fn take(&mut self, stamp: Stamp) -> Result<Preintegrated, OutOfOrder> {
        let newest = self.samples.newest().map_or(Stamp::MIN, |sample| sample.stamp);
        if stamp < self.until || stamp > newest {
            return Err(OutOfOrder::Frame);
        }
        self.advance(stamp);
        let mut taken = self.current.finish();
        for (seconds, end) in self.outages.drain(..) {
            add_outage(&mut taken, seconds, stamp.since(end));
        }
        self.current.restart(*self.current.biases());
        Ok(taken)
    }

    /// What was measured at a stamp between the last two samples, biases included.
    pub fn measured_at(&self, stamp: Stamp) -> Option<Imu> {
        let newest = self.samples.newest()?.stamp;
        Some(self.samples.at(stamp.since(newest)))
    }

    /// From now on, these biases are taken off. What was integrated since the last call of [`take`](Self::take) is
    /// dropped; directly after it, that is nothing.
    pub fn set_biases(&mut self, biases: Biases) {
        self.outages.clear();
        self.current.restart(biases);
    }

    fn advance(&mut self, to: Stamp) {
        let Some(newest) = self.samples.newest() else { return };
        let h = to.since(self.until);
        if h > 0.0 {
            let middle = self.until.since(newest.stamp) + 0.5 * h;
            let offset = GAUSS * h;
            self.current.add(h, &[self.samples.at(middle - offset), self.samples.at(middle + offset)]);
            self.until = to;
            let between = self.samples.previous().map_or(0.0, |previous| newest.stamp.since(previous.stamp));
            if between > LONGEST_INTERVAL_S && self.outages.len() < self.outages.capacity() {
                self.outages.push((h, to));
            }
        }
    }
}

/// Between samples farther apart than this, s, the motion is not known to be the straight line between them.
const LONGEST_INTERVAL_S: f64 = 0.1;

/// What a body in a hand or in the air may do meanwhile, as standard deviations of a constant: rad/s and m/s².
const OUTAGE: (f64, f64) = (0.5, 2.0);

/// Adds the uncertainty of `seconds` without samples, which ended `since` seconds before the end of the interval: with
/// σ_w and σ_a constant meanwhile, the rotation is uncertain by σ_w t, the velocity by σ_a t, the position by
/// σ_a (t²/2 + t since).
fn add_outage(taken: &mut Preintegrated, seconds: f64, since: f64) {
    let (turn, velocity) = (OUTAGE.0 * seconds, OUTAGE.1 * seconds);
    let position = OUTAGE.1 * seconds * (0.5 * seconds + since);
    for axis in 0..3 {
        taken.covariance[(axis, axis)] += turn * turn;
        taken.covariance[(3 + axis, 3 + axis)] += velocity * velocity;
        taken.covariance[(6 + axis, 6 + axis)] += position * position;
        taken.covariance[(3 + axis, 6 + axis)] += velocity * position;
        taken.covariance[(6 + axis, 3 + axis)] += velocity * position;
    }
}

/// √3/6: the Gauss points are so far from the middle, in steps.
const GAUSS: f64 = 0.288_675_134_594_812_87;
