//! How a body moves between frames: as its odometry measures, or at a velocity that stays nearly the same.

use super::inertial::Inertial;
use super::input::BodyTwist;
use super::settings::TagNoise;
use lienav_base::stamp::Stamp;
use lienav_inertial::preintegration::Preintegrated;
use lienav_inertial::preintegration::integrator::Integrator;
use lienav_inertial::preintegration::twist::{Twist, held};
use lienav_inertial::state::State;
use lienav_inertial::state::errors::{GYRO_BIAS, VELOCITY};
use lienav_tags::filter::TagFilter;
use lienav_tags::sight::Sight;
use nalgebra::{Matrix3, Vector2, Vector3};
use std::collections::VecDeque;

/// The most twists that wait, at 200 Hz for 20 s.
pub const MOST_TWISTS: usize = 4096;

/// Accelerations of a body, m/s² and rad/s²; odometry that changes faster has jumped.
const FASTEST_CHANGE: [f64; 2] = [10.0, 10.0];

/// Density of roll and pitch rate of a robot that moves, rad/√s, where odometry has zero for both: it does not measure
/// them. A robot that rocks by 2° turns at 0.08 rad/s, one way for half a second.
const ROCKING: f64 = 0.05;

/// Where a state is in time, and what moved it there.
#[derive(Clone, Debug)]
pub struct Place {
    /// The instant of the state.
    pub at: Stamp,
    /// Whether odometry moved it last: then it has no velocity of its own.
    is_held: bool,
    /// What the inertial sensor measured from there on.
    inertial: Option<Integrator>,
}

impl Place {
    /// Becomes another one, without an allocation.
    pub fn copy_from(&mut self, other: &Self) {
        (self.at, self.is_held) = (other.at, other.is_held);
        match (&mut self.inertial, &other.inertial) {
            (Some(own), Some(other)) => own.copy_from(other),
            (own, other) => own.clone_from(other),
        }
    }
}

/// Twists, and how well they are measured.
#[derive(Clone, Debug)]
pub struct Motion {
    /// Each held until the next; the first are those before the state.
    twists: VecDeque<BodyTwist>,
    /// Densities of rate, rad/√s, and velocity, m/√s.
    density: [f64; 2],
    /// By which part of its last change a value of rate and velocity is uncertain.
    lag: f64,
    /// A twist is held no longer, s.
    hold_s: f64,
    /// Whether the body stays on a level floor.
    pub is_planar: bool,
    /// Standard deviation of the stamp of a frame, s.
    pub stamp_sigma_s: f64,
    /// The inertial sensor, where there is one: it moves the state, and twists are measurements of the velocity.
    pub inertial: Option<Inertial>,
}

impl Motion {
    /// By these settings.
    pub fn new(noise: &TagNoise) -> Self {
        Self {
            twists: VecDeque::with_capacity(256),
            density: [noise.odometry_rate_noise, noise.odometry_velocity_noise],
            lag: noise.odometry_lag,
            hold_s: noise.odometry_hold_s,
            is_planar: noise.level_floor,
            stamp_sigma_s: noise.stamp_std_s,
            inertial: None,
        }
    }

    /// Forgets all that was measured.
    pub fn clear(&mut self) {
        self.twists.clear();
        self.inertial.iter_mut().for_each(Inertial::clear);
    }

    /// The newest twist.
    pub fn newest(&self) -> Option<&BodyTwist> {
        self.twists.back()
    }

    /// Adds a twist that is later than all before.
    pub fn push(&mut self, twist: BodyTwist) {
        if self.twists.len() >= MOST_TWISTS {
            self.twists.pop_front();
        }
        self.twists.push_back(twist);
    }

    /// Forgets twists that are of no use to a state at this stamp or later.
    pub fn forget_before(&mut self, stamp: Stamp) {
        self.inertial.iter_mut().for_each(|inertial| inertial.forget_before(stamp));
        // The one that is held, and the one before, from which it has changed.
        while self.twists.get(2).is_some_and(|third| third.stamp <= stamp) {
            self.twists.pop_front();
        }
    }

    /// The first instant at which a twist ends that is not earlier than this stamp; `None` without one.
    pub fn next_change(&self, stamp: Stamp) -> Option<Stamp> {
        self.twists.get(self.twists.partition_point(|twist| twist.stamp <= stamp)).map(|twist| twist.stamp)
    }

    /// The twist that is held at a stamp, and until when, if another ends it.
    fn at(&self, stamp: Stamp) -> Option<(usize, Option<Stamp>)> {
        let k = self.twists.partition_point(|twist| twist.stamp <= stamp).checked_sub(1)?;
        Some((k, self.twists.get(k + 1).map(|next| next.stamp)))
    }

    /// The twist at a stamp, if it is still held there.
    pub fn twist_at(&self, stamp: Stamp) -> Option<&BodyTwist> {
        let (k, _) = self.at(stamp)?;
        self.twists.get(k).filter(|twist| stamp.since(twist.stamp) < self.hold_s)
    }

    /// A state at this stamp that nothing has moved yet: where odometry will move it, it has no velocity.
    pub fn place(&self, at: Stamp) -> Place {
        let inertial = self.inertial.as_ref().map(|inertial| inertial.integrator(at));
        Place { at, is_held: inertial.is_none() && self.twist_at(at).is_some(), inertial }
    }

    /// How fast the image of a tag moves, px/s, at the twist that is held at a stamp, or that of the state.
    pub fn blur(&self, stamp: Stamp, state: &State, sight: &Sight) -> f64 {
        let own = || BodyTwist { stamp, velocity: state.nav.velocity, rate: state.rate, variances: None };
        let twist = if self.inertial.is_some() { Some(own()) } else { self.twist_at(stamp).copied() };
        let Some(twist) = twist else { return 0.0 };
        let edge = (sight.corners[1] - sight.corners[0]).norm().max((sight.corners[2] - sight.corners[1]).norm());
        sight.lens.pinhole.focal.x * twist.rate.norm() + edge / sight.size_m * twist.velocity.norm()
    }

