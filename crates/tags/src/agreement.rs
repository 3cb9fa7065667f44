//! Whether known tags that are seen together are where they are stated to be.
//!
//! Of two tags of a frame, one that fits the pose of the body and one beyond the gate, one at least is not at its place. A
//! pair that contradicts itself in most of its frames is named.

use std::collections::BTreeMap;

/// How often pairs of tags were used together, and how often one was beyond the gate where the other was used.
#[derive(Clone, Debug, Default)]
pub struct Agreements {
    pairs: BTreeMap<[u64; 2], Pair>,
    used: Vec<u64>,
    gated: Vec<(u64, f64)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Pair {
    agree: u32,
    contradict: u32,
    /// Of the distances, m, when they contradict.
    sum_m: f64,
}

/// So many tags of a frame are compared.
const MOST_IN_FRAME: usize = 16;
/// So many pairs are kept.
const MOST_PAIRS: usize = 10_000;

impl Agreements {
    /// A new frame.
    pub fn begin_frame(&mut self) {
        self.used.clear();
        self.gated.clear();
    }

    /// A known tag was taken in.
    pub fn used(&mut self, id: u64) {
        if self.used.len() < MOST_IN_FRAME && !self.used.contains(&id) {
            self.used.push(id);
        }
    }

    /// A known tag was beyond the gate: so far from where it is stated to be, m.
    pub fn gated(&mut self, id: u64, off_m: f64) {
        if self.gated.len() < MOST_IN_FRAME {
            self.gated.push((id, off_m));
        }
    }

    /// Counts the pairs of this frame.
    pub fn end_frame(&mut self) {
        for (n, one) in self.used.iter().enumerate() {
            for other in &self.used[n + 1..] {
                if let Some(pair) = pair(&mut self.pairs, *one, *other) {
                    pair.agree += 1;
                }
            }
            for (other, off_m) in self.gated.iter().filter(|(other, _)| other != one) {
                if let Some(pair) = pair(&mut self.pairs, *one, *other) {
                    pair.contradict += 1;
                    pair.sum_m += off_m;
                }
            }
        }
    }

    /// Pairs that contradicted themselves in more frames than they agreed in, and how far they were apart from what is
    /// stated, m, in the mean of these.
    pub fn contradictions(&self) -> impl Iterator<Item = ([u64; 2], f64)> + '_ {
        /// In fewer frames one of them may have been seen badly.
        const LEAST: u32 = 3;
        let is_off = |pair: &Pair| pair.contradict >= LEAST && pair.contradict > pair.agree;
        let all = self.pairs.iter().filter(move |(_, pair)| is_off(pair));
        all.map(|(ids, pair)| (*ids, pair.sum_m / f64::from(pair.contradict)))
    }
}

fn pair(pairs: &mut BTreeMap<[u64; 2], Pair>, one: u64, other: u64) -> Option<&mut Pair> {
    let ids = [one.min(other), one.max(other)];
    if pairs.len() >= MOST_PAIRS && !pairs.contains_key(&ids) {
        return None;
    }
    Some(pairs.entry(ids).or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_that_contradicts_itself_is_named_with_its_distance() {
        let mut all = Agreements::default();
        for n in 0..5 {
            all.begin_frame();
            all.used(1);
            all.used(2);
            all.gated(7, 0.4);
            if n == 0 {
                all.gated(9, 3.0);
            }
            all.end_frame();
        }
        let found: Vec<_> = all.contradictions().collect();
        assert_eq!(found.iter().map(|(ids, _)| *ids).collect::<Vec<_>>(), [[1, 7], [2, 7]]);
        assert!(found.iter().all(|(_, off_m)| (off_m - 0.4).abs() < 1e-12));
    }
}
