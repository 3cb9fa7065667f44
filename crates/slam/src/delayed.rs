//! Delayed initialization: landmarks whose place one reading does not determine, as a range alone or a bearing alone.
//!
//! Their readings are kept, each with its viewpoint: where the base was. A viewpoint is part of the state, as two
//! points: the origin of the base, and one ahead of it. When it is added, both are exactly known in the robot frame,
//! and like any feature they take part in what motions and corrections do from then on. With o and a the points, u = (a −
//! o)/|a − o| and R = (u, Ju), a landmark at l is read as h(z), z = Rᵀ(l − o), and
//!
//! δz = Rᵀ(δl − δo) − J z uᵀJᵀ(δa − δo)/|a − o|
//!
//! in any coordinates of the error, since z depends on what points have between them alone.
//!
//! Where the landmark is follows from all its readings at once, by Gauss–Newton from several starts ([`places`]). When
//! one place explains the readings better than every other by [`MARGIN`], and is so narrow that later readings will be
//! linear over it, the landmark begins there without any prior, and the update ([`used`]) takes every reading once. What the
//! readings say beyond the place of the landmark corrects the robot's present, and all viewpoints: nothing is lost by
//! waiting. As long as two places are left, as a beacon and its mirror image for a robot that drives straight on,
//! the landmark waits.

mod places;
mod used;

use super::belief::{STRIKES, STRUCK_FOR_S};
use super::calibration::Calibration;
use super::covariance::Covariance;
use super::fixed_lag::Associated;
use super::linearize::Subject;
use super::prune::make_room;
use super::sensor::{Reading, Sensors};
use super::state::{Feature, State};
use super::step::Model;
use super::{Coordinates, DropReason, MapMode};
use lienav_base::stamp::Stamp;
use lienav_lie::{Se2, skew};
use nalgebra::{Matrix2, Matrix2x3, Vector2};
use places::{Place, places};
use serde::{Deserialize, Serialize};
use used::{trust_in, use_all};

/// By how much one place has to be more probable than every other, as a logarithm.
const MARGIN: f64 = 10.0;
/// The largest error of linearization over the place of a new landmark, in standard deviations of the reading.
const BEND: f64 = 0.15;
/// The largest standard deviation of a place that becomes a landmark, as a part of its distance: from elsewhere the
/// measurement would not be linear over a larger one.
const SPREAD: f64 = 0.04;
/// After so many readings twice as much is allowed for both, after twice as many three times: where odometry is poor and
/// the sensor good, waiting does not make a place better.
const PATIENCE: f64 = 24.0;
/// The fewest readings that tell a place: two tell it and nothing confirms them.
const FEWEST: usize = 3;
/// The most viewpoints in the state.
const VIEWPOINTS: usize = 96;
/// A landmark is given up if it was not read for so long before it had a place, s.
const FORGOTTEN_S: f64 = 60.0;
/// The variance of a landmark that nothing is known of, as a multiple of what its readings leave.
const NOTHING_KNOWN: f64 = 1e6;
/// A reading with a smaller probability of being one as its noise says is left out.
const LEAST_TRUST: f64 = 0.1;
/// From the origin of a viewpoint to the point ahead of it, m.
const ARM_M: f64 = 1.0;
/// A landmark is dropped after so many readings in a row that do not fit.
const WRONG: u8 = 30;
/// If so many others fit.
const OTHERS: usize = 2;

/// Where the base was when landmarks without a place were read.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Viewpoint {
    /// The feature at its origin, by its identity.
    origin: u32,
    /// The feature [`ARM_M`] ahead of it; `None` where no reading depends on the heading.
    ahead: Option<u32>,
    stamp: Stamp,
}

/// A landmark that waits for its place.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Waiting {
    /// The landmark, as the front end calls it.
    pub id: u32,
    sightings: Vec<Sighting>,
    /// How many readings there have to be before the place is looked for again.
    due: usize,
}

/// A reading from a viewpoint.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Sighting {
    viewpoint: Viewpoint,
    reading: Reading,
}

/// What became of a reading of a landmark that is not in the map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It is the first one.
    Begun,
    /// It waits with others, or has been used with them.
    Waits,
}

/// Whether readings of this sensor do not place a landmark.
pub fn is_placeless(sensors: &Sensors, reading: &Reading) -> bool {
    sensors.dim(reading) == 1 && !sensors.is_of_pose(reading)
}

