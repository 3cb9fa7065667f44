//! Landmarks in the map, whatever the pose: extracted from a state, given to another one, and moved as one.
//!
//! In left errors the world error of a landmark is δp_i = e_i + ξ_p − p̂_i^ ξ_R. A state that is given a map has
//! e_i = δp_i − ξ_p + p̂_i^ ξ_R with its own ξ and the δp_i of the map, which are independent of it.

use lienav_inertial::covariance::{NAV, NavMatrix};
use lienav_inertial::filter::Filter;
use lienav_inertial::state::State;
use lienav_inertial::state::errors::{Errors, POSITION, ROTATION};
use lienav_inertial::step::append_mapped;
use lienav_lie::{LieGroup, Se3, So3, hat};
use nalgebra::{DMatrix, Matrix3, SMatrix, Vector3};
use serde::{Deserialize, Serialize};

/// A landmark of a map.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MapLandmark {
    /// Its identity.
    pub id: u64,
    /// m, in the map.
    pub position: [f64; 3],
}

/// Landmarks with their joint covariance.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Map3d {
    /// The landmarks.
    pub landmarks: Vec<MapLandmark>,
    /// Joint covariance of their positions, m²: the lower triangle, row by row.
    pub covariance: Vec<f64>,
}

/// A map that cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MapError {
    /// Text that is no map.
    #[error("no map: {0}")]
    Text(String),
    /// Numbers that do not fit together.
    #[error("{landmarks} landmarks need {needed} numbers of covariance, and the map has {found}")]
    Size {
        /// How many landmarks there are.
        landmarks: usize,
        /// How many numbers of covariance they need.
        needed: usize,
        /// How many there are.
        found: usize,
    },
    /// A number that is not finite or absurd, an identity twice, or an invalid covariance.
    #[error("landmark {0}: a number is not finite, the identity stands twice, or the covariance is invalid")]
    Landmark(u64),
    /// More landmarks than any state has room for: their covariance would take minutes to check.
    #[error("{0} landmarks; a map has at most {MOST_LANDMARKS}")]
    Large(usize),
    /// More landmarks than the state has room for.
    #[error("{0} landmarks, and map.max_landmarks is {1}: raise it")]
    TooMany(usize, usize),
}

/// The greatest `map.max_landmarks`.
const MOST_LANDMARKS: usize = 1000;
/// Farther landmarks are a mistake, m.
const FARTHEST_M: f64 = 1e6;

impl Map3d {
    /// Places that are known independently of each other, with the covariance of each, m².
    pub fn independent(places: impl IntoIterator<Item = (u64, Vector3<f64>, Matrix3<f64>)>) -> Self {
        let all: Vec<_> = places.into_iter().collect();
        let mut covariance = DMatrix::zeros(3 * all.len(), 3 * all.len());
        for (k, (_, _, own)) in all.iter().enumerate() {
            covariance.fixed_view_mut::<3, 3>(3 * k, 3 * k).copy_from(own);
        }
        let landmark =
            |(id, place, _): &(u64, Vector3<f64>, Matrix3<f64>)| MapLandmark { id: *id, position: (*place).into() };
        Self { landmarks: all.iter().map(landmark).collect(), covariance: lower(&covariance) }
    }

    /// The landmarks of a state.
    pub fn of(state: &State, filter: &Filter) -> Self {
        let points: Vec<usize> = (0..state.landmarks.len()).filter(|i| state.landmarks[*i].is_point()).collect();
        let n = state.covariance.dim();
        // δp of all landmarks by the errors of the state: those of the filter's coordinates, by the left ones.
        let mut by_state = DMatrix::zeros(3 * points.len(), n);
        for (k, i) in points.iter().enumerate() {
            let place = &state.landmarks[*i].position;
            let (by_own, by_nav) = to_world(state, place, filter);
            by_state.fixed_view_mut::<3, NAV>(3 * k, 0).copy_from(&by_nav);
            by_state.fixed_view_mut::<3, 3>(3 * k, state.covariance.row_of(*i)).copy_from(&by_own);
        }
        let covariance = &by_state * state.covariance.to_matrix() * by_state.transpose();
        let landmark = |i: &usize| {
            let one = &state.landmarks[*i];
            MapLandmark { id: one.id, position: one.position.into() }
        };
        Self { landmarks: points.iter().map(landmark).collect(), covariance: lower(&covariance) }
    }

    /// Reads a map from JSON.
    ///
    /// # Errors
    /// [`MapError`].
    pub fn from_json(text: &str) -> Result<Self, MapError> {
        let map: Self = serde_json::from_str(text).map_err(|error| MapError::Text(error.to_string()))?;
        map.check()?;
        Ok(map)
    }

