//! From odometry to relative motion with its noise.

use crate::calibration::{Calibration, MotionJacobian};
use crate::config::{MotionConfig, NoiseUnit};
use crate::filter::Discretization;
use crate::input::Odometry;
use lienav_lie::{Se2, rotation, skew, v_matrix};
use nalgebra::{Matrix2, Matrix3, Vector2, Vector3};
use serde::{Deserialize, Serialize};

/// A motion of the base over some interval, seen from its frame at the beginning: translation t and angle a, with the
/// covariance of (δt, δa) where t_true = t + δt, a_true = a + δa.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Increment {
    /// The motion.
    pub motion: Se2,
    /// Covariance of (δt_x, δt_y, δa).
    pub covariance: Matrix3<f64>,
    /// What calibration has to do with it; `None` where nothing is calibrated.
    pub drift: Option<Drift>,
}

/// How errors of calibration make a motion wrong: (δt, δa) = `jacobian`·(δs_v, δs_w, δb_w, δl, δδ, δτ).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Drift {
    /// ∂(t, a)/∂(s_v, s_w, b_w, l, δ, τ).
    pub jacobian: MotionJacobian,
    /// How long the motion took, s: parameters that wander do so meanwhile.
    pub duration: f64,
}

impl Increment {
    /// No motion, no noise.
    #[inline]
    pub fn none() -> Self {
        Self { motion: Se2::identity(), covariance: Matrix3::zeros(), drift: None }
    }

    /// A constant twist (v, w) for `duration` seconds, with `density` the spectral density of its noise, so that noise
    /// grows in proportion to time however an interval is cut.
    ///
    /// Exponential: t = V(a)d, d = vΔt, a = wΔt, δt = Δt V(a) n_v + Δt V'(a)d n_w. Euler (Shen 2019, eq. (5.9)): t =
    /// d, δt = Δt n_v. Both: δa = Δt n_w.
    #[inline]
    pub fn from_twist(
        velocity: &Vector2<f64>,
        yaw_rate: f64,
        duration: f64,
        density: &Matrix3<f64>,
        discretization: Discretization,
    ) -> Self {
        let (motion, g) = twist_motion(velocity, yaw_rate, duration, discretization);
        Self { motion, covariance: g * density * g.transpose() * duration, drift: None }
    }

    /// `self`, then `next`: T = T₁T₂, δt = δt₁ + J R(a₁)t₂ δa₁ + R(a₁) δt₂, δa = δa₁ + δa₂. To first order in the
    /// noise the same as one after the other on the whole state.
    pub fn then(&self, next: &Self) -> Self {
        let lever = skew(&(self.motion.rotation() * next.motion.p));
        let first = Matrix3::new(1.0, 0.0, lever.x, 0.0, 1.0, lever.y, 0.0, 0.0, 1.0);
        let (s, c) = self.motion.theta.sin_cos();
        let second = Matrix3::new(c, -s, 0.0, s, c, 0.0, 0.0, 0.0, 1.0);
        Self {
            motion: self.motion * next.motion,
            covariance: first * self.covariance * first.transpose() + second * next.covariance * second.transpose(),
            drift: match (self.drift, next.drift) {
                (None, None) => None,
                (one, other) => {
                    let (one, other) = (one.unwrap_or_default(), other.unwrap_or_default());
                    let jacobian = first * one.jacobian + second * other.jacobian;
                    Some(Drift { jacobian, duration: one.duration + other.duration })
                }
            },
        }
    }

    /// The motion where calibration is `now`, if it was taken with what calibration was `then`.
    pub fn recalibrated(&self, then: &Calibration, now: &Calibration) -> Self {
        let Some(drift) = &self.drift else { return *self };
        let change = drift.jacobian * now.motion_change(then);
        let motion = Se2 { p: self.motion.p + change.xy(), theta: self.motion.theta + change.z };
        Self { motion, ..*self }
    }

