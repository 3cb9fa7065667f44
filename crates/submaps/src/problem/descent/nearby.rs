//! What landmarks near each other have in common.

use super::{Solution, of_landmark, turns};
use nalgebra::{Matrix2, Vector2};

impl Solution {
    /// The covariances of each landmark with those nearest to it, so many at most, of those that the factor knows: that
    /// were seen from the same submap, or from submaps beside each other. Calls `visit` with the numbers of the two and
    /// the covariance of their places in the map, m².
    pub fn for_each_near_pair(&self, count: usize, mut visit: impl FnMut(usize, usize, Matrix2<f64>)) {
        let turns = turns(&self.homes, &self.bases);
        let number_of = |unknown: usize| (unknown % 2 == 1).then_some(unknown / 2);
        debug_assert_eq!(number_of(of_landmark(7)), Some(7));
        let mut around = Around::default();
        self.factor.for_each_pair(|one, other, covariance| {
            let (Some(one), Some(other)) = (number_of(one), number_of(other)) else { return };
            if around.of != Some(one) {
                around.nearest(count).for_each(|(one, other, covariance)| visit(one, other, covariance));
                around.of = Some(one);
            }
            let apart: Vector2<f64> = self.landmarks[one] - self.landmarks[other];
            let in_map = turns[one] * covariance.fixed_view::<2, 2>(0, 0) * turns[other].transpose();
            around.others.push((apart.norm_squared(), other, in_map));
        });
        around.nearest(count).for_each(|(one, other, covariance)| visit(one, other, covariance));
    }
}

/// What is around one landmark.
#[derive(Default)]
struct Around {
    of: Option<usize>,
    /// The square of the distance, the number, and the covariance with it.
    others: Vec<(f64, usize, Matrix2<f64>)>,
}

impl Around {
    /// The nearest ones; forgets all.
    fn nearest(&mut self, count: usize) -> impl Iterator<Item = (usize, usize, Matrix2<f64>)> + '_ {
        self.others.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        self.others.truncate(count);
        let of = self.of;
        self.others.drain(..).filter_map(move |(_, other, covariance)| Some((of?, other, covariance)))
    }
}
