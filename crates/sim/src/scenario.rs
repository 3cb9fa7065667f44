//! What is simulated: a struct that is read from YAML, in groups, with the circle of the thesis as its default.

use super::measurement_noise::NoiseConfig;
use super::trajectory::{Limits, SplineError};
use lienav_base::settings::{Described, OutOfRange, Spec};
use lienav_base::{settings, words};
use lienav_lie::Se2;
use lienav_slam::{MeasurementKind, NoiseUnit, WorldFrame};
use nalgebra::Vector2;
use std::f64::consts::TAU;
use std::ops::RangeInclusive;

/// Every setting of [`Scenario`], in the order of its fields. None may change while running.
pub const SPECS: &[Spec] = Scenario::SPECS;

const LENGTH: RangeInclusive<f64> = 1e-3..=1e5;
const DISTANCE: RangeInclusive<f64> = 0.0..=1e5;
const COORDINATE: RangeInclusive<f64> = -1e6..=1e6;
const OFFSET: RangeInclusive<f64> = -100.0..=100.0;
const ANGLE: RangeInclusive<f64> = -TAU..=TAU;
const SECONDS: RangeInclusive<f64> = 1e-3..=1e6;
const RATE: RangeInclusive<f64> = 1e-3..=1e4;
const STD: RangeInclusive<f64> = 0.0..=100.0;

settings! {
    /// Everything that can be set about a simulation. Serialised, its dotted names are those of [`SPECS`]. The default
    /// is the circle of Shen 2019, section 5.5.2, at 10 Hz, with low feature density and Q_z = 10⁻⁴, but for the
    /// filters' limit of range, `thesis_range_factor`.
    pub struct Scenario {
        /// What the scenario is called in reports.
        name: String = "thesis-circle-10hz-low-q1".into();
        /// All random numbers come from this.
        ///
        /// Below 2⁵³, so that it survives any text format.
        seed: u64 = 1, within 0.0..=9_007_199_254_740_991.0;
        /// Whether the true pose is the trajectory, or its Euler sum.
        truth: TruthModel = TruthModel::Exact, one_of TruthModel::WORDS;
        /// Where the robot goes.
        trajectory: TrajectoryConfig;
        /// Where the features are.
        world: WorldConfig;
        /// Wheels.
        odometry: OdometryConfig;
        /// The feature sensor.
        sensor: FeatureSensorConfig;
        /// A second sensor, which measures ranges alone.
        ranges: SingleSensorConfig;
        /// A third one, which measures bearings alone.
        bearings: SingleSensorConfig;
        /// What measures the pose from outside.
        outside: OutsideConfig;
        /// Gyroscope and accelerometer.
        imu: ImuConfig;
        /// Noise that no filter is told of.
        noise: NoiseConfig;
        /// How wrong the filter is about its start.
        initial: InitialErrorConfig;
        /// The filter drops features not seen for this long, s; 0 keeps them.
        forget_after_s: f64 = 2.0, within 0.0..=1e9, unit "s";
        /// Limit of range of filters thesis-…, as a multiple of the sensor's; of all others it is 1.5.
        ///
        /// 1 in the scenes of the thesis, which ignores features farther than 5 m (Shen 2019, section 5.5); 1.5 for
        /// 7.5 m.
        thesis_range_factor: f64 = 1.5, within 1.0..=100.0;
    }
}

words! {
    /// How the true pose follows from the trajectory.
    pub enum TruthModel {
        /// It is the trajectory: a solution of Shen 2019, eq. (5.3).
        Exact = "exact",
        /// Forward Euler steps of the odometry's period with the trajectory's twist at their start (Shen 2019, eq.
        /// (5.9)).
        Euler = "euler",
    }
}

words! {
    /// The shape of a trajectory.
    pub enum PathKind {
        /// Straight ahead: `length_m`, `speed_m_s`.
        Line = "line",
        /// Counterclockwise: `radius_m`, `lap_s`, `laps`.
        Circle = "circle",
        /// A constant twist: `speed_m_s`, `yaw_rate_rad_s`, `duration_s`.
        Arc = "arc",
        /// Not moving: `duration_s`.
        Static = "static",
        /// A natural cubic spline: waypoints, `knot_interval_s`, limits.
        General = "general",
    }
}

