//! Points in the state that are no landmarks: where the base was.

use crate::filter::Coordinates;
use crate::state::{State, StateLandmark, lever};
use lienav_base::stamp::Stamp;
use nalgebra::Matrix2;
use nalgebra::Matrix2x3;
use nalgebra::Vector2;
/// Adds a point that is exactly at z in the robot frame, and returns its identity.
pub fn append_point(state: &mut State, z: &Vector2<f64>, stamp: Stamp) -> u32 {
    let id = state.new_identity();
    let p = state.pose.transform(z);
    let (x, from_pose) = match state.coordinates {
        Coordinates::Robot => (*z, Matrix2x3::zeros()),
        Coordinates::Invariant => (p, Matrix2x3::zeros()),
        Coordinates::World => (p, lever(&(p - state.pose.p))),
    };
    // Corrections of a point use no chart: it was exactly known.
    let point = StateLandmark { is_anchor_point: true, is_mapped: true, ..new_landmark(state, id, x, stamp) };
    state.append(point, &from_pose, &Matrix2::zeros());
    id
}

/// A landmark at `x`, m, in the coordinates of the state, that one measurement at `stamp` has given.
pub fn new_landmark(state: &State, id: u32, x: Vector2<f64>, stamp: Stamp) -> StateLandmark {
    StateLandmark {
        id,
        x,
        first: x,
        anchor: state.pose.p,
        is_vague: false,
        last_seen: stamp,
        measurements: 1,
        wanted: stamp,
        is_mapped: false,
        is_anchor_point: false,
        is_inherited: false,
        outliers: 0,
        outliers_since: Stamp::MIN,
    }
}
