//! J and D as matrices.

use super::{LinearPart, PoissonError, ROUNDING};
use nalgebra::{Complex, DMatrix, DVectorView, DVectorViewMut, SymmetricEigen};

/// A linear part of small systems: functions of $A = JD$ are matrices, made from the eigenvectors of the Hermitian
/// matrix $-iA$, so that $e^{At}$ is orthogonal to rounding however stiff $A$ is, as long as $\|A\|t$ stays below
/// $10^7$: beyond, the rounding of the frequencies is seen in the phases.
#[derive(Clone, Debug)]
pub struct Dense {
    structure: DMatrix<f64>,
    stiffness: DMatrix<f64>,
    frequencies: Vec<f64>,
    /// Eigenvectors of A in columns, in the order of the frequencies.
    modes: DMatrix<Complex<f64>>,
}

impl Dense {
    /// From $J$ and $D$.
    ///
    /// # Errors
    /// Which law fails.
    pub fn new(structure: DMatrix<f64>, stiffness: DMatrix<f64>) -> Result<Self, PoissonError> {
        let (j, d) = (&structure, &stiffness);
        if j.is_empty() || !j.is_square() || j.shape() != d.shape() {
            return Err(PoissonError::Shape { structure: j.shape(), stiffness: d.shape() });
        }
        if j.iter().chain(d.iter()).any(|entry| !entry.is_finite()) {
            return Err(PoissonError::NotFinite);
        }
        let relative = |defect: DMatrix<f64>, size: f64| if size > 0.0 { defect.amax() / size } else { 0.0 };
        let defect = relative(j + j.transpose(), j.amax());
        if defect > ROUNDING {
            return Err(PoissonError::NotSkew { defect });
        }
        let defect = relative(d - d.transpose(), d.amax());
        if defect > ROUNDING {
            return Err(PoissonError::NotSymmetric { defect });
        }
        let (product, reversed) = (j * d, d * j);
        if product.iter().chain(reversed.iter()).any(|entry| !entry.is_finite()) {
            return Err(PoissonError::NotFinite);
        }
        let defect = relative(&product - reversed, j.amax() * d.amax());
        if defect > ROUNDING {
            return Err(PoissonError::NotCommuting { defect });
        }
        let eigen = SymmetricEigen::new(product.map(|entry| Complex::new(0.0, -entry)));
        let frequencies = eigen.eigenvalues.iter().copied().collect();
        Ok(Self { structure, stiffness, frequencies, modes: eigen.eigenvectors })
    }
}

impl LinearPart for Dense {
    type Operator = DMatrix<f64>;
    type Scratch = ();

    fn dim(&self) -> usize {
        self.structure.nrows()
    }

    fn scratch(&self) {}

    fn function(&self, f: &dyn Fn(f64) -> Complex<f64>) -> DMatrix<f64> {
        let mut scaled = self.modes.clone();
        for (mut mode, omega) in scaled.column_iter_mut().zip(&self.frequencies) {
            mode *= f(*omega);
        }
        (scaled * self.modes.adjoint()).map(|entry| entry.re)
    }

    fn function_of_structure(&self, f: &dyn Fn(f64) -> Complex<f64>) -> DMatrix<f64> {
        self.function(f) * &self.structure
    }

    fn apply(&self, operator: &DMatrix<f64>, x: &[f64], out: &mut [f64], (): &mut ()) {
        multiply(operator, x, out);
    }

    fn apply_structure(&self, x: &[f64], out: &mut [f64], (): &mut ()) {
        multiply(&self.structure, x, out);
    }

    fn energy(&self, q: &[f64], (): &mut ()) -> f64 {
        let q = DVectorView::from_slice(q, q.len());
        // By columns, so that nothing is allocated.
        0.5 * self.stiffness.column_iter().zip(q.iter()).map(|(column, x)| x * column.dot(&q)).sum::<f64>()
    }
}

fn multiply(matrix: &DMatrix<f64>, x: &[f64], out: &mut [f64]) {
    let x = DVectorView::from_slice(x, x.len());
    let size = out.len();
    DVectorViewMut::from_slice(out, size).gemv(1.0, matrix, &x, 0.0);
}
