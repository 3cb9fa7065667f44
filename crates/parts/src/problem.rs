//! The least squares over all parts: where their bases and their landmarks are in the map.

use super::part::{At, LEAST_STD, Part};
use super::sparse::{Element, Factor, NotPositive, Order};
use lienav_lie::Se2;
use lienav_map::SpatialHash;
use nalgebra::{DMatrix, DVector, Matrix2, Matrix3, Vector2, Vector3};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Iterations of Gauss and Newton, at most.
const ITERATIONS: usize = 20;
/// How often a step is halved that does not lower the cost, at most.
const HALVINGS: usize = 6;
/// The cost falls by no more than this, to first order: a tenth of a standard deviation of the worst direction.
pub const NEARLY: f64 = 1e-2;
/// The same, for a result that is compared with others.
pub const FULLY: f64 = 1e-10;
/// And by no more than this share of it: less is rounding.
const ROUNDING: f64 = 1e-11;
/// Normal equations by which each step leaves no more than this share of it are what they would be after it.
const SAME: f64 = 0.01;

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

/// A part in the problem: what it says, and which poses and landmarks of the problem its own are.
#[derive(Clone, Debug)]
pub struct Placed {
    /// What it says.
    pub part: Arc<Part>,
    /// The number of each of its landmarks in the whole map.
    pub landmarks: Arc<Vec<usize>>,
    /// The number of the pose that it begins at; `None` if it says nothing of the way.
    pub base: Option<usize>,
    /// The number of the pose at its end.
    pub exit: usize,
}

impl Placed {
    /// Where its unknowns are.
    fn at<'a>(&self, bases: &[Se2], landmarks: &'a [Vector2<f64>]) -> At<'a> {
        let exit = bases[self.exit];
        let base = self.base.map_or_else(|| exit * self.part.exit.inverse(), |base| bases[base]);
        At { base, exit, landmarks }
    }
}

/// Everything that is known, and a first guess.
#[derive(Clone, Debug)]
pub struct Problem {
    /// Of base 0.
    pub start: Start,
    /// The parts, one behind the other.
    pub parts: Vec<Placed>,
    /// The poses at which parts begin and end; the first is the start, and the last the end of the last part.
    pub bases: Vec<Se2>,
    /// In the map, m.
    pub landmarks: Vec<Vector2<f64>>,
    /// Parts that were closed, of which some may have been made one.
    pub closed: usize,
    /// How little the cost must fall.
    pub tolerance: f64,
}

/// Where everything is, with the factor of what is known of it.
#[derive(Clone, Debug)]
pub struct Solution {
    /// The poses of the bases in the map; the last is the end of the last part.
    pub bases: Vec<Se2>,
    /// In the map, m.
    pub landmarks: Vec<Vector2<f64>>,
    /// What it is the solution of.
    pub parts: Vec<Placed>,
    /// Parts that were closed before it was begun.
    pub closed: usize,
    /// Of the normal equations: bases first, then landmarks.
    pub factor: Factor,
    /// [`Solution::landmark_covariances`], where these were asked for.
    pub covariances: Option<Vec<Option<Matrix2<f64>>>>,
    /// Landmarks by their place.
    pub hash: SpatialHash,
    /// How often the normal equations were factored.
    pub iterations: usize,
    /// Half of χ².
    pub cost: f64,
}

/// Why there is no solution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SolveError {
    /// Something is not determined.
    #[error("the normal equations of the parts could not be factored")]
    NotPositive,
    /// The cost does not fall.
    #[error("the estimate of the parts did not converge")]
    NotConverged,
}

impl From<NotPositive> for SolveError {
    fn from(NotPositive: NotPositive) -> Self {
        Self::NotPositive
    }
}

impl Solution {
    /// The covariance of each landmark, m²; `None` of one that no part has.
    pub fn landmark_covariances(&self) -> Vec<Option<Matrix2<f64>>> {
        let marginals = self.factor.marginals();
        let of =
            |marginal: &DMatrix<f64>| (marginal.nrows() == 2).then(|| marginal.fixed_view::<2, 2>(0, 0).into_owned());
        marginals[self.bases.len()..].iter().map(of).collect()
    }
}

