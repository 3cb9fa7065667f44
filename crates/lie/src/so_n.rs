//! SO(n), for n known to the compiler ([`SoN`]) or only at run time ([`SoDyn`]).
//!
//! Algebra: skew n × n matrices; the dual is paired with it by the Frobenius product.

use super::polar::Polar;
use super::series::{dexp_inv_series, dexp_series};
use super::{HomogeneousSpace, LieGroup, Square};
use nalgebra::{DMatrix, SMatrix};

/// A rotation of n-dimensional space, as a matrix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rotation<M: Square>(M);

/// SO(n) with n known to the compiler, on the stack.
pub type SoN<const N: usize> = Rotation<SMatrix<f64, N, N>>;

/// SO(n) with n known at run time.
pub type SoDyn = Rotation<DMatrix<f64>>;

/// Terms of dexp⁻¹ at most; enough where the eigenvalues of ad are below 0.9·2π.
const MOST_TERMS: usize = 400;

impl<M: Square> Rotation<M> {
    /// Takes a matrix at its word: it must be orthogonal with determinant 1.
    pub fn from_matrix_unchecked(matrix: M) -> Self {
        Self(matrix)
    }

    /// The nearest rotation, by the polar decomposition; `None` where the matrix is singular or not finite. The matrix
    /// must have a positive determinant.
    pub fn nearest(matrix: &M) -> Option<Self> {
        let mut polar = Polar::like(matrix);
        polar.project(matrix).then(|| Self(polar.u().clone()))
    }

    /// The matrix.
    pub fn matrix(&self) -> &M {
        &self.0
    }

    /// ‖RᵀR − I‖, Frobenius.
    pub fn orthogonality_error(&self) -> f64 {
        let mut product = self.0.tr_times(&self.0);
        product.add_identity(-1.0);
        product.norm()
    }

    /// The logarithm of a rotation by less than half a turn in each of its planes: roots until near the identity,
    /// where log R = 2 artanh K, K = (R − I)(R + I)⁻¹. The root is a polar decomposition: R^½ = ℙ(I + R).
    fn log_once(&self) -> Option<M> {
        let (mut root, mut doublings) = (self.0.clone(), 0);
        let mut polar = Polar::like(&root);
        while root.plus_scaled(-1.0, &root.identity_like()).norm() > 0.2 {
            root.add_identity(1.0);
            if doublings > 60 || !polar.project(&root) {
                return None;
            }
            root.set(polar.u());
            doublings += 1;
        }
        let k = Self(root).cayley_inv().scaled(0.5);
        let square = k.times(&k);
        let (mut sum, mut power) = (k.clone(), k);
        for n in 1..=9 {
            power = power.times(&square);
            sum.add_scaled(1.0 / f64::from(2 * n + 1), &power);
        }
        sum.scale_by(f64::from(doublings).exp2() * 2.0);
        Some(sum)
    }
}

/// The differentials of exp are series, dexp for ξ of any size, dexp⁻¹ where the sum of the two greatest angles of ξ
/// is below 0.9·2π.
impl<M: Square> LieGroup for Rotation<M> {
    type Algebra = M;

