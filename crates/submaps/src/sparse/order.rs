//! In which order unknowns are eliminated from a sum of Gaussians.
//!
//! Each submap is an element: a clique of unknowns. To eliminate an unknown merges all elements that hold it into one,
//! that of its neighbours. Next is always the one with the fewest neighbours (minimum degree). Unknowns that the same
//! elements hold are eliminated together, as one block: a landmark that two lanes see is like all others that they see.
//!
//! An unknown that very many elements hold (a calibration, a landmark that is in view for an hour) has nearly all
//! others as neighbours, and to count them again after each elimination would cost more than all the rest: such blocks
//! are eliminated last, as Amestoy, Davis, Duff, "Algorithm 837: AMD" (2004) does with dense rows.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Blocks that are held by more elements than this times the root of the number of elements, are eliminated last.
const DENSE: f64 = 10.0;

/// Zeros that are stored to make one of two steps, as a share of the numbers in the columns of both; and where both
/// have no more rows than a few.
const ZEROS: f64 = 0.1;
const SMALL_ZEROS: f64 = 0.4;
const SMALL: usize = 16;

/// One elimination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The blocks that are eliminated, one after the other.
    pub blocks: Vec<usize>,
    /// Its neighbours at that time, in ascending order: what remains depends on them.
    pub boundary: Vec<usize>,
    /// The elements that are merged: given ones by their number, and the one that step `s` has made as (number of
    /// given ones) + s.
    pub inputs: Vec<usize>,
}

/// Blocks of unknowns, and the order of their elimination.
#[derive(Clone, Debug, Default)]
pub struct Order {
    /// The unknowns of each block, in ascending order.
    pub blocks: Vec<Vec<usize>>,
    /// The block of each unknown, and its first row there; `None` of an unknown that no element holds.
    pub places: Vec<Option<(usize, usize)>>,
    /// Rows of each unknown.
    pub heights: Vec<usize>,
    /// Rows of each block.
    pub rows: Vec<usize>,
    /// The eliminations.
    pub steps: Vec<Step>,
}

impl Order {
    /// Of elements, each a list of unknowns without repetitions. `rows` says how many rows an unknown has.
    pub fn new(elements: &[Vec<usize>], unknowns: usize, rows: impl Fn(usize) -> usize) -> Self {
        Self::ending_with(&[], elements, unknowns, rows)
    }

    /// The same where the unknowns of one element, `last`, are eliminated last: what comes next depends on them.
    pub fn ending_with(
        last: &[usize],
        elements: &[Vec<usize>],
        unknowns: usize,
        rows: impl Fn(usize) -> usize,
    ) -> Self {
        let mut holders = vec![Vec::new(); unknowns];
        for (e, element) in elements.iter().enumerate() {
            for &unknown in element {
                holders[unknown].push(e);
            }
        }
        let mut order =
            Self { places: vec![None; unknowns], heights: (0..unknowns).map(rows).collect(), ..Self::default() };
        let mut block_of = BTreeMap::new();
        for (unknown, holders) in holders.iter().enumerate().filter(|(_, holders)| !holders.is_empty()) {
            let block = *block_of.entry(holders.as_slice()).or_insert_with(|| {
                order.blocks.push(Vec::new());
                order.rows.push(0);
                order.blocks.len() - 1
            });
            order.places[unknown] = Some((block, order.rows[block]));
            order.rows[block] += order.heights[unknown];
            order.blocks[block].push(unknown);
        }
        let holders: Vec<Vec<usize>> = order.blocks.iter().map(|block| holders[block[0]].clone()).collect();
        let mut is_last = vec![false; order.blocks.len()];
        last.iter().filter_map(|unknown| order.places[*unknown]).for_each(|(block, _)| is_last[block] = true);
        order.eliminate(elements, holders, is_last);
        order
    }

