//! Rooted trees, of which the order conditions of Runge–Kutta methods have one each.

/// A rooted tree: what hangs on its root.
#[derive(Clone)]
pub(super) struct Tree {
    pub branches: Vec<Tree>,
}

impl Tree {
    fn order(&self) -> usize {
        1 + self.branches.iter().map(Tree::order).sum::<usize>()
    }

    /// γ: the product of the orders of all subtrees.
    #[allow(clippy::cast_precision_loss)]
    pub fn density(&self) -> f64 {
        self.order() as f64 * self.branches.iter().map(Tree::density).product::<f64>()
    }
}

/// All rooted trees of `order` vertices.
pub(super) fn trees(order: usize) -> Vec<Tree> {
    let smaller: Vec<Tree> = (1..order).flat_map(trees).collect();
    forests(&smaller, order.saturating_sub(1)).into_iter().map(|branches| Tree { branches }).collect()
}

/// All multisets of these trees with `vertices` vertices in all. Each tree is either not in the multiset, or at least
/// once.
fn forests(of: &[Tree], vertices: usize) -> Vec<Vec<Tree>> {
    let Some((first, rest)) = of.split_first() else {
        return if vertices == 0 { vec![vec![]] } else { vec![] };
    };
    let mut found = forests(rest, vertices);
    if let Some(left) = vertices.checked_sub(first.order()) {
        found.extend(forests(of, left).into_iter().map(|mut forest| {
            forest.push(first.clone());
            forest
        }));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_many_rooted_trees_as_is_known() {
        let counts: Vec<usize> = (1..=8).map(|order| trees(order).len()).collect();
        assert_eq!(counts, [1, 1, 2, 4, 9, 20, 48, 115]);
    }
}
