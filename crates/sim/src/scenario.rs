//! What is simulated: a struct that is read from YAML, in groups, with the circle of the thesis as its default.

use super::specs::{self, SPECS};
use super::trajectory::{Limits, SplineError};
use lienav_base::settings::{OutOfRange, check};
use lienav_lie::Se2;
use lienav_slam::{FeatureKind, NoiseReading};
use nalgebra::Vector2;
use serde::{Deserialize, Serialize};

/// Everything that can be set about a simulation. Serialised, its dotted names are those of [`SPECS`]. The default is
/// the circle of Shen 2019, section 5.5.2, at 10 Hz, with low feature density and Q_z = 10⁻⁴.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Scenario {
    /// What it is called in reports.
    pub name: String,
    /// All random numbers come from this; below 2⁵³, so that it survives any text format.
    pub seed: u64,
    /// How the true pose follows from the trajectory.
    pub truth: TruthModel,
    /// Where the robot goes.
    pub trajectory: TrajectoryConfig,
    /// Where the features are.
    pub world: WorldConfig,
    /// Wheels.
    pub odometry: OdometryConfig,
    /// The feature sensor.
    pub sensor: FeatureSensorConfig,
    /// Gyroscope and accelerometer.
    pub imu: ImuConfig,
    /// How wrong the filter is about its start.
    pub initial: InitialErrorConfig,
    /// The filter is to drop features that it has not seen for this long, s; 0 keeps them for ever.
    pub forget_after_s: f64,
}

/// How the true pose follows from the trajectory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TruthModel {
    /// It is the trajectory: a solution of Shen 2019, eq. (5.3).
    #[default]
    Exact,
    /// Forward Euler steps of the odometry's period with the trajectory's twist at their start (Shen 2019, eq. (5.9)).
    Euler,
}

/// The shape of a trajectory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathKind {
    /// Straight ahead: `length_m`, `speed_m_s`.
    Line,
    /// Counterclockwise: `radius_m`, `lap_s`, `laps`.
    #[default]
    Circle,
    /// A constant twist: `speed_m_s`, `yaw_rate_rad_s`, `duration_s`.
    Arc,
    /// Not moving: `duration_s`.
    Static,
    /// A natural cubic spline: waypoints, `knot_interval_s`, limits.
    General,
}

/// Where the robot goes. Fields that the path does not use are ignored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrajectoryConfig {
    /// The shape.
    pub path: PathKind,
    /// Where the frame of the path lies in the map, m. Line, circle and arc start at its origin along its x axis.
    pub start_x_m: f64,
    /// Where the frame of the path lies in the map, m.
    pub start_y_m: f64,
    /// How the frame of the path is turned against the map, rad.
    pub start_yaw_rad: f64,
    /// Speed of line and arc, m/s.
    pub speed_m_s: f64,
    /// Yaw rate of the arc, rad/s.
    pub yaw_rate_rad_s: f64,
    /// Duration of arc and standstill, s.
    pub duration_s: f64,
    /// Length of the line, m.
    pub length_m: f64,
    /// Radius of the circle, m.
    pub radius_m: f64,
    /// Duration of a lap of the circle, s.
    pub lap_s: f64,
    /// Laps of the circle; need not be whole.
    pub laps: f64,
    /// Waypoints of the general path, m.
    pub waypoints_x_m: Vec<f64>,
    /// Waypoints of the general path, m.
    pub waypoints_y_m: Vec<f64>,
    /// Time from one waypoint to the next, where no limit slows the robot down, s.
    pub knot_interval_s: f64,
    /// The general path is travelled no faster than this, m/s; 0 for no limit.
    pub max_speed_m_s: f64,
    /// The general path is travelled no faster than this, rad/s; 0 for no limit.
    pub max_yaw_rate_rad_s: f64,
}