settings! {
    /// Where the robot goes. Fields that the path does not use are ignored.
    pub struct TrajectoryConfig {
        /// The shape of the trajectory.
        path: PathKind = PathKind::Circle, one_of PathKind::WORDS;
        /// Where the frame of the path lies in the map, m.
        ///
        /// Line, circle and arc start at its origin along its x axis.
        start_x_m: f64 = 0.0, within COORDINATE, unit "m";
        /// Where the frame of the path lies in the map, m.
        start_y_m: f64 = 0.0, within COORDINATE, unit "m";
        /// How the frame of the path is turned against the map, rad.
        start_yaw_rad: f64 = 0.0, within ANGLE, unit "rad";
        /// Speed of line and arc, m/s.
        speed_m_s: f64 = 1.0, within 1e-3..=100.0, unit "m/s";
        /// Yaw rate of the arc, rad/s.
        yaw_rate_rad_s: f64 = 0.1, within -50.0..=50.0, unit "rad/s";
        /// Duration of arc and standstill, s.
        duration_s: f64 = 60.0, within SECONDS, unit "s";
        /// Length of the line, m.
        length_m: f64 = 60.0, within LENGTH, unit "m";
        /// Radius of the circle, m.
        radius_m: f64 = 10.0, within LENGTH, unit "m";
        /// Duration of a lap of the circle, s.
        lap_s: f64 = 40.0, within SECONDS, unit "s";
        /// Laps of the circle.
        ///
        /// They need not be whole.
        laps: f64 = 1.0, within 1e-3..=1e5;
        /// Waypoints of the general path, m.
        waypoints_x_m: Vec<f64> = GENERAL_X_M.to_vec(), unit "m";
        /// Waypoints of the general path, m.
        waypoints_y_m: Vec<f64> = GENERAL_Y_M.to_vec(), unit "m";
        /// Time from one waypoint to the next, where nothing limits it, s.
        knot_interval_s: f64 = 5.0, within SECONDS, unit "s";
        /// Limit of the speed on the general path, m/s; 0 for none.
        max_speed_m_s: f64 = 0.0, within STD, unit "m/s";
        /// Limit of the yaw rate on the general path, rad/s; 0 for none.
        max_yaw_rate_rad_s: f64 = 0.0, within STD, unit "rad/s";
    }
}

words! {
    /// How features are laid out.
    pub enum WorldKind {
        /// Uniformly at random beside the path: `density_per_m2`, `margin_m`, `clearance_m`.
        Scattered = "scattered",
        /// At equal angles on a circle: `ring_…`.
        Ring = "ring",
        /// Where `features_x_m` and `features_y_m` say.
        Listed = "listed",
        /// In rows and columns: `grid_…`.
        Grid = "grid",
    }
}

settings! {
    /// Where the features are, in the frame of the path. Fields that the layout does not use are ignored.
    pub struct WorldConfig {
        /// How the features are laid out.
        layout: WorldKind = WorldKind::Scattered, one_of WorldKind::WORDS;
        /// Scattered features for each square metre.
        density_per_m2: f64 = thesis_density(PathKind::Circle, false), within 0.0..=1e3, unit "1/m^2";
        /// Scattered features lie at most this far from the path, m.
        margin_m: f64 = 5.0, within 0.01..=1e3, unit "m";
        /// Scattered features lie at least this far from the path, m.
        clearance_m: f64 = 0.0, within 0.0..=1e3, unit "m";
        /// Features on the ring.
        ring_count: u32 = 15, within 0.0..=1e5;
        /// Radius of the ring, m.
        ring_radius_m: f64 = 10.0, within LENGTH, unit "m";
        /// Centre of the ring, m.
        ring_x_m: f64 = 0.0, within COORDINATE, unit "m";
        /// Centre of the ring, m.
        ring_y_m: f64 = 0.0, within COORDINATE, unit "m";
        /// Listed features, m.
        features_x_m: Vec<f64> = Vec::new(), unit "m";
        /// Listed features, m.
        features_y_m: Vec<f64> = Vec::new(), unit "m";
        /// Classes of the listed features, whole numbers from 1; an empty list for none.
        features_class: Vec<f64> = Vec::new();
        /// Features of each row of the grid, along x.
        grid_columns: u32 = 40, within 0.0..=1e5;
        /// Rows of the grid, one beside the other along y.
        grid_rows: u32 = 25, within 0.0..=1e5;
        /// Distance between features of a row, m.
        grid_step_m: f64 = 3.0, within LENGTH, unit "m";
        /// Distance between rows, m.
        grid_spacing_m: f64 = 3.0, within LENGTH, unit "m";
        /// Features of the grid are off their places by at most this in either coordinate, m.
        grid_jitter_m: f64 = 0.0, within DISTANCE, unit "m";
        /// The first feature of the first row, m.
        grid_x_m: f64 = 0.0, within COORDINATE, unit "m";
        /// The first feature of the first row, m.
        grid_y_m: f64 = 0.0, within COORDINATE, unit "m";
    }
}

