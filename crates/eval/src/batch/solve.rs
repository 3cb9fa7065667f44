//! Gauss–Newton, damped where a full step fails.

use super::marginals::Marginals;
use super::normal::Normal;
use super::problem::{Problem, Unknowns, map_from_body};
use lienav_lie::Se2;
use lienav_slam::{CalibrationEstimate, CalibrationParameter};
use nalgebra::{DMatrix, DVector, Matrix2, Matrix3, Vector2};
use nalgebra_sparse::CscMatrix;
use nalgebra_sparse::factorization::{CscCholesky, CscSymbolicCholesky};

/// A minimum is found when the next step is shorter than the root of this in the estimate's own standard deviations,
/// all unknowns together: a thousandth.
const SMALLEST_DECREMENT: f64 = 1e-6;

/// Linearizations before it is given up. Ten are usual with squares; the weights of a robust loss settle more slowly.
const MAX_ITERATIONS: usize = 100;

/// The damping, relative to the diagonal, that the first failure brings, and by which factor failures raise and
/// successes lower it.
const FIRST_DAMPING: f64 = 1e-6;
const DAMPING_FACTOR: f64 = 10.0;
const LARGEST_DAMPING: f64 = 1e9;

/// The most likely run.
#[derive(Clone, Debug)]
pub struct Solution {
    /// Pose of the base in the map at each cloud.
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
    let mut search = Search { cost: problem.cost(&guess), at: guess, damping: 0.0, symbolic: None };
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
    /// The pattern of the factor, which stays.
    symbolic: Option<CscSymbolicCholesky>,
}

impl Search {
    /// One step downhill, and how long it was: δᵀJᵀJδ. `None` where there is none.
    fn descend(&mut self, problem: &Problem) -> Option<f64> {
        let normal = problem.normal(&self.at);
        let matrix = normal.matrix();
        while self.damping <= LARGEST_DAMPING {
            if let Some(step) = self.step(&matrix, &normal) {
                let next = problem.retract(&self.at, &step);
                let cost = problem.cost(&next);
                // Rounding of the sum is no ascent.
                if cost <= self.cost * (1.0 + 1e-12) + 1e-12 {
                    (self.at, self.cost) = (next, cost);
                    self.damping /= DAMPING_FACTOR;
                    if self.damping < FIRST_DAMPING / DAMPING_FACTOR {
                        self.damping = 0.0;
                    }
                    return Some(-step.dot(&normal.gradient));
                }
            }
            self.damping = (self.damping * DAMPING_FACTOR).max(FIRST_DAMPING);
        }
        None
    }

    /// −(JᵀJ + λ diag JᵀJ)⁻¹ Jᵀr. `None` where that is not positive definite.
    fn step(&mut self, matrix: &CscMatrix<f64>, normal: &Normal) -> Option<DVector<f64>> {
        let factor = self.factor(matrix)?;
        let right = DMatrix::from_column_slice(normal.gradient.len(), 1, (-&normal.gradient).as_slice());
        let step: DVector<f64> = factor.solve(&right).column(0).into_owned();
        step.iter().all(|x| x.is_finite()).then_some(step)
    }

    fn factor(&mut self, matrix: &CscMatrix<f64>) -> Option<CscCholesky<f64>> {
        let symbolic = self.symbolic.get_or_insert_with(|| CscSymbolicCholesky::factor(matrix.pattern().clone()));
        let mut values = matrix.values().to_vec();
        if self.damping > 0.0 {
            let (starts, rows, _) = matrix.csc_data();
            for (column, range) in starts.windows(2).enumerate() {
                if let Ok(at) = rows[range[0]..range[1]].binary_search(&column) {
                    values[range[0] + at] *= 1.0 + self.damping;
                }
            }
        }
        CscCholesky::factor_numerical(symbolic.clone(), &values).ok()
    }

    fn report(mut self, problem: &Problem, iterations: usize, converged: bool) -> Solution {
        self.damping = 0.0;
        let factor = self.factor(&problem.normal(&self.at).matrix());
        let marginals = factor.as_ref().map(|factor| Marginals::new(factor.l()));
        let covariance = |(pose, column): (&Se2, &Option<usize>)| match (&marginals, column) {
            (Some(marginals), Some(column)) => {
                let turn = map_from_body(pose);
                turn * marginals.covariance::<3>(*column) * turn.transpose()
            }
            _ => Matrix3::zeros(),
        };
        let of_poses = self.at.poses.iter().zip(&problem.order.poses).skip(problem.first_step);
        let of_landmarks = problem.identities.iter().zip(&self.at.landmarks).zip(&problem.order.landmarks);
        let landmark = |((&id, &position), &column): ((&u32, &Vector2<f64>), &usize)| {
            (id, position, marginals.as_ref().map_or_else(Matrix2::zeros, |m| m.covariance::<2>(column)))
        };
        let parameter = |&parameter: &CalibrationParameter| {
            let column = problem.order.calibration[parameter as usize];
            let variance = marginals.as_ref().zip(column).map_or(0.0, |(m, column)| m.covariance::<1>(column).x);
            CalibrationEstimate { parameter, value: self.at.calibration.get(parameter), std: variance.max(0.0).sqrt() }
        };
        Solution {
            covariances: of_poses.map(covariance).collect(),
            poses: self.at.poses[problem.first_step..].to_vec(),
            landmarks: of_landmarks.map(landmark).collect(),
            calibration: self.at.calibration.active().iter().map(parameter).collect(),
            chi_squared: self.cost,
            degrees_of_freedom: problem.degrees_of_freedom(),
            iterations,
            converged: converged && marginals.is_some(),
        }
    }
}
