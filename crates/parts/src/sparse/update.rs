//! The factor where some of the elements have changed.

use super::factor::{Element, Factor, Node, NotPositive, nodes};
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
