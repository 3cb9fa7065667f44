//! The residual of odometry between two poses.

use super::normal::{AT_CALIBRATION, Row, WIDTH};
use super::scaled::CheckedMeasurement;
use lienav_lie::{Se2, skew, wrap_angle};
use lienav_slam::{
    Calibration, CalibrationConfig, CalibrationParameter, Discretization, Increment, MOTION, MotionConfig, Prior,
    Segment, TwistHold,
};
use nalgebra::{Matrix3, SMatrix, Vector3};

/// The least standard deviation of an increment, m and rad. Odometry without sideways noise has a singular covariance;
/// this is less than any sensor can tell, and keeps it invertible.
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
    /// As it says, with what was known of the calibration beforehand.
    stated: Increment,
    /// L⁻¹, with LLᵀ the covariance of the increment.
    whitening: Matrix3<f64>,
    duration: f64,
}

impl Motion {
    /// From the odometry between the poses, as the filter takes it.
    pub fn new(segments: &[Segment], model: &MotionModel, calibration: &Calibration) -> Self {
        let stated = model.increment(segments, calibration);
        let duration = segments.iter().map(|segment| segment.duration).sum();
        Self { segments: segments.to_vec(), whitening: whitening(&stated.covariance), stated, duration }
    }

    /// How long it took, s.
    pub fn duration(&self) -> f64 {
        self.duration
    }

    /// The whitened residual: (s, ω) = (R_aᵀ(p_b − p_a), θ_b − θ_a) less (t, a).
    pub fn residual(&self, a: &Se2, b: &Se2, calibration: &Calibration, model: &MotionModel) -> Vector3<f64> {
        self.compare(&relative(a, b), calibration, model).0
    }

    /// The same, linearized for X ← X Exp(ξ), ξ = (u, ω): δs = −u_a − Js ω_a + R_aᵀR_b u_b. Columns: ξ_a, ξ_b,
    /// calibration.
    pub fn linearize(&self, a: &Se2, b: &Se2, calibration: &Calibration, model: &MotionModel) -> Row<3> {
        let motion = relative(a, b);
        let (residual, by_motion, by_calibration) = self.compare(&motion, calibration, model);
        let (turned, (s, c)) = (skew(&motion.p), motion.theta.sin_cos());
        let of_a = Matrix3::new(-1.0, 0.0, -turned.x, 0.0, -1.0, -turned.y, 0.0, 0.0, -1.0);
        let of_b = Matrix3::new(c, -s, 0.0, s, c, 0.0, 0.0, 0.0, 1.0);
        let mut jacobian = SMatrix::<f64, 3, WIDTH>::zeros();
        jacobian.fixed_view_mut::<3, 3>(0, 0).copy_from(&(by_motion * of_a));
        jacobian.fixed_view_mut::<3, 3>(0, 3).copy_from(&(by_motion * of_b));
        jacobian.fixed_view_mut::<3, MOTION>(0, AT_CALIBRATION).copy_from(&by_calibration);
        Row { residual, jacobian }
    }

    /// Whitened residual, and its derivatives by (s, ω) and by the calibration: what the robot did less what it was
    /// told, or what odometry should have read less what it read.
    fn compare(
        &self,
        motion: &Se2,
        calibration: &Calibration,
        model: &MotionModel,
    ) -> (Vector3<f64>, Matrix3<f64>, SMatrix<f64, 3, MOTION>) {
        let l = self.whitening;
        if calibration.motion().next().is_none() {
            return (l * difference(motion, &self.stated.motion), l, SMatrix::zeros());
        }
        match model.config.hold {
            TwistHold::After => {
                let told = model.increment(&self.segments, calibration);
                let by_calibration = told.drift.map_or_else(SMatrix::zeros, |drift| -drift.jacobian);
                (l * difference(motion, &told.motion), l, l * by_calibration)
            }
            TwistHold::Before => {
                // What was read is the increment without calibration, but for its instant.
                let read = model.increment(&self.segments, &of_delay(calibration));
                let expected = CheckedMeasurement::new(motion, self.duration, calibration, model.discretization);
                let delay = CalibrationParameter::MotionDelay as usize;
                let mut by_delay = SMatrix::<f64, 3, MOTION>::zeros();
                by_delay
                    .set_column(delay, &read.drift.map_or_else(Vector3::zeros, |d| d.jacobian.column(delay).into()));
                let residual = difference(&expected.increment, &read.motion);
                (l * residual, l * expected.by_motion, l * (expected.by_calibration - by_delay))
            }
        }
    }
}

/// The dead time alone.
fn of_delay(calibration: &Calibration) -> Calibration {
    let delay = CalibrationParameter::MotionDelay;
    let sigma = f64::from(u8::from(calibration.place(delay).is_some()));
    let motion_delay = Prior { value: calibration.get(delay), sigma, walk: 0.0 };
    Calibration::new(&CalibrationConfig { motion_delay, ..CalibrationConfig::default() })
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
    /// What the filter makes of odometry.
    fn increment(&self, segments: &[Segment], calibration: &Calibration) -> Increment {
        segments.iter().fold(Increment::none(), |sum, s| {
            let how = self.discretization;
            sum.then(&s.increment(&self.config, how, calibration))
        })
    }
}

