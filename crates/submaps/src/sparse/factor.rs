//! The factor of sparse normal equations, front by front (multifrontal Cholesky).
//!
//! At each step of the [`Order`], the elements that hold a block are added up to a dense matrix, the front: the block
//! first, then its boundary. Its first columns become columns of the factor, and what remains is the element that the
//! step makes. All arithmetic is that of dense matrices, so that it runs at the speed of matrix products.
//!
//! What a step has made stays as a node. Where some elements change, only the nodes that depend on them are made again,
//! from elements and from what the nodes below have left ([`Factor::updated`]).

use super::dense::{NotPositive, add, block, eliminate, lower, runs};
use super::order::Order;
use nalgebra::{DMatrix, DVector};
use std::ops::AddAssign;
use std::sync::Arc;

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

/// What one step of the elimination has made.
#[derive(Debug)]
pub(super) struct Node {
    /// The unknowns that it has eliminated, and the number of their rows.
    pub own: Vec<usize>,
    pub rows: usize,
    /// Those that depend on them.
    pub boundary: Vec<usize>,
    /// Columns of the factor: first its own rows, lower triangle, and then those of the boundary.
    pub columns: DMatrix<f64>,
    /// L⁻¹ of the gradient.
    pub half: DVector<f64>,
    /// What remains for the boundary, where it is kept.
    pub left: Option<Left>,
}

/// The Gaussian that remains once some unknowns are eliminated.
#[derive(Debug)]
pub(super) struct Left {
    /// Of its information, the lower triangle, column by column.
    lower: Vec<f64>,
    gradient: DVector<f64>,
}

/// The factor L of H = LLᵀ, and the half-solved right-hand side.
#[derive(Clone, Debug, Default)]
pub struct Factor {
    /// Those that a node depends on stand before it, one behind the other.
    pub(super) nodes: Vec<Arc<Node>>,
    /// The first node that depends on each node.
    pub(super) parents: Vec<Option<usize>>,
    /// The node of each unknown, and its first row there.
    pub(super) places: Vec<Option<(usize, usize)>>,
    /// Rows of each unknown.
    pub(super) heights: Vec<usize>,
}

impl Factor {
    /// Of the sum of the `given` elements that `order` was made for, which `element` makes when they are needed.
    ///
    /// # Errors
    /// [`NotPositive`].
    pub fn new(order: Order, given: usize, element: impl Fn(usize) -> Element) -> Result<Self, NotPositive> {
        let nodes = nodes(&order, (given, element), &[], false)?;
        Ok(Self::linked(nodes, order.heights))
    }

    /// The node of an unknown, and its first row there.
    pub(super) fn place(&self, unknown: usize) -> Option<(usize, usize)> {
        self.places.get(unknown).copied().flatten()
    }

    /// Of nodes, each behind those it depends on.
    pub(super) fn linked(nodes: Vec<Arc<Node>>, heights: Vec<usize>) -> Self {
        let mut node_of = vec![0; heights.len()];
        nodes.iter().enumerate().for_each(|(at, node)| node.own.iter().for_each(|unknown| node_of[*unknown] = at));
        let parent = |node: &Arc<Node>| node.boundary.iter().map(|unknown| node_of[*unknown]).min();
        let parents: Vec<Option<usize>> = nodes.iter().map(parent).collect();
        let mut children = vec![Vec::new(); nodes.len()];
        let mut path = Vec::new();
        for (at, parent) in parents.iter().enumerate() {
            parent.map_or(&mut path, |parent| &mut children[parent]).push(at);
        }
        // Parents before children, the last child first; turned round, children are in their order.
        let mut order = Vec::with_capacity(nodes.len());
        while let Some(at) = path.pop() {
            order.push(at);
            path.extend(&children[at]);
        }
        order.reverse();
        let mut number = vec![0; nodes.len()];
        order.iter().enumerate().for_each(|(new, old)| number[*old] = new);
        let mut places = vec![None; heights.len()];
        for (new, old) in order.iter().enumerate() {
            let mut row = 0;
            for unknown in &nodes[*old].own {
                places[*unknown] = Some((new, row));
                row += heights[*unknown];
            }
        }
        let parents = order.iter().map(|old| parents[*old].map(|parent| number[parent])).collect();
        Self { nodes: order.iter().map(|old| nodes[*old].clone()).collect(), parents, places, heights }
    }