/// Takes in a reading of a landmark that is not in the map.
///
/// # Errors
/// [`DropReason::UnknownLandmark`] for one without identity, [`DropReason::MapFull`], and [`DropReason::OutOfRange`]
/// where the sensor does not say where the landmark may be.
pub fn take(
    state: &mut State,
    model: &Model,
    id: Option<u32>,
    reading: &Reading,
    stamp: Stamp,
) -> Result<Taken, DropReason> {
    let says_where = !model.sensors.hypotheses(&state.mounts, reading).is_empty();
    let id = match id {
        _ if !says_where => return Err(DropReason::OutOfRange),
        None => return Err(DropReason::UnknownLandmark),
        Some(id) => id,
    };
    let viewpoint = viewpoint(state, stamp, model.sensors.sees_heading(&state.mounts, reading));
    let known = state.waiting.iter().position(|waiting| waiting.id == id);
    let mut waiting =
        known.map_or_else(|| Waiting { id, sightings: Vec::new(), due: FEWEST }, |at| state.waiting.swap_remove(at));
    let taken = if known.is_some() { Taken::Waits } else { Taken::Begun };
    waiting.sightings.push(Sighting { viewpoint, reading: *reading });
    waiting.forget_what_is_gone(state);
    let count = waiting.sightings.len();
    let mut place = None;
    if count >= waiting.due {
        waiting.due = count + 1 + count / 5;
        place = the_place(state, model, &waiting, reading);
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

/// To be called after each cloud: uses the readings of landmarks that another kind of reading has placed, and drops
/// what nobody waits for.
pub fn settle(state: &mut State, model: &Model, stamp: Stamp) {
    if state.viewpoints.is_empty() {
        return;
    }
    while let Some(at) = state.waiting.iter().position(|waiting| state.find(waiting.id).is_some()) {
        let mut waiting = state.waiting.swap_remove(at);
        waiting.forget_what_is_gone(state);
        let used: Vec<f64> =
            waiting.sightings.iter().map(|sighting| trust_in(state, model, &waiting, sighting)).collect();
        use_all(state, model, &waiting, &used);
    }
    tidy(state, stamp);
}

/// Drops all readings that wait, with their viewpoints.
pub fn give_up(state: &mut State) {
    state.waiting.clear();
    std::mem::take(&mut state.viewpoints).iter().for_each(|viewpoint| viewpoint.drop_points(state));
}

/// Takes note of readings that the gate has left out. A landmark that they leave for so long, while others are where they
/// were, is a wrong one or was moved, and is dropped: the next reading begins it anew. Ranges alone seldom fit before all
/// is known; of readings that say where a landmark is, fewer are enough, if others have fitted since: a robot that is
/// elsewhere than it believes finds none. Returns how many are dropped.
///
/// Call it only while the gate suspects no track loss ([`TrackLoss::is_pending`]): the measurements of a lost robot fit no
/// landmark, and say nothing against any of them.
///
/// [`TrackLoss::is_pending`]: super::track_loss::TrackLoss::is_pending
pub fn note_misfits(state: &mut State, model: &Model, gated: &[Associated], stamp: Stamp) -> u64 {
    let mut dropped = 0;
    for Associated { subject, reading, .. } in gated {
        let Subject::Feature(id) = *subject else { continue };
        // What readings say of a known map is decided elsewhere.
        if model.map.mode != MapMode::Mapping {
            continue;
        }
        let Some(i) = state.find(id) else { continue };
        let feature = &mut state.features[i];
        if feature.misfits == 0 {
            feature.misfit_since = stamp;
        }
        feature.misfits = feature.misfits.saturating_add(1);
        let (misfits, since) = (feature.misfits, feature.misfit_since);
        let fits = |other: &&Feature| !other.is_viewpoint && other.misfits == 0;
        let is_wrong = if model.sensors.dim(reading) == 1 {
            misfits >= WRONG && state.features.iter().filter(fits).count() >= OTHERS
        } else {
            let seen = |other: &&Feature| fits(other) && other.last_seen > since;
            u32::from(misfits) >= STRIKES
                && stamp.since(since) >= STRUCK_FOR_S
                && state.features.iter().filter(seen).count() >= OTHERS
        };
        if is_wrong {
            state.swap_remove(i);
            dropped += 1;
        }
    }
    dropped
}

/// The viewpoint of this instant: one that is there, or a new one.
fn viewpoint(state: &mut State, stamp: Stamp, has_heading: bool) -> Viewpoint {
    let is_there = |v: &&Viewpoint| v.stamp == stamp && v.points(state).is_some();
    let known = state.viewpoints.last().filter(is_there).copied();
    let origin = known.map_or_else(|| append_point(state, &Vector2::zeros(), stamp), |known| known.origin);
    let mut ahead = known.and_then(|known| known.ahead);
    if ahead.is_none() && has_heading {
        ahead = Some(append_point(state, &Vector2::new(ARM_M, 0.0), stamp));
    }
    let viewpoint = Viewpoint { origin, ahead, stamp };
    match state.viewpoints.last_mut().filter(|_| known.is_some()) {
        Some(last) => *last = viewpoint,
        None => state.viewpoints.push(viewpoint),
    }
    viewpoint
}

/// Adds a point that is exactly at z in the robot frame, and returns its identity.
pub fn append_point(state: &mut State, z: &Vector2<f64>, stamp: Stamp) -> u32 {
    let id = state.new_identity();
    let p = state.pose.transform(z);
    let (x, from_pose) = match state.coordinates {
        Coordinates::Robot => (*z, Matrix2x3::zeros()),
        Coordinates::Invariant => (p, Matrix2x3::zeros()),
        Coordinates::World => (p, super::state::lever(&(p - state.pose.p))),
    };
    // Corrections of a point use no chart: it was exactly known.
    let point = Feature { is_viewpoint: true, is_mapped: true, ..new_feature(state, id, x, stamp) };
    state.append(point, &from_pose, &Matrix2::zeros());
    id
}

fn new_feature(state: &State, id: u32, x: Vector2<f64>, stamp: Stamp) -> Feature {
    Feature {
        id,
        x,
        first: x,
        anchor: state.pose.p,
        is_vague: false,
        last_seen: stamp,
        observations: 1,
        wanted: stamp,
        is_mapped: false,
        is_viewpoint: false,
        is_begun: false,
        misfits: 0,
        misfit_since: Stamp::MIN,
    }
}

/// The one place where the landmark can be, if it is known well enough.
fn the_place(state: &State, model: &Model, waiting: &Waiting, latest: &Reading) -> Option<Place> {
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
    let std = latest.covariance[(0, 0)].sqrt();
    let bend = places::bend(state, &model.sensors, latest, &z, &covariance)?;
    let allowed = 1.0 + (waiting.sightings.len() as f64 / PATIENCE).floor();
    let is_narrow = covariance.trace() <= (SPREAD * allowed).powi(2) * z.norm_squared();
    (is_narrow && bend <= BEND * allowed * std).then_some(best)
}

fn append_landmark(state: &mut State, waiting: &Waiting, place: &Place, stamp: Stamp) {
    let feature =
        Feature { observations: waiting.sightings.len() as u32, ..new_feature(state, waiting.id, place.x, stamp) };
    let own = Matrix2::identity() * (NOTHING_KNOWN * place.covariance.trace());
    state.append(feature, &Matrix2x3::zeros(), &own);
}

/// Drops what nobody waits for, and every second one of the older viewpoints where there are too many.
fn tidy(state: &mut State, stamp: Stamp) {
    state.waiting.retain(|waiting| {
        waiting.sightings.last().is_some_and(|last| stamp.since(last.viewpoint.stamp) <= FORGOTTEN_S)
    });
    if state.viewpoints.len() > VIEWPOINTS {
        let mut k = 0;
        let gone: Vec<Viewpoint> = state.viewpoints[..VIEWPOINTS / 2].iter().skip(1).step_by(2).copied().collect();
        state.viewpoints.retain(|_| {
            k += 1;
            k > VIEWPOINTS / 2 || k % 2 == 1
        });
        gone.iter().for_each(|viewpoint| viewpoint.drop_points(state));
        for waiting in &mut state.waiting {
            waiting
                .sightings
                .retain(|sighting| gone.iter().all(|viewpoint| viewpoint.origin != sighting.viewpoint.origin));
            waiting.due = waiting.due.min(waiting.sightings.len() + 1 + VIEWPOINTS / 8);
        }
    }
    let sightings = || state.waiting.iter().flat_map(|waiting| &waiting.sightings);
    let mut origins: Vec<u32> = sightings().map(|sighting| sighting.viewpoint.origin).collect();
    origins.sort_unstable();
    let is_needed = |v: &Viewpoint| origins.binary_search(&v.origin).is_ok();
    let (needed, gone): (Vec<Viewpoint>, Vec<Viewpoint>) = state.viewpoints.iter().partition(|v| is_needed(v));
    state.viewpoints = needed;
    gone.iter().for_each(|viewpoint| viewpoint.drop_points(state));
}

impl Viewpoint {
    /// The indices of its points.
    fn points(&self, state: &State) -> Option<(usize, Option<usize>)> {
        let ahead = match self.ahead {
            Some(ahead) => Some(state.find(ahead)?),
            None => None,
        };
        Some((state.find(self.origin)?, ahead))
    }

    /// The pose of the base, in the frame of the features.
    fn pose(&self, state: &State) -> Option<Se2> {
        Some(pose_of(state, self.points(state)?))
    }

    fn drop_points(&self, state: &mut State) {
        for id in std::iter::once(self.origin).chain(self.ahead) {
            if let Some(i) = state.find(id) {
                state.swap_remove(i);
            }
        }
    }
}

impl Waiting {
    fn forget_what_is_gone(&mut self, state: &State) {
        self.sightings.retain(|sighting| sighting.viewpoint.points(state).is_some());
    }

    /// Whether its readings are of sensors that there are.
    pub fn is_sound(&self, sensors: &Sensors) -> bool {
        self.sightings.iter().all(|sighting| sensors.has(&sighting.reading))
    }
}

/// One reading, linearized: residual = by_landmark·δl + Σ h δ(row) + n.
struct Row {
    residual: f64,
    by_landmark: Vector2<f64>,
    /// Rows of the state, and what they do.
    entries: Vec<(usize, f64)>,
    variance: f64,
}

impl Row {
    fn along(&self, column: &[f64]) -> f64 {
        self.entries.iter().map(|(row, h)| h * column[*row]).sum()
    }

    /// What the predictions of two readings have in common, C P Cᵀ.
    fn with(&self, other: &Self, state: &State) -> f64 {
        let with = |(i, a): &(usize, f64)| {
            other.entries.iter().map(|(j, b)| a * b * state.covariance.get(*i, *j)).sum::<f64>()
        };
        self.entries.iter().map(with).sum()
    }

    /// How far the reading is to be trusted, with this variance of its residual: 0 where the gate leaves it out, and
    /// less than 1 where it may be disturbed, or is far off.
    fn trust(&self, model: &Model, reading: &Reading, variance: f64) -> f64 {
        let distance = self.residual * self.residual / variance;
        if distance.is_nan() || distance > model.gate.known(1) {
            return 0.0;
        }
        let trust = model.sensors.trust_of_one(reading, self.residual, variance);
        if trust < LEAST_TRUST { 0.0 } else { trust / model.gate.inflation(distance) }
    }
}

impl Sighting {
    /// Linearizes it for a landmark at `l`, in the frame of the features.
    fn linearize(&self, state: &State, sensors: &Sensors, l: &Vector2<f64>) -> Option<Row> {
        linearize(state, sensors, self.viewpoint.points(state)?, &self.reading, l)
    }
}

/// Linearizes a reading from the viewpoint of these two points, of a landmark at `l`.
fn linearize(
    state: &State,
    sensors: &Sensors,
    (origin, ahead): (usize, Option<usize>),
    reading: &Reading,
    l: &Vector2<f64>,
) -> Option<Row> {
    let pose = pose_of(state, (origin, ahead));
    let z = pose.transform_back(l);
    let expected = sensors.expect(&state.mounts, reading, &z, &z)?;
    let h = expected.by_landmark.row(0).transpose();
    let by_landmark = pose.rotation() * h;
    let mut entries = Vec::with_capacity(8);
    let mut by_origin = -by_landmark;
    if let Some(ahead) = ahead {
        let arm = state.features[ahead].x - state.features[origin].x;
        let by_ahead = skew(&arm) * (-h.dot(&skew(&z)) / arm.norm_squared());
        by_origin -= by_ahead;
        let row = state.covariance.row_of(ahead);
        entries.extend([(row, by_ahead.x), (row + 1, by_ahead.y)]);
    }
    let row = state.covariance.row_of(origin);
    entries.extend([(row, by_origin.x), (row + 1, by_origin.y)]);
    if let Some(by_calibration) = &expected.by_calibration {
        entries.extend(of_calibration(&state.calibration, |column| by_calibration.column(column).x));
    }
    Some(Row { residual: expected.residual.x, by_landmark, entries, variance: expected.noise[(0, 0)] })
}

/// The residual, and its derivative by the landmark and by both points, for tests.
#[cfg(test)]
pub fn linearized_from(
    state: &State,
    sensors: &Sensors,
    (origin, ahead): (usize, usize),
    reading: &Reading,
    l: &Vector2<f64>,
) -> Option<(f64, [f64; 6])> {
    let row = linearize(state, sensors, (origin, Some(ahead)), reading, l)?;
    let [a, b, c, d] = [0, 1, 2, 3].map(|k| row.entries[k].1);
    Some((row.residual, [row.by_landmark.x, row.by_landmark.y, c, d, a, b]))
}

/// The pose of the base, in the frame of the features, from its origin and the point ahead of it.
fn pose_of(state: &State, (origin, ahead): (usize, Option<usize>)) -> Se2 {
    let origin = state.features[origin].x;
    let arm = ahead.map_or_else(Vector2::x, |ahead| state.features[ahead].x - origin);
    Se2::new(origin.x, origin.y, arm.y.atan2(arm.x))
}

fn of_calibration(calibration: &Calibration, of: impl Fn(usize) -> f64) -> impl Iterator<Item = (usize, f64)> {
    calibration.sensor().map(move |(k, column)| (Covariance::calibration_row(k), of(column)))
}
