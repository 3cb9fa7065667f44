//! A car on hills: x along the path, z normal to the ground.

use super::kinematics::Kinematics;
use lienav_lie::{Se3, So3};
use nalgebra::{Matrix2, Matrix3, Vector2, Vector3};

/// Half axes of its ellipse, m, and its rate, rad/s.
const HALF_AXES: (f64, f64) = (12.0, 8.0);
const RATE: f64 = 0.4;
/// The hills: height, m, and wave numbers, 1/m.
const HILLS: [(f64, f64, f64, f64); 2] = [(0.6, 0.30, 0.10, 0.0), (0.4, -0.15, 0.45, 1.0)];

/// Height of the ground, m, its gradient and its second derivatives.
pub fn ground(place: &Vector2<f64>) -> (f64, Vector2<f64>, Matrix2<f64>) {
    let (mut height, mut slope, mut bend) = (0.0, Vector2::zeros(), Matrix2::zeros());
    for (amplitude, x, y, phase) in HILLS {
        let along = Vector2::new(x, y);
        let (sin, cos) = (along.dot(place) + phase).sin_cos();
        height += amplitude * sin;
        slope += along * (amplitude * cos);
        bend -= along * along.transpose() * (amplitude * sin);
    }
    (height, slope, bend)
}

/// Pose and motion at an instant.
pub fn at(t: f64) -> Kinematics {
    let (sin, cos) = (RATE * t).sin_cos();
    let (a, b) = HALF_AXES;
    let p = Vector2::new(a * cos, b * sin);
    let v = Vector2::new(-a * sin, b * cos) * RATE;
    let w = p * (-RATE * RATE);
    let (height, slope, bend) = ground(&p);
    let position = p.push(height);
    let velocity = v.push(slope.dot(&v));
    let acceleration = w.push(slope.dot(&w) + v.dot(&(bend * v)));

    // Axes: ahead along the velocity, up along the normal.
    let (ahead, ahead_rate) = unit(&velocity, &acceleration);
    let bent = bend * v;
    let (up, up_rate) = unit(&Vector3::new(-slope.x, -slope.y, 1.0), &Vector3::new(-bent.x, -bent.y, 0.0));
    let left = up.cross(&ahead);
    let rotation = So3::from_matrix_unchecked(Matrix3::from_columns(&[ahead, left, up]));
    let rate = Vector3::new(-left.dot(&up_rate), ahead.dot(&up_rate), left.dot(&ahead_rate));
    Kinematics { pose: Se3::new(rotation, position), velocity, acceleration, rate }
}

/// A vector as a direction, with its derivative.
fn unit(vector: &Vector3<f64>, rate: &Vector3<f64>) -> (Vector3<f64>, Vector3<f64>) {
    let norm = vector.norm();
    let direction = vector / norm;
    (direction, (rate - direction * direction.dot(rate)) / norm)
}
