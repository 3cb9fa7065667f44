//! Propagation: the state moves by what an inertial sensor says of an interval, once a frame.

use crate::covariance::{Lever, NAV, NavMatrix, Shift};
use crate::filter::{Filter, Linearization};
use crate::preintegration::Preintegrated;
use crate::state::State;
use crate::state::errors::{Errors, GYRO_BIAS, POSITION, ROTATION, VELOCITY, put};
use crate::state::landmark::{Kind, Landmark};
use crate::state::nav::{Nav, free_fall};
use lienav_lie::hat;
use nalgebra::{Matrix3, SMatrix, Vector3};

/// The linear equations of an interval in the left errors.
///
/// With ζ the error of the increment and ν = R̂ ζ_R,
///
/// ```math
/// ξ_R^+ = ξ_R + ν,  ξ_v^+ = ξ_v + T g × ξ_R + \hat R ζ_v + [\hat v + g T]_× ν,
/// ξ_p^+ = ξ_p + T ξ_v + \tfrac12 T² g × ξ_R + \hat R ζ_p + [\hat p + d]_× ν,
/// e_i^+ = e_i + [\hat r_i]_× a - b,
/// a = ν,  b = T ξ_v + \tfrac12 T² g × ξ_R + \hat R ζ_p + [d]_× ν,  d = \hat v T + \tfrac12 g T²
/// ```
///
/// and ζ = J δb + noise. The parts without ζ hold for errors of any size (Barrau and Bonnabel 2017); and no part moves
/// (ξ_R, ξ_p) = (g, 0) or (0, any) out of themselves: the four directions that landmarks cannot see.
#[derive(Clone, Debug)]
pub struct Interval {
    /// The transition of the navigation state, 15 × 15.
    pub transition: NavMatrix,
    /// Covariance of what noise adds to it.
    pub noise: NavMatrix,
    /// (a, b) by the navigation state before, 6 × 15.
    pub by_nav: SMatrix<f64, 6, NAV>,
    /// Covariance of the noise in (a, b).
    pub own_noise: SMatrix<f64, 6, 6>,
    /// Covariance of the noise in (a, b) with that of the navigation state.
    pub cross_noise: SMatrix<f64, 6, NAV>,
}

impl Interval {
    /// Linearizes at the navigation state before the interval.
    pub fn new(nav: &Nav, increment: &Preintegrated, gravity: f64) -> Self {
        let t = increment.increment.duration_s;
        let (dv, d) = free_fall(&nav.velocity, gravity, t);
        let r = nav.rotation.matrix();
        let fall = hat(&Vector3::new(0.0, 0.0, -gravity));
        let one = Matrix3::identity();

        // What ζ does to (ξ_R, ξ_v, ξ_p) and to (a, b).
        let mut by_zeta = SMatrix::<f64, 9, 9>::zeros();
        let mut set = |row, column, block: &Matrix3<f64>| by_zeta.fixed_view_mut::<3, 3>(row, column).copy_from(block);
        set(ROTATION, 0, r);
        set(VELOCITY, 0, &(hat(&(nav.velocity + dv)) * r));
        set(VELOCITY, 3, r);
        set(POSITION, 0, &(hat(&(nav.position + d)) * r));
        set(POSITION, 6, r);
        let mut shift_by_zeta = SMatrix::<f64, 6, 9>::zeros();
        shift_by_zeta.fixed_view_mut::<3, 3>(0, 0).copy_from(r);
        shift_by_zeta.fixed_view_mut::<3, 3>(3, 0).copy_from(&(hat(&d) * r));
        shift_by_zeta.fixed_view_mut::<3, 3>(3, 6).copy_from(r);

        let mut transition = NavMatrix::identity();
        put(&mut transition, VELOCITY, ROTATION, &(fall * t));
        put(&mut transition, POSITION, ROTATION, &(fall * (0.5 * t * t)));
        put(&mut transition, POSITION, VELOCITY, &(one * t));
        transition.fixed_view_mut::<9, 6>(0, GYRO_BIAS).copy_from(&(by_zeta * increment.jacobian));

        let mut by_nav = SMatrix::<f64, 6, NAV>::zeros();
        by_nav.fixed_view_mut::<3, 3>(3, ROTATION).copy_from(&(fall * (0.5 * t * t)));
        by_nav.fixed_view_mut::<3, 3>(3, VELOCITY).copy_from(&(one * t));
        by_nav.fixed_view_mut::<6, 6>(0, GYRO_BIAS).copy_from(&(shift_by_zeta * increment.jacobian));

        let mut all = NavMatrix::identity();
        all.fixed_view_mut::<9, 9>(0, 0).copy_from(&by_zeta);
        let of_zeta = increment.covariance.fixed_rows::<9>(0);
        let own = increment.covariance.fixed_view::<9, 9>(0, 0);
        Self {
            transition,
            noise: all * increment.covariance * all.transpose(),
            by_nav,
            own_noise: shift_by_zeta * own * shift_by_zeta.transpose(),
            cross_noise: shift_by_zeta * of_zeta * all.transpose(),
        }
    }
}

/// What (a, b) adds to the error of a landmark, or of a part of a pose clone.
pub fn lever(landmark: &Landmark, position: &Vector3<f64>) -> Lever {
    match landmark.kind {
        Kind::CloneRotation(_) => Lever::Rotation,
        Kind::Point | Kind::ClonePlace => Lever::Point(landmark.position - position),
    }
}

