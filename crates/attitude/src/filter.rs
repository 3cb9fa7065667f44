//! The pipeline: stamped samples in, an estimate after each of them.

mod estimate;
mod magnetic;
mod saved;
mod starting;

#[cfg(test)]
pub(super) use estimate::MOUNT_STD;
pub use saved::ResumeError;

use super::belief::{Belief, GYRO, InitialStd, NU, RHO, XI};
use super::field::FieldWatch;
use super::gravity_check::GravityCheck;
use super::leaning::Leaning;
use super::mixture::Mixture;
use super::preintegration::Preintegration;
use super::rest::Rest;
use super::start::Levelling;
use super::state::State;
use super::transition::Transition;

use super::{Config, Counts, DropReason, ImuSample, SPECS, TimeJump};
use lienav_base::clock::{ClockGuard, Limits, Verdict};
use lienav_base::settings::{OutOfRange, check_change};
use lienav_base::stamp::Stamp;
use lienav_integrate::attitude::{Method, Samples};
use lienav_lie::{LieGroup, Quat, hat};
use nalgebra::{Matrix3, UnitQuaternion, Vector3};
use serde::{Deserialize, Serialize};
use statrs::distribution::{ChiSquared, ContinuousCDF};
use std::f64::consts::PI;

/// How well the mean force of some seconds shows the vertical, rad.
const LEVELLED_STD: f64 = 0.3;

/// The whole pipeline. The node, the offline evaluation and the tests all run this and nothing else, so the same input
/// gives the same estimates to the last bit.
///
/// ```
/// use lienav_attitude::{Attitude, Config, ImuSample};
/// use lienav_base::stamp::Stamp;
/// use nalgebra::Vector3;
///
/// let mut attitude = Attitude::new(Config::default())?;
/// for k in 0..2000 {
///     attitude.imu(&ImuSample {
///         stamp: Stamp::from_nanos(5_000_000 * k),
///         angular_velocity: Vector3::new(0.0, 0.0, 0.01),
///         specific_force: Vector3::new(0.0, 0.0, 9.81),
///     })?;
/// }
/// let estimate = attitude.estimate().unwrap();
/// assert!(estimate.at_rest && (estimate.gyro_bias.z - 0.01).abs() < 1e-4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Serialize, Deserialize)]
pub struct Attitude {
    config: Config,
    /// χ² bound of the gate for rest.
    #[serde(skip)]
    rest_gate: f64,
    state: State,
    samples: Samples,
    /// The samples since the covariance was propagated last.
    preintegration: Preintegration,
    /// Time since the last correction by gravity, s; longer than the preintegration where a magnetic field ended one.
    uncorrected_s: f64,
    mixture: Mixture,
    rest: Rest,
    leaning: Leaning,
    /// Whether the last correction found the sensor stationary.
    rested: bool,
    gravity_check: GravityCheck,
    field: FieldWatch,
    counts: Counts,
    /// The last sample that was used; `None` before the first.
    last: Option<ImuSample>,
    /// The rate of the sample that R̂ is at, rad/s.
    last_rate: Vector3<f64>,
    /// R as a matrix, at the last sample.
    rotation: Matrix3<f64>,
    /// Up in the body's axes at the start, a unit vector: where the mount is taken for unbent.
    first_up: Vector3<f64>,
    /// Whether R̂ means anything yet.
    started: bool,
    /// While up is where the mean force since the start points.
    levelling: Option<Levelling>,
    /// Of the last magnetic field that was used.
    last_field: Option<Stamp>,
    /// Which samples belong to the clock in force.
    guard: ClockGuard,
    gaps: u64,
    time_jumps: u64,
    levellings: u64,
    enabled: bool,
}

