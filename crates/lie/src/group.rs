//! The trait that every Lie group of this crate implements.

use super::VectorSpace;
use super::series::dexp_gradient_series;

/// To rounding for |ad_ξ| up to 4.
const GRADIENT_TERMS: usize = 30;

/// A Lie group with its algebra in coordinates.
///
/// Conventions, the same for all: products compose as motions do (`a.compose(b)` is first b, then a, on points); `exp`
/// is the group exponential; *left* Jacobians and dexp go with perturbations on the left, exp(ξ + δ) = exp(dexp(ξ)δ +
/// O(δ²)) exp(ξ), as in Celledoni et al. 2021, (6). Dual elements are in the dual coordinates, so that the pairing ⟨μ,
/// ξ⟩ is [`VectorSpace::dot`]. Where the algebra is one of skew matrices that is the Frobenius product, twice the
/// pairing Σ_{i<j} μ_ij ξ_ij; none of the maps here depends on the factor.
pub trait LieGroup: Clone {
    /// Coordinates of the algebra; the dual uses the same type.
    type Algebra: VectorSpace;

    /// The neutral element (of the same size, where the size is known at run time only).
    fn identity_like(&self) -> Self;
    /// self·other.
    fn compose(&self, other: &Self) -> Self;
    /// The inverse.
    fn inverse(&self) -> Self;
    /// The exponential.
    fn exp(xi: &Self::Algebra) -> Self;
    /// The principal logarithm; at the cut locus (a half turn) one of the shortest.
    fn log(&self) -> Self::Algebra;
    /// The Cayley map (I − ξ/2)⁻¹(I + ξ/2) of the matrix representation, or the map that agrees with it to second
    /// order where the group is none of matrices of that kind.
    fn cayley(xi: &Self::Algebra) -> Self;
    /// The ξ with cayley(ξ) = self: 2(g − I)(g + I)⁻¹ of the matrix representation. Not finite where g turns a plane
    /// by half a turn.
    fn cayley_inv(&self) -> Self::Algebra;
    /// dexp_ξ(η) = Σ ad_ξᵏ(η)/(k+1)!, the left one.
    fn dexp(xi: &Self::Algebra, eta: &Self::Algebra) -> Self::Algebra;
    /// dexp_ξ⁻¹(η) = Σ Bₖ ad_ξᵏ(η)/k!.
    fn dexp_inv(xi: &Self::Algebra, eta: &Self::Algebra) -> Self::Algebra;
    /// dexp*_ξ(μ), with ⟨dexp*_ξ μ, η⟩ = ⟨μ, dexp_ξ η⟩.
    fn dexp_dual(xi: &Self::Algebra, mu: &Self::Algebra) -> Self::Algebra;
    /// (dexp_ξ⁻¹)*(μ), with ⟨(dexp_ξ⁻¹)* μ, η⟩ = ⟨μ, dexp_ξ⁻¹ η⟩.
    fn dexp_inv_dual(xi: &Self::Algebra, mu: &Self::Algebra) -> Self::Algebra;
    /// ad_ξ(η) = [ξ, η].
    fn ad(xi: &Self::Algebra, eta: &Self::Algebra) -> Self::Algebra;
    /// ad*_ξ(μ), with ⟨ad*_ξ μ, η⟩ = ⟨μ, [ξ, η]⟩.
    fn coad(xi: &Self::Algebra, mu: &Self::Algebra) -> Self::Algebra;
    /// Ad_g(ξ) = (g ξ g⁻¹).
    fn adjoint_apply(&self, xi: &Self::Algebra) -> Self::Algebra;
    /// Ad*_g(μ), with ⟨Ad*_g μ, ξ⟩ = ⟨μ, Ad_g ξ⟩.
    fn coadjoint_apply(&self, mu: &Self::Algebra) -> Self::Algebra;
    /// The gradient by ξ of ⟨μ, dexp_ξ(η)⟩: ⟨·, δ⟩ = ⟨μ, d/dt|₀ dexp_{ξ+tδ}(η)⟩. By series, for ξ of moderate length,
    /// where there is no closed form.
    fn dexp_gradient(xi: &Self::Algebra, eta: &Self::Algebra, mu: &Self::Algebra) -> Self::Algebra {
        dexp_gradient_series(GRADIENT_TERMS, |x, y| Self::ad(x, y), |x, y| Self::coad(x, y), xi, eta, mu)
    }
    /// The right one, dexp_{−ξ}: exp(ξ + δ) = exp(ξ) exp(dexp_right(ξ)δ + O(δ²)).
    fn dexp_right(xi: &Self::Algebra, eta: &Self::Algebra) -> Self::Algebra {
        Self::dexp(&xi.scaled(-1.0), eta)
    }
    /// dexp_{−ξ}⁻¹.
    fn dexp_right_inv(xi: &Self::Algebra, eta: &Self::Algebra) -> Self::Algebra {
        Self::dexp_inv(&xi.scaled(-1.0), eta)
    }
}
