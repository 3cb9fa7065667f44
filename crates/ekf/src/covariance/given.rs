//! A landmark that depends on others.

use crate::covariance::{Covariance, POSE};
use nalgebra::{Matrix2, Matrix2x3};

impl Covariance {
    /// Appends a landmark x = C·pose + Σ A_i x_i + e with Cov(e) = `own`, e independent of everything; `sources` are i
    /// and A_i.
    pub fn append_given(&mut self, sources: &[(usize, Matrix2<f64>)], from_pose: &Matrix2x3<f64>, own: &Matrix2<f64>) {
        let (new, before) = (self.landmarks, self.dim());
        self.append(&Matrix2x3::zeros(), own);
        let row = self.row_of(new);
        for j in 0..before {
            for a in 0..2 {
                let by_pose: f64 = (0..POSE).map(|b| from_pose[(a, b)] * self.get(b, j)).sum();
                let by_source = |(i, factor): &(usize, Matrix2<f64>)| {
                    let at = self.row_of(*i);
                    factor[(a, 0)] * self.get(at, j) + factor[(a, 1)] * self.get(at + 1, j)
                };
                let by_sources: f64 = sources.iter().map(by_source).sum();
                self.set(row + a, j, by_pose + by_sources);
            }
        }
        let mut block = self.cross_block(new) * from_pose.transpose();
        for (i, factor) in sources {
            block += self.landmark_block(new, *i) * factor.transpose();
        }
        self.set(row, row, own[(0, 0)] + block[(0, 0)]);
        self.set(row + 1, row, 0.5 * (own[(0, 1)] + own[(1, 0)] + block[(0, 1)] + block[(1, 0)]));
        self.set(row + 1, row + 1, own[(1, 1)] + block[(1, 1)]);
    }
}
