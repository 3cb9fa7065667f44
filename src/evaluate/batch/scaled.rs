//! Odometry whose scales are unknown.
//!
//! Which side the noise is on matters. A command is exact, and the robot does something else: true = scale × command + noise. A reading
//! is of the true motion, and has noise: reading = true/scale + noise. Taken the other way round, the noise of the regressor pulls the
//! scale towards zero, to σ_w²/(σ_w² + σ_n²) of itself with σ_w the size of the velocity and σ_n that of the noise of a sample, which
//! for a slow turn is most of it.

use super::Calibration;
use super::motion::MotionModel;
use crate::filter::{Discretization, Odometry, Segment, v_matrix_derivative};
use crate::lie::{Se2, skew, v_matrix, wrap_angle};
use nalgebra::{Matrix2, Matrix3, Matrix3x2, Vector2, Vector3};

/// The motion that commands lead to.
pub struct Command {
    /// The motion.
    pub motion: Se2,
    /// ∂(t, a)/∂(scale of v, scale of w).
    pub by_scales: Matrix3x2<f64>,
}

impl Command {
    /// One segment after the other.
    pub fn new(segments: &[Segment], calibration: &Calibration, model: &MotionModel) -> Self {
        let nothing = Self { motion: Se2::identity(), by_scales: Matrix3x2::zeros() };
        segments.iter().fold(nothing, |sum, segment| sum.then(&Self::of_one(segment, calibration, model)))
    }

    /// With d = vΔt and a = wΔt scaled: t = V(a)d, ∂t/∂(scale of v) = V(a)vΔt, ∂t/∂(scale of w) = V'(a)d wΔt; Euler's t is d.
    fn of_one(segment: &Segment, calibration: &Calibration, model: &MotionModel) -> Self {
        let Odometry { velocity, yaw_rate, .. } = segment.odometry;
        let (of_v, of_w) = (1.0 + calibration.velocity_scale, 1.0 + calibration.yaw_rate_scale);
        let odometry = Odometry { velocity: of_v * velocity, yaw_rate: of_w * yaw_rate, ..segment.odometry };
        let known = segment.duration.min(model.config.max_step_s);
        let (d, a) = (velocity * known, yaw_rate * known);
        let (by_v, by_w) = match model.discretization {
            Discretization::Exponential => (v_matrix(of_w * a) * d, v_matrix_derivative(of_w * a) * (of_v * d) * a),
            Discretization::Euler => (d, Vector2::zeros()),
        };
        Self {
            motion: model.increment(&Segment { odometry, ..*segment }).motion,
            by_scales: Matrix3x2::new(by_v.x, by_w.x, by_v.y, by_w.y, 0.0, a),
        }
    }

    /// `self`, then `next`: t = t₁ + R(a₁)t₂, a = a₁ + a₂.
    fn then(&self, next: &Self) -> Self {
        let r = self.motion.rotation();
        let lever = skew(&(r * next.motion.p));
        let column = |k: usize| {
            let (first, second) = (self.by_scales.column(k), next.by_scales.column(k));
            let t = first.xy() + lever * first.z + r * second.xy();
            Vector3::new(t.x, t.y, first.z + second.z)
        };
        Self { motion: self.motion * next.motion, by_scales: Matrix3x2::from_columns(&[column(0), column(1)]) }
    }
}

/// The increment that odometry should have read of a motion.
pub struct Reading {
    /// (t, a).
    pub increment: Vector3<f64>,
    /// ∂(t, a)/∂(s, ω).
    pub by_motion: Matrix3<f64>,
    /// ∂(t, a)/∂(scale of v, scale of w).
    pub by_scales: Matrix3x2<f64>,
}

impl Reading {
    /// Of the motion (s, ω), taken for one with a constant twist, (u, ω) with V(ω)u = s: it reads t = V(kω)lu, a = kω, with l and k the
    /// inverse scales of v and w.
    pub fn new(motion: &Se2, calibration: &Calibration, discretization: Discretization) -> Self {
        let (l, k) = (1.0 / (1.0 + calibration.velocity_scale), 1.0 / (1.0 + calibration.yaw_rate_scale));
        let omega = wrap_angle(motion.theta);
        let (v, dv, v_scaled, dv_scaled) = match discretization {
            Discretization::Exponential => {
                (v_matrix(omega), v_matrix_derivative(omega), v_matrix(k * omega), v_matrix_derivative(k * omega))
            }
            Discretization::Euler => (Matrix2::identity(), Matrix2::zeros(), Matrix2::identity(), Matrix2::zeros()),
        };
        // V is singular at full turns only, and ω is less.
        let back = v.try_inverse().unwrap_or_else(Matrix2::identity);
        let (u, by_s) = (back * motion.p, l * v_scaled * back);
        let by_omega = l * k * dv_scaled * u - by_s * dv * u;
        let (t, by_l, by_k) = (l * v_scaled * u, v_scaled * u, l * omega * dv_scaled * u);
        // ∂l/∂(scale) = −l².
        let (of_v, of_w) = (-l * l * by_l, -k * k * by_k);
        Self {
            increment: Vector3::new(t.x, t.y, k * omega),
            by_motion: Matrix3::new(
                by_s[(0, 0)],
                by_s[(0, 1)],
                by_omega.x,
                by_s[(1, 0)],
                by_s[(1, 1)],
                by_omega.y,
                0.0,
                0.0,
                k,
            ),
            by_scales: Matrix3x2::new(of_v.x, of_w.x, of_v.y, of_w.y, 0.0, -k * k * omega),
        }
    }
}