    /// Numbers that are stored.
    pub fn entries(&self) -> usize {
        self.nodes.iter().map(|node| node.columns.len()).sum()
    }

    /// −H⁻¹ of the gradient that the elements had: the step of Gauss and Newton, for each unknown, and twice what it
    /// lowers the cost by, to first order.
    pub fn step(&self) -> (Vec<DVector<f64>>, f64) {
        let halves: Vec<&[f64]> = self.nodes.iter().map(|node| node.half.as_slice()).collect();
        self.step_of(halves.concat())
    }

    /// The same where the elements have other gradients, each with the unknowns that it has.
    pub fn step_for<'a>(
        &self,
        given: impl Iterator<Item = (DVector<f64>, &'a Vec<usize>)>,
    ) -> (Vec<DVector<f64>>, f64) {
        let starts = self.starts();
        let mut sums = vec![0.0; self.nodes.iter().map(|node| node.rows).sum()];
        for (gradient, unknowns) in given {
            let mut values = gradient.iter();
            for unknown in unknowns {
                let values = values.by_ref().take(self.heights[*unknown]);
                match self.place(*unknown) {
                    Some((node, row)) => sums[starts[node] + row..].iter_mut().zip(values).for_each(|(s, v)| *s += v),
                    None => values.for_each(drop),
                }
            }
        }
        let mut below = DVector::zeros(0);
        for (at, node) in self.nodes.iter().enumerate() {
            let (own, rows) = (node.rows, node.columns.nrows());
            let mut half = DVector::from_column_slice(&sums[starts[at]..][..own]);
            // The diagonal is positive.
            node.columns.rows(0, own).solve_lower_triangular_mut(&mut half);
            sums[starts[at]..][..own].copy_from_slice(half.as_slice());
            below.resize_vertically_mut(rows - own, 0.0);
            below.gemv(1.0, &node.columns.rows(own, rows - own), &half, 0.0);
            let mut values = below.iter();
            for unknown in &node.boundary {
                let Some((above, row)) = self.place(*unknown) else { continue };
                let sums = &mut sums[starts[above] + row..][..self.heights[*unknown]];
                sums.iter_mut().zip(values.by_ref()).for_each(|(sum, value)| *sum -= value);
            }
        }
        self.step_of(sums)
    }

    /// Of all rows, the first of each node.
    fn starts(&self) -> Vec<usize> {
        let mut row = 0;
        let starts = self.nodes.iter().map(|node| {
            row += node.rows;
            row - node.rows
        });
        starts.collect()
    }

    /// −L⁻ᵀ of the half-solved right-hand side.
    fn step_of(&self, halves: Vec<f64>) -> (Vec<DVector<f64>>, f64) {
        let starts = self.starts();
        let decrease = halves.iter().map(|half| half * half).sum();
        let mut x = halves;
        let mut above = Vec::new();
        for (at, node) in self.nodes.iter().enumerate().rev() {
            let (own, rows) = (node.rows, node.columns.nrows());
            above.clear();
            for unknown in &node.boundary {
                let Some((node, row)) = self.place(*unknown) else { continue };
                above.extend_from_slice(&x[starts[node] + row..][..self.heights[*unknown]]);
            }
            let above = nalgebra::DVectorView::from_slice(&above, rows - own);
            let mut solved = -DVector::from_column_slice(&x[starts[at]..][..own]);
            solved.gemv_tr(-1.0, &node.columns.rows(own, rows - own), &above, 1.0);
            node.columns.rows(0, own).tr_solve_lower_triangular_mut(&mut solved);
            x[starts[at]..][..own].copy_from_slice(solved.as_slice());
        }
        let of_unknown = |(place, rows): (&Option<(usize, usize)>, &usize)| match *place {
            Some((node, row)) => DVector::from_column_slice(&x[starts[node] + row..][..*rows]),
            None => DVector::zeros(0),
        };
        (self.places.iter().zip(&self.heights).map(of_unknown).collect(), decrease)
    }
}