words! {
    /// What motion the velocities of an odometry sample stand for, from the sample before (X) to this one (X′), Δt
    /// later.
    pub enum TwistUnit {
        /// X′ = X Exp(Δt ξ): the twist ξ is kept throughout, as wheels that run evenly would have it.
        Exponential = "exponential",
        /// X′ is a forward Euler step from X (Shen 2019, eq. (5.9)).
        Euler = "euler",
        /// The true twist at the instant of the sample, whatever went before: exact for constant twists only.
        Instant = "instant",
    }
}

settings! {
    /// Wheels: velocity and yaw rate in the base frame.
    pub struct OdometryConfig {
        /// Odometry samples a second.
        rate_hz: f64 = 10.0, within RATE, unit "Hz";
        /// Whether a sample stands for a constant twist, for an Euler step, or for its instant alone.
        twist: TwistUnit = TwistUnit::Exponential, one_of TwistUnit::WORDS;
        /// Noise of the forward velocity, m/s (or m/sqrt(s), see odometry.noise).
        ///
        /// Root of Q_v of Shen 2019, section 5.5.
        velocity_x_std: f64 = 0.1, within STD, unit "m/s";
        /// Noise of the leftward velocity; same unit.
        velocity_y_std: f64 = 0.1, within STD, unit "m/s";
        /// Noise of the yaw rate, rad/s (or rad/sqrt(s)).
        ///
        /// Root of Q_w of Shen 2019, section 5.5.
        yaw_rate_std: f64 = 0.1, within STD, unit "rad/s";
        /// Whether these three are of one sample or the root of a spectral density.
        noise: NoiseUnit = NoiseUnit::SpectralDensity, one_of NoiseUnit::WORDS;
        /// Noise of the distance that grows with it, for the root of a metre travelled, m/sqrt(m); variances add.
        ///
        /// The settings of a filter have no such noise; `odometry.report_covariance` tells it.
        travel_std: f64 = 0.0, within STD;
        /// Noise of the heading for the root of a metre travelled, rad/sqrt(m); likewise.
        travel_yaw_std: f64 = 0.0, within STD;
        /// Measured velocities are the true ones times this.
        velocity_scale: f64 = 1.0, within 0.01..=100.0;
        /// The measured yaw rate is the true one times this.
        yaw_rate_scale: f64 = 1.0, within 0.01..=100.0;
        /// Offset of the measured yaw rate, rad/s.
        yaw_rate_bias_rad_s: f64 = 0.0, within -10.0..=10.0, unit "rad/s";
        /// Whether each sample carries its covariance.
        ///
        /// Otherwise the filter's settings must know it.
        report_covariance: bool = false;
    }
}

