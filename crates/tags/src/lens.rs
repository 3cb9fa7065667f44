//! Cameras with the distortion that calibrations state.

use lienav_inertial::measurement::pixel::{NEAREST_M, Pinhole};
use nalgebra::{Matrix2, Matrix2x3, Vector2, Vector3};

/// What bends a ray before it meets the image, by normalized image coordinates (x/z, y/z) with radius r.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Distortion {
    /// Nothing.
    #[default]
    None,
    /// Plumb bob, (k₁, k₂, p₁, p₂, k₃): a radial polynomial 1 + k₁r² + k₂r⁴ + k₃r⁶, and a tangential part.
    PlumbBob([f64; 5]),
    /// Equidistant, of fisheye lenses: with θ = atan r the radius is θ(1 + k₁θ² + k₂θ⁴ + k₃θ⁶ + k₄θ⁸).
    Equidistant([f64; 4]),
}

/// A camera with distortion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lens {
    /// Focal length and centre.
    pub pinhole: Pinhole,
    /// Its distortion.
    pub distortion: Distortion,
}

/// Rays farther from the axis than this, rad, are not imaged.
const WIDEST: f64 = 1.45;

impl Distortion {
    /// The distorted coordinates, and their derivative.
    pub fn bend(&self, at: &Vector2<f64>) -> (Vector2<f64>, Matrix2<f64>) {
        let square = at.norm_squared();
        match self {
            Self::None => (*at, Matrix2::identity()),
            Self::PlumbBob([k1, k2, p1, p2, k3]) => {
                let (x, y) = (at.x, at.y);
                let radial = 1.0 + square * (k1 + square * (k2 + square * k3));
                let slope = k1 + square * (2.0 * k2 + square * 3.0 * k3);
                let bent = Vector2::new(
                    x * radial + 2.0 * p1 * x * y + p2 * (square + 2.0 * x * x),
                    y * radial + p1 * (square + 2.0 * y * y) + 2.0 * p2 * x * y,
                );
                let cross = 2.0 * x * y * slope + 2.0 * p1 * x + 2.0 * p2 * y;
                let derivative = Matrix2::new(
                    radial + 2.0 * x * x * slope + 2.0 * p1 * y + 6.0 * p2 * x,
                    cross,
                    cross,
                    radial + 2.0 * y * y * slope + 6.0 * p1 * y + 2.0 * p2 * x,
                );
                (bent, derivative)
            }
            Self::Equidistant(_) => {
                let radius = square.sqrt();
                let (bent, slope) = self.radius(radius.atan());
                // Near the axis, radius and angle are the same to rounding.
                const NEAR: f64 = 1e-12;
                if square < NEAR {
                    return (*at, Matrix2::identity());
                }
                let scale = bent / radius;
                let outward = (slope / (1.0 + square) - scale) / square;
                (at * scale, Matrix2::identity() * scale + at * at.transpose() * outward)
            }
        }
    }

    /// The radius of an equidistant lens by the angle to its axis, and its derivative.
    fn radius(&self, angle: f64) -> (f64, f64) {
        let Self::Equidistant([k1, k2, k3, k4]) = self else { return (angle, 1.0) };
        let square = angle * angle;
        let value = angle * (1.0 + square * (k1 + square * (k2 + square * (k3 + square * k4))));
        let slope = 1.0 + square * (3.0 * k1 + square * (5.0 * k2 + square * (7.0 * k3 + square * 9.0 * k4)));
        (value, slope)
    }

    /// The undistorted coordinates of these; `None` beyond the fold of a lens, and where the iteration diverges.
    pub fn straighten(&self, bent: &Vector2<f64>) -> Option<Vector2<f64>> {
        const ITERATIONS: usize = 20;
        const CLOSE: f64 = 1e-10;
        match self {
            Self::None => Some(*bent),
            Self::PlumbBob(_) => {
                let mut at = *bent;
                for _ in 0..ITERATIONS {
                    let (found, derivative) = self.bend(&at);
                    let step = derivative.try_inverse()? * (bent - found);
                    at += step;
                    if step.norm() < CLOSE {
                        // Behind the fold of the polynomial, a second solution has a negative determinant.
                        return (derivative.determinant() > 0.0 && at.norm() < WIDEST.tan()).then_some(at);
                    }
                }
                None
            }
            Self::Equidistant(_) => {
                let radius = bent.norm();
                if radius < CLOSE {
                    return Some(*bent);
                }
                let mut angle = radius.min(WIDEST);
                for _ in 0..ITERATIONS {
                    let (found, slope) = self.radius(angle);
                    if slope.is_nan() || slope <= 0.0 {
                        return None;
                    }
                    let step = (radius - found) / slope;
                    angle += step;
                    if step.abs() < CLOSE {
                        return (0.0..WIDEST).contains(&angle).then(|| bent * (angle.tan() / radius));
                    }
                }
                None
            }
        }
    }
}

impl Lens {
    /// Where a point in the axes of the camera is in the image, px, and the derivative; `None` where it is not imaged.
    pub fn project(&self, x: &Vector3<f64>) -> Option<(Vector2<f64>, Matrix2x3<f64>)> {
        let is_before = x.z > NEAREST_M && x.xy().norm() <= WIDEST.tan() * x.z;
        if !is_before {
            return None;
        }
        let at = x.xy() / x.z;
        let (bent, by_at) = self.distortion.bend(&at);
        let by_x = Matrix2x3::new(1.0, 0.0, -at.x, 0.0, 1.0, -at.y) / x.z;
        let focal = Matrix2::from_diagonal(&self.pinhole.focal);
        Some((self.pinhole.focal.component_mul(&bent) + self.pinhole.centre, focal * by_at * by_x))
    }

    /// (x/z, y/z) of a pixel.
    pub fn normalized(&self, pixel: &Vector2<f64>) -> Option<Vector2<f64>> {
        self.distortion.straighten(&self.pinhole.ray(pixel).xy())
    }
}
