//! Propagation: moving the state along the odometry.

use crate::filter::{Coordinates, Filter, Linearization};
use crate::linearized::LinearizedStep;
use crate::motion::{Drift, Increment, LandmarkMotion};
use crate::state::State;
use lienav_ekf::covariance::{Covariance, factor3};
use lienav_lie::skew;
use nalgebra::{Matrix2, Matrix2x3, Matrix3, Vector2, Vector3};

/// The product of a row of three with the noise of a motion.
#[inline]
pub fn along(row: &[f64; 3], noise: &[f64; 3]) -> f64 {
    row[0] * noise[0] + row[1] * noise[1] + row[2] * noise[2]
}

/// The effect of the last motion's noise on the errors, with buffers that keep their allocations.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// G L: the effect of the noise (δt, δa) of the last motion, Q = L Lᵀ, on every error; one row for each row of the
    /// state.
    pub noise: Vec<[f64; 3]>,
    /// diag(R(θ), 1)L: (R(θ)δt, δa) is this times n. Seen from the robot at p⁺, a landmark at p moves by −R(θ)δt −
    /// J(p − p⁺)δa.
    motion: [[f64; 3]; 3],
    /// The change that [`Rows::relinearize`] made to `noise`.
    change: Vec<[f64; 3]>,
    /// The rows that it changed.
    changed: Vec<usize>,
    /// A buffer of [`Rows::apply`].
    middle: Vec<[f64; 3]>,
    /// G itself; empty if nothing is calibrated.
    effect: Vec<[f64; 3]>,
    /// The term from the correlation with the calibration, row by row.
    spread: Vec<[f64; 3]>,
    /// What is linearized, where somebody asks for it.
    pub record: Option<Box<LinearizedStep>>,
}

impl Rows {
    /// Fills [`Rows::noise`] for `state`, which has not moved by `increment` yet.
    pub fn note_noise(&mut self, state: &State, increment: &Increment, filter: &Filter) {
        self.noise.clear();
        if filter.coordinates() != Coordinates::World {
            let root = factor3(&increment.covariance);
            noise_rows(state, increment, filter, |row| {
                let along = |k| row[0] * root[(0, k)] + row[1] * root[(1, k)] + row[2] * root[(2, k)];
                self.noise.push([0, 1, 2].map(along));
            });
            let (s, c) = state.pose.theta.sin_cos();
            let shift = |a: f64, b: f64| [0, 1, 2].map(|k| a * root[(0, k)] + b * root[(1, k)]);
            self.motion = [shift(c, -s), shift(s, c), [0, 1, 2].map(|k| root[(2, k)])];
        }
    }

    /// ν, the effect of the noise n on the pose; zero if there was no motion.
    #[inline]
    pub fn of_pose(&self, noise: &[f64; 3]) -> Vector3<f64> {
        Vector3::from([0, 1, 2].map(|row| self.noise.get(row).map_or(0.0, |row| along(row, noise))))
    }

    /// How far what is `lever` away moves by one standard deviation of the last motion's turn, m.
    #[inline]
    pub fn turn_about(&self, lever: f64) -> f64 {
        if self.noise.is_empty() { 0.0 } else { lever * Vector3::from(self.motion[2]).norm() }
    }

    /// A landmark was appended whose error depends on that of the pose as `by_pose` says.
    pub fn add_landmark(&mut self, by_pose: &Matrix2x3<f64>) {
        let [Some(x), Some(y), Some(turn)] = [0, 1, 2].map(|row| self.noise.get(row).copied()) else { return };
        for row in by_pose.row_iter() {
            self.noise.push([0, 1, 2].map(|k| row[0] * x[k] + row[1] * y[k] + row[2] * turn[k]));
        }
    }

    /// Prepares calls of [`Rows::relinearize`], which [`Rows::apply`] concludes.
    #[inline]
    pub fn begin(&mut self) {
        self.change.clear();
        self.change.resize(self.noise.len(), [0.0; 3]);
        self.changed.clear();
    }

    /// Computes again the effect of the last motion's noise on the landmark whose rows begin at `row`. The landmark is
    /// `lever` away from the robot, and its error e moves it by `derivative`·e; both in the axes of the map.
    pub fn relinearize(&mut self, row: usize, lever: &Vector2<f64>, derivative: &Matrix2<f64>) {
        let Some(inverse) = derivative.try_inverse() else { return };
        let turned = skew(lever);
        self.changed.extend([row, row + 1]);
        for k in 0..3 {
            let shift = Vector2::new(self.motion[0][k], self.motion[1][k]);
            let e = -(inverse * (shift + turned * self.motion[2][k]));
            for (row, value) in (row..).zip([e.x, e.y]) {
                self.change[row][k] = value - self.noise[row][k];
                self.noise[row][k] = value;
            }
        }
    }

    /// Replaces the covariance by that which propagation would have given with the new rows: P + G'G'ᵀ − GGᵀ = P +
    /// CM + MᵀCᵀ with the change C = G' − G and the mean M of both.
    #[inline]
    pub fn apply(&mut self, covariance: &mut Covariance) {
        self.middle.clear();
        self.middle.extend(self.noise.iter().zip(&self.change).map(|(g, d)| [0, 1, 2].map(|k| g[k] - 0.5 * d[k])));
        covariance.add_symmetric3_in(&self.changed, &self.change, &self.middle);
    }
}

