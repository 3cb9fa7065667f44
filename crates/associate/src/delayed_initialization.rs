//! Delayed initialization: landmarks whose place one measurement does not determine, as a range alone or a bearing
//! alone.
//!
//! Their measurements are kept, each with its anchor pose: where the base was. An anchor pose is part of the state, as
//! two points: the origin of the base, and one ahead of it. When it is added, both are exactly known in the robot
//! frame, and like any landmark they take part in what motions and corrections do from then on. With o and a the
//! points, u = (a − o)/|a − o| and R = (u, Ju), a landmark at l is read as h(z), z = Rᵀ(l − o), and
//!
//! δz = Rᵀ(δl − δo) − J z uᵀJᵀ(δa − δo)/|a − o|
//!
//! in any coordinates of the error, since z depends on what points have between them alone.
//!
//! Where the landmark is follows from all its measurements at once, by Gauss–Newton from several starts (`places`).
//! When one place explains the measurements better than every other by `MARGIN`, and is so narrow that later
//! measurements will be linear over it, the landmark begins there without any prior, and the update (`used`) takes
//! every measurement once. What the measurements say beyond the place of the landmark corrects the robot's present, and
//! all anchor poses: nothing is lost by waiting. As long as two places are left, as a beacon and its mirror image for a
//! robot that drives straight on, the landmark waits.

mod places;
pub mod row;
mod used;

use crate::delayed_initialization::row::points;
use crate::thresholds::CONFIRMING;
use lienav_base::stamp::Stamp;
use lienav_planar::associated::{Associated, Subject};
use lienav_planar::belief::{STRIKES, STRUCK_FOR_S};
use lienav_planar::checked::CheckedMeasurement;
use lienav_planar::config::MapMode;
use lienav_planar::filter::Coordinates;
use lienav_planar::model::Model;
use lienav_planar::output::DropReason;
use lienav_planar::prune::make_room;
use lienav_planar::sensor::Sensors;
use lienav_planar::state::points::{append_point, new_landmark};
use lienav_planar::state::waiting::{AnchorPose, Sighting, Waiting};
use lienav_planar::state::{State, StateLandmark};
use nalgebra::{Matrix2, Matrix2x3, Vector2};
use places::{Place, places};
use used::{trust_in, use_all};

/// By how much one place has to be more probable than every other, as a logarithm.
const MARGIN: f64 = 10.0;
/// The largest error of linearization over the place of a new landmark, in standard deviations of the measurement.
const BEND: f64 = 0.15;
/// The largest standard deviation of a place that becomes a landmark, as a part of its distance: from elsewhere the
/// measurement would not be linear over a larger one.
const SPREAD: f64 = 0.04;
/// After so many measurements twice as much is allowed for both, after twice as many three times: where odometry is
/// poor and the sensor good, waiting does not make a place better.
const PATIENCE: f64 = 24.0;
/// The most anchor poses in the state.
const ANCHOR_POSES: usize = 96;
/// A landmark is given up if it was not read for so long before it had a place, s.
const FORGOTTEN_S: f64 = 60.0;
/// The variance of a landmark that nothing is known of, as a multiple of what its measurements leave.
const NOTHING_KNOWN: f64 = 1e6;
/// From the origin of an anchor pose to the point ahead of it, m.
const ARM_M: f64 = 1.0;
/// A landmark is dropped after so many measurements in a row that do not fit.
const WRONG: u8 = 30;
/// If so many others fit.
const OTHERS: usize = 2;

/// What became of a measurement of a landmark that is not in the map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It is the first one.
    Initialized,
    /// It waits with others, or has been used with them.
    Waits,
}

/// Whether measurements of this sensor do not place a landmark.
pub fn is_placeless(sensors: &Sensors, checked: &CheckedMeasurement) -> bool {
    sensors.dim(checked) == 1 && !sensors.is_of_pose(checked)
}

