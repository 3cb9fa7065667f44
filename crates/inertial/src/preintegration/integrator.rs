//! Samples in, one increment a frame out.

use super::samples::{Interpolation, Samples};
use super::{Preintegrated, Preintegration};
use crate::imu::{Biases, GRAVITY, Imu, ImuNoise, ImuSample};
use lienav_base::stamp::Stamp;
use serde::{Deserialize, Serialize};

/// Integrates samples up to the stamps of frames, which may lie between samples.
///
/// Push a sample; as long as frames are not later than it, [`take`](Self::take) what lies before them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Integrator {
    samples: Samples,
    current: Preintegration,
    /// Up to where samples were integrated.
    until: Stamp,
    /// How the body moved lately.
    recent: Scatter,
    /// Where samples were missing since the last call of [`Integrator::take`].
    outages: Vec<Outage>,
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
        Self {
            samples: Samples::new(interpolation),
            current,
            until: Stamp::default(),
            recent: Scatter::default(),
            outages: Vec::with_capacity(MOST_OUTAGES),
        }
    }

    /// Whether its counts fit its arrays, as they do unless it was read from damaged text.
    pub fn is_sound(&self) -> bool {
        self.samples.is_sound() && self.outages.len() <= MOST_OUTAGES
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
        let since = self.samples.newest().map_or(0.0, |newest| sample.stamp.since(newest.stamp));
        if since <= LONGEST_INTERVAL_S {
            self.recent.add(&sample.value, since);
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
        for outage in self.outages.drain(..) {
            outage.add_to(&mut taken, stamp);
        }
        self.current.restart(*self.current.biases());
        Ok(taken)
    }

    /// What was measured at a stamp between the last two samples, biases included.
    pub fn measured_at(&self, stamp: Stamp) -> Option<Imu> {
        let newest = self.samples.newest()?.stamp;
        Some(self.samples.at(stamp.since(newest)))
    }

    /// The stamp of the newest sample.
    pub fn newest(&self) -> Option<Stamp> {
        self.samples.newest().map(|sample| sample.stamp)
    }

    /// From now on, these biases are taken off. What was integrated since the last call of [`take`](Self::take) is
    /// dropped; directly after it, that is nothing.
    pub fn set_biases(&mut self, biases: Biases) {
        self.outages.clear();
        self.current.restart(biases);
    }

    /// What lies between the last call of [`take`](Self::take) and the newest sample, and its stamp; nothing changes.
    pub fn until_newest(&self) -> Option<(Stamp, Preintegrated)> {
        let newest = self.samples.newest()?.stamp;
        let mut current = self.current.clone();
        let last = self.piece(newest).map(|(h, values)| {
            current.add(h, &values);
            self.outage(h, newest)
        });
        let mut taken = current.finish();
        for outage in self.outages.iter().chain(last.flatten().as_ref()) {
            outage.add_to(&mut taken, newest);
        }
        Some((newest, taken))
    }

    /// Becomes what another one is, without an allocation.
    pub fn copy_from(&mut self, other: &Self) {
        let Self { samples, current, until, recent, outages } = other;
        self.samples.clone_from(samples);
        self.current.clone_from(current);
        (self.until, self.recent) = (*until, *recent);
        self.outages.clear();
        self.outages.extend_from_slice(outages);
    }

    fn advance(&mut self, to: Stamp) {
        let Some((h, values)) = self.piece(to) else { return };
        self.current.add(h, &values);
        self.until = to;
        if self.outages.len() < MOST_OUTAGES {
            self.outages.extend(self.outage(h, to));
        }
    }

    /// The length up to a stamp, s, and the values at its two Gauss points.
    fn piece(&self, to: Stamp) -> Option<(f64, [Imu; 2])> {
        let newest = self.samples.newest()?;
        let h = to.since(self.until);
        let middle = self.until.since(newest.stamp) + 0.5 * h;
        let offset = GAUSS * h;
        (h > 0.0).then(|| (h, [self.samples.at(middle - offset), self.samples.at(middle + offset)]))
    }

    /// The outage of `h` seconds that end at a stamp, if samples were missing there.
    fn outage(&self, h: f64, end: Stamp) -> Option<Outage> {
        let newest = self.samples.newest()?.stamp;
        let between = self.samples.previous().map_or(0.0, |previous| newest.since(previous.stamp));
        let unknown = self.recent.unknown();
        (between > LONGEST_INTERVAL_S).then_some(Outage { seconds: h, of_seconds: between, end, unknown })
    }
}

