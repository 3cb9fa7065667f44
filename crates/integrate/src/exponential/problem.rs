//! What the methods of this family need to know of a system.

use nalgebra::Complex;

/// A semilinear Poisson system (Shen 2019, eq. (2.5)):
///
/// $$\dot q = J(Dq + \nabla V(q)) = Aq + J\nabla V(q),\qquad A = JD,$$
///
/// with $J^\top = -J$, $D^\top = D$ and $JD = DJ$, so that $A$ is skew-symmetric: its eigenvalues are $i\omega$, and
/// $e^{At}$ is orthogonal. States are slices of [`dim`](Self::dim) real numbers; every function expects and fills that
/// many.
///
/// The laws of $J$ and $D$ are for the implementation to check when it is made (see `dynamics::semilinear`).
pub trait SemilinearPoisson {
    /// A function of $A$, ready to be applied many times.
    type Operator;
    /// What applying an operator needs of memory, so that no step allocates.
    type Scratch;

    /// The number of unknowns.
    fn dim(&self) -> usize;

    /// Memory for [`apply`](Self::apply) and [`apply_structure`](Self::apply_structure).
    fn scratch(&self) -> Self::Scratch;

    /// $f(A)$: the operator that multiplies the eigenvectors of eigenvalue $i\omega$ by $f(\omega)$. It is real,
    /// therefore $f(-\omega)$ has to be the conjugate of $f(\omega)$.
    fn function(&self, f: &dyn Fn(f64) -> Complex<f64>) -> Self::Operator;

    /// $f(A)J$, of the same kind.
    fn function_of_structure(&self, f: &dyn Fn(f64) -> Complex<f64>) -> Self::Operator;

    /// `out` ← operator · `x`.
    fn apply(&self, operator: &Self::Operator, x: &[f64], out: &mut [f64], scratch: &mut Self::Scratch);

    /// `out` ← J · `x`; cheaper than an operator where $J$ acts point by point.
    fn apply_structure(&self, x: &[f64], out: &mut [f64], scratch: &mut Self::Scratch);

    /// Called once a step: where the rounding of operators is the same in every application, the next ones are
    /// computed another way, so that it does not add up over the steps. What operators are, up to rounding, does not
    /// change.
    fn vary_rounding(&self, _scratch: &mut Self::Scratch) {}

    /// $V(q)$.
    fn potential(&self, q: &[f64]) -> f64;

    /// `out` ← $\nabla V(q)$.
    fn gradient(&self, q: &[f64], out: &mut [f64]);

    /// `out` ← $\nabla^2V(q)\,v$; for Newton's method only.
    fn hessian_apply(&self, q: &[f64], v: &[f64], out: &mut [f64]);

    /// `out` ← $\overline\nabla V(q_0, q_1)$, symmetric in both and with
    /// $\overline\nabla V(q_0, q_1)\cdot(q_1 - q_0) = V(q_1) - V(q_0)$ (eq. (2.11)).
    fn discrete_gradient(&self, q0: &[f64], q1: &[f64], out: &mut [f64]);

    /// $H(q) = \tfrac12 q^\top Dq + V(q)$.
    fn energy(&self, q: &[f64], scratch: &mut Self::Scratch) -> f64;
}

/// $e^{At} - I$ as a function of the frequency, without the loss of digits of a difference.
///
/// Added to q, it takes the place of $e^{At}$: the rounding of a multiplier $e^{i\omega t}$, the same in every step,
/// lets a mode's amplitude grow or decay steadily; that of $e^{i\omega t} - 1$ is smaller by $|\omega t|$ for the slow
/// modes, which have most of the energy.
pub(super) fn exponential_increment(t: f64) -> impl Fn(f64) -> Complex<f64> {
    move |omega| {
        let half = 0.5 * omega * t;
        Complex::new(-half.sin(), half.cos()) * (2.0 * half.sin())
    }
}

/// $\int_0^t e^{A\tau}d\tau = t\varphi_1(At)$ as a function of the frequency:
/// $t\,\mathrm{sinc}(\omega t/2)\,e^{i\omega t/2}$, which loses no digits at $\omega t \to 0$, as
/// $(e^{i\omega t} - 1)/i\omega$ would.
pub(super) fn integral(t: f64) -> impl Fn(f64) -> Complex<f64> {
    move |omega| {
        let half = 0.5 * omega * t;
        let sinc = if half == 0.0 { 1.0 } else { half.sin() / half };
        Complex::from_polar(t, half) * sinc
    }
}

/// $(I - tA)^{-1}$ as a function of the frequency.
pub(super) fn resolvent(t: f64) -> impl Fn(f64) -> Complex<f64> {
    move |omega| Complex::new(1.0, -omega * t).inv()
}

/// $A$ itself.
pub(super) fn generator(omega: f64) -> Complex<f64> {
    Complex::new(0.0, omega)
}