    /// A pose and its covariance, in map coordinates, carried through this motion: p⁺ = p + R(θ)t, θ⁺ = θ + a.
    #[inline]
    pub fn carry(&self, pose: &Se2, covariance: &Matrix3<f64>) -> (Se2, Matrix3<f64>) {
        let (transition, noise) = self.pose_jacobians(pose, &pose.p);
        let moved = transition * covariance * transition.transpose() + noise * self.covariance * noise.transpose();
        (*pose * self.motion, 0.5 * (moved + moved.transpose()))
    }

    /// Transition [[I, J(p⁺ − p₀)], [0, 1]] (Shen 2019, eq. (5.11)) and noise Jacobian blockdiag(R(θ), 1) of a pose.
    /// p₀ is the position the transition is linearized at: the current one, or the first estimate.
    pub fn pose_jacobians(&self, pose: &Se2, linearized_at: &Vector2<f64>) -> (Matrix3<f64>, Matrix3<f64>) {
        let r = pose.rotation();
        let lever = skew(&(pose.p + r * self.motion.p - linearized_at));
        let transition = Matrix3::new(1.0, 0.0, lever.x, 0.0, 1.0, lever.y, 0.0, 0.0, 1.0);
        let noise = Matrix3::new(r[(0, 0)], r[(0, 1)], 0.0, r[(1, 0)], r[(1, 1)], 0.0, 0.0, 0.0, 1.0);
        (transition, noise)
    }
}

/// The motion of a constant twist (v, w), and the matrix g with (δt, δa) = Δt g (δv, δw).
fn twist_motion(
    velocity: &Vector2<f64>,
    yaw_rate: f64,
    duration: f64,
    discretization: Discretization,
) -> (Se2, Matrix3<f64>) {
    let (d, a) = (velocity * duration, yaw_rate * duration);
    let (v, dv_d) = match discretization {
        Discretization::Exponential => (v_matrix(a), v_matrix_derivative(a) * d),
        Discretization::Euler => (Matrix2::identity(), Vector2::zeros()),
    };
    let g = Matrix3::new(v[(0, 0)], v[(0, 1)], dv_d.x, v[(1, 0)], v[(1, 1)], dv_d.y, 0.0, 0.0, 1.0);
    (Se2 { p: v * d, theta: a }, g)
}

/// dV/da: [[c', −s'], [s', c']] with c' = (sin a / a)', s' = ((1 − cos a)/a)'.
pub fn v_matrix_derivative(a: f64) -> Matrix2<f64> {
    let (c, s) = if a.abs() < 1e-2 {
        let a2 = a * a;
        (-a / 3.0 * (1.0 - a2 / 10.0), 0.5 - a2 / 8.0 * (1.0 - a2 / 18.0))
    } else {
        let (sin, cos) = a.sin_cos();
        ((a * cos - sin) / (a * a), (a * sin - (1.0 - cos)) / (a * a))
    };
    Matrix2::new(c, -s, s, c)
}

/// The standard deviation of a heading of which nothing is known, rad. A larger one says no more, and turns the linear
/// correction of the heading by whole turns.
pub const UNKNOWN_HEADING: f64 = std::f64::consts::PI;

/// Spectral density of (n_vx, n_vy, n_w) for a message that stands for `interval` seconds.
///
/// A variance σ² of one sample of duration Δt is the density σ²Δt: cut in pieces, the sample keeps its variance.
pub fn noise_density(odometry: &Odometry, interval: f64, config: &MotionConfig) -> Matrix3<f64> {
    match odometry.covariance {
        Some(covariance) if config.use_message_covariance => covariance * interval,
        _ => {
            let std = Vector3::new(config.velocity_x_std, config.velocity_y_std, config.yaw_rate_std);
            let moving = Vector3::new(
                config.velocity_ratio_std * odometry.velocity.x,
                0.0,
                config.yaw_rate_ratio_std * odometry.yaw_rate,
            );
            let variance = Matrix3::from_diagonal(&(std.component_mul(&std) + moving.component_mul(&moving)));
            match config.noise {
                NoiseUnit::PerSample => variance * interval,
                NoiseUnit::SpectralDensity => variance,
            }
        }
    }
}

