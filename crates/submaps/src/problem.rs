//! The least squares over all submaps: where their bases and their landmarks are in the map.

mod descent;
mod outside;

use super::sparse::Element;
use super::submap::{At, LEAST_STD, Submap};
pub use descent::{FULLY, NEARLY, Solution, SolveError};
use lienav_lie::Se2;
use nalgebra::{DMatrix, DVector, Matrix2, Matrix3, Vector2, Vector3};
pub use outside::{WORLD, world_of};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What is known of the first base.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Start {
    /// All: it is not estimated.
    Known(Se2),
    /// A pose, and the information of its error in its own frame.
    Normal(Se2, Matrix3<f64>),
}

impl Start {
    /// Of a pose and the covariance of (x, y, θ).
    pub fn new(pose: Se2, covariance: &Matrix3<f64>) -> Self {
        if *covariance == Matrix3::zeros() {
            return Self::Known(pose);
        }
        let (s, c) = pose.theta.sin_cos();
        let back = Matrix3::new(c, s, 0.0, -s, c, 0.0, 0.0, 0.0, 1.0);
        let own = back * covariance * back.transpose() + Matrix3::from_diagonal_element(LEAST_STD * LEAST_STD);
        own.try_inverse().map_or(Self::Known(pose), |information| Self::Normal(pose, information))
    }

    /// The expected pose.
    pub fn pose(&self) -> Se2 {
        match self {
            Self::Known(pose) | Self::Normal(pose, _) => *pose,
        }
    }

    /// The covariance of its error in its own frame.
    pub fn covariance(&self) -> Matrix3<f64> {
        match self {
            Self::Known(_) => Matrix3::zeros(),
            Self::Normal(_, information) => information.try_inverse().unwrap_or_else(Matrix3::zeros),
        }
    }
}

/// A submap in the problem: what it says, and which poses and landmarks of the problem its own are.
#[derive(Clone, Debug)]
pub struct Placed {
    /// What it says.
    pub submap: Arc<Submap>,
    /// The number of each of its landmarks in the whole map.
    pub landmarks: Arc<Vec<usize>>,
    /// The number of the pose that it begins at; `None` if it says nothing of the way.
    pub base: Option<usize>,
    /// The number of the pose at its end.
    pub exit: usize,
    /// Whether it is known from outside: no robot has gone this way.
    pub is_outside: bool,
    /// Whether that is in the world, whose frame is the pose that it begins at then.
    pub is_of_world: bool,
}

impl Placed {
    /// The names of its unknowns.
    fn unknowns(&self, start_is_known: bool) -> Vec<usize> {
        let base = self.base.filter(|base| *base > 0 || !start_is_known);
        let landmarks = self.landmarks.iter().map(|landmark| of_landmark(*landmark));
        base.into_iter().chain([self.exit]).map(of_base).chain(landmarks).collect()
    }

    /// Where its unknowns are.
    fn at<'a>(&self, bases: &[Se2], landmarks: &'a [Vector2<f64>]) -> At<'a> {
        let exit = bases[self.exit];
        let base = self.base.map_or_else(|| exit * self.submap.exit.inverse(), |base| bases[base]);
        At { base, exit, landmarks }
    }
}

/// Everything that is known, and a first guess.
#[derive(Clone, Debug)]
pub struct Problem {
    /// Of base 0.
    pub start: Start,
    /// The submaps, one behind the other.
    pub submaps: Vec<Placed>,
    /// The poses at which submaps begin and end; the first is the start, and the last the end of the last submap.
    pub bases: Vec<Se2>,
    /// In the map, m.
    pub landmarks: Vec<Vector2<f64>>,
    /// Submaps that were closed, of which some may have been made one.
    pub closed: usize,
    /// How little the cost must fall.
    pub tolerance: f64,
}

/// So many submaps are closed until there is a new solution, about, with so many landmarks each.
const ROOM: usize = 32;
const LANDMARKS: usize = 32;

/// The name of the error of a pose in the normal equations.
pub fn of_base(base: usize) -> usize {
    2 * base
}

/// The name of the error of a landmark.
pub fn of_landmark(landmark: usize) -> usize {
    2 * landmark + 1
}

/// The rotation of the frame of each landmark.
fn turns(homes: &[Option<usize>], bases: &[Se2]) -> Vec<Matrix2<f64>> {
    homes.iter().map(|home| home.map_or_else(Matrix2::identity, |home| bases[home].rotation())).collect()
}