/// Takes in a measurement of a landmark that is not in the map.
///
/// # Errors
/// [`DropReason::UnknownLandmark`] for one without identity, [`DropReason::MapFull`], and [`DropReason::OutOfRange`]
/// where the sensor does not say where the landmark may be.
pub fn take(
    state: &mut State,
    model: &Model,
    id: Option<u32>,
    checked: &CheckedMeasurement,
    stamp: Stamp,
) -> Result<Taken, DropReason> {
    let says_where = !model.sensors.hypotheses(&state.mounts, checked).is_empty();
    let id = match id {
        _ if !says_where => return Err(DropReason::OutOfRange),
        None => return Err(DropReason::UnknownLandmark),
        Some(id) => id,
    };
    let anchor_pose = anchor_pose(state, stamp, model.sensors.sees_heading(&state.mounts, checked));
    let known = state.waiting.iter().position(|waiting| waiting.id == id);
    let mut waiting = known
        .map_or_else(|| Waiting { id, sightings: Vec::new(), due: CONFIRMING }, |at| state.waiting.swap_remove(at));
    let taken = if known.is_some() { Taken::Waits } else { Taken::Initialized };
    waiting.sightings.push(Sighting { anchor_pose, measurement: *checked });
    forget_what_is_gone(&mut waiting, state);
    let count = waiting.sightings.len();
    let mut place = None;
    if count >= waiting.due {
        waiting.due = count + 1 + count / 5;
        place = the_place(state, model, &waiting, checked);
    }
    let full = match place {
        None => false,
        Some(place) if make_room(state, &model.map, stamp) => {
            append_landmark(state, &waiting, &place, stamp);
            use_all(state, model, &waiting, &place.used);
            return Ok(taken);
        }
        Some(_) => true,
    };
    state.waiting.push(waiting);
    if full { Err(DropReason::MapFull) } else { Ok(taken) }
}

/// To be called after each scan: uses the measurements of landmarks that another kind of measurement has placed, and
/// drops what nobody waits for.
pub fn settle(state: &mut State, model: &Model, stamp: Stamp) {
    if state.anchor_poses.is_empty() {
        return;
    }
    while let Some(at) = state.waiting.iter().position(|waiting| state.find(waiting.id).is_some()) {
        let mut waiting = state.waiting.swap_remove(at);
        forget_what_is_gone(&mut waiting, state);
        let used: Vec<f64> =
            waiting.sightings.iter().map(|sighting| trust_in(state, model, &waiting, sighting)).collect();
        use_all(state, model, &waiting, &used);
    }
    tidy(state, stamp);
}

/// Drops all measurements that wait, with their anchor poses.
pub fn give_up(state: &mut State) {
    state.waiting.clear();
    std::mem::take(&mut state.anchor_poses).iter().for_each(|anchor_pose| drop_points(anchor_pose, state));
}

/// Takes note of measurements that the gate has left out. A landmark that they leave for so long, while others are
/// where they were, is a wrong one or was moved, and is dropped: the next measurement begins it anew. Ranges alone
/// seldom fit before all is known; of measurements that say where a landmark is, fewer are enough, if others have
/// fitted since: a robot that is elsewhere than it believes finds none. Returns how many are dropped.
///
/// Call it only while the gate suspects no track loss ([`TrackLoss::is_pending`]): the measurements of a lost robot fit
/// no landmark, and say nothing against any of them.
///
/// [`TrackLoss::is_pending`]: crate::track_loss::TrackLoss::is_pending
pub fn note_outliers(state: &mut State, model: &Model, gated: &[Associated], stamp: Stamp) -> u64 {
    let mut dropped = 0;
    for Associated { subject, measurement: checked, .. } in gated {
        let Subject::Landmark(id) = *subject else { continue };
        // What measurements say of a known map is decided elsewhere.
        if model.map.mode != MapMode::Mapping {
            continue;
        }
        let Some(i) = state.find(id) else { continue };
        let landmark = &mut state.landmarks[i];
        if landmark.outliers == 0 {
            landmark.outliers_since = stamp;
        }
        landmark.outliers = landmark.outliers.saturating_add(1);
        let (outliers, since) = (landmark.outliers, landmark.outliers_since);
        let fits = |other: &&StateLandmark| !other.is_anchor_point && other.outliers == 0;
        let is_wrong = if model.sensors.dim(checked) == 1 {
            outliers >= WRONG && state.landmarks.iter().filter(fits).count() >= OTHERS
        } else {
            let seen = |other: &&StateLandmark| fits(other) && other.last_seen > since;
            u32::from(outliers) >= STRIKES
                && stamp.since(since) >= STRUCK_FOR_S
                && state.landmarks.iter().filter(seen).count() >= OTHERS
        };
        if is_wrong {
            state.swap_remove(i);
            dropped += 1;
        }
    }
    dropped
}

