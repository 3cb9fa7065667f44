//! The factor of sparse normal equations, front by front (multifrontal Cholesky).
//!
//! At each step of the [`Order`], the elements that hold a block are added up to a dense matrix, the front: the block
//! first, then its boundary. Its first columns become columns of the factor, and what remains is the element that the
//! step makes. All arithmetic is that of dense matrices, so that it runs at the speed of matrix products.

use super::order::Order;
use nalgebra::{DMatrix, DVector, Dyn, MatrixView};
use std::ops::{AddAssign, Range};

/// A Gaussian over some unknowns: information and gradient, to which the columns belong in the order of `unknowns`.
#[derive(Clone, Debug)]
pub struct Element {
    /// Which unknowns.
    pub unknowns: Vec<usize>,
    /// JᵀΛJ; of the upper triangle, nothing is read.
    pub information: DMatrix<f64>,
    /// JᵀΛr.
    pub gradient: DVector<f64>,
}

/// Columns that are factored at once.
const PANEL: usize = 48;

/// The factor L of H = LLᵀ, and the half-solved right-hand side.
#[derive(Clone, Debug, Default)]
pub struct Factor {
    order: Order,
    /// For each step, the columns of its block: first the rows of the block, lower triangle, and then those of the
    /// boundary.
    columns: Vec<DMatrix<f64>>,
    /// L⁻¹ of the gradient, step by step.
    half: Vec<DVector<f64>>,
    /// The step of each block.
    step_of: Vec<usize>,
}

/// The normal equations have no factor: some unknown is not determined, or a number is not finite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotPositive;

impl Factor {
    /// Of the sum of the `given` elements that `order` was made for, which `element` makes when they are needed.
    ///
    /// # Errors
    /// [`NotPositive`].
    pub fn new(order: Order, given: usize, element: impl Fn(usize) -> Element) -> Result<Self, NotPositive> {
        let mut open: Vec<Option<Element>> = Vec::with_capacity(order.steps.len());
        let steps = order.steps.len();
        let mut factor = Self { step_of: vec![0; steps], ..Self::default() };
        let mut starts = vec![0; order.blocks.len()];
        for (s, step) in order.steps.iter().enumerate() {
            factor.step_of[step.block] = s;
            let own = order.rows[step.block];
            let mut rows = own;
            starts[step.block] = 0;
            for block in &step.boundary {
                starts[*block] = rows;
                rows += order.rows[*block];
            }
            let (mut front, mut gradient) = (DMatrix::zeros(rows, rows), DVector::zeros(rows));
            for input in &step.inputs {
                let element = match input.checked_sub(given) {
                    None => element(*input),
                    Some(made) => match open[made].take() {
                        Some(element) => element,
                        None => continue,
                    },
                };
                // Elements that a step has made list blocks instead of unknowns.
                let places = element.unknowns.iter().map(|unknown| {
                    if *input < given {
                        let (block, row) = order.places[*unknown].unwrap_or_default();
                        (starts[block] + row, order.heights[*unknown])
                    } else {
                        (starts[*unknown], order.rows[*unknown])
                    }
                });
                let runs = runs(places);
                add(&mut front, &element.information, &runs);
                for run in &runs {
                    let values = element.gradient.as_slice()[run.from..].iter();
                    gradient.as_mut_slice()[run.to..][..run.rows]
                        .iter_mut()
                        .zip(values)
                        .for_each(|(sum, value)| *sum += value);
                }
            }
            eliminate(&mut front, own)?;
            let below = rows - own;
            let columns = block(&front, 0, 0..own);
            let mut half = gradient.rows(0, own).into_owned();
            if !columns.rows(0, own).solve_lower_triangular_mut(&mut half) {
                return Err(NotPositive);
            }
            let mut rest = gradient.rows(own, below).into_owned();
            rest.gemv(-1.0, &columns.rows(own, below), &half, 1.0);
            let information = block(&front, own, own..rows);
            open.push(Some(Element { unknowns: step.boundary.clone(), information, gradient: rest }));
            factor.columns.push(columns);
            factor.half.push(half);
        }
        factor.order = order;
        Ok(factor)
    }

