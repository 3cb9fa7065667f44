//! The residual of odometry between two poses.

use super::Calibration;
use super::normal::{Row, WIDTH};
use super::scaled::{Command, Reading};
use crate::filter::{Discretization, Increment, MotionConfig, Segment, TwistHold, increment};
use crate::lie::{Se2, skew, wrap_angle};
use nalgebra::{Matrix3, Matrix3x2, SMatrix, Vector3};

/// The least standard deviation of an increment, m and rad. Odometry without sideways noise has a singular covariance; this
/// is less than any sensor can tell, and keeps it invertible.
const LEAST_STD: f64 = 1e-5;

/// How odometry becomes motion.
#[derive(Clone, Debug)]
pub struct MotionModel {
    /// Noise and limits.
    pub config: MotionConfig,
    /// Exponential or Euler.
    pub discretization: Discretization,
}

/// Odometry between two poses that are estimated.
#[derive(Clone, Debug)]
pub struct Motion {
    segments: Vec<Segment>,
    /// As measured.
    measured: Increment,
    /// L⁻¹, with LLᵀ the covariance of the increment.
    whitening: Matrix3<f64>,
}

impl Motion {
    /// From the odometry between the poses, as the filter takes it.
    pub fn new(segments: &[Segment], model: &MotionModel) -> Self {
        let measured = segments.iter().fold(Increment::none(), |sum, segment| sum.then(&model.increment(segment)));
        Self { segments: segments.to_vec(), whitening: whitening(&measured.covariance), measured }
    }

    /// The whitened residual: (s, ω) = (R_aᵀ(p_b − p_a), θ_b − θ_a) less (t, a), with the calibration on the side it belongs to.
    pub fn residual(&self, a: &Se2, b: &Se2, calibration: Option<&Calibration>, model: &MotionModel) -> Vector3<f64> {
        let motion = relative(a, b);
        let residual = match calibration {
            None => difference(&motion, &self.measured.motion),
            Some(calibration) if model.commanded() => {
                difference(&motion, &Command::new(&self.segments, calibration, model).motion)
            }
            Some(calibration) => {
                let t = Reading::new(&motion, calibration, model.discretization).increment;
                difference(&Se2::new(t.x, t.y, t.z), &self.measured.motion)
            }
        };
        self.whitening * residual
    }

    /// The same, linearized for X ← X Exp(ξ), ξ = (u, ω): δs = −u_a − Js ω_a + R_aᵀR_b u_b. Columns: ξ_a, ξ_b, calibration.
    pub fn linearize(&self, a: &Se2, b: &Se2, calibration: Option<&Calibration>, model: &MotionModel) -> Row<3> {
        let motion = relative(a, b);
        let (turned, (s, c)) = (skew(&motion.p), motion.theta.sin_cos());
        let of_a = Matrix3::new(-1.0, 0.0, -turned.x, 0.0, -1.0, -turned.y, 0.0, 0.0, -1.0);
        let of_b = Matrix3::new(c, -s, 0.0, s, c, 0.0, 0.0, 0.0, 1.0);
        let (by_motion, by_scales) = match calibration {
            None => (Matrix3::identity(), Matrix3x2::zeros()),
            Some(calibration) if model.commanded() => {
                (Matrix3::identity(), -Command::new(&self.segments, calibration, model).by_scales)
            }
            Some(calibration) => {
                let reading = Reading::new(&motion, calibration, model.discretization);
                (reading.by_motion, reading.by_scales)
            }
        };
        let mut jacobian = SMatrix::<f64, 3, WIDTH>::zeros();
        jacobian.fixed_view_mut::<3, 3>(0, 0).copy_from(&(by_motion * of_a));
        jacobian.fixed_view_mut::<3, 3>(0, 3).copy_from(&(by_motion * of_b));
        jacobian.fixed_view_mut::<3, 2>(0, 6).copy_from(&by_scales);
        Row { residual: self.residual(a, b, calibration, model), jacobian: self.whitening * jacobian }
    }
}

/// X_a⁻¹X_b.
fn relative(a: &Se2, b: &Se2) -> Se2 {
    Se2 { p: a.transform_back(&b.p), theta: b.theta - a.theta }
}

fn difference(motion: &Se2, odometry: &Se2) -> Vector3<f64> {
    let shift = motion.p - odometry.p;
    Vector3::new(shift.x, shift.y, wrap_angle(motion.theta - odometry.theta))
}