impl Problem {
    /// Adds a submap, which was begun with the landmarks that the last one has kept.
    pub fn push(&mut self, placed: Placed) {
        if let Some(last) = self.submaps.iter_mut().rfind(|before| !before.is_outside && !placed.is_outside) {
            let has = |i: usize| placed.landmarks.contains(&last.landmarks[i]);
            let given = last.submap.given_the_next(has);
            last.submap = given.map_or_else(|| last.submap.clone(), Arc::new);
        }
        self.submaps.push(placed);
    }

    /// The submap behind the last one is lost: what that has kept for it, it says itself. No solution of before holds
    /// then.
    pub fn leave_nothing(&mut self) {
        if let Some(last) = self.submaps.iter_mut().rfind(|placed| !placed.is_outside)
            && last.submap.leaves_any()
            && !last.submap.is_given()
        {
            last.submap = Arc::new(Submap::clone(&last.submap).leaving_nothing());
        }
    }

    /// What it has behind a solution that it goes on from: few numbers, and the last submap of the solution, which says
    /// less once another is behind it. [`Problem::following`] makes the whole of it again.
    pub fn behind(&self, solution: &Solution) -> Self {
        Self {
            start: self.start.clone(),
            submaps: self.submaps[solution.submaps.len().saturating_sub(1)..].to_vec(),
            bases: self.bases[solution.bases.len()..].to_vec(),
            landmarks: self.landmarks[solution.landmarks.len()..].to_vec(),
            ..*self
        }
    }

    /// The problem of which it is what is behind `solution`.
    pub fn following(self, solution: &Solution) -> Self {
        let before = &solution.submaps[..solution.submaps.len().saturating_sub(1)];
        Self {
            submaps: [before, &self.submaps].concat(),
            bases: [solution.bases.as_slice(), &self.bases].concat(),
            landmarks: [solution.landmarks.as_slice(), &self.landmarks].concat(),
            ..self
        }
    }

    /// Has everything where the solution of its submaps has it, with room for what comes.
    pub fn take_places(&mut self, solution: &Solution) {
        self.bases.clone_from(&solution.bases);
        let known = solution.landmarks.len();
        self.landmarks[..known].copy_from_slice(&solution.landmarks);
        self.submaps.reserve(ROOM);
        self.bases.reserve(ROOM);
        self.landmarks.reserve(ROOM * LANDMARKS);
    }

    /// Whether both are the same.
    #[cfg(test)]
    pub fn is_same(&self, other: &Self) -> bool {
        let are_same = |(a, b): (&Placed, &Placed)| {
            Arc::ptr_eq(&a.submap, &b.submap)
                && Arc::ptr_eq(&a.landmarks, &b.landmarks)
                && (a.base, a.exit) == (b.base, b.exit)
        };
        self.submaps.len() == other.submaps.len()
            && self.submaps.iter().zip(&other.submaps).all(are_same)
            && (self.closed, &self.bases, &self.landmarks) == (other.closed, &other.bases, &other.landmarks)
    }

    /// How well it is known how the map is turned, rad.
    fn heading_std(&self) -> f64 {
        let motion = self.leading_motion().map(|motion| motion.submap.information().whole());
        let of_motion =
            motion.and_then(|information| information.try_inverse()).map_or(0.0, |covariance| covariance[(2, 2)]);
        (self.start.covariance()[(2, 2)] + of_motion).sqrt()
    }

    /// The pose in whose frame the error of each landmark is: the end of the first submap that has it. As with the map,
    /// a submap turns with it, and its normal equations stay what they are.
    fn homes(&self) -> Vec<Option<usize>> {
        let mut homes = vec![None; self.landmarks.len()];
        for placed in &self.submaps {
            for landmark in placed.landmarks.iter() {
                homes[*landmark].get_or_insert(placed.exit);
            }
        }
        homes
    }

    /// Moves all, rigidly, to where the start says: nothing else says where the map lies. A step of Gauss and Newton
    /// finds that but to first order in how it turns the map, which is much where the start is hardly known.
    fn anchor(&self, bases: &mut [Se2], landmarks: &mut [Vector2<f64>]) {
        let (pose, place) = match (&self.start, self.leading_motion()) {
            (Start::Normal(pose, _), _) => (0, *pose),
            (Start::Known(pose), Some(motion)) => (motion.exit, *pose * motion.submap.exit),
            (Start::Known(_), None) => return,
        };
        let moved = place * bases[pose].inverse();
        let first = usize::from(pose > 0);
        bases[first..].iter_mut().for_each(|base| *base = moved * *base);
        landmarks.iter_mut().for_each(|landmark| *landmark = moved.transform(landmark));
    }

