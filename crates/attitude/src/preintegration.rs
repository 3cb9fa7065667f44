//! Preintegration of the samples between two corrections: the integrals that the propagation of the covariance needs.

use nalgebra::{Matrix3, Vector3};
use serde::{Deserialize, Serialize};

/// Integrals over the samples that have moved R̂ and v̂ since the covariance was propagated last.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Preintegration {
    /// T, s.
    pub duration: f64,
    /// A = ∫R̂ dt, s.
    pub rotation: Matrix3<f64>,
    /// B = ∫A dt, s².
    pub rotation_integral: Matrix3<f64>,
    /// ∫f dt, f the acceleration in the world frame, m/s.
    pub velocity_change: Vector3<f64>,
    /// ∫ω dt, rad.
    pub turn: Vector3<f64>,
    /// ∫|ω|² dt, rad²/s.
    pub rate_squared: f64,
    /// ∫|f|² dt, m²/s³.
    pub force_squared: f64,
}

impl Preintegration {
    /// Adds a step with mean rotation R̂, rate ω and acceleration f.
    #[inline]
    pub fn add(&mut self, step: f64, rotation: &Matrix3<f64>, rate: &Vector3<f64>, acceleration: &Vector3<f64>) {
        let added = rotation * step;
        self.rotation_integral += self.rotation * step + added * (0.5 * step);
        self.rotation += added;
        self.duration += step;
        self.velocity_change += acceleration * step;
        self.turn += rate * step;
        self.rate_squared += rate.norm_squared() * step;
        self.force_squared += acceleration.norm_squared() * step;
    }
}
