//! A sensor: a measurement on its mount.

use crate::calibration::{Calibration, OF_ONE_KIND};
use crate::checked::CheckedMeasurement;
use crate::config::{AbsoluteConfig, SensorConfig};
use crate::filter::StereoModel;
use crate::input::{Measurement, MeasurementKind};
use crate::measurement::{
    Bearing, Component, Erased, Expected, LandmarkMeasurement, Mount, OfLandmark, OfPose, OfWorld, PoseMeasurement,
    Position, Range, RangeBearing, StereoBearings, Triangulated,
};
use crate::output::DropReason;
use crate::tilt_noise::checked_height;
use lienav_ekf::time_correlated::TimeCorrelatedNoise;
use lienav_lie::Se2;
use nalgebra::{Matrix2, Matrix3, SMatrix, Vector2, Vector3};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A sensor as a program adds it to a filter: what it measures, and where it sits.
///
/// ```
/// use lienav_lie::Se2;
/// use lienav_planar::measurement::RangeBearing;
/// use lienav_planar::sensor::Sensor;
///
/// let lidar = RangeBearing { range_std_m: 0.03, bearing_std_rad: 0.01, min_range_m: 0.1, max_range_m: 25.0, ..RangeBearing::default() };
/// let sensor = Sensor::of_landmarks(lidar, Se2::new(0.2, 0.0, 0.0));
/// assert_eq!(sensor.dim(), 2);
/// ```
#[derive(Clone, Debug)]
pub struct Sensor {
    measurement: Arc<dyn Erased>,
    mount: Se2,
}

/// Equal if they share one measurement object and have equal mounts.
impl PartialEq for Sensor {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.measurement, &other.measurement) && self.mount == other.mount
    }
}

impl Sensor {
    /// A measurement of landmarks, from `mount` in the base frame.
    pub fn of_landmarks<const D: usize>(measurement: impl LandmarkMeasurement<D> + 'static, mount: Se2) -> Self {
        Self { measurement: Arc::new(OfLandmark::new(measurement)), mount }
    }

    /// A measurement of the pose, from `mount` in the base frame.
    pub fn of_pose<const D: usize>(measurement: impl PoseMeasurement<D> + 'static, mount: Se2) -> Self {
        Self { measurement: Arc::new(OfPose::new(measurement)), mount }
    }

    /// How many numbers a measurement has.
    #[inline]
    pub fn dim(&self) -> usize {
        self.measurement.components().len()
    }

    /// What these numbers are.
    #[inline]
    pub fn components(&self) -> &[Component] {
        self.measurement.components()
    }

    /// What a perfect sensor on a base at `robot` reads: an identity, where it has one, and [`Sensor::dim`] numbers.
    /// `landmarks` are identities and positions in the map, m.
    #[inline]
    pub fn simulate(&self, robot: &Se2, landmarks: &[(u32, Vector2<f64>)]) -> Vec<(Option<u32>, Vector3<f64>)> {
        self.measurement.simulate(robot, &self.mount, landmarks)
    }

    /// The covariance of a measurement that states none, in the upper left corner.
    #[inline]
    pub fn noise(&self) -> Matrix3<f64> {
        self.measurement.noise()
    }

    /// The same measurement from another mount in the base frame.
    #[must_use]
    #[inline]
    pub fn moved(self, mount: Se2) -> Self {
        Self { mount, ..self }
    }
}

/// Some of the sensors of a robot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SensorSet([u64; 4]);

impl SensorSet {
    /// Whether it has this one.
    #[inline]
    pub fn has(&self, kind: MeasurementKind) -> bool {
        let (word, bit) = Self::place(kind);
        self.0[word] & bit != 0
    }

    /// Adds one.
    #[inline]
    pub fn insert(&mut self, kind: MeasurementKind) {
        let (word, bit) = Self::place(kind);
        self.0[word] |= bit;
    }

    /// A filter has no more than 256 sensors.
    fn place(kind: MeasurementKind) -> (usize, u64) {
        let index = kind.index();
        (index / 64 % 4, 1 << (index % 64))
    }
}

