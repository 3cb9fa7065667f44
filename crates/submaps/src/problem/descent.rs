//! Gauss–Newton over all submaps, from what was known before some of them.

mod nearby;

use super::{Placed, Problem, Start, of_base, of_landmark, turns};
use crate::common::Common;
use crate::sparse::{Changes, Factor, NotPositive};
use crate::submap::Submap;
use lienav_lie::Se2;
use lienav_map::SpatialHash;
use nalgebra::{DMatrix, Matrix2, Vector2};
use std::collections::HashMap;
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
/// Where it is known less well how the map is turned, rad, normal equations of submaps at different times do not fit
/// each other: what turns all of one does not turn all of another.
const HARDLY_KNOWN: f64 = 0.5;
/// The normal equations of a submap are as they were if nothing in it has moved by more than this share of its
/// distance, or turned by more, rad.
const SAME: f64 = 0.001;

/// Where everything is, with the factor of what is known of it.
#[derive(Clone, Debug)]
pub struct Solution {
    /// The poses of the bases in the map; the last is the end of the last submap.
    pub bases: Vec<Se2>,
    /// In the map, m.
    pub landmarks: Vec<Vector2<f64>>,
    /// What it is the solution of.
    pub submaps: Vec<Placed>,
    /// Submaps that were closed before it was begun.
    pub closed: usize,
    /// Of the normal equations.
    factor: Factor,
    /// The pose in whose frame the error of each landmark is.
    homes: Vec<Option<usize>>,
    /// Of the submaps, as they are in the factor.
    shapes: Vec<Option<Arc<Shape>>>,
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
    /// The landmarks that the submap behind the last one is begun with.
    pub fn common(&self) -> Common {
        self.submaps.last().map_or_else(Common::none, |last| last.submap.common(&last.landmarks))
    }

    /// The covariance of each landmark, m²; `None` of one that no submap has.
    pub fn landmark_covariances(&self) -> Vec<Option<Matrix2<f64>>> {
        let marginals = self.factor.marginals();
        let of = |(k, turn): (usize, &Matrix2<f64>)| {
            let own = &marginals[of_landmark(k)];
            (own.nrows() == 2).then(|| turn * own.fixed_view::<2, 2>(0, 0) * turn.transpose())
        };
        turns(&self.homes, &self.bases).iter().enumerate().map(of).collect()
    }

    /// The joint covariance of a pose, in its own frame, and of some landmarks, in the map.
    #[cfg(test)]
    pub fn covariance(&self, base: usize, landmarks: &[usize]) -> DMatrix<f64> {
        self.covariance_with(base, landmarks, None)
    }

    /// The same with another pose behind the landmarks, in its own frame.
    pub fn covariance_with(&self, base: usize, landmarks: &[usize], other: Option<usize>) -> DMatrix<f64> {
        let of_landmarks = landmarks.iter().map(|landmark| (of_landmark(*landmark), 2));
        let of_poses = |pose: usize| (of_base(pose), 3);
        let unknowns = std::iter::once(of_poses(base)).chain(of_landmarks).chain(other.map(of_poses));
        let unknowns: Vec<(usize, usize)> = unknowns.collect();
        let mut covariance = self.factor.covariance(&unknowns);
        for _ in 0..2 {
            for (i, landmark) in landmarks.iter().enumerate() {
                let Some(home) = self.homes[*landmark] else { continue };
                let turned = self.bases[home].rotation() * covariance.fixed_rows::<2>(3 + 2 * i);
                covariance.fixed_rows_mut::<2>(3 + 2 * i).copy_from(&turned);
            }
            covariance = covariance.transpose();
        }
        covariance
    }

    /// Numbers in the factor.
    pub fn entries(&self) -> usize {
        self.factor.entries()
    }
}

/// A factor to begin with, the shapes of the submaps that it is made of, and the unknowns of those that are gone.
type Inherited = (Factor, Vec<Option<Arc<Shape>>>, Vec<usize>);

/// All that the normal equations of a submap depend on: how its unknowns lie to each other.
#[derive(Debug)]
struct Shape {
    /// From the base to the end.
    motion: Se2,
    landmarks: Vec<Seen>,
}

/// How a landmark lies to the end of a submap.
#[derive(Debug)]
struct Seen {
    place: Vector2<f64>,
    /// The rotation of its frame.
    turn: Matrix2<f64>,
}

impl Shape {
    fn new(placed: &Placed, bases: &[Se2], landmarks: &[Vector2<f64>], turns: &[Matrix2<f64>]) -> Self {
        let exit = bases[placed.exit];
        let back = exit.rotation().transpose();
        let seen = |landmark: &usize| Seen {
            place: exit.transform_back(&landmarks[*landmark]),
            turn: back * turns[*landmark],
        };
        let motion = placed.base.map_or_else(Se2::identity, |base| bases[base].inverse() * exit);
        Self { motion, landmarks: placed.landmarks.iter().map(seen).collect() }
    }

