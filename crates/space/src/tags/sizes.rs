//! Whether the edges of tags are as long as stated: the map knows how far tags are apart that are seen together.
//!
//! With edges stated too long by a factor, all distances are too long by it, those between tags as well.

use lienav_inertial::tag::landmark::KnownTag;
use lienav_inertial::tag::sight::Sight;
use lienav_inertial::tag::square::solve;
use std::collections::BTreeMap;

/// So many pairs are remembered.
const MOST: usize = 64;
/// Fewer say nothing.
const LEAST: usize = 24;
/// Tags that are nearer to each other, m, or smaller, px, show the factor badly: corners of 0.3 px on 16 px are 2 to 3 % of
/// the range.
const NEAREST_M: f64 = 0.5;
const SMALLEST_PX: f64 = 16.0;
/// Less than this may be the lens; a white border that was measured as well makes 0.25.
const LEAST_OFF: f64 = 0.05;
/// Half of all pairs agree to this, or else the map is wrong and not a size.
const SPREAD: f64 = 0.05;

/// Ratios of distances between tags in the map to those by their corners.
#[derive(Clone, Debug)]
pub struct Sizes {
    ratios: [f64; MOST],
    count: usize,
}

impl Default for Sizes {
    fn default() -> Self {
        Self { ratios: [1.0; MOST], count: 0 }
    }
}

impl Sizes {
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
        let places = [one, two].map(|sight| known.get(&sight.id).map(|tag| tag.pose.translation));
        let seen = [one, two].map(|sight| solve(sight).map(|both| both.best.pose.translation));
        if let ([Some(a), Some(b)], [Some(c), Some(d)]) = (places, seen) {
            let (stated, seen) = ((a - b).norm(), (c - d).norm());
            if stated > NEAREST_M && seen > 0.1 * NEAREST_M {
                self.ratios[self.count % MOST] = stated / seen;
                self.count += 1;
            }
        }
    }

    /// By which factor edges are longer than stated, where that is clear.
    pub fn factor(&self) -> Option<f64> {
        let count = self.count.min(MOST);
        if count < LEAST {
            return None;
        }
        let middle = |values: &mut [f64]| {
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        };
        let mut ratios = self.ratios;
        let factor = middle(&mut ratios[..count]);
        let mut off = self.ratios.map(|ratio| (ratio / factor - 1.0).abs());
        let spread = middle(&mut off[..count]);
        ((factor - 1.0).abs() > LEAST_OFF && spread < SPREAD).then_some(factor)
    }
}
