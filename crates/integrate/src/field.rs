//! Differential equations on homogeneous spaces, and what a one-step method for them is.

use super::IntegrationError;
use lienav_lie::{HomogeneousSpace, LieGroup};

/// The Lie algebra of the group that acts on `M`.
pub type AlgebraOf<M> = <<M as HomogeneousSpace>::Group as LieGroup>::Algebra;

/// A differential equation on a space `M` that a Lie group acts on.
pub trait VectorField<M: HomogeneousSpace> {
    /// The f(t, y) of the algebra with ẏ = d/ds|₀ exp(s f(t, y))·y (Celledoni et al. 2021, (3)).
    fn generator(&self, time: f64, y: &M) -> AlgebraOf<M>;
}

/// A method that takes a point of `M` one step along the field `F`.
pub trait LieGroupMethod<M: HomogeneousSpace, F: VectorField<M>> {
    /// As tables print it.
    fn name(&self) -> String;
    /// The order of convergence.
    fn order(&self) -> usize;
    /// The point at `time` + `h` from that at `time`.
    ///
    /// # Errors
    /// Numbers that are not finite; of an implicit method a step that does not converge.
    fn step(&self, field: &F, y: &M, time: f64, h: f64) -> Result<M, IntegrationError>;
}

/// A method that estimates its error, so that its step can be controlled.
pub trait EmbeddedMethod<M: HomogeneousSpace, F: VectorField<M>>: LieGroupMethod<M, F> {
    /// The order of the auxiliary method, p̃ in (33) of Celledoni et al. 2021.
    fn auxiliary_order(&self) -> usize;
    /// The next point and the estimate of the local error.
    ///
    /// # Errors
    /// As of [`LieGroupMethod::step`].
    fn step_with_error(&self, field: &F, y: &M, time: f64, h: f64) -> Result<(M, f64), IntegrationError>;
}
