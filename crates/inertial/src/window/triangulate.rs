//! Triangulation: where the views of a track meet, and how certain the range is.
//!
//! In the camera of the newest view a point is (α, β, 1)/ρ. With (a_i, b_i) the direction and the place of that camera in
//! view i, the point is seen along a_i(α, β) + ρ b_i, which has no pole at infinity: far points are as linear as near
//! ones. The start is linear in ρ, with the direction of the newest view; Gauss–Newton with Huber's weights follows, so
//! that pixels of another point count little.

use crate::sight::Sight;
use crate::window::track::MOST_VIEWS;
use nalgebra::{Matrix2x3, Matrix3, Vector2, Vector3};

/// A point without a range is so far away, m: a metre of motion moves it by 1/75 pixel of a focal length of 400.
pub const FAR_M: f64 = 3e4;

/// A point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Triangulated {
    /// m, in the world.
    pub place: Vector3<f64>,
    /// Standard deviation of the inverse range as a part of it, from the noise of the pixels alone.
    pub sigma: f64,
    /// The newest camera, m, in the world.
    pub sensor: Vector3<f64>,
}

/// A view, from the newest camera.
#[derive(Clone, Copy)]
struct Relative {
    /// Turns directions of the newest camera into this one.
    turn: Matrix3<f64>,
    /// The place of the newest camera, m.
    shift: Vector3<f64>,
    pixel: Vector2<f64>,
    weight: Vector2<f64>,
}

impl Relative {
    /// Whitened residual at (α, β, ρ), and the derivative of what is expected; `None` behind the camera.
    fn see(&self, x: &Vector3<f64>) -> Option<(Vector2<f64>, Matrix2x3<f64>)> {
        /// Cosine to the optical axis, or nearly so, beyond which nothing is seen.
        const LEAST: f64 = 1e-3;
        let w = self.turn * Vector3::new(x.x, x.y, 1.0) + self.shift * x.z;
        if w.z.is_nan() || w.z < LEAST {
            return None;
        }
        let expected = w.xy() / w.z;
        let by_w = Matrix2x3::new(1.0, 0.0, -expected.x, 0.0, 1.0, -expected.y) / w.z;
        let by_x = Matrix3::from_columns(&[self.turn.column(0).into(), self.turn.column(1).into(), self.shift]);
        let white = nalgebra::Matrix2::from_diagonal(&self.weight);
        Some((white * (self.pixel - expected), white * by_w * by_x))
    }
}

/// The views of a point as the newest camera has them.
struct Views {
    relative: [Relative; MOST_VIEWS],
    count: usize,
    /// How the newest camera is turned, and where it is.
    own: Matrix3<f64>,
    sensor: Vector3<f64>,
}

fn from_newest(sights: &[Sight]) -> Option<Views> {
    let newest = sights.last()?;
    let camera = |sight: &Sight| {
        let rotation = sight.rotation * sight.view.camera.rotation.matrix();
        (rotation, sight.position + sight.rotation * sight.view.camera.translation)
    };
    let (own, sensor) = camera(newest);
    let none = Relative {
        turn: Matrix3::identity(),
        shift: Vector3::zeros(),
        pixel: Vector2::zeros(),
        weight: Vector2::zeros(),
    };
    let mut relative = [none; MOST_VIEWS];
    let count = sights.len().min(MOST_VIEWS);
    for (slot, sight) in relative.iter_mut().zip(sights) {
        let (rotation, centre) = camera(sight);
        let back = rotation.transpose();
        let weight = sight.view.sigma.map(|sigma| 1.0 / sigma);
        *slot = Relative { turn: back * own, shift: back * (sensor - centre), pixel: sight.view.normalized, weight };
    }
    Some(Views { relative, count, own, sensor })
}

/// Where the views of a point meet; `None` where they do not, or the point is at no finite range.
pub fn triangulate(sights: &[Sight]) -> Option<Triangulated> {
    const ITERATIONS: usize = 8;
    /// A step of less than this in normalized coordinates is no part of a pixel.
    const CONVERGED: f64 = 1e-6;
    let Views { relative, count, own, sensor } = from_newest(sights)?;
    let newest = sights.last()?;
    let relative = &relative[..count];
    let mut x = newest.view.normalized.push(linear_start(relative, &newest.view.normalized)?);
    let mut information = Matrix3::zeros();
    for _ in 0..ITERATIONS {
        let vector;
        (information, vector) = normal_equations(relative, &x)?;
        let step = information.cholesky()?.solve(&vector);
        x += step;
        if step.norm() < CONVERGED {
            break;
        }
    }
    let variance = information.try_inverse()?[(2, 2)];
    let is_finite = x.iter().all(|x| x.is_finite()) && x.z > 0.0 && variance > 0.0;
    is_finite.then(|| Triangulated {
        place: sensor + own * Vector3::new(x.x, x.y, 1.0) / x.z,
        sigma: variance.sqrt() / x.z,
        sensor,
    })
}

/// A point in the direction in which the newest camera has it by all views, [`FAR_M`] away; `None` where they do not agree
/// on one.
pub fn far(sights: &[Sight]) -> Option<Vector3<f64>> {
    const ITERATIONS: usize = 3;
    let Views { relative, count, own, sensor } = from_newest(sights)?;
    let mut x = sights.last()?.view.normalized.push(0.0);
    for _ in 0..ITERATIONS {
        let (information, vector) = normal_equations(&relative[..count], &x)?;
        let step = information.fixed_view::<2, 2>(0, 0).into_owned().cholesky()?.solve(&vector.xy());
        x += step.push(0.0);
    }
    x.iter().all(|x| x.is_finite()).then(|| sensor + own * Vector3::new(x.x, x.y, 1.0) * FAR_M)
}

/// ρ by least squares: (x_i × (a_i + ρ b_i)) = 0 in its first two rows.
fn linear_start(relative: &[Relative], direction: &Vector2<f64>) -> Option<f64> {
    let (mut square, mut sum) = (0.0, 0.0);
    for one in relative {
        let (a, b) = (one.turn * direction.push(1.0), one.shift);
        let factor = (one.pixel * b.z - b.xy()).component_mul(&one.weight);
        let value = (a.xy() - one.pixel * a.z).component_mul(&one.weight);
        square += factor.norm_squared();
        sum += factor.dot(&value);
    }
    // No range is nearer than infinity.
    (square > 0.0).then(|| (sum / square).max(0.0))
}

/// Σ w HᵀH and Σ w Hᵀr with Huber's weights.
fn normal_equations(relative: &[Relative], x: &Vector3<f64>) -> Option<(Matrix3<f64>, Vector3<f64>)> {
    /// Residuals beyond this many standard deviations count by their size, not by their square.
    const HUBER: f64 = 2.0;
    let (mut information, mut vector) = (Matrix3::zeros(), Vector3::zeros());
    for one in relative {
        let (residual, h) = one.see(x)?;
        let weight = (HUBER / residual.norm()).min(1.0);
        information += h.transpose() * h * weight;
        vector += h.transpose() * residual * weight;
    }
    Some((information, vector))
}
