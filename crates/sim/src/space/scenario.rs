//! What is simulated in space: a struct that is read from YAML, in groups.

use lienav_base::nesting::check_yaml;
use lienav_base::settings::{Described, OutOfRange, check};
use lienav_base::{settings, words};
use std::ops::RangeInclusive;

const STD: RangeInclusive<f64> = 0.0..=100.0;
const PROBABILITY: RangeInclusive<f64> = 0.0..=1.0;
const SECONDS: RangeInclusive<f64> = 0.0..=1e4;
const PIXELS: RangeInclusive<f64> = 1.0..=1e5;
const LIMIT: RangeInclusive<f64> = 1e-3..=1e9;

settings! {
    /// Everything that can be set about a simulation in space.
    pub struct SpaceScenario {
        /// What the scenario is called in reports.
        name: String = "drone-mono-industrial".into();
        /// All random numbers come from this.
        seed: u64 = 1, within 0.0..=9_007_199_254_740_991.0;
        /// How the body moves.
        motion: MotionKind = MotionKind::Drone, one_of MotionKind::WORDS;
        /// How long, s.
        duration_s: f64 = 30.0, within 1.0..=1e4, unit "s";
        /// How many landmarks the walls have.
        landmarks: u64 = 80, within 1.0..=1e5;
        /// The inertial sensor.
        imu: InertialConfig;
        /// The cameras.
        camera: CameraConfig;
        /// How wrong the start is.
        start: StartConfig;
    }
}

words! {
    /// How a body moves.
    pub enum MotionKind {
        /// Not at all.
        Rest = "rest",
        /// Round and round, looking ahead.
        Circle = "circle",
        /// Round and up.
        Helix = "helix",
        /// Figures of eight, leaning into the curves.
        Drone = "drone",
        /// In a hand, to places at random.
        Hand = "hand",
        /// A car on hills.
        Car = "car",
    }
}

settings! {
    /// An inertial sensor. Densities are alike for its three axes.
    pub struct InertialConfig {
        /// Samples a second, Hz.
        rate_hz: f64 = 200.0, within 1.0..=1e4, unit "Hz";
        /// White noise of the rate, rad/s/√Hz.
        gyro_noise: f64 = 1.7e-4, within STD, unit "rad/s/sqrt(Hz)";
        /// White noise of the force, m/s²/√Hz.
        force_noise: f64 = 2.0e-3, within STD, unit "m/s^2/sqrt(Hz)";
        /// Random walk of the gyroscope's bias, rad/s²/√Hz.
        gyro_walk: f64 = 1.9e-5, within STD, unit "rad/s^2/sqrt(Hz)";
        /// Random walk of the accelerometer's bias, m/s³/√Hz.
        force_walk: f64 = 3e-3, within STD, unit "m/s^3/sqrt(Hz)";
        /// Standard deviation of the gyroscope's bias at the start by axis, rad/s.
        gyro_bias_std: f64 = 0.009, within STD, unit "rad/s";
        /// Standard deviation of the accelerometer's bias at the start by axis, m/s².
        force_bias_std: f64 = 0.16, within STD, unit "m/s^2";
        /// Frequency of a vibration, Hz.
        vibration_hz: f64 = 87.0, within 0.0..=1e4, unit "Hz";
        /// Its amplitude along the vertical of the body, m/s²; no filter has it in its noise.
        vibration_m_s2: f64 = 0.0, within STD, unit "m/s^2";
        /// Its amplitude about the axis ahead, rad/s.
        vibration_rad_s: f64 = 0.0, within STD, unit "rad/s";
        /// Rates beyond this are measured as this, rad/s.
        gyro_limit: f64 = 35.0, within LIMIT, unit "rad/s";
        /// Forces beyond this are measured as this, m/s².
        force_limit: f64 = 160.0, within LIMIT, unit "m/s^2";
        /// From when on samples are missing, s.
        gap_start_s: f64 = 10.0, within SECONDS, unit "s";
        /// For how long samples are missing, s; 0 for never.
        gap_s: f64 = 0.0, within SECONDS, unit "s";
        /// What the rate is multiplied with, as by a wrong unit.
        gyro_factor: f64 = 1.0, within -1e3..=1e3;
        /// What the force is multiplied with.
        force_factor: f64 = 1.0, within -1e3..=1e3;
        /// Whether the sensor is mounted upside down, turned about its x axis, and no filter knows.
        upside_down: bool = false;
    }
}