    /// Whether the normal equations would be the same.
    fn is_like(&self, other: &Self) -> bool {
        let is_turned = |a: &Matrix2<f64>, b: &Matrix2<f64>| (a - b).norm() > SAME;
        let is_moved = |a: &Vector2<f64>, b: &Vector2<f64>| (a - b).norm() > SAME * (1.0 + a.norm());
        let differs = |(a, b): (&Seen, &Seen)| is_moved(&a.place, &b.place) || is_turned(&a.turn, &b.turn);
        !is_moved(&self.motion.p, &other.motion.p)
            && !is_turned(&self.motion.rotation(), &other.motion.rotation())
            && !self.landmarks.iter().zip(&other.landmarks).any(differs)
    }
}

/// Where residuals are many standard deviations, Gauss–Newton knows half of the curvature and less, and its steps go
/// back and forth over the least cost. From what a whole step does to the cost, whose slope is −d at first and 0 at the
/// least cost: the submap of it to the vertex of the parabola. `None` where the step does nearly what it should, a rise
/// of −d/2, and where it leads so far that a parabola says nothing.
fn overshot(rise: f64, decrease: f64) -> Option<f64> {
    let overshoots = rise > -0.25 * decrease && rise < decrease;
    overshoots.then(|| 0.5 * decrease / (rise + decrease))
}

impl Problem {
    /// Gauss–Newton from the guess. Where a loop has closed, the first steps may raise the cost before they lower it:
    /// steps are halved that do not lower it only if whole steps lead nowhere.
    ///
    /// # Errors
    /// [`SolveError`].
    pub fn solve(&self) -> Result<Solution, SolveError> {
        let before = self.cost(&self.bases, &self.landmarks);
        match self.descend(None, 0) {
            Ok(solution) if solution.cost <= before * (1.0 + ROUNDING) + self.tolerance => Ok(solution),
            _ => self.descend(None, HALVINGS),
        }
    }

    /// The same, from what was known before some of the submaps: of its factor, what does not depend on the others
    /// stays.
    ///
    /// # Errors
    /// [`SolveError`].
    pub fn solve_after(&self, before: &Solution) -> Result<Solution, SolveError> {
        if self.heading_std() > HARDLY_KNOWN {
            return self.solve();
        }
        self.descend(Some(before), 0).or_else(|_| self.solve())
    }

