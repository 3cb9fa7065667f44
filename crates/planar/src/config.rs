//! The settings of the filter, in groups; [`SPECS`] describes each.

mod checks;

use crate::filter::{CompositionError, Filter};
use crate::input::{MAX_POINTS, MeasurementKind};
use lienav_base::clock::TimeJump;
use lienav_base::settings::{Described, Spec};
use lienav_base::{settings, words};
use lienav_lie::Se2;
use nalgebra::{Matrix3, Vector3};
use serde::{Deserialize, Serialize};
use std::f64::consts::{PI, TAU};
use std::ops::RangeInclusive;

pub use checks::ConfigError;

/// Every setting of [`Config`], in the order of its fields.
pub const SPECS: &[Spec] = Config::SPECS;

const STD: RangeInclusive<f64> = 0.0..=100.0;
const SENSOR_STD: RangeInclusive<f64> = 1e-9..=100.0;
const LENGTH: RangeInclusive<f64> = -100.0..=100.0;
const ANGLE: RangeInclusive<f64> = -TAU..=TAU;

settings! {
    /// Everything that can be set about the filter. Serialised, its dotted names are those of [`SPECS`] and of the ROS
    /// parameters.
    pub struct Config {
        /// Which filter runs.
        filter: String = "default".into(), one_of Filter::NAMES;
        /// Which landmarks measurements are of: by identity where they have one, and otherwise jointly (auto).
        ///
        /// See [`Association`].
        association: Association = Association::Auto, one_of Association::WORDS, runtime;
        /// Odometry and its noise.
        motion: MotionConfig;
        /// The landmark sensor and its noise.
        sensor: SensorConfig;
        /// Positions and poses from outside.
        absolute: AbsoluteConfig;
        /// Which measurements are believed.
        gate: GateConfig;
        /// Which landmarks are kept.
        map: MapConfig;
        /// Order of arrival, and jumps of time.
        timing: TimingConfig;
        /// Where the robot starts.
        initial: InitialConfig;
        /// What is calibrated while running.
        calibration: CalibrationConfig;
        /// Which noise is learned while running.
        learning: LearningConfig;
    }
}