/// Of an element.
enum Values<'a> {
    Whole(&'a DMatrix<f64>),
    Lower(&'a [f64]),
}

/// The steps of an order, of `given` elements, and behind them what some nodes have left. What a step has left is kept,
/// where it is to be, if it has no more numbers than the columns by which it would be made again.
pub(super) fn nodes(
    order: &Order,
    (given, element): (usize, impl Fn(usize) -> Element),
    below: &[Arc<Node>],
    keeps: bool,
) -> Result<Vec<Arc<Node>>, NotPositive> {
    let sources = given + below.len();
    let mut made: Vec<Node> = Vec::with_capacity(order.steps.len());
    // Numbers in the columns of each step, and of those before it of which nothing is kept.
    let mut weights = vec![0; order.steps.len()];
    let mut starts = vec![0; order.blocks.len()];
    for (s, step) in order.steps.iter().enumerate() {
        let mut rows = 0;
        for block in step.blocks.iter().chain(&step.boundary) {
            starts[*block] = rows;
            rows += order.rows[*block];
        }
        let own = step.blocks.iter().map(|block| order.rows[*block]).sum();
        let (mut front, mut gradient) = (DMatrix::zeros(rows, rows), DVector::<f64>::zeros(rows));
        let mut sum = |unknowns: &[usize], values: Values<'_>, of_gradient: &DVector<f64>| {
            let place = |unknown: &usize| {
                let (block, row) = order.places[*unknown].unwrap_or_default();
                (starts[block] + row, order.heights[*unknown])
            };
            let runs = runs(unknowns.iter().map(place));
            let n = of_gradient.len();
            match values {
                Values::Whole(whole) => add(&mut front, |j| &whole.as_slice()[j * n + j..(j + 1) * n], &runs),
                // Before column j, there are n, n − 1, …, n − j + 1 numbers.
                Values::Lower(lower) => add(&mut front, |j| &lower[j * (2 * n - j + 1) / 2..][..n - j], &runs),
            }
            for run in &runs {
                gradient.rows_mut(run.to, run.rows).add_assign(&of_gradient.rows(run.from, run.rows));
            }
        };
        for input in &step.inputs {
            match input.checked_sub(sources) {
                None if *input < given => {
                    let Element { unknowns, information, gradient } = element(*input);
                    sum(&unknowns, Values::Whole(&information), &gradient);
                }
                None => {
                    let node = &below[*input - given];
                    if let Some(Left { lower, gradient }) = &node.left {
                        sum(&node.boundary, Values::Lower(lower), gradient);
                    }
                }
                Some(child) => {
                    let Some(left) = made[child].left.take() else { continue };
                    sum(&made[child].boundary, Values::Lower(&left.lower), &left.gradient);
                    if keeps && left.lower.len() <= weights[child] {
                        made[child].left = Some(left);
                    } else {
                        weights[s] += weights[child];
                    }
                }
            }
        }
        eliminate(&mut front, own)?;
        let columns = block(&front, 0, 0..own);
        weights[s] += columns.len();
        let mut half = gradient.rows(0, own).into_owned();
        if !columns.rows(0, own).solve_lower_triangular_mut(&mut half) {
            return Err(NotPositive);
        }
        let mut rest = gradient.rows(own, rows - own).into_owned();
        rest.gemv(-1.0, &columns.rows(own, rows - own), &half, 1.0);
        let unknowns = |blocks: &[usize]| blocks.iter().flat_map(|block| &order.blocks[*block]).copied().collect();
        let (own_unknowns, boundary): (Vec<usize>, Vec<usize>) = (unknowns(&step.blocks), unknowns(&step.boundary));
        let left = Some(Left { lower: lower(&front, own), gradient: rest });
        made.push(Node { own: own_unknowns, rows: own, boundary, columns, half, left });
    }
    Ok(made.into_iter().map(Arc::new).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

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
