//! The Galilei group: increments of rotation, velocity, position and time.
//!
//! As matrices they are [[R, v, p], [0, 1, t], [0, 0, 1]]. A rate ω and a specific force a move an increment by
//! Ẋ = X [[ω^, a, 0], [0, 0, 1], [0, 0, 0]], which is Ṙ = R ω^, v̇ = R a, ṗ = v: the equations of an inertial sensor
//! without gravity. The increments of rotation, velocity and position alone are SE₂(3); with time they are a group
//! with a linear vector field, and one exponential moves all of them.

use crate::imu::Imu;
use lienav_lie::hat;
use nalgebra::{Matrix3, Vector3};
use serde::{Deserialize, Serialize};

/// An increment between two instants, in the axes of the body at the first.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Increment {
    /// ΔR, from the body at the end to the body at the start.
    pub rotation: Matrix3<f64>,
    /// Δv = ∫ΔR a dt, m/s.
    pub velocity: Vector3<f64>,
    /// Δp = ∫Δv dt, m.
    pub position: Vector3<f64>,
    /// T, s.
    pub duration_s: f64,
}

impl Default for Increment {
    fn default() -> Self {
        let zero = Vector3::zeros();
        Self { rotation: Matrix3::identity(), velocity: zero, position: zero, duration_s: 0.0 }
    }
}

impl Increment {
    /// This one, then the other.
    #[inline]
    pub fn then(&self, next: &Self) -> Self {
        Self {
            rotation: self.rotation * next.rotation,
            velocity: self.velocity + self.rotation * next.velocity,
            position: self.position + self.velocity * next.duration_s + self.rotation * next.position,
            duration_s: self.duration_s + next.duration_s,
        }
    }
}

/// An element of the algebra, [[φ^, α, β], [0, 0, h], [0, 0, 0]].
#[derive(Clone, Copy, Debug)]
pub struct Element {
    /// φ, rad.
    pub turn: Vector3<f64>,
    /// α, m/s.
    pub velocity: Vector3<f64>,
    /// β, m.
    pub position: Vector3<f64>,
    /// h, s.
    pub duration_s: f64,
}

/// The exponential of an element, with the matrices that it is made of.
#[derive(Clone, Copy, Debug)]
pub struct Exponential {
    /// exp.
    pub increment: Increment,
    /// J₁ = Σ φ^ᵏ/(k+1)!, the mean of exp(s φ^) for s from 0 to 1.
    pub first: Matrix3<f64>,
    /// J₂ = Σ φ^ᵏ/(k+2)!, the mean of its integral.
    pub second: Matrix3<f64>,
}

/// κ h⁻² of the fourth-order Magnus expansion at Gauss points.
pub const COMMUTATOR: f64 = 0.144_337_567_297_406_43;

impl Element {
    /// The first two terms of the Magnus expansion over a step of h seconds, from the values at its two Gauss points
    /// (½ ∓ √3/6)h: Ω = h/2 (A₁ + A₂) + √3/12 h² [A₁, A₂] for Ẋ = X A, of fourth order (Celledoni et al. 2021,
    /// section 3, where it is Ẋ = A X).
    #[inline]
    pub fn magnus(h: f64, [first, second]: &[Imu; 2]) -> Self {
        let (half, kappa) = (0.5 * h, COMMUTATOR * h * h);
        let turned = first.rate.cross(&second.force) - second.rate.cross(&first.force);
        Self {
            turn: (first.rate + second.rate) * half + first.rate.cross(&second.rate) * kappa,
            velocity: (first.force + second.force) * half + turned * kappa,
            position: (first.force - second.force) * kappa,
            duration_s: h,
        }
    }

    /// (exp φ, J₁α, J₁β + h J₂α, h).
    #[inline]
    pub fn exp(&self) -> Exponential {
        let [sin, one_minus_cos, rest, last] = coefficients(self.turn.norm_squared());
        let turn = hat(&self.turn);
        let square = turn * turn;
        let one = Matrix3::identity();
        let first = one + turn * one_minus_cos + square * rest;
        let second = one * 0.5 + turn * rest + square * last;
        let increment = Increment {
            rotation: one + turn * sin + square * one_minus_cos,
            velocity: first * self.velocity,
            position: first * self.position + second * self.velocity * self.duration_s,
            duration_s: self.duration_s,
        };
        Exponential { increment, first, second }
    }
}

/// Below this θ², in rad², the series are exact to rounding.
const SERIES_BELOW: f64 = 0.25;

/// sin θ/θ, (1 − cos θ)/θ², (θ − sin θ)/θ³, (θ²/2 − 1 + cos θ)/θ⁴, from x = θ².
#[inline]
fn coefficients(x: f64) -> [f64; 4] {
    if x < SERIES_BELOW {
        // Σ (−x)ᵏ/(2k + n)!, n = 1 to 4.
        let series = |[a, b, c, d, e, f]: [f64; 6]| a - x * (b - x * (c - x * (d - x * (e - x * f))));
        return [
            series([1.0, 1.0 / 6.0, 1.0 / 120.0, 1.0 / 5040.0, 1.0 / 362_880.0, 1.0 / 39_916_800.0]),
            series([0.5, 1.0 / 24.0, 1.0 / 720.0, 1.0 / 40_320.0, 1.0 / 3_628_800.0, 1.0 / 479_001_600.0]),
            series([1.0 / 6.0, 1.0 / 120.0, 1.0 / 5040.0, 1.0 / 362_880.0, 1.0 / 39_916_800.0, 1.0 / 6_227_020_800.0]),
            series([
                1.0 / 24.0,
                1.0 / 720.0,
                1.0 / 40_320.0,
                1.0 / 3_628_800.0,
                1.0 / 479_001_600.0,
                1.0 / 87_178_291_200.0,
            ]),
        ];
    }
    let angle = x.sqrt();
    let (sin, half) = (angle.sin(), (0.5 * angle).sin());
    let one_minus_cos = 2.0 * half * half / x;
    [sin / angle, one_minus_cos, (1.0 - sin / angle) / x, (0.5 - one_minus_cos) / x]
}