    /// Moves a state to another instant: by what an inertial sensor measured, if that reaches it, or twist by twist:
    /// where these end does not depend on when they came.
    pub fn advance(&self, tags: &TagFilter, state: &mut State, place: &mut Place, to: Stamp) {
        if let (Some(inertial), Some(integrator)) = (&self.inertial, &mut place.inertial) {
            if place.at < to && inertial.advance(tags, state, integrator, to) {
                place.at = to;
            }
            return;
        }
        while place.at < to {
            let held = self.at(place.at);
            let next = held.map_or_else(|| self.next_change(place.at), |(_, until)| until);
            let mut until = next.map_or(to, |next| next.min(to));
            let twist = held.and_then(|(k, _)| Some((k, self.twists.get(k)?.stamp + self.hold_s)));
            match twist.filter(|(_, end)| place.at < *end) {
                Some((k, end)) => {
                    until = until.min(end);
                    if !place.is_held {
                        stop(state);
                        place.is_held = true;
                    }
                    let increment = self.increment(k, until.since(place.at), state);
                    tags.predict(state, &increment);
                }
                None => {
                    if place.is_held {
                        self.let_go(tags, state, place.at);
                        place.is_held = false;
                    }
                    tags.coast(state, until.since(place.at));
                }
            }
            place.at = until;
        }
    }

    /// What twist `k` says of so many seconds.
    fn increment(&self, k: usize, seconds: f64, state: &State) -> Preintegrated {
        let twist = &self.twists[k];
        let before = k.checked_sub(1).map(|k| &self.twists[k]);
        let white = |which: usize| self.density[which].powi(2) / seconds.max(1e-6);
        let (mut rate_variance, mut velocity_variance) = (Vector3::repeat(white(0)), Vector3::repeat(white(1)));
        let is_moving = twist.rate.z != 0.0 || twist.velocity != Vector3::zeros();
        if !self.is_planar && is_moving && twist.rate.xy() == Vector2::zeros() {
            (0..2).for_each(|k| rate_variance[k] += ROCKING * ROCKING / seconds.max(1e-6));
        }
        if let (Some((velocity, rate)), Some(before)) = (&twist.variances, before) {
            // A message stands for the time since the one before: white noise of that much.
            let share = twist.stamp.since(before.stamp).clamp(1e-3, self.hold_s) / seconds.max(1e-6);
            rate_variance = rate_variance.sup(&(rate * share));
            velocity_variance = velocity_variance.sup(&(velocity * share));
        }
        if let Some(before) = before {
            let step = twist.stamp.since(before.stamp).max(1e-3);
            let changes = [twist.rate - before.rate, twist.velocity - before.velocity];
            let late = changes.map(|change| change * self.lag);
            if self.is_planar {
                rate_variance.z += late[0].z.powi(2);
                velocity_variance += Vector3::new(1.0, 1.0, 0.0) * late[1].xy().norm_squared();
            } else {
                let jump = |which: usize| {
                    let change = changes[which].norm();
                    if change > FASTEST_CHANGE[which] * step { change * change } else { 0.0 }
                };
                rate_variance.add_scalar_mut(jump(0));
                velocity_variance.add_scalar_mut(jump(1));
                rate_variance += late[0].component_mul(&late[0]);
                velocity_variance += late[1].component_mul(&late[1]);
            }
        }
        let (rate, velocity) = (twist.rate, twist.velocity);
        held(&Twist { rate, velocity, rate_variance, velocity_variance }, &state.nav.biases, seconds)
    }

    /// Variances of the velocity of a twist by axis, (m/s)²: as stated, or by the noise at 20 Hz, whichever is more.
    pub fn velocity_variance(&self, twist: &BodyTwist) -> Vector3<f64> {
        const USUAL_S: f64 = 0.05;
        let usual = Vector3::repeat(self.density[1].powi(2) / USUAL_S);
        twist.variances.map_or(usual, |(velocity, _)| velocity.sup(&usual))
    }

    /// Odometry has fallen silent: the body goes on as it moved last, but for what it may have done since.
    fn let_go(&self, tags: &TagFilter, state: &mut State, at: Stamp) {
        let twist = self.at(at).and_then(|(k, _)| self.twists.get(k));
        let free = &tags.motion;
        let may = self.hold_s.min(free.memory_s).sqrt();
        state.nav.velocity = twist.map_or_else(Vector3::zeros, |twist| state.nav.rotation * twist.velocity);
        state.nav.biases.gyro = twist.map_or_else(Vector3::zeros, |twist| -twist.rate);
        forget(state, [free.acceleration * may, free.turn * may]);
    }
}

/// Odometry moves the body from here on: the state has no velocity of its own.
fn stop(state: &mut State) {
    state.nav.velocity = Vector3::zeros();
    state.nav.biases.gyro = Vector3::zeros();
    forget(state, [0.0; 2]);
}

/// Velocity and rate are known to these standard deviations, independently of everything else.
fn forget(state: &mut State, sigma: [f64; 2]) {
    state.predicted = state.nav;
    let n = state.covariance.dim();
    for (row, sigma) in [(VELOCITY, sigma[0]), (GYRO_BIAS, sigma[1])] {
        (0..n).for_each(|column| state.covariance.set(row, column, &Vector3::<f64>::zeros()));
        state.covariance.set(row, row, &Matrix3::from_diagonal_element(sigma * sigma));
    }
}
