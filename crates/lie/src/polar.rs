//! The polar decomposition A = UP as a projection of GL₊(n) onto SO(n), the retraction it makes, and their
//! differentials (Shen, Tran & Leok, section 2.2; Shen 2019, section 4.2).

use super::Square;
use nalgebra::{Matrix3, Vector3};

/// A decomposition A = UP with what solving with P needs, and the memory for it: nothing allocates after
/// [`Self::like`].
#[derive(Clone, Debug)]
pub struct Polar<M: Square> {
    u: M,
    p: M,
    /// (tr P·I − P)⁻¹, for n = 3.
    inverse3: Matrix3<f64>,
    scratch: [M; 4],
}

/// Newton's iteration ends after this many; a matrix that needs more is singular to rounding.
const MOST_ITERATIONS: usize = 60;

impl<M: Square> Polar<M> {
    /// Memory for matrices of this size, holding the decomposition I = I·I.
    pub fn like(a: &M) -> Self {
        let one = a.identity_like();
        let zero = a.zero_like();
        let scratch = [zero.clone(), zero.clone(), zero.clone(), zero];
        Self { u: one.clone(), p: one, inverse3: Matrix3::identity() * 0.5, scratch }
    }

    /// The decomposition of a matrix; `None` where it is singular or not finite.
    pub fn new(a: &M) -> Option<Self> {
        let mut polar = Self::like(a);
        polar.decompose(a).then_some(polar)
    }

    /// ℙ(A): the orthogonal matrix nearest to A, of determinant one where A's is positive.
    pub fn u(&self) -> &M {
        &self.u
    }

    /// P, symmetric and positive definite.
    pub fn p(&self) -> &M {
        &self.p
    }

    /// Decomposes A by Newton's iteration U ← (U + U⁻ᵀ)/2 from U = A (Shen 2019, (4.9)), scaled while far from
    /// orthogonal. False where A is singular or not finite; what is held is undefined then.
    pub fn decompose(&mut self, a: &M) -> bool {
        if !self.project(a) {
            return false;
        }
        // P = (UᵀA + AᵀU)/2.
        let [product, transpose, ..] = &mut self.scratch;
        product.set_tr_product(&self.u, a);
        transpose.set_transpose(product);
        self.p.set(product);
        self.p.add_scaled(1.0, transpose);
        self.p.scale_by(0.5);
        if a.size() == 3 {
            let p = Matrix3::from_fn(|i, j| self.p[(i, j)]);
            let Some(inverse) = (Matrix3::identity() * p.trace() - p).try_inverse() else { return false };
            self.inverse3 = inverse;
        }
        true
    }

    /// The first half of [`Self::decompose`]: U alone; P stays what it was.
    pub fn project(&mut self, a: &M) -> bool {
        let [inverse, ..] = &mut self.scratch;
        let n = a.size() as f64;
        self.u.set(a);
        for _ in 0..MOST_ITERATIONS {
            if !inverse.set_inverse_transpose(&self.u) {
                return false;
            }
            // Far away U and U⁻ᵀ are first brought to one length; near, that would only disturb.
            let square = self.u.dot(&self.u);
            let scale = if (square - n).abs() < 0.2 * n { 1.0 } else { (inverse.dot(inverse) / square).sqrt().sqrt() };
            // U ← U + change.
            inverse.scale_by(0.5 / scale);
            inverse.add_scaled(0.5 * scale - 1.0, &self.u);
            self.u.add_scaled(1.0, inverse);
            let change = inverse.dot(inverse);
            if !change.is_finite() {
                return false;
            }
            // Of quadratic convergence: the next change would be half the square of this one.
            if change < 1e-16 {
                return true;
            }
        }
        false
    }

    /// Ω ← dℙ_A(B), with d/dt ℙ(A + tB) = UΩ: the solution of PΩ + ΩP = UᵀB − BᵀU (Shen, Tran & Leok, (6)).
    pub fn tangent(&mut self, b: &M, omega: &mut M) {
        let [first, second, third, right] = &mut self.scratch;
        right.set_tr_product(&self.u, b);
        right.antisymmetrize();
        solve_lyapunov(&self.p, &self.inverse3, right, omega, [first, second, third]);
    }

