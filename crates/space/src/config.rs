//! The settings of the filter, in groups; [`SPECS`] describes each.

use lienav_base::settings::{Described, OutOfRange, Spec, check};
use lienav_base::{settings, words};
use lienav_inertial::filter::Filter;
use lienav_inertial::imu::ImuNoise;
use lienav_inertial::measurement::RangePrior;
use lienav_inertial::preintegration::samples::Interpolation;
use lienav_inertial::window::WindowSettings;
use std::f64::consts::TAU;
use std::ops::RangeInclusive;

/// Every setting of [`Config`], in the order of its fields.
pub const SPECS: &[Spec] = Config::SPECS;

const NOISE: RangeInclusive<f64> = 0.0..=100.0;
const SENSOR_STD: RangeInclusive<f64> = 1e-6..=100.0;
const STD: RangeInclusive<f64> = 0.0..=100.0;
const PLACE: RangeInclusive<f64> = -1e6..=1e6;

/// The filters that `filter` can name: those of [`Filter::ALL`], and the default one with a window of pose clones.
const FILTERS: &[&str] = &["default", "group", "reduced", "ekf", "fe-ekf", "oc-ekf", WINDOW];

/// The name of the filter with a window.
pub const WINDOW: &str = "window";

settings! {
    /// Everything that can be set about the filter in space. Serialised, its dotted names are those of [`SPECS`] and of
    /// the ROS parameters.
    pub struct Config {
        /// Which filter runs.
        filter: String = "default".into(), one_of FILTERS;
        /// The inertial sensor and its noise.
        imu: ImuConfig;
        /// The sensors of landmarks and their noise.
        sensor: SensorConfig;
        /// Which landmarks are kept.
        map: MapConfig;
        /// Where the body starts.
        start: StartConfig;
        /// Order of arrival, and jumps of time.
        timing: TimingConfig;
    }
}

settings! {
    /// The inertial sensor and its noise.
    pub struct ImuConfig {
        /// White noise of the angular rate, rad/s/sqrt(Hz).
        gyro_noise: f64 = 1e-3, within NOISE, unit "rad/s/sqrt(Hz)";
        /// White noise of the specific force, m/s^2/sqrt(Hz).
        accelerometer_noise: f64 = 1e-2, within NOISE, unit "m/s^2/sqrt(Hz)";
        /// Random walk of the gyroscope's bias, rad/s^2/sqrt(Hz).
        gyro_walk: f64 = 2e-5, within NOISE, unit "rad/s^2/sqrt(Hz)";
        /// Random walk of the accelerometer's bias, m/s^3/sqrt(Hz).
        accelerometer_walk: f64 = 2e-4, within NOISE, unit "m/s^3/sqrt(Hz)";
        /// Gravity, m/s^2.
        gravity: f64 = 9.80665, within 9.7..=9.9, unit "m/s^2";
        /// How rate and force run between samples: real samples are means over an interval (linear), simulated ones are
        /// values (cubic).
        interpolation: Between = Between::Linear, one_of Between::WORDS;
    }
}

words! {
    /// How rate and force run between samples.
    pub enum Between {
        /// A straight line.
        Linear = "linear",
        /// A cubic through the last four samples.
        Cubic = "cubic",
    }
}

settings! {
    /// The sensors of landmarks and their noise.
    pub struct SensorConfig {
        /// Standard deviation of each coordinate of a pixel, px.
        pixel_std_px: f64 = 1.0, within SENSOR_STD, unit "px";
        /// Distance between the cameras of a rectified pair, m.
        baseline_m: f64 = 0.1, within 1e-3..=10.0, unit "m";
        /// Standard deviation of each coordinate of a relative position, m.
        position_std_m: f64 = 0.05, within SENSOR_STD, unit "m";
        /// Standard deviation of a range, m.
        range_std_m: f64 = 0.1, within SENSOR_STD, unit "m";
        /// Usual range of landmarks that are seen in directions alone, m, to a factor of two; 0: nothing is known.
        typical_range_m: f64 = 0.0, within 0.0..=1e4, unit "m";
        /// Standard deviation of each coordinate of the velocity of odom where its message states none, m/s.
        velocity_std: f64 = 0.1, within SENSOR_STD, unit "m/s";
    }
}