    fn eliminate(&mut self, elements: &[Vec<usize>], mut holders: Vec<Vec<usize>>, is_last: Vec<bool>) {
        let blocks = self.blocks.len();
        let mut members: Vec<Vec<usize>> = elements
            .iter()
            .map(|element| {
                let mut blocks: Vec<usize> =
                    element.iter().filter_map(|unknown| self.places[*unknown]).map(|(block, _)| block).collect();
                blocks.sort_unstable();
                blocks.dedup();
                blocks
            })
            .collect();
        let mut seen = vec![usize::MAX; blocks];
        let mut mark = 0;
        let rows = &self.rows;
        let mut degree = |block: usize, holders: &[Vec<usize>], members: &[Vec<usize>]| {
            mark += 1;
            let mut sum = 0;
            for other in holders[block].iter().flat_map(|e| &members[*e]) {
                if seen[*other] != mark && *other != block {
                    seen[*other] = mark;
                    sum += rows[*other];
                }
            }
            sum
        };
        let most = DENSE * (elements.len() as f64).sqrt();
        let mut is_dense = is_last;
        is_dense.iter_mut().zip(&holders).for_each(|(is_dense, holders)| *is_dense |= holders.len() as f64 > most);
        let mut degrees: Vec<usize> = (0..blocks)
            .map(|block| if is_dense[block] { usize::MAX } else { degree(block, &holders, &members) })
            .collect();
        let mut queue: BinaryHeap<_> = degrees.iter().enumerate().map(|(b, degree)| Reverse((*degree, b))).collect();
        let mut is_gone = vec![false; blocks];
        let mut steps = Vec::with_capacity(blocks);
        while let Some(Reverse((at, block))) = queue.pop() {
            if is_gone[block] || degrees[block] != at {
                continue;
            }
            if is_dense[block] {
                // Only dense ones are left, of few elements by now.
                is_dense[block] = false;
                degrees[block] = degree(block, &holders, &members);
                queue.push(Reverse((degrees[block], block)));
                continue;
            }
            is_gone[block] = true;
            let inputs = std::mem::take(&mut holders[block]);
            let mut boundary: Vec<usize> =
                inputs.iter().flat_map(|e| &members[*e]).copied().filter(|other| *other != block).collect();
            boundary.sort_unstable();
            boundary.dedup();
            let made = members.len();
            for other in &boundary {
                holders[*other].retain(|e| !inputs.contains(e));
                holders[*other].push(made);
            }
            inputs.iter().for_each(|e| members[*e] = Vec::new());
            members.push(boundary.clone());
            for other in boundary.iter().filter(|other| !is_dense[**other]) {
                degrees[*other] = degree(*other, &holders, &members);
                queue.push(Reverse((degrees[*other], *other)));
            }
            steps.push(Step { blocks: vec![block], boundary, inputs });
        }
        self.steps = steps;
        self.amalgamate(elements.len());
        self.stack(elements.len());
    }

    /// Makes one of two steps where the first leaves nearly all that the second eliminates or leaves, or where both are
    /// small: some zeros are stored, and fewer fronts are added up (relaxed supernodes, Duff and Reid 1983).
    fn amalgamate(&mut self, given: usize) {
        let rows_of = |blocks: &[usize]| blocks.iter().map(|block| self.rows[*block]).sum::<usize>();
        let mut own: Vec<usize> = self.steps.iter().map(|step| rows_of(&step.blocks)).collect();
        let boundary: Vec<usize> = self.steps.iter().map(|step| rows_of(&step.boundary)).collect();
        let mut zeros = vec![0; self.steps.len()];
        let mut is_gone = vec![false; self.steps.len()];
        for s in 0..self.steps.len() {
            let mut inputs = Vec::new();
            let mut blocks = Vec::new();
            for input in std::mem::take(&mut self.steps[s].inputs) {
                let Some(child) = input.checked_sub(given) else {
                    inputs.push(input);
                    continue;
                };
                let sum = own[child] + own[s];
                let more = zeros[child] + zeros[s] + own[child] * (own[s] + boundary[s] - boundary[child]);
                let share = if sum <= SMALL { SMALL_ZEROS } else { ZEROS };
                if more as f64 <= share * (sum * (sum + 2 * boundary[s])) as f64 / 2.0 {
                    (own[s], zeros[s], is_gone[child]) = (sum, more, true);
                    blocks.append(&mut self.steps[child].blocks);
                    inputs.append(&mut self.steps[child].inputs);
                } else {
                    inputs.push(input);
                }
            }
            let step = &mut self.steps[s];
            blocks.append(&mut step.blocks);
            (step.blocks, step.inputs) = (blocks, inputs);
        }
        let mut number = vec![0; self.steps.len()];
        for s in 1..self.steps.len() {
            number[s] = number[s - 1] + usize::from(!is_gone[s - 1]);
        }
        let mut gone = is_gone.iter();
        self.steps.retain(|_| gone.next() == Some(&false));
        let made = self.steps.iter_mut().flat_map(|step| &mut step.inputs).filter(|input| **input >= given);
        made.for_each(|input| *input = given + number[*input - given]);
    }

