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
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_known_motion_comes_back(
            x in -50.0..50.0f64, y in -50.0..50.0f64, theta in -3.1..3.1f64,
            points in prop::collection::vec((-30.0..30.0f64, -30.0..30.0f64), 3..40),
        ) {
            let motion = Se2::new(x, y, theta);
            let points = points.iter().map(|&(a, b)| Vector2::new(a, b));
            let pairs: Vec<_> = points.map(|p| (p, motion.transform(&p))).collect();
            let spread = pairs.iter().map(|(a, _)| (a - pairs[0].0).norm()).fold(0.0, f64::max);
            prop_assume!(spread > 1e-3);
            let found = rigid(&pairs).unwrap();
            for (a, b) in &pairs {
                prop_assert!((found.transform(a) - b).norm() < 1e-9);
            }
        }

        #[test]
        fn no_motion_near_the_best_one_is_better(
            noise in prop::collection::vec((-1.0..1.0f64, -1.0..1.0f64, -9.0..9.0f64, -9.0..9.0f64), 4..20),
            dx in -0.1..0.1f64, dy in -0.1..0.1f64, dt in -0.1..0.1f64,
        ) {
            let pairs: Vec<_> = noise
                .iter()
                .map(|&(u, v, x, y)| (Vector2::new(x, y), Vector2::new(x + u, y + v)))
                .collect();
            let cost = |g: &Se2| pairs.iter().map(|(a, b)| (b - g.transform(a)).norm_squared()).sum::<f64>();
            let best = rigid(&pairs).unwrap();
            let other = Se2::new(best.p.x + dx, best.p.y + dy, best.theta + dt);
            prop_assert!(cost(&best) <= cost(&other) + 1e-9);
        }
    }

    #[test]
    fn one_point_is_only_moved() {
        let found = rigid(&[(Vector2::new(1.0, 2.0), Vector2::new(4.0, 6.0))]).unwrap();
        assert_eq!(found, Se2::new(3.0, 4.0, 0.0));
        assert_eq!(rigid(&[]), None);
    }
}