    fn identity_like(&self) -> Self {
        Self(self.0.identity_like())
    }
    fn compose(&self, other: &Self) -> Self {
        Self(self.0.times(&other.0))
    }
    fn inverse(&self) -> Self {
        Self(self.0.transposed())
    }
    /// The diagonal Padé approximant of degree 9, which is orthogonal where ξ is skew, after halving and before
    /// squaring.
    fn exp(xi: &M) -> Self {
        const EVEN: [f64; 5] = [17_643_225_600.0, 2_075_673_600.0, 30_270_240.0, 110_880.0, 90.0];
        const ODD: [f64; 5] = [8_821_612_800.0, 302_702_400.0, 2_162_160.0, 3960.0, 1.0];
        let halvings = (0.5 * xi.norm()).log2().ceil().clamp(0.0, 60.0) as i32;
        let x = xi.scaled(0.5f64.powi(halvings));
        let square = x.times(&x);
        let even_in = |coefficients: &[f64; 5]| {
            coefficients.iter().rev().fold(x.zero_like(), |sum, &c| {
                let mut next = sum.times(&square);
                next.add_identity(c);
                next
            })
        };
        let (even, odd) = (even_in(&EVEN), x.times(&even_in(&ODD)));
        let mut turn = even.plus_scaled(-1.0, &odd).inverted().times(&even.plus_scaled(1.0, &odd));
        for _ in 0..halvings {
            turn = turn.times(&turn);
        }
        Self(turn)
    }
    /// Where a plane is turned by half a turn, one of the logarithms; not-a-number for what is no rotation.
    fn log(&self) -> M {
        let first = self.log_once().or_else(|| {
            // At a half turn I + R is singular: from a little aside, to be corrected below.
            let n = self.0.size();
            let mut aside = self.0.zero_like();
            for i in 0..n {
                for j in 0..i {
                    aside[(i, j)] = 1e-7 / (i + 2 * j + 1) as f64;
                    aside[(j, i)] = -aside[(i, j)];
                }
            }
            self.compose(&Self::exp(&aside)).log_once()
        });
        let Some(xi) = first else { return self.0.scaled(f64::NAN) };
        // One step of Newton's makes up for what the roots lost; near two half turns its series does not converge.
        let residual = |xi: &M| Self::exp(&xi.scaled(-1.0)).compose(self);
        let Some(rest) = residual(&xi).log_once() else { return xi };
        let corrected = xi.plus_scaled(1.0, &Self::dexp_right_inv(&xi, &rest));
        let size = |xi: &M| residual(xi).distance(&self.identity_like());
        if size(&corrected) < size(&xi) { corrected } else { xi }
    }
    fn cayley(xi: &M) -> Self {
        let mut ahead = xi.scaled(0.5);
        ahead.add_identity(1.0);
        // I − ξ/2 = (I + ξ/2)ᵀ is never singular.
        Self(ahead.transposed().inverted().times(&ahead))
    }
    fn cayley_inv(&self) -> M {
        let (mut above, mut below) = (self.0.clone(), self.0.clone());
        above.add_identity(-1.0);
        below.add_identity(1.0);
        let mut xi = above.times(&below.inverted());
        xi.antisymmetrize();
        xi
    }
    /// Of ξ beyond length one by halves: dexp_2ξ = (1 + Ad_{exp ξ})/2 ∘ dexp_ξ.
    fn dexp(xi: &M, eta: &M) -> M {
        let halvings = xi.norm().log2().ceil().clamp(0.0, 60.0) as i32;
        let xi = xi.scaled(0.5f64.powi(halvings));
        let mut sum = dexp_series(MOST_TERMS, |eta| Self::ad(&xi, eta), eta);
        if halvings > 0 {
            let mut turn = Self::exp(&xi);
            for _ in 0..halvings {
                sum.add_scaled(1.0, &turn.adjoint_apply(&sum));
                sum.scale_by(0.5);
                turn = turn.compose(&turn);
            }
        }
        sum
    }
    fn dexp_inv(xi: &M, eta: &M) -> M {
        dexp_inv_series(MOST_TERMS, |eta| Self::ad(xi, eta), eta)
    }
    fn dexp_dual(xi: &M, mu: &M) -> M {
        Self::dexp(&xi.scaled(-1.0), mu)
    }
    fn dexp_inv_dual(xi: &M, mu: &M) -> M {
        Self::dexp_inv(&xi.scaled(-1.0), mu)
    }
    /// ξη − ηξ = ξη − (ξη)ᵀ.
    fn ad(xi: &M, eta: &M) -> M {
        let mut bracket = xi.times(eta);
        bracket.antisymmetrize();
        bracket
    }
    /// [μ, ξ].
    fn coad(xi: &M, mu: &M) -> M {
        Self::ad(mu, xi)
    }
    /// RξRᵀ.
    fn adjoint_apply(&self, xi: &M) -> M {
        self.0.times(xi).times(&self.0.transposed())
    }
    /// RᵀμR.
    fn coadjoint_apply(&self, mu: &M) -> M {
        self.0.tr_times(mu).times(&self.0)
    }
}

/// By multiplication from the left.
impl<M: Square> HomogeneousSpace for Rotation<M> {
    type Group = Self;

    fn moved_by(&self, g: &Self) -> Self {
        g.compose(self)
    }
    fn distance(&self, other: &Self) -> f64 {
        self.0.plus_scaled(-1.0, &other.0).norm()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{So3, hat};
    use nalgebra::{Matrix4, Vector3};

    #[test]
    fn three_dimensions_are_those_of_so3() {
        let xi = Vector3::new(1.3, -0.4, 1.9);
        let (a, b) = (SoN::<3>::exp(&hat(&xi)), So3::exp(&xi));
        assert!((a.matrix() - b.matrix()).norm() < 2e-15);
        let eta = Vector3::new(-0.3, 0.8, 0.1);
        assert!((SoN::<3>::dexp(&hat(&xi), &hat(&eta)) - hat(&So3::dexp(&xi, &eta))).norm() < 2e-15);
        assert!((SoN::<3>::dexp_inv(&hat(&xi), &hat(&eta)) - hat(&So3::dexp_inv(&xi, &eta))).norm() < 4e-15);
    }

    /// Half a turn in one plane, in two, and close by.
    #[test]
    fn logarithms_at_and_near_half_turns() {
        use std::f64::consts::PI;
        for (a, b) in [(PI, 0.0), (PI, 1.0), (PI - 1e-5, 0.3), (PI - 1e-9, PI - 0.3), (PI, PI), (3.0, -2.9)] {
            #[rustfmt::skip]
            let xi = Matrix4::new(
                0.0, -a, 0.0, 0.0,
                a, 0.0, 0.0, 0.0,
                0.0, 0.0, 0.0, -b,
                0.0, 0.0, b, 0.0,
            );
            let turn = SoN::exp(&xi);
            let log = turn.log();
            assert!((log + log.transpose()).norm() < 1e-12);
            assert!(SoN::exp(&log).distance(&turn) < 5e-9, "{a} {b}: {:e}", SoN::exp(&log).distance(&turn));
            assert!((log.norm() - xi.norm()).abs() < 1e-6, "{a} {b}: {log}");
        }
    }
}
