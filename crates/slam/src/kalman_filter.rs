//! A filter that a program steps by itself, and whose state it can look at.

mod saved;

use crate::estimator::Estimator;
use lienav_base::stamp::Stamp;
use lienav_ekf::covariance::Covariance;
use lienav_lie::Se2;
use lienav_planar::associated::{Role, Subject};
use lienav_planar::calibration::CalibrationParameter;
use lienav_planar::check::checked_covariance;
use lienav_planar::config::{Config, ConfigError, MapMode};
use lienav_planar::filter::{CompositionError, Filter};
use lienav_planar::input::{MAX_POINTS, Measurement, MeasurementKind, Odometry, TooManySensors};
use lienav_planar::motion::{Increment, increment};
use lienav_planar::output::{Counts, DropReason, Landmark};
use lienav_planar::sensor::Sensor;
use nalgebra::{DMatrix, DVector, Matrix3};
use std::ops::Range;

pub use saved::SavedKalmanFilter;

/// What one or more numbers of the state are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    /// Position, m, and heading, rad, of the base in the map: three numbers.
    Pose,
    /// A parameter of the calibration, in its unit: one number.
    Calibration(CalibrationParameter),
    /// Time-correlated errors of measurements: their number is the length of the block.
    TimeCorrelated,
    /// The position of the landmark with this identity in the map, m: two numbers.
    Landmark(u32),
}

/// What a correction did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Correction {
    /// The normalised innovation squared of all measurements that were used: about as large as `dof`.
    pub nis: f64,
    /// How many numbers those have.
    pub dof: usize,
    /// Measurements that were used.
    pub accepted: usize,
    /// Measurements that initialized a landmark.
    pub added: usize,
    /// Measurements that were left out, by reason.
    pub refused: Counts,
    /// The innovation y − h(x̂) of the measurements that were used, one after the other.
    pub innovation: DVector<f64>,
    /// The joint covariance of that, S = H P Hᵀ + R.
    pub innovation_covariance: DMatrix<f64>,
    /// Of each measurement that was used: its landmark, `None` for a measurement of the pose, and its place in the
    /// innovation.
    pub used: Vec<(Option<u32>, Range<usize>)>,
    /// Of each measurement that was associated: its landmark, `None` for a measurement of the pose, and what the filter
    /// did with it.
    pub associated: Vec<(Option<u32>, Role)>,
}

/// A Kalman filter without a clock, a queue or a search: [`predict`](Self::predict) moves the state along a motion,
/// [`correct`](Self::correct) takes in what a sensor measured then. The steps are those of [`Slam`](crate::Slam); what
/// is left out is what puts messages into order, notices that the robot is lost, and goes back for late messages.
///
/// ```
/// use lienav_slam::{Block, Config, Filter, Increment, KalmanFilter, Measurement, MeasurementKind, Se2};
/// use nalgebra::Matrix3;
///
/// let mut filter = KalmanFilter::new(Filter::named("ekf")?, Config::default())?;
/// let odometry = Increment {
///     motion: Se2::new(1.0, 0.0, 0.1),
///     covariance: Matrix3::from_diagonal_element(1e-4),
///     drift: None,
/// };
/// filter.correct(MeasurementKind::RangeBearing, &[Measurement::new(Some(7), [5.0, 0.2])])?;
/// filter.predict(&odometry, 0.1)?;
/// let seen = filter.correct(MeasurementKind::RangeBearing, &[Measurement::new(Some(7), [4.03, 0.15])])?;
/// assert_eq!((seen.accepted, seen.dof, seen.used), (1, 2, vec![(Some(7), 0..2)]));
///
/// let (mean, covariance) = (filter.mean(), filter.covariance());
/// assert_eq!((mean.len(), covariance.shape()), (5, (5, 5)));
/// assert_eq!(filter.blocks()[1], (Block::Landmark(7), 3..5));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct KalmanFilter {
    estimator: Estimator,
    config: Config,
    /// The time that predictions have taken.
    stamp: Stamp,
}

fn landmark_of(subject: Subject<u32>) -> Option<u32> {
    match subject {
        Subject::Landmark(id) => Some(id),
        Subject::Pose => None,
    }
}