settings! {
    /// The feature sensor.
    pub struct FeatureSensorConfig {
        /// What the feature sensor measures.
        kind: MeasurementKind = MeasurementKind::StereoBearings, one_of MeasurementKind::WORDS;
        /// Scans of features a second; no more than odometry samples.
        rate_hz: f64 = 10.0, within RATE, unit "Hz";
        /// When the first scan of features falls due, s.
        ///
        /// At 0 the heading is as exact as the start; one step later it has the noise of that step, and so has the
        /// whole map.
        first_s: f64 = 0.0, within 0.0..=1e6, unit "s";
        /// Position of the sensor in the base frame, forward, m.
        x_m: f64 = 0.0, within OFFSET, unit "m";
        /// Position of the sensor in the base frame, left, m.
        y_m: f64 = 0.0, within OFFSET, unit "m";
        /// Heading of the sensor in the base frame, rad.
        yaw_rad: f64 = 0.0, within ANGLE, unit "rad";
        /// Distance between the cameras of a stereo pair, m.
        ///
        /// They sit at (0, ±baseline/2) in the sensor frame.
        baseline_m: f64 = 0.5, within 1e-3..=10.0, unit "m";
        /// Full angle of view, of each camera of a pair, rad.
        ///
        /// It is centred on the sensor's x axis; 2π sees all round.
        field_of_view_rad: f64 = TAU / 3.0, within 1e-3..=TAU, unit "rad";
        /// Features nearer to the sensor than this are not seen, m.
        min_range_m: f64 = 0.0, within DISTANCE, unit "m";
        /// Features farther from the sensor than this are not seen, m.
        max_range_m: f64 = 5.0, within DISTANCE, unit "m";
        /// Noise of either coordinate of a relative position, m.
        position_std_m: f64 = 0.1, within STD, unit "m";
        /// Noise of a range, m.
        range_std_m: f64 = 0.05, within STD, unit "m";
        /// Noise of a bearing, also of each camera of a pair, rad.
        ///
        /// Root of Q_z of Shen 2019, section 5.5.
        bearing_std_rad: f64 = 0.01, within STD, unit "rad";
        /// Probability that a range alone is too long, because something stands in the line of sight.
        late_probability: f64 = 0.0, within 0.0..=1.0;
        /// By how much it is then too long at least, m.
        late_min_m: f64 = 1.0, within DISTANCE, unit "m";
        /// By how much it is then too long at most, m.
        late_max_m: f64 = 5.0, within DISTANCE, unit "m";
        /// Offset of measured ranges, m.
        range_bias_m: f64 = 0.0, within OFFSET, unit "m";
        /// Offset of measured bearings, rad.
        bearing_bias_rad: f64 = 0.0, within ANGLE, unit "rad";
        /// Probability that a measurement is of a random place.
        misread_probability: f64 = 0.0, within 0.0..=1.0;
        /// Probability that a feature in view is seen.
        detection_probability: f64 = 1.0, within 0.0..=1.0;
        /// False measurements for each feature in view, on average, at random places in view.
        ///
        /// A sensor that says which feature it sees does not report them.
        clutter: f64 = 0.0, within 0.0..=1e3;
        /// Whether measurements say of which class a feature is.
        classified: bool = false;
        /// Probability that a measurement says another class than the right one.
        class_confusion: f64 = 0.0, within 0.0..=1.0;
        /// Whether measurements say which feature they are of.
        identified: bool = true;
    }
}

settings! {
    /// A sensor that measures one number of the features, and says which ones they are.
    pub struct SingleSensorConfig {
        /// Scans a second; 0 for none.
        rate_hz: f64 = 0.0, within 0.0..=1e4, unit "Hz";
        /// Noise of a range, m, or of a bearing, rad.
        std: f64 = 0.1, within STD;
        /// Features farther than this are not seen, m.
        max_range_m: f64 = 10.0, within DISTANCE, unit "m";
        /// Of so many features it sees the last one: 1 for all.
        every: u32 = 1, within 1.0..=1e5;
        /// Whether only this sensor sees these features.
        alone: bool = false;
    }
}

