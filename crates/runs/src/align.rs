//! The rigid motion that best lays one set of points onto another.

use lienav_lie::Se2;
use nalgebra::Vector2;

/// The motion G of SE(2) that minimises Σ ‖bᵢ − G aᵢ‖² over pairs (aᵢ, bᵢ) of points in m: Umeyama 1991, eqs.
/// (40)–(42), without scale, in its closed form for the plane, θ = atan2(Σ aᵢ' × bᵢ', Σ aᵢ' · bᵢ') with ' relative to
/// the centroids.
///
/// `None` without any pair. Where the points determine no heading (one point, or all at one place), the heading is 0.
pub fn rigid(pairs: &[(Vector2<f64>, Vector2<f64>)]) -> Option<Se2> {
    if pairs.is_empty() {
        return None;
    }
    let n = pairs.len() as f64;
    let mean_a = pairs.iter().map(|(a, _)| a).sum::<Vector2<f64>>() / n;
    let mean_b = pairs.iter().map(|(_, b)| b).sum::<Vector2<f64>>() / n;
    let (mut sine, mut cosine) = (0.0, 0.0);
    for (a, b) in pairs {
        let (a, b) = (a - mean_a, b - mean_b);
        sine += a.perp(&b);
        cosine += a.dot(&b);
    }
    let turn = Se2::new(0.0, 0.0, f64::atan2(sine, cosine));
    Some(Se2 { p: mean_b - turn.transform(&mean_a), theta: turn.theta })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    /// As many random cases as a property is tried on.
    const CASES: usize = 256;

    #[test]
    fn a_known_motion_comes_back() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        for case in 0..CASES {
            let mut within = |most: f64| random.random_range(-most..most);
            let motion = Se2::new(within(50.0), within(50.0), within(3.1));
            let points = (0..3 + case % 37).map(|_| Vector2::new(within(30.0), within(30.0)));
            let pairs: Vec<_> = points.map(|p| (p, motion.transform(&p))).collect();
            let found = rigid(&pairs).unwrap();
            for (a, b) in &pairs {
                assert!((found.transform(a) - b).norm() < 1e-9, "case {case}: {motion:?}");
            }
        }
    }

    #[test]
    fn no_motion_near_the_best_one_is_better() {
        let mut random = ChaCha8Rng::seed_from_u64(2);
        for case in 0..CASES {
            let mut within = |most: f64| random.random_range(-most..most);
            let pairs: Vec<_> = (0..4 + case % 16)
                .map(|_| {
                    let from = Vector2::new(within(9.0), within(9.0));
                    (from, from + Vector2::new(within(1.0), within(1.0)))
                })
                .collect();
            let cost = |g: &Se2| pairs.iter().map(|(a, b)| (b - g.transform(a)).norm_squared()).sum::<f64>();
            let best = rigid(&pairs).unwrap();
            let other = Se2::new(best.p.x + within(0.1), best.p.y + within(0.1), best.theta + within(0.1));
            assert!(cost(&best) <= cost(&other) + 1e-9, "case {case}: {pairs:?}");
        }
    }

    #[test]
    fn one_point_is_only_moved() {
        let found = rigid(&[(Vector2::new(1.0, 2.0), Vector2::new(4.0, 6.0))]).unwrap();
        assert_eq!(found, Se2::new(3.0, 4.0, 0.0));
        assert_eq!(rigid(&[]), None);
    }
}
