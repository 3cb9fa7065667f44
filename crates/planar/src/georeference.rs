//! The tie between the map and the world: before the first measurements from outside, nobody knows where in the world
//! the map lies, and how it is turned.
//!
//! A pose tells both at once. Positions tell the heading only when the robot has driven: from the first position y₁,
//! taken with the antenna at a₁ in the map, to this one, with y₂ and a₂,
//!
//! ψ = ∠(y₂ − y₁) − ∠(a₂ − a₁),  t = y₂ − R(ψ)a₂
//!
//! This is taken over as soon as the heading follows to `HEADING_STD`, which is where measurements become nearly
//! linear in it, with the covariance that follows from the noise of both positions, and with the correlation with the
//! pose and with the time-correlated part of the errors. Until then measurements from outside correct nothing.

use crate::calibration::CalibrationParameter;
use crate::checked::CheckedMeasurement;
use crate::filter::Coordinates;
use crate::measurement::value::fixed;
use crate::output::DropReason;
use crate::sensor::Sensors;
use crate::state::untied::{First, Untied};
use crate::state::{State, additive_from_left};
use lienav_base::stamp::Stamp;
use lienav_ekf::covariance::Covariance;
use lienav_lie::{Se2, skew};
use nalgebra::{Matrix2, Matrix2x3, Matrix3, Matrix3x2, Vector2};

/// The map is tied to the world when its heading there is known to this, rad.
const HEADING_STD: f64 = 0.15;

/// Takes in a measurement from outside while the map is not tied to the world; says whether the measurement tied it.
///
/// # Errors
/// [`DropReason::Undetermined`]: the robot has to drive on.
pub fn take(
    state: &mut State,
    sensors: &Sensors,
    checked: &CheckedMeasurement,
    stamp: Stamp,
) -> Result<(), DropReason> {
    let Some(untied) = state.georeference else { return Err(DropReason::Undetermined) };
    let mount = state.mounts[checked.index()].nominal();
    let arm = state.pose.rotation() * mount.p;
    let antenna = state.pose.p + arm;
    // δa = [I, J R(θ)m] δ(p, θ).
    let turned = skew(&arm);
    let by_pose = Matrix2x3::new(1.0, 0.0, turned.x, 0.0, 1.0, turned.y) * to_additive(state);
    let position = checked.value.xy();
    let covariance: Matrix2<f64> = fixed(&checked.covariance);
    if sensors.dim(checked) == 3 {
        let theta = checked.value.z - state.pose.theta - mount.theta;
        let world = Se2::new(0.0, 0.0, theta);
        let shift = position - world.rotation() * antenna;
        // δψ = −δθ − n_θ, δt = −R(ψ)δa − J R(ψ)a δψ − δb − n.
        let heading = Matrix3::new(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0) * to_additive(state);
        let lever = skew(&(world.rotation() * antenna));
        let noise = complete(&lever) * checked.covariance * complete(&lever).transpose();
        let of_pose = rows(&(-(world.rotation() * by_pose) - lever * heading.row(2)), &heading.row(2).into_owned());
        let of_error = Matrix3x2::new(-1.0, 0.0, 0.0, -1.0, 0.0, 0.0);
        settle(state, &Se2::new(shift.x, shift.y, theta), (&of_pose, &of_error), &noise);
        return Ok(());
    }
    let antenna_covariance = by_pose * state.covariance.pose_block() * by_pose.transpose();
    let Some(first) = untied.first else {
        state.georeference =
            Some(Untied { first: Some(First { position, covariance, antenna, antenna_covariance, stamp }) });
        return Err(DropReason::Undetermined);
    };
    let driven = antenna - first.antenna;
    let square = driven.norm_squared();
    let (std, time) = state.calibration.time_correlated();
    let rho = if std > 0.0 { (-stamp.since(first.stamp) / time).exp() } else { 0.0 };
    let fresh = Matrix2::identity() * (std * std * (1.0 - rho * rho));
    let time_correlated = Matrix2::identity() * (std * std * (1.0 - rho).powi(2));
    let of_world = covariance + first.covariance + fresh + time_correlated;
    let of_map = antenna_covariance + first.antenna_covariance;
    let world = world_of_two((first.position, first.antenna), (position, antenna), &(of_world + of_map));
    let world = world.ok_or(DropReason::Undetermined)?;
    let turn = world.rotation();
    // δψ = −uᵀ(δy₂ − δy₁) − wᵀ(δa₂ − δa₁), u across the way in the world and w in the map, both by its length; of the
    // time-correlated error b₂, y₁ has ρb₂ and something of its own.
    let across_map = skew(&driven) / square;
    let across = turn * across_map;
    let lever = skew(&(turn * antenna));
    let heading_by_pose = -across_map.transpose() * by_pose;
    let of_pose = rows(&(-(turn * by_pose) + lever * heading_by_pose * -1.0), &heading_by_pose);
    let heading_by_error = -across.transpose() * (1.0 - rho);
    let top = -Matrix2::identity() - lever * heading_by_error;
    let of_error = Matrix3x2::new(
        top[(0, 0)],
        top[(0, 1)],
        top[(1, 0)],
        top[(1, 1)],
        heading_by_error[(0, 0)],
        heading_by_error[(0, 1)],
    );
    let by_second = column_of(&lever, &across, -Matrix2::identity());
    let by_first = column_of(&lever, &-across, Matrix2::zeros());
    let by_antenna = column_of(&lever, &-across_map, Matrix2::zeros());
    let noise = by_second * covariance * by_second.transpose()
        + by_first * (first.covariance + fresh) * by_first.transpose()
        + by_antenna * first.antenna_covariance * by_antenna.transpose();
    settle(state, &world, (&of_pose, &of_error), &noise);
    Ok(())
}