/// One message, calibrated, over `duration` of the `interval` seconds it stands for. Beyond `max_step_s` nothing is
/// known: the robot is left where it is, with a noise as large as the motion it may have made.
pub fn increment(
    odometry: &Odometry,
    duration: f64,
    interval: f64,
    config: &MotionConfig,
    discretization: Discretization,
    calibration: &Calibration,
) -> Increment {
    let known = duration.min(config.max_step_s);
    let density = noise_density(odometry, interval.min(config.max_step_s), config);
    let stated = odometry.twist();
    let twist = calibration.twist(&stated);
    let drift = calibration.twist_jacobian(&stated).map(|effect| {
        let (_, g) = twist_motion(&twist.xy(), twist.z, known, discretization);
        Drift { jacobian: g * effect * known, duration }
    });
    let step = Increment::from_twist(&twist.xy(), twist.z, known, &density, discretization);
    let step = Increment { drift, ..step };
    let blind = duration - known;
    if blind <= 0.0 {
        return step;
    }
    let (reach, turn) = (twist.xy().norm() * blind, (twist.z.abs() * blind).min(UNKNOWN_HEADING));
    let mut covariance = density * blind;
    covariance += Matrix3::from_diagonal(&Vector3::new(reach * reach, reach * reach, turn * turn));
    step.then(&Increment { motion: Se2::identity(), covariance, drift: None })
}

/// A time interval with a constant twist.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    /// The twist.
    pub odometry: Odometry,
    /// Its duration, s.
    pub duration: f64,
    /// The interval that the odometry message is valid for, of which this may be a part, s.
    pub interval: f64,
    /// The greatest speed, m/s, and yaw rate, rad/s, of late: a robot of which nothing was heard may have moved so.
    pub fastest: Vector2<f64>,
    /// The twists (v_x, v_y, w) before and from now on, where odometry begins to state another one.
    pub change: Option<[Vector3<f64>; 2]>,
}

impl Segment {
    /// [`increment`] of this segment. Where nothing is known, the robot may also have moved as fast as it has of late.
    pub fn increment(
        &self,
        config: &MotionConfig,
        discretization: Discretization,
        calibration: &Calibration,
    ) -> Increment {
        let step = increment(&self.odometry, self.duration, self.interval, config, discretization, calibration);
        let step = match self.change.and_then(|[before, now]| calibration.delayed(&before, &now)) {
            Some((shift, jacobian)) => {
                let motion = Se2 { p: shift.xy(), theta: shift.z };
                let drift = step.drift.map(|_| Drift { jacobian, duration: 0.0 });
                Increment { motion, covariance: Matrix3::zeros(), drift }.then(&step)
            }
            None => step,
        };
        let blind = self.duration - config.max_step_s;
        if blind <= 0.0 {
            return step;
        }
        let twist = calibration.twist(&self.odometry.twist());
        let more = |fastest: f64, known: f64| (fastest * fastest - known * known).max(0.0);
        let reach = more(self.fastest.x * blind, twist.xy().norm() * blind);
        let turned = |rate: f64| (rate.abs() * blind).min(UNKNOWN_HEADING);
        let turn = more(turned(self.fastest.y), turned(twist.z));
        let covariance = Matrix3::from_diagonal(&Vector3::new(reach, reach, turn));
        step.then(&Increment { motion: Se2::identity(), covariance, drift: None })
    }
}

/// z⁺ = A z − b, the motion of a landmark in the robot frame, with A = [[c, −s], [s, c]]: the rigid R(a)ᵀ(z − t), or
/// Euler's (I − aJ)z − d (Shen 2019, eq. (5.19)), which is not rigid.
#[derive(Clone, Copy, Debug)]
pub struct LandmarkMotion {
    /// A's first column, upper element.
    pub c: f64,
    /// A's first column, lower element.
    pub s: f64,
    b: Vector2<f64>,
    discretization: Discretization,
}

