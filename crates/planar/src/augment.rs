//! Augmentation: adding the landmarks that are seen for the first time.

use crate::calibration::OF_ONE_KIND;
use crate::checked::CheckedMeasurement;
use crate::filter::{Coordinates, Errors, Filter, Initialization, Linearization};
use crate::sensor::Sensors;
use crate::state::{State, StateLandmark};
use lienav_base::stamp::Stamp;
use lienav_lie::skew;
use nalgebra::{Matrix2, Matrix2x3, Vector2};

/// A range is vague if its standard deviation exceeds this fraction of it.
const VAGUE: f64 = 0.05;

/// Adds a landmark seen for the first time, and says whether it could be placed.
///
/// Robot and invariant coordinates: z and its covariance as measured, independent of the rest of the state (Shen 2019,
/// § 5.1). World coordinates: p_i = p + R(θ)z with the correlation that follows, δp_i = δp + J(p_i − p)δθ + R(θ)δz; or
/// without it, as in the thesis.
pub fn augment(
    state: &mut State,
    sensors: &Sensors,
    checked: &CheckedMeasurement,
    id: u32,
    stamp: Stamp,
    filter: &Filter,
) -> bool {
    let Some((z, covariance)) = sensors.place(&state.mounts, checked) else { return false };
    let anchor = state.pose.p;
    let is_vague = z.dot(&(covariance * z)) > (VAGUE * z.norm_squared()).powi(2);
    let landmark = |x| StateLandmark {
        id,
        x,
        first: x,
        anchor,
        is_vague,
        last_seen: stamp,
        measurements: 1,
        wanted: stamp,
        // Roll and pitch shift a landmark with a height, whatever its range is: overhead there is hardly any, and a
        // chart of the range would bend the shift.
        is_mapped: checked.height_m != 0.0 && !is_vague,
        is_anchor_point: false,
        is_inherited: false,
        outliers: 0,
        outliers_since: Stamp::MIN,
    };
    let (r, p_landmark) = (state.pose.rotation(), state.pose.transform(&z));
    match filter.errors {
        Errors::Robot { .. } => state.append(landmark(z), &Matrix2x3::zeros(), &covariance),
        Errors::Invariant(_) => {
            state.append(landmark(p_landmark), &Matrix2x3::zeros(), &(r * covariance * r.transpose()));
        }
        Errors::World { .. } => {
            let from_pose = by_pose(state, &p_landmark, filter.errors);
            state.append(landmark(p_landmark), &from_pose, &(r * covariance * r.transpose()));
        }
    }
    if let Some(from_calibration) = sensors.place_by_calibration(&state.mounts, checked, &z) {
        let turn = match state.coordinates {
            Coordinates::Robot => Matrix2::identity(),
            Coordinates::Invariant | Coordinates::World => state.pose.rotation(),
        };
        let of_sensor = state.calibration.sensor().filter(|(_, column)| *column < OF_ONE_KIND);
        let columns = of_sensor.map(|(k, column)| (k, turn * from_calibration.column(column)));
        state.covariance.add_to_landmark(state.landmarks.len() - 1, columns);
    }
    true
}

/// ∂(error of a new landmark at `x`)/∂(error of the pose), before the state moves on.
pub fn by_pose(state: &State, x: &Vector2<f64>, errors: Errors) -> Matrix2x3<f64> {
    let Errors::World { linearization, initialization: Initialization::Correlated, .. } = errors else {
        return Matrix2x3::zeros();
    };
    let p = match linearization {
        Linearization::Current => state.pose.p,
        Linearization::FirstEstimate | Linearization::ObservabilityConstrained => state.predicted.p,
    };
    let lever = skew(&(x - p));
    Matrix2x3::new(1.0, 0.0, lever.x, 0.0, 1.0, lever.y)
}
