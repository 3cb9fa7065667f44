//! Square matrices of a size known to the compiler (on the stack) or only at run time, under one interface, so that
//! what is done with SO(n) is written once. The `set_…` operations write into what is there and do not allocate,
//! at run time up to n = 32.

use super::VectorSpace;
use nalgebra::{DMatrix, SMatrix};
use std::fmt::Debug;
use std::ops::{Index, IndexMut};

/// A real n × n matrix.
pub trait Square:
    VectorSpace + Index<(usize, usize), Output = f64> + IndexMut<(usize, usize)> + Debug + PartialEq
{
    /// n.
    fn size(&self) -> usize;
    /// self ← a.
    fn set(&mut self, a: &Self);
    /// self ← aᵀ.
    fn set_transpose(&mut self, a: &Self);
    /// self ← a·b.
    fn set_product(&mut self, a: &Self, b: &Self);
    /// self ← aᵀ·b.
    fn set_tr_product(&mut self, a: &Self, b: &Self);
    /// self ← a⁻¹; false (and self undefined) where a is singular.
    fn set_inverse(&mut self, a: &Self) -> bool;

    /// self ← a⁻ᵀ; false (and self undefined) where a is singular.
    fn set_inverse_transpose(&mut self, a: &Self) -> bool;

    /// self ← self + s·I.
    fn add_identity(&mut self, s: f64) {
        for i in 0..self.size() {
            self[(i, i)] += s;
        }
    }
    /// self ← self − selfᵀ, the Asym of Shen, Tran & Leok.
    fn antisymmetrize(&mut self) {
        for i in 0..self.size() {
            self[(i, i)] = 0.0;
            for j in 0..i {
                let difference = self[(i, j)] - self[(j, i)];
                self[(i, j)] = difference;
                self[(j, i)] = -difference;
            }
        }
    }
    /// The identity of the same size.
    fn identity_like(&self) -> Self {
        let mut one = self.zero_like();
        one.add_identity(1.0);
        one
    }
    /// self·other.
    fn times(&self, other: &Self) -> Self {
        let mut product = self.zero_like();
        product.set_product(self, other);
        product
    }
    /// selfᵀ.
    fn transposed(&self) -> Self {
        let mut transpose = self.zero_like();
        transpose.set_transpose(self);
        transpose
    }
    /// selfᵀ·other.
    fn tr_times(&self, other: &Self) -> Self {
        let mut product = self.zero_like();
        product.set_tr_product(self, other);
        product
    }
    /// self⁻¹; not-a-number where self is singular.
    fn inverted(&self) -> Self {
        let mut inverse = self.zero_like();
        if !inverse.set_inverse(self) {
            inverse.scale_by(f64::NAN);
        }
        inverse
    }
}

impl<const N: usize> Square for SMatrix<f64, N, N> {
    fn size(&self) -> usize {
        N
    }
    #[inline]
    fn set(&mut self, a: &Self) {
        *self = *a;
    }
    #[inline]
    fn set_transpose(&mut self, a: &Self) {
        *self = a.transpose();
    }
    #[inline]
    fn set_product(&mut self, a: &Self, b: &Self) {
        *self = a * b;
    }
    #[inline]
    fn set_tr_product(&mut self, a: &Self, b: &Self) {
        *self = a.transpose() * b;
    }
    #[inline]
    fn set_inverse(&mut self, a: &Self) -> bool {
        a.try_inverse().is_some_and(|inverse| {
            *self = inverse;
            true
        })
    }
    #[inline]
    fn set_inverse_transpose(&mut self, a: &Self) -> bool {
        if N != 3 {
            return self.set_inverse(a) && {
                *self = self.transpose();
                true
            };
        }
        // The columns of A⁻ᵀ are the cross products of those of A over the determinant.
        let column = |j: usize| [a[(0, j)], a[(1, j)], a[(2, j)]];
        let cross = |[x, y, z]: [f64; 3], [u, v, w]: [f64; 3]| [y * w - z * v, z * u - x * w, x * v - y * u];
        let (first, second, third) = (column(0), column(1), column(2));
        let products = [cross(second, third), cross(third, first), cross(first, second)];
        let determinant = (0..3).map(|i| first[i] * products[0][i]).sum::<f64>();
        let inverse = 1.0 / determinant;
        *self = Self::from_fn(|i, j| products[j][i] * inverse);
        inverse.is_finite()
    }
}

