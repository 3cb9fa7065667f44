//! Variational integrators of any order on SO(n) by the polar decomposition (VPD): Shen, Tran & Leok 2022; Shen 2019,
//! chapter 4.
//!
//! The constrained Galerkin method with a tableau (a, b) in the matrices around SO(n), each stage projected:
//! Uᵢ = ℙ(g₀ + h Σⱼ aᵢⱼ UⱼΩⱼ), g₁ = ℙ(g₀ + h Σᵢ bᵢ UᵢΩᵢ), a multiplier Λ for the latter. Its equations ((4.24) on the
//! Lagrangian, (4.26) on the Hamiltonian side) sum adjoints (πᵢ∘φ⁻¹∘ψₖ)* over the stages. Summed at once, with
//! Fᵢ = dℙ*_{Aᵢ}(sᵢ)/bᵢ in the unknowns sᵢ of (4.21a), and with matrices Mᵢ of momenta, they are a *partitioned
//! Runge–Kutta method in the surrounding matrices*, ã the symplectic partner of a:
//!
//! - Mᵢ = M₀ + h Σⱼ ãᵢⱼFⱼ, −g₁Λ = M₀ + h Σᵢ bᵢFᵢ, ãᵢⱼ = bⱼ(1 − aⱼᵢ/bᵢ);
//! - μᵢ = Asym(UᵢᵀMᵢ), Ωᵢ = ∂H/∂μ(Uᵢ, μᵢ), Fᵢ = dℙ*_{Aᵢ}(τᵢ + Asym(UᵢᵀMᵢΩᵢ)), τ = −∂H/∂U;
//! - p₀ = Asym(g₀ᵀM₀), p₁ = −(SΛ + ΛS) with S the symmetric factor of g₁;
//!
//! momenta p, μ and torques τ trivialized from the left, Asym(X) = X − Xᵀ, duals by ⟨μ, Ω⟩ = ½tr(μᵀΩ). This is what is
//! iterated here; nothing of (4.24)–(4.27) is left out.

mod system;
#[cfg(test)]
mod tests;

pub use system::{LeftInvariant, PolarHamiltonian, PolarLagrangian};

use super::rigid_body::RigidBody;
use super::settling::Settling;
use super::{IntegrationError, Tableau};
use lienav_lie::polar::Polar;
use lienav_lie::{So3, Square, hat};
use nalgebra::{Matrix3, Vector3};
use system::{Hamiltonian, Lagrangian, Side};

/// Where a system on SO(n) is: its attitude and its body momentum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PolarState<M> {
    /// g, orthogonal.
    pub attitude: M,
    /// p, skew; for n = 3 the hat of the angular momentum in the body.
    pub momentum: M,
}

impl PolarState<Matrix3<f64>> {
    /// Of a body: R and JΩ.
    pub fn of_body(body: &impl RigidBody, attitude: &So3, angular_velocity: &Vector3<f64>) -> Self {
        Self { attitude: *attitude.matrix(), momentum: hat(&body.momentum(angular_velocity)) }
    }
}

/// The method of a tableau with its memory: a step allocates nothing, whether n is known to the compiler or not.
#[derive(Clone, Debug)]
pub struct PolarVariational<M: Square, const S: usize> {
    a: [[f64; S]; S],
    b: [f64; S],
    c: [f64; S],
    stages: [Stage<M>; S],
    /// The decomposition of what is projected on g₁.
    end: Polar<M>,
    /// g₀ and p₀.
    start: PolarState<M>,
    lambda: M,
    scratch: [M; 3],
}

#[derive(Clone, Debug)]
struct Stage<M: Square> {
    /// Aᵢ = UᵢPᵢ.
    polar: Polar<M>,
    u: M,
    mu: M,
    omega: M,
    /// UᵢΩᵢ.
    slope: M,
    /// Mᵢ.
    momentum: M,
    /// Fᵢ.
    force: M,
}

/// Iterations of the multiplier's equation at most, where n is not 3.
const MULTIPLIER_ITERATIONS: usize = 100;

impl<M: Square, const S: usize> PolarVariational<M, S> {
    /// For matrices of the size of `like`. `None` where a weight of the tableau vanishes: there is no partner then.
    pub fn new(tableau: &Tableau<S>, like: &M) -> Option<Self> {
        tableau.symplectic_partner()?;
        let zero = like.zero_like();
        let stage = || Stage {
            polar: Polar::like(like),
            u: zero.clone(),
            mu: zero.clone(),
            omega: zero.clone(),
            slope: zero.clone(),
            momentum: zero.clone(),
            force: zero.clone(),
        };
        Some(Self {
            a: tableau.a,
            b: tableau.b,
            c: tableau.c,
            stages: std::array::from_fn(|_| stage()),
            end: Polar::like(like),
            start: PolarState { attitude: zero.clone(), momentum: zero.clone() },
            lambda: zero.clone(),
            scratch: std::array::from_fn(|_| zero.clone()),
        })
    }