words! {
    /// Which cameras a body has.
    pub enum CameraKind {
        /// One.
        Mono = "mono",
        /// A rectified pair.
        Stereo = "stereo",
        /// Three, a third of a turn apart.
        Several = "several",
    }
}

settings! {
    /// Cameras.
    pub struct CameraConfig {
        /// Which.
        kind: CameraKind = CameraKind::Mono, one_of CameraKind::WORDS;
        /// Frames a second, Hz.
        rate_hz: f64 = 20.0, within 1e-2..=1e3, unit "Hz";
        /// Focal length, px.
        focal_px: f64 = 400.0, within PIXELS, unit "px";
        /// Width of the image, px.
        width_px: f64 = 752.0, within PIXELS, unit "px";
        /// Height of the image, px.
        height_px: f64 = 480.0, within PIXELS, unit "px";
        /// Distance of the cameras of a pair, m.
        baseline_m: f64 = 0.12, within 1e-3..=10.0, unit "m";
        /// Standard deviation of each pixel, px.
        pixel_std: f64 = 1.0, within 1e-3..=100.0, unit "px";
        /// No frame has more landmarks.
        most_in_view: u64 = 20, within 0.0..=1e4;
        /// Probability that a landmark is missed in a frame.
        miss_probability: f64 = 0.0, within PROBABILITY;
        /// Probability that a landmark's pixels are anywhere in the image.
        outlier_probability: f64 = 0.0, within PROBABILITY;
        /// Probability that a track ends in a frame: the landmark is then seen under another identity, as by trackers of
        /// corners. If it is not zero, what leaves the image comes back under another identity, too.
        end_probability: f64 = 0.0, within PROBABILITY;
        /// False detections in each frame, under identities of their own.
        false_per_frame: u64 = 0, within 0.0..=1e3;
        /// How much later than its instant a frame is stamped, s; no filter knows.
        late_s: f64 = 0.0, within 0.0..=1.0, unit "s";
    }
}

settings! {
    /// Standard deviations of the start by axis, which every filter is given; biases are those of the sensor.
    pub struct StartConfig {
        /// Of the rotation, rad.
        rotation_std_rad: f64 = 0.01, within STD, unit "rad";
        /// Of the velocity, m/s.
        velocity_std_m_s: f64 = 0.05, within STD, unit "m/s";
        /// Of the position, m.
        position_std_m: f64 = 0.01, within STD, unit "m";
        /// How long the body stands before it moves, s.
        rest_s: f64 = 0.0, within SECONDS, unit "s";
    }
}

/// A scenario that cannot be simulated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SpaceScenarioError {
    /// A value that is out of range.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// Text that is not a scenario.
    #[error("{0}")]
    Yaml(String),
    /// So many samples are a mistake.
    #[error("duration_s · imu.rate_hz is {0}; allowed: up to {MOST_SAMPLES}")]
    Samples(f64),
}

/// Samples of a run.
const MOST_SAMPLES: f64 = 1e7;

impl SpaceScenario {
    /// Reads a scenario from YAML; what the text leaves out keeps its default.
    ///
    /// # Errors
    /// Text that is not YAML, an unknown field, or a value out of range: with line or name.
    pub fn from_yaml(text: &str) -> Result<Self, SpaceScenarioError> {
        check_yaml(text).map_err(|error| SpaceScenarioError::Yaml(error.to_string()))?;
        let scenario: Self =
            serde_yaml_ng::from_str(text).map_err(|error| SpaceScenarioError::Yaml(error.to_string()))?;
        scenario.validate()?;
        Ok(scenario)
    }

    /// Checks every value.
    ///
    /// # Errors
    /// The first value that is out of range, with name, value and what is allowed.
    pub fn validate(&self) -> Result<(), SpaceScenarioError> {
        check(self, Self::SPECS)?;
        let samples = self.duration_s * self.imu.rate_hz;
        if samples > MOST_SAMPLES { Err(SpaceScenarioError::Samples(samples)) } else { Ok(()) }
    }
}
