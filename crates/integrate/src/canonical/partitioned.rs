//! Partitioned Runge–Kutta methods.

use super::{CanonicalMethod, Hamiltonian, PhasePoint, stack};
use crate::{IntegrationError, Tableau, fixed_point};
use nalgebra::DVector;

/// A partitioned Runge–Kutta method (Shen 2019, (1.29)): one tableau for the positions and one for the momenta. It is
/// symplectic if [`Tableau::partitioned_symplectic_defect`] vanishes (theorem 6).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PartitionedRungeKutta<const S: usize> {
    /// aᵢⱼ and bᵢ.
    pub positions: Tableau<S>,
    /// āᵢⱼ and b̄ᵢ.
    pub momenta: Tableau<S>,
}

impl<const S: usize> PartitionedRungeKutta<S> {
    /// One tableau for both: (1.28).
    pub const fn of_one(tableau: Tableau<S>) -> Self {
        Self { positions: tableau, momenta: tableau }
    }
}

impl<const S: usize> CanonicalMethod for PartitionedRungeKutta<S> {
    fn name(&self) -> String {
        let (a, b) = (self.positions.name, self.momenta.name);
        if a == b { a.to_owned() } else { format!("{a} with {b}") }
    }
    fn order(&self) -> usize {
        self.positions.order
    }
    fn step(
        &self,
        system: &dyn Hamiltonian,
        at: &PhasePoint,
        time: f64,
        h: f64,
    ) -> Result<PhasePoint, IntegrationError> {
        let n = at.q.len();
        // Slopes of all stages, position and momentum in turn: x = (Q̇₁, Ṗ₁, Q̇₂, …).
        let slopes_of = |x: &DVector<f64>| {
            let stage = |i: usize| {
                let (mut q, mut p) = (at.q.clone(), at.p.clone());
                for j in 0..S {
                    q.axpy(h * self.positions.a[i][j], &x.rows(2 * n * j, n), 1.0);
                    p.axpy(h * self.momenta.a[i][j], &x.rows(2 * n * j + n, n), 1.0);
                }
                [system.by_momentum(&q, &p), -system.by_position(&q, &p)]
            };
            let slopes: Vec<DVector<f64>> = (0..S).flat_map(stage).collect();
            stack(&slopes.iter().collect::<Vec<_>>())
        };
        let guess = slopes_of(&DVector::zeros(2 * n * S));
        let slopes = if self.is_explicit() {
            repeated(guess, S, slopes_of)
        } else {
            fixed_point::solve(guess, time, h, slopes_of)?.0
        };
        let (mut q, mut p) = (at.q.clone(), at.p.clone());
        for j in 0..S {
            q.axpy(h * self.positions.b[j], &slopes.rows(2 * n * j, n), 1.0);
            p.axpy(h * self.momenta.b[j], &slopes.rows(2 * n * j + n, n), 1.0);
        }
        PhasePoint { q, p }.finite(time, h)
    }
}

impl<const S: usize> PartitionedRungeKutta<S> {
    fn is_explicit(&self) -> bool {
        self.positions.is_explicit() && self.momenta.is_explicit()
    }
}

/// What S evaluations make of the slopes of an explicit method: after k of them the first k stages are right.
fn repeated(guess: DVector<f64>, times: usize, f: impl Fn(&DVector<f64>) -> DVector<f64>) -> DVector<f64> {
    (1..times).fold(guess, |x, _| f(&x))
}