impl KalmanFilter {
    /// At the initial pose of `config`, with an empty map; [`Config::filter`] is not read, no message is delayed or put
    /// into order, and the noise is as stated: none is learned.
    ///
    /// # Errors
    /// A setting out of range, or choices without effect; a map that is known or made in submaps.
    pub fn new(filter: Filter, mut config: Config) -> Result<Self, ConfigError> {
        config.learning.enabled = false;
        filter.check()?;
        config.check_ranges()?;
        if config.map.mode != MapMode::Mapping || config.makes_submaps() {
            return Err(CompositionError(
                "a filter that is stepped by a program makes one map: set map.mode to 'mapping' and map.local_features \
                 to 0, or use Slam",
            )
            .into());
        }
        Ok(Self { estimator: Estimator::new(&config, filter), config, stamp: Stamp::default() })
    }

    /// Adds a sensor. [`KalmanFilter::correct`] takes its measurements with the kind that this returns.
    ///
    /// # Errors
    /// The filter has as many sensors as it can have.
    pub fn add_sensor(&mut self, sensor: Sensor) -> Result<MeasurementKind, TooManySensors> {
        let kind = MeasurementKind::added(self.estimator.added_sensors())?;
        self.estimator.add_sensor(sensor, &self.config);
        Ok(kind)
    }

    /// Moves the state along a motion that took `duration` seconds.
    ///
    /// # Errors
    /// [`DropReason::NotFinite`], [`DropReason::BadCovariance`], or [`DropReason::Absurd`] for a duration that is
    /// negative; nothing is changed then.
    pub fn predict(&mut self, motion: &Increment, duration: f64) -> Result<(), DropReason> {
        let Increment { motion: Se2 { p, theta }, covariance, .. } = motion;
        if !p.iter().chain([theta, &duration]).all(|number| number.is_finite()) {
            return Err(DropReason::NotFinite);
        }
        if duration < 0.0 {
            return Err(DropReason::Absurd);
        }
        let covariance = checked_covariance(covariance)?;
        self.estimator.advance(&Increment { covariance, ..*motion });
        self.stamp = self.stamp + duration;
        Ok(())
    }

    /// Moves the state along a constant twist (m/s, rad/s) for `duration` seconds, with the noise that the settings or
    /// the message state; its stamp is not read.
    ///
    /// # Errors
    /// As [`KalmanFilter::predict`].
    pub fn predict_twist(&mut self, odometry: &Odometry, duration: f64) -> Result<(), DropReason> {
        let Odometry { velocity, yaw_rate, covariance, .. } = odometry;
        if !velocity.iter().chain([yaw_rate, &duration]).all(|number| number.is_finite()) {
            return Err(DropReason::NotFinite);
        }
        covariance.as_ref().map(checked_covariance).transpose()?;
        let discretization = self.estimator.model.filter.discretization();
        let calibration = &self.estimator.state.calibration;
        let motion = increment(odometry, duration, duration, &self.config.motion, discretization, calibration);
        self.predict(&motion, duration)
    }

    /// Takes in what a sensor measured at the pose that the state has now: associate, gate, update, augment, prune.
    ///
    /// # Errors
    /// [`DropReason::UnknownSensor`]: no such sensor was added. [`DropReason::TooManyPoints`]: a raw scan. Nothing is
    /// changed then. [`DropReason::InvalidCovariance`]: the covariance is invalid, and the filter is of no use any
    /// more.
    pub fn correct(&mut self, kind: MeasurementKind, measurements: &[Measurement]) -> Result<Correction, DropReason> {
        if matches!(kind, MeasurementKind::Added(k) if usize::from(k) >= self.estimator.added_sensors()) {
            return Err(DropReason::UnknownSensor);
        }
        if measurements.len() > MAX_POINTS {
            return Err(DropReason::TooManyPoints);
        }
        let outcome = self.estimator.correct(self.stamp, kind, measurements);
        if !self.estimator.state.is_valid() {
            return Err(DropReason::InvalidCovariance);
        }
        let (nis, dof, accepted, added) = (outcome.nis, outcome.dof, outcome.accepted, outcome.added);
        let mut correction =
            Correction { nis, dof, accepted, added, refused: outcome.refused, ..Correction::default() };
        let associated = self.estimator.measurements().iter();
        correction.associated = associated.map(|one| (landmark_of(one.subject), one.role)).collect();
        if accepted > 0 {
            self.note_innovation(&mut correction);
        }
        Ok(correction)
    }

