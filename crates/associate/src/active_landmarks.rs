//! Entering: a known landmark comes into the state when a scan may have a measurement of it, and leaves when others are
//! nearer.
//!
//! The place p_i of a known landmark is independent of the pose, Cov(δp_i) = Σ_i. In the errors of the state,
//!
//! - world coordinates, and frozen landmarks in any: δp_i itself;
//! - invariant coordinates: e_i = δp_i − [I, J p_i] ξ;
//! - robot coordinates: δz_i = R(θ)ᵀ(δp_i − δp − J(p_i − p) δθ).
//!
//! Places of a map that a robot has made are not independent of each other: a landmark enters given those near it that
//! are there ([`Conditional`]).
//!
//! What a landmark has come to have in common with the pose while it was in the state is given up when it leaves. The
//! one not wanted for the longest time leaves first: its share in the error of the pose has faded since, as the
//! robot has seen others (docs/localization.md has the measurement).

use crate::associate::Evidence;
use crate::bounds::BOUNDS;
use lienav_base::stamp::Stamp;
use lienav_map::Conditional;
use lienav_planar::associated::Subject;
use lienav_planar::belief::LandmarkStatus;
use lienav_planar::checked::CheckedMeasurement;
use lienav_planar::config::MapMode;
use lienav_planar::filter::Coordinates;
use lienav_planar::known_map::{Known, KnownMap};
use lienav_planar::model::Model;
use lienav_planar::neighbourhood::Neighbourhood;
use lienav_planar::propagate::Rows;
use lienav_planar::state::{State, StateLandmark, lever};
use nalgebra::{Matrix2, Matrix2x3, Vector2};