/// L⁻¹ with LLᵀ the covariance, variances no less than [`LEAST_STD`]².
pub fn whitening(covariance: &Matrix3<f64>) -> Matrix3<f64> {
    let floor = Matrix3::from_diagonal_element(LEAST_STD * LEAST_STD);
    // What the filter takes for a covariance is positive semidefinite, so the sum has a factor.
    let factor = (covariance + floor).cholesky().map(|factor| factor.l());
    factor.and_then(|l| l.solve_lower_triangular(&Matrix3::identity())).unwrap_or_else(Matrix3::zeros)
}

/// ∂(x, y, θ)/∂ξ of X Exp(ξ): blockdiag(R(θ), 1).
pub fn map_from_body(pose: &Se2) -> Matrix3<f64> {
    let (s, c) = pose.theta.sin_cos();
    Matrix3::new(c, -s, 0.0, s, c, 0.0, 0.0, 0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Settings;
    use lienav_base::stamp::Stamp;
    use lienav_slam::{CalibrationParameter, Odometry, Prior};
    use nalgebra::Vector2;

    fn segment(v: Vector2<f64>, w: f64, duration: f64) -> Segment {
        let odometry = Odometry { stamp: Stamp::default(), velocity: v, yaw_rate: w, covariance: None };
        Segment { odometry, duration, interval: duration, fastest: Vector2::new(v.norm(), w.abs()), change: None }
    }

    fn calibration() -> Calibration {
        let mut config = Settings::named("batch-calibrated").unwrap().priors(&CalibrationConfig::default());
        config.bias_w = Prior { sigma: 0.1, ..Prior::default() };
        config.turn_slip = Prior { sigma: 0.1, ..Prior::default() };
        config.drive_yaw = Prior { sigma: 0.1, ..Prior::default() };
        config.motion_delay = Prior { sigma: 0.1, ..Prior::default() };
        Calibration::new(&config)
    }

    fn cases() -> impl Iterator<Item = MotionModel> {
        [TwistHold::Before, TwistHold::After].into_iter().flat_map(|hold| {
            let config = MotionConfig { hold, ..MotionConfig::default() };
            [Discretization::Exponential, Discretization::Euler]
                .map(|discretization| MotionModel { config: config.clone(), discretization })
        })
    }

    #[test]
    fn jacobians_against_finite_differences() {
        let mut segments = [
            segment(Vector2::new(1.0, 0.2), 0.7, 0.3),
            segment(Vector2::new(0.5, -0.1), -1.2, 0.2),
            segment(Vector2::new(1.0, 0.0), 0.0, 0.1),
            // Longer than the filter believes a message.
            segment(Vector2::new(1.0, 0.0), 0.4, 0.7),
        ];
        let [one, other] = [1, 2].map(|k: usize| segments[k].odometry.twist());
        segments[2].change = Some([one, other]);
        let (a, b) = (Se2::new(3.0, -2.0, 0.4), Se2::new(3.7, -1.5, 0.5));
        let mut calibration = calibration();
        assert_eq!(calibration.active()[..MOTION], CalibrationParameter::ALL[..MOTION]);
        calibration.correct(&[0.05, -0.08, 0.03, 0.02, 0.06, 0.07, 0.0, 0.0]);
        for model in cases() {
            let motion = Motion::new(&segments, &model, &calibration);
            let at = |delta: &SMatrix<f64, WIDTH, 1>| {
                let moved = |x: &Se2, k: usize| *x * Se2::exp(&delta.fixed_rows::<3>(k).into_owned());
                let mut calibration = calibration.clone();
                calibration.correct(&delta.as_slice()[AT_CALIBRATION..AT_CALIBRATION + MOTION]);
                motion.residual(&moved(&a, 0), &moved(&b, 3), &calibration, &model)
            };
            let row = motion.linearize(&a, &b, &calibration, &model);
            assert!((row.residual - at(&SMatrix::zeros())).norm() < 1e-12);
            for k in 0..WIDTH {
                let mut step = SMatrix::<f64, WIDTH, 1>::zeros();
                step[k] = 1e-6;
                let numeric = (at(&step) - at(&-step)) / 2e-6;
                assert!((numeric - row.jacobian.column(k)).norm() < 1e-6, "{model:?} {k}: {numeric}");
            }
        }
    }

    #[test]
    fn a_calibration_of_nothing_changes_nothing() {
        let (a, b) = (Se2::new(3.0, -2.0, 0.4), Se2::new(3.7, -1.5, 0.5));
        let segments = [segment(Vector2::new(1.0, 0.2), 0.7, 0.3), segment(Vector2::new(0.5, -0.1), -1.2, 0.2)];
        let off = Calibration::new(&CalibrationConfig::default());
        for model in cases() {
            let motion = Motion::new(&segments, &model, &off);
            let difference = motion.residual(&a, &b, &off, &model) - motion.residual(&a, &b, &calibration(), &model);
            assert!(difference.norm() < 1e-10, "{model:?}: {difference}");
            let root = motion.whitening;
            let identity = root * motion.stated.covariance * root.transpose();
            assert!((identity - Matrix3::identity()).norm() < 1e-3);
        }
    }
}
