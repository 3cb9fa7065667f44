//! Covariances between landmarks that are near each other, of a map that is too large for those of all.

use nalgebra::Matrix2;

/// Covariances of the places of landmarks with those of others, m². Of pairs that are not here nothing is known: they
/// are not independent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NearCovariances {
    /// Where in `others` those of each landmark begin, and where the last ones end.
    begins: Vec<usize>,
    /// The other landmark, by its place in the map, and Cov(own, other); in the order of the others.
    others: Vec<(u32, Matrix2<f64>)>,
}

impl NearCovariances {
    /// Of a map of so many landmarks. A pair is two places in the map, and the covariance of the first with the second;
    /// of a pair that comes again the first one counts. Pairs of what is not in the map, and of a landmark with itself,
    /// are left out.
    pub fn new(landmarks: usize, pairs: impl IntoIterator<Item = (u32, u32, Matrix2<f64>)>) -> Self {
        let is_pair = |(a, b): (u32, u32)| a != b && (a.max(b) as usize) < landmarks;
        let mut both = Vec::new();
        for (a, b, covariance) in pairs.into_iter().filter(|(a, b, _)| is_pair((*a, *b))) {
            both.push((a, b, covariance));
            both.push((b, a, covariance.transpose()));
        }
        both.sort_by_key(|(a, b, _)| (*a, *b));
        both.dedup_by_key(|(a, b, _)| (*a, *b));
        let mut begins = Vec::with_capacity(landmarks + 1);
        let mut at = 0;
        for k in 0..=landmarks {
            at += both[at..].partition_point(|(a, _, _)| (*a as usize) < k);
            begins.push(at);
        }
        Self { begins, others: both.into_iter().map(|(_, b, covariance)| (b, covariance)).collect() }
    }

    /// How many landmarks the map has.
    pub fn len(&self) -> usize {
        self.begins.len().saturating_sub(1)
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The landmarks whose covariance with landmark `k` is known, by their place in the map, with Cov(k, other).
    pub fn around(&self, k: usize) -> &[(u32, Matrix2<f64>)] {
        let range = self.begins.get(k).zip(self.begins.get(k + 1)).map_or(0..0, |(begin, end)| *begin..*end);
        &self.others[range]
    }

    /// Cov(k, other), if it is known.
    pub fn of(&self, k: usize, other: usize) -> Option<&Matrix2<f64>> {
        let around = self.around(k);
        let at = around.binary_search_by_key(&other, |(other, _)| *other as usize).ok()?;
        Some(&around[at].1)
    }

    /// Whether all numbers are finite.
    pub fn is_finite(&self) -> bool {
        self.others.iter().all(|(_, covariance)| covariance.iter().all(|number| number.is_finite()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_found_from_both_sides() {
        let block = |x: f64| Matrix2::new(x, 1.0, 2.0, 3.0);
        let pairs =
            [(0, 2, block(5.0)), (3, 1, block(6.0)), (2, 0, block(7.0)), (1, 1, block(8.0)), (0, 4, block(9.0))];
        let near = NearCovariances::new(4, pairs);
        assert_eq!((near.len(), near.is_empty(), near.is_finite()), (4, false, true));
        assert_eq!(near.of(0, 2), Some(&block(5.0)));
        assert_eq!(near.of(2, 0), Some(&block(5.0).transpose()));
        assert_eq!(near.of(1, 3), Some(&block(6.0).transpose()));
        assert_eq!((near.of(0, 1), near.of(1, 1), near.of(0, 4), near.of(9, 0)), (None, None, None, None));
        let counts: Vec<usize> = (0..6).map(|k| near.around(k).len()).collect();
        assert_eq!(counts, [1, 1, 1, 1, 0, 0]);
        assert!(NearCovariances::default().is_empty() && NearCovariances::default().around(0).is_empty());
    }
}
