//! Measurements in the coordinates of a filter.

use crate::covariance::NAV;
use crate::filter::{Filter, Linearization};
use crate::measurement::{At, Linearized, MOST, Measurement};
use crate::state::State;
use crate::state::errors::{Errors, POSITION, ROTATION};
use lienav_lie::hat;
use nalgebra::{SMatrix, SVector, Vector3};

/// A state as measurements see it: at the newest estimate, or where the filter linearizes.
pub fn at<'a>(state: &'a State, nav: &'a crate::state::nav::Nav, at_first: bool) -> At<'a> {
    At { nav, landmarks: &state.landmarks, at_first, calibration: &state.calibration, rate: &state.rate }
}

/// Residual at the newest estimate, derivatives where the filter linearizes, both in its coordinates.
pub fn linearize(state: &State, measurement: &dyn Measurement, filter: &Filter) -> Option<Linearized> {
    let mut linearized = measurement.linearize(&at(state, &state.nav, false))?;
    let nav = state.linearization_point(filter);
    if filter.linearization == Linearization::FirstEstimate {
        let first = measurement.linearize(&at(state, &nav, true))?;
        linearized = Linearized { residual: linearized.residual, ..first };
    }
    if filter.errors == Errors::Left {
        // S is the identity.
        return Some(linearized);
    }
    linearized.by_nav *= filter.errors.from_left_inverse(&nav);
    if let Some(i) = linearized.landmark {
        // x_i = A e_i + C nav, so that H e_i = H A⁻¹ (x_i − C nav).
        let (a, c) = filter.errors.landmark_from_left(&nav, &state.linearization_point_of(i, filter));
        // A is a rotation.
        linearized.by_landmark *= a.transpose();
        linearized.by_nav -= linearized.by_landmark * c;
        if filter.linearization == Linearization::ObservabilityConstrained {
            constrain(&mut linearized, &state.predicted.position, &state.landmarks[i].first, state.gravity);
        }
    }
    Some(linearized)
}

/// The least change of the columns of rotation and position, and that of the landmark with the latter, that shows no
/// turn about the vertical at the predicted position and the first estimate of the landmark (Hesch et al. 2014, section
/// 4.2).
///
/// Without gravity no rotation is seen: H_R = H_p (p̂ − p̂_i)^.
fn constrain(linearized: &mut Linearized, position: &Vector3<f64>, landmark: &Vector3<f64>, gravity: f64) {
    if gravity == 0.0 {
        let by_position = linearized.by_nav.fixed_columns::<3>(POSITION).into_owned();
        linearized.by_nav.fixed_columns_mut::<3>(ROTATION).copy_from(&(by_position * hat(&(position - landmark))));
        linearized.by_landmark = -by_position;
        return;
    }
    let up = Vector3::z();
    let mut unseen = SVector::<f64, NAV>::zeros();
    unseen.fixed_rows_mut::<3>(ROTATION).copy_from(&up);
    unseen.fixed_rows_mut::<3>(POSITION).copy_from(&up.cross(&(position - landmark)));
    let seen: SMatrix<f64, MOST, 1> = linearized.by_nav * unseen;
    linearized.by_nav -= seen * unseen.transpose() / unseen.norm_squared();
    linearized.by_landmark = -linearized.by_nav.fixed_columns::<3>(POSITION);
}
