//! Propagation: the robot moves.

use super::covariance::{Covariance, factor3};
use super::motion::{Drift, FeatureMotion, Increment};
use super::state::State;
use super::{Coordinates, Linearization, Variant};
use nalgebra::{Matrix3, Vector3};

/// Room for propagation; keeps its allocation.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// G L: what the noise (δt, δa) of the last motion, Q = L Lᵀ, did to every error; a row for each of the state.
    pub noise: Vec<[f64; 3]>,
    /// G itself, where something is calibrated.
    effect: Vec<[f64; 3]>,
    /// What correlation with the parameters adds, row by row.
    spread: Vec<[f64; 3]>,
}

impl Rows {
    /// Fills [`Rows::noise`] for `state`, which has not moved by `increment` yet.
    pub fn note_noise(&mut self, state: &State, increment: &Increment, variant: &Variant) {
        self.noise.clear();
        if variant.coordinates != Coordinates::World {
            let root = factor3(&increment.covariance);
            noise_rows(state, increment, variant, |row| {
                let along = |k| row[0] * root[(0, k)] + row[1] * root[(1, k)] + row[2] * root[(2, k)];
                self.noise.push([0, 1, 2].map(along));
            });
        }
    }
}

/// Moves the state by an increment: pose p⁺ = p + R(θ)t, θ⁺ = θ + a with transition (5.11) and, in robot coordinates,
/// features z⁺ = A z − b with transition (5.20). In invariant coordinates the transition is the identity.
pub fn propagate(state: &mut State, increment: &Increment, variant: &Variant, rows: &mut Rows) {
    let linearized_at = match variant.linearization {
        Linearization::Current => state.pose.p,
        Linearization::FirstEstimate => state.predicted.p,
    };
    let (transition, noise) = increment.pose_jacobians(&state.pose, &linearized_at);
    rows.effect.clear();
    if increment.drift.is_some() {
        noise_rows(state, increment, variant, |row| rows.effect.push(row));
    }
    rows.note_noise(state, increment, variant);
    match variant.coordinates {
        Coordinates::World => {
            state.covariance.move_pose(&transition, &(noise * increment.covariance * noise.transpose()));
        }
        Coordinates::Robot => {
            let map = FeatureMotion::new(&increment.motion, variant.discretization);
            for feature in &mut state.features {
                feature.x = map.apply(&feature.x);
            }
            state.covariance.move_all(&transition, map.c, map.s, &rows.noise);
        }
        Coordinates::Invariant => state.covariance.add_outer3(&rows.noise),
    }
    if let Some(drift) = &increment.drift {
        spread_calibration(state, drift, rows);
    }
    state.pose = state.pose * increment.motion;
    state.predicted = state.pose;
}

/// G, ∂(error)/∂(δt, δa), row by row, before the state has moved.
///
/// World coordinates: the pose alone moves, δp = R(θ)δt. Robot coordinates: −∂z⁺/∂(t, a) besides. Invariant coordinates:
/// ξ_θ = δa, ξ_p = R(θ)δt − J p⁺ δa; e_i = −R(θ)δt − J(p_i − p⁺)δa.
fn noise_rows(state: &State, increment: &Increment, variant: &Variant, mut visit: impl FnMut([f64; 3])) {
    let (s, c) = state.pose.theta.sin_cos();
    let p_next = (state.pose * increment.motion).p;
    let of_position = match variant.coordinates {
        Coordinates::World | Coordinates::Robot => [[c, -s, 0.0], [s, c, 0.0]],
        Coordinates::Invariant => [[c, -s, p_next.y], [s, c, -p_next.x]],
    };
    of_position.into_iter().chain([[0.0, 0.0, 1.0]]).for_each(&mut visit);
    (0..state.covariance.calibration()).for_each(|_| visit([0.0; 3]));
    let map = FeatureMotion::new(&increment.motion, variant.discretization);
    for feature in &state.features {
        let pair = match variant.coordinates {
            Coordinates::World => [[0.0; 3]; 2],
            Coordinates::Robot => map.noise_rows(&feature.x, &map.apply(&feature.x)),
            Coordinates::Invariant => {
                let lever = feature.x - p_next;
                [[-c, s, lever.y], [-s, -c, -lever.x]]
            }
        };
        pair.into_iter().for_each(&mut visit);
    }
}

/// Errors of calibration act as noise does, (δt, δa) = D δc, but stay: with the transition x⁺ = F x + G D δc and what F has made
/// of P,
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
    rows.spread.extend(rows.effect.iter().enumerate().map(|(i, g)| {
        let mut m = own * Vector3::from(*g);
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
