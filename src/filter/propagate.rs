//! Propagation: the robot moves.

use super::covariance::{POSE, factor3};
use super::motion::{FeatureMotion, Increment};
use super::state::State;
use super::{Coordinates, Linearization, Variant};

/// Moves the state by an increment: pose p⁺ = p + R(θ)t, θ⁺ = θ + a with transition (5.11) and, in robot coordinates,
/// features z⁺ = A z − b with transition (5.20). `g` is scratch that keeps its allocation.
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
    }
    state.pose = state.pose * increment.motion;
    state.predicted = state.pose;
}
