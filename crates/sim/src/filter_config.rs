//! The settings of a filter that knows its sensors exactly as they are simulated.

use super::scenario::{OutsideConfig, Scenario, TwistUnit};
use super::simulation::Simulation;
use lienav_lie::wrap_angle;
use lienav_slam::{
    AbsoluteConfig, CalibrationConfig, Config, Filter, GateConfig, InitialConfig, LearningConfig, MapConfig,
    MotionConfig, NoiseAt, NoiseUnit, SensorConfig, StereoModel, TimingConfig, TwistHold, TwistPath, WorldConfig,
};

/// The filter's own limits of range are wider than the sensor's by this factor. Noise makes some far features seem
/// farther: limits as tight as the sensor's would cut off one side of it, which biases ranges; without limits, two
/// almost parallel bearings put a feature at many times its distance, which ruins a filter with Cartesian coordinates.
const RANGE_SLACK: f64 = 1.5;

/// The smallest standard deviation the filter accepts of a sensor, for sensors simulated without noise.
const SMALLEST_STD: f64 = 1e-9;

impl Simulation {
    /// Settings for the filter called `filter`, with noise, geometry and start as simulated. The gate is open where
    /// identities are known and nothing is misread (Shen 2019, section 5.5: "no errors introduced during feature
    /// detection and matching"). Filters with the choices of the thesis have the limit of range of
    /// `thesis_range_factor`. Where there is a gyroscope, the noise of the yaw rate is that of the gyroscope. Scale
    /// errors and biases are not told.
    pub fn filter_config(&self, filter: &str) -> Config {
        let scenario = self.scenario();
        Config {
            filter: filter.to_owned(),
            motion: motion(scenario),
            sensor: sensor(scenario, range_factor(scenario, filter)),
            gate: gate(scenario),
            map: map(scenario, self.landmarks().len()),
            initial: self.initial_config(),
            absolute: absolute(scenario),
            calibration: calibration(scenario),
            timing: timing(scenario),
            // The noise is what the simulator draws.
            learning: LearningConfig { enabled: false, ..LearningConfig::default() },
            ..Config::default()
        }
    }

    fn initial_config(&self) -> InitialConfig {
        let (pose, error) = (self.initial_pose(), &self.scenario().initial);
        InitialConfig {
            x_m: pose.p.x,
            y_m: pose.p.y,
            yaw_rad: wrap_angle(pose.theta),
            position_std_m: error.position_std_m,
            yaw_std_rad: error.yaw_std_rad,
            ..InitialConfig::default()
        }
    }
}

fn motion(scenario: &Scenario) -> MotionConfig {
    let (odometry, imu) = (&scenario.odometry, &scenario.imu);
    let defaults = MotionConfig::default();
    let yaw_rate_std = if imu.rate_hz > 0.0 {
        // As a spectral density σ²/rate, or the variance of its mean over one odometry sample.
        let density = imu.gyro_std_rad_s / imu.rate_hz.sqrt();
        match odometry.noise {
            NoiseUnit::SpectralDensity => density,
            NoiseUnit::PerSample => density * odometry.rate_hz.sqrt(),
        }
    } else {
        odometry.yaw_rate_std
    };
    MotionConfig {
        velocity_x_std: odometry.velocity_x_std,
        velocity_y_std: odometry.velocity_y_std,
        yaw_rate_std,
        noise: odometry.noise,
        hold: TwistHold::Before,
        path: match odometry.twist {
            TwistUnit::Euler => TwistPath::Chord,
            TwistUnit::Exponential | TwistUnit::Instant => TwistPath::Arc,
        },
        max_step_s: defaults.max_step_s.max((2.5 / odometry.rate_hz).min(60.0)),
        ..defaults
    }
}

/// The limit of range of a filter, as a multiple of the sensor's. A filter that judges a triangulated position by where
/// it was measured judges by the same whether it is in range.
fn range_factor(scenario: &Scenario, filter: &str) -> f64 {
    let is_thesis =
        Filter::named(filter).is_ok_and(|filter| filter.stereo == StereoModel::Triangulated(NoiseAt::Measured));
    if is_thesis { scenario.thesis_range_factor } else { RANGE_SLACK }
}

fn sensor(scenario: &Scenario, range_factor: f64) -> SensorConfig {
    let sensor = &scenario.sensor;
    let others = [&scenario.ranges, &scenario.bearings].into_iter().filter(|other| other.rate_hz > 0.0);
    let farthest = others.fold(sensor.max_range_m, |farthest, other| farthest.max(other.max_range_m));
    SensorConfig {
        kind: sensor.kind,
        x_m: sensor.x_m,
        y_m: sensor.y_m,
        yaw_rad: sensor.yaw_rad,
        position_std_m: sensor.position_std_m.max(SMALLEST_STD),
        range_std_m: sensor.range_std_m.max(SMALLEST_STD),
        bearing_std_rad: sensor.bearing_std_rad.max(SMALLEST_STD),
        correlation_s: 0.0,
        baseline_m: sensor.baseline_m,
        min_range_m: (sensor.min_range_m / range_factor).min(1000.0),
        max_range_m: (farthest * range_factor).min(10_000.0),
        late_probability: sensor.late_probability,
        late_max_m: sensor.late_max_m,
        ..SensorConfig::default()
    }
}

