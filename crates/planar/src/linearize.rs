//! Linearization of a measurement at the state: residual, Jacobians, and the innovation covariance of one match.

use crate::associated::Subject;
use crate::calibration::SensorJacobian;
use crate::chart::{Chart, Charts};
use crate::checked::CheckedMeasurement;
use crate::filter::{Coordinates, Linearization};
use crate::measurement::Expected;
use crate::measurement::value::{fixed, padded};
use crate::propagate::{Rows, along};
use crate::retract::place;
use crate::sensor::Sensors;
use crate::state::{State, additive_from_left, lever};
use lienav_ekf::covariance::{Covariance, POSE};
use lienav_lie::{Se2, skew};
use nalgebra::{ArrayStorage, Matrix2, Matrix2x3, Matrix3, Matrix3x2, SMatrix, Vector2, Vector3};

/// A measurement of a landmark or of the pose, linearized at the state. It has `dim` numbers; rows beyond are zero.
#[derive(Clone, Copy, Debug)]
pub struct Match {
    /// What was measured; a landmark by its index in the state.
    pub subject: Subject<usize>,
    /// The measurement.
    pub measurement: CheckedMeasurement,
    /// How many numbers it has.
    pub dim: usize,
    /// Reading − expectation.
    pub residual: Vector3<f64>,
    /// ∂(reading)/∂(error of the pose). For a landmark it is zero in robot and invariant coordinates, at every
    /// estimate: this is the reduction.
    pub by_pose: Matrix3<f64>,
    /// Whether [`Match::by_pose`] is not zero.
    pub sees_pose: bool,
    /// ∂(reading)/∂(error of the landmark).
    pub by_landmark: Matrix3x2<f64>,
    /// ∂(reading)/∂(calibration of the sensor).
    pub by_calibration: SensorJacobian,
    /// Covariance of the measurement.
    pub noise: Matrix3<f64>,
    /// The factor that `noise` was multiplied by: because the measurement is correlated with the last one, or far from
    /// its prediction.
    pub noise_scale: f64,
    /// How many times as large the covariance of this measurement would have to be, if its time-correlated error were
    /// none, for it to tell as little as it does.
    pub repetition: f64,
    /// The first row of its time-correlated error in the state, if it is there; `noise` is without it then.
    pub time_correlated: Option<usize>,
    /// L, by which that error acts on the measurement.
    pub by_time_correlated: Matrix3x2<f64>,
    /// What is known of the time-correlated error has made the residual smaller by this.
    pub known_time_correlated: Vector3<f64>,
    /// The share of the variance of each number that lasts.
    pub share: [f64; 3],
    /// The landmark in the robot frame, m, as later scans place it: the measurement is linearized there. `None` if no
    /// later scan does.
    pub linearization_point: Option<Vector2<f64>>,
    /// The squared Mahalanobis distance of the residual; `None` for a measurement that passed its gate before.
    pub distance: Option<f64>,
    /// The variance of the prediction beside that of the measurement, tr R⁻¹ H P Hᵀ, as far as it is known before the
    /// gate.
    pub prior: f64,
}

/// A matrix of zeros, also in constants.
const fn zeros<const R: usize, const C: usize>() -> SMatrix<f64, R, C> {
    SMatrix::from_array_storage(ArrayStorage([[0.0; R]; C]))
}

impl Match {
    /// Of no measurement.
    const BLANK: Self = Self {
        subject: Subject::Pose,
        measurement: CheckedMeasurement::BLANK,
        dim: 0,
        residual: zeros(),
        by_pose: zeros(),
        sees_pose: false,
        by_landmark: zeros(),
        by_calibration: SensorJacobian::ZERO,
        noise: zeros(),
        noise_scale: 1.0,
        repetition: 1.0,
        time_correlated: None,
        by_time_correlated: zeros(),
        known_time_correlated: zeros(),
        share: [0.0; 3],
        linearization_point: None,
        distance: None,
        prior: 0.0,
    };

    /// A measurement of `subject`, to be linearized.
    #[inline]
    pub fn new(subject: Subject<usize>, checked: &CheckedMeasurement) -> Self {
        Self { subject, measurement: *checked, ..Self::BLANK }
    }