    /// Gauss–Newton with steps that are halved so often, at most, until they lower the cost. Gradients are always those
    /// of where everything is; normal equations are those of submaps as they were when they were last added, and a
    /// submap is added again when its shape has changed.
    fn descend(&self, before: Option<&Solution>, halvings: usize) -> Result<Solution, SolveError> {
        let (mut bases, mut landmarks) = (self.bases.clone(), self.landmarks.clone());
        let lists: Vec<Vec<usize>> = self.lists();
        let unknowns = 2 * bases.len().max(landmarks.len());
        let heights: Vec<usize> = (0..unknowns).map(|name| if name.is_multiple_of(2) { 3 } else { 2 }).collect();
        let homes = self.homes();
        let (mut factor, mut shapes, mut gone) = self.inherited(before, &homes);
        let last = lists[..self.submaps.len()].last().cloned().unwrap_or_default();
        let goes_on = self.tolerance >= NEARLY;
        let mut cost = self.cost(&bases, &landmarks);
        for iteration in 1..=ITERATIONS {
            let turns = turns(&homes, &bases);
            let now = self.submaps.iter().map(|placed| Arc::new(Shape::new(placed, &bases, &landmarks, &turns)));
            let now: Vec<Arc<Shape>> = now.collect();
            let is_like =
                |(old, now): (&Option<Arc<Shape>>, &Arc<Shape>)| old.as_ref().is_some_and(|old| old.is_like(now));
            let mut is_same: Vec<bool> = shapes.iter().zip(&now).map(is_like).collect();
            if before.is_none() && (self.tolerance < NEARLY || is_same.contains(&false)) {
                is_same.fill(false);
            }
            for ((shape, now), _) in shapes.iter_mut().zip(now).zip(&is_same).filter(|(_, is_same)| !**is_same) {
                *shape = Some(now);
            }
            is_same.resize(lists.len(), iteration > 1 || before.is_some());
            if !gone.is_empty() || is_same.contains(&false) {
                let changes = Changes { elements: &lists, is_same: &is_same, gone: &gone, last: &last, goes_on };
                let element = |k: usize| self.element(k, &bases, &landmarks, &turns, &lists[k]);
                // Where all is made anew, what there was gives its memory back first.
                if !is_same.contains(&true) {
                    factor = Factor::default();
                }
                factor = factor.updated(&changes, heights.clone(), element)?;
                gone.clear();
            }
            let gradients = (0..lists.len()).map(|k| self.gradient(k, &bases, &landmarks, &turns));
            let (steps, decrease) = factor.step_for(gradients.zip(&lists));
            let stepped = |scale: f64| {
                let moved = |(k, base): (usize, &Se2)| match steps[of_base(k)].len() {
                    3 => *base * Se2::exp(&(steps[of_base(k)].fixed_rows::<3>(0) * scale)),
                    _ => *base,
                };
                let mut moved: Vec<Se2> = bases.iter().enumerate().map(moved).collect();
                let shifted = |(k, p): (usize, &Vector2<f64>)| match steps[of_landmark(k)].len() {
                    2 => p + turns[k] * steps[of_landmark(k)].fixed_rows::<2>(0) * scale,
                    _ => *p,
                };
                let mut shifted: Vec<Vector2<f64>> = landmarks.iter().enumerate().map(shifted).collect();
                self.anchor(&mut moved, &mut shifted);
                let cost = self.cost(&moved, &shifted);
                (moved, shifted, cost)
            };
            let mut scale = 1.0;
            let mut next = stepped(scale);
            if let Some(share) = overshot(next.2 - cost, decrease) {
                let nearer = stepped(share);
                if nearer.2 < next.2 {
                    (scale, next) = (share, nearer);
                }
            }
            let mut halving = 0;
            loop {
                let found = next.2;
                let is_lower = found <= cost * (1.0 + ROUNDING) + 0.5 * self.tolerance;
                if is_lower || (halvings == 0 && before.is_none() && found.is_finite()) {
                    break;
                }
                if halving == halvings {
                    return Err(SolveError::NotConverged);
                }
                halving += 1;
                scale *= 0.5;
                next = stepped(scale);
            }
            (bases, landmarks, cost) = next;
            if decrease <= self.tolerance.max(ROUNDING * cost) {
                let hash = SpatialHash::new(&landmarks);
                let (submaps, closed) = (self.submaps.clone(), self.closed);
                let (covariances, iterations) = (None, iteration);
                return Ok(Solution {
                    bases,
                    landmarks,
                    covariances,
                    submaps,
                    closed,
                    factor,
                    homes,
                    shapes,
                    hash,
                    iterations,
                    cost,
                });
            }
        }
        Err(SolveError::NotConverged)
    }

    /// The factor to begin with, the shapes of the submaps that it was made of, and the unknowns of those that are
    /// gone.
    fn inherited(&self, before: Option<&Solution>, homes: &[Option<usize>]) -> Inherited {
        let Some(before) = before else { return (Factor::default(), vec![None; self.submaps.len()], Vec::new()) };
        let mut known: HashMap<*const Submap, usize> =
            before.submaps.iter().enumerate().map(|(k, placed)| (Arc::as_ptr(&placed.submap), k)).collect();
        let mut shapes = vec![None; self.submaps.len()];
        for (placed, shape) in self.submaps.iter().zip(&mut shapes) {
            let Some(k) = known.get(&Arc::as_ptr(&placed.submap)).copied() else { continue };
            let other = &before.submaps[k];
            let are_at_home =
                placed.landmarks.iter().all(|landmark| before.homes.get(*landmark) == Some(&homes[*landmark]));
            if are_at_home
                && placed.base == other.base
                && placed.exit == other.exit
                && placed.landmarks == other.landmarks
            {
                shape.clone_from(&before.shapes[k]);
                known.remove(&Arc::as_ptr(&placed.submap));
            }
        }
        let mut gone: Vec<usize> = known.into_values().collect();
        gone.sort_unstable();
        let is_known = matches!(self.start, Start::Known(_));
        (before.factor.clone(), shapes, gone.iter().flat_map(|k| before.submaps[*k].unknowns(is_known)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_too_far_is_shortened_to_the_vertex() {
        // A cost of −d t + c t²/2, of which the steps know the curvature d.
        let rise = |d: f64, c: f64| 0.5 * c - d;
        for (d, c) in [(3.0, 4.0), (3.0, 6.0), (0.1, 0.21), (2.0, 5.9)] {
            let share = overshot(rise(d, c), d).map_or(f64::NAN, |share| share * c / d);
            assert!((share - 1.0).abs() < 1e-12 || c < 1.5 * d, "{share}");
        }
        for (d, c) in [(3.0, 3.0), (3.0, 1.0), (3.0, 30.0)] {
            assert_eq!(overshot(rise(d, c), d), None, "{d} {c}");
        }
        assert_eq!(overshot(f64::NAN, 1.0), None);
    }
}
