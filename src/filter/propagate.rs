//! Propagation: the robot moves.

use super::covariance::{POSE, factor3};
use super::motion::{FeatureMotion, Increment};
use super::state::State;
use super::{Coordinates, Linearization, Variant};

/// Moves the state by an increment: pose p⁺ = p + R(θ)t, θ⁺ = θ + a with transition (5.11) and, in robot coordinates,
/// features z⁺ = A z − b with transition (5.20). In invariant coordinates the transition is the identity. `g` is scratch
/// that keeps its allocation.
pub fn propagate(state: &mut State, increment: &Increment, variant: &Variant, g: &mut Vec<[f64; 3]>) {
    let linearized_at = match variant.linearization {
        Linearization::Current => state.pose.p,
        Linearization::FirstEstimate => state.predicted.p,
    };
    let (transition, noise) = increment.pose_jacobians(&state.pose, &linearized_at);
    match variant.coordinates {
        Coordinates::World => {
            state.covariance.move_pose(&transition, &(noise * increment.covariance * noise.transpose()));
        }
        Coordinates::Robot => {
            let map = FeatureMotion::new(&increment.motion, variant.discretization);
            let root = factor3(&increment.covariance);
            let times_root = |row: [f64; 3]| {
                [0, 1, 2].map(|k| row[0] * root[(0, k)] + row[1] * root[(1, k)] + row[2] * root[(2, k)])
            };
            g.clear();
            g.extend((0..POSE).map(|i| times_root([noise[(i, 0)], noise[(i, 1)], noise[(i, 2)]])));
            for feature in &mut state.features {
                let z = feature.x;
                feature.x = map.apply(&z);
                g.extend(map.noise_rows(&z, &feature.x).map(times_root));
            }
            state.covariance.move_all(&transition, map.c, map.s, g);
        }
        Coordinates::Invariant => {
            // ξ_θ = δa, ξ_p = R(θ)δt − J p⁺ δa; e_i = −R(θ)δt − J(p_i − p⁺)δa.
            let root = factor3(&increment.covariance);
            let times_root = |row: [f64; 3]| {
                [0, 1, 2].map(|k| row[0] * root[(0, k)] + row[1] * root[(1, k)] + row[2] * root[(2, k)])
            };
            let (s, c) = state.pose.theta.sin_cos();
            let p_next = (state.pose * increment.motion).p;
            g.clear();
            g.extend([[c, -s, p_next.y], [s, c, -p_next.x], [0.0, 0.0, 1.0]].map(times_root));
            for feature in &state.features {
                let lever = feature.x - p_next;
                g.extend([[-c, s, lever.y], [-s, -c, -lever.x]].map(times_root));
            }
            state.covariance.add_outer3(g);
        }
    }
    state.pose = state.pose * increment.motion;
    state.predicted = state.pose;
}