    /// Adds a measurement of `subject`, to be linearized, to a list. It is written where it stays: to make it first and
    /// move it there costs more than to linearize it.
    pub fn add<'m>(list: &'m mut Vec<Self>, subject: Subject<usize>, checked: &CheckedMeasurement) -> &'m mut Self {
        let at = list.len();
        list.push(Self::BLANK);
        let added = &mut list[at];
        added.subject = subject;
        added.measurement = *checked;
        added
    }

    /// Takes over what does not depend on coordinates.
    fn expect(&mut self, state: &State, expected: &Expected) {
        self.dim = expected.dim;
        self.residual = expected.residual;
        self.noise = expected.noise;
        if let Some(by_calibration) = expected.by_calibration {
            self.by_calibration = by_calibration;
        }
        if self.time_correlated.is_some() {
            self.split(state, self.share);
        }
    }

    /// Takes the [time-correlated part](time_correlated_part) of the covariance, L Lᵀ, out of the noise, and the
    /// estimate of its error out of the residual.
    pub fn split(&mut self, state: &State, share: [f64; 3]) {
        let Some(row) = self.time_correlated else { return };
        let r = time_correlated_part(&self.noise, share);
        let x = r.m11.max(0.0).sqrt();
        let across = if x > 0.0 { r.m21 / x } else { 0.0 };
        self.by_time_correlated = Matrix3x2::new(x, 0.0, across, (r.m22 - across * across).max(0.0).sqrt(), 0.0, 0.0);
        self.known_time_correlated = self.by_time_correlated * state.offsets.value(row);
        self.residual -= self.known_time_correlated;
        self.noise -= r;
        self.share = share;
    }

    /// The covariance of the measurement as it is stated, with what lasts of its error.
    #[inline]
    pub fn stated_noise(&self) -> Matrix3<f64> {
        self.noise / self.noise_scale + self.by_time_correlated * self.by_time_correlated.transpose()
    }

    /// The part of what it states that the measurement tells.
    #[inline]
    pub fn without_state_noise(&self) -> f64 {
        1.0 / self.noise_scale.max(self.repetition).max(1.0)
    }

    /// Makes the covariance `scale` times as large.
    #[inline]
    pub fn scale(&mut self, scale: f64) {
        self.noise *= scale;
        self.noise_scale *= scale;
    }
}

/// The time-correlated part of the covariance R of two numbers, of whose variances the shares S = diag(s, t) are
/// correlated in time.
///
/// With R = D C D, D the standard deviations and C the correlations, the part is D C^½ S C^½ D. It lies between
/// min(s, t) R and max(s, t) R: the part and the rest are positive semidefinite, and in every direction at least the
/// share 1 − max(s, t) of R is white. For uncorrelated numbers the part is S R, for equal shares s R. In between, its
/// covariance has the mean of the shares, and each variance has a share that is nearer to the other one.
///
/// D S^½ C S^½ D has the stated shares of both variances, but where numbers are correlated and the shares differ, it
/// leaves an indefinite rest: two numbers with ρ = 1 have one error, which has one share.
pub fn time_correlated_part(noise: &Matrix3<f64>, [s, t, _]: [f64; 3]) -> Matrix3<f64> {
    let bound = noise.m11 * noise.m22;
    let square = if bound > 0.0 { noise.m21 * noise.m21 / bound } else { 0.0 };
    // C^½ = [[√(1 − m), √m], [√m, √(1 − m)]] with 2 √(m(1 − m)) = ρ.
    let mixed = 0.5 * (1.0 - (1.0 - square).max(0.0).sqrt());
    let own = Vector3::new(s + mixed * (t - s), t + mixed * (s - t), 0.0);
    let root = Matrix3::from_diagonal(&own.map(f64::sqrt));
    let mut part = root * noise * root;
    part.m21 = 0.5 * (s + t) * noise.m21;
    part.m12 = part.m21;
    part
}

/// Linearizes a match at the state, with the covariance that the measurement states. Returns false where the model has
/// no derivative.
pub fn linearize(state: &State, sensors: &Sensors, m: &mut Match, at: Linearization) -> bool {
    if let Subject::Landmark(i) = m.subject
        && state.offsets.rows() > 0
    {
        m.share = sensors.time_correlated(m.measurement.sensor).share;
        m.time_correlated =
            state.offsets.find(state.landmarks[i].id, m.measurement.sensor).filter(|_| m.share != [0.0; 3]);
    }
    match m.subject {
        Subject::Landmark(i) => of_landmark(state, sensors, m, i, at),
        Subject::Pose => of_pose(state, sensors, m, at),
    }
    .is_some()
}