    /// The way from the start, if nothing else leads there.
    fn leading_motion(&self) -> Option<&Placed> {
        let mut at_the_start = self.submaps.iter().filter(|placed| placed.base == Some(0) || placed.exit == 0);
        match (at_the_start.next(), at_the_start.next()) {
            (Some(motion), None) if motion.landmarks.is_empty() && motion.exit != 0 => Some(motion),
            _ => None,
        }
    }

    /// The unknowns of each submap, and of the start.
    fn lists(&self) -> Vec<Vec<usize>> {
        let is_known = matches!(self.start, Start::Known(_));
        let submaps = self.submaps.iter().map(|placed| placed.unknowns(is_known));
        submaps.chain((!is_known).then(|| vec![of_base(0)])).collect()
    }

    /// The normal equations of a submap, and behind them those of the start.
    fn element(
        &self,
        k: usize,
        bases: &[Se2],
        landmarks: &[Vector2<f64>],
        turns: &[Matrix2<f64>],
        unknowns: &[usize],
    ) -> Element {
        let unknowns = unknowns.to_vec();
        if let Some(placed) = self.submaps.get(k) {
            let places: Vec<Vector2<f64>> = placed.landmarks.iter().map(|landmark| landmarks[*landmark]).collect();
            let mut element = placed.submap.element(&placed.at(bases, &places), unknowns, self.is_known(placed));
            let first = element.gradient.len() - 2 * places.len();
            for (i, landmark) in placed.landmarks.iter().enumerate() {
                let turned = element.information.fixed_columns::<2>(first + 2 * i) * turns[*landmark];
                element.information.fixed_columns_mut::<2>(first + 2 * i).copy_from(&turned);
            }
            for (i, landmark) in placed.landmarks.iter().enumerate() {
                let turned = turns[*landmark].transpose() * element.information.fixed_rows::<2>(first + 2 * i);
                element.information.fixed_rows_mut::<2>(first + 2 * i).copy_from(&turned);
            }
            return element;
        }
        let information = match &self.start {
            Start::Known(_) => Matrix3::zeros(),
            Start::Normal(_, information) => *information,
        };
        Element {
            unknowns,
            information: DMatrix::from_column_slice(3, 3, information.as_slice()),
            gradient: DVector::zeros(3),
        }
    }

    /// The gradient of a submap, or behind them that of the start.
    fn gradient(&self, k: usize, bases: &[Se2], landmarks: &[Vector2<f64>], turns: &[Matrix2<f64>]) -> DVector<f64> {
        if let Some(placed) = self.submaps.get(k) {
            let places: Vec<Vector2<f64>> = placed.landmarks.iter().map(|landmark| landmarks[*landmark]).collect();
            let mut gradient = placed.submap.gradient(&placed.at(bases, &places), self.is_known(placed));
            let first = gradient.len() - 2 * places.len();
            for (i, landmark) in placed.landmarks.iter().enumerate() {
                let turned = turns[*landmark].tr_mul(&gradient.fixed_rows::<2>(first + 2 * i));
                gradient.fixed_rows_mut::<2>(first + 2 * i).copy_from(&turned);
            }
            return gradient;
        }
        let gradient = match &self.start {
            Start::Known(_) => Vector3::zeros(),
            Start::Normal(pose, information) => information * (pose.inverse() * bases[0]).log(),
        };
        DVector::from_column_slice(gradient.as_slice())
    }

    /// Whether it is known where a submap begins.
    fn is_known(&self, placed: &Placed) -> bool {
        placed.base.is_none_or(|base| base == 0 && matches!(self.start, Start::Known(_)))
    }

    fn cost(&self, bases: &[Se2], landmarks: &[Vector2<f64>]) -> f64 {
        let of_submap = |placed: &Placed| {
            let places: Vec<Vector2<f64>> = placed.landmarks.iter().map(|landmark| landmarks[*landmark]).collect();
            placed.submap.cost(&placed.at(bases, &places))
        };
        let submaps: f64 = self.submaps.iter().map(of_submap).sum();
        match &self.start {
            Start::Known(_) => submaps,
            Start::Normal(pose, information) => {
                let error: Vector3<f64> = (pose.inverse() * bases[0]).log();
                submaps + 0.5 * error.dot(&(information * error))
            }
        }
    }
}
