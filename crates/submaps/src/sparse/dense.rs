//! What is done with dense fronts.

use lienav_slam::kernel;
use nalgebra::DMatrix;
use std::ops::Range;

/// Columns that are factored at once.
pub const PANEL: usize = 48;
/// Columns of a panel that are subtracted from the rest of it at once.
const STRIP: usize = 4;

/// Rows of an element that follow each other in the front, too.
pub struct Run {
    /// The first one in the element.
    pub from: usize,
    /// The first one in the front.
    pub to: usize,
    /// How many.
    pub rows: usize,
}

/// Of the first row and the number of rows that each unknown of an element has in the front.
pub fn runs(places: impl Iterator<Item = (usize, usize)>) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut from = 0;
    for (to, rows) in places {
        match runs.last_mut().filter(|run| run.to + run.rows == to) {
            Some(run) => run.rows += rows,
            None => runs.push(Run { from, to, rows }),
        }
        from += rows;
    }
    runs
}

/// Adds the lower triangle of an element to that of `front`. `column` has the rows of each column from the diagonal on.
pub fn add<'a>(front: &mut DMatrix<f64>, column: impl Fn(usize) -> &'a [f64], runs: &[Run]) {
    let n = front.nrows();
    let front = front.as_mut_slice();
    for (k, of_column) in runs.iter().enumerate() {
        for c in 0..of_column.rows {
            let (j, to) = (of_column.from + c, of_column.to + c);
            let column = column(j);
            let diagonal = Run { from: j, to, rows: of_column.rows - c };
            for run in std::iter::once(&diagonal).chain(&runs[k + 1..]) {
                let values = &column[run.from - j..][..run.rows];
                if run.to >= to {
                    front[to * n + run.to..][..run.rows].iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
                } else {
                    front[run.to * n + to..].iter_mut().step_by(n).zip(values).for_each(|(sum, value)| *sum += value);
                }
            }
        }
    }
}

/// The lower triangle of a matrix from row and column `from` on, column by column.
pub fn lower(matrix: &DMatrix<f64>, from: usize) -> Vec<f64> {
    let n = matrix.nrows();
    let mut values = Vec::with_capacity((n - from) * (n - from + 1) / 2);
    (from..n).for_each(|j| values.extend_from_slice(&matrix.as_slice()[j * n + j..(j + 1) * n]));
    values
}

/// The rows from `from` on of some columns, as a matrix of its own.
pub fn block(matrix: &DMatrix<f64>, from: usize, columns: Range<usize>) -> DMatrix<f64> {
    let (rows, width) = (matrix.nrows(), columns.len());
    let mut values = Vec::with_capacity((rows - from) * width);
    columns.for_each(|j| values.extend_from_slice(&matrix.as_slice()[j * rows + from..(j + 1) * rows]));
    DMatrix::from_vec(rows - from, width, values)
}

/// Factors some columns of a symmetric matrix of `n` rows, lower triangle, column by column, and subtracts what they
/// explain from those behind them before `open`.
pub fn factor(
    front: &mut [f64],
    n: usize,
    columns: Range<usize>,
    open: usize,
    workspace: &mut Vec<f64>,
) -> Result<(), NotPositive> {
    for start in columns.clone().step_by(STRIP) {
        let from = columns.end.min(start + STRIP);
        if !kernel::factor_columns(front, n, start..from) {
            return Err(NotPositive);
        }
        if from < open {
            workspace.clear();
            let strip = front[start * n..from * n].chunks_exact(n);
            strip.for_each(|column| workspace.extend_from_slice(&column[from..]));
            kernel::subtract_outer(&mut front[from * n + from..], n, (n - from, open - from), workspace, from - start);
        }
    }
    Ok(())
}

/// Factors the first `own` columns of a symmetric matrix, lower triangle, and subtracts what they explain from the
/// rest.
pub fn eliminate(front: &mut DMatrix<f64>, own: usize) -> Result<(), NotPositive> {
    let n = front.nrows();
    let mut workspace = Vec::new();
    let mut start = 0;
    while start < own {
        let from = own.min(start + PANEL);
        factor(front.as_mut_slice(), n, start..from, from, &mut workspace)?;
        let panel = block(front, from, start..from);
        let turned = panel.transpose();
        let mut at = from;
        while at < n {
            let columns = PANEL.min(n - at);
            let left = panel.rows(at - from, n - at);
            front.view_mut((at, at), (n - at, columns)).gemm(-1.0, &left, &turned.columns(at - from, columns), 1.0);
            at += columns;
        }
        start = from;
    }
    Ok(())
}

/// The normal equations have no factor: some unknown is not determined, or a number is not finite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotPositive;