/// All sensors of a robot: those of [`MeasurementKind`], then those that were added. The state has a [`Mount`] for
/// each, which says where it is, as calibrated.
#[derive(Clone, Debug)]
pub struct Sensors {
    all: Vec<(Arc<dyn Erased>, Se2)>,
    /// The correlation time of the errors of measurements of one landmark, s; 0 for independent errors.
    correlation_s: f64,
    /// How long and how far the errors of each sensor last, where that is learned.
    time_correlated: Vec<TimeCorrelatedNoise>,
    /// How many landmarks have their time-correlated errors in the state.
    slots: usize,
    /// Factors for the standard deviations of each sensor's numbers, where they are learned.
    scales: Vec<Vector3<f64>>,
}

impl Sensors {
    /// Those that [`MeasurementKind`] names, as configured, and `added` behind them.
    #[inline]
    pub fn new(config: &SensorConfig, stereo: StereoModel, added: &[Sensor]) -> Self {
        Self::with_antenna(config, &AbsoluteConfig::default(), stereo, added)
    }

    /// The same, with what measures in the world as configured.
    pub fn with_antenna(
        config: &SensorConfig,
        absolute: &AbsoluteConfig,
        stereo: StereoModel,
        added: &[Sensor],
    ) -> Self {
        let mount = Se2::new(config.x_m, config.y_m, config.yaw_rad);
        let antenna = Se2::new(absolute.x_m, absolute.y_m, absolute.yaw_rad);
        let of_landmarks = built_in(config, stereo).into_iter().map(|measurement| (measurement, mount));
        let built_in = of_landmarks.chain(of_world(absolute).map(|measurement| (measurement, antenna)));
        let added = added.iter().map(|sensor| (sensor.measurement.clone(), sensor.mount));
        Self {
            all: built_in.chain(added).collect(),
            correlation_s: config.correlation_s,
            time_correlated: Vec::new(),
            slots: 0,
            scales: Vec::new(),
        }
    }

    /// How many there are.
    #[inline]
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// Multiplies the variances of all measurements from now on by what was learned of their noise: for each sensor the
    /// factors of its variances, and its time-correlated part.
    pub fn set_noise(&mut self, noise: impl Fn(usize) -> (Vector3<f64>, TimeCorrelatedNoise)) {
        self.scales.clear();
        self.time_correlated.clear();
        for (factors, time_correlated) in (0..self.all.len()).map(noise) {
            self.scales.push(factors.map(f64::sqrt));
            self.time_correlated.push(time_correlated);
        }
    }

    /// Time-correlated errors of so many landmarks are to be in the state.
    #[inline]
    pub fn keep_time_correlated(mut self, slots: usize) -> Self {
        self.slots = slots;
        self
    }

    /// How many landmarks have their time-correlated errors in the state.
    #[inline]
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// What is known of the time-correlated errors of a sensor.
    pub fn time_correlated(&self, sensor: u8) -> TimeCorrelatedNoise {
        self.time_correlated
            .get(usize::from(sensor))
            .copied()
            .unwrap_or_else(|| TimeCorrelatedNoise::stated(self.correlation_s))
    }

    /// Where a sensor sits, without calibration.
    #[inline]
    pub fn nominal(&self, kind: MeasurementKind) -> Option<Se2> {
        self.all.get(kind.index()).map(|(_, mount)| *mount)
    }

    /// As which built-in kind roll and pitch level what this sensor reads, and where it sits; `None` where they do not.
    #[inline]
    pub fn levelled_as(&self, kind: MeasurementKind) -> Option<(MeasurementKind, Se2)> {
        let (measurement, mount) = self.all.get(kind.index())?;
        Some((measurement.levelled_as()?, *mount))
    }

    /// The mounts, with this calibration.
    #[inline]
    pub fn mounts(&self, calibration: &Calibration) -> Vec<Mount> {
        let mut mounts = Vec::with_capacity(self.all.len());
        self.mounts_in(calibration, &mut mounts);
        mounts
    }

    /// The mounts, with this calibration, in the memory of others.
    #[inline]
    pub fn mounts_in(&self, calibration: &Calibration, mounts: &mut Vec<Mount>) {
        mounts.clear();
        mounts.extend(self.all.iter().map(|(_, mount)| Mount::new(*mount, calibration)));
    }

