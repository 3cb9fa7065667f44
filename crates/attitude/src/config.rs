//! The settings of the filter, in groups; [`SPECS`] describes each.

use lienav_base::clock::TimeJump;
use lienav_base::settings;
use lienav_base::settings::{Described, OutOfRange, Spec, check};
use lienav_integrate::attitude::Method;
use std::f64::consts::TAU;
use std::ops::RangeInclusive;

/// Every setting of [`Config`], in the order of its fields.
pub const SPECS: &[Spec] = Config::SPECS;

const DENSITY: RangeInclusive<f64> = 0.0..=10.0;
const ANGLE: RangeInclusive<f64> = -TAU..=TAU;
const SECONDS: RangeInclusive<f64> = 0.001..=3600.0;
const SPEED: RangeInclusive<f64> = 1e-4..=1000.0;
const REACH: RangeInclusive<f64> = 1e-4..=1000.0;
const PROBABILITY: RangeInclusive<f64> = 0.5..=1.0;

settings! {
    /// Everything that can be set about the filter. Serialised, its dotted names are those of [`SPECS`] and of the ROS
    /// parameters.
    pub struct Config {
        /// How angular rates are integrated.
        method: Method = Method::Magnus4, one_of Method::NAMES, runtime;
        /// The gyroscope and its errors.
        gyroscope: GyroscopeConfig;
        /// The accelerometer and its errors.
        accelerometer: AccelerometerConfig;
        /// How the sensor moves, and how gravity is told from that.
        motion: MotionConfig;
        /// What rest is.
        rest: RestConfig;
        /// The magnetometer, where there is one.
        magnetometer: MagnetometerConfig;
        /// Gaps, and jumps of time.
        timing: TimingConfig;
        /// What is known at the start.
        initial: InitialConfig;
    }
}

settings! {
    /// The gyroscope and its errors.
    pub struct GyroscopeConfig {
        /// White noise of the gyroscope, rad/s/sqrt(Hz).
        noise_density: f64 = 1e-4, within DENSITY, unit "rad/s/sqrt(Hz)", runtime;
        /// Errors of the gyroscope's scales and axes, standard deviation of each.
        scale_std: f64 = 0.003, within 0.0..=1.0, runtime;
        /// Turns that come back within this time take the errors of scales and axes back, s.
        scale_memory_s: f64 = 2.0, within SECONDS, unit "s", runtime;
        /// How the gyroscope's bias wanders, rad/s/sqrt(s).
        bias_walk: f64 = 6e-5, within DENSITY, unit "rad/s/sqrt(s)", runtime;
        /// The gyroscope's bias as a calibration has found it, rad/s.
        bias_x: f64 = 0.0, within -1.0..=1.0, unit "rad/s";
        /// As above.
        bias_y: f64 = 0.0, within -1.0..=1.0, unit "rad/s";
        /// As above.
        bias_z: f64 = 0.0, within -1.0..=1.0, unit "rad/s";
        /// How far the gyroscope's bias may be from that before anything is learned, rad/s.
        initial_bias_std: f64 = 0.1, within 1e-6..=1.0, unit "rad/s";
        /// How much later rates are stamped than they were, by the sensor's low-pass filter; the orientation is
        /// carried on by this much, s.
        delay_s: f64 = 0.0035, within 0.0..=0.1, unit "s", runtime;
        /// Rates beyond this are dropped as absurd, rad/s.
        max_rate: f64 = 100.0, within 0.1..=1e4, unit "rad/s", runtime;
    }
}

settings! {
    /// The accelerometer and its errors.
    pub struct AccelerometerConfig {
        /// White noise of the accelerometer, m/s^2/sqrt(Hz).
        noise_density: f64 = 0.005, within DENSITY, unit "m/s^2/sqrt(Hz)", runtime;
        /// The same in parts of the acceleration, 1/sqrt(Hz).
        relative_noise_density: f64 = 0.007, within DENSITY, unit "1/sqrt(Hz)", runtime;
        /// How the accelerometer's bias wanders, m/s^2/sqrt(s).
        bias_walk: f64 = 3.6e-3, within DENSITY, unit "m/s^2/sqrt(s)", runtime;
        /// The accelerometer's bias as a calibration has found it, m/s^2.
        bias_x: f64 = 0.0, within -10.0..=10.0, unit "m/s^2";
        /// As above.
        bias_y: f64 = 0.0, within -10.0..=10.0, unit "m/s^2";
        /// As above.
        bias_z: f64 = 0.0, within -10.0..=10.0, unit "m/s^2";
        /// How far the accelerometer's bias may be from that before anything is learned, m/s^2.
        initial_bias_std: f64 = 0.06, within 0.0..=10.0, unit "m/s^2";
        /// Forces beyond this are dropped as absurd, m/s^2.
        max_force: f64 = 1000.0, within 10.0..=1e5, unit "m/s^2", runtime;
        /// The acceleration of free fall, m/s^2.
        gravity: f64 = 9.81, within 0.1..=100.0, unit "m/s^2";
    }
}