settings! {
    /// Odometry and its noise.
    pub struct MotionConfig {
        /// Standard deviation of the forward velocity, m/s per sample (or m/sqrt(s), see motion.noise).
        velocity_x_std: f64 = 0.1, within STD, unit "m/s", runtime;
        /// Standard deviation of the lateral velocity (wheel slip), same unit.
        velocity_y_std: f64 = 0.03, within STD, unit "m/s", runtime;
        /// Standard deviation of the yaw rate, rad/s per sample (or rad/sqrt(s)).
        yaw_rate_std: f64 = 0.1, within STD, unit "rad/s", runtime;
        /// Standard deviation of the forward velocity proportional to it, m/s per m/s; variances add.
        velocity_ratio_std: f64 = 0.0, within STD, runtime;
        /// Standard deviation of the yaw rate proportional to it, rad/s per rad/s; variances add.
        yaw_rate_ratio_std: f64 = 0.0, within STD, runtime;
        /// Whether the three standard deviations above apply to each sample or are roots of spectral densities.
        noise: NoiseUnit = NoiseUnit::PerSample, one_of NoiseUnit::WORDS, runtime;
        /// Use the twist covariance of an odometry message if it has one.
        use_message_covariance: bool = true, runtime;
        /// Whether a twist applies to the interval before its stamp (measured) or after it (commanded).
        hold: TwistHold = TwistHold::Before, one_of TwistHold::WORDS;
        /// Path of the robot during an interval: an arc, or a straight line and then a turn (forward Euler).
        path: TwistPath = TwistPath::Arc, one_of TwistPath::WORDS, runtime;
        /// Delay from the stamp of an odometry message to the motion that it describes, s.
        delay_s: f64 = 0.0, within -1.0..=1.0, unit "s";
        /// Project velocities and landmarks onto the horizontal plane with the roll and pitch of imu, whose axes have
        /// to be those of base_frame.
        ///
        /// See [`Imu`](super::Imu).
        use_tilt: bool = false, runtime;
        /// Standard deviation of roll and of pitch that no sensor tells, rad; 0: the base is always level.
        ///
        /// Landmarks that are measured with their height, such as tags, are off by it times that height. 0.015 rad is
        /// 5 mm of tyre, seam or load under one end of a wheel base of 0.35 m. It is learned while running, within a
        /// factor of 4 down and 5 up.
        tilt_std_rad: f64 = 0.015, within 0.0..=0.5, unit "rad", runtime;
        /// The same where `motion.use_tilt` has levelled the measurements: the error of the roll and pitch of imu, rad.
        levelled_tilt_std_rad: f64 = 0.005, within 0.0..=0.5, unit "rad", runtime;
        /// For how long roll and pitch stay alike (their correlation time), s.
        tilt_time_s: f64 = 0.5, within 0.01..=1000.0, unit "s", runtime;
        /// The longest interval that one odometry message covers, s.
        ///
        /// Where it is longer, the robot is taken to have moved with the last twist for this long only.
        max_step_s: f64 = 0.5, within 0.001..=60.0, unit "s", runtime;
        /// Odometry with a higher speed is dropped as absurd, m/s.
        max_speed: f64 = 50.0, within 0.01..=1000.0, unit "m/s", runtime;
        /// Odometry with a higher yaw rate is dropped as absurd, rad/s.
        max_yaw_rate: f64 = 50.0, within 0.01..=1000.0, unit "rad/s", runtime;
        /// Odometry whose speed changes faster than this, beyond noise, is dropped as a spike, m/s^2; six in a row are
        /// used.
        max_acceleration: f64 = 20.0, within 0.01..=1e6, unit "m/s^2", runtime;
        /// Odometry whose yaw rate changes faster than this, beyond noise, is dropped as a spike, rad/s^2; likewise.
        max_yaw_acceleration: f64 = 100.0, within 0.01..=1e6, unit "rad/s^2", runtime;
    }
}

words! {
    /// How measurements are associated with landmarks. A measurement with an identity is of the landmark with that
    /// identity in any case; the words say what becomes of one without.
    pub enum Association {
        /// While a map is made, all measurements of a scan together, by the joint probability of their innovations; new
        /// landmarks are candidates at first, and landmarks that turn out to be one are merged. In a known map, in every
        /// way that they may be read.
        #[serde(alias = "joint")]
        Auto = "auto",
        /// It is left out.
        Ids = "ids",
    }
}

words! {
    /// How the standard deviations of [`MotionConfig`] are read.
    pub enum NoiseUnit {
        /// Of one sample, whatever its duration: m/s and rad/s.
        PerSample = "per_sample",
        /// Root of a spectral density: a sample of duration Δt has variance σ²/Δt. m/√s and rad/√s.
        SpectralDensity = "spectral_density",
    }
}

words! {
    /// Which interval the twist of an odometry message is taken for.
    pub enum TwistHold {
        /// From the previous message to this one: encoders that report what they have just measured.
        Before = "before",
        /// From this message to the next one: velocities as commanded.
        After = "after",
    }
}

words! {
    /// What path of the robot the twist of an odometry message stands for.
    pub enum TwistPath {
        /// An arc: the twist is kept throughout. Filters that take forward Euler steps, the thesis's, take the chord
        /// even then.
        Arc = "arc",
        /// Straight ahead and then a turn, a forward Euler step: odometry that was made so.
        Chord = "chord",
    }
}