    /// As JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Whether the numbers fit together.
    ///
    /// # Errors
    /// [`MapError`].
    pub fn check(&self) -> Result<(), MapError> {
        if self.landmarks.len() > MOST_LANDMARKS {
            return Err(MapError::Large(self.landmarks.len()));
        }
        let rows = 3 * self.landmarks.len();
        let needed = rows * (rows + 1) / 2;
        if self.covariance.len() != needed {
            let (landmarks, found) = (self.landmarks.len(), self.covariance.len());
            return Err(MapError::Size { landmarks, needed, found });
        }
        let mut seen = std::collections::BTreeSet::new();
        for (k, landmark) in self.landmarks.iter().enumerate() {
            let is_near = landmark.position.iter().all(|x| x.abs() < FARTHEST_M);
            let own = self.block(k, k);
            let is_valid = own.iter().all(|x| x.abs() < FARTHEST_M) && (0..3).all(|a| own[(a, a)] > 0.0);
            if !(is_near && is_valid && seen.insert(landmark.id)) {
                return Err(MapError::Landmark(landmark.id));
            }
        }
        let is_finite = self.covariance.iter().all(|x| x.is_finite());
        match self.landmarks.first() {
            Some(first) if !is_finite || self.matrix().cholesky().is_none() => Err(MapError::Landmark(first.id)),
            _ => Ok(()),
        }
    }

    fn number(&self, i: usize, j: usize) -> f64 {
        let (i, j) = (i.max(j), i.min(j));
        self.covariance.get(i * (i + 1) / 2 + j).copied().unwrap_or(0.0)
    }

    fn matrix(&self) -> DMatrix<f64> {
        let rows = 3 * self.landmarks.len();
        DMatrix::from_fn(rows, rows, |i, j| self.number(i, j))
    }

    /// Joint covariance of landmarks `i` and `j`, m².
    pub fn block(&self, i: usize, j: usize) -> Matrix3<f64> {
        Matrix3::from_fn(|a, b| self.number(3 * i + a, 3 * j + b))
    }

    fn is_independent(&self, i: usize) -> bool {
        (0..i).all(|j| self.block(i, j).iter().all(|x| *x == 0.0))
    }

    /// Gives all landmarks to a state that has none.
    pub fn append_to(&self, state: &mut State, filter: &Filter) {
        let first = state.landmarks.len();
        for (i, landmark) in self.landmarks.iter().enumerate() {
            let place = Vector3::from(landmark.position);
            append_mapped(state, landmark.id, place, &self.block(i, i), filter);
            if self.is_independent(i) {
                continue;
            }
            // What this landmark shares with those before it beside the pose.
            let own = world_axes(state, filter);
            for j in 0..i {
                let (row, column) = (state.covariance.row_of(first + i), state.covariance.row_of(first + j));
                let shared = state.covariance.block::<3, 3>(row, column) + own * self.block(i, j) * own.transpose();
                state.covariance.set(row, column, &shared);
            }
        }
    }
}

/// The covariance of landmark `i` in the map, m².
pub fn own_covariance(state: &State, i: usize, filter: &Filter) -> Matrix3<f64> {
    let (by_own, by_nav) = to_world(state, &state.landmarks[i].position, filter);
    let (p, row) = (&state.covariance, state.covariance.row_of(i));
    let shared = by_own * p.block::<3, NAV>(row, 0) * by_nav.transpose();
    let own = by_own * p.block::<3, 3>(row, row) * by_own.transpose() + by_nav * p.nav() * by_nav.transpose();
    let sum = own + shared + shared.transpose();
    0.5 * (sum + sum.transpose())
}

/// Standard deviation of landmark `i` relative to the body, all axes together, m.
pub fn relative_sigma(state: &State, i: usize, filter: &Filter) -> f64 {
    let (p, row) = (&state.covariance, state.covariance.row_of(i));
    let own = p.block::<3, 3>(row, row).trace();
    let variance = match filter.errors {
        Errors::Left | Errors::Reduced => own,
        Errors::Additive => {
            let (place, shared) = (p.block::<3, 3>(POSITION, POSITION), p.block::<3, 3>(row, POSITION));
            own + place.trace() - 2.0 * shared.trace()
        }
    };
    variance.max(0.0).sqrt()
}

/// The axes in which errors of landmarks are, from those of the world.
fn world_axes(state: &State, filter: &Filter) -> Matrix3<f64> {
    match filter.errors {
        Errors::Reduced => state.nav.rotation.matrix().transpose(),
        Errors::Left | Errors::Additive => Matrix3::identity(),
    }
}

