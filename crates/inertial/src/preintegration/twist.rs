//! What a gyroscope and a velocity in the axes of the body say of an interval, over which both are held: an increment of
//! SE(3), for bodies without an accelerometer.
//!
//! The state has no velocity then, and no gravity: v = 0 with covariance zero, g = 0, so that R⁺ = R ΔR and
//! p⁺ = p + R Δp. All rotations are unobservable, not only those about the vertical.

use super::Preintegrated;
use super::galilei::Increment;
use crate::imu::Biases;
use lienav_lie::se3::join;
use lienav_lie::{LieGroup, Se3};
use nalgebra::{Matrix6, SMatrix, Vector3, Vector6};

/// Rate and velocity of a body in its own axes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Twist {
    /// ω_m = ω + b_g + n, rad/s.
    pub rate: Vector3<f64>,
    /// Velocity, m/s.
    pub velocity: Vector3<f64>,
    /// Variances of n by axis, (rad/s)²: of one value, which is held.
    pub rate_variance: Vector3<f64>,
    /// Variances of the velocity by axis, (m/s)².
    pub velocity_variance: Vector3<f64>,
}

/// The increment of `duration_s` seconds with this twist. With ξ = T (ω, v), Υ_true = exp(ξ + δ) = Exp(J(ξ) δ) Υ̂.
pub fn held(twist: &Twist, biases: &Biases, duration_s: f64) -> Preintegrated {
    let rate = twist.rate - biases.gyro;
    let xi = join(&(rate * duration_s), &(twist.velocity * duration_s));
    let moved = Se3::exp(&xi);
    // J(ξ) T, column by column.
    let columns = std::array::from_fn::<_, 6, _>(|k| {
        let axis = Vector6::from_fn(|i, _| if i == k { duration_s } else { 0.0 });
        Se3::dexp(&xi, &axis)
    });
    let by_twist = Matrix6::from_columns(&columns);
    let variances = Matrix6::from_diagonal(&join(&twist.rate_variance, &twist.velocity_variance));
    let own = by_twist * variances * by_twist.transpose();
    let (mut jacobian, mut covariance) = (SMatrix::<f64, 9, 6>::zeros(), SMatrix::<f64, 15, 15>::zeros());
    // Rows of rotation and position in (ζ_R, ζ_v, ζ_p).
    const PARTS: [usize; 2] = [0, 6];
    for (a, row) in PARTS.into_iter().enumerate() {
        jacobian.fixed_view_mut::<3, 3>(row, 0).copy_from(&-by_twist.fixed_view::<3, 3>(3 * a, 0));
        for (b, column) in PARTS.into_iter().enumerate() {
            covariance.fixed_view_mut::<3, 3>(row, column).copy_from(&own.fixed_view::<3, 3>(3 * a, 3 * b));
        }
    }
    let increment = Increment {
        rotation: *moved.rotation.matrix(),
        velocity: Vector3::zeros(),
        position: moved.translation,
        duration_s,
    };
    Preintegrated { increment, biases: *biases, end_rate: rate, jacobian, covariance }
}