settings! {
    /// The landmark sensor and its noise.
    pub struct SensorConfig {
        /// How a landmark is measured if the fields of the scan allow more than one kind.
        kind: MeasurementKind = MeasurementKind::RangeBearing, one_of MeasurementKind::WORDS;
        /// Position of the sensor in the base frame, forward, m.
        x_m: f64 = 0.0, within LENGTH, unit "m";
        /// Position of the sensor in the base frame, left, m.
        y_m: f64 = 0.0, within LENGTH, unit "m";
        /// Heading of the sensor in the base frame, rad.
        yaw_rad: f64 = 0.0, within ANGLE, unit "rad";
        /// How much later than measured a scan is stamped, s.
        ///
        /// Of all sensors of landmarks. Whether scans are late or the robot is (`motion.delay_s`), odometry and scans
        /// cannot tell; poses that are wrong by the way of this time do.
        delay_s: f64 = 0.0, within 0.0..=1.0, unit "s";
        /// Standard deviation of each coordinate of a relative position, m.
        position_std_m: f64 = 0.1, within SENSOR_STD, unit "m", runtime;
        /// Standard deviation of a range, m.
        range_std_m: f64 = 0.05, within SENSOR_STD, unit "m", runtime;
        /// Standard deviation of a bearing, also of each camera of a stereo pair, rad.
        bearing_std_rad: f64 = 0.02, within SENSOR_STD, unit "rad", runtime;
        /// Standard deviation of a range as a share of it, beside `sensor.range_std_m`.
        range_std_ratio: f64 = 0.0, within 0.0..=1.0, runtime;
        /// Standard deviation of the point of a landmark that is read from its position, in any direction, m.
        ///
        /// Of ranges and bearings: a trunk is not read at its centre. It makes bearings of near landmarks uncertain.
        landmark_std_m: f64 = 0.0, within 0.0..=10.0, unit "m", runtime;
        /// Probability that a range alone is too long, because something stands in the line of sight.
        late_probability: f64 = 0.0, within 0.0..=0.9, runtime;
        /// By how much such a range is too long at most, m.
        late_max_m: f64 = 5.0, within 0.0..=1000.0, unit "m", runtime;
        /// Correlation time of the errors of measurements of one landmark, s; 0 for independent errors.
        correlation_s: f64 = 0.0, within 0.0..=1000.0, unit "s", runtime;
        /// Distance between the cameras of a stereo pair, m.
        baseline_m: f64 = 0.5, within 1e-3..=10.0, unit "m";
        /// Landmarks nearer than this are ignored, m.
        min_range_m: f64 = 0.05, within 0.0..=1000.0, unit "m", runtime;
        /// Landmarks farther than this are ignored, m.
        max_range_m: f64 = 100.0, within 0.0..=10_000.0, unit "m", runtime;
        /// The most points of a scan that are processed: first those with the identity of a known landmark, then the
        /// nearest.
        ///
        /// The rest are counted as `too_many_points`. This and `map.max_features` bound the time of a step.
        max_points: usize = 200, within 1.0..=MAX_POINTS as f64, runtime;
    }
}

settings! {
    /// Which noise is learned while running.
    pub struct LearningConfig {
        /// Learn the variances of measurements and of odometry from what they contradict.
        enabled: bool = true, runtime;
        /// The stated standard deviations of measurements are right to within this factor; 1 if they are exact.
        sensor_factor: f64 = 2.0, within 1.0..=100.0, runtime;
        /// The stated standard deviations of odometry are right to within this factor; 1 if they are exact.
        odometry_factor: f64 = 2.0, within 1.0..=100.0, runtime;
        /// What was learned fades within so many scans.
        memory: f64 = 1000.0, within 10.0..=1e9, runtime;
    }
}

settings! {
    /// Which measurements are believed.
    pub struct GateConfig {
        /// Probability that a correct measurement passes the gate; 1 disables the gate.
        probability: f64 = 0.999, within 0.5..=1.0, runtime;
        /// A measurement without identity starts a new landmark if it lies outside this probability of every known one.
        new_feature_probability: f64 = 0.999_999, within 0.5..=1.0, runtime;
        /// Robust loss (Cauchy): a measurement this many standard deviations off gets half its weight; 0 disables it.
        robust_scale: f64 = 0.0, within 0.0..=100.0, runtime;
        /// The pose counts as lost if the gate rejects most measurements for this long, s; 0 for never.
        ///
        /// Its covariance is then widened until they pass.
        starvation_limit_s: f64 = 10.0, within 0.0..=1e9, unit "s", runtime;
    }
}