impl Square for DMatrix<f64> {
    fn size(&self) -> usize {
        self.nrows()
    }
    fn set(&mut self, a: &Self) {
        self.copy_from(a);
    }
    fn set_transpose(&mut self, a: &Self) {
        a.transpose_to(self);
    }
    fn set_product(&mut self, a: &Self, b: &Self) {
        if self.nrows() > MAX_DYNAMIC_SIZE {
            return a.mul_to(b, self);
        }
        // Nalgebra's product packs its factors into new memory from six rows on.
        for j in 0..self.ncols() {
            for k in 0..a.ncols() {
                self.column_mut(j).axpy(b[(k, j)], &a.column(k), if k == 0 { 0.0 } else { 1.0 });
            }
        }
    }
    fn set_tr_product(&mut self, a: &Self, b: &Self) {
        if self.nrows() > MAX_DYNAMIC_SIZE {
            return a.tr_mul_to(b, self);
        }
        for j in 0..self.ncols() {
            for i in 0..self.nrows() {
                self[(i, j)] = a.column(i).dot(&b.column(j));
            }
        }
    }
    /// Gauss–Jordan with row pivots, in place.
    fn set_inverse(&mut self, a: &Self) -> bool {
        self.copy_from(a);
        let n = self.nrows();
        let mut swapped_with = [0usize; MAX_DYNAMIC_SIZE];
        if n > MAX_DYNAMIC_SIZE {
            return self.try_inverse_mut();
        }
        for k in 0..n {
            let pivot = (k..n).max_by(|&i, &j| self[(i, k)].abs().total_cmp(&self[(j, k)].abs())).unwrap_or(k);
            swapped_with[k] = pivot;
            self.swap_rows(k, pivot);
            let divisor = self[(k, k)];
            if divisor == 0.0 || !divisor.is_finite() {
                return false;
            }
            self[(k, k)] = 1.0;
            for j in 0..n {
                self[(k, j)] /= divisor;
            }
            for i in (0..n).filter(|&i| i != k) {
                let factor = std::mem::take(&mut self[(i, k)]);
                for j in 0..n {
                    self[(i, j)] -= factor * self[(k, j)];
                }
            }
        }
        for k in (0..n).rev() {
            self.swap_columns(k, swapped_with[k]);
        }
        true
    }
    fn set_inverse_transpose(&mut self, a: &Self) -> bool {
        self.set_inverse(a) && {
            for i in 0..self.nrows() {
                for j in 0..i {
                    self.swap((i, j), (j, i));
                }
            }
            true
        }
    }
}

/// Up to this size nothing allocates.
const MAX_DYNAMIC_SIZE: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn both_kinds_invert_alike(entries in prop::collection::vec(-1.0..1.0f64, 36), zero in 0..36usize) {
            let mut fixed = SMatrix::<f64, 6, 6>::from_iterator(entries);
            fixed[zero] = 0.0;
            let dynamic = DMatrix::from_column_slice(6, 6, fixed.as_slice());
            prop_assume!(fixed.determinant().abs() > 1e-3);
            prop_assert!((dynamic.times(&dynamic) - &dynamic * &dynamic).norm() < 1e-14);
            prop_assert!((dynamic.tr_times(&dynamic) - dynamic.transpose() * &dynamic).norm() < 1e-14);
            let one = dynamic.times(&dynamic.inverted());
            prop_assert!((one - DMatrix::identity(6, 6)).norm() < 1e-10);
            let mut transpose = dynamic.zero_like();
            prop_assert!(transpose.set_inverse_transpose(&dynamic));
            prop_assert_eq!(transpose, dynamic.inverted().transpose());
            let corner: SMatrix<f64, 3, 3> = fixed.fixed_view::<3, 3>(0, 0).into_owned();
            let mut transpose = corner.zero_like();
            if corner.determinant().abs() > 1e-3 {
                prop_assert!(transpose.set_inverse_transpose(&corner));
                prop_assert!((transpose - corner.inverted().transpose()).norm() < 1e-9);
            }
            prop_assert!((fixed.inverted() - SMatrix::<f64, 6, 6>::from_column_slice(dynamic.inverted().as_slice())).norm() < 1e-8);
        }
    }

    #[test]
    fn a_singular_matrix_has_no_inverse() {
        let flat = DMatrix::from_element(3, 3, 1.0);
        assert!(!flat.zero_like().set_inverse(&flat));
        assert!(flat.inverted()[(0, 0)].is_nan());
        // Rows must be exchanged here.
        let turn = DMatrix::from_row_slice(3, 3, &[0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
        assert_eq!(turn.inverted(), turn.transpose());
    }
}
