//! The settings of the filter, in groups; [`SPECS`] describes each.

use super::specs::SPECS;
use super::{ChoicesConfig, FeatureKind, UnknownFilter, Variant};
use lienav_base::clock::TimeJump;
use lienav_base::settings::{OutOfRange, check};
use lienav_lie::Se2;
use nalgebra::{Matrix3, Vector3};
use serde::{Deserialize, Serialize};

/// Everything that can be set about the filter. Serialised, its dotted names are those of [`SPECS`] and of the ROS
/// parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Which filter: one of [`Variant::NAMES`].
    pub filter: String,
    /// Which of its choices are to be others.
    pub choices: ChoicesConfig,
    /// Odometry and its noise.
    pub motion: MotionConfig,
    /// The feature sensor and its noise.
    pub sensor: SensorConfig,
    /// Which observations are believed.
    pub gate: GateConfig,
    /// Which features are kept.
    pub map: MapConfig,
    /// Order of arrival, and jumps of time.
    pub timing: TimingConfig,
    /// Where the robot starts.
    pub initial: InitialConfig,
    /// What is calibrated while running.
    pub calibration: CalibrationConfig,
}

/// Odometry and its noise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MotionConfig {
    /// Noise of the forward velocity.
    pub velocity_x_std: f64,
    /// Noise of the leftward velocity; for wheels: their slip.
    pub velocity_y_std: f64,
    /// Noise of the yaw rate.
    pub yaw_rate_std: f64,
    /// Noise of the forward velocity for each m/s of it, added in squares.
    pub velocity_ratio_std: f64,
    /// Noise of the yaw rate for each rad/s of it, added in squares.
    pub yaw_rate_ratio_std: f64,
    /// What these numbers mean.
    pub noise: NoiseReading,
    /// Take the covariance of each message where it has one.
    pub use_message_covariance: bool,
    /// Which interval an odometry message speaks of.
    pub hold: TwistHold,
    /// What path a twist stands for.
    pub path: TwistPath,
    /// Dead time, s: the motion that a message speaks of happens this much after its stamp.
    pub delay_s: f64,
    /// Roll and pitch that come with an [`super::Imu`] project the odometry's velocity and what is seen of features onto the
    /// horizontal plane. Its axes have to be those of the base.
    pub use_tilt: bool,
    /// The longest interval one message may stand for, s; beyond it the robot is taken to have moved with the last twist
    /// for this long only.
    pub max_step_s: f64,
    /// Speeds beyond this are absurd, m/s.
    pub max_speed: f64,
    /// Yaw rates beyond this are absurd, rad/s.
    pub max_yaw_rate: f64,
}

/// How the standard deviations of [`MotionConfig`] are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoiseReading {
    /// Of one sample, whatever its duration: m/s and rad/s.
    #[default]
    PerSample,
    /// Root of a spectral density: a sample of duration Δt has variance σ²/Δt. m/√s and rad/√s.
    SpectralDensity,
}

/// Which interval the twist of an odometry message is taken for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TwistHold {
    /// From the previous message to this one: encoders that report what they have just measured.
    #[default]
    Before,
    /// From this message to the next one: velocities as commanded.
    After,
}

/// What path of the robot the twist of an odometry message stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TwistPath {
    /// An arc: the twist is kept throughout. Filters that take forward Euler steps, the thesis's, take the chord even then.
    #[default]
    Arc,
    /// Straight ahead and then a turn, a forward Euler step: odometry that was made so.
    Chord,
}

/// The feature sensor and its noise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SensorConfig {
    /// How observations without a layout of their own are read.
    pub kind: FeatureKind,
    /// Position of the sensor in the base frame, forward, m.
    pub x_m: f64,
    /// Position of the sensor in the base frame, left, m.
    pub y_m: f64,
    /// Heading of the sensor in the base frame, rad.
    pub yaw_rad: f64,
    /// Noise of either coordinate of a relative position, m.
    pub position_std_m: f64,
    /// Noise of a range, m.
    pub range_std_m: f64,
    /// Noise of a bearing, rad; also of each camera of a stereo pair.
    pub bearing_std_rad: f64,
    /// How long the errors of readings of one feature stay alike, s; 0 takes each for independent.
    pub correlation_s: f64,
    /// Distance between the cameras of a stereo pair, m.
    pub baseline_m: f64,
    /// Features nearer to the sensor than this are left out, m.
    pub min_range_m: f64,
    /// Features farther from the sensor than this are left out, m.
    pub max_range_m: f64,
}

/// Which observations are believed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GateConfig {
    /// Probability with which a true observation passes; 1 switches the gate off.
    pub probability: f64,
    /// An observation without identity starts a new feature where it lies outside this probability of every known one.
    pub new_feature_probability: f64,
    /// Observations that are believed but lie this many standard deviations out count half; 0 lets all count whole.
    pub robust_scale: f64,
    /// When most observations of known features have been left out for this long, s, the pose is taken to be lost and its
    /// covariance widened until they pass; 0 never does.
    pub starvation_limit_s: f64,
}

/// Which features are kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MapConfig {
    /// The most features the map holds.
    pub max_features: usize,
    /// What happens to a new feature when the map is full.
    pub when_full: WhenFull,
    /// Features not seen for this long are dropped, s; 0 keeps them for ever.
    pub forget_after_s: f64,
}

/// What happens to a new feature when the map is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WhenFull {
    /// It is left out, and counted as `map_full`.
    #[default]
    Refuse,
    /// The feature not seen for the longest time makes room, unless it is in view now.
    DropOldest,
}