    /// Checks a measurement.
    ///
    /// # Errors
    /// Why it cannot be used: a number that is not finite, a covariance that is not positive semidefinite, numbers
    /// that the measurement refuses.
    pub fn read(&self, kind: MeasurementKind, raw: &Measurement) -> Result<CheckedMeasurement, DropReason> {
        let index = kind.index();
        let (measurement, _) = self.all.get(index).ok_or(DropReason::UnknownSensor)?;
        let (value, mut covariance) = measurement.read(raw)?;
        if let Some(scale) = self.scales.get(index) {
            covariance.component_mul_assign(&(scale * scale.transpose()));
        }
        let (id, label, height_m) = (raw.id, raw.label.checked(), checked_height(raw.height_m)?);
        Ok(CheckedMeasurement { sensor: index as u8, id, value, covariance, label, height_m })
    }

    /// The factor for the covariance of a measurement if the last measurement of the same landmark was `since` seconds
    /// ago.
    ///
    /// Errors with a correlation of ρ = exp(−Δt/T) from one measurement to the next tell exactly as much about what
    /// they have in common as one measurement with their variance σ², and for each that follows an independent one with
    /// σ²(1 + ρ)/(1 − ρ) = σ² coth(Δt/2T).
    pub fn repetition(&self, checked: &CheckedMeasurement, since: f64) -> f64 {
        let time_correlated = self
            .time_correlated
            .get(checked.index())
            .map_or(self.correlation_s, |time_correlated| time_correlated.whole_s);
        if time_correlated <= 0.0 { 1.0 } else { 1.0 / (0.5 * since.max(1e-3) / time_correlated).tanh() }
    }

    /// Whether there is the sensor of this measurement.
    #[inline]
    pub fn has(&self, checked: &CheckedMeasurement) -> bool {
        checked.index() < self.all.len()
    }

    /// Whether there is this sensor, and what it reads is the pose.
    #[inline]
    pub fn reads_pose(&self, kind: MeasurementKind) -> bool {
        self.all.get(kind.index()).is_some_and(|(measurement, _)| measurement.is_of_pose())
    }

    /// Whether a measurement is of the pose, and not of a landmark.
    #[inline]
    pub fn is_of_pose(&self, checked: &CheckedMeasurement) -> bool {
        self.of(checked).is_of_pose()
    }

    /// Whether a measurement is of the pose in the world, and not in the map.
    #[inline]
    pub fn is_of_world(&self, checked: &CheckedMeasurement) -> bool {
        self.of(checked).is_of_world()
    }

    /// How many numbers a measurement has.
    #[inline]
    pub fn dim(&self, checked: &CheckedMeasurement) -> usize {
        self.of(checked).components().len()
    }

    /// What this measurement should have been for a landmark estimated at `z`, with Jacobian and noise at
    /// `linearized_at`; both in the base frame. `None` where the model has no derivative: a landmark on top of the
    /// sensor.
    #[inline]
    pub fn expect(
        &self,
        mounts: &[Mount],
        checked: &CheckedMeasurement,
        z: &Vector2<f64>,
        linearized_at: &Vector2<f64>,
    ) -> Option<Expected> {
        self.of(checked).expect_landmark(&mounts[checked.index()], checked, z, linearized_at)
    }

    /// What a measurement of the pose should have been for a base at `pose`, with the Jacobian at `linearized_at`.
    #[inline]
    pub fn expect_pose(
        &self,
        mounts: &[Mount],
        checked: &CheckedMeasurement,
        pose: &Se2,
        linearized_at: &Se2,
    ) -> Option<Expected> {
        self.of(checked).expect_pose(&mounts[checked.index()], checked, pose, linearized_at)
    }

    /// Where a measurement puts a new landmark, in the base frame, and the covariance of that. `None` where it puts it
    /// nowhere: lines of sight that do not meet within the sensor's range, a measurement that does not say.
    #[inline]
    pub fn place(&self, mounts: &[Mount], checked: &CheckedMeasurement) -> Option<(Vector2<f64>, Matrix2<f64>)> {
        self.of(checked).place(&mounts[checked.index()], checked)
    }