settings! {
    /// How the sensor moves, and how gravity is told from that: it stays about where it is, so specific force averages
    /// to gravity. How far it moves is learned from the innovations.
    pub struct MotionConfig {
        /// Gravity corrects roll and pitch this often, s.
        correct_every_s: f64 = 0.1, within 1e-4..=1.0, unit "s", runtime;
        /// The sensor's position is the integral of its velocity that forgets with this time constant, s.
        leak_s: f64 = 1.0, within SECONDS, unit "s", runtime;
        /// How long that position remembers itself, s.
        correlation_s: f64 = 0.5, within SECONDS, unit "s", runtime;
        /// Standard deviation of the velocity before anything is known, m/s by axis.
        initial_speed: f64 = 1.0, within SPEED, unit "m/s";
        /// Standard deviation of the position before anything is known, m by axis.
        initial_reach: f64 = 0.3, within REACH, unit "m";
        /// The least standard deviation of the position that there is without rest, m by axis.
        least_reach: f64 = 0.03, within REACH, unit "m", runtime;
        /// How far the sensor may be from a point about which it is turned, standard deviation by axis, m; 0 where
        /// there is none.
        lever_std: f64 = 0.5, within 0.0..=100.0, unit "m";
        /// How fast the learned variance of positions follows, s.
        memory_s: f64 = 20.0, within SECONDS, unit "s", runtime;
    }
}

settings! {
    /// What rest is.
    pub struct RestConfig {
        /// At rest, rates differ from their mean by less, rad/s.
        rate_deviation: f64 = 0.035, within 1e-5..=10.0, unit "rad/s", runtime;
        /// At rest, forces differ from their mean by less, m/s^2.
        force_deviation: f64 = 0.5, within 1e-4..=100.0, unit "m/s^2", runtime;
        /// Over how long these means are taken, s.
        averaging_s: f64 = 0.5, within SECONDS, unit "s", runtime;
        /// For how long it has to look like rest before it is, s.
        after_s: f64 = 1.9, within SECONDS, unit "s", runtime;
        /// Standard deviation of the velocity at rest, m/s by axis.
        speed: f64 = 0.1, within SPEED, unit "m/s", runtime;
        /// What remains of the rate at rest beside the bias, as white noise, rad/s/sqrt(Hz).
        rate_noise_density: f64 = 1e-4, within 1e-7..=1.0, unit "rad/s/sqrt(Hz)", runtime;
        /// A mean rate beyond this by an axis is a turn, not a bias, rad/s.
        max_bias: f64 = 0.12, within 1e-4..=10.0, unit "rad/s", runtime;
        /// How far the bias of a sensor that is moved may be from that at rest, rad/s by axis.
        bias_change: f64 = 5e-4, within 0.0..=1.0, unit "rad/s", runtime;
        /// Probability with which a bias seen at rest is believed.
        gate_probability: f64 = 0.999_999, within PROBABILITY, runtime;
    }
}

settings! {
    /// The magnetometer, where there is one.
    pub struct MagnetometerConfig {
        /// Whether a magnetometer corrects the heading.
        enabled: bool = false;
        /// Noise of the heading of one magnetic field, rad.
        heading_std_rad: f64 = 0.2, within 1e-4..=10.0, unit "rad", runtime;
        /// Magnetic north is this far east of true north, rad.
        ///
        /// The world's y axis is true north (REP 103).
        declination_rad: f64 = 0.0, within ANGLE, unit "rad", runtime;
        /// A field whose strength differs from the usual by a larger part is dropped as disturbed.
        max_strength_deviation: f64 = 0.1, within 0.0..=10.0, runtime;
        /// A field whose dip differs from the usual by more is dropped as disturbed, rad.
        max_dip_deviation_rad: f64 = 0.175, within 0.0..=3.2, unit "rad", runtime;
        /// A different field that stays so long becomes the usual, s.
        adopt_after_s: f64 = 20.0, within SECONDS, unit "s", runtime;
    }
}

settings! {
    /// Gaps, and jumps of time.
    pub struct TimingConfig {
        /// Longer gaps are not bridged by the samples at their ends, s.
        max_gap_s: f64 = 0.1, within 0.001..=10.0, unit "s", runtime;
        /// How fast the body may turn in such a gap, rad/s by axis.
        gap_rate_std: f64 = 1.0, within 0.0..=100.0, unit "rad/s", runtime;
        /// A stamp ahead of the newest by more than this is dropped, s.
        max_ahead_s: f64 = 5.0, within 0.1..=3600.0, unit "s", runtime;
        /// A stamp behind the newest by more than this means that time was set back, s.
        jump_back_s: f64 = 2.0, within 0.1..=1e9, unit "s", runtime;
        /// When time is set back: start again, or keep orientation and bias.
        on_jump_back: TimeJump = TimeJump::Reset, one_of TimeJump::WORDS, runtime;
    }
}

settings! {
    /// What is known at the start: roll and pitch come from the first specific force.
    pub struct InitialConfig {
        /// Heading at the start, rad.
        yaw_rad: f64 = 0.0, within ANGLE, unit "rad";
        /// Standard deviation of the heading at the start, rad.
        ///
        /// 0 where the world frame is defined by the start.
        yaw_std_rad: f64 = 0.0, within 0.0..=10.0, unit "rad";
        /// Standard deviation of roll and pitch as a first specific force of the size of gravity shows them, without
        /// rotation, rad.
        tilt_std_rad: f64 = 0.05, within 1e-4..=3.2, unit "rad";
        /// How much larger it is for a force of another size, rad for each part of gravity that it is more or less.
        tilt_excess_rad: f64 = 2.0, within 0.0..=10.0, unit "rad";
        /// And how much larger while the sensor turns, rad for each rad/s.
        tilt_turn_s: f64 = 0.2, within 0.0..=10.0, unit "s";
    }
}

impl Config {
    /// Checks every value against its range in [`SPECS`].
    ///
    /// # Errors
    /// The first value that is out of range: with name, value and what is allowed.
    pub fn validate(&self) -> Result<(), OutOfRange> {
        check(self, SPECS)
    }
}