/// Order of arrival, and jumps of time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TimingConfig {
    /// Features may arrive this much later than odometry of a later stamp, s.
    pub reorder_window_s: f64,
    /// A stamp ahead of the newest one by more than this is from the future, s.
    pub max_ahead_s: f64,
    /// A stamp behind the newest one by more than this means that time was set back, s.
    pub jump_back_s: f64,
    /// What is done when time was set back.
    pub on_jump_back: TimeJump,
}

/// Where the robot starts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct InitialConfig {
    /// Position, m.
    pub x_m: f64,
    /// Position, m.
    pub y_m: f64,
    /// Heading, rad.
    pub yaw_rad: f64,
    /// Its standard deviation, m; 0 where the map frame is defined by the start.
    pub position_std_m: f64,
    /// Its standard deviation, rad.
    pub yaw_std_rad: f64,
}

/// What odometry and sensor get wrong by a constant amount, and whether it is estimated.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CalibrationConfig {
    /// Of the velocity.
    pub scale_v: Prior,
    /// Of the yaw rate.
    pub scale_w: Prior,
    /// Of the yaw rate, rad/s.
    pub bias_w: Prior,
    /// Of the velocity in turns, m.
    pub turn_slip: Prior,
    /// Added to [`SensorConfig::x_m`], m.
    pub sensor_x: Prior,
    /// Added to [`SensorConfig::y_m`], m.
    pub sensor_y: Prior,
    /// Added to [`SensorConfig::yaw_rad`], rad.
    pub sensor_yaw: Prior,
    /// Of range readings, m.
    pub range_bias: Prior,
    /// Of bearing readings, rad.
    pub bearing_bias: Prior,
}

/// What is known of a calibration parameter before the run. It is estimated if `sigma` or `walk` is not 0, and otherwise
/// stays at `value`.
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

impl Default for Config {
    fn default() -> Self {
        Self {
            filter: "default".into(),
            choices: ChoicesConfig::default(),
            motion: MotionConfig::default(),
            sensor: SensorConfig::default(),
            gate: GateConfig::default(),
            map: MapConfig::default(),
            timing: TimingConfig::default(),
            initial: InitialConfig::default(),
            calibration: CalibrationConfig::default(),
        }
    }
}

impl Default for MotionConfig {
    fn default() -> Self {
        Self {
            velocity_x_std: 0.1,
            velocity_y_std: 0.03,
            yaw_rate_std: 0.1,
            velocity_ratio_std: 0.0,
            yaw_rate_ratio_std: 0.0,
            noise: NoiseReading::PerSample,
            use_message_covariance: true,
            hold: TwistHold::Before,
            path: TwistPath::Arc,
            delay_s: 0.0,
            use_tilt: false,
            max_step_s: 0.5,
            max_speed: 50.0,
            max_yaw_rate: 50.0,
        }
    }
}

impl Default for SensorConfig {
    fn default() -> Self {
        Self {
            kind: FeatureKind::RangeBearing,
            x_m: 0.0,
            y_m: 0.0,
            yaw_rad: 0.0,
            position_std_m: 0.1,
            range_std_m: 0.05,
            bearing_std_rad: 0.02,
            correlation_s: 0.0,
            baseline_m: 0.5,
            min_range_m: 0.05,
            max_range_m: 100.0,
        }
    }
}

impl Default for GateConfig {
    fn default() -> Self {
        Self { probability: 0.999, new_feature_probability: 0.999_999, robust_scale: 0.0, starvation_limit_s: 10.0 }
    }
}

impl Default for MapConfig {
    fn default() -> Self {
        Self { max_features: 500, when_full: WhenFull::Refuse, forget_after_s: 0.0 }
    }
}

impl Default for TimingConfig {
    fn default() -> Self {
        Self { reorder_window_s: 0.2, max_ahead_s: 5.0, jump_back_s: 2.0, on_jump_back: TimeJump::Reset }
    }
}

/// A configuration that cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ConfigError {
    /// A number or word out of range.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// A filter nobody knows.
    #[error("parameter 'filter': {0}")]
    UnknownFilter(#[from] UnknownFilter),
}

impl Config {
    /// The composition that [`Config::filter`] names.
    ///
    /// # Errors
    /// A value outside its range in [`SPECS`], or an unknown filter: with name, value and what is allowed.
    pub fn validate(&self) -> Result<Variant, ConfigError> {
        check(self, SPECS)?;
        Ok(self.choices.apply(Variant::named(&self.filter)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn leaves(prefix: &str, node: &Value, out: &mut Vec<String>) {
        match node {
            Value::Object(map) => {
                for (key, value) in map {
                    let name = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
                    leaves(&name, value, out);
                }
            }
            _ => out.push(prefix.to_owned()),
        }
    }

    #[test]
    fn every_setting_is_described_once() {
        let mut found = Vec::new();
        leaves("", &serde_json::to_value(Config::default()).unwrap(), &mut found);
        let mut described: Vec<String> = SPECS.iter().map(|s| s.name.to_owned()).collect();
        found.sort();
        described.sort();
        assert_eq!(found, described);
    }

    #[test]
    fn the_default_is_valid() {
        assert_eq!(Config::default().validate(), Ok(Variant::default()));
    }

    #[test]
    fn an_error_names_the_parameter_its_value_and_what_is_allowed() {
        let mut config = Config::default();
        config.sensor.range_std_m = -1.0;
        let text = config.validate().unwrap_err().to_string();
        assert_eq!(text, "parameter 'sensor.range_std_m' is -1.0; allowed: 0.000000001 … 100");
        config.sensor.range_std_m = f64::NAN;
        assert!(config.validate().is_err());
    }
}