    /// One step by the Hamiltonian, (4.26); how often the stages were evaluated.
    ///
    /// # Errors
    /// A step whose iteration does not converge, with the last change of its variables relative to their size as the
    /// residual, or whose numbers are not finite; the state is untouched then.
    pub fn step(
        &mut self,
        system: &impl PolarHamiltonian<M>,
        state: &mut PolarState<M>,
        time: f64,
        h: f64,
    ) -> Result<usize, IntegrationError> {
        self.advance(&Hamiltonian(system), state, time, h)
    }

    /// One step by the Lagrangian, (4.24): the Ωᵢ are unknowns, corrected until ∂L/∂Ω is the momentum of the stage.
    /// The state holds ∂L/∂Ω as its momentum.
    ///
    /// # Errors
    /// As of [`Self::step`].
    pub fn step_lagrangian(
        &mut self,
        system: &impl PolarLagrangian<M>,
        state: &mut PolarState<M>,
        time: f64,
        h: f64,
    ) -> Result<usize, IntegrationError> {
        self.advance(&Lagrangian(system), state, time, h)
    }

    /// One step of the momentum alone, the reduced Lie–Poisson method (4.27): the same equations multiplied by g₀ᵀ, so
    /// that they hold at the identity. [`Self::increment`] is the f₀ = g₀ᵀg₁ of the step; p₁ = f₀ᵀp₀f₀ up to the
    /// tolerance of the iteration.
    ///
    /// # Errors
    /// As of [`Self::step`].
    pub fn step_reduced<H: PolarHamiltonian<M> + LeftInvariant>(
        &mut self,
        system: &H,
        momentum: &mut M,
        time: f64,
        h: f64,
    ) -> Result<usize, IntegrationError> {
        self.start.attitude.scale_by(0.0);
        self.start.attitude.add_identity(1.0);
        self.start.momentum.set(momentum);
        let iterations = self.solve(&Hamiltonian(system), time, h)?;
        self.final_momentum(momentum);
        Ok(iterations)
    }

    /// g₁ of the last step; of a reduced one f₀ = g₀ᵀg₁.
    pub fn increment(&self) -> &M {
        self.end.u()
    }

    /// p₁ = −(SΛ + ΛS) = −Asym(SΛ), S = g₁ᵀ(g₀ + h Σ bᵢUᵢΩᵢ): (4.23).
    fn final_momentum(&self, momentum: &mut M) {
        momentum.set_product(self.end.p(), &self.lambda);
        momentum.antisymmetrize();
        momentum.scale_by(-1.0);
    }

    /// One step of attitude and momentum by the equations of either side.
    fn advance(
        &mut self,
        side: &impl Side<M>,
        state: &mut PolarState<M>,
        time: f64,
        h: f64,
    ) -> Result<usize, IntegrationError> {
        self.start.attitude.set(&state.attitude);
        self.start.momentum.set(&state.momentum);
        let iterations = self.solve(side, time, h)?;
        state.attitude.set(self.end.u());
        self.final_momentum(&mut state.momentum);
        Ok(iterations)
    }

    /// Iterates all equations together until nothing changes.
    fn solve(&mut self, side: &impl Side<M>, time: f64, h: f64) -> Result<usize, IntegrationError> {
        self.guess(side, h);
        let mut settling = Settling::new();
        loop {
            let change = self.iterate(side, h).unwrap_or(f64::NAN);
            if let Some(iterations) = settling.after(change, time, h)? {
                return Ok(iterations);
            }
        }
    }

    /// The stages as if the body turned on with the velocity of the start, its spatial momentum unchanged.
    fn guess(&mut self, side: &impl Side<M>, h: f64) {
        let [velocity, matrix, spare] = &mut self.scratch;
        velocity.scale_by(0.0);
        side.velocity(&self.start.attitude, &self.start.momentum, velocity, [matrix, spare]);
        for (stage, c) in self.stages.iter_mut().zip(self.c) {
            stage.omega.set(velocity);
            matrix.set(velocity);
            matrix.scale_by(c * h);
            matrix.add_identity(1.0);
            stage.u.set_product(&self.start.attitude, matrix);
            // ℙ(I + chΩ), which always exists, at g₀.
            stage.polar.project(&stage.u);
            stage.u.set(stage.polar.u());
            stage.momentum.set_product(&self.start.attitude, &self.start.momentum);
            stage.momentum.scale_by(0.5);
        }
        self.lambda.set(&self.start.momentum);
        self.lambda.scale_by(-0.5);
    }

