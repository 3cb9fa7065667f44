//! What two known tags of an image show: whether edges are as long, and corners in the order, that is stated.

use super::order::Order;
use super::sizes::Sizes;
use lienav_tags::landmark::KnownTag;
use lienav_tags::sight::Sight;
use lienav_tags::square::solve;
use nalgebra::Vector3;
use std::collections::BTreeMap;

/// Smaller tags, px, show the range badly: corners of 0.3 px on 16 px are 2 to 3 % of it.
const SMALLEST_PX: f64 = 16.0;

/// What pairs have shown.
#[derive(Clone, Debug, Default)]
pub struct Pairs {
    /// The length of edges.
    pub sizes: Sizes,
    /// The order of corners.
    pub order: Order,
}

impl Pairs {
    /// Takes in the two largest known tags of an image.
    pub fn look(&mut self, sights: &[Sight], known: &BTreeMap<u64, KnownTag>) {
        let edge = |sight: &Sight| (sight.corners[1] - sight.corners[0]).norm();
        let mut pair: [Option<&Sight>; 2] = [None; 2];
        for sight in sights.iter().filter(|sight| known.contains_key(&sight.id) && edge(sight) > SMALLEST_PX) {
            let is_larger = |other: &Option<&Sight>| other.is_none_or(|other| edge(sight) > edge(other));
            if is_larger(&pair[0]) {
                pair = [Some(sight), pair[0]];
            } else if is_larger(&pair[1]) {
                pair[1] = Some(sight);
            }
        }
        let [Some(one), Some(two)] = pair else { return };
        if one.id == two.id {
            return;
        }
        let stated = [one, two].map(|sight| known.get(&sight.id).map(|tag| tag.pose));
        let seen = [one, two].map(|sight| solve(sight).map(|both| both.best.pose));
        let ([Some(a), Some(b)], [Some(c), Some(d)]) = (stated, seen) else { return };
        let apart = (a.translation - b.translation).norm();
        self.sizes.take(apart, (c.translation - d.translation).norm());
        // Where the other one is, in the axes of each.
        let from = |one: &lienav_lie::Se3, other: &lienav_lie::Se3| -> Vector3<f64> {
            one.rotation.rotate_back(&(other.translation - one.translation))
        };
        self.order.take(&from(&a, &b), &from(&c, &d));
        self.order.take(&from(&b, &a), &from(&d, &c));
    }
}