settings! {
    /// Which landmarks are kept.
    pub struct MapConfig {
        /// The most landmarks in the map.
        ///
        /// More than 5000 only if the map is made in parts: see `map.local_features`. A value up to 500 is
        /// no limit of a map that goes on in submaps: see `map.when_full`.
        max_features: usize = 500, within 1.0..=1e6;
        /// The map is made in parts of about so many landmarks, for maps of more than some hundred; 0: in one until it is
        /// full.
        ///
        /// Cost and memory then grow in proportion to the map. More than twice what is in view at once. The filter
        /// itself has the open part, in the frame of its base: `lienav-submaps` joins it with the others. In
        /// localization none are made, and `map.active_features` of the map are in the filter.
        local_features: usize = 0, within 0.0..=1000.0;
        /// What happens to a new landmark when the map is full.
        when_full: WhenFull = WhenFull::Submaps, one_of WhenFull::WORDS, runtime;
        /// Landmarks not seen for this long are removed, s; 0 keeps them for ever.
        ///
        /// Landmarks of a known map are kept.
        forget_after_s: f64 = 0.0, within 0.0..=1e9, unit "s", runtime;
        /// Whether a map is made (mapping), a known map is used unchanged (localization), or used and extended
        /// (extend).
        ///
        /// See [`MapMode`].
        mode: MapMode = MapMode::Mapping, one_of MapMode::WORDS, runtime;
        /// In localization, the most landmarks of the known map in the filter at once: those last seen.
        ///
        /// It has to be more than are in view at once. Correlated landmarks fill `map.max_features`.
        active_features: usize = 48, within 8.0..=5000.0, runtime;
    }
}

/// The most landmarks of a map that is not made in parts: their joint covariance has the square of it.
const MOST_IN_ONE: usize = 5000;
const TOO_MANY_IN_ONE: CompositionError = CompositionError(
    "parameter 'map.max_features' is above 5000, which one joint covariance cannot be for: set map.local_features, to 50 \
     for example, so that the map is made in parts, or lower it",
);

words! {
    /// What becomes of the map.
    pub enum MapMode {
        /// Every landmark is estimated with the pose; a known map is not used.
        Mapping = "mapping",
        /// The known map is as it is: measurements tell where the robot is, and nothing of the map. The errors of the
        /// map count (Schmidt–Kalman). Measurements of landmarks that are not in it are left out as `unknown_landmark`.
        Localization = "localization",
        /// Landmarks of the known map start with their place and covariance there, and are estimated further; others
        /// are added.
        Extend = "extend",
    }
}

words! {
    /// What is known of the start.
    pub enum StartMode {
        /// The pose of the configuration, with its standard deviations.
        Given = "given",
        /// Nothing: in `localization` and `extend`, there are no estimates until the robot is found in the known map. A
        /// robot that is lost in a map without identities is searched for, too.
        Unknown = "unknown",
    }
}

words! {
    /// What happens to a new landmark when the map is full.
    pub enum WhenFull {
        /// The map becomes the first submap, and goes on in submaps of fifty: see `map.local_features`. One of 500 does,
        /// whether it is full or not.
        ///
        /// Where that cannot be (`localization`, `extend`, a filter in coordinates of the world, a program without
        /// `lienav-submaps`, `map.max_features` below 100), it is left out as with `refuse`.
        Submaps = "submaps",
        /// It is left out, and counted as `map_full`.
        Refuse = "refuse",
        /// The landmark not seen for the longest time makes room, unless it is in view now.
        DropOldest = "drop_oldest",
    }
}