/// The longest shift and the largest turn of some poses.
fn largest(steps: &[DVector<f64>]) -> [f64; 2] {
    let of_poses = steps.iter().filter(|step| step.len() == 3);
    of_poses.fold([0.0, 0.0], |[shift, turn], step| {
        [f64::max(shift, step.fixed_rows::<2>(0).norm()), f64::max(turn, step[2].abs())]
    })
}

impl Problem {
    /// Gauss–Newton from the guess. Where a loop has closed, the first steps may raise the cost before they lower it:
    /// steps are halved that do not lower it only if whole steps lead nowhere.
    ///
    /// # Errors
    /// [`SolveError`].
    pub fn solve(&self) -> Result<Solution, SolveError> {
        let before = self.cost(&self.bases, &self.landmarks);
        match self.descend(0) {
            Ok(solution) if solution.cost <= before * (1.0 + ROUNDING) + self.tolerance => Ok(solution),
            _ => self.descend(HALVINGS),
        }
    }

    /// Gauss–Newton with steps that are halved so often, at most, until they lower the cost.
    fn descend(&self, halvings: usize) -> Result<Solution, SolveError> {
        let (mut bases, mut landmarks) = (self.bases.clone(), self.landmarks.clone());
        let count = bases.len();
        let lists: Vec<Vec<usize>> = self.lists();
        let order = Order::new(&lists, count + landmarks.len(), |unknown| if unknown < count { 3 } else { 2 });
        let mut cost = self.cost(&bases, &landmarks);
        for iteration in 1..=ITERATIONS {
            let element = |k: usize| self.element(k, &bases, &landmarks, &lists[k]);
            let factor = Factor::new(order.clone(), lists.len(), element)?;
            let (steps, decrease) = factor.step();
            let mut scale = 1.0;
            for halving in 0..=halvings {
                let moved = |(k, base): (usize, &Se2)| match steps[k].len() {
                    3 => *base * Se2::exp(&(steps[k].fixed_rows::<3>(0) * scale)),
                    _ => *base,
                };
                let mut next: Vec<Se2> = bases.iter().enumerate().map(moved).collect();
                let shifted = |(k, p): (usize, &Vector2<f64>)| match steps[count + k].len() {
                    2 => p + steps[count + k].fixed_rows::<2>(0) * scale,
                    _ => *p,
                };
                let mut shifted: Vec<Vector2<f64>> = landmarks.iter().enumerate().map(shifted).collect();
                self.anchor(&mut next, &mut shifted);
                let found = self.cost(&next, &shifted);
                let is_lower = found <= cost * (1.0 + ROUNDING) + 0.5 * self.tolerance;
                if is_lower || (halvings == 0 && found.is_finite()) {
                    (bases, landmarks, cost) = (next, shifted, found);
                    break;
                }
                if halving == halvings {
                    return Err(SolveError::NotConverged);
                }
                scale *= 0.5;
            }
            let is_enough = |decrease: f64| decrease <= self.tolerance.max(ROUNDING * cost);
            // What is left to do, by the normal equations as they were: where that is little, they need not be made again.
            let leaves_little = || {
                let gradients = (0..lists.len()).map(|k| self.gradient(k, &bases, &landmarks));
                let (left, remains) = factor.step_for(gradients.zip(&lists));
                is_enough(remains) && (0..2).all(|k| largest(&left[..count])[k] <= SAME * largest(&steps[..count])[k])
            };
            if is_enough(decrease) || (self.tolerance >= NEARLY && leaves_little()) {
                let hash = SpatialHash::new(&landmarks);
                let (parts, closed) = (self.parts.clone(), self.closed);
                let covariances = None;
                return Ok(Solution {
                    bases,
                    landmarks,
                    covariances,
                    parts,
                    closed,
                    factor,
                    hash,
                    iterations: iteration,
                    cost,
                });
            }
        }
        Err(SolveError::NotConverged)
    }

