//! Covariances of a few unknowns, and of each one, from the factor.

use super::dense::PANEL;
use super::factor::{Factor, Node};
use nalgebra::{DMatrix, DMatrixView, Dyn, MatrixView};
use std::ops::Range;

impl Factor {
    /// The joint covariance of some unknowns, in their order: H⁻¹ = L⁻ᵀL⁻¹, of which L⁻¹ is asked for the columns of
    /// the unknowns alone. They touch what is eliminated after them and depends on them, and nothing else. An unknown
    /// that there is not has the covariance zero.
    ///
    /// All is transposed: a row of L⁻¹ has its columns one behind the other. Columns are in the order of the nodes, in
    /// which those that a node depends on follow each other, so that a row is known by where it begins and ends.
    pub fn covariance(&self, unknowns: &[(usize, usize)]) -> DMatrix<f64> {
        let columns: usize = unknowns.iter().map(|(_, rows)| rows).sum();
        let mut first = 0;
        // The node, the row in it, and the column asked for; of each column.
        let mut asked: Vec<(usize, usize, usize)> = Vec::with_capacity(columns);
        for (unknown, rows) in unknowns {
            let of_row = |(node, row): (usize, usize)| (0..*rows).map(move |k| (node, row + k, first + k));
            asked.extend(self.place(*unknown).into_iter().flat_map(of_row));
            first += rows;
        }
        asked.sort_unstable();
        let mut open: Vec<Option<Rows>> = (0..self.nodes.len()).map(|_| None).collect();
        let mut sum = Squares::new(asked.len());
        let mut end = 0;
        let nodes = asked.first().map_or(0..0, |(first, _, _)| *first..self.nodes.len());
        for at in nodes {
            let node = &self.nodes[at];
            let own = node.rows;
            while let Some((_, row, _)) = asked.get(end).filter(|(of, _, _)| *of == at) {
                let rows = open[at].get_or_insert_with(|| Rows::new(asked.len(), own, end));
                rows.values[(end, *row)] = 1.0;
                end += 1;
            }
            let Some(mut half) = open[at].take() else { continue };
            let range = half.begin..end;
            let factor = &node.columns;
            for j in 0..own {
                for i in 0..j {
                    let (left, mut right) = half.values.columns_range_pair_mut(i, j);
                    subtract(&mut right.as_mut_slice()[range.clone()], factor[(j, i)], &left.as_slice()[range.clone()]);
                }
                let scale = 1.0 / factor[(j, j)];
                half.values.column_mut(j).as_mut_slice()[range.clone()].iter_mut().for_each(|value| *value *= scale);
            }
            let explained = half.values.rows(range.start, range.len()) * turned(factor, own);
            let mut explained = explained.as_slice().chunks_exact(range.len());
            for unknown in &node.boundary {
                let Some((above, row)) = self.place(*unknown) else { continue };
                let rows = self.nodes[above].rows;
                let below = open[above].get_or_insert_with(|| Rows::new(asked.len(), rows, range.start));
                below.begin = below.begin.min(range.start);
                for (k, explained) in explained.by_ref().take(self.heights[*unknown]).enumerate() {
                    let sum = &mut below.values.as_mut_slice()[(row + k) * asked.len()..][range.clone()];
                    subtract(sum, 1.0, explained);
                }
            }
            sum.add(&half.values, range);
        }
        let squares = sum.finish();
        let mut covariance = DMatrix::zeros(columns, columns);
        for (j, (_, _, column)) in asked.iter().enumerate() {
            for (i, (_, _, row)) in asked.iter().enumerate().skip(j) {
                covariance[(*row, *column)] = squares[(i, j)];
                covariance[(*column, *row)] = squares[(i, j)];
            }
        }
        covariance
    }

    /// The covariance of each unknown, from the last node to the first: what is known of the boundary of a node gives
    /// that of its own unknowns, Z₂₁ = −Z₂₂ M, Z₁₁ = L₁₁⁻ᵀL₁₁⁻¹ − MᵀZ₂₁, M = L₂₁L₁₁⁻¹ (Takahashi, Fagan, Chin 1973).
    pub fn marginals(&self) -> Vec<DMatrix<f64>> {
        let mut marginals = vec![DMatrix::zeros(0, 0); self.places.len()];
        self.for_each_node(|node, inner, _| {
            let mut row = 0;
            for unknown in &node.own {
                let rows = self.heights[*unknown];
                marginals[*unknown] = inner.view((row, row), (rows, rows)).into_owned();
                row += rows;
            }
        });
        marginals
    }