settings! {
    /// Order of arrival, and jumps of time.
    pub struct TimingConfig {
        /// Landmarks may arrive this much later than odometry with a later stamp, s.
        reorder_window_s: f64 = 0.2, within 0.0..=5.0, unit "s";
        /// Landmarks wait for odometry that is this much later, so that those of a slower sensor are taken in before,
        /// s.
        ///
        /// The greatest difference between the delays of two sensors; no more than `timing.reorder_window_s` counts.
        hold_features_s: f64 = 0.0, within 0.0..=5.0, unit "s", runtime;
        /// Landmarks that are later still are taken in by going back up to this far, s; 0: they are dropped as
        /// too_late.
        ///
        /// What was processed since their stamp is processed again, at once. The state is kept up to six times for it.
        rewind_s: f64 = 0.0, within 0.0..=10.0, unit "s", runtime;
        /// A stamp ahead of the newest by more than this is dropped, s.
        max_ahead_s: f64 = 5.0, within 0.1..=3600.0, unit "s", runtime;
        /// A stamp behind the newest by more than this is a jump back of time, s.
        jump_back_s: f64 = 2.0, within 0.1..=1e9, unit "s", runtime;
        /// What a jump back of time does: reset the filter, or keep pose and map (rewind).
        on_jump_back: TimeJump = TimeJump::Reset, one_of TimeJump::WORDS, runtime;
    }
}

settings! {
    /// Where the robot starts.
    pub struct InitialConfig {
        /// Whether the initial pose is given, or unknown: the robot is then searched for in the known map.
        ///
        /// See [`StartMode`].
        mode: StartMode = StartMode::Given, one_of StartMode::WORDS;
        /// Initial position, x, m.
        x_m: f64 = 0.0, within -1e8..=1e8, unit "m";
        /// Initial position, y, m.
        y_m: f64 = 0.0, within -1e8..=1e8, unit "m";
        /// Initial heading, rad.
        yaw_rad: f64 = 0.0, within ANGLE, unit "rad";
        /// Standard deviation of each coordinate of the initial position, m.
        ///
        /// 0 where the map frame is defined by the start.
        position_std_m: f64 = 0.0, within STD, unit "m";
        /// Standard deviation of the initial heading, rad.
        yaw_std_rad: f64 = 0.0, within STD, unit "rad";
    }
}

settings! {
    /// What odometry and sensor get wrong by a constant amount, and whether it is estimated.
    pub struct CalibrationConfig {
        /// Scale error of the velocity: true = (1 + this) × measured; expected value.
        scale_v: Prior, specs PriorSpecs::up_to(0.5, "", "1/sqrt(s)");
        /// Scale error of the yaw rate, also of a gyroscope; expected value.
        scale_w: Prior, specs PriorSpecs::up_to(0.5, "", "1/sqrt(s)");
        /// Bias that is added to the yaw rate, also of a gyroscope, rad/s; expected value.
        bias_w: Prior, specs PriorSpecs::up_to(1.0, "rad/s", "rad/s/sqrt(s)");
        /// Speed lost in turns, m/s per rad/s; expected value.
        turn_slip: Prior, specs PriorSpecs::up_to(1.0, "m", "m/sqrt(s)");
        /// Direction of driving, left of where the base frame points, rad; expected value.
        drive_yaw: Prior, specs PriorSpecs::up_to(1.0, "rad", "rad/sqrt(s)");
        /// Dead time of the drive, or by how much measurements come too late, added to motion.delay_s, s; expected
        /// value.
        motion_delay: Prior, specs PriorSpecs::up_to(1.0, "s", "s/sqrt(s)");
        /// Error of sensor.x_m, added to it, m; expected value.
        sensor_x: Prior, specs PriorSpecs::up_to(10.0, "m", "m/sqrt(s)");
        /// Error of sensor.y_m, added to it, m; expected value.
        sensor_y: Prior, specs PriorSpecs::up_to(10.0, "m", "m/sqrt(s)");
        /// Error of sensor.yaw_rad, added to it, rad; expected value.
        sensor_yaw: Prior, specs PriorSpecs::up_to(PI, "rad", "rad/sqrt(s)");
        /// Bias of measured ranges (positive: too long), m; expected value.
        range_bias: Prior, specs PriorSpecs::up_to(10.0, "m", "m/sqrt(s)");
        /// Bias of measured bearings (positive: too far left), rad; expected value.
        bearing_bias: Prior, specs PriorSpecs::up_to(1.0, "rad", "rad/sqrt(s)");
        /// Scale error of measured ranges: true = (1 + this) × measured − bias; expected value.
        range_scale: Prior, specs PriorSpecs::up_to(0.5, "", "1/sqrt(s)");
        /// The frame of positions and poses from outside, and the part of their errors that lasts.
        world: WorldConfig;
    }
}