fn gate(scenario: &Scenario) -> GateConfig {
    let is_disturbed = scenario.sensor.misread_probability > 0.0 || scenario.sensor.late_probability > 0.0;
    if scenario.sensor.identified && !is_disturbed {
        GateConfig { probability: 1.0, ..GateConfig::default() }
    } else {
        GateConfig::default()
    }
}

/// Where the receiver sits.
fn absolute(scenario: &Scenario) -> AbsoluteConfig {
    let OutsideConfig { x_m, y_m, delay_s, .. } = scenario.outside;
    AbsoluteConfig { x_m, y_m, delay_s, ..AbsoluteConfig::default() }
}

/// What is known of the world; nothing of scales and biases.
fn calibration(scenario: &Scenario) -> CalibrationConfig {
    let OutsideConfig { rate_hz, frame, error_std_m, error_time_s, .. } = scenario.outside;
    let world = if rate_hz > 0.0 { WorldConfig { frame, error_std_m, error_time_s } } else { WorldConfig::default() };
    CalibrationConfig { world, ..CalibrationConfig::default() }
}

/// What comes late is waited for.
fn timing(scenario: &Scenario) -> TimingConfig {
    let (delay_s, defaults) = (scenario.outside.delay_s, TimingConfig::default());
    let reorder_window_s = defaults.reorder_window_s.max(2.0 * delay_s).min(5.0);
    TimingConfig { reorder_window_s, hold_features_s: defaults.hold_features_s.max(1.5 * delay_s), ..defaults }
}

/// The most that one joint covariance can be for. A map in parts may have more: where it is made so is not a matter of
/// the sensors.
const MOST_FEATURES: usize = 5000;

/// Room for every feature where the map is kept.
fn map(scenario: &Scenario, landmarks: usize) -> MapConfig {
    let defaults = MapConfig::default();
    // Without identities, clutter begins features as well, and some features are begun twice.
    let wanted = if scenario.sensor.identified { landmarks } else { 2 * landmarks };
    MapConfig {
        max_features: defaults.max_features.max(wanted).min(MOST_FEATURES),
        forget_after_s: scenario.forget_after_s,
        ..defaults
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lienav_slam::{Filter, MeasurementKind};

    #[test]
    fn every_shipped_scenario_gives_valid_settings_to_every_filter() {
        for name in Scenario::names() {
            let simulation = Simulation::new(&Scenario::named(&name).unwrap()).unwrap();
            for filter in Filter::NAMES {
                assert!(simulation.filter_config(filter).validate().is_ok(), "{filter} on {name}");
            }
        }
    }

    #[test]
    fn the_thesis_scene_is_told_as_it_is() {
        let simulation = Simulation::new(&Scenario::named("thesis-circle-20hz-low-q4").unwrap()).unwrap();
        let config = simulation.filter_config("thesis-ekf");
        assert_eq!((config.filter.as_str(), config.map.forget_after_s), ("thesis-ekf", 2.0));
        assert_eq!((config.motion.noise, config.motion.yaw_rate_std), (NoiseUnit::SpectralDensity, 0.1));
        assert_eq!((config.sensor.kind, config.sensor.bearing_std_rad), (MeasurementKind::StereoBearings, 0.02));
        assert_eq!((config.gate.probability, config.initial.covariance().norm()), (1.0, 0.0));
    }

    /// The thesis ignores features beyond 5 m; a robot's filters do not cut one side of the noise off.
    #[test]
    fn in_the_scenes_of_the_thesis_its_filters_end_where_the_sensor_ends() {
        let limit = |scenario: &Scenario, filter: &str| {
            Simulation::new(scenario).unwrap().filter_config(filter).sensor.max_range_m
        };
        let thesis = Scenario::named("thesis-line-10hz-low-q1").unwrap();
        for (filter, expected) in [("thesis-ekf", 5.0), ("thesis-reduced", 5.0), ("ekf", 7.5), ("default", 7.5)] {
            assert_eq!(limit(&thesis, filter), expected, "{filter}");
            assert_eq!(limit(&Scenario::default(), filter), 7.5, "{filter}");
            assert_eq!(limit(&Scenario { thesis_range_factor: 1.5, ..thesis.clone() }, filter), 7.5, "{filter}");
        }
    }

    #[test]
    fn misreads_close_the_gate_and_a_gyroscope_lends_its_noise() {
        let mut scenario = Scenario::default();
        scenario.sensor.misread_probability = 0.01;
        scenario.imu.rate_hz = 10.0;
        scenario.imu.gyro_std_rad_s = 0.02;
        let config = Simulation::new(&scenario).unwrap().filter_config("default");
        assert!(config.gate.probability < 1.0);
        assert!((config.motion.yaw_rate_std - 0.02 / 10f64.sqrt()).abs() < 1e-15);
    }
}
