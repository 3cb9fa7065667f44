//! Whether the edges of tags are as long as stated: the map knows how far tags are apart that are seen together.
//!
//! With edges stated too long by a factor, all distances are too long by it, those between tags as well.

/// So many pairs are remembered.
const MOST: usize = 64;
/// Fewer say nothing.
const LEAST: usize = 24;
/// Tags that are nearer to each other, m, show the factor badly.
const NEAREST_M: f64 = 0.5;
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
    /// Takes in how far two tags are apart, m, as stated and as seen.
    pub fn take(&mut self, stated_m: f64, seen_m: f64) {
        if stated_m > NEAREST_M && seen_m > 0.1 * NEAREST_M {
            self.ratios[self.count % MOST] = stated_m / seen_m;
            self.count += 1;
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
