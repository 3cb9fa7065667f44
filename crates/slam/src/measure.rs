//! A reading against the state: residual, Jacobians, and the innovation covariance of one feature.

use super::calibration::SensorJacobian;
use super::covariance::Covariance;
use super::propagate::Rows;
use super::retract::place;
use super::sensor::{Reading, Sensor};
use super::state::State;
use super::update::along;

use super::{Chart, Charts, Coordinates, Linearization};
use lienav_lie::{Se2, skew};
use nalgebra::{Matrix2, Matrix2x3, Vector2};

/// A reading of a feature of the state, linearized.
#[derive(Clone, Copy, Debug)]
pub struct Match {
    /// Which feature.
    pub feature: usize,
    /// What was read of it.
    pub reading: Reading,
    /// Reading − expectation.
    pub residual: Vector2<f64>,
    /// ∂(reading)/∂(p, θ); zero in robot coordinates, whatever the estimate: this is the reduction.
    pub pose_jacobian: Matrix2x3<f64>,
    /// ∂(reading)/∂x_i.
    pub feature_jacobian: Matrix2<f64>,
    /// ∂(reading)/∂(calibration of the sensor).
    pub calibration_jacobian: SensorJacobian,
    /// Covariance of the reading.
    pub noise: Matrix2<f64>,
    /// By what it was multiplied: for repeating what was just read, or for being far out.
    pub noise_scale: f64,
    /// Where the feature was seen from the robot, m, as later clouds tell: there the reading is linearized, where it is known.
    pub aim: Option<Vector2<f64>>,
}

impl Match {
    /// The same with a covariance `scale` times as large.
    pub fn scaled(self, scale: f64) -> Self {
        Self { noise: self.noise * scale, noise_scale: self.noise_scale * scale, ..self }
    }
}

/// Linearizes `reading` as one of feature `i`. `None` where the model has no derivative there.
///
/// World coordinates: dz = R(θ)ᵀ(−I, −J(p_i − p), I) (Shen 2019, below eq. (5.11)), evaluated at the estimate or at first
/// estimates; robot coordinates: dz = (0, 0, I) (below eq. (5.20)); invariant coordinates: dz = (0, 0, R(θ)ᵀ).
pub fn linearize(state: &State, sensor: &Sensor, reading: &Reading, i: usize, at: Linearization) -> Option<Match> {
    let z = state.in_robot(i);
    match state.coordinates {
        Coordinates::Robot | Coordinates::Invariant => {
            let expected = sensor.expect(reading, &z, &z)?;
            let feature_jacobian = match state.coordinates {
                Coordinates::Invariant => expected.jacobian * state.pose.rotation().transpose(),
                _ => expected.jacobian,
            };
            Some(Match {
                feature: i,
                reading: *reading,
                residual: expected.residual,
                pose_jacobian: Matrix2x3::zeros(),
                feature_jacobian,
                calibration_jacobian: expected.calibration,
                noise: expected.noise,
                noise_scale: 1.0,
                aim: None,
            })
        }
        Coordinates::World => {
            let (pose, p_feature) = match at {
                Linearization::Current => (state.pose, state.features[i].x),
                Linearization::FirstEstimate => (state.predicted, state.features[i].first),
            };
            let z_linear = pose.transform_back(&p_feature);
            let expected = sensor.expect(reading, &z, &z_linear)?;
            let (back, turn) = (pose.rotation().transpose(), skew(&z_linear));
            let dz_dpose = Matrix2x3::new(-back[(0, 0)], -back[(0, 1)], -turn.x, -back[(1, 0)], -back[(1, 1)], -turn.y);
            Some(Match {
                feature: i,
                reading: *reading,
                residual: expected.residual,
                pose_jacobian: expected.jacobian * dz_dpose,
                feature_jacobian: expected.jacobian * back,
                calibration_jacobian: expected.calibration,
                noise: expected.noise,
                noise_scale: 1.0,
                aim: None,
            })
        }
    }
}

/// Where an update is going to put the robot and the features, before it has.
#[derive(Clone, Copy, Debug)]
pub struct Preview {
    /// The noise n of the last motion, as far as the readings tell.
    pub noise: [f64; 3],
    /// The robot, moved by that noise.
    pub robot: Se2,
    /// In which corrections of features add up.
    pub charts: Charts,
}

/// Linearizes a match anew, where `preview` sees it and `rest`, the correction of its feature but for the last motion's noise, puts
/// it; or where its aim is, if that is known. Returns false, and changes nothing, where the model has no derivative.
///
/// The noise of the motion moved the robot among the features as they are: what it did to this one is linearized anew, too,
/// in `rows`. The residual stays that of the uncorrected estimate, r = (reading − h) + H(rest + G n).
pub fn relinearize(
    state: &State,
    sensor: &Sensor,
    m: &mut Match,
    preview: &Preview,
    rest: &Vector2<f64>,
    rows: &mut Rows,
) -> bool {
    let feature = &state.features[m.feature];
    let chart = if feature.is_mapped { Chart::Cartesian } else { preview.charts.kind };
    let origin = preview.charts.origin(feature, &state.pose.p);
    let aimed =
        m.aim.and_then(|aim| chart.correction(&(feature.x - origin), &(preview.robot.transform(&aim) - origin)));
    let rest = aimed.as_ref().unwrap_or(rest);
    let (p, derivative) = place(&origin, &feature.x, rest, chart);
    let z = preview.robot.transform_back(&p);
    let Some(expected) = sensor.expect(&m.reading, &z, &z) else { return false };
    let row = state.covariance.row_of(m.feature);
    let mut whole = *rest;
    if !rows.noise.is_empty() {
        rows.relinearize(row, &(p - preview.robot.p), &derivative);
        whole += Vector2::new(along(&rows.noise[row], &preview.noise), along(&rows.noise[row + 1], &preview.noise));
    }
    m.feature_jacobian = expected.jacobian * preview.robot.rotation().transpose() * derivative;
    m.calibration_jacobian = expected.calibration;
    m.residual = expected.residual + m.feature_jacobian * whole;
    m.noise = expected.noise * m.noise_scale;
    true
}

/// H P Hᵀ + R of one match.
pub fn innovation_covariance(state: &State, m: &Match) -> Matrix2<f64> {
    let p = &state.covariance;
    let own = m.feature_jacobian * p.feature_block(m.feature, m.feature) * m.feature_jacobian.transpose() + m.noise;
    let own = own + of_calibration(state, m);
    if state.coordinates != Coordinates::World {
        return own;
    }
    let cross: Matrix2<f64> = m.feature_jacobian * p.cross_block(m.feature) * m.pose_jacobian.transpose();
    own + cross + cross.transpose() + m.pose_jacobian * p.pose_block() * m.pose_jacobian.transpose()
}

/// The part of H P Hᵀ that calibration has in it.
fn of_calibration(state: &State, m: &Match) -> Matrix2<f64> {
    let (p, h) = (&state.covariance, &m.calibration_jacobian);
    let mut sum = Matrix2::zeros();
    for (k, a) in state.calibration.sensor() {
        let mut with_state = m.feature_jacobian * p.feature_calibration(m.feature, k);
        if state.coordinates == Coordinates::World {
            with_state += m.pose_jacobian * p.pose_calibration(k);
        }
        let cross = with_state * h.column(a).transpose();
        sum += cross + cross.transpose();
        for (l, b) in state.calibration.sensor() {
            let shared = p.get(Covariance::calibration_row(k), Covariance::calibration_row(l));
            sum += h.column(a) * h.column(b).transpose() * shared;
        }
    }
    sum
}