/// Moves state and covariance by an increment that was taken at the state's biases.
pub fn propagate(state: &mut State, increment: &Preintegrated, filter: &Filter) {
    let before = state.nav;
    let moved = before.moved(&increment.increment, state.gravity);
    let interval = Interval::new(&before, increment, state.gravity);
    match filter.errors {
        Errors::Left => propagate_left(state, &interval),
        Errors::Additive => {
            let (transition, noise) = additive(state, &interval, &moved, filter);
            state.covariance.move_nav(&transition, &noise);
        }
        Errors::Reduced => {
            change(state, &Errors::Reduced.from_left_inverse(&before), before.rotation.matrix());
            propagate_left(state, &interval);
            change(state, &Errors::Reduced.from_left(&moved), &moved.rotation.matrix().transpose());
        }
    }
    state.nav = moved;
    state.predicted = moved;
    state.rate = increment.end_rate;
}

fn propagate_left(state: &mut State, interval: &Interval) {
    let Interval { transition, noise, by_nav, own_noise, cross_noise } = interval;
    let (position, landmarks) = (state.nav.position, &state.landmarks);
    let p = &mut state.covariance;
    let with_nav = by_nav * p.nav();
    let shift = Shift { by_nav: *by_nav, own: with_nav * by_nav.transpose() + own_noise };
    p.shift_landmarks(&shift, |i| lever(&landmarks[i], &position));
    p.shift_calibration(by_nav);
    p.move_nav(transition, noise);
    p.shift_cross(&(with_nav * transition.transpose() + cross_noise));
}

/// A linear change of coordinates: of the navigation state by a matrix, of all landmarks by another.
fn change(state: &mut State, nav: &NavMatrix, landmarks: &Matrix3<f64>) {
    state.covariance.move_nav(nav, &NavMatrix::zeros());
    state.covariance.turn_landmarks(landmarks);
}

/// Transition and noise of the navigation state in additive errors. Landmarks stay.
fn additive(state: &State, interval: &Interval, moved: &Nav, filter: &Filter) -> (NavMatrix, NavMatrix) {
    let to = Errors::Additive.from_left(moved);
    let from = Errors::Additive.from_left_inverse(&state.linearization_point(filter));
    let mut transition = to * interval.transition * from;
    if filter.linearization == Linearization::ObservabilityConstrained {
        constrain(&mut transition, &state.predicted, moved, state.gravity);
    }
    (transition, to * interval.noise * to.transpose())
}

/// The least change of the transition that takes the turn about gravity from the last prediction to the new one
/// (Hesch et al. 2014, section 4.1). The unobservable directions in additive errors are (0, 0, I, 0, 0) and
/// (g, g × v̂, g × p̂, 0, 0).
fn constrain(transition: &mut NavMatrix, before: &Nav, after: &Nav, gravity: f64) {
    if gravity == 0.0 {
        return constrain_without_gravity(transition, before, after);
    }
    let g = Vector3::new(0.0, 0.0, -gravity);
    let turn = |nav: &Nav| {
        let mut n = SMatrix::<f64, NAV, 1>::zeros();
        for (row, part) in [(ROTATION, g), (VELOCITY, g.cross(&nav.velocity)), (POSITION, g.cross(&nav.position))] {
            n.fixed_rows_mut::<3>(row).copy_from(&part);
        }
        n
    };
    let missing = turn(after) - *transition * turn(before);
    for row in [VELOCITY, POSITION] {
        let change = missing.fixed_rows::<3>(row) * g.transpose() / g.norm_squared();
        let mut block = transition.fixed_view_mut::<3, 3>(row, ROTATION);
        block += change;
    }
}

/// The same without gravity, where all rotations are unobservable: (I, −v̂^, −p̂^, 0, 0).
fn constrain_without_gravity(transition: &mut NavMatrix, before: &Nav, after: &Nav) {
    for (row, end) in [(VELOCITY, &after.velocity), (POSITION, &after.position)] {
        let by = |column| transition.fixed_view::<3, 3>(row, column).into_owned();
        let block = by(VELOCITY) * hat(&before.velocity) + by(POSITION) * hat(&before.position) - hat(end);
        put(transition, row, ROTATION, &block);
    }
}

/// The transition of all errors as a full matrix, for tests and tools.
pub fn transition_matrix(state: &State, increment: &Preintegrated, filter: &Filter) -> nalgebra::DMatrix<f64> {
    let (n, before) = (state.covariance.dim(), state.nav);
    let moved = before.moved(&increment.increment, state.gravity);
    let interval = Interval::new(&before, increment, state.gravity);
    let mut all = nalgebra::DMatrix::identity(n, n);
    let mut nav = interval.transition;
    match filter.errors {
        Errors::Left => {}
        Errors::Additive => nav = additive(state, &interval, &moved, filter).0,
        Errors::Reduced => {
            nav = Errors::Reduced.from_left(&moved) * nav * Errors::Reduced.from_left_inverse(&before);
        }
    }
    all.view_mut((0, 0), (NAV, NAV)).copy_from(&nav);
    if filter.errors == Errors::Additive {
        return all;
    }
    let to = |nav: &Nav| match filter.errors {
        Errors::Reduced => nav.rotation.matrix().transpose(),
        _ => Matrix3::identity(),
    };
    for (i, landmark) in state.landmarks.iter().enumerate() {
        let row = state.covariance.row_of(i);
        let by_nav = lever(landmark, &before.position).matrix() * interval.by_nav;
        let by_nav = to(&moved) * by_nav * filter.errors.from_left_inverse(&before);
        all.view_mut((row, 0), (3, NAV)).copy_from(&by_nav);
        all.view_mut((row, row), (3, 3)).copy_from(&(to(&moved) * to(&before).transpose()));
    }
    all
}
