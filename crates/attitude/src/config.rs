//! The settings of the filter, in groups, and the table that describes them.

use lienav_base::clock::TimeJump;
use lienav_base::settings::{Allowed, OutOfRange, Spec, check, spec};
use lienav_integrate::attitude::Method;
use serde::{Deserialize, Serialize};

/// Everything that can be set about the filter. Serialised, its dotted names are those of [`SPECS`] and of the ROS
/// parameters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// How angular rates are integrated.
    pub method: Method,
    /// The gyroscope and its errors.
    pub gyroscope: GyroscopeConfig,
    /// The accelerometer and its errors.
    pub accelerometer: AccelerometerConfig,
    /// How the sensor moves, and how gravity is told from that.
    pub motion: MotionConfig,
    /// What rest is.
    pub rest: RestConfig,
    /// The magnetometer, where there is one.
    pub magnetometer: MagnetometerConfig,
    /// Gaps, and jumps of time.
    pub timing: TimingConfig,
    /// What is known at the start.
    pub initial: InitialConfig,
}

/// The gyroscope and its errors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GyroscopeConfig {
    /// Root of the spectral density of its white noise, rad/s/√Hz.
    pub noise_density: f64,
    /// The same in parts of the rate, 1/√Hz: scale, misalignment, what the sampling misses of fast turns.
    pub relative_noise_density: f64,
    /// Root of the growth of the bias' variance, rad/s/√s.
    pub bias_walk: f64,
    /// The bias before anything is learned, rad/s, as a calibration has found it.
    pub bias_x: f64,
    /// As above.
    pub bias_y: f64,
    /// As above.
    pub bias_z: f64,
    /// How far it may be from that, rad/s.
    pub initial_bias_std: f64,
    /// How much later a rate is stamped than it was, s: the delay of the sensor's own low-pass filter.
    pub delay_s: f64,
    /// Rates beyond this are absurd, rad/s.
    pub max_rate: f64,
}

/// The accelerometer and its errors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AccelerometerConfig {
    /// Root of the spectral density of its white noise, m/s²/√Hz.
    pub noise_density: f64,
    /// The same in parts of the acceleration, 1/√Hz.
    pub relative_noise_density: f64,
    /// Root of the growth of the bias' variance, m/s²/√s.
    pub bias_walk: f64,
    /// The bias before anything is learned, m/s², as a calibration has found it.
    pub bias_x: f64,
    /// As above.
    pub bias_y: f64,
    /// As above.
    pub bias_z: f64,
    /// How far it may be from that, m/s².
    pub initial_bias_std: f64,
    /// Forces beyond this are absurd, m/s².
    pub max_force: f64,
    /// The acceleration of free fall, m/s².
    pub gravity: f64,
}

/// How the sensor moves, and how gravity is told from that: its velocity is random with mean zero, so specific force
/// averages to gravity. How large it is, is learned from the accelerations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MotionConfig {
    /// Gravity corrects this often, s; in between, samples are collected.
    pub correct_every_s: f64,
    /// How long velocity remembers itself, s.
    pub correlation_s: f64,
    /// Standard deviation of the velocity before anything is known, m/s by axis.
    pub initial_speed: f64,
    /// The least there ever is, m/s by axis.
    pub least_speed: f64,
    /// How fast the learned size of velocities follows, s.
    pub memory_s: f64,
    /// The learned variance is this many times the mean square of the velocity that is found.
    pub gain: f64,
    /// And this many times the variance with which it is known.
    pub unknown_gain: f64,
    /// And at no instant less than this many times its square.
    pub attack: f64,
    /// Probability with which a velocity of that size passes; what does not is more than gravity, and corrects nothing.
    /// 1 switches the gate off.
    pub gate_probability: f64,
}