/// Brings the known landmarks into the state that the measurements of a scan name, or may be of. `rows` are those of
/// the last motion: its noise is part of the error of the pose, and of theirs.
pub fn activate(state: &mut State, model: &Model, (evidence, stamp): (Evidence<'_>, Stamp), rows: &mut Rows) {
    if model.map.mode == MapMode::Mapping || model.known.is_empty() {
        return;
    }
    let before = state.landmarks.len();
    activate_wanted(state, model, evidence, stamp);
    if !state.is_frozen {
        for i in before..state.landmarks.len() {
            rows.add_landmark(&by_pose(state, &state.in_map(i)));
        }
    }
}

fn activate_wanted(state: &mut State, model: &Model, evidence: Evidence<'_>, stamp: Stamp) {
    match evidence {
        Evidence::Observed { kind, measurements, .. } => {
            for measurement in measurements {
                if let Some(id) = measurement.id {
                    want(state, &model.known, id, stamp);
                } else if let Ok(checked) = model.sensors.read(kind, measurement) {
                    activate_near(state, model, &checked, stamp);
                }
            }
        }
        Evidence::Associated(checked_measurements) => {
            for checked in checked_measurements {
                if let Subject::Landmark(id) = checked.subject {
                    want(state, &model.known, id, stamp);
                }
            }
        }
    }
}

/// Brings all known landmarks into the state: their errors are correlated, and it has room for them.
pub fn activate_all(state: &mut State, known: &KnownMap, stamp: Stamp) {
    (0..known.len()).for_each(|k| want(state, known, known.landmarks()[k].landmark.id, stamp));
}

/// A landmark is wanted: it is in the state afterwards, if it is known.
fn want(state: &mut State, known: &KnownMap, id: u32, stamp: Stamp) {
    if let Some(i) = state.find(id) {
        state.landmarks[i].wanted = stamp;
    } else if let Some(k) = known.find(id).filter(|k| known.landmarks()[*k].belief.status != LandmarkStatus::Moved) {
        append(state, known, k, stamp);
    }
}

/// The landmarks that a measurement without identity may be of are wanted; the nearest of them, if there are too many.
fn activate_near(state: &mut State, model: &Model, checked: &CheckedMeasurement, stamp: Stamp) {
    if model.sensors.is_of_pose(checked) {
        return;
    }
    let Some(Neighbourhood { centre, radius }) = Neighbourhood::of(state, model, checked) else { return };
    let mut nearest = [(f64::INFINITY, usize::MAX); BOUNDS.candidates];
    model.known.within(&centre, radius, |k, square| {
        if model.known.landmarks()[k].belief.status != LandmarkStatus::Ok {
            return;
        }
        let place = nearest.partition_point(|(other, index)| (*other, *index) < (square, k));
        if place < BOUNDS.candidates {
            nearest[place..].rotate_right(1);
            nearest[place] = (square, k);
        }
    });
    for (_, k) in nearest.into_iter().take_while(|(square, _)| square.is_finite()) {
        want(state, &model.known, model.known.landmarks()[k].landmark.id, stamp);
    }
}

/// Appends landmark `k` of the known map to the state.
fn append(state: &mut State, known: &KnownMap, k: usize, stamp: Stamp) {
    let Known { landmark, last_seen, measurements, belief: _ } = &known.landmarks()[k];
    let (p, covariance) = (landmark.position, landmark.covariance);
    let landmark = |x: Vector2<f64>| StateLandmark {
        id: landmark.id,
        x,
        first: x,
        anchor: state.pose.p,
        is_vague: false,
        last_seen: *last_seen,
        measurements: *measurements,
        wanted: stamp,
        is_mapped: true,
        is_anchor_point: false,
        is_inherited: false,
        outliers: 0,
        outliers_since: Stamp::MIN,
    };
    // In which axes the errors of the places stand in the state.
    let (x, axes) = match state.coordinates {
        Coordinates::Robot => (state.pose.transform_back(&p), state.pose.rotation().transpose()),
        Coordinates::World | Coordinates::Invariant => (p, Matrix2::identity()),
    };
    let mut from_pose = by_pose(state, &p);
    let landmark_at = |place: usize| state.find(known.landmarks()[place].landmark.id);
    let near = known.near();
    let given =
        near.and_then(|near| Conditional::new(known.landmarks(), near, k, |place| landmark_at(place).is_some()));
    if let Some(given) = given {
        let mut sources = [(0, Matrix2::zeros()); Conditional::MOST];
        for (source, (place, factor)) in sources.iter_mut().zip(given.sources()) {
            *source = (landmark_at(*place).unwrap_or(0), axes * factor * axes.transpose());
            from_pose -= source.1 * by_pose(state, &state.in_map(source.0));
        }
        let sources = &sources[..given.sources().len()];
        state.append_given(landmark(x), sources, &from_pose, &(axes * given.rest * axes.transpose()));
        return;
    }
    state.append(landmark(x), &from_pose, &(axes * covariance * axes.transpose()));
    if known.has_joint() {
        let new = state.landmarks.len() - 1;
        for i in 0..new {
            if let Some(other) = known.find(state.landmarks[i].id) {
                let block = axes * known.shared(k, other) * axes.transpose();
                state.covariance.add_to_landmark_block(new, i, &block);
            }
        }
    }
}

/// What the error of the pose does to that of a landmark at `p` in the map, whose own place is independent of it.
fn by_pose(state: &State, p: &Vector2<f64>) -> Matrix2x3<f64> {
    match state.coordinates {
        Coordinates::Robot => -state.pose.rotation().transpose() * lever(&(p - state.pose.p)),
        Coordinates::Invariant if !state.is_frozen => -lever(p),
        Coordinates::World | Coordinates::Invariant => Matrix2x3::zeros(),
    }
}

/// How many landmarks of a known map the state holds at most.
pub fn most_active(model: &Model) -> usize {
    let workspace = model.map.max_features;
    match model.map.mode {
        MapMode::Mapping => usize::MAX,
        // What was learned of one landmark concerns the others, and is lost where it leaves.
        MapMode::Extend => workspace - workspace / 8,
        MapMode::Localization if model.known.is_correlated() => workspace,
        MapMode::Localization => model.map.active_features.min(workspace),
    }
}

/// Removes landmarks from the state that were not wanted for the longest time, where there are too many, and writes
/// what was learned of them to the known map. Those that were wanted since `since` stay. An eighth is removed at once,
/// so that the search for them is rare.
pub fn leave(state: &mut State, model: &mut Model, since: Stamp, order: &mut Vec<(Stamp, u32)>) {
    let most = most_active(model);
    if state.landmarks.len() <= most {
        return;
    }
    order.clear();
    order.extend(state.landmarks.iter().map(|landmark| (landmark.wanted.max(landmark.last_seen), landmark.id)));
    let excess = (state.landmarks.len() - (most - most / 8)).min(order.len());
    if excess < order.len() {
        order.select_nth_unstable(excess);
    }
    for (_, id) in order[..excess].iter().filter(|(wanted, _)| *wanted < since) {
        if let Some(i) = state.find(*id) {
            keep(state, model, i);
            state.swap_remove(i);
        }
    }
}

/// Removes all landmarks from the state, and writes what was learned of them to the known map.
pub fn leave_all(state: &mut State, model: &mut Model) {
    for i in (0..state.landmarks.len()).rev() {
        keep(state, model, i);
        state.swap_remove(i);
    }
}

/// Writes what is known of landmark `i` to the known map.
fn keep(state: &State, model: &mut Model, i: usize) {
    if state.landmarks[i].is_anchor_point {
        return;
    }
    let landmark = state.landmark(i);
    let is_known = model.known.find(landmark.id).is_some();
    if model.map.mode == MapMode::Localization && is_known {
        // The map is as it was.
        model.known.note_seen(&landmark);
    } else {
        model.known.write(&landmark);
    }
}