    /// W ← dℙ_A*(Ω), with tr(WᵀB) = ½tr(Ωᵀdℙ_A(B)) for all B: W = UX, PX + XP = Ω (Shen, Tran & Leok, section 2.2.2).
    pub fn adjoint(&mut self, omega: &M, w: &mut M) {
        self.lyapunov(omega, w);
        self.scratch[0].set(w);
        w.set_product(&self.u, &self.scratch[0]);
    }

    /// X ← the skew solution of PX + XP = K, K skew.
    pub fn lyapunov(&mut self, k: &M, x: &mut M) {
        let [first, second, third, _] = &mut self.scratch;
        solve_lyapunov(&self.p, &self.inverse3, k, x, [first, second, third]);
    }
}

/// X ← the skew solution of PX + XP = K. For n = 3 that is (tr P·I − P)x = k of the vectors; else by conjugate
/// gradients, for the map is symmetric and positive and, near orthogonal matrices, close to 2.
fn solve_lyapunov<M: Square>(
    p: &M,
    inverse3: &Matrix3<f64>,
    k: &M,
    x: &mut M,
    [residual, direction, image]: [&mut M; 3],
) {
    if k.size() == 3 {
        let v = inverse3 * Vector3::new(k[(2, 1)], k[(0, 2)], k[(1, 0)]);
        for i in 0..3 {
            x[(i, i)] = 0.0;
        }
        (x[(2, 1)], x[(0, 2)], x[(1, 0)]) = (v.x, v.y, v.z);
        (x[(1, 2)], x[(2, 0)], x[(0, 1)]) = (-v.x, -v.y, -v.z);
        return;
    }
    // Px + xP = Px − (Px)ᵀ of a skew x.
    x.set(k);
    x.scale_by(0.5);
    image.set_product(p, x);
    image.antisymmetrize();
    residual.set(k);
    residual.add_scaled(-1.0, image);
    direction.set(residual);
    let mut square = residual.dot(residual);
    let enough = (0.1 * f64::EPSILON * k.norm()).powi(2);
    // In exact arithmetic the dimension of so(n) steps would do; rounding may ask for some more.
    for _ in 0..2 * k.size() * k.size() {
        if square <= enough {
            break;
        }
        image.set_product(p, direction);
        image.antisymmetrize();
        let step = square / direction.dot(image);
        x.add_scaled(step, direction);
        residual.add_scaled(-step, image);
        let next = residual.dot(residual);
        direction.scale_by(next / square);
        direction.add_scaled(1.0, residual);
        square = next;
    }
}

/// The retraction ℙ(I + Ω) of a skew Ω: it turns each plane of Ω by atan of the rate there.
pub fn retract<M: Square>(omega: &M) -> M {
    let mut a = omega.clone();
    a.add_identity(1.0);
    let mut polar = Polar::like(&a);
    // I + Ω is never singular: its eigenvalues are 1 + iω.
    polar.project(&a);
    polar.u
}

/// Its inverse: the Ω with UᵀΩ + ΩU + Uᵀ − U = 0 (Shen 2019, (4.10)), which for orthogonal U is ½(U − Uᵀ)·(½(U +
/// Uᵀ))⁻¹. `None` beyond a quarter turn, where U is no value of the retraction.
pub fn retract_inv<M: Square>(u: &M) -> Option<M> {
    let transpose = u.transposed();
    let (mut skew, symmetric) = (u.plus_scaled(-1.0, &transpose), u.plus_scaled(1.0, &transpose));
    let mut inverse = u.zero_like();
    if !is_positive_definite(&symmetric) || !inverse.set_inverse(&symmetric) {
        return None;
    }
    skew.set(&skew.times(&inverse));
    // Commuting factors in exact arithmetic; what rounding leaves of a symmetric part goes.
    skew.antisymmetrize();
    skew.scale_by(0.5);
    Some(skew)
}