settings! {
    /// What measures the pose from outside: a satellite receiver, or a motion capture.
    pub struct OutsideConfig {
        /// Measurements a second; 0 for none.
        rate_hz: f64 = 0.0, within 0.0..=1e4, unit "Hz";
        /// Position of the antenna in the base frame, forward, m.
        x_m: f64 = 0.0, within OFFSET, unit "m";
        /// Position of the antenna in the base frame, left, m.
        y_m: f64 = 0.0, within OFFSET, unit "m";
        /// Noise of either coordinate, fresh with each measurement, m.
        std_m: f64 = 0.1, within STD, unit "m";
        /// Noise of the heading, rad; 0 for a receiver that has none.
        yaw_std_rad: f64 = 0.0, within STD, unit "rad";
        /// The part of the error that lasts (first-order Gauss–Markov), m.
        error_std_m: f64 = 0.0, within STD, unit "m";
        /// Correlation time of that part, s.
        error_time_s: f64 = 20.0, within SECONDS, unit "s";
        /// When measurements fail to come, s.
        outage_start_s: f64 = 0.0, within 0.0..=1e6, unit "s";
        /// For how long, s.
        outage_s: f64 = 0.0, within 0.0..=1e6, unit "s";
        /// How much later than measured a measurement is stamped, s.
        delay_s: f64 = 0.0, within 0.0..=5.0, unit "s";
        /// Whether the filter takes the map's frame for the world's, or estimates where the map lies there.
        frame: WorldFrame = WorldFrame::Map, one_of WorldFrame::WORDS;
        /// The map's origin in the world, m.
        world_x_m: f64 = 0.0, within COORDINATE, unit "m";
        /// The map's origin in the world, m.
        world_y_m: f64 = 0.0, within COORDINATE, unit "m";
        /// The heading of the map's x axis in the world, rad.
        world_yaw_rad: f64 = 0.0, within ANGLE, unit "rad";
    }
}

settings! {
    /// Gyroscope and accelerometer of a robot on level ground.
    pub struct ImuConfig {
        /// Inertial measurements a second, no more than odometry samples; 0 for none.
        rate_hz: f64 = 0.0, within 0.0..=1e4, unit "Hz";
        /// Noise of a yaw rate of the gyroscope, rad/s.
        gyro_std_rad_s: f64 = 0.0, within STD, unit "rad/s";
        /// Offset of the gyroscope, rad/s.
        gyro_bias_rad_s: f64 = 0.0, within -10.0..=10.0, unit "rad/s";
        /// Noise of either component of the acceleration, m/s^2.
        accel_std_m_s2: f64 = 0.0, within STD, unit "m/s^2";
        /// Offset of the forward acceleration, m/s^2.
        accel_bias_x_m_s2: f64 = 0.0, within OFFSET, unit "m/s^2";
        /// Offset of the leftward acceleration, m/s^2.
        accel_bias_y_m_s2: f64 = 0.0, within OFFSET, unit "m/s^2";
    }
}

settings! {
    /// How wrong the filter is about its start: the initial pose it is told is the true one plus a draw from this.
    pub struct InitialErrorConfig {
        /// Standard deviation of either coordinate the filter starts with, m.
        position_std_m: f64 = 0.0, within STD, unit "m";
        /// Standard deviation of the heading the filter starts with, rad.
        yaw_std_rad: f64 = 0.0, within STD, unit "rad";
    }
}

/// A scenario that cannot be simulated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ScenarioError {
    /// A value outside its range.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// Waypoints that make no path.
    #[error("parameters 'trajectory.waypoints_x_m' and 'trajectory.waypoints_y_m': {0}")]
    Waypoints(#[from] SplineError),
    /// Text that is no track.
    #[error("not a track of cones: {0}")]
    Track(String),
    /// Text that is no scenario.
    #[error("not a scenario: {0}")]
    Yaml(String),
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

/// The waypoints of the general path, m: our choice, since Shen 2019 does not give its own. A loop of 33 m × 32 m and
/// 121 m length that almost closes, with two hairpins.
pub(super) const GENERAL_X_M: [f64; 13] = [0.0, 9.0, 18.0, 27.0, 29.0, 21.0, 27.0, 22.0, 13.0, 9.0, 2.0, -3.0, -1.0];

pub(super) const GENERAL_Y_M: [f64; 13] = [0.0, -1.0, 0.0, -2.0, 8.0, 12.0, 20.0, 29.0, 25.0, 16.0, 22.0, 12.0, 3.0];

/// Density of a thesis scene, 1/m². With 24.94 m² in the common view of both cameras, line and circle have on average
/// 22.4 and 44.9 features in view ("approximately 20" and "40"), the general path 24.9 and 49.9 ("25" and "50").
pub(super) fn thesis_density(path: PathKind, high: bool) -> f64 {
    let low = if path == PathKind::General { 1.0 } else { 0.9 };
    if high { 2.0 * low } else { low }
}