    /// Notes the innovation of the last update and its covariance S = L Lᵀ.
    fn note_innovation(&self, correction: &mut Correction) {
        let (matches, factor, m) = self.estimator.last_update();
        let lower = DMatrix::from_fn(m, m, |row, column| if column <= row { factor[row * m + column] } else { 0.0 });
        correction.innovation_covariance = &lower * lower.transpose();
        correction.innovation = DVector::from_iterator(
            m,
            matches.iter().flat_map(|matched| matched.residual.iter().take(matched.dim).copied()),
        );
        let mut next = 0;
        for matched in matches {
            let landmark = landmark_of(self.estimator.state.identity(matched.subject));
            correction.used.push((landmark, next..next + matched.dim));
            next += matched.dim;
        }
    }

    /// The seconds that predictions have taken.
    pub fn time(&self) -> f64 {
        self.stamp.secs()
    }

    /// The pose with its covariance in the map.
    pub fn pose(&self) -> (Se2, Matrix3<f64>) {
        self.estimator.state.carried(self.estimator.pending())
    }

    /// The landmarks, with the covariance of each in the map.
    pub fn landmarks(&self) -> impl Iterator<Item = Landmark> + '_ {
        // A motion moves no landmark in the map.
        let state = &self.estimator.state;
        let is_landmark = |i: &usize| !state.landmarks[*i].is_anchor_point;
        (0..state.landmarks.len()).filter(is_landmark).map(|i| state.landmark(i))
    }

    /// What the numbers of [`mean`](Self::mean) and the rows of [`covariance`](Self::covariance) are.
    pub fn blocks(&self) -> Vec<(Block, Range<usize>)> {
        let state = &self.estimator.state;
        let mut blocks = vec![(Block::Pose, 0..3)];
        for (k, parameter) in state.calibration.active().iter().enumerate() {
            let row = Covariance::calibration_row(k);
            blocks.push((Block::Calibration(*parameter), row..row + 1));
        }
        let (behind, first) = (3 + state.calibration.active().len(), state.covariance.row_of(0));
        if behind < first {
            blocks.push((Block::TimeCorrelated, behind..first));
        }
        for (i, landmark) in state.landmarks.iter().enumerate() {
            let row = state.covariance.row_of(i);
            blocks.push((Block::Landmark(landmark.id), row..row + 2));
        }
        blocks
    }

    /// The estimate: pose, calibration, time-correlated errors, and the landmarks in the map.
    pub fn mean(&self) -> DVector<f64> {
        let state = &*self.estimator.settled();
        let mut mean = DVector::zeros(state.covariance.dim());
        mean.rows_mut(0, 2).copy_from(&state.pose.p);
        mean[2] = state.pose.theta;
        for (k, parameter) in state.calibration.active().iter().enumerate() {
            mean[Covariance::calibration_row(k)] = state.calibration.get(*parameter);
        }
        let behind = 3 + state.calibration.active().len();
        for (row, value) in (behind..state.covariance.row_of(0)).zip(state.offsets.values()) {
            mean[row] = value;
        }
        for i in 0..state.landmarks.len() {
            mean.rows_mut(state.covariance.row_of(i), 2).copy_from(&state.in_map(i));
        }
        mean
    }

    /// The joint covariance of the errors of [`mean`](Self::mean), whatever errors the filter itself has: P' = T P Tᵀ
    /// with T the derivative of (δp, δθ, δp_i) by the errors of the filter.
    pub fn covariance(&self) -> DMatrix<f64> {
        let state = &*self.estimator.settled();
        let (own, n) = (state.covariance.to_matrix(), state.covariance.dim());
        let mut to_map = DMatrix::identity(n, n);
        to_map.view_mut((0, 0), (3, 3)).copy_from(&state.pose_error());
        for i in 0..state.landmarks.len() {
            let row = state.covariance.row_of(i);
            let (by_pose, by_landmark) = state.position_error(i);
            to_map.view_mut((row, 0), (2, 3)).copy_from(&by_pose);
            to_map.view_mut((row, row), (2, 2)).copy_from(&by_landmark);
        }
        let joint = &to_map * own * to_map.transpose();
        (&joint + joint.transpose()) * 0.5
    }
}