/// Whether Cholesky's factorization goes through.
fn is_positive_definite<M: Square>(a: &M) -> bool {
    let mut l = a.zero_like();
    (0..a.size()).all(|j| {
        let pivot = a[(j, j)] - (0..j).map(|k| l[(j, k)].powi(2)).sum::<f64>();
        if pivot > 0.0 {
            l[(j, j)] = pivot.sqrt();
            for i in j + 1..a.size() {
                l[(i, j)] = (a[(i, j)] - (0..j).map(|k| l[(i, k)] * l[(j, k)]).sum::<f64>()) / l[(j, j)];
            }
        }
        pivot > 0.0
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LieGroup, SoN};
    use nalgebra::{DMatrix, Matrix3, SMatrix};
    use proptest::prelude::*;

    fn matrix<const N: usize>() -> impl Strategy<Value = SMatrix<f64, N, N>> {
        prop::collection::vec(-1.0..1.0f64, N * N).prop_map(SMatrix::from_iterator)
    }

    /// Near SO(n), but not near the identity.
    fn near_rotation<const N: usize>() -> impl Strategy<Value = SMatrix<f64, N, N>> {
        (matrix::<N>(), matrix::<N>()).prop_map(|(a, b)| {
            let turn = SoN::exp(&((a - a.transpose()) * 0.5));
            turn.matrix() * (SMatrix::identity() + b * 0.15)
        })
    }

    fn decomposes<const N: usize>(a: &SMatrix<f64, N, N>, b: &SMatrix<f64, N, N>, c: &SMatrix<f64, N, N>) {
        let mut polar = Polar::new(a).unwrap();
        let (u, p) = (*polar.u(), *polar.p());
        assert!((u.transpose() * u - SMatrix::identity()).norm() < 2e-15 * N as f64);
        assert!((u * p - a).norm() < 1e-14);
        assert!(p.symmetric_part().cholesky().is_some());
        // Equivariance, Shen 2019, (4.8).
        let q = SoN::exp(&(c - c.transpose())).matrix().clone_owned();
        assert!((Polar::new(&(q * a)).unwrap().u() - q * u).norm() < 1e-13);
        // The tangent map against differences, and its adjoint.
        let mut omega = SMatrix::zeros();
        polar.tangent(b, &mut omega);
        let h = 1e-5;
        let difference = (Polar::new(&(a + b * h)).unwrap().u() - Polar::new(&(a - b * h)).unwrap().u()) / (2.0 * h);
        assert!((u * omega - difference).norm() < 1e-8);
        let (mut w, skew) = (SMatrix::zeros(), c - c.transpose());
        polar.adjoint(&skew, &mut w);
        assert!((w.dot(b) - 0.5 * skew.dot(&omega)).abs() < 1e-14);
    }

    trait SymmetricPart: Sized {
        fn symmetric_part(self) -> DMatrix<f64>;
    }
    impl<const N: usize> SymmetricPart for SMatrix<f64, N, N> {
        fn symmetric_part(self) -> DMatrix<f64> {
            DMatrix::from_fn(N, N, |i, j| 0.5 * (self[(i, j)] + self[(j, i)]))
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn of_size_3(a in near_rotation::<3>(), b in matrix(), c in matrix()) { decomposes(&a, &b, &c); }
        #[test]
        fn of_size_4(a in near_rotation::<4>(), b in matrix(), c in matrix()) { decomposes(&a, &b, &c); }
        #[test]
        fn of_size_5(a in near_rotation::<5>(), b in matrix(), c in matrix()) { decomposes(&a, &b, &c); }

        #[test]
        fn far_from_orthogonal(a in matrix::<4>()) {
            prop_assume!(a.determinant().abs() > 1e-6);
            let polar = Polar::new(&a).unwrap();
            prop_assert!((polar.u() * polar.p() - a).norm() < 1e-12);
            prop_assert!((polar.u().transpose() * polar.u() - SMatrix::identity()).norm() < 1e-12);
        }

        #[test]
        fn the_retraction_and_its_inverse(a in matrix::<5>()) {
            let omega = a - a.transpose();
            let u = retract(&omega);
            prop_assert!((retract_inv(&u).unwrap() - omega).norm() < 1e-12 * (1.0 + omega.norm_squared()));
            let residual = u.transpose() * omega + omega * u + u.transpose() - u;
            prop_assert!(residual.norm() < 1e-13);
        }
    }

    #[test]
    fn what_has_no_decomposition() {
        assert!(Polar::new(&Matrix3::<f64>::zeros()).is_none());
        assert!(Polar::new(&(Matrix3::identity() * f64::NAN)).is_none());
        assert!(retract_inv(&Matrix3::from_diagonal(&nalgebra::Vector3::new(1.0, -1.0, -1.0))).is_none());
    }
}