/// How features are laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorldKind {
    /// Uniformly at random beside the path: `density_per_m2`, `margin_m`, `clearance_m`.
    #[default]
    Scattered,
    /// At equal angles on a circle: `ring_…`.
    Ring,
    /// Where `features_x_m` and `features_y_m` say.
    Listed,
}

/// Where the features are, in the frame of the path. Fields that the layout does not use are ignored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WorldConfig {
    /// The layout.
    pub layout: WorldKind,
    /// Scattered features for each square metre.
    pub density_per_m2: f64,
    /// Scattered features lie at most this far from the path, m.
    pub margin_m: f64,
    /// Scattered features lie at least this far from the path, m.
    pub clearance_m: f64,
    /// Features on the ring.
    pub ring_count: u32,
    /// Radius of the ring, m.
    pub ring_radius_m: f64,
    /// Centre of the ring, m.
    pub ring_x_m: f64,
    /// Centre of the ring, m.
    pub ring_y_m: f64,
    /// Listed features, m.
    pub features_x_m: Vec<f64>,
    /// Listed features, m.
    pub features_y_m: Vec<f64>,
}

/// What motion the velocities of an odometry sample stand for, from the sample before (X) to this one (X′), Δt later.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TwistReading {
    /// X′ = X Exp(Δt ξ): the twist ξ is kept throughout, as wheels that run evenly would have it.
    #[default]
    Exponential,
    /// X′ is a forward Euler step from X (Shen 2019, eq. (5.9)).
    Euler,
    /// The true twist at the instant of the sample, whatever went before: exact for constant twists only.
    Instant,
}

/// Wheels: velocity and yaw rate in the base frame.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OdometryConfig {
    /// Samples a second.
    pub rate_hz: f64,
    /// What motion the velocities stand for.
    pub twist: TwistReading,
    /// Noise of the forward velocity (root of Q_v of Shen 2019, section 5.5).
    pub velocity_x_std: f64,
    /// Noise of the leftward velocity.
    pub velocity_y_std: f64,
    /// Noise of the yaw rate (root of Q_w).
    pub yaw_rate_std: f64,
    /// What these three numbers mean.
    pub noise: NoiseReading,
    /// Measured velocities are the true ones times this.
    pub velocity_scale: f64,
    /// The measured yaw rate is the true one times this, plus the bias.
    pub yaw_rate_scale: f64,
    /// Offset of the measured yaw rate, rad/s.
    pub yaw_rate_bias_rad_s: f64,
    /// Whether each sample carries its covariance; otherwise the filter's settings must know it.
    pub report_covariance: bool,
}

/// The feature sensor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FeatureSensorConfig {
    /// What it measures.
    pub kind: FeatureKind,
    /// Clouds a second; no more than odometry samples.
    pub rate_hz: f64,
    /// When the first cloud falls due, s. At 0 the heading is as exact as the start; one step later it has the noise of
    /// that step, and so has the whole map.
    pub first_s: f64,
    /// Position in the base frame, forward, m.
    pub x_m: f64,
    /// Position in the base frame, left, m.
    pub y_m: f64,
    /// Heading in the base frame, rad.
    pub yaw_rad: f64,
    /// Distance between the cameras of a stereo pair, at (0, ±baseline/2) in the sensor frame, m.
    pub baseline_m: f64,
    /// Full angle of view, of each camera of a pair, centred on the sensor's x axis, rad; 2π sees all round.
    pub field_of_view_rad: f64,
    /// Features nearer to the sensor than this are not seen, m.
    pub min_range_m: f64,
    /// Features farther from the sensor than this are not seen, m.
    pub max_range_m: f64,
    /// Noise of either coordinate of a relative position, m.
    pub position_std_m: f64,
    /// Noise of a range, m.
    pub range_std_m: f64,
    /// Noise of a bearing, also of each camera of a pair, rad (root of Q_z of Shen 2019, section 5.5).
    pub bearing_std_rad: f64,
    /// Offset of measured ranges, m.
    pub range_bias_m: f64,
    /// Offset of measured bearings, rad.
    pub bearing_bias_rad: f64,
    /// Probability that an observation is of a random place in the field of view instead.
    pub misread_probability: f64,
    /// Whether observations say which feature they are of.
    pub identified: bool,
}