settings! {
    /// The frame of positions and poses from outside, and the part of their errors that lasts.
    pub struct WorldConfig {
        /// Whether the map's frame is the world's (map), or where it lies in the world is estimated.
        ///
        /// See [`WorldFrame`].
        frame: WorldFrame = WorldFrame::Map, one_of WorldFrame::WORDS;
        /// Standard deviation of the part of the errors that lasts from reading to reading, m; 0 for none.
        error_std_m: f64 = 0.0, within STD, unit "m";
        /// Correlation time of that part, s.
        error_time_s: f64 = 60.0, within 0.1..=1e5, unit "s";
    }
}

settings! {
    /// What measures the pose from outside: a satellite receiver, a motion capture.
    pub struct AbsoluteConfig {
        /// Position of the antenna in the base frame, forward, m.
        x_m: f64 = 0.0, within LENGTH, unit "m";
        /// Position of the antenna in the base frame, left, m.
        y_m: f64 = 0.0, within LENGTH, unit "m";
        /// Heading of what is measured in the base frame, rad.
        yaw_rad: f64 = 0.0, within ANGLE, unit "rad";
        /// Standard deviation of either coordinate where a message states none, m.
        position_std_m: f64 = 1.0, within SENSOR_STD, unit "m", runtime;
        /// Standard deviation of the heading where a message states none, rad.
        yaw_std_rad: f64 = 0.05, within SENSOR_STD, unit "rad", runtime;
        /// How much later than measured a message is stamped, s.
        delay_s: f64 = 0.0, within 0.0..=5.0, unit "s";
    }
}

words! {
    /// The frame of positions and poses from outside.
    pub enum WorldFrame {
        /// The frame of the map: a robot whose start is known there.
        Map = "map",
        /// A frame of its own: where the map lies in it is estimated. Poses tell that at once, positions when the robot
        /// has driven.
        Estimated = "estimated",
    }
}

/// What is known of a calibration parameter before the run. It is estimated if `sigma` or `walk` is not 0, and
/// otherwise stays at `value`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Prior {
    /// Expectation.
    pub value: f64,
    /// Standard deviation.
    pub sigma: f64,
    /// How fast it wanders: after T seconds by `walk`·√T.
    pub walk: f64,
}

/// The table of a [`Prior`], which is another one for each parameter.
struct PriorSpecs {
    limit: f64,
    unit: &'static str,
    unit_of_walk: &'static str,
}

impl PriorSpecs {
    const fn up_to(limit: f64, unit: &'static str, unit_of_walk: &'static str) -> Self {
        Self { limit, unit, unit_of_walk }
    }

    const fn describe(self, value: &'static str) -> [Spec; 3] {
        const SIGMA: &str = "Standard deviation of that value; the parameter is estimated if this or walk is not 0.";
        const WALK: &str = "Random walk of the parameter, per sqrt(s).";
        [
            Spec::new("value", value).within(-self.limit..=self.limit).unit(self.unit),
            Spec::new("sigma", SIGMA).within(0.0..=self.limit).unit(self.unit),
            Spec::new("walk", WALK).within(0.0..=self.limit).unit(self.unit_of_walk),
        ]
    }
}

impl MeasurementKind {
    /// The words for the values in files, in their order.
    pub const WORDS: &'static [&'static str] =
        &["relative_position", "range_bearing", "stereo_bearings", "range", "bearing"];
}

impl InitialConfig {
    /// As a pose.
    pub fn pose(&self) -> Se2 {
        Se2::new(self.x_m, self.y_m, self.yaw_rad)
    }

    /// As a covariance of (x, y, θ).
    pub fn covariance(&self) -> Matrix3<f64> {
        let (p, t) = (self.position_std_m, self.yaw_std_rad);
        Matrix3::from_diagonal(&Vector3::new(p * p, p * p, t * t))
    }
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