    /// Puts the steps in an order in which what a step makes is soon used: as minimum degree finds them, the elements
    /// of all corners of a map would be waiting at the same time. Nothing else changes. Of the steps that a step waits
    /// for, the one that needs the most more than it leaves behind comes first (Liu, "On the storage requirement in the
    /// out-of-core multifrontal method", ACM TOMS 12, 1986).
    fn stack(&mut self, given: usize) {
        let square = |rows: usize| rows * rows;
        let rows = |step: &Step| step.boundary.iter().map(|block| self.rows[*block]).sum::<usize>();
        let own = |step: &Step| step.blocks.iter().map(|block| self.rows[*block]).sum::<usize>();
        let left: Vec<usize> = self.steps.iter().map(|step| square(rows(step))).collect();
        let children = |step: &Step| step.inputs.iter().filter_map(|input| input.checked_sub(given)).collect();
        let mut children: Vec<Vec<usize>> = self.steps.iter().map(children).collect();
        // The most that is waiting at any time until a step is done, its own front included.
        let mut most = vec![0; self.steps.len()];
        let mut is_root = vec![true; self.steps.len()];
        for (s, step) in self.steps.iter().enumerate() {
            children[s].sort_unstable_by_key(|child| (Reverse(most[*child] - left[*child]), *child));
            let mut waiting = 0;
            for child in &children[s] {
                is_root[*child] = false;
                most[s] = most[s].max(waiting + most[*child]);
                waiting += left[*child];
            }
            most[s] = most[s].max(waiting + square(own(step) + rows(step)) + left[s]);
        }
        let mut order = Vec::with_capacity(self.steps.len());
        let mut path: Vec<usize> = (0..self.steps.len()).rev().filter(|s| is_root[*s]).collect();
        // Parents before children, the last child first; turned round, children are in their order.
        path.reverse();
        while let Some(s) = path.pop() {
            order.push(s);
            path.extend(&children[s]);
        }
        order.reverse();
        let mut place = vec![0; self.steps.len()];
        order.iter().enumerate().for_each(|(new, old)| place[*old] = new);
        let renamed = |old: &usize| {
            let mut step = self.steps[*old].clone();
            step.inputs
                .iter_mut()
                .filter(|input| **input >= given)
                .for_each(|input| *input = given + place[*input - given]);
            step
        };
        self.steps = order.iter().map(renamed).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknowns_of_the_same_elements_are_one_block_and_a_chain_has_no_fill() {
        // Five elements in a row, each with an unknown of its own, and two that it shares with the next.
        let elements: Vec<Vec<usize>> = (0..5).map(|k| (3 * k..3 * k + 5).collect()).collect();
        let order = Order::new(&elements, 17, |_| 2);
        assert_eq!(order.blocks.len(), 9);
        assert_eq!(order.blocks.iter().map(Vec::len).sum::<usize>(), 17);
        assert_eq!(order.steps.iter().map(|step| step.blocks.len()).sum::<usize>(), order.blocks.len());
        assert!(order.steps.iter().all(|step| step.boundary.len() <= 2), "{:?}", order.steps);
        // Every element is merged once.
        let mut inputs: Vec<usize> = order.steps.iter().flat_map(|step| step.inputs.clone()).collect();
        inputs.sort_unstable();
        let made = inputs.len();
        inputs.dedup();
        assert_eq!(inputs.len(), made);
        is_in_order(&order, elements.len());
    }

    /// What a step uses was made before.
    fn is_in_order(order: &Order, given: usize) {
        for (s, step) in order.steps.iter().enumerate() {
            assert!(step.inputs.iter().all(|input| *input < given + s), "{s}");
        }
    }

    /// A tree of four arms, each of which is a chain: of what the steps make, no more waits than one for each arm.
    #[test]
    fn what_a_step_makes_is_soon_used() {
        let arm = |a: usize| {
            (0..20).map(move |k| if k == 19 { vec![1 + 20 * a + k, 0] } else { vec![1 + 20 * a + k, 2 + 20 * a + k] })
        };
        let elements: Vec<Vec<usize>> = (0..4).flat_map(arm).collect();
        let order = Order::new(&elements, 81, |_| 1);
        is_in_order(&order, elements.len());
        let (mut waiting, mut most) = (0, 0);
        for step in &order.steps {
            waiting -= step.inputs.iter().filter(|input| **input >= elements.len()).count();
            waiting += usize::from(!step.boundary.is_empty());
            most = most.max(waiting);
        }
        assert!(most <= 4, "{most}");
    }
}