impl Attitude {
    /// A filter that waits for its first sample.
    ///
    /// # Errors
    /// A setting out of range.
    pub fn new(config: Config) -> Result<Self, OutOfRange> {
        config.validate()?;
        Ok(Self {
            rest_gate: rest_gate(&config),
            state: initial_state(&config),
            samples: Samples::default(),
            preintegration: Preintegration::default(),
            uncorrected_s: 0.0,
            mixture: Mixture::new(&initial_std(&config), &config.motion),
            rest: Rest::default(),
            leaning: Leaning::default(),
            rested: false,
            gravity_check: GravityCheck::default(),
            field: FieldWatch::default(),
            counts: Counts::default(),
            last: None,
            last_rate: Vector3::zeros(),
            rotation: Matrix3::identity(),
            started: false,
            first_up: Vector3::z(),
            levelling: None,
            last_field: None,
            guard: ClockGuard::default(),
            gaps: 0,
            time_jumps: 0,
            levellings: 0,
            enabled: true,
            config,
        })
    }

    /// Takes in a sample: check, move, and now and then correct.
    ///
    /// # Errors
    /// Why it was not used; already counted.
    pub fn imu(&mut self, sample: &ImuSample) -> Result<(), DropReason> {
        match self.step_to(sample) {
            Ok(Some(step)) if step <= self.config.timing.max_gap_s => {
                self.advance(step, sample);
                let every = self.config.motion.correct_every_s;
                // A first sample alone says little of what vibrates.
                let begins = self.levelling.is_some_and(|levelling| levelling.seconds < every);
                if begins || self.uncorrected_s >= every {
                    self.correct();
                }
            }
            Ok(Some(gap)) => self.bridge(gap, sample),
            Ok(None) => self.start(sample),
            Err(reason) => {
                self.counts.add(reason);
                return Err(reason);
            }
        }
        self.last = Some(*sample);
        Ok(())
    }

    /// Seconds from the last sample to this one; `None` if there was none.
    fn step_to(&mut self, sample: &ImuSample) -> Result<Option<f64>, DropReason> {
        if !self.enabled {
            return Err(DropReason::Disabled);
        }
        if !sample.is_finite() {
            return Err(DropReason::NotFinite);
        }
        if sample.angular_velocity.norm() > self.config.gyroscope.max_rate
            || sample.specific_force.norm() > self.config.accelerometer.max_force
        {
            return Err(DropReason::Absurd);
        }
        let Some(last) = self.last.map(|last| last.stamp) else {
            let weight = (sample.specific_force - self.state.accelerometer_bias).norm();
            // A driver that warms up sends zeros, and in free fall nothing shows where up is.
            let shows_up = self.started || weight > 0.1 * self.config.accelerometer.gravity;
            if !shows_up {
                return Err(DropReason::Absurd);
            }
            self.guard.judge(sample.stamp, &self.limits());
            return Ok(None);
        };
        match self.guard.judge(sample.stamp, &self.limits()) {
            Verdict::InForce if sample.stamp == last => Err(DropReason::DuplicateStamp),
            Verdict::InForce if sample.stamp < last => Err(DropReason::TooLate),
            Verdict::InForce | Verdict::JumpedAhead => Ok(Some(sample.stamp.since(last))),
            Verdict::Unconfirmed { is_ahead: true, .. } | Verdict::Stray { is_ahead: true } => {
                Err(DropReason::FromTheFuture)
            }
            Verdict::Unconfirmed { .. } | Verdict::Stray { .. } => Err(DropReason::UnconfirmedJump),
            Verdict::SecondClock => Err(DropReason::SecondClock),
            Verdict::JumpedBack => {
                self.time_was_set_back();
                Ok(None)
            }
        }
    }

    fn limits(&self) -> Limits {
        let timing = &self.config.timing;
        Limits { max_ahead_s: timing.max_ahead_s, jump_back_s: timing.jump_back_s }
    }