impl LandmarkMotion {
    /// Of a motion of the base.
    pub fn new(motion: &Se2, discretization: Discretization) -> Self {
        match discretization {
            Discretization::Exponential => {
                let (s, c) = (-motion.theta).sin_cos();
                Self { c, s, b: rotation(-motion.theta) * motion.p, discretization }
            }
            Discretization::Euler => Self { c: 1.0, s: -motion.theta, b: motion.p, discretization },
        }
    }

    /// Where a landmark at `z` is after the motion.
    #[inline]
    pub fn apply(&self, z: &Vector2<f64>) -> Vector2<f64> {
        Vector2::new(self.c * z.x - self.s * z.y, self.s * z.x + self.c * z.y) - self.b
    }

    /// ∂z⁺/∂(t, a) as two rows: rigid −[R(a)ᵀ, J z⁺]; Euler −[I, J z].
    pub fn noise_rows(&self, z: &Vector2<f64>, z_next: &Vector2<f64>) -> [[f64; 3]; 2] {
        match self.discretization {
            Discretization::Exponential => [[-self.c, self.s, z_next.y], [-self.s, -self.c, -z_next.x]],
            Discretization::Euler => [[-1.0, 0.0, z.y], [0.0, -1.0, -z.x]],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lienav_base::stamp::Stamp;

    fn twist(v: Vector2<f64>, w: f64) -> Odometry {
        Odometry { stamp: Stamp::default(), velocity: v, yaw_rate: w, covariance: None }
    }

    fn uncalibrated() -> Calibration {
        Calibration::new(&crate::config::CalibrationConfig::default())
    }

    /// ∂(t, a)/∂(v, w) by central differences.
    fn numeric(v: Vector2<f64>, w: f64, dt: f64, how: Discretization) -> Matrix3<f64> {
        let h = 1e-6;
        let zero = Matrix3::zeros();
        Matrix3::from_columns(&[0, 1, 2].map(|k| {
            let at = |sign: f64| {
                let mut x = Vector3::new(v.x, v.y, w);
                x[k] += sign * h;
                let m = Increment::from_twist(&x.xy(), x.z, dt, &zero, how).motion;
                Vector3::new(m.p.x, m.p.y, m.theta)
            };
            (at(1.0) - at(-1.0)) / (2.0 * h)
        }))
    }

    #[test]
    fn noise_of_a_twist_against_finite_differences() {
        for how in [Discretization::Euler, Discretization::Exponential] {
            for (w, dt) in [(0.0, 0.1), (1e-3, 0.1), (0.09, 0.1), (-1.7, 0.5), (3.0, 1.0)] {
                let v = Vector2::new(1.3, -0.4);
                let density = Matrix3::new(0.02, 0.003, 0.0, 0.003, 0.01, 0.001, 0.0, 0.001, 0.05);
                let g = numeric(v, w, dt, how);
                let step = Increment::from_twist(&v, w, dt, &density, how);
                // n = ∫ white noise / Δt has covariance density/Δt.
                let expected = g * (density / dt) * g.transpose();
                assert!((step.covariance - expected).amax() < 1e-9, "{how:?} {w}");
            }
        }
    }

    #[test]
    fn cutting_an_interval_changes_the_noise_only_to_second_order() {
        let config = MotionConfig { use_message_covariance: false, ..MotionConfig::default() };
        let message = twist(Vector2::new(1.0, 0.0), 0.5);
        let whole = increment(&message, 0.1, 0.1, &config, Discretization::Exponential, &uncalibrated());
        let part = increment(&message, 0.05, 0.1, &config, Discretization::Exponential, &uncalibrated());
        let both = part.then(&part);
        assert!((both.motion.p - whole.motion.p).norm() < 1e-15);
        assert!((both.covariance - whole.covariance).amax() < 2e-3 * whole.covariance.amax());
    }

    #[test]
    fn landmarks_move_against_the_base() {
        let motion = Se2::new(0.3, -0.1, 0.7);
        let z = Vector2::new(2.0, 1.0);
        let moved = LandmarkMotion::new(&motion, Discretization::Exponential).apply(&z);
        assert!((moved - motion.transform_back(&z)).norm() < 1e-15);
    }

    #[test]
    fn landmark_noise_against_finite_differences() {
        let (motion, z, h) = (Se2::new(0.3, -0.1, 0.4), Vector2::new(2.0, 1.0), 1e-6);
        for how in [Discretization::Euler, Discretization::Exponential] {
            let at = |k: usize, sign: f64| {
                let mut m = motion;
                match k {
                    0 => m.p.x += sign * h,
                    1 => m.p.y += sign * h,
                    _ => m.theta += sign * h,
                }
                LandmarkMotion::new(&m, how).apply(&z)
            };
            let map = LandmarkMotion::new(&motion, how);
            let rows = map.noise_rows(&z, &map.apply(&z));
            for (k, (x, y)) in rows[0].iter().zip(rows[1]).enumerate() {
                let numeric = (at(k, 1.0) - at(k, -1.0)) / (2.0 * h);
                assert!((numeric - Vector2::new(*x, y)).norm() < 1e-9, "{how:?} {k}");
            }
        }
    }

    #[test]
    fn a_gap_leaves_the_robot_where_it_is_and_says_so_in_the_covariance() {
        let config = MotionConfig { max_step_s: 0.5, use_message_covariance: false, ..MotionConfig::default() };
        let message = twist(Vector2::new(1.0, 0.0), 0.0);
        let step = increment(&message, 10.5, 10.5, &config, Discretization::Exponential, &uncalibrated());
        assert!((step.motion.p - Vector2::new(0.5, 0.0)).norm() < 1e-12);
        assert!(step.covariance[(0, 0)] > 100.0);
    }

    /// A robot that stands before the gap and after it may have driven meanwhile.
    #[test]
    fn in_a_gap_a_robot_may_have_moved_as_fast_as_of_late() {
        let config = MotionConfig { max_step_s: 0.5, use_message_covariance: false, ..MotionConfig::default() };
        let segment = |v: f64, fastest: Vector2<f64>| {
            let odometry = twist(Vector2::new(v, 0.0), 0.0);
            let segment = Segment { odometry, duration: 10.5, interval: 10.5, fastest, change: None };
            segment.increment(&config, Discretization::Exponential, &uncalibrated()).covariance.map_diagonal(f64::sqrt)
        };
        let standing = segment(0.0, Vector2::new(2.0, 0.3));
        assert!((standing - Vector3::new(20.0, 20.0, 3.0)).norm() < 0.5, "{standing}");
        let driving = segment(2.0, Vector2::new(1.0, 0.0));
        assert!((driving - Vector3::new(20.0, 20.0, 0.2)).norm() < 0.7, "{driving}");
    }

    #[test]
    fn compounding_equals_carrying_one_after_the_other() {
        let density = Matrix3::from_diagonal(&Vector3::new(0.02, 0.01, 0.05));
        let one = Increment::from_twist(&Vector2::new(1.0, 0.1), 0.8, 0.2, &density, Discretization::Exponential);
        let two = Increment::from_twist(&Vector2::new(0.7, 0.0), -0.3, 0.1, &density, Discretization::Exponential);
        let (pose, covariance) = (Se2::new(1.0, 2.0, 0.3), Matrix3::identity() * 0.1);
        let (p1, c1) = one.carry(&pose, &covariance);
        let (p2, c2) = two.carry(&p1, &c1);
        let (q, c) = one.then(&two).carry(&pose, &covariance);
        assert!((p2.p - q.p).norm() < 1e-14 && (c2 - c).amax() < 1e-14);
    }
}
