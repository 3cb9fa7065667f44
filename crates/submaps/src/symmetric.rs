//! A symmetric matrix that is kept: half of its numbers.

use nalgebra::{DMatrix, DVector};

/// The lower triangle, column by column.
#[derive(Clone, Debug)]
pub struct Symmetric {
    rows: usize,
    lower: Vec<f64>,
}

impl Symmetric {
    /// Of the lower triangle of a matrix.
    pub fn new(matrix: &DMatrix<f64>) -> Self {
        let rows = matrix.nrows();
        let lower = (0..rows).flat_map(|j| &matrix.as_slice()[j * rows + j..(j + 1) * rows]).copied().collect();
        Self { rows, lower }
    }

    /// Of its lower triangle, column by column; `None` if that is not of so many rows.
    pub fn of_lower(rows: usize, lower: Vec<f64>) -> Option<Self> {
        (lower.len() == rows * (rows + 1) / 2).then_some(Self { rows, lower })
    }

    /// Its lower triangle, column by column.
    pub fn lower(&self) -> &[f64] {
        &self.lower
    }

    /// The whole matrix.
    pub fn whole(&self) -> DMatrix<f64> {
        let mut whole = DMatrix::zeros(self.rows, self.rows);
        let mut start = 0;
        for j in 0..self.rows {
            let end = start + self.rows - j;
            whole.view_mut((j, j), (self.rows - j, 1)).copy_from_slice(&self.lower[start..end]);
            start = end;
        }
        whole.fill_upper_triangle_with_lower_triangle();
        whole
    }

    /// A v.
    pub fn times(&self, v: &DVector<f64>) -> DVector<f64> {
        let mut sum = DVector::zeros(self.rows);
        let mut start = 0;
        for j in 0..self.rows {
            let end = start + self.rows - j;
            let column = &self.lower[start..end];
            sum[j] += column[0] * v[j];
            let mut across = 0.0;
            for (i, value) in column.iter().enumerate().skip(1) {
                sum[j + i] += value * v[j];
                across += value * v[j + i];
            }
            sum[j] += across;
            start = end;
        }
        sum
    }

    /// vᵀ A v.
    pub fn square(&self, v: &DVector<f64>) -> f64 {
        let mut sum = 0.0;
        let mut start = 0;
        for j in 0..self.rows {
            let end = start + self.rows - j;
            let column = &self.lower[start..end];
            let below: f64 = column[1..].iter().zip(v.as_slice()[j + 1..].iter()).map(|(a, v)| a * v).sum();
            sum += v[j] * (column[0] * v[j] + 2.0 * below);
            start = end;
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_matrix() {
        let matrix = DMatrix::from_fn(5, 5, |i, j| ((i + 1) * (j + 1)) as f64 + f64::from(u8::from(i == j)));
        let kept = Symmetric::new(&matrix);
        assert_eq!((kept.lower.len(), kept.whole()), (15, matrix.clone()));
        let v = DVector::from_fn(5, |i, _| 0.3 - i as f64);
        let again = Symmetric::of_lower(5, kept.lower().to_vec()).unwrap();
        assert!(again.whole() == matrix && Symmetric::of_lower(4, kept.lower().to_vec()).is_none());
        assert!((kept.times(&v) - &matrix * &v).norm() < 1e-12);
        assert!((kept.square(&v) - v.dot(&(&matrix * &v))).abs() < 1e-12);
    }
}
