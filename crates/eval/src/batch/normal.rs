//! The normal equations: JᵀJ δ = −Jᵀr, added up residual by residual.

use lienav_slam::{MOTION, SENSOR};
use nalgebra::{DVector, SMatrix, SVector};
use nalgebra_sparse::{CooMatrix, CscMatrix};

/// Columns of a [`Row`] before those of the calibration: two poses, or a pose and a feature.
pub const AT_CALIBRATION: usize = 6;

/// All columns of a [`Row`].
pub const WIDTH: usize = AT_CALIBRATION + MOTION + SENSOR;

/// Which columns of the whole those of a row are; `None` for what is not estimated.
pub type Columns = [Option<usize>; WIDTH];

/// A whitened residual, linearized: r + J δ.
#[derive(Clone, Copy, Debug)]
pub struct Row<const M: usize> {
    /// r.
    pub residual: SVector<f64, M>,
    /// J.
    pub jacobian: SMatrix<f64, M, WIDTH>,
}

/// JᵀJ and Jᵀr.
pub struct Normal {
    entries: CooMatrix<f64>,
    /// Jᵀr, the gradient of half the cost.
    pub gradient: DVector<f64>,
}

impl Normal {
    /// Zero, with this many unknowns.
    pub fn new(unknowns: usize) -> Self {
        Self { entries: CooMatrix::new(unknowns, unknowns), gradient: DVector::zeros(unknowns) }
    }

    /// Adds ‖r + J δ‖².
    pub fn add<const M: usize>(&mut self, row: &Row<M>, columns: &Columns) {
        let (squares, products) = (row.jacobian.transpose() * row.jacobian, row.jacobian.transpose() * row.residual);
        for (k, column) in columns.iter().enumerate() {
            let Some(column) = *column else { continue };
            self.gradient[column] += products[k];
            for (l, other) in columns.iter().enumerate() {
                if let Some(other) = *other {
                    self.entries.push(other, column, squares[(l, k)]);
                }
            }
        }
    }

    /// JᵀJ. Its pattern is that of the rows that were added, whatever their values.
    pub fn matrix(&self) -> CscMatrix<f64> {
        CscMatrix::from(&self.entries)
    }
}