    /// One step of R, v and p, and of what watches them.
    #[inline]
    fn advance(&mut self, step: f64, sample: &ImuSample) {
        self.last_rate = sample.angular_velocity;
        let state = &mut self.state;
        let rate = sample.angular_velocity - state.scales * sample.angular_velocity;
        let rates = self.samples.push(step, rate).without(&state.gyro_bias);
        state.orientation *= self.config.method.rotation(step, &rates);
        let before = self.rotation;
        self.rotation = *state.orientation.to_rotation_matrix().matrix();
        let mean = (before + self.rotation) * 0.5;
        // Each force with the rotation of its own instant: half a step of 3 ms at 5 rad/s would be half a degree of
        // tilt.
        let last = self.last.map_or(sample.specific_force, |last| last.specific_force) - state.accelerometer_bias;
        let force = sample.specific_force - state.accelerometer_bias;
        let mut acceleration = (before * last + self.rotation * force) * 0.5;
        acceleration.z -= self.config.accelerometer.gravity;
        let leak_s = self.config.motion.leak_s;
        let moved = (state.velocity + acceleration * (0.5 * step)) * step;
        let keep = leak_s / (leak_s + step);
        state.position = (state.position + moved) * keep;
        state.swept = (state.swept + self.rotation - before) * keep;
        state.velocity += acceleration * step;
        self.preintegration.add(step, &mean, &rates.end, &acceleration);
        self.uncorrected_s += step;
        self.rest.add(step, sample, &self.config.rest);
    }

    /// A gap that no polynomial should bridge: R goes on with the last rate for as long as that may be believed, and
    /// is known the less for it; of the velocity nothing is known any more.
    fn bridge(&mut self, gap: f64, sample: &ImuSample) {
        self.gaps += 1;
        self.settle();
        self.uncorrected_s = 0.0;
        let believed = self.config.timing.max_gap_s.min(gap);
        let rate = (self.samples.newest() + sample.angular_velocity) * 0.5 - self.state.gyro_bias;
        self.state.orientation *= Quat::exp(&(rate * believed)).unit_quaternion();
        self.state.orientation.renormalize_fast();
        let turned = (self.config.timing.gap_rate_std * gap).min(PI);
        let gyro = &self.config.gyroscope;
        let wandered = (gyro.bias_walk.powi(2) * gap).min(gyro.initial_bias_std.powi(2));
        self.mixture.each(|belief| {
            belief.loosen(XI, &Vector3::repeat(turned * turned));
            belief.loosen(GYRO, &Vector3::repeat(wandered));
        });
        let lever_velocity = self.rotation * hat(&rate);
        self.levelling = self.levelling.map(|_| Levelling::begin(&lever_velocity));
        self.mixture.forget_motion(self.config.motion.initial_reach);
        self.leaning = Leaning::default();
        self.forget_motion();
        self.samples.restart(sample.angular_velocity);
        self.rest.restart(sample);
        self.gravity_check = GravityCheck::default();
        self.refresh_rotation();
    }

    /// Propagates the covariance over the preintegrated samples and starts a new preintegration.
    fn settle(&mut self) {
        if self.preintegration.duration > 0.0 {
            let free_fall = Vector3::new(0.0, 0.0, -self.config.accelerometer.gravity);
            let duration = self.preintegration.duration;
            self.gravity_check.add(duration, &(self.preintegration.velocity_change - free_fall * duration));
            let config = &self.config;
            let transition = Transition::new(
                &mut self.state,
                &self.preintegration,
                &free_fall,
                &config.gyroscope,
                &config.accelerometer,
                &config.motion,
            );
            self.mixture.propagate(&transition);
            self.mixture.merge(&mut self.state);
            let lever_velocity = self.lever_velocity();
            if let Some(levelling) = &mut self.levelling {
                levelling.add(&self.preintegration, self.config.accelerometer.gravity, &lever_velocity);
            }
            self.preintegration = Preintegration::default();
        }
    }

