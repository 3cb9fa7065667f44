//! Roll and pitch of the robot, and their effect on its measurements: the filter is planar, but the ground may not be.
//!
//! The orientation is R = R_z(ψ) R_y(θ) R_x(φ). The filter estimates the heading ψ; an inertial sensor gives pitch θ
//! and roll φ. With them, the angular velocity of the body becomes the rate of the heading, and a vector in the x-y
//! plane of the base becomes its horizontal part: (x, y) ↦ L (x, y), L = [[cos θ, sin θ sin φ], [0, cos φ]], the upper
//! left of R_y(θ) R_x(φ).

use nalgebra::{Matrix2, UnitQuaternion, Vector2, Vector3};
use serde::{Deserialize, Serialize};

/// Where the cosine of the pitch is smaller, the x axis is almost vertical and the heading is undefined.
const LEAST_COS_PITCH: f64 = 0.1;
/// Roll and pitch of the base (REP 103: positive roll leans right, positive pitch leans forward).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tilt {
    /// φ, rad.
    pub roll: f64,
    /// θ, rad.
    pub pitch: f64,
}

impl Tilt {
    /// From an orientation, body to world. `None` where the x axis is so close to the vertical that the heading is
    /// undefined.
    pub fn of(orientation: &UnitQuaternion<f64>) -> Option<Self> {
        let (roll, pitch, _) = orientation.euler_angles();
        (pitch.cos() >= LEAST_COS_PITCH).then_some(Self { roll, pitch })
    }

    /// The rate of the heading, ψ̇ = (w_y sin φ + w_z cos φ)/cos θ, rad/s, of a body with angular velocity w in its own
    /// frame.
    pub fn heading_rate(&self, w: &Vector3<f64>) -> f64 {
        let (sin, cos) = self.roll.sin_cos();
        (w.y * sin + w.z * cos) / self.pitch.cos()
    }

    /// The matrix L that makes a vector in the plane of the base horizontal.
    pub fn levelling(&self) -> Matrix2<f64> {
        let ((sin_roll, cos_roll), (sin_pitch, cos_pitch)) = (self.roll.sin_cos(), self.pitch.sin_cos());
        Matrix2::new(cos_pitch, sin_pitch * sin_roll, 0.0, cos_roll)
    }

    /// By how much a point above the plane of the base is farther ahead and to the left, seen from above, per metre of
    /// its height: the last column of R_y(θ) R_x(φ), (sin θ cos φ, −sin φ).
    pub fn shift_per_height(&self) -> Vector2<f64> {
        Vector2::new(self.pitch.sin() * self.roll.cos(), -self.roll.sin())
    }

    /// Whether both angles are finite.
    pub fn is_finite(&self) -> bool {
        self.roll.is_finite() && self.pitch.is_finite()
    }
}