/// Gyroscope and accelerometer of a robot on level ground.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ImuConfig {
    /// Readings a second, no more than odometry samples; 0 for no such sensor.
    pub rate_hz: f64,
    /// Noise of a yaw rate, rad/s per reading.
    pub gyro_std_rad_s: f64,
    /// Offset of the yaw rate, rad/s.
    pub gyro_bias_rad_s: f64,
    /// Noise of either component of the acceleration, m/s² per reading.
    pub accel_std_m_s2: f64,
    /// Offset of the forward acceleration, m/s².
    pub accel_bias_x_m_s2: f64,
    /// Offset of the leftward acceleration, m/s².
    pub accel_bias_y_m_s2: f64,
}

/// How wrong the filter is about its start: the initial pose it is told is the true one plus a draw from this.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct InitialErrorConfig {
    /// Standard deviation of either coordinate, m; 0 where the start is known.
    pub position_std_m: f64,
    /// Standard deviation of the heading, rad.
    pub yaw_std_rad: f64,
}

/// A name that is no scenario's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no scenario is called '{0}'; there are: {names}", names = Scenario::names().join(", "))]
pub struct UnknownScenario(pub String);

/// A scenario that cannot be simulated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ScenarioError {
    /// A value outside its range.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// Waypoints that make no path.
    #[error("parameters 'trajectory.waypoints_x_m' and 'trajectory.waypoints_y_m': {0}")]
    Waypoints(#[from] SplineError),
    /// Text that is no scenario.
    #[error("not a scenario: {0}")]
    Yaml(String),
}

impl Scenario {
    /// Reads a scenario from YAML; what the text leaves out keeps its default.
    ///
    /// # Errors
    /// Text that is no YAML, a field nobody knows, or a value out of range: with line or name.
    pub fn from_yaml(text: &str) -> Result<Self, ScenarioError> {
        let scenario: Self = serde_yaml_ng::from_str(text).map_err(|error| ScenarioError::Yaml(error.to_string()))?;
        scenario.validate()?;
        Ok(scenario)
    }

    /// As YAML, every field.
    ///
    /// # Errors
    /// None in practice: all fields have a YAML form.
    pub fn to_yaml(&self) -> Result<String, ScenarioError> {
        serde_yaml_ng::to_string(self).map_err(|error| ScenarioError::Yaml(error.to_string()))
    }

    /// Checks every value by itself, and those that must fit each other.
    ///
    /// # Errors
    /// The first value that is out of range, with name, value and what is allowed.
    pub fn validate(&self) -> Result<(), OutOfRange> {
        check(self, SPECS)?;
        specs::check_relations(self)
    }
}

impl TrajectoryConfig {
    /// The waypoints of the general path as points; the shorter list counts.
    pub fn waypoints(&self) -> Vec<Vector2<f64>> {
        points(&self.waypoints_x_m, &self.waypoints_y_m)
    }

    /// The limits of the general path.
    pub fn limits(&self) -> Limits {
        let limit = |value: f64| if value > 0.0 { value } else { f64::INFINITY };
        Limits { speed_m_s: limit(self.max_speed_m_s), yaw_rate_rad_s: limit(self.max_yaw_rate_rad_s) }
    }

    /// Where the frame of the path lies in the map.
    pub fn start(&self) -> Se2 {
        Se2::new(self.start_x_m, self.start_y_m, self.start_yaw_rad)
    }
}

/// Points from their coordinates; the shorter list counts.
pub(super) fn points(x: &[f64], y: &[f64]) -> Vec<Vector2<f64>> {
    x.iter().zip(y).map(|(&x, &y)| Vector2::new(x, y)).collect()
}