    /// Where the landmark of a measurement may be, in the base frame, and the covariance of each of these places; empty
    /// where one measurement determines it, or no number of them does.
    #[inline]
    pub fn hypotheses(&self, mounts: &[Mount], checked: &CheckedMeasurement) -> Vec<(Vector2<f64>, Matrix2<f64>)> {
        self.of(checked).hypotheses(&mounts[checked.index()], checked)
    }

    /// The probability that a measurement is as its noise says, from its residual and the covariance of that.
    #[inline]
    pub fn trust(&self, checked: &CheckedMeasurement, residual: &Vector3<f64>, covariance: &Matrix3<f64>) -> f64 {
        self.of(checked).trust(residual, covariance)
    }

    /// Whether what is read of a landmark depends on the heading of the base: not of a range from the base's origin.
    #[inline]
    pub fn sees_heading(&self, mounts: &[Mount], checked: &CheckedMeasurement) -> bool {
        let mount = &mounts[checked.index()];
        !matches!(self.of(checked).components(), [Component::Range]) || mount.is_off_centre()
    }

    /// The same of a measurement of one number.
    #[inline]
    pub fn trust_of_one(&self, checked: &CheckedMeasurement, residual: f64, variance: f64) -> f64 {
        let mut covariance = Matrix3::zeros();
        covariance[(0, 0)] = variance;
        self.trust(checked, &Vector3::new(residual, 0.0, 0.0), &covariance)
    }

    /// How the place that [`Sensors::place`] gives depends on the calibration: ∂z/∂c = −(∂h/∂z)⁻¹ ∂h/∂c. `None` where
    /// nothing of the sensor is calibrated, or the model has no inverse.
    pub fn place_by_calibration(
        &self,
        mounts: &[Mount],
        checked: &CheckedMeasurement,
        z: &Vector2<f64>,
    ) -> Option<SMatrix<f64, 2, OF_ONE_KIND>> {
        if self.dim(checked) != 2 {
            return None;
        }
        let expected = self.expect(mounts, checked, z, z)?;
        let by_landmark: Matrix2<f64> = expected.by_landmark.fixed_rows::<2>(0).into_owned();
        let by_calibration = expected.by_calibration?;
        let of_sensor = SMatrix::<f64, 2, OF_ONE_KIND>::from_fn(|row, k| by_calibration.column(k)[row]);
        Some(-by_landmark.try_inverse()? * of_sensor)
    }

    /// Measurements come from [`Sensors::read`], and sensors never go away.
    fn of(&self, checked: &CheckedMeasurement) -> &dyn Erased {
        &*self.all[checked.index()].0
    }
}

/// In the order of [`MeasurementKind::index`].
fn built_in(config: &SensorConfig, stereo: StereoModel) -> [Arc<dyn Erased>; 5] {
    let SensorConfig {
        min_range_m,
        max_range_m,
        baseline_m,
        bearing_std_rad,
        range_std_m,
        range_std_ratio,
        landmark_std_m,
        position_std_m,
        ..
    } = *config;
    let SensorConfig { late_probability, late_max_m, .. } = *config;
    let cameras = StereoBearings { baseline_m, bearing_std_rad, min_range_m, max_range_m };
    [
        Arc::new(OfLandmark::new(Position { std_m: position_std_m, min_range_m, max_range_m })),
        Arc::new(OfLandmark::new(RangeBearing {
            range_std_m,
            bearing_std_rad,
            range_std_ratio,
            landmark_std_m,
            min_range_m,
            max_range_m,
        })),
        match stereo {
            StereoModel::Bearings => Arc::new(OfLandmark::new(cameras)),
            StereoModel::Triangulated(noise_at) => Arc::new(OfLandmark::new(Triangulated { cameras, noise_at })),
        },
        Arc::new(OfLandmark::new(Range { std_m: range_std_m, min_range_m, max_range_m, late_probability, late_max_m })),
        Arc::new(OfLandmark::new(Bearing { std_rad: bearing_std_rad, min_range_m, max_range_m })),
    ]
}

/// The rest.
fn of_world(config: &AbsoluteConfig) -> [Arc<dyn Erased>; 2] {
    let AbsoluteConfig { position_std_m, yaw_std_rad, .. } = *config;
    [Arc::new(OfWorld::<2> { position_std_m, yaw_std_rad }), Arc::new(OfWorld::<3> { position_std_m, yaw_std_rad })]
}