/// The pose in the world of a frame in which an antenna was at two places, m, that were read as two positions in the
/// world, m: (position, antenna) of each. `covariance` is that of the positions and of the places together, m². `None`
/// where the heading does not follow to 0.15 rad.
pub fn world_of_two(
    first: (Vector2<f64>, Vector2<f64>),
    second: (Vector2<f64>, Vector2<f64>),
    covariance: &Matrix2<f64>,
) -> Option<Se2> {
    let (seen, driven) = (second.0 - first.0, second.1 - first.1);
    let square = driven.norm_squared();
    if square < 1e-6 || covariance.trace() * 0.5 > HEADING_STD * HEADING_STD * square {
        return None;
    }
    let theta = seen.y.atan2(seen.x) - driven.y.atan2(driven.x);
    let shift = second.0 - Se2::new(0.0, 0.0, theta).rotation() * second.1;
    Some(Se2::new(shift.x, shift.y, theta))
}

/// The additive error of the pose by that of the state.
fn to_additive(state: &State) -> Matrix3<f64> {
    match state.coordinates {
        Coordinates::World | Coordinates::Robot => Matrix3::identity(),
        Coordinates::Invariant => additive_from_left(&state.pose.p),
    }
}

/// Two rows, and one below.
fn rows(top: &Matrix2x3<f64>, below: &nalgebra::RowVector3<f64>) -> Matrix3<f64> {
    Matrix3::from_rows(&[top.row(0).into_owned(), top.row(1).into_owned(), *below])
}

/// ∂(δt, δψ)/∂n of a noise n that moves δψ by −`across`ᵀn, and δt by `own`·n beside −lever·δψ.
fn column_of(lever: &Vector2<f64>, across: &Vector2<f64>, own: Matrix2<f64>) -> Matrix3x2<f64> {
    let heading = -across.transpose();
    let top = own - lever * heading;
    Matrix3x2::new(top[(0, 0)], top[(0, 1)], top[(1, 0)], top[(1, 1)], heading[(0, 0)], heading[(0, 1)])
}

/// ∂(δt, δψ)/∂n of a pose that was read: δψ = n_θ, δt = n − lever·n_θ.
fn complete(lever: &Vector2<f64>) -> Matrix3<f64> {
    Matrix3::new(1.0, 0.0, -lever.x, 0.0, 1.0, -lever.y, 0.0, 0.0, 1.0)
}

/// Sets W and its covariance: its error is `of_pose` times that of the pose, `of_error` times that of the
/// time-correlated error, and a noise of its own.
fn settle(state: &mut State, world: &Se2, (of_pose, of_error): (&Matrix3<f64>, &Matrix3x2<f64>), noise: &Matrix3<f64>) {
    use CalibrationParameter::{ErrorX, ErrorY, WorldX, WorldY, WorldYaw};
    state.georeference = None;
    let row = |parameter| state.calibration.place(parameter).map(Covariance::calibration_row);
    let [Some(x), Some(y), Some(yaw)] = [WorldX, WorldY, WorldYaw].map(row) else { return };
    let mut sources: Vec<(usize, [f64; 3])> =
        (0..3).map(|k| (k, [of_pose[(0, k)], of_pose[(1, k)], of_pose[(2, k)]])).collect();
    for (k, parameter) in [ErrorX, ErrorY].into_iter().enumerate() {
        sources.extend(row(parameter).map(|row| (row, [of_error[(0, k)], of_error[(1, k)], of_error[(2, k)]])));
    }
    state.covariance.derive_rows([x, y, yaw], &sources, noise);
    state.set_world(world);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_noise_across_turns_the_map_about_the_robot() {
        // A heading that is off by ε moves the map's origin by −J R a ε.
        let lever = skew(&Vector2::new(3.0, 4.0));
        let column = column_of(&lever, &Vector2::new(0.0, 0.1), Matrix2::zeros());
        assert_eq!((column[(2, 1)], column[(0, 1)], column[(1, 1)]), (-0.1, 0.1 * lever.x, 0.1 * lever.y));
    }
}
