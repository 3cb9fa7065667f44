//! What odometry should have read of a motion, where its calibration is unknown.
//!
//! Which side the noise is on matters. A command is exact, and the robot does something else:
//! true = (1 + s) × command + noise. A measurement is of the true motion, and has noise:
//! (1 + s) × (measurement − noise) = true. Taken for a command, the noise of the measurement pulls 1 + s towards zero, to σ_w²/(σ_w² + σ_n²) of itself with σ_w the size of
//! the velocity and σ_n that of the noise of one sample, which for a slow turn is most of it.

use lienav_lie::{Se2, rotation, skew, v_matrix, wrap_angle};
use lienav_slam::{Calibration, CalibrationParameter, Discretization, MOTION, v_matrix_derivative};
use nalgebra::{Matrix2, Matrix3, SMatrix, Vector2, Vector3};

/// The increment that odometry should have read.
pub struct CheckedMeasurement {
    /// (t, a).
    pub increment: Se2,
    /// ∂(t, a)/∂(s, ω).
    pub by_motion: Matrix3<f64>,
    /// ∂(t, a)/∂(s_v, s_w, b_w, l, δ, τ), l the slip in turns, δ the direction of driving; nothing depends on the
    /// dead time τ here.
    pub by_calibration: SMatrix<f64, 3, MOTION>,
}

impl CheckedMeasurement {
    /// Of the motion (s, ω) in `duration` τ, taken for one with a constant twist, (u, ω) with V(ω)u = s: it reads a =
    /// k(ω − b_w τ), t = l V(a)(R(−δ)u ± q|a|e_x), with l = 1/(1 + s_v), k = 1/(1 + s_w), and q what is lost in turns,
    /// forward or backward.
    pub fn new(motion: &Se2, duration: f64, calibration: &Calibration, discretization: Discretization) -> Self {
        let scale = |parameter| 1.0 / (1.0 + calibration.get(parameter));
        let (l, k) = (scale(CalibrationParameter::ScaleV), scale(CalibrationParameter::ScaleW));
        let omega = wrap_angle(motion.theta);
        let unbiased = omega - calibration.get(CalibrationParameter::BiasW) * duration;
        let a = k * unbiased;
        let (v, dv, v_read, dv_read) = match discretization {
            Discretization::Exponential => {
                (v_matrix(omega), v_matrix_derivative(omega), v_matrix(a), v_matrix_derivative(a))
            }
            Discretization::Euler => (Matrix2::identity(), Matrix2::zeros(), Matrix2::identity(), Matrix2::zeros()),
        };
        // V is singular at full turns only, and ω is less.
        let back = v.try_inverse().unwrap_or_else(Matrix2::identity);
        let along = rotation(-calibration.get(CalibrationParameter::DriveYaw));
        let u = along * back * motion.p;
        // What was lost of the way the wheels turned for.
        let lost = Vector2::new(if u.x < 0.0 { -a.abs() } else { a.abs() }, 0.0);
        let slip = calibration.get(CalibrationParameter::TurnSlip);
        let turned = u + slip * lost;
        let lost_by_a = if a == 0.0 { Vector2::zeros() } else { lost / a };
        let (by_s, by_a) = (l * v_read * along * back, l * (dv_read * turned + v_read * lost_by_a * slip));
        let (by_omega, t) = (k * by_a - by_s * dv * back * motion.p, l * v_read * turned);
        let t_by_slip = l * v_read * lost;
        // ∂l/∂s_v = −l², ∂a/∂s_w = −k²(ω − b_w τ), ∂a/∂b_w = −kτ.
        let (a_by_scale, a_by_bias) = (-k * k * unbiased, -k * duration);
        let (t_by_scale_v, t_by_scale_w, t_by_bias) = (-l * t, by_a * a_by_scale, by_a * a_by_bias);
        let with = |t: Vector2<f64>, a: f64| Vector3::new(t.x, t.y, a);
        Self {
            increment: Se2 { p: t, theta: a },
            by_motion: Matrix3::from_columns(&[
                with(by_s.column(0).into_owned(), 0.0),
                with(by_s.column(1).into_owned(), 0.0),
                with(by_omega, k),
            ]),
            by_calibration: SMatrix::from_columns(&[
                with(t_by_scale_v, 0.0),
                with(t_by_scale_w, a_by_scale),
                with(t_by_bias, a_by_bias),
                with(t_by_slip, 0.0),
                with(-l * v_read * skew(&u), 0.0),
                Vector3::zeros(),
            ]),
        }
    }
}