/// World coordinates: dz = R(θ)ᵀ(−I, −J(p_i − p), I) (Shen 2019, below eq. (5.11)), evaluated at the estimate or at
/// first estimates; robot coordinates: dz = (0, 0, I) (below eq. (5.20)); invariant coordinates: dz = (0, 0, R(θ)ᵀ).
fn of_landmark(state: &State, sensors: &Sensors, m: &mut Match, i: usize, at: Linearization) -> Option<()> {
    let z = state.in_robot(i);
    match state.coordinates {
        Coordinates::Robot | Coordinates::Invariant => {
            let expected = sensors.expect(&state.mounts, &m.measurement, &z, &z)?;
            m.expect(state, &expected);
            m.by_landmark = match state.coordinates {
                Coordinates::Invariant => expected.by_landmark * state.pose.rotation().transpose(),
                _ => expected.by_landmark,
            };
            if state.is_frozen {
                of_frozen(m, &state.landmarks[i].x);
                m.noise += noise_of_bend(state, i, &z, &expected);
            }
        }
        Coordinates::World => {
            let (pose, p_landmark) = match at {
                Linearization::Current => (state.pose, state.landmarks[i].x),
                Linearization::FirstEstimate | Linearization::ObservabilityConstrained => {
                    (state.predicted, state.landmarks[i].first)
                }
            };
            let z_linear = pose.transform_back(&p_landmark);
            let expected = sensors.expect(&state.mounts, &m.measurement, &z, &z_linear)?;
            m.expect(state, &expected);
            let (back, turn) = (pose.rotation().transpose(), skew(&z_linear));
            let dz_dpose = Matrix2x3::new(-back[(0, 0)], -back[(0, 1)], -turn.x, -back[(1, 0)], -back[(1, 1)], -turn.y);
            m.by_pose = expected.by_landmark * dz_dpose;
            m.sees_pose = true;
            m.by_landmark = expected.by_landmark * back;
            if state.is_frozen {
                m.noise += noise_of_bend(state, i, &z, &expected);
            }
        }
    }
    Some(())
}

/// A frozen landmark has the error δp_i = e_i + [I, J p_i]ξ, so that a measurement of it sees the pose.
fn of_frozen(m: &mut Match, p: &Vector2<f64>) {
    m.by_pose = -m.by_landmark * lever(p);
    m.sees_pose = true;
}

/// What the error of a frozen landmark does to its measurement to second order. The measurements never make it smaller,
/// so that it matters as often as the robot passes closely: a landmark at distance r that is off by σ across the line
/// of sight and by τ along it is farther by σ²/2r than to first order, and by στ/r across.
fn noise_of_bend(state: &State, i: usize, z: &Vector2<f64>, expected: &Expected) -> Matrix3<f64> {
    let turn = state.pose.rotation() * z.try_normalize(1e-9).unwrap_or_else(Vector2::x);
    let own = state.covariance.landmark_block(i, i);
    let across = skew(&turn);
    let (tau, sigma) = (turn.dot(&(own * turn)), across.dot(&(own * across)));
    let square = z.norm_squared().max(1e-9);
    let along = z / square.sqrt();
    let along = expected.by_landmark * along;
    let across = expected.by_landmark * skew(&(z / square.sqrt()));
    (along * along.transpose() * (0.75 * sigma * sigma) + across * across.transpose() * (sigma * tau)) / square
}

/// With δ(p, θ) the additive error of the pose, dy = H δ(p, θ); in invariant coordinates δp = ξ_p + Jp ξ_θ, δθ = ξ_θ.
fn of_pose(state: &State, sensors: &Sensors, m: &mut Match, at: Linearization) -> Option<()> {
    let linearized_at = match at {
        Linearization::Current => state.pose,
        Linearization::FirstEstimate | Linearization::ObservabilityConstrained => state.predicted,
    };
    let expected = sensors.expect_pose(&state.mounts, &m.measurement, &state.pose, &linearized_at)?;
    m.expect(state, &expected);
    m.sees_pose = true;
    m.by_pose = match state.coordinates {
        Coordinates::World | Coordinates::Robot => expected.by_pose,
        Coordinates::Invariant => expected.by_pose * additive_from_left(&linearized_at.p),
    };
    Some(())
}

/// The estimate that an update would give, computed before the update.
#[derive(Clone, Copy, Debug)]
pub struct Preview {
    /// The estimated noise n of the last motion.
    pub noise: [f64; 3],
    /// The pose, corrected by that noise.
    pub robot: Se2,
    /// The rest of the correction of the pose, ξ − ν.
    pub rest_of_pose: Vector3<f64>,
    /// The charts in which corrections of landmarks are additions.
    pub charts: Charts,
}