/// What rest is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RestConfig {
    /// Rates differ from their mean by less than this, rad/s.
    pub rate_deviation: f64,
    /// Forces differ from their mean by less than this, m/s².
    pub force_deviation: f64,
    /// The mean is over about this long, s.
    pub averaging_s: f64,
    /// For this long, s.
    pub after_s: f64,
    /// Standard deviation of the velocity at rest, m/s by axis.
    pub speed: f64,
    /// Root of the spectral density of what remains of the rate at rest, rad/s/√Hz.
    pub rate_noise_density: f64,
    /// No gyroscope has a bias beyond this, rad/s by axis: it turns.
    pub max_bias: f64,
    /// How far the bias of a sensor that is moved may be from that at rest, rad/s by axis.
    pub bias_change: f64,
    /// Probability with which a bias that is at rest passes.
    pub gate_probability: f64,
}

/// The magnetometer, where there is one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MagnetometerConfig {
    /// Whether it corrects the heading.
    pub enabled: bool,
    /// Noise of the heading of one sample, rad.
    pub heading_std_rad: f64,
    /// Where magnetic north is, east of true north, rad. The world's y axis is true north (REP 103).
    pub declination_rad: f64,
    /// A field is disturbed where its strength differs from the usual by more than this part.
    pub max_strength_deviation: f64,
    /// Or its dip by more than this, rad.
    pub max_dip_deviation_rad: f64,
    /// A different field that stays for this long becomes the usual one, s.
    pub adopt_after_s: f64,
}

/// Gaps, and jumps of time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TimingConfig {
    /// Longer gaps are not bridged by the samples at their ends, s.
    pub max_gap_s: f64,
    /// How fast the body may turn in such a gap, rad/s, standard deviation by axis.
    pub gap_rate_std: f64,
    /// A stamp ahead of the newest one by more than this is from the future, s.
    pub max_ahead_s: f64,
    /// A stamp behind the newest one by more than this means that time was set back, s.
    pub jump_back_s: f64,
    /// What is done when time was set back.
    pub on_jump_back: TimeJump,
}

/// What is known at the start: roll and pitch come from the first specific force.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct InitialConfig {
    /// Heading, rad.
    pub yaw_rad: f64,
    /// Its standard deviation, rad; 0 where the world frame is defined by the start.
    pub yaw_std_rad: f64,
    /// Standard deviation of roll and pitch as a first specific force of the size of gravity shows them, rad.
    pub tilt_std_rad: f64,
    /// How much larger it is for a force of another size, rad for each part of gravity: such a sensor is accelerated.
    pub tilt_excess_rad: f64,
}

impl Default for GyroscopeConfig {
    fn default() -> Self {
        Self {
            noise_density: 1e-4,
            relative_noise_density: 3.9e-3,
            bias_walk: 9e-5,
            bias_x: 0.0,
            bias_y: 0.0,
            bias_z: 0.0,
            initial_bias_std: 0.1,
            delay_s: 0.0035,
            max_rate: 100.0,
        }
    }
}

impl Default for AccelerometerConfig {
    fn default() -> Self {
        Self {
            noise_density: 0.005,
            relative_noise_density: 0.014,
            bias_walk: 3.6e-3,
            bias_x: 0.0,
            bias_y: 0.0,
            bias_z: 0.0,
            initial_bias_std: 0.32,
            max_force: 1000.0,
            gravity: 9.81,
        }
    }
}

impl Default for MotionConfig {
    fn default() -> Self {
        Self {
            correct_every_s: 0.05,
            correlation_s: 0.615,
            initial_speed: 0.16,
            least_speed: 0.066,
            memory_s: 9.3,
            gain: 4.5,
            unknown_gain: 0.4,
            attack: 0.02,
            gate_probability: 0.999_999,
        }
    }
}

impl Default for RestConfig {
    fn default() -> Self {
        Self {
            rate_deviation: 0.035,
            force_deviation: 0.5,
            averaging_s: 0.5,
            after_s: 1.9,
            speed: 1.2,
            rate_noise_density: 6e-6,
            max_bias: 0.12,
            bias_change: 1.2e-3,
            gate_probability: 0.999_999,
        }
    }
}

impl Default for MagnetometerConfig {
    fn default() -> Self {
        Self {
            enabled: false,
            heading_std_rad: 0.2,
            declination_rad: 0.0,
            max_strength_deviation: 0.1,
            max_dip_deviation_rad: 0.175,
            adopt_after_s: 20.0,
        }
    }
}

