//! Where a measurement that locates its landmark is linearized, if the prior is wider than what it measures.
//!
//! A pair of pixels is far from linear in a place that is known to metres; the place that it measures, x_m, is not. With
//! h linearized there, z − h(x) ≈ z − h(x_m) − H_m (x − x_m), an update from a wide prior is linear in the landmark's
//! error, and a landmark that the estimate has behind the camera is measured all the same.

use crate::filter::Filter;
use crate::linearize::{at, linearize};
use crate::measurement::{Linearized, Measurement, RangePrior};
use crate::state::State;
use crate::state::errors::Errors;

/// A range that is measured to a lesser part of it than this is measured.
const MEASURED: f64 = 0.35;
/// The linearization at the estimate is good if at the measured place it predicts each residual to this part of the
/// noise.
const LINEAR: f64 = 0.2;

/// Linearizes at the estimate, or where the measurement has its landmark if that is out of the reach of the first.
/// Nothing of the state is different afterwards.
pub fn linearize_first(
    state: &mut State,
    measurement: &dyn Measurement,
    filter: &Filter,
    prior: &RangePrior,
) -> Option<Linearized> {
    let here = linearize(state, measurement, filter);
    let landmark = measurement.landmark().and_then(|id| state.find(id));
    let (Some(i), true, true) = (landmark, filter.is_iterated, measurement.view().is_none()) else { return here };
    let Some(located) = measurement.initialize(&at(state, &state.nav, false), prior) else { return here };
    let apart = located.place - located.sensor;
    let along = apart.dot(&(located.covariance * apart)) / apart.norm_squared();
    let is_measured = along.is_finite() && along.sqrt() < MEASURED * apart.norm();
    if !is_measured {
        return here;
    }
    let kept = std::mem::replace(&mut state.landmarks[i].position, located.place);
    let there = linearize(state, measurement, filter);
    state.landmarks[i].position = kept;
    let Some(mut there) = there else { return here };
    let error = located.place - kept;
    let error = if filter.errors == Errors::Reduced { state.nav.rotation.rotate_back(&error) } else { error };
    if let Some(here) = here {
        let predicted = here.residual - here.by_landmark * error;
        let is_linear =
            (0..here.dim).all(|a| (predicted[a] - there.residual[a]).abs() < LINEAR * here.noise[(a, a)].sqrt());
        if is_linear {
            return Some(here);
        }
    }
    there.residual += there.by_landmark * error;
    Some(there)
}