    /// Evaluates every equation once, in the order of the module's documentation. The changes of all Uᵢ and, relative
    /// to their size, of all Mᵢ; `None` where a stage has no projection.
    fn iterate(&mut self, side: &impl Side<M>, h: f64) -> Option<f64> {
        let [first, second, _] = &mut self.scratch;
        for stage in &mut self.stages {
            stage.mu.set_tr_product(&stage.u, &stage.momentum);
            stage.mu.antisymmetrize();
            side.velocity(&stage.u, &stage.mu, &mut stage.omega, [first, second]);
            stage.slope.set_product(&stage.u, &stage.omega);
        }
        let mut change = self.place_stages(h)?;
        self.push_stages(side);
        self.solve_multiplier(h);
        change += self.update_momenta(h);
        Some(change)
    }

    /// Uᵢ and g₁ from the slopes.
    fn place_stages(&mut self, h: f64) -> Option<f64> {
        let (matrix, mut change) = (&mut self.scratch[0], 0.0f64);
        for i in 0..S {
            matrix.set(&self.start.attitude);
            for j in 0..S {
                matrix.add_scaled(h * self.a[i][j], &self.stages[j].slope);
            }
            let stage = &mut self.stages[i];
            if !stage.polar.decompose(matrix) {
                return None;
            }
            stage.u.add_scaled(-1.0, stage.polar.u());
            change += stage.u.norm();
            stage.u.set(stage.polar.u());
        }
        matrix.set(&self.start.attitude);
        for (stage, b) in self.stages.iter().zip(self.b) {
            matrix.add_scaled(h * b, &stage.slope);
        }
        self.end.decompose(matrix).then_some(change)
    }

    /// Fᵢ = dℙ*(τᵢ + Asym(UᵢᵀMᵢΩᵢ)).
    fn push_stages(&mut self, side: &impl Side<M>) {
        let [torque, product, body] = &mut self.scratch;
        for stage in &mut self.stages {
            side.torque(&stage.u, &stage.mu, &stage.omega, torque);
            body.set_tr_product(&stage.u, &stage.momentum);
            product.set_product(body, &stage.omega);
            product.antisymmetrize();
            torque.add_scaled(1.0, product);
            stage.polar.adjoint(torque, &mut stage.force);
        }
    }

    /// Λ from p₀ = Asym(g₀ᵀM₀), M₀ = −g₁Λ − h Σ bᵢFᵢ: FΛ + ΛFᵀ = −p₀ − h Asym(g₀ᵀ Σ bᵢFᵢ) with F = g₀ᵀg₁.
    fn solve_multiplier(&mut self, h: f64) {
        let [turn, sum, right] = &mut self.scratch;
        sum.scale_by(0.0);
        for (stage, b) in self.stages.iter().zip(self.b) {
            sum.add_scaled(-h * b, &stage.force);
        }
        right.set_tr_product(&self.start.attitude, sum);
        right.antisymmetrize();
        right.add_scaled(-1.0, &self.start.momentum);
        turn.set_tr_product(&self.start.attitude, self.end.u());
        if right.size() == 3 {
            // F x^ + x^ Fᵀ = ((tr F·I − Fᵀ)x)^.
            let f = Matrix3::from_fn(|i, j| turn[(i, j)]);
            let r = Vector3::new(right[(2, 1)], right[(0, 2)], right[(1, 0)]);
            // Singular only at a turn so far that the stages have not converged either; not-a-number ends the step.
            let inverse = (Matrix3::identity() * f.trace() - f.transpose()).try_inverse();
            let x = inverse.unwrap_or(Matrix3::from_element(f64::NAN)) * r;
            let skew = hat(&x);
            for i in 0..3 {
                for j in 0..3 {
                    self.lambda[(i, j)] = skew[(i, j)];
                }
            }
            return;
        }
        // By Richardson's iteration from the last Λ: F is near I, so half the residual is nearly the error.
        let enough = 0.1 * f64::EPSILON * right.norm();
        let mut last = f64::INFINITY;
        for _ in 0..MULTIPLIER_ITERATIONS {
            sum.set_product(turn, &self.lambda);
            sum.antisymmetrize();
            sum.add_scaled(-1.0, right);
            let residual = sum.norm();
            if residual <= enough || residual >= last {
                return;
            }
            last = residual;
            self.lambda.add_scaled(-0.5, sum);
        }
    }

    /// Mₖ = −g₁Λ − h Σₗ (bₗaₗₖ/bₖ) Fₗ; their changes relative to their size.
    fn update_momenta(&mut self, h: f64) -> f64 {
        let [end, next, _] = &mut self.scratch;
        end.set_product(self.end.u(), &self.lambda);
        let (mut change, size) = (0.0f64, end.norm());
        for k in 0..S {
            next.set(end);
            for l in 0..S {
                next.add_scaled(h * self.b[l] * self.a[l][k] / self.b[k], &self.stages[l].force);
            }
            let momentum = &mut self.stages[k].momentum;
            momentum.add_scaled(1.0, next);
            change += momentum.norm();
            momentum.set(next);
            momentum.scale_by(-1.0);
        }
        if size > 0.0 { change / size } else { change }
    }
}