impl MotionModel {
    /// What the filter makes of a segment.
    pub fn increment(&self, segment: &Segment) -> Increment {
        increment(&segment.odometry, segment.duration, segment.interval, &self.config, self.discretization)
    }

    /// Whether odometry says what the robot was told, and not what it was seen to do.
    fn commanded(&self) -> bool {
        self.config.hold == TwistHold::After
    }
}

/// L⁻¹ with LLᵀ the covariance, variances no less than [`LEAST_STD`]².
pub fn whitening(covariance: &Matrix3<f64>) -> Matrix3<f64> {
    let floor = Matrix3::from_diagonal_element(LEAST_STD * LEAST_STD);
    // What the filter takes for a covariance is positive semidefinite, so the sum has a factor.
    let factor = (covariance + floor).cholesky().map(|factor| factor.l());
    factor.and_then(|l| l.solve_lower_triangular(&Matrix3::identity())).unwrap_or_else(Matrix3::zeros)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::Odometry;
    use crate::stamp::Stamp;
    use nalgebra::{Vector2, Vector4};

    fn segment(v: Vector2<f64>, w: f64, duration: f64) -> Segment {
        let odometry = Odometry { stamp: Stamp::default(), velocity: v, yaw_rate: w, covariance: None };
        Segment { odometry, duration, interval: duration }
    }

    #[test]
    fn jacobians_against_finite_differences() {
        let segments = [
            segment(Vector2::new(1.0, 0.2), 0.7, 0.3),
            segment(Vector2::new(0.5, -0.1), -1.2, 0.2),
            segment(Vector2::new(1.0, 0.0), 0.0, 0.1),
            // Longer than the filter believes a message.
            segment(Vector2::new(1.0, 0.0), 0.4, 0.7),
        ];
        let (a, b) = (Se2::new(3.0, -2.0, 0.4), Se2::new(3.7, -1.5, 0.5));
        let calibration = Vector4::new(0.05, -0.08, 0.1, 0.2);
        let cases = [TwistHold::Before, TwistHold::After]
            .map(|hold| [Discretization::Exponential, Discretization::Euler].map(|how| (hold, how)));
        for (hold, discretization) in cases.into_iter().flatten() {
            let model = MotionModel { config: MotionConfig { hold, ..MotionConfig::default() }, discretization };
            let motion = Motion::new(&segments, &model);
            let at = |delta: &SMatrix<f64, WIDTH, 1>| {
                let moved = |x: &Se2, k: usize| *x * Se2::exp(&delta.fixed_rows::<3>(k).into_owned());
                let calibration = Calibration::from_vector(&(calibration + delta.fixed_rows::<4>(6)));
                motion.residual(&moved(&a, 0), &moved(&b, 3), Some(&calibration), &model)
            };
            let row = motion.linearize(&a, &b, Some(&Calibration::from_vector(&calibration)), &model);
            assert!((row.residual - at(&SMatrix::zeros())).norm() < 1e-12);
            for k in 0..WIDTH {
                let mut step = SMatrix::<f64, WIDTH, 1>::zeros();
                step[k] = 1e-6;
                let numeric = (at(&step) - at(&-step)) / 2e-6;
                assert!((numeric - row.jacobian.column(k)).norm() < 1e-6, "{hold:?} {discretization:?} {k}: {numeric}");
            }
        }
    }

    #[test]
    fn a_calibration_of_nothing_changes_nothing() {
        let (a, b) = (Se2::new(3.0, -2.0, 0.4), Se2::new(3.7, -1.5, 0.5));
        let segments = [segment(Vector2::new(1.0, 0.2), 0.7, 0.3), segment(Vector2::new(0.5, -0.1), -1.2, 0.2)];
        for hold in [TwistHold::Before, TwistHold::After] {
            let config = MotionConfig { hold, ..MotionConfig::default() };
            let model = MotionModel { config, discretization: Discretization::Exponential };
            let motion = Motion::new(&segments, &model);
            let (without, with) = (None, Some(&Calibration::default()));
            let difference = motion.residual(&a, &b, without, &model) - motion.residual(&a, &b, with, &model);
            assert!(difference.norm() < 1e-10, "{hold:?}: {difference}");
            let root = motion.whitening;
            let identity = root * motion.measured.covariance * root.transpose();
            assert!((identity - Matrix3::identity()).norm() < 1e-3);
        }
    }
}
