//! An element of the normal equations, JᵀJ δ = −Jᵀr over a few unknowns, added up residual by residual.

use lienav_slam::{MOTION, SENSOR};
use lienav_submaps::sparse::Element;
use nalgebra::{DMatrix, DVector, SMatrix, SVector};

/// Columns of a [`Row`] before those of the calibration: two poses, or a pose and a feature.
pub const AT_CALIBRATION: usize = 6;

/// All columns of a [`Row`].
pub const WIDTH: usize = AT_CALIBRATION + MOTION + SENSOR;

/// Which columns of the element those of a row are; `None` for what is not estimated.
pub type Columns = [Option<usize>; WIDTH];

/// A whitened residual, linearized: r + J δ.
#[derive(Clone, Copy, Debug)]
pub struct Row<const M: usize> {
    /// r.
    pub residual: SVector<f64, M>,
    /// J.
    pub jacobian: SMatrix<f64, M, WIDTH>,
}

/// Zero, with so many columns over these unknowns.
pub fn empty(unknowns: &[usize], columns: usize) -> Element {
    let (information, gradient) = (DMatrix::zeros(columns, columns), DVector::zeros(columns));
    Element { unknowns: unknowns.to_vec(), information, gradient }
}

/// Adds ‖r + J δ‖².
pub fn add<const M: usize>(element: &mut Element, row: &Row<M>, columns: &Columns) {
    for (k, column) in columns.iter().enumerate() {
        let Some(column) = *column else { continue };
        let of_column = row.jacobian.column(k);
        element.gradient[column] += of_column.dot(&row.residual);
        for (l, other) in columns.iter().enumerate() {
            if let Some(other) = *other {
                element.information[(other, column)] += of_column.dot(&row.jacobian.column(l));
            }
        }
    }
}