/// Linearizes a match again at the estimate of `preview`, with its landmark corrected by `rest`, which is the
/// correction without the effect of the last motion's noise; or at the match's own linearization point, if it has one.
/// Returns false and changes nothing if the model has no derivative there.
///
/// The effect of the motion's noise on a landmark depends on where the landmark is: it is linearized again, too, in
/// `rows`. The residual stays that of the uncorrected estimate, r = (reading − h) + H(rest + G n).
pub fn relinearize(
    state: &State,
    sensors: &Sensors,
    m: &mut Match,
    preview: &Preview,
    rest: &Vector2<f64>,
    rows: &mut Rows,
) -> bool {
    let Subject::Landmark(i) = m.subject else { return relinearize_pose(state, sensors, m, preview, rows) };
    if state.is_frozen {
        return relinearize_frozen(state, sensors, m, preview, (i, rows));
    }
    let landmark = &state.landmarks[i];
    let chart = if landmark.is_mapped { Chart::Cartesian } else { preview.charts.kind };
    let origin = landmark.chart_origin(preview.charts, &state.pose.p);
    let known = m
        .linearization_point
        .and_then(|point| chart.correction(&(landmark.x - origin), &(preview.robot.transform(&point) - origin)));
    let rest = known.as_ref().unwrap_or(rest);
    let (p, derivative) = place(&origin, &landmark.x, rest, chart);
    let z = preview.robot.transform_back(&p);
    let Some(expected) = sensors.expect(&state.mounts, &m.measurement, &z, &z) else { return false };
    let row = state.covariance.row_of(i);
    let mut whole = *rest;
    if !rows.noise.is_empty() {
        rows.relinearize(row, &(p - preview.robot.p), &derivative);
        whole += Vector2::new(along(&rows.noise[row], &preview.noise), along(&rows.noise[row + 1], &preview.noise));
    }
    m.expect(state, &expected);
    m.by_landmark = expected.by_landmark * preview.robot.rotation().transpose() * derivative;
    m.residual += m.by_landmark * whole;
    m.noise *= m.noise_scale;
    true
}

/// The same for a measurement of the pose, at Exp(ξ − ν)Exp(ν)X. The errors of both factors are treated as one vector
/// ξ, as in the update.
fn relinearize_pose(state: &State, sensors: &Sensors, m: &mut Match, preview: &Preview, rows: &Rows) -> bool {
    let pose = Se2::exp(&preview.rest_of_pose) * preview.robot;
    let Some(expected) = sensors.expect_pose(&state.mounts, &m.measurement, &pose, &pose) else { return false };
    m.expect(state, &expected);
    m.by_pose = expected.by_pose * additive_from_left(&pose.p);
    m.residual += m.by_pose * (preview.rest_of_pose + rows.of_pose(&preview.noise));
    m.noise *= m.noise_scale;
    true
}

/// The same for a measurement of a landmark that stays where it is: the pose alone is corrected.
fn relinearize_frozen(
    state: &State,
    sensors: &Sensors,
    m: &mut Match,
    preview: &Preview,
    (i, rows): (usize, &Rows),
) -> bool {
    let pose = Se2::exp(&preview.rest_of_pose) * preview.robot;
    let p = state.landmarks[i].x;
    let z = pose.transform_back(&p);
    let Some(expected) = sensors.expect(&state.mounts, &m.measurement, &z, &z) else { return false };
    m.expect(state, &expected);
    m.by_landmark = expected.by_landmark * pose.rotation().transpose();
    of_frozen(m, &p);
    m.noise += noise_of_bend(state, i, &z, &expected);
    m.residual += m.by_pose * (preview.rest_of_pose + rows.of_pose(&preview.noise));
    m.noise *= m.noise_scale;
    true
}

/// H P Hᵀ + R of one match.
pub fn innovation_covariance(state: &State, m: &Match) -> Matrix3<f64> {
    match m.dim {
        1 => padded(&innovation_of::<1>(state, m)),
        2 => padded(&innovation_of::<2>(state, m)),
        _ => innovation_of::<3>(state, m),
    }
}

