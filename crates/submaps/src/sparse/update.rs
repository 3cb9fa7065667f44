//! The factor where some of the elements have changed.

use super::dense::NotPositive;
use super::factor::{Element, Factor, Node, nodes};
use super::order::Order;
use std::sync::Arc;

/// What has become of the elements of a factor.
pub struct Changes<'a> {
    /// The unknowns of all elements, as they are now.
    pub elements: &'a [Vec<usize>],
    /// Whether each is one that the factor was made of.
    pub is_same: &'a [bool],
    /// The unknowns of those that the factor was made of and that are gone.
    pub gone: &'a [usize],
    /// What is eliminated last, for the next change will be there: the unknowns of one element.
    pub last: &'a [usize],
    /// Whether there will be a next change: what nodes have left is kept for it.
    pub goes_on: bool,
}

impl Factor {
    /// The factor with some other elements. Nodes that do not depend on them stay; the others are made again, in a new
    /// order, of elements and of what those below have left. To begin with, the factor of nothing is updated.
    ///
    /// # Errors
    /// [`NotPositive`].
    pub fn updated(
        &self,
        changes: &Changes<'_>,
        heights: Vec<usize>,
        element: impl Fn(usize) -> Element,
    ) -> Result<Self, NotPositive> {
        let Changes { elements, is_same, gone, last, goes_on } = *changes;
        let changed = elements.iter().zip(is_same).filter(|(_, is_same)| !**is_same);
        let mut is_made_again = vec![false; self.nodes.len()];
        for unknown in changed.flat_map(|(unknowns, _)| unknowns).chain(gone) {
            let mut at = self.place(*unknown).map(|(node, _)| node);
            while let Some(node) = at.filter(|node| !is_made_again[*node]) {
                is_made_again[node] = true;
                at = self.parents[node];
            }
        }
        let mut below: Vec<Arc<Node>> = Vec::new();
        for (at, node) in self.nodes.iter().enumerate().rev() {
            if self.parents[at].is_some_and(|parent| is_made_again[parent]) && !is_made_again[at] {
                match node.left {
                    Some(_) => below.push(node.clone()),
                    None => is_made_again[at] = true,
                }
            }
        }
        // An element is added where the first of its unknowns is eliminated.
        let is_added_again = |k: &usize| {
            let first = elements[*k].iter().filter_map(|unknown| self.place(*unknown)).min();
            !is_same[*k] || first.is_none_or(|(node, _)| is_made_again[node])
        };
        let added: Vec<usize> = (0..elements.len()).filter(is_added_again).collect();
        let of_nodes = below.iter().map(|node| node.boundary.clone());
        let lists: Vec<Vec<usize>> = added.iter().map(|k| elements[*k].clone()).chain(of_nodes).collect();
        let order = Order::ending_with(last, &lists, heights.len(), |unknown| heights[unknown]);
        let made = nodes(&order, (added.len(), |k: usize| element(added[k])), &below, goes_on)?;
        let kept = self.nodes.iter().zip(&is_made_again).filter(|(_, is_made_again)| !**is_made_again);
        let all = kept.map(|(node, _)| node.clone()).chain(made).collect();
        Ok(Self::linked(all, heights))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sparse::Element;
    use nalgebra::{DMatrix, DVector};
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    /// A lane back and forth: each element holds six unknowns in a row and three of the lane before.
    fn lists(count: usize) -> Vec<Vec<usize>> {
        let of = |k: usize| {
            let own = 4 * k..4 * k + 6;
            let beside = (k >= 10).then(|| 4 * (k / 10 * 20 - 1 - k)..4 * (k / 10 * 20 - 1 - k) + 3);
            own.chain(beside.into_iter().flatten()).collect()
        };
        (0..count).map(of).collect()
    }

    fn element(unknowns: &[usize], seed: u64) -> Element {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let n = 2 * unknowns.len();
        let root = DMatrix::from_fn(n, n, |_, _| random.random_range(-1.0..1.0));
        let information = &root * root.transpose() + DMatrix::identity(n, n);
        Element { unknowns: unknowns.to_vec(), information, gradient: DVector::from_element(n, 1.0) }
    }

    /// One element after the other is added, one is taken away, and one changes: the factor is that of all of them, of
    /// which most stays.
    #[test]
    fn it_is_the_factor_of_what_there_is_now() {
        let (mut factor, mut seeds) = (Factor::default(), Vec::new());
        let mut all = lists(0);
        let mut kept = 0;
        for count in 1..=60 {
            let mut is_same = vec![true; all.len()];
            let mut gone = Vec::new();
            all.push(lists(count)[count - 1].clone());
            seeds.push(count as u64);
            is_same.push(false);
            if count == 40 {
                gone = all.remove(5);
                seeds.remove(5);
                is_same.remove(5);
            }
            if count == 50 {
                (seeds[20], is_same[20]) = (1000, false);
            }
            let unknowns = 4 * count + 2;
            let last = all.last().unwrap().clone();
            let changes = Changes { elements: &all, is_same: &is_same, gone: &gone, last: &last, goes_on: true };
            let before = factor.nodes.clone();
            factor = factor.updated(&changes, vec![2; unknowns], |k| element(&all[k], seeds[k])).unwrap();
            kept += before.iter().filter(|node| factor.nodes.iter().any(|other| Arc::ptr_eq(node, other))).count();
            let order = Order::new(&all, unknowns, |_| 2);
            let fresh = Factor::new(order, all.len(), |k| element(&all[k], seeds[k])).unwrap();
            let asked: Vec<(usize, usize)> = [0, 7, unknowns / 2, unknowns - 1].map(|unknown| (unknown, 2)).to_vec();
            assert!((factor.covariance(&asked) - fresh.covariance(&asked)).norm() < 1e-9, "{count}");
            for (one, other) in factor.marginals().iter().zip(fresh.marginals()) {
                assert!((one - other).norm() < 1e-9, "{count}");
            }
            let gradients = || all.iter().map(|list| (DVector::from_element(2 * list.len(), 1.0), list));
            let ((steps, decrease), (expected, expected_decrease)) =
                (factor.step_for(gradients()), fresh.step_for(gradients()));
            assert!((decrease - expected_decrease).abs() < 1e-9 * decrease, "{count}");
            assert!(steps.iter().zip(&expected).all(|(step, expected)| (step - expected).norm() < 1e-9), "{count}");
        }
        let made: usize = factor.nodes.len() * 30;
        assert!(2 * kept > made, "{kept} of about {made}");
    }
}