    /// The covariance of each unknown with those that are eliminated with it, or after it and depend on it: calls
    /// `visit` with the two, that eliminated first before, and with their covariance, its rows those of the first.
    pub fn for_each_pair(&self, mut visit: impl FnMut(usize, usize, DMatrixView<'_, f64>)) {
        self.for_each_node(|node, inner, crossed| {
            // Of the covariance with the boundary, the rows are those of the boundary.
            let turned = crossed.transpose();
            let mut row = 0;
            for (k, unknown) in node.own.iter().enumerate() {
                let rows = self.heights[*unknown];
                let mut column = row + rows;
                for other in &node.own[k + 1..] {
                    let columns = self.heights[*other];
                    visit(*unknown, *other, inner.view((row, column), (rows, columns)));
                    column += columns;
                }
                column = 0;
                for other in &node.boundary {
                    let columns = self.heights[*other];
                    visit(*unknown, *other, turned.view((row, column), (rows, columns)));
                    column += columns;
                }
                row += rows;
            }
        });
    }

    /// From the last node to the first: the covariance Z₁₁ of what a node has eliminated, and Z₂₁ of its boundary with
    /// it.
    fn for_each_node(&self, mut visit: impl FnMut(&Node, &DMatrix<f64>, &DMatrix<f64>)) {
        let mut of_nodes: Vec<DMatrix<f64>> = vec![DMatrix::zeros(0, 0); self.nodes.len()];
        // How many nodes still ask for the covariance that a node has.
        let mut children = vec![0usize; self.nodes.len()];
        self.parents.iter().flatten().for_each(|parent| children[*parent] += 1);
        let mut rows_of = vec![0; self.places.len()];
        for (at, node) in self.nodes.iter().enumerate().rev() {
            let own = node.rows;
            let below = node.columns.nrows() - own;
            let outer = match self.parents[at] {
                Some(parent) => {
                    let outer = self.submap_of(&of_nodes[parent], parent, &node.boundary, &mut rows_of);
                    children[parent] -= 1;
                    if children[parent] == 0 {
                        of_nodes[parent] = DMatrix::zeros(0, 0);
                    }
                    outer
                }
                None => DMatrix::zeros(0, 0),
            };
            let mut inverse = DMatrix::identity(own, own);
            node.columns.rows(0, own).solve_lower_triangular_mut(&mut inverse);
            let below_own = node.columns.rows(own, below) * &inverse;
            let crossed = -(&outer * &below_own);
            let inner = inverse.transpose() * &inverse - below_own.transpose() * &crossed;
            visit(node, &inner, &crossed);
            if children[at] > 0 {
                let mut whole = DMatrix::zeros(own + below, own + below);
                whole.view_mut((0, 0), (own, own)).copy_from(&inner);
                whole.view_mut((own, 0), (below, own)).copy_from(&crossed);
                whole.view_mut((0, own), (own, below)).copy_from(&crossed.transpose());
                whole.view_mut((own, own), (below, below)).copy_from(&outer);
                of_nodes[at] = whole;
            }
        }
    }

    /// Of the covariance of all unknowns of a node, the rows and columns of some of them.
    fn submap_of(&self, whole: &DMatrix<f64>, node: usize, unknowns: &[usize], rows_of: &mut [usize]) -> DMatrix<f64> {
        let node = &self.nodes[node];
        let mut row = 0;
        for unknown in node.own.iter().chain(&node.boundary) {
            rows_of[*unknown] = row;
            row += self.heights[*unknown];
        }
        let of_unknown = |unknown: &usize| rows_of[*unknown]..rows_of[*unknown] + self.heights[*unknown];
        let rows: Vec<usize> = unknowns.iter().flat_map(of_unknown).collect();
        DMatrix::from_fn(rows.len(), rows.len(), |i, j| whole[(rows[i], rows[j])])
    }
}

/// Rows of L⁻¹, transposed: zero before `begin`.
struct Rows {
    values: DMatrix<f64>,
    begin: usize,
}

impl Rows {
    fn new(columns: usize, rows: usize, begin: usize) -> Self {
        Self { values: DMatrix::zeros(columns, rows), begin }
    }
}

/// The sum of squares of rows, many at once.
struct Squares {
    sum: DMatrix<f64>,
    /// Rows that wait, as columns, and how many there are.
    waiting: DMatrix<f64>,
    count: usize,
    /// Where the first of them begins and the last ends.
    range: Range<usize>,
}

impl Squares {
    fn new(columns: usize) -> Self {
        let (sum, waiting) = (DMatrix::zeros(columns, columns), DMatrix::zeros(columns, PANEL));
        Self { sum, waiting, count: 0, range: columns..0 }
    }

    /// Adds the squares of rows that are zero outside of `range`.
    fn add(&mut self, rows: &DMatrix<f64>, range: Range<usize>) {
        for row in rows.column_iter() {
            if self.count == PANEL {
                self.square();
            }
            self.waiting.as_mut_slice()[self.count * rows.nrows()..][range.clone()]
                .copy_from_slice(&row.as_slice()[range.clone()]);
            self.count += 1;
            self.range = self.range.start.min(range.start)..self.range.end.max(range.end);
        }
    }

    fn square(&mut self) {
        let (start, n) = (self.range.start, self.range.len());
        let rows = self.waiting.view((start, 0), (n, self.count));
        let turned = rows.transpose();
        // The lower triangle, some columns at a time.
        for at in (0..n).step_by(PANEL) {
            let width = PANEL.min(n - at);
            let left = rows.rows(at, n - at);
            self.sum.view_mut((start + at, start + at), (n - at, width)).gemm(
                1.0,
                &left,
                &turned.columns(at, width),
                1.0,
            );
        }
        self.waiting.fill(0.0);
        (self.count, self.range) = (0, self.waiting.nrows()..0);
    }

    /// The lower triangle of the sum.
    fn finish(mut self) -> DMatrix<f64> {
        if self.count > 0 {
            self.square();
        }
        self.sum
    }
}

/// The rows of a matrix from `from` on, transposed, where they are.
fn turned(matrix: &DMatrix<f64>, from: usize) -> MatrixView<'_, f64, Dyn, Dyn, Dyn, Dyn> {
    let (rows, columns) = matrix.shape();
    let values = &matrix.as_slice()[from.min(matrix.len())..];
    MatrixView::from_slice_with_strides_generic(values, Dyn(columns), Dyn(rows - from), Dyn(rows), Dyn(1))
}

/// Subtracts `factor` times `values`.
fn subtract(from: &mut [f64], factor: f64, values: &[f64]) {
    from.iter_mut().zip(values).for_each(|(from, value)| *from -= factor * value);
}