/// Moves the state by an increment: pose p⁺ = p + R(θ)t, θ⁺ = θ + a with transition (5.11) and, in robot coordinates,
/// landmarks z⁺ = A z − b with transition (5.20). In invariant coordinates the transition is the identity.
pub fn propagate(state: &mut State, increment: &Increment, filter: &Filter, rows: &mut Rows) {
    let linearized_at = match filter.linearization() {
        Linearization::Current => state.pose.p,
        Linearization::FirstEstimate => state.predicted.p,
        Linearization::ObservabilityConstrained => state.predicted.p + shift_landmarks(state),
    };
    let (transition, noise) = increment.pose_jacobians(&state.pose, &linearized_at);
    rows.effect.clear();
    if increment.drift.is_some() {
        noise_rows(state, increment, filter, |row| rows.effect.push(row));
    }
    rows.note_noise(state, increment, filter);
    if let Some(record) = &mut rows.record {
        record.note_motion(&transition, &increment.motion, filter);
    }
    match filter.coordinates() {
        Coordinates::World => {
            state.covariance.move_pose(&transition, &(noise * increment.covariance * noise.transpose()));
        }
        Coordinates::Robot => {
            let map = LandmarkMotion::new(&increment.motion, filter.discretization());
            for landmark in &mut state.landmarks {
                landmark.x = map.apply(&landmark.x);
            }
            state.covariance.move_all(&transition, map.c, map.s, &rows.noise);
        }
        Coordinates::Invariant => state.covariance.add_outer3(&rows.noise),
    }
    if let Some(drift) = &increment.drift {
        spread_calibration(state, drift, rows);
        state.fade(drift.duration);
    }
    state.pose = state.pose * increment.motion;
    state.predicted = state.pose;
}

/// Moves the points where measurements of landmarks are linearized by the d = p* − p_predicted that it returns, p* the
/// point where the next motion is linearized.
///
/// With the points p_j* of all past motions, the direction N of eq. (5.7) stays unobservable, H Φ ⋯ Φ N = 0, if the
/// point of each landmark is its first estimate plus Σ (p_j* − p_j,predicted) over the motions since (first estimates
/// are the choice 0 for every term). Of all d, this one makes |p* − p|² + Σ |(point of i) − p_i|² least.
fn shift_landmarks(state: &mut State) -> Vector2<f64> {
    if state.is_frozen || state.pose == state.predicted {
        return Vector2::zeros();
    }
    let errors = state.landmarks.iter().map(|landmark| landmark.x - landmark.first);
    let sum = errors.fold(state.pose.p - state.predicted.p, |sum, error| sum + error);
    let shift = sum / (1 + state.landmarks.len()) as f64;
    for landmark in &mut state.landmarks {
        landmark.first += shift;
    }
    shift
}

/// G, ∂(error)/∂(δt, δa), row by row, before the state has moved.
///
/// World coordinates: the pose alone moves, δp = R(θ)δt. Robot coordinates: −∂z⁺/∂(t, a) besides. Invariant
/// coordinates: ξ_θ = δa, ξ_p = R(θ)δt − J p⁺ δa; e_i = −R(θ)δt − J(p_i − p⁺)δa.
fn noise_rows(state: &State, increment: &Increment, filter: &Filter, mut visit: impl FnMut([f64; 3])) {
    let (s, c) = state.pose.theta.sin_cos();
    let p_next = (state.pose * increment.motion).p;
    let of_position = match filter.coordinates() {
        Coordinates::World | Coordinates::Robot => [[c, -s, 0.0], [s, c, 0.0]],
        Coordinates::Invariant => [[c, -s, p_next.y], [s, c, -p_next.x]],
    };
    of_position.into_iter().chain([[0.0, 0.0, 1.0]]).for_each(&mut visit);
    (0..state.covariance.calibration()).for_each(|_| visit([0.0; 3]));
    if state.is_frozen {
        // Noise moves the robot, and landmarks have errors of their own.
        return;
    }
    let map = LandmarkMotion::new(&increment.motion, filter.discretization());
    for landmark in &state.landmarks {
        let pair = match filter.coordinates() {
            Coordinates::World => [[0.0; 3]; 2],
            Coordinates::Robot => map.noise_rows(&landmark.x, &map.apply(&landmark.x)),
            Coordinates::Invariant => {
                let lever = landmark.x - p_next;
                [[-c, s, lever.y], [-s, -c, -lever.x]]
            }
        };
        pair.into_iter().for_each(&mut visit);
    }
}

/// Errors of calibration act as noise does, (δt, δa) = D δc, but are part of the state. With the transition x⁺ = F x +
/// G D δc, and P after the propagation by F,
///
/// P⁺ = P + G M + Mᵀ Gᵀ, M = D P_c· + ½ D P_cc Dᵀ Gᵀ.
fn spread_calibration(state: &mut State, drift: &Drift, rows: &mut Rows) {
    let p = &mut state.covariance;
    let mut own = Matrix3::zeros();
    for (k, a) in state.calibration.motion() {
        for (l, b) in state.calibration.motion() {
            let shared = p.get(Covariance::calibration_row(k), Covariance::calibration_row(l));
            own += drift.jacobian.column(a) * drift.jacobian.column(b).transpose() * (0.5 * shared);
        }
    }
    rows.spread.clear();
    rows.spread.extend((0..p.dim()).map(|i| {
        let mut m = rows.effect.get(i).map_or_else(Vector3::zeros, |g| own * Vector3::from(*g));
        for (k, a) in state.calibration.motion() {
            m += drift.jacobian.column(a) * p.get(Covariance::calibration_row(k), i);
        }
        [m.x, m.y, m.z]
    }));
    p.add_symmetric3(&rows.effect, &rows.spread);
    for (k, walk) in state.calibration.walks() {
        p.add_calibration_variance(k, walk * walk * drift.duration);
    }
}
