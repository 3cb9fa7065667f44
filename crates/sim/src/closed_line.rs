//! Closed lines through points of the plane: ways of robots that come back.

use nalgebra::Vector2;

/// A closed line by points at equal distances, about `spacing_m`.
pub(super) fn evenly(line: &[Vector2<f64>], spacing_m: f64) -> Vec<Vector2<f64>> {
    let next = |k: usize| line[(k + 1) % line.len()];
    let length: f64 = (0..line.len()).map(|k| (next(k) - line[k]).norm()).sum();
    let count = ((length / spacing_m).round() as usize).max(3);
    let spacing_m = length / count as f64;
    let mut points = Vec::with_capacity(count);
    let (mut k, mut before) = (0, 0.0);
    for point in 0..count {
        let at = point as f64 * spacing_m;
        while k + 1 < line.len() && before + (next(k) - line[k]).norm() <= at {
            before += (next(k) - line[k]).norm();
            k += 1;
        }
        let way = next(k) - line[k];
        points.push(line[k] + way * ((at - before) / way.norm().max(f64::MIN_POSITIVE)).min(1.0));
    }
    points
}

/// The mean of every point of a closed line and `reach` points on either side.
pub(super) fn smoothed(line: &[Vector2<f64>], reach: usize) -> Vec<Vector2<f64>> {
    let n = line.len();
    let width = (2 * reach + 1) as f64;
    (0..n)
        .map(|k| (0..=2 * reach).map(|j| line[(k + n * (1 + reach) + j - reach) % n]).sum::<Vector2<f64>>() / width)
        .collect()
}

/// To the millimetre, so that files are short.
pub(super) fn millimetres(x: f64) -> f64 {
    (1e3 * x).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_lie_at_equal_distances_on_the_line_and_corners_are_rounded() {
        let square = [(0.0, 0.0), (9.0, 0.0), (9.0, 9.0), (0.0, 9.0)].map(|(x, y)| Vector2::new(x, y));
        let points = evenly(&square, 2.9);
        assert_eq!(points.len(), 12);
        let is_on_the_square = |p: &Vector2<f64>| (p.x * (p.x - 9.0)).abs().min((p.y * (p.y - 9.0)).abs()) < 1e-9;
        assert!(points.iter().all(is_on_the_square));
        assert!((points[1] - Vector2::new(3.0, 0.0)).norm() < 1e-12);
        let round = smoothed(&points, 1);
        assert!((round[3] - Vector2::new(8.0, 1.0)).norm() < 1e-12, "{}", round[3]);
        assert!((round[1] - points[1]).norm() < 1e-12);
    }
}