    /// The periodic correction: a position of about zero, and at rest a zero-velocity update and a zero-rate update,
    /// which takes the mean rate for the gyroscope's bias.
    fn correct(&mut self) {
        let duration = std::mem::take(&mut self.uncorrected_s);
        self.settle();
        if self.level_start() {
            return;
        }
        if let Some(up) = self.gravity_check.true_up(self.config.accelerometer.gravity) {
            return self.level_anew(&up);
        }
        let at_rest = self.rest.is_rest(&self.config.rest);
        if at_rest != self.rested {
            // Rest is seen when it has lasted for a while; its end at once.
            let ago = if at_rest { self.config.rest.after_s } else { 0.0 };
            let (change, turned) = (self.config.rest.bias_change, self.rotation * ago);
            self.mixture.each(|belief| belief.loosen_gyro_bias(change, &turned));
            self.mixture.merge(&mut self.state);
            self.rested = at_rest;
        }
        let motion = &self.config.motion;
        if at_rest {
            // Of a mean over the interval.
            let of_mean = 2.0 * motion.correlation_s / duration;
            let reach = Vector3::repeat(motion.initial_reach);
            self.state.forget_position();
            self.mixture.each(|belief| belief.set(RHO, &reach));
            let outcome = self.mixture.correct_velocity(&self.state, self.config.rest.speed.powi(2) * of_mean);
            self.note(outcome);
            self.mixture.merge(&mut self.state);
            let variance = self.config.rest.rate_noise_density.powi(2) / duration;
            let outcome = self.mixture.correct_bias(&self.state, self.rest.mean_rate(), variance, self.rest_gate);
            self.note(outcome);
        } else {
            let up = self.rotation.row(2).transpose();
            self.leaning.add(duration, &up);
            let vertical = self.leaning.is_level().then_some(&up);
            let outcome = self.mixture.correct_position(duration, &self.state, vertical, motion);
            self.note(outcome);
        }
        self.mixture.merge(&mut self.state);
        // Products wear the norm off by less than an ulp each.
        self.state.orientation.renormalize_fast();
        self.refresh_rotation();
    }

    /// Starts again from the vertical `up` (world frame) after the gravity check has failed: velocity and biases were
    /// estimated with a wrong vertical and are discarded; the heading is kept.
    fn level_anew(&mut self, up: &Vector3<f64>) {
        self.levellings += 1;
        let level = UnitQuaternion::rotation_between(up, &Vector3::z())
            .unwrap_or_else(|| UnitQuaternion::from_scaled_axis(Vector3::x() * PI));
        let orientation = level * self.state.orientation;
        self.state = initial_state(&self.config);
        self.mixture = Mixture::new(&initial_std(&self.config), &self.config.motion);
        self.place(orientation, LEVELLED_STD, self.config.initial.yaw_std_rad.max(LEVELLED_STD));
        self.leaning = Leaning::default();
        self.gravity_check = GravityCheck::default();
        self.rested = false;
        self.refresh_rotation();
    }

    /// Puts R where it is known with these standard deviations about the horizontal axes and the vertical, independent
    /// of the rest.
    fn place(&mut self, orientation: UnitQuaternion<f64>, tilt_std: f64, yaw_std: f64) {
        self.state.orientation = orientation;
        self.mixture.each(|belief| belief.set(XI, &Vector3::new(tilt_std, tilt_std, yaw_std)));
        self.mixture.merge(&mut self.state);
    }

    /// Puts v and p to zero, with what is known of them at the start.
    fn forget_motion(&mut self) {
        let motion = &self.config.motion;
        let (speed, reach) = (Vector3::repeat(motion.initial_speed), Vector3::repeat(motion.initial_reach));
        self.state.velocity = Vector3::zeros();
        self.state.forget_position();
        self.mixture.each(|belief| {
            belief.set(NU, &speed);
            belief.set(RHO, &reach);
        });
        self.mixture.merge(&mut self.state);
    }

    fn note(&mut self, outcome: Result<(), DropReason>) {
        if let Err(reason) = outcome {
            self.counts.add(reason);
        }
    }

    /// D = R̂ ω^: a lever r has the velocity D r.
    fn lever_velocity(&self) -> Matrix3<f64> {
        let rate = self.last_rate;
        self.rotation * hat(&self.state.rate(&rate))
    }

    fn refresh_rotation(&mut self) {
        self.rotation = *self.state.orientation.to_rotation_matrix().matrix();
    }

    /// Puts R where somebody else says, from the body to the world, with this standard deviation about each axis;
    /// before the first sample, too.
    ///
    /// # Errors
    /// Not a rotation, or a standard deviation beyond half a turn; counted.
    pub fn set_orientation(&mut self, orientation: UnitQuaternion<f64>, std_rad: f64) -> Result<(), DropReason> {
        let is_rotation = (orientation.norm_squared() - 1.0).abs() < 1e-6;
        if !(is_rotation && (0.0..=PI).contains(&std_rad)) {
            self.counts.add(DropReason::Absurd);
            return Err(DropReason::Absurd);
        }
        self.settle();
        self.place(orientation, std_rad, std_rad);
        self.levelling = None;
        self.gravity_check = GravityCheck::default();
        self.started = true;
        self.refresh_rotation();
        Ok(())
    }

