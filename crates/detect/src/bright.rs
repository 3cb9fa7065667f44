//! From which intensity on a ray is bright.

use crate::scan::Rays;

/// Rays that the usual intensity is found from.
const SAMPLE: usize = 256;

/// The least intensity of a bright ray, as a function of its range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Threshold {
    /// No ray is bright.
    None,
    /// The same at every range.
    Fixed(f64),
    /// ln I = a + b ln r, for ranges from `from` on; nearer ones as there.
    Line { a: f64, b: f64, from: f64 },
}

impl Threshold {
    /// Whether a ray of this range, m, and intensity is bright.
    pub fn passes(&self, range: f64, intensity: f64) -> bool {
        match *self {
            Self::None => false,
            Self::Fixed(least) => intensity >= least,
            Self::Line { a, b, from } => intensity > 0.0 && intensity.ln() > a + b * range.max(from).ln(),
        }
    }

    /// `contrast` times the usual intensity: a line through the logarithms of intensity and range, in which rays far
    /// from it count little.
    pub fn of_scan(rays: &Rays, contrast: f64, sample: &mut Vec<(f64, f64)>) -> Self {
        sample.clear();
        let stride = rays.rays.len().div_ceil(SAMPLE).max(1);
        let positive = rays.rays.iter().step_by(stride).filter(|ray| ray.intensity > 0.0);
        sample.extend(positive.map(|ray| (ray.range.ln(), ray.intensity.ln())));
        if sample.len() < 5 {
            return Self::None;
        }
        sample.sort_unstable_by(|p, q| p.1.total_cmp(&q.1));
        let (mut a, mut b) = (sample[sample.len() / 2].1, 0.0);
        for _ in 0..6 {
            let (mut w, mut x, mut y, mut xx, mut xy) = (0.0, 0.0, 0.0, 0.0, 0.0);
            for &(u, v) in sample.iter() {
                let weight = 1.0 / (1.0 + ((v - a - b * u) / 0.7).powi(2));
                w += weight;
                x += weight * u;
                y += weight * v;
                xx += weight * u * u;
                xy += weight * u * v;
            }
            let spread = xx - x * x / w;
            // Light falls off with the range at most as its square; compensated sensors show none of it.
            b = if spread > 1e-3 * w { ((xy - x * y / w) / spread).clamp(-2.5, 0.5) } else { 0.0 };
            a = (y - b * x) / w;
        }
        // Near the scanner light does not grow as the line has it, and where no surface is near nothing is known: the
        // line ends at half of the range that a tenth of the rays fall short of.
        sample.sort_unstable_by(|p, q| p.0.total_cmp(&q.0));
        let from = 0.5 * sample[sample.len() / 10].0.exp();
        Self::Line { a: a + contrast.ln(), b, from }
    }
}