/// The anchor pose of this instant: one that is there, or a new one.
fn anchor_pose(state: &mut State, stamp: Stamp, has_heading: bool) -> AnchorPose {
    let is_there = |v: &&AnchorPose| v.stamp == stamp && points(v, state).is_some();
    let known = state.anchor_poses.last().filter(is_there).copied();
    let origin = known.map_or_else(|| append_point(state, &Vector2::zeros(), stamp), |known| known.origin);
    let mut ahead = known.and_then(|known| known.ahead);
    if ahead.is_none() && has_heading {
        ahead = Some(append_point(state, &Vector2::new(ARM_M, 0.0), stamp));
    }
    let anchor_pose = AnchorPose { origin, ahead, stamp };
    match state.anchor_poses.last_mut().filter(|_| known.is_some()) {
        Some(last) => *last = anchor_pose,
        None => state.anchor_poses.push(anchor_pose),
    }
    anchor_pose
}

/// The one place where the landmark can be, if it is known well enough.
fn the_place(state: &State, model: &Model, waiting: &Waiting, latest: &CheckedMeasurement) -> Option<Place> {
    let mut all = places(state, model, &waiting.sightings);
    all.sort_by(|a, b| b.evidence.total_cmp(&a.evidence));
    let best = all.first()?.clone();
    if !best.is_settled || all.get(1).is_some_and(|second| best.evidence - second.evidence < MARGIN) {
        return None;
    }
    let (z, covariance) = match state.coordinates {
        Coordinates::Robot => (best.x, best.covariance),
        Coordinates::World | Coordinates::Invariant => {
            let back = state.pose.rotation().transpose();
            (state.pose.transform_back(&best.x), back * best.covariance * back.transpose())
        }
    };
    let std = latest.noise()[(0, 0)].sqrt();
    let bend = places::bend(state, &model.sensors, latest, &z, &covariance)?;
    let allowed = 1.0 + (waiting.sightings.len() as f64 / PATIENCE).floor();
    let is_narrow = covariance.trace() <= (SPREAD * allowed).powi(2) * z.norm_squared();
    (is_narrow && bend <= BEND * allowed * std).then_some(best)
}

fn append_landmark(state: &mut State, waiting: &Waiting, place: &Place, stamp: Stamp) {
    let landmark = StateLandmark {
        measurements: waiting.sightings.len() as u32,
        ..new_landmark(state, waiting.id, place.x, stamp)
    };
    let own = Matrix2::identity() * (NOTHING_KNOWN * place.covariance.trace());
    state.append(landmark, &Matrix2x3::zeros(), &own);
}

/// Drops what nobody waits for, and every second one of the older anchor poses where there are too many.
fn tidy(state: &mut State, stamp: Stamp) {
    state.waiting.retain(|waiting| {
        waiting.sightings.last().is_some_and(|last| stamp.since(last.anchor_pose.stamp) <= FORGOTTEN_S)
    });
    if state.anchor_poses.len() > ANCHOR_POSES {
        let mut k = 0;
        let gone: Vec<AnchorPose> = state.anchor_poses[..ANCHOR_POSES / 2].iter().skip(1).step_by(2).copied().collect();
        state.anchor_poses.retain(|_| {
            k += 1;
            k > ANCHOR_POSES / 2 || k % 2 == 1
        });
        gone.iter().for_each(|anchor_pose| drop_points(anchor_pose, state));
        for waiting in &mut state.waiting {
            waiting
                .sightings
                .retain(|sighting| gone.iter().all(|anchor_pose| anchor_pose.origin != sighting.anchor_pose.origin));
            waiting.due = waiting.due.min(waiting.sightings.len() + 1 + ANCHOR_POSES / 8);
        }
    }
    let sightings = || state.waiting.iter().flat_map(|waiting| &waiting.sightings);
    let mut origins: Vec<u32> = sightings().map(|sighting| sighting.anchor_pose.origin).collect();
    origins.sort_unstable();
    let is_needed = |v: &AnchorPose| origins.binary_search(&v.origin).is_ok();
    let (needed, gone): (Vec<AnchorPose>, Vec<AnchorPose>) = state.anchor_poses.iter().partition(|v| is_needed(v));
    state.anchor_poses = needed;
    gone.iter().for_each(|anchor_pose| drop_points(anchor_pose, state));
}

/// Removes the points of an anchor pose from the state.
fn drop_points(anchor_pose: &AnchorPose, state: &mut State) {
    for id in std::iter::once(anchor_pose.origin).chain(anchor_pose.ahead) {
        if let Some(i) = state.find(id) {
            state.swap_remove(i);
        }
    }
}

/// Drops the measurements whose anchor pose is no longer in the state.
fn forget_what_is_gone(waiting: &mut Waiting, state: &State) {
    waiting.sightings.retain(|sighting| points(&sighting.anchor_pose, state).is_some());
}
