//! Counting what was left out, and why: the part of the intake that every filter shares.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;

/// Why input was left out. An enum without fields, numbered from 0 in the order of [`Reason::ALL`].
pub trait Reason: Copy + 'static {
    /// All reasons, in the order of their numbers.
    const ALL: &'static [Self];

    /// The number of the reason: its place in [`Reason::ALL`].
    fn index(self) -> usize;

    /// The reason as one word, `snake_case`: the word of `/diagnostics` and of the evaluator's report.
    fn word(self) -> &'static str;
}

/// How often each of `N` reasons happened. Counting does not allocate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts<R, const N: usize> {
    counts: [u64; N],
    of: std::marker::PhantomData<R>,
}

impl<R, const N: usize> Default for Counts<R, N> {
    fn default() -> Self {
        Self { counts: [0; N], of: std::marker::PhantomData }
    }
}

/// As a map from words to counts: a reason that is not known any more is left out.
impl<R: Reason, const N: usize> Serialize for Counts<R, N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.by_word().serialize(serializer)
    }
}

impl<'de, R: Reason, const N: usize> Deserialize<'de> for Counts<R, N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let by_word = BTreeMap::<String, u64>::deserialize(deserializer)?;
        let mut counts = Self::default();
        for &reason in R::ALL {
            counts.counts[reason.index()] = by_word.get(reason.word()).copied().unwrap_or_default();
        }
        Ok(counts)
    }
}

impl<R: Reason, const N: usize> Counts<R, N> {
    /// One more of `reason`.
    pub fn add(&mut self, reason: R) {
        self.counts[reason.index()] += 1;
    }

    /// `n` more of `reason`.
    pub fn add_many(&mut self, reason: R, n: u64) {
        self.counts[reason.index()] += n;
    }

    /// All of `other` besides.
    pub fn add_all(&mut self, other: &Self) {
        for (mine, theirs) in self.counts.iter_mut().zip(other.counts) {
            *mine += theirs;
        }
    }

    /// How many of `reason`.
    pub fn get(&self, reason: R) -> u64 {
        self.counts[reason.index()]
    }

    /// Of the reason that happened most.
    pub fn largest(&self) -> u64 {
        self.counts.iter().copied().max().unwrap_or_default()
    }

    /// Of all reasons together.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Those that happened, by word.
    pub fn by_word(&self) -> BTreeMap<&'static str, u64> {
        R::ALL.iter().map(|&reason| (reason.word(), self.get(reason))).filter(|&(_, n)| n > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Why {
        Early,
        Late,
    }

    impl Reason for Why {
        const ALL: &'static [Self] = &[Self::Early, Self::Late];
        fn index(self) -> usize {
            self as usize
        }
        fn word(self) -> &'static str {
            ["early", "late"][self as usize]
        }
    }

    #[test]
    fn counts_add_up_and_name_only_what_happened() {
        let (mut one, mut other) = (Counts::<Why, 2>::default(), Counts::default());
        one.add(Why::Late);
        other.add(Why::Late);
        one.add_all(&other);
        assert_eq!((one.get(Why::Early), one.get(Why::Late), one.total()), (0, 2, 2));
        assert_eq!(one.by_word(), BTreeMap::from([("late", 2)]));
    }
}