/// δp of a landmark by its own error and by that of the navigation state, both in the coordinates of the filter.
fn to_world(state: &State, place: &Vector3<f64>, filter: &Filter) -> (Matrix3<f64>, SMatrix<f64, 3, NAV>) {
    let (own, by_nav) = filter.errors.landmark_from_left(&state.nav, place);
    // x = A e + C nav, so that e = Aᵀ (x − C nav); A is a rotation.
    let mut of_left = SMatrix::<f64, 3, NAV>::zeros();
    of_left.fixed_view_mut::<3, 3>(0, ROTATION).copy_from(&-hat(place));
    of_left.fixed_view_mut::<3, 3>(0, POSITION).fill_diagonal(1.0);
    let back = own.transpose();
    (back, of_left * filter.errors.from_left_inverse(&state.nav) - back * by_nav)
}

/// Covariance of a pose as ROS has it, position and rotation about the axes of the world, as variances that matter for a
/// heading and a place: the place, and the rotation about the vertical.
fn heading_and_place(covariance: &nalgebra::Matrix6<f64>) -> nalgebra::Matrix4<f64> {
    const ROWS: [usize; 4] = [0, 1, 2, 5];
    nalgebra::Matrix4::from_fn(|i, j| covariance[(ROWS[i], ROWS[j])])
}

/// Moves body and landmarks as one, by a turn about the vertical and a shift, so that the body is at this position and
/// has this heading, with this covariance. What is known of everything else relative to the body stays.
pub fn place(state: &mut State, to: &Se3, covariance: &nalgebra::Matrix6<f64>, filter: &Filter) {
    if filter.errors == Errors::Additive {
        // Differences in the world do not say how places lie relative to the body: the map begins again.
        (0..state.landmarks.len()).rev().for_each(|i| state.remove(i));
    }
    let turn = So3::exp(&(Vector3::z() * heading_between(&state.nav.rotation, &to.rotation)));
    let (old, new) = (state.nav.position, to.translation);
    let moved = |point: &Vector3<f64>| turn * (point - old) + new;
    let before = state.nav;
    state.nav.rotation = turn * state.nav.rotation;
    state.nav.velocity = turn * state.nav.velocity;
    state.nav.position = new;
    state.predicted = state.nav;
    for landmark in &mut state.landmarks {
        landmark.position = moved(&landmark.position);
        landmark.anchor = moved(&landmark.anchor);
        landmark.first = moved(&landmark.first);
    }

    // Left errors before, turned into the new axes: ξ_R loses its vertical part, and ξ_p = δp + p̂^ ξ_R.
    let level = Matrix3::identity() - Vector3::z() * Vector3::z().transpose();
    let mut transition = NavMatrix::zeros();
    let r = turn.matrix();
    let mut set = |row, column, block: &Matrix3<f64>| transition.fixed_view_mut::<3, 3>(row, column).copy_from(block);
    set(ROTATION, ROTATION, &(level * r));
    set(3, 3, r);
    set(POSITION, ROTATION, &(hat(&new) * level * r));
    set(9, 9, &Matrix3::identity());
    set(12, 12, &Matrix3::identity());
    let mut by_given = SMatrix::<f64, NAV, 4>::zeros();
    by_given.fixed_view_mut::<3, 3>(POSITION, 0).fill_with_identity();
    by_given[(ROTATION + 2, 3)] = 1.0;
    by_given.fixed_view_mut::<3, 1>(POSITION, 3).copy_from(&(hat(&new) * Vector3::z()));
    let noise = by_given * heading_and_place(covariance) * by_given.transpose();
    let (to_left, from_left) = (filter.errors.from_left_inverse(&before), filter.errors.from_left(&state.nav));
    state.covariance.move_nav(&(from_left * transition * to_left), &(from_left * noise * from_left.transpose()));
    if filter.errors == Errors::Left {
        state.covariance.turn_landmarks(r);
    }
}

/// The turn about the vertical from one rotation to another, rad, by the axis of the body that is most nearly level.
pub fn heading_between(from: &So3, to: &So3) -> f64 {
    let axes = [Vector3::x(), Vector3::y(), Vector3::z()];
    let rise = |axis: &Vector3<f64>| (*to * *axis).z.abs();
    let axis = axes.into_iter().min_by(|a, b| rise(a).total_cmp(&rise(b))).unwrap_or_else(Vector3::x);
    let (to, from) = (*to * axis, *from * axis);
    to.y.atan2(to.x) - from.y.atan2(from.x)
}

fn lower(matrix: &DMatrix<f64>) -> Vec<f64> {
    (0..matrix.nrows()).flat_map(|i| (0..=i).map(move |j| 0.5 * (matrix[(i, j)] + matrix[(j, i)]))).collect()
}
