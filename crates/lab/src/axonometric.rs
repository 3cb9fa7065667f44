//! Curves in space, as figures of a plane: seen from afar, at an angle.

use super::figures::{line, plane};
use lienav_eval::plot::{Figure, Line};
use nalgebra::Vector3;

/// The direction from which one looks: 35° from the first axis to the second, 25° above their plane.
const AZIMUTH: f64 = 35.0;
const ELEVATION: f64 = 25.0;

/// Where a point of space is seen: to the right and up.
pub(super) fn seen(point: &Vector3<f64>) -> (f64, f64) {
    let ((sin_a, cos_a), (sin_e, cos_e)) = (AZIMUTH.to_radians().sin_cos(), ELEVATION.to_radians().sin_cos());
    let right = point.y * cos_a - point.x * sin_a;
    let away = point.x * cos_a + point.y * sin_a;
    (right, point.z * cos_e - away * sin_e)
}

/// A figure of lines that are projected already, with the three axes from the origin as far as `length`.
pub(super) fn figure(file: &str, title: &str, length: f64, lines: Vec<Line>) -> Figure {
    let axes = [("first", Vector3::x()), ("second", Vector3::y()), ("third", Vector3::z())];
    let axes = axes.map(|(name, axis)| Line { is_guide: true, ..line(name, vec![(0.0, 0.0), seen(&(axis * length))]) });
    plane(file, title, ("seen to the right", "seen upward"), lines.into_iter().chain(axes).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sphere_is_seen_as_a_disc() {
        let of = |v: Vector3<f64>| seen(&v);
        let (x, y, z) = (of(Vector3::x()), of(Vector3::y()), of(Vector3::z()));
        // Rows of an orthogonal projection.
        assert!((x.0 * x.0 + y.0 * y.0 + z.0 * z.0 - 1.0).abs() < 1e-15);
        assert!((x.1 * x.1 + y.1 * y.1 + z.1 * z.1 - 1.0).abs() < 1e-15);
        assert!((x.0 * x.1 + y.0 * y.1 + z.0 * z.1).abs() < 1e-15);
        assert!(z.1 > 0.0 && y.0 > 0.0 && x.0 < 0.0);
    }
}