    /// Moves all, rigidly, to where the start says: nothing else says where the map lies. A step of Gauss and Newton finds
    /// that but to first order in how it turns the map, which is much where the start is hardly known.
    fn anchor(&self, bases: &mut [Se2], landmarks: &mut [Vector2<f64>]) {
        let (pose, place) = match &self.start {
            Start::Normal(pose, _) => (0, *pose),
            // A way from the start to where all the rest begins.
            Start::Known(pose) => match &self.parts[..] {
                [way, rest @ ..] if way.landmarks.is_empty() && way.base == Some(0) => {
                    if way.exit == 0 || rest.iter().any(|part| part.base == Some(0) || part.exit == 0) {
                        return;
                    }
                    (way.exit, *pose * way.part.exit)
                }
                _ => return,
            },
        };
        let moved = place * bases[pose].inverse();
        let first = usize::from(pose > 0);
        bases[first..].iter_mut().for_each(|base| *base = moved * *base);
        landmarks.iter_mut().for_each(|landmark| *landmark = moved.transform(landmark));
    }

    /// The unknowns of each part, and of the start.
    fn lists(&self) -> Vec<Vec<usize>> {
        let is_known = matches!(self.start, Start::Known(_));
        let of_part = |placed: &Placed| {
            let base = placed.base.filter(|base| *base > 0 || !is_known);
            let landmarks = placed.landmarks.iter().map(|landmark| self.bases.len() + landmark);
            base.into_iter().chain([placed.exit]).chain(landmarks).collect()
        };
        let parts = self.parts.iter().map(of_part);
        parts.chain((!is_known).then(|| vec![0])).collect()
    }

    /// The normal equations of a part, and behind them those of the start.
    fn element(&self, k: usize, bases: &[Se2], landmarks: &[Vector2<f64>], unknowns: &[usize]) -> Element {
        let unknowns = unknowns.to_vec();
        if let Some(placed) = self.parts.get(k) {
            let places: Vec<Vector2<f64>> = placed.landmarks.iter().map(|landmark| landmarks[*landmark]).collect();
            return placed.part.element(&placed.at(bases, &places), unknowns, self.is_known(placed));
        }
        let information = match &self.start {
            Start::Known(_) => Matrix3::zeros(),
            Start::Normal(_, information) => *information,
        };
        Element {
            unknowns,
            information: DMatrix::from_column_slice(3, 3, information.as_slice()),
            gradient: self.gradient(k, bases, landmarks),
        }
    }

    /// The gradient of [`Problem::element`] alone.
    fn gradient(&self, k: usize, bases: &[Se2], landmarks: &[Vector2<f64>]) -> DVector<f64> {
        if let Some(placed) = self.parts.get(k) {
            let places: Vec<Vector2<f64>> = placed.landmarks.iter().map(|landmark| landmarks[*landmark]).collect();
            return placed.part.gradient(&placed.at(bases, &places), self.is_known(placed));
        }
        let gradient = match &self.start {
            Start::Known(_) => Vector3::zeros(),
            Start::Normal(pose, information) => information * (pose.inverse() * bases[0]).log(),
        };
        DVector::from_column_slice(gradient.as_slice())
    }

    /// Whether it is known where a part begins.
    fn is_known(&self, placed: &Placed) -> bool {
        placed.base.is_none_or(|base| base == 0 && matches!(self.start, Start::Known(_)))
    }

    fn cost(&self, bases: &[Se2], landmarks: &[Vector2<f64>]) -> f64 {
        let of_part = |placed: &Placed| {
            let places: Vec<Vector2<f64>> = placed.landmarks.iter().map(|landmark| landmarks[*landmark]).collect();
            placed.part.cost(&placed.at(bases, &places))
        };
        let parts: f64 = self.parts.iter().map(of_part).sum();
        match &self.start {
            Start::Known(_) => parts,
            Start::Normal(pose, information) => {
                let error: Vector3<f64> = (pose.inverse() * bases[0]).log();
                parts + 0.5 * error.dot(&(information * error))
            }
        }
    }
}
