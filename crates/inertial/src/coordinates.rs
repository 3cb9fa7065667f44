//! In which coordinates an update corrects landmarks.
//!
//! The errors of landmarks relative to the body have two sources. Where ranges are uncertain, they lie along the lines of
//! sight, and bearing and log range are the coordinates in which they are Gaussian. Where the body may have moved and
//! turned in an unknown manner since the last frame, as when samples are missing, all landmarks have a rigid motion in
//! common: that is Gaussian on the group. A turn by θ is off by θ²/2 in the other coordinates, which matters where it is
//! more than a measurement can be wrong by. To first order both are the same errors, so that each update may use its own.

use crate::chart::Chart;
use crate::filter::Filter;
use crate::measurement::Linearized;
use crate::state::State;
use crate::state::errors::Errors;

/// What is less than this part of the noise of a measurement does not matter.
const LINEAR: f64 = 0.2;

/// The filter with the chart of this update: on the group where the landmarks that it measures may have turned about the
/// body so much since the last that this is seen beyond first order.
pub fn of_update(state: &State, filter: &Filter, measured: &[Linearized]) -> Filter {
    if filter.errors != Errors::Left || filter.chart == Chart::Cartesian {
        return *filter;
    }
    let (mut turned, mut noise) = (0.0, 0.0);
    for one in measured {
        let Some(i) = one.landmark else { continue };
        let r = state.landmarks[i].position - state.nav.position;
        let square = r.norm_squared();
        let row = state.covariance.row_of(i);
        let own = state.covariance.block::<3, 3>(row, row);
        let slope = one.by_landmark.row(0).norm() * square.sqrt();
        if square > 0.0 && slope > 0.0 {
            turned += 0.5 * (own.trace() - r.dot(&(own * r)) / square) / square;
            noise += one.noise[(0, 0)].sqrt() / slope;
        }
    }
    if 0.5 * turned > LINEAR * noise { Filter { chart: Chart::Cartesian, ..*filter } } else { *filter }
}