    /// Numbers that are stored.
    pub fn entries(&self) -> usize {
        self.columns.iter().map(DMatrix::len).sum()
    }

    /// −H⁻¹ of the gradient: the step of Gauss and Newton, for each unknown, and the half of what it lowers the cost by,
    /// to first order.
    pub fn step(&self) -> (Vec<DVector<f64>>, f64) {
        self.step_of(&self.half)
    }

    /// The same where the given elements have other gradients, each with the unknowns that it has.
    pub fn step_for<'a>(
        &self,
        given: impl Iterator<Item = (DVector<f64>, &'a Vec<usize>)>,
    ) -> (Vec<DVector<f64>>, f64) {
        let order = &self.order;
        let mut sums: Vec<DVector<f64>> = order.rows.iter().map(|rows| DVector::zeros(*rows)).collect();
        for (gradient, unknowns) in given {
            let mut from = 0;
            for unknown in unknowns {
                let rows = order.heights[*unknown];
                if let Some((block, row)) = order.places[*unknown] {
                    sums[block].rows_mut(row, rows).add_assign(&gradient.rows(from, rows));
                }
                from += rows;
            }
        }
        let mut halves = Vec::with_capacity(order.steps.len());
        for (s, step) in order.steps.iter().enumerate() {
            let own = order.rows[step.block];
            let mut half = std::mem::take(&mut sums[step.block]);
            // The diagonal is positive.
            self.columns[s].rows(0, own).solve_lower_triangular_mut(&mut half);
            let mut row = own;
            for block in &step.boundary {
                let rows = order.rows[*block];
                sums[*block].gemv(-1.0, &self.columns[s].rows(row, rows), &half, 1.0);
                row += rows;
            }
            halves.push(half);
        }
        self.step_of(&halves)
    }

    /// −L⁻ᵀ of the half-solved right-hand side.
    fn step_of(&self, halves: &[DVector<f64>]) -> (Vec<DVector<f64>>, f64) {
        let order = &self.order;
        let mut of_blocks: Vec<DVector<f64>> = order.rows.iter().map(|rows| DVector::zeros(*rows)).collect();
        for (s, step) in order.steps.iter().enumerate().rev() {
            let own = order.rows[step.block];
            let mut x = -&halves[s];
            let mut row = own;
            for block in &step.boundary {
                let rows = order.rows[*block];
                x.gemv_tr(-1.0, &self.columns[s].rows(row, rows), &of_blocks[*block], 1.0);
                row += rows;
            }
            self.columns[s].rows(0, own).tr_solve_lower_triangular_mut(&mut x);
            of_blocks[step.block] = x;
        }
        let mut steps = vec![DVector::zeros(0); order.places.len()];
        for (unknown, place) in order.places.iter().enumerate() {
            let Some((block, row)) = *place else { continue };
            steps[unknown] = of_blocks[block].rows(row, order.heights[unknown]).into_owned();
        }
        (steps, halves.iter().map(|half| half.norm_squared()).sum())
    }