impl Default for TimingConfig {
    fn default() -> Self {
        Self { max_gap_s: 0.1, gap_rate_std: 1.0, max_ahead_s: 5.0, jump_back_s: 2.0, on_jump_back: TimeJump::Reset }
    }
}

impl Default for InitialConfig {
    fn default() -> Self {
        Self { yaw_rad: 0.0, yaw_std_rad: 0.0, tilt_std_rad: 0.025, tilt_excess_rad: 0.57 }
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

/// Every setting of [`Config`], in the order of its fields.
pub const SPECS: &[Spec] = {
    use Allowed::{Any, Range, Words};
    const DENSITY: Allowed = Range(0.0, 10.0);
    const ANGLE: Allowed = Range(-std::f64::consts::TAU, std::f64::consts::TAU);
    const SECONDS: Allowed = Range(0.001, 3600.0);
    const SPEED: Allowed = Range(1e-4, 1000.0);
    const PROBABILITY: Allowed = Range(0.5, 1.0);
    &[
        spec("method", Words(Method::NAMES), true, "How angular rates are integrated."),
        spec("gyroscope.noise_density", DENSITY, true, "White noise of the gyroscope, rad/s/sqrt(Hz)."),
        spec(
            "gyroscope.relative_noise_density",
            DENSITY,
            true,
            "The same in parts of the rate, 1/sqrt(Hz): scale, misalignment, what the sampling misses of fast turns.",
        ),
        spec("gyroscope.bias_walk", DENSITY, true, "How the gyroscope's bias wanders, rad/s/sqrt(s)."),
        spec("gyroscope.bias_x", Range(-1.0, 1.0), false, "The gyroscope's bias as a calibration has found it, rad/s."),
        spec("gyroscope.bias_y", Range(-1.0, 1.0), false, "As above."),
        spec("gyroscope.bias_z", Range(-1.0, 1.0), false, "As above."),
        spec(
            "gyroscope.initial_bias_std",
            Range(1e-6, 1.0),
            false,
            "How far the gyroscope's bias may be from that before anything is learned, rad/s.",
        ),
        spec(
            "gyroscope.delay_s",
            Range(0.0, 0.1),
            true,
            "How much later rates are stamped than they were, by the sensor's low-pass filter; the orientation is \
             carried on by this much, s.",
        ),
        spec("gyroscope.max_rate", Range(0.1, 1e4), true, "Rates beyond this are dropped as absurd, rad/s."),
        spec("accelerometer.noise_density", DENSITY, true, "White noise of the accelerometer, m/s^2/sqrt(Hz)."),
        spec(
            "accelerometer.relative_noise_density",
            DENSITY,
            true,
            "The same in parts of the acceleration, 1/sqrt(Hz).",
        ),
        spec("accelerometer.bias_walk", DENSITY, true, "How the accelerometer's bias wanders, m/s^2/sqrt(s)."),
        spec(
            "accelerometer.bias_x",
            Range(-10.0, 10.0),
            false,
            "The accelerometer's bias as a calibration has found it, m/s^2.",
        ),
        spec("accelerometer.bias_y", Range(-10.0, 10.0), false, "As above."),
        spec("accelerometer.bias_z", Range(-10.0, 10.0), false, "As above."),
        spec(
            "accelerometer.initial_bias_std",
            Range(0.0, 10.0),
            false,
            "How far the accelerometer's bias may be from that before anything is learned, m/s^2.",
        ),
        spec("accelerometer.max_force", Range(10.0, 1e5), true, "Forces beyond this are dropped as absurd, m/s^2."),
        spec("accelerometer.gravity", Range(0.1, 100.0), false, "The acceleration of free fall, m/s^2."),
        spec("motion.correct_every_s", Range(1e-4, 1.0), true, "Gravity corrects roll and pitch this often, s."),
        spec("motion.correlation_s", SECONDS, true, "How long the sensor's velocity remembers itself, s."),
        spec(
            "motion.initial_speed",
            SPEED,
            false,
            "Standard deviation of the velocity before anything is known, m/s by axis.",
        ),
        spec("motion.least_speed", SPEED, true, "The least velocity there is without rest, m/s by axis."),
        spec("motion.memory_s", SECONDS, true, "How fast the learned size of velocities follows, s."),
        spec(
            "motion.gain",
            Range(0.0, 1000.0),
            true,
            "The learned variance of velocity is this many times the mean square of the velocity that is found.",
        ),
        spec("motion.unknown_gain", Range(0.0, 1.0), true, "And this many times the variance with which it is known."),
        spec("motion.attack", Range(0.0, 1000.0), true, "And at no instant less than this many times its square."),
        spec(
            "motion.gate_probability",
            PROBABILITY,
            true,
            "Probability with which a velocity of the learned size passes the test for gravity; 1 switches it off.",
        ),
        spec("rest.rate_deviation", Range(1e-5, 10.0), true, "At rest, rates differ from their mean by less, rad/s."),
        spec(
            "rest.force_deviation",
            Range(1e-4, 100.0),
            true,
            "At rest, forces differ from their mean by less, m/s^2.",
        ),
        spec("rest.averaging_s", SECONDS, true, "Over how long these means are taken, s."),
        spec("rest.after_s", SECONDS, true, "For how long it has to look like rest before it is, s."),
        spec("rest.speed", SPEED, true, "Standard deviation of the velocity at rest, m/s by axis."),
        spec(
            "rest.rate_noise_density",
            Range(1e-7, 1.0),
            true,
            "What remains of the rate at rest beside the bias, as white noise, rad/s/sqrt(Hz).",
        ),
        spec(
            "rest.max_bias",
            Range(1e-4, 10.0),
            true,
            "A mean rate beyond this by an axis is a turn, not a bias, rad/s.",
        ),
        spec(
            "rest.bias_change",
            Range(0.0, 1.0),
            true,
            "How far the bias of a sensor that is moved may be from that at rest, rad/s by axis.",
        ),
        spec("rest.gate_probability", PROBABILITY, true, "Probability with which a bias seen at rest is believed."),
        spec("magnetometer.enabled", Any, false, "Whether a magnetometer corrects the heading."),
        spec(
            "magnetometer.heading_std_rad",
            Range(1e-4, 10.0),
            true,
            "Noise of the heading of one magnetic field, rad.",
        ),
        spec("magnetometer.declination_rad", ANGLE, true, "Magnetic north is this far east of true north, rad."),
        spec(
            "magnetometer.max_strength_deviation",
            Range(0.0, 10.0),
            true,
            "A field whose strength differs from the usual by a larger part is dropped as disturbed.",
        ),
        spec(
            "magnetometer.max_dip_deviation_rad",
            Range(0.0, 3.2),
            true,
            "A field whose dip differs from the usual by more is dropped as disturbed, rad.",
        ),
        spec("magnetometer.adopt_after_s", SECONDS, true, "A different field that stays so long becomes the usual, s."),
        spec(
            "timing.max_gap_s",
            Range(0.001, 10.0),
            true,
            "Longer gaps are not bridged by the samples at their ends, s.",
        ),
        spec(
            "timing.gap_rate_std",
            Range(0.0, 100.0),
            true,
            "How fast the body may turn in such a gap, rad/s by axis.",
        ),
        spec(
            "timing.max_ahead_s",
            Range(0.1, 3600.0),
            true,
            "A stamp ahead of the newest by more than this is dropped, s.",
        ),
        spec(
            "timing.jump_back_s",
            Range(0.1, 1e9),
            true,
            "A stamp behind the newest by more than this means that time was set back, s.",
        ),
        spec(
            "timing.on_jump_back",
            Words(&["reset", "rewind"]),
            true,
            "When time is set back: start again, or keep orientation and bias.",
        ),
        spec("initial.yaw_rad", ANGLE, false, "Heading at the start, rad."),
        spec("initial.yaw_std_rad", Range(0.0, 10.0), false, "Standard deviation of the heading at the start, rad."),
        spec(
            "initial.tilt_std_rad",
            Range(1e-4, 3.2),
            false,
            "Standard deviation of roll and pitch as a first specific force of the size of gravity shows them, rad.",
        ),
        spec(
            "initial.tilt_excess_rad",
            Range(0.0, 10.0),
            false,
            "How much larger it is for a force of another size, rad for each part of gravity that it is more or less.",
        ),
    ]
};
