//! Covariances of single unknowns, from the factor of the normal equations.

use nalgebra::SMatrix;
use nalgebra_sparse::CscMatrix;

/// The entries of A⁻¹ = (LLᵀ)⁻¹ where L has entries; enough for the covariance of every pose and every feature.
///
/// From the last column to the first, Z = A⁻¹ obeys Z_ij = −Σ_k Z_ik L_kj/L_jj and Z_jj = 1/L_jj² − Σ_k Z_kj L_kj/L_jj
/// with k over the entries of column j below the diagonal, and what this asks of Z lies in the pattern of L
/// (Takahashi, Fagan, Chin 1973). It costs about as much as the factorization.
pub struct Marginals<'a> {
    factor: &'a CscMatrix<f64>,
    /// On the pattern of the factor, lower triangle.
    inverse: Vec<f64>,
}

impl<'a> Marginals<'a> {
    /// Of a factor L with all diagonal entries positive.
    pub fn new(factor: &'a CscMatrix<f64>) -> Self {
        let (starts, rows, values) = factor.csc_data();
        let n = factor.ncols();
        let mut inverse = vec![0.0; values.len()];
        // Column j of L over its diagonal, and Z times it: only at the entries of the column do they mean anything.
        let (mut column, mut product) = (vec![0.0; n], vec![0.0; n]);
        for j in (0..n).rev() {
            let (first, below) = (starts[j], starts[j] + 1..starts[j + 1]);
            for at in below.clone() {
                (column[rows[at]], product[rows[at]]) = (values[at] / values[first], 0.0);
            }
            for &k in &rows[below.clone()] {
                let (l, diagonal) = (column[k], starts[k]);
                product[k] += inverse[diagonal] * l;
                for at in diagonal + 1..starts[k + 1] {
                    product[rows[at]] += inverse[at] * l;
                    product[k] += inverse[at] * column[rows[at]];
                }
            }
            let mut variance = values[first].powi(-2);
            for at in below {
                inverse[at] = -product[rows[at]];
                variance += product[rows[at]] * column[rows[at]];
                column[rows[at]] = 0.0;
            }
            inverse[first] = variance;
        }
        Self { factor, inverse }
    }

    /// The covariance of the unknown that has the `N` columns from `first` on.
    pub fn covariance<const N: usize>(&self, first: usize) -> SMatrix<f64, N, N> {
        SMatrix::from_fn(|i, j| self.entry(first + i.max(j), first + i.min(j)))
    }

    /// Z_ij, i ≥ j; zero outside the pattern, where it is not known.
    fn entry(&self, i: usize, j: usize) -> f64 {
        let (starts, rows, _) = self.factor.csc_data();
        let column = starts[j]..starts[j + 1];
        rows[column.clone()].binary_search(&i).map_or(0.0, |at| self.inverse[column.start + at])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::DMatrix;
    use nalgebra_sparse::factorization::CscCholesky;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    /// An arrow with a band: fill, and entries of the inverse outside the pattern.
    #[test]
    fn the_selected_entries_are_those_of_the_dense_inverse() {
        let mut random = ChaCha8Rng::seed_from_u64(3);
        let n = 30;
        let mut root = DMatrix::<f64>::identity(n, n);
        for i in 0..n {
            for j in [i.saturating_sub(1), i.saturating_sub(7), n - 1] {
                root[(i.max(j), i.min(j))] = random.random_range(-1.0..1.0);
            }
            root[(i, i)] += 2.0;
        }
        let dense = &root * root.transpose();
        let factor = CscCholesky::factor(&CscMatrix::from(&dense)).unwrap();
        let marginals = Marginals::new(factor.l());
        let inverse = dense.try_inverse().unwrap();
        for (i, j, _) in factor.l().triplet_iter() {
            assert!((marginals.entry(i, j) - inverse[(i, j)]).abs() < 1e-12, "{i} {j}");
        }
        let last = marginals.covariance::<2>(n - 2);
        assert!((last - inverse.fixed_view::<2, 2>(n - 2, n - 2)).norm() < 1e-12);
    }
}
