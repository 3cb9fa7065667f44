//! An update by rows of H that all have the same columns: those of a window of pose clones.

use super::Workspace;
use crate::filter::Filter;
use crate::kernel;
use crate::state::State;

/// Whitened rows of H.
#[derive(Clone, Copy, Debug)]
pub struct DenseRows<'a> {
    /// Columns of the state, with a factor that is not read.
    pub columns: &'a [(usize, f64)],
    /// The rows, one after the other. Row k has nothing before column k.
    pub rows: &'a [f64],
    /// Their residuals.
    pub residual: &'a [f64],
}

/// Updates the state by rows whose noise is white, of variance one. Gives the normalized innovation squared; `None`, with
/// nothing changed, where the covariance of the innovation is not positive definite.
pub fn update_dense(state: &mut State, h: &DenseRows, filter: &Filter, work: &mut Workspace) -> Option<f64> {
    let (n, m) = (state.covariance.dim(), h.residual.len());
    // W = P Hᵀ.
    state.covariance.copy_columns(h.columns, &mut work.panel);
    work.w.resize(m * n, 0.0);
    kernel::combine(&mut work.w, n, &work.panel, h.rows, true);
    // S = H W + I, with the rows of W that H meets; of row k what is left of the diagonal, by a row of H that has nothing
    // before it.
    work.rows.clear();
    work.rows.extend(0..=m);
    work.met.clear();
    let columns = h.columns.iter().map(|(column, _)| *column);
    work.met.extend(columns.flat_map(|column| (0..m).map(move |k| k * n + column)).map(|at| work.w[at]));
    work.s.clear();
    work.s.resize(m * m, 0.0);
    kernel::combine(&mut work.s, m, &work.met, h.rows, true);
    (0..m).for_each(|k| work.s[k * m + k] += 1.0);
    work.y.clear();
    work.y.extend_from_slice(h.residual);
    work.factor().ok()?;
    work.whiten();
    let distance = work.y.iter().map(|y| y * y).sum::<f64>();
    if !distance.is_finite() {
        return None;
    }
    work.finish(state, filter);
    Some(distance)
}
