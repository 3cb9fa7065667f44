//! Gauss–Newton, damped where a full step fails.

use super::motion::map_from_body;
use super::problem::{Problem, Unknowns};
use lienav_lie::Se2;
use lienav_slam::{CalibrationEstimate, CalibrationParameter};
use lienav_submaps::sparse::{Factor, Order};
use nalgebra::{Matrix2, Matrix3, Vector2};

/// A minimum is found when the next step is shorter than the root of this in the estimate's own standard deviations,
/// all unknowns together: a thousandth.
const SMALLEST_DECREMENT: f64 = 1e-6;

/// Linearizations before it is given up. Ten are usual with squares; the weights of a robust loss settle more slowly.
const MAX_ITERATIONS: usize = 100;

/// Whole steps from a guess that is far from the minimum.
const WHOLE_STEPS: usize = 30;

/// The damping, relative to the diagonal, that the first failure brings, and by which factor failures raise and
/// successes lower it.
const FIRST_DAMPING: f64 = 1e-6;
const DAMPING_FACTOR: f64 = 10.0;
const LARGEST_DAMPING: f64 = 1e9;

/// The most likely run.
#[derive(Clone, Debug)]
pub struct Solution {
    /// Pose of the base in the map at each scan.
    pub poses: Vec<Se2>,
    /// Covariance of each of them, of (x, y, θ), (m, m, rad); zero where the normal equations are singular.
    pub covariances: Vec<Matrix3<f64>>,
    /// Identity, position in the map and its covariance of each feature; a feature that was forgotten comes more than
    /// once.
    pub landmarks: Vec<(u32, Vector2<f64>, Matrix2<f64>)>,
    /// The parameters that were estimated.
    pub calibration: Vec<CalibrationEstimate>,
    /// What is left: χ², where the loss is that of squares.
    pub chi_squared: f64,
    /// What it should be about.
    pub degrees_of_freedom: usize,
    /// Linearizations.
    pub iterations: usize,
    /// Whether the minimum was found.
    pub converged: bool,
}

/// Minimises from a guess on.
pub fn solve(problem: &Problem, guess: Unknowns) -> Solution {
    minimize(problem, guess, problem.layout.order())
}

/// Minimises from a guess whose poses and features do not fit each other: poses as they were estimated at their
/// instant, before a loop has moved the features. Whole steps raise the cost at first, and lead to the minimum all the
/// same; damped ones would take hundreds.
pub fn solve_from_afar(problem: &Problem, guess: Unknowns) -> Solution {
    let order = problem.layout.order();
    let mut search = Search { cost: f64::INFINITY, at: guess.clone(), damping: 0.0, order: order.clone() };
    for iteration in 1..=WHOLE_STEPS {
        let Some((steps, decrement)) = search.factor(problem).map(|factor| factor.step()) else { break };
        let next = problem.retract(&search.at, &steps);
        (search.cost, search.at) = (problem.cost(&next), next);
        if !search.cost.is_finite() {
            break;
        }
        if decrement < SMALLEST_DECREMENT && search.cost <= problem.cost(&guess) {
            return search.report(problem, iteration, true);
        }
    }
    minimize(problem, guess, order)
}

fn minimize(problem: &Problem, guess: Unknowns, order: Order) -> Solution {
    let mut search = Search { cost: problem.cost(&guess), at: guess, damping: 0.0, order };
    let (mut iterations, mut converged) = (0, false);
    while !converged && iterations < MAX_ITERATIONS {
        iterations += 1;
        match search.descend(problem) {
            // With strong damping every step is short.
            Some(decrement) => converged = decrement < SMALLEST_DECREMENT && search.damping < FIRST_DAMPING,
            None => break,
        }
    }
    search.report(problem, iterations, converged)
}

struct Search {
    at: Unknowns,
    cost: f64,
    damping: f64,
    /// In which unknowns are eliminated; it stays.
    order: Order,
}

impl Search {
    /// One step downhill, and how long it was: δᵀJᵀJδ. `None` where there is none.
    fn descend(&mut self, problem: &Problem) -> Option<f64> {
        while self.damping <= LARGEST_DAMPING {
            if let Some((steps, decrement)) = self.factor(problem).map(|factor| factor.step()) {
                let next = problem.retract(&self.at, &steps);
                let cost = problem.cost(&next);
                // Rounding of the sum is no ascent.
                if cost <= self.cost * (1.0 + 1e-12) + 1e-12 {
                    (self.at, self.cost) = (next, cost);
                    self.damping /= DAMPING_FACTOR;
                    if self.damping < FIRST_DAMPING / DAMPING_FACTOR {
                        self.damping = 0.0;
                    }
                    return Some(decrement);
                }
            }
            self.damping = (self.damping * DAMPING_FACTOR).max(FIRST_DAMPING);
        }
        None
    }

    /// The factor of JᵀJ + λ diag JᵀJ. `None` where that is not positive definite.
    fn factor(&self, problem: &Problem) -> Option<Factor> {
        let mounts = problem.mounts(&self.at);
        let element = |k: usize| {
            let mut element = problem.element(k, &self.at, &mounts);
            if self.damping > 0.0 {
                (0..element.gradient.len()).for_each(|i| element.information[(i, i)] *= 1.0 + self.damping);
            }
            element
        };
        Factor::new(self.order.clone(), problem.layout.lists().len(), element).ok()
    }

    fn report(mut self, problem: &Problem, iterations: usize, converged: bool) -> Solution {
        self.damping = 0.0;
        let marginals = self.factor(problem).map(|factor| factor.marginals());
        let layout = &problem.layout;
        // What is not estimated has no rows.
        let covariance = |name: usize| marginals.as_ref().map(|all| &all[name]).filter(|of| !of.is_empty());
        let of_pose = |(k, pose): (usize, &Se2)| {
            let known = layout.of_pose(k).and_then(covariance);
            let turn = map_from_body(pose);
            known.map_or_else(Matrix3::zeros, |known| turn * known.fixed_view::<3, 3>(0, 0) * turn.transpose())
        };
        let of_landmark = |(k, (id, position)): (usize, (&u32, &Vector2<f64>))| {
            let known = covariance(layout.of_landmark(k));
            (*id, *position, known.map_or_else(Matrix2::zeros, |known| known.fixed_view::<2, 2>(0, 0).into_owned()))
        };
        let parameter = |&parameter: &CalibrationParameter| {
            let known = covariance(layout.of_calibration()).zip(layout.parameter(parameter));
            let variance = known.map_or(0.0, |(known, row)| known[(row, row)]);
            CalibrationEstimate { parameter, value: self.at.calibration.get(parameter), std: variance.max(0.0).sqrt() }
        };
        Solution {
            covariances: self.at.poses.iter().enumerate().skip(problem.first_step).map(of_pose).collect(),
            poses: self.at.poses[problem.first_step..].to_vec(),
            landmarks: problem.identities.iter().zip(&self.at.landmarks).enumerate().map(of_landmark).collect(),
            calibration: self.at.calibration.active().iter().map(parameter).collect(),
            chi_squared: self.cost,
            degrees_of_freedom: problem.degrees_of_freedom(),
            iterations,
            converged: converged && marginals.is_some(),
        }
    }
}