/// H_a P H_bᵀ of two matches, of different measurements.
pub fn shared_covariance(state: &State, a: &Match, b: &Match) -> Matrix3<f64> {
    let p = &state.covariance;
    let mut sum = match (a.subject, b.subject) {
        (Subject::Landmark(i), Subject::Landmark(k)) => {
            a.by_landmark * (p.landmark_block(i, k) * b.by_landmark.transpose())
        }
        _ => Matrix3::zeros(),
    };
    if b.sees_pose
        && let Subject::Landmark(i) = a.subject
    {
        sum += a.by_landmark * (p.cross_block(i) * b.by_pose.transpose());
    }
    if a.sees_pose
        && let Subject::Landmark(k) = b.subject
    {
        sum += a.by_pose * (p.cross_block(k).transpose() * b.by_landmark.transpose());
    }
    if a.sees_pose && b.sees_pose {
        sum += a.by_pose * p.pose_block() * b.by_pose.transpose();
    }
    if let Some(row) = b.time_correlated {
        sum += with_rows(state, a, row) * b.by_time_correlated.transpose();
    }
    if let Some(row) = a.time_correlated {
        sum += a.by_time_correlated * with_rows(state, b, row).transpose();
        if let Some(other) = b.time_correlated {
            let shared = Matrix2::from_fn(|i, k| p.get(row + i, other + k));
            sum += a.by_time_correlated * shared * b.by_time_correlated.transpose();
        }
    }
    for (k, column) in state.calibration.sensor() {
        sum += with_calibration(state, a, k) * b.by_calibration.column(column).transpose();
        sum += a.by_calibration.column(column) * with_calibration(state, b, k).transpose();
        for (l, other) in state.calibration.sensor() {
            let shared = p.get(Covariance::calibration_row(k), Covariance::calibration_row(l));
            sum += a.by_calibration.column(column) * b.by_calibration.column(other).transpose() * shared;
        }
    }
    sum
}

/// What the landmark and the pose of a match have in common with calibration parameter `k`.
fn with_calibration(state: &State, m: &Match, k: usize) -> Vector3<f64> {
    let mut with_state = match m.subject {
        Subject::Landmark(i) => m.by_landmark * state.covariance.landmark_calibration(i, k),
        Subject::Pose => Vector3::zeros(),
    };
    if m.sees_pose {
        with_state += m.by_pose * state.covariance.pose_calibration(k);
    }
    with_state
}

/// What the landmark, the pose and the calibration of a match have in common with two rows of time-correlated errors.
fn with_rows(state: &State, m: &Match, row: usize) -> Matrix3x2<f64> {
    let mut with = Matrix3x2::zeros();
    for c in 0..2 {
        let k = row + c - POSE;
        let mut column = with_calibration(state, m, k);
        for (l, parameter) in state.calibration.sensor() {
            column +=
                m.by_calibration.column(parameter) * state.covariance.get(Covariance::calibration_row(l), row + c);
        }
        with.set_column(c, &column);
    }
    with
}

/// The terms of H P Hᵀ that involve the time-correlated error.
fn of_time_correlated(state: &State, m: &Match, row: usize) -> Matrix3<f64> {
    let cross = with_rows(state, m, row) * m.by_time_correlated.transpose();
    let p = &state.covariance;
    let own = Matrix2::from_fn(|i, k| p.get(row + i, row + k));
    cross + cross.transpose() + m.by_time_correlated * own * m.by_time_correlated.transpose()
}

/// [`innovation_covariance`] in the dimension that the measurement has.
fn innovation_of<const D: usize>(state: &State, m: &Match) -> SMatrix<f64, D, D> {
    let p = &state.covariance;
    let by_landmark: SMatrix<f64, D, 2> = fixed(&m.by_landmark);
    let own = match m.subject {
        Subject::Landmark(i) => {
            by_landmark * p.landmark_block(i, i) * by_landmark.transpose() + fixed::<D, D, 3>(&m.noise)
        }
        Subject::Pose => fixed(&m.noise),
    };
    let own = if state.calibration.sensor().next().is_some() {
        own + fixed::<D, D, 3>(&of_calibration(state, m))
    } else {
        own
    };
    let own = match m.time_correlated {
        Some(row) => own + fixed::<D, D, 3>(&of_time_correlated(state, m, row)),
        None => own,
    };
    if !m.sees_pose {
        return own;
    }
    let by_pose: SMatrix<f64, D, 3> = fixed(&m.by_pose);
    let of_pose = by_pose * p.pose_block() * by_pose.transpose();
    let Subject::Landmark(i) = m.subject else { return own + of_pose };
    let cross: SMatrix<f64, D, D> = by_landmark * p.cross_block(i) * by_pose.transpose();
    own + cross + cross.transpose() + of_pose
}

/// The terms of H P Hᵀ that involve calibration.
fn of_calibration(state: &State, m: &Match) -> Matrix3<f64> {
    let (p, h) = (&state.covariance, &m.by_calibration);
    let mut sum = Matrix3::zeros();
    for (k, a) in state.calibration.sensor() {
        let cross = with_calibration(state, m, k) * h.column(a).transpose();
        sum += cross + cross.transpose();
        for (l, b) in state.calibration.sensor() {
            let shared = p.get(Covariance::calibration_row(k), Covariance::calibration_row(l));
            sum += h.column(a) * h.column(b).transpose() * shared;
        }
    }
    sum
}
