//! Symplectic Lie group integrators on the cotangent bundle of a Lie group (Celledoni et al. 2021, section 3.2), with
//! momenta trivialized from the right: spatial ones, where the group is one of attitudes.

use super::IntegrationError;
use super::fixed_point::solve;
use lienav_lie::{LieGroup, VectorSpace};

/// A Hamiltonian on T*G = G × 𝔤*, (g, μ) with μ in spatial coordinates: ġ = ξg, μ̇ = ν − ad*_ξ μ with the velocity
/// ξ = ∂H/∂μ and the force ν = −R_g* ∂H/∂g, (12) and (14).
pub trait CotangentHamiltonian<G: LieGroup> {
    /// H(g, μ).
    fn energy(&self, g: &G, mu: &G::Algebra) -> f64;
    /// ∂H/∂μ.
    fn velocity(&self, g: &G, mu: &G::Algebra) -> G::Algebra;
    /// −R_g* ∂H/∂g at constant μ: H(exp(δ)g, μ) = H(g, μ) − ⟨ν, δ⟩ + O(δ²).
    fn force(&self, g: &G, mu: &G::Algebra) -> G::Algebra;
}

/// The family (15)–(17), implicit and symplectic for any θ: of order 2 and symmetric for θ = 1/2, otherwise of order
/// 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SymplecticLieGroup {
    /// Where in the step velocity and force are taken, 0 … 1.
    pub theta: f64,
}

impl SymplecticLieGroup {
    /// The one of order 2.
    pub const MIDPOINT: Self = Self { theta: 0.5 };

    /// (g, μ) at `time` + h from that at `time`, and how often the right side was evaluated. In one step
    /// (ξ, n̄) = h f(exp(θξ)g₀, M_θ), M_θ = dexp*_{−ξ}(μ₀ + Ad*_{exp(θξ)} n̄) − θ dexp*_{−θξ} Ad*_{exp(θξ)} n̄, and
    /// then g₁ = exp(ξ)g₀, μ₁ = Ad*_{exp(−ξ)}(μ₀ + Ad*_{exp(θξ)} n̄).
    ///
    /// # Errors
    /// A step that does not converge, its residual the difference of (ξ, n̄) and what it should be; numbers that are
    /// not finite.
    pub fn step<G: LieGroup>(
        &self,
        system: &impl CotangentHamiltonian<G>,
        (g, mu): &(G, G::Algebra),
        time: f64,
        h: f64,
    ) -> Result<((G, G::Algebra), usize), IntegrationError> {
        let guess = (system.velocity(g, mu).scaled(h), system.force(g, mu).scaled(h));
        let ((xi, force), evaluations) = solve(guess, time, h, |(xi, force)| {
            let inner = xi.scaled(self.theta);
            let turned = G::exp(&inner);
            let pulled = turned.coadjoint_apply(force);
            let mut momentum = G::dexp_dual(&xi.scaled(-1.0), &mu.plus_scaled(1.0, &pulled));
            momentum.add_scaled(-self.theta, &G::dexp_dual(&inner.scaled(-1.0), &pulled));
            let place = turned.compose(g);
            (system.velocity(&place, &momentum).scaled(h), system.force(&place, &momentum).scaled(h))
        })?;
        let pulled = G::exp(&xi.scaled(self.theta)).coadjoint_apply(&force);
        let step = G::exp(&xi);
        let momentum = step.inverse().coadjoint_apply(&mu.plus_scaled(1.0, &pulled));
        Ok(((step.compose(g), momentum), evaluations))
    }
}