settings! {
    /// Which landmarks are kept.
    pub struct MapConfig {
        /// Whether a map is made (mapping), or a known map is used and nothing is added to it (localization).
        mode: MapMode = MapMode::Mapping, one_of MapMode::WORDS;
        /// The most landmarks in the state.
        max_landmarks: usize = 200, within 1.0..=1000.0;
        /// Remove a landmark that a frame does not see: identities are those of tracks, which do not come back.
        tracks_end: bool = false;
    }
}

words! {
    /// What becomes of the map.
    pub enum MapMode {
        /// Every landmark is estimated with the pose.
        Mapping = "mapping",
        /// Landmarks are those of a known map, whose errors count.
        Localization = "localization",
    }
}

settings! {
    /// Where the body starts: the frame of the inertial sensor in the map.
    pub struct StartConfig {
        /// Position at the start, x, m.
        x_m: f64 = 0.0, within PLACE, unit "m";
        /// Position at the start, y, m.
        y_m: f64 = 0.0, within PLACE, unit "m";
        /// Position at the start, z, m.
        z_m: f64 = 0.0, within PLACE, unit "m";
        /// Heading at the start, rad.
        yaw_rad: f64 = 0.0, within -TAU..=TAU, unit "rad";
        /// Standard deviation of each coordinate of that position, m; 0 where the start defines the map.
        position_std_m: f64 = 0.0, within STD, unit "m";
        /// Standard deviation of that heading, rad.
        yaw_std_rad: f64 = 0.0, within STD, unit "rad";
        /// The longest wait for rest, s: then the start is in motion, with wide errors; 0 to wait for rest.
        max_wait_s: f64 = 5.0, within 0.0..=3600.0, unit "s";
    }
}

settings! {
    /// Order of arrival, and jumps of time.
    pub struct TimingConfig {
        /// Frames may arrive this much later than samples of the inertial sensor with a later stamp, s.
        reorder_window_s: f64 = 0.2, within 0.0..=5.0, unit "s";
        /// A stamp ahead of the newest by more than this is dropped, s.
        max_ahead_s: f64 = 5.0, within 0.1..=3600.0, unit "s";
    }
}

/// In a hall of unknown size, ranges are known to this factor, as the standard deviation of the logarithm.
const LOG_SIGMA: f64 = 0.7;

impl Config {
    /// The filter that is named.
    ///
    /// # Errors
    /// The first setting that is out of range.
    pub fn validate(&self) -> Result<Filter, OutOfRange> {
        check(self, SPECS)?;
        let named = Filter::ALL.iter().find(|(name, _)| *name == self.filter);
        Ok(named.map_or(Filter::DEFAULT, |(_, filter)| *filter))
    }

    /// The window of the filter that is named, if it has one.
    pub fn window(&self) -> Option<WindowSettings> {
        (self.filter == WINDOW).then(WindowSettings::default)
    }

    /// The noise of the inertial sensor.
    pub fn noise(&self) -> ImuNoise {
        let ImuConfig { gyro_noise, accelerometer_noise, gyro_walk, accelerometer_walk, .. } = self.imu;
        ImuNoise { gyro: gyro_noise, accelerometer: accelerometer_noise, gyro_walk, accelerometer_walk }
    }

    /// What is known of ranges.
    pub fn ranges(&self) -> RangePrior {
        match self.sensor.typical_range_m {
            0.0 => RangePrior::UNKNOWN,
            range_m => RangePrior { range_m, log_sigma: LOG_SIGMA },
        }
    }

    pub(crate) fn interpolation(&self) -> Interpolation {
        match self.imu.interpolation {
            Between::Linear => Interpolation::Linear,
            Between::Cubic => Interpolation::Cubic,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_valid_and_the_table_is_short() {
        assert_eq!(Config::default().validate(), Ok(Filter::DEFAULT));
        assert_eq!(SPECS.len(), 25);
        assert!(Filter::ALL.iter().map(|(name, _)| *name).chain([WINDOW]).eq(FILTERS.iter().copied()));
    }

    #[test]
    fn an_error_names_the_parameter_its_value_and_what_is_allowed() {
        let mut config = Config::default();
        config.sensor.pixel_std_px = -1.0;
        let text = config.validate().unwrap_err().to_string();
        assert_eq!(text, "parameter 'sensor.pixel_std_px' is -1.0; allowed: 0.000001 … 100");
    }
}