    /// The joint covariance of some unknowns, in their order: H⁻¹ = L⁻ᵀL⁻¹, of which L⁻¹ is asked for the columns of the
    /// unknowns alone. They touch what is eliminated after them and depends on them, and nothing else. An unknown that
    /// there is not has the covariance zero.
    ///
    /// All is transposed: a row of L⁻¹ has its columns one behind the other. Columns are in the order of the steps, in
    /// which those that a step depends on follow each other, so that a row is known by where it begins and ends.
    pub fn covariance(&self, unknowns: &[(usize, usize)]) -> DMatrix<f64> {
        let order = &self.order;
        let columns: usize = unknowns.iter().map(|(_, rows)| rows).sum();
        let mut first = 0;
        // The step, the row in its block, and the column asked for; of each column.
        let mut asked: Vec<(usize, usize, usize)> = Vec::with_capacity(columns);
        for (unknown, rows) in unknowns {
            let place = order.places.get(*unknown).copied().flatten();
            let of_row =
                |(block, row): (usize, usize)| (0..*rows).map(move |k| (self.step_of[block], row + k, first + k));
            asked.extend(place.into_iter().flat_map(of_row));
            first += rows;
        }
        asked.sort_unstable();
        let mut open: Vec<Option<Rows>> = (0..order.blocks.len()).map(|_| None).collect();
        let mut sum = Squares::new(asked.len());
        let mut end = 0;
        let steps = asked.first().map_or(0..0, |(first, _, _)| *first..order.steps.len());
        for s in steps {
            let step = &order.steps[s];
            let own = order.rows[step.block];
            while let Some((_, row, _)) = asked.get(end).filter(|(of, _, _)| *of == s) {
                let rows = open[step.block].get_or_insert_with(|| Rows::new(asked.len(), own, end));
                rows.values[(end, *row)] = 1.0;
                end += 1;
            }
            let Some(mut half) = open[step.block].take() else { continue };
            let range = half.begin..end;
            let factor = &self.columns[s];
            for j in 0..own {
                for i in 0..j {
                    let (left, mut right) = half.values.columns_range_pair_mut(i, j);
                    subtract(&mut right.as_mut_slice()[range.clone()], factor[(j, i)], &left.as_slice()[range.clone()]);
                }
                let scale = 1.0 / factor[(j, j)];
                half.values.column_mut(j).as_mut_slice()[range.clone()].iter_mut().for_each(|value| *value *= scale);
            }
            let explained = half.values.rows(range.start, range.len()) * turned(factor, own);
            let mut row = 0;
            for block in &step.boundary {
                let rows = order.rows[*block];
                let below = open[*block].get_or_insert_with(|| Rows::new(asked.len(), rows, range.start));
                below.begin = below.begin.min(range.start);
                for k in 0..rows {
                    let sum = &mut below.values.as_mut_slice()[k * asked.len()..][range.clone()];
                    subtract(sum, 1.0, &explained.as_slice()[(row + k) * range.len()..][..range.len()]);
                }
                row += rows;
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

    /// The covariance of each unknown, from the last step to the first: what is known of the boundary of a block gives
    /// that of the block, Z₂₁ = −Z₂₂ M, Z₁₁ = L₁₁⁻ᵀL₁₁⁻¹ − MᵀZ₂₁, M = L₂₁L₁₁⁻¹ (Takahashi, Fagan, Chin 1973).
    pub fn marginals(&self) -> Vec<DMatrix<f64>> {
        let order = &self.order;
        let mut of_steps: Vec<DMatrix<f64>> = vec![DMatrix::zeros(0, 0); order.steps.len()];
        let mut marginals = vec![DMatrix::zeros(0, 0); order.places.len()];
        // How many steps still ask for the covariance that a step has.
        let mut children = vec![0usize; order.steps.len()];
        let parent = |s: usize| order.steps[s].boundary.iter().map(|block| self.step_of[*block]).min();
        (0..order.steps.len()).filter_map(parent).for_each(|p| children[p] += 1);
        for (s, step) in order.steps.iter().enumerate().rev() {
            let own = order.rows[step.block];
            let below = self.columns[s].nrows() - own;
            let outer = match parent(s) {
                Some(p) => {
                    let outer = self.part_of(&of_steps[p], p, &step.boundary);
                    children[p] -= 1;
                    if children[p] == 0 {
                        of_steps[p] = DMatrix::zeros(0, 0);
                    }
                    outer
                }
                None => DMatrix::zeros(0, 0),
            };
            let mut inverse = DMatrix::identity(own, own);
            self.columns[s].rows(0, own).solve_lower_triangular_mut(&mut inverse);
            let below_own = self.columns[s].rows(own, below) * &inverse;
            let crossed = -(&outer * &below_own);
            let inner = inverse.transpose() * &inverse - below_own.transpose() * &crossed;
            for unknown in &order.blocks[step.block] {
                let Some((_, row)) = order.places[*unknown] else { continue };
                let rows = order.heights[*unknown];
                marginals[*unknown] = inner.view((row, row), (rows, rows)).into_owned();
            }
            if children[s] > 0 {
                let mut whole = DMatrix::zeros(own + below, own + below);
                whole.view_mut((0, 0), (own, own)).copy_from(&inner);
                whole.view_mut((own, 0), (below, own)).copy_from(&crossed);
                whole.view_mut((0, own), (own, below)).copy_from(&crossed.transpose());
                whole.view_mut((own, own), (below, below)).copy_from(&outer);
                of_steps[s] = whole;
            }
        }
        marginals
    }

    /// Of the covariance of block and boundary of a step, the rows and columns of some of these blocks.
    fn part_of(&self, whole: &DMatrix<f64>, step: usize, blocks: &[usize]) -> DMatrix<f64> {
        let order = &self.order;
        let step = &order.steps[step];
        let mut starts = Vec::with_capacity(1 + step.boundary.len());
        let mut row = 0;
        for block in std::iter::once(&step.block).chain(&step.boundary) {
            starts.push((*block, row));
            row += order.rows[*block];
        }
        let rows: Vec<usize> = blocks
            .iter()
            .filter_map(|block| starts.iter().find(|(other, _)| other == block))
            .flat_map(|(block, start)| *start..*start + order.rows[*block])
            .collect();
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

/// Rows of an element that follow each other in the front, too.
struct Run {
    /// The first one in the element.
    from: usize,
    /// The first one in the front.
    to: usize,
    rows: usize,
}

/// Of the first row and the number of rows that each unknown of an element has in the front.
fn runs(places: impl Iterator<Item = (usize, usize)>) -> Vec<Run> {
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

/// Adds the lower triangle of `element` to that of `front`.
fn add(front: &mut DMatrix<f64>, element: &DMatrix<f64>, runs: &[Run]) {
    let (n, rows) = (front.nrows(), element.nrows());
    let (front, element) = (front.as_mut_slice(), element.as_slice());
    for (k, of_column) in runs.iter().enumerate() {
        for c in 0..of_column.rows {
            let (column, to) = (&element[(of_column.from + c) * rows..][..rows], of_column.to + c);
            let diagonal = Run { from: of_column.from + c, to, rows: of_column.rows - c };
            for run in std::iter::once(&diagonal).chain(&runs[k + 1..]) {
                let values = &column[run.from..][..run.rows];
                if run.to >= to {
                    front[to * n + run.to..][..run.rows].iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
                } else {
                    front[run.to * n + to..].iter_mut().step_by(n).zip(values).for_each(|(sum, value)| *sum += value);
                }
            }
        }
    }
}

/// The rows from `from` on of some columns, as a matrix of its own.
fn block(matrix: &DMatrix<f64>, from: usize, columns: Range<usize>) -> DMatrix<f64> {
    let (rows, width) = (matrix.nrows(), columns.len());
    let mut values = Vec::with_capacity((rows - from) * width);
    columns.for_each(|j| values.extend_from_slice(&matrix.as_slice()[j * rows + from..(j + 1) * rows]));
    DMatrix::from_vec(rows - from, width, values)
}

/// Factors the first `own` columns of a symmetric matrix, lower triangle, and subtracts what they explain from the rest.
fn eliminate(front: &mut DMatrix<f64>, own: usize) -> Result<(), NotPositive> {
    let n = front.nrows();
    let mut start = 0;
    while start < own {
        let width = PANEL.min(own - start);
        for j in start..start + width {
            for k in start..j {
                let factor = front[(j, k)];
                let (left, mut right) = front.columns_range_pair_mut(k, j);
                right.rows_mut(j, n - j).axpy(-factor, &left.rows(j, n - j), 1.0);
            }
            let pivot = front[(j, j)];
            if !(pivot > 0.0 && pivot.is_finite()) {
                return Err(NotPositive);
            }
            front.view_mut((j, j), (n - j, 1)).scale_mut(1.0 / pivot.sqrt());
        }
        let from = start + width;
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

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    /// Cliques in a grid, with unknowns of two and of three rows.
    fn elements() -> (Vec<Element>, Vec<usize>) {
        let mut random = ChaCha8Rng::seed_from_u64(5);
        let rows = |unknown: usize| 2 + usize::from(unknown.is_multiple_of(5));
        let mut elements = Vec::new();
        for r in 0..4 {
            for c in 0..5 {
                let corner = 12 * r + 2 * c;
                let unknowns: Vec<usize> = [0, 1, 2, 3, 12, 13, 14, 40].iter().map(|k| (corner + k) % 70).collect();
                let n = unknowns.iter().map(|unknown| rows(*unknown)).sum();
                let root = DMatrix::from_fn(n, n, |_, _| random.random_range(-1.0..1.0));
                let gradient = DVector::from_fn(n, |_, _| random.random_range(-1.0..1.0));
                elements.push(Element { unknowns, information: &root * root.transpose(), gradient });
            }
        }
        (elements, (0..70).map(rows).collect())
    }

    #[test]
    fn factor_step_and_covariances_are_those_of_the_dense_matrix() {
        let (elements, rows) = elements();
        let lists: Vec<Vec<usize>> = elements.iter().map(|element| element.unknowns.clone()).collect();
        let order = Order::new(&lists, rows.len(), |unknown| rows[unknown]);
        let starts: Vec<usize> = rows
            .iter()
            .enumerate()
            .scan(0, |sum, (unknown, rows)| {
                let start = *sum;
                *sum += if order.places[unknown].is_some() { *rows } else { 0 };
                Some(start)
            })
            .collect();
        let n = (0..rows.len()).filter(|unknown| order.places[*unknown].is_some()).map(|unknown| rows[unknown]).sum();
        let (mut dense, mut right) = (DMatrix::zeros(n, n), DVector::zeros(n));
        for element in &elements {
            let places: Vec<usize> = element
                .unknowns
                .iter()
                .flat_map(|unknown| starts[*unknown]..starts[*unknown] + rows[*unknown])
                .collect();
            for (i, row) in places.iter().enumerate() {
                right[*row] += element.gradient[i];
                for (j, column) in places.iter().enumerate() {
                    dense[(*row, *column)] += element.information[(i, j)];
                }
            }
        }
        let inverse = dense.try_inverse().unwrap();
        let factor = Factor::new(order.clone(), elements.len(), |k| elements[k].clone()).unwrap();
        let (steps, decrease) = factor.step();
        let expected: DVector<f64> = -&inverse * &right;
        assert!((decrease + expected.dot(&right)).abs() < 1e-9 * decrease);
        let gradients = elements.iter().map(|element| &element.gradient * -2.0);
        let (others, decreased) = factor.step_for(gradients.zip(&lists));
        assert!(others.iter().zip(&steps).all(|(other, step)| (other + step * 2.0).norm() < 1e-9));
        assert!((decreased - 4.0 * decrease).abs() < 1e-9 * decreased);
        let marginals = factor.marginals();
        for unknown in (0..rows.len()).filter(|unknown| order.places[*unknown].is_some()) {
            let (start, rows) = (starts[unknown], rows[unknown]);
            assert!((&steps[unknown] - expected.rows(start, rows)).norm() < 1e-9, "{unknown}");
            assert!((&marginals[unknown] - inverse.view((start, start), (rows, rows))).norm() < 1e-9, "{unknown}");
        }
        let chosen = [(3, 2), (45, 3), (14, 2), (40, 3)];
        let places: Vec<usize> =
            chosen.iter().flat_map(|(unknown, rows)| starts[*unknown]..starts[*unknown] + rows).collect();
        let joint = factor.covariance(&chosen);
        let expected = DMatrix::from_fn(10, 10, |i, j| inverse[(places[i], places[j])]);
        assert!((&joint - &expected).norm() < 1e-9, "{joint} {expected}");
    }

    #[test]
    fn what_is_not_determined_has_no_factor() {
        let element = |information: f64| Element {
            unknowns: vec![0],
            information: DMatrix::from_element(1, 1, information),
            gradient: DVector::zeros(1),
        };
        for information in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let order = Order::new(&[vec![0]], 1, |_| 1);
            assert!(Factor::new(order, 1, |_| element(information)).is_err(), "{information}");
        }
    }
}