/// So many outages between two frames are counted; more of them are one long outage for the most part.
const MOST_OUTAGES: usize = 8;

/// Between samples farther apart than this, s, the motion is not known to be the straight line between them.
const LONGEST_INTERVAL_S: f64 = 0.1;

/// What a body in a hand or in the air may do meanwhile at least, as standard deviations of a constant: rad/s and m/s².
const UNKNOWN: (f64, f64) = (0.5, 2.0);
/// Rates and forces scatter about their means over so long, s.
const MEMORY_S: f64 = 2.0;

/// How much rate and force scatter about their means: variances of all axes together, with older samples counting less.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Scatter {
    mean: Imu,
    rate: f64,
    force: f64,
    weight: f64,
}

impl Scatter {
    fn add(&mut self, value: &Imu, since: f64) {
        self.weight = self.weight * (1.0 - since / MEMORY_S).max(0.0) + 1.0;
        let share = 1.0 / self.weight;
        let (rate, force) = (value.rate - self.mean.rate, value.force - self.mean.force);
        self.mean.rate += rate * share;
        self.mean.force += force * share;
        self.rate += share * (rate.dot(&(value.rate - self.mean.rate)) - self.rate);
        self.force += share * (force.dot(&(value.force - self.mean.force)) - self.force);
    }

    /// Two values of a motion that scatters by s are √2 s apart.
    fn unknown(&self) -> (f64, f64) {
        let of = |square: f64, least: f64| (2.0 / 3.0 * square.max(0.0)).sqrt().max(least);
        (of(self.rate, UNKNOWN.0), of(self.force, UNKNOWN.1))
    }
}

/// A part of an interval without samples.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Outage {
    /// Its length, s.
    seconds: f64,
    /// Length of the whole interval without samples, s.
    of_seconds: f64,
    end: Stamp,
    /// Standard deviations of what rate and force may have been, rad/s and m/s².
    unknown: (f64, f64),
}

impl Outage {
    /// Adds what is unknown to an increment that ends at a stamp: with σ_w and σ_a constant over the t seconds without
    /// samples, a rotation of σ_w t and a velocity of σ_a t at their end. Frames that go on meanwhile make the parts
    /// short; the unknown is not another one in each of them, but constant for τ, and variances are as t τ: what is a
    /// straight line over 0.1 s to both sides is one for τ = 0.2 s. Turned about, gravity adds σ_w g t/2 to the
    /// acceleration.
    fn add_to(&self, taken: &mut Preintegrated, stamp: Stamp) {
        let t = self.seconds;
        let share = (t * t.max(2.0 * LONGEST_INTERVAL_S).min(self.of_seconds)).sqrt();
        let turn = self.unknown.0 * share;
        let velocity = self.unknown.1.hypot(self.unknown.0 * GRAVITY * 0.5 * t) * share;
        let position = velocity * (0.5 * t + stamp.since(self.end));
        for axis in 0..3 {
            taken.covariance[(axis, axis)] += turn * turn;
            taken.covariance[(3 + axis, 3 + axis)] += velocity * velocity;
            taken.covariance[(6 + axis, 6 + axis)] += position * position;
            taken.covariance[(3 + axis, 6 + axis)] += velocity * position;
            taken.covariance[(6 + axis, 3 + axis)] += velocity * position;
        }
    }
}

/// √3/6: the Gauss points are so far from the middle, in steps.
const GAUSS: f64 = 0.288_675_134_594_812_87;