    fn time_was_set_back(&mut self) {
        self.time_jumps += 1;
        match self.config.timing.on_jump_back {
            TimeJump::Reset => self.start_again(),
            TimeJump::Rewind => self.forget_time(),
        }
    }

    /// Keeps what is known of R and the biases; the next sample starts the clock anew.
    fn forget_time(&mut self) {
        self.settle();
        self.levelling = None;
        self.uncorrected_s = 0.0;
        self.mixture.forget_motion(self.config.motion.initial_reach);
        self.leaning = Leaning::default();
        self.forget_motion();
        (self.last, self.last_field) = (None, None);
    }

    /// Forgets everything but the counts; the next sample starts anew.
    pub fn reset(&mut self) {
        self.guard.clear();
        self.start_again();
    }

    fn start_again(&mut self) {
        self.forget_time();
        self.state = initial_state(&self.config);
        self.mixture = Mixture::new(&initial_std(&self.config), &self.config.motion);
        self.field = FieldWatch::default();
        (self.started, self.rested) = (false, false);
    }

    /// Switches the filter off (input is counted as `disabled`) or on again. What happened meanwhile is not known: it
    /// starts anew from the next sample, with the biases it had.
    pub fn set_enabled(&mut self, enabled: bool) {
        if enabled != self.enabled {
            self.guard.clear();
            self.forget_time();
            self.started = false;
            self.enabled = enabled;
        }
    }

    /// Whether the filter takes input.
    pub fn enabled(&self) -> bool {
        self.enabled
    }

    /// The settings in force.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Changes settings that may change while running.
    ///
    /// # Errors
    /// The sentence to show the user: which setting needs a restart, or is out of range. Nothing is changed then.
    pub fn reconfigure(&mut self, config: Config) -> Result<(), String> {
        config.validate().map_err(|e| e.to_string())?;
        check_change(&self.config, &config, SPECS)?;
        self.rest_gate = rest_gate(&config);
        self.config = config;
        Ok(())
    }

    /// How angular rates are integrated.
    pub fn method(&self) -> Method {
        self.config.method
    }

    /// What was left out so far, by reason.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// How many gaps there were that samples did not bridge.
    pub fn gaps(&self) -> u64 {
        self.gaps
    }

    /// How often the vertical was found to be far from where it was thought to be, and everything begun anew.
    pub fn levellings(&self) -> u64 {
        self.levellings
    }

    /// How often time was set back.
    pub fn time_jumps(&self) -> u64 {
        self.time_jumps
    }

    #[cfg(test)]
    pub(super) fn state(&self) -> &State {
        &self.state
    }
}

fn initial_state(config: &Config) -> State {
    let (gyro, accel) = (&config.gyroscope, &config.accelerometer);
    State {
        gyro_bias: Vector3::new(gyro.bias_x, gyro.bias_y, gyro.bias_z),
        accelerometer_bias: Vector3::new(accel.bias_x, accel.bias_y, accel.bias_z),
        covariance: Belief::new(&initial_std(config)).covariance,
        ..State::new(UnitQuaternion::identity())
    }
}

fn initial_std(config: &Config) -> InitialStd {
    InitialStd {
        tilt: config.initial.tilt_std_rad,
        yaw: config.initial.yaw_std_rad,
        gyro_bias: config.gyroscope.initial_bias_std,
        gyro_scale: config.gyroscope.scale_std,
        speed: config.motion.initial_speed,
        reach: config.motion.initial_reach,
        accelerometer_bias: config.accelerometer.initial_bias_std,
        lever: config.motion.lever_std,
    }
}

/// χ² bound with three degrees of freedom; infinite for probability 1.
fn rest_gate(config: &Config) -> f64 {
    let probability = config.rest.gate_probability;
    let chi2 = ChiSquared::new(3.0).ok().filter(|_| probability < 1.0);
    chi2.map_or(f64::INFINITY, |chi2| chi2.inverse_cdf(probability))
}
