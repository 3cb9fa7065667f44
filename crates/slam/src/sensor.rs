//! What a sensor would read of a feature at z in the base frame, and where a reading puts the feature.

use super::calibration::{Calibration, SensorJacobian};
use super::{CalibrationParameter, DropReason, FeatureKind, NoiseAt, Observation, SensorConfig, StereoModel};
use lienav_lie::{Se2, rotation, skew, wrap_angle};
use nalgebra::{Matrix2, Vector2};

/// Bearings beyond this many radians are no bearings.
const MAX_BEARING_RAD: f64 = 4.0 * std::f64::consts::PI;

/// Variances beyond this say nothing, and their products overflow; in the unit of the quantity, squared.
pub const MAX_VARIANCE: f64 = 1e12;

/// Nearer to the sensor than this, direction means nothing, m.
const TOO_NEAR_M: f64 = 1e-6;

/// The range of a new feature is known where its inverse is at least so many standard deviations from zero.
const LEAST_PARALLAX: f64 = 0.5;

/// A new feature is too far where its inverse range is so many standard deviations below that of the limit.
const LARGEST_EXCESS: f64 = 3.0;

/// A sensor on its mount, with its noise.
#[derive(Clone, Debug)]
pub struct Sensor {
    mount: Se2,
    mount_rotation: Matrix2<f64>,
    range_bias: f64,
    bearing_bias: f64,
    /// Whether any of the five above is estimated.
    calibrated: bool,
    config: SensorConfig,
    noise_at: NoiseAt,
    stereo: StereoModel,
}

/// An observation that was found usable.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    model: Model,
    value: Vector2<f64>,
    /// Of `value`; for stereo bearings of the two bearings.
    covariance: Matrix2<f64>,
}

/// How the value of a reading depends on the feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Model {
    /// z_s itself, noise as stated.
    Position,
    /// z_s triangulated from two bearings, noise Q_z J Jᵀ (Shen 2019, § 5.5).
    Triangulated,
    /// (|z_s|, ∠z_s).
    RangeBearing,
    /// The bearings of both cameras.
    StereoBearings,
}

/// What is expected of a reading, at first order around one position of the feature.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    /// Reading − expectation, angles wrapped.
    pub residual: Vector2<f64>,
    /// ∂(reading)/∂z, z in the base frame.
    pub jacobian: Matrix2<f64>,
    /// ∂(reading)/∂(calibration); zero where nothing is calibrated.
    pub calibration: SensorJacobian,
    /// Covariance of the reading.
    pub noise: Matrix2<f64>,
}

impl Sensor {
    /// A sensor as configured and calibrated; `noise_at` matters for triangulated positions only.
    pub fn new(config: &SensorConfig, noise_at: NoiseAt, stereo: StereoModel, calibration: &Calibration) -> Self {
        let mut sensor = Self {
            mount: Se2::identity(),
            mount_rotation: Matrix2::identity(),
            range_bias: 0.0,
            bearing_bias: 0.0,
            calibrated: calibration.sensor().next().is_some(),
            config: config.clone(),
            noise_at,
            stereo,
        };
        sensor.calibrate(calibration);
        sensor
    }

    /// Takes over what has been learned of it.
    pub fn calibrate(&mut self, calibration: &Calibration) {
        let (config, of) = (&self.config, |parameter| calibration.get(parameter));
        self.mount = Se2::new(
            config.x_m + of(CalibrationParameter::SensorX),
            config.y_m + of(CalibrationParameter::SensorY),
            config.yaw_rad + of(CalibrationParameter::SensorYaw),
        );
        self.mount_rotation = self.mount.rotation();
        self.range_bias = of(CalibrationParameter::RangeBias);
        self.bearing_bias = of(CalibrationParameter::BearingBias);
    }

    /// Looks at an observation.
    ///
    /// # Errors
    /// Why it cannot be used: a number that is not finite, a covariance that is none, a negative range, lines of sight
    /// that do not meet in front of the cameras, a distance outside the configured range.
    pub fn read(&self, kind: FeatureKind, observation: &Observation) -> Result<Reading, DropReason> {
        let value = observation.value;
        if !value.iter().all(|x| x.is_finite()) {
            return Err(DropReason::NotFinite);
        }
        let covariance = match observation.covariance {
            Some(covariance) => checked_covariance(covariance)?,
            None => self.default_noise(kind),
        };
        let reading = match kind {
            FeatureKind::RelativePosition => Reading { model: Model::Position, value, covariance },
            FeatureKind::RangeBearing => {
                if value.x < 0.0 || value.y.abs() > MAX_BEARING_RAD {
                    return Err(DropReason::Absurd);
                }
                Reading { model: Model::RangeBearing, value, covariance }
            }
            FeatureKind::StereoBearings if self.stereo == StereoModel::Bearings => {
                if value.amax() > MAX_BEARING_RAD {
                    return Err(DropReason::Absurd);
                }
                // Whether the lines of sight meet matters for a new feature only: `invert` says so.
                return Ok(Reading { model: Model::StereoBearings, value, covariance });
            }
            FeatureKind::StereoBearings => {
                let position = triangulate(&value, self.config.baseline_m).ok_or(DropReason::OutOfRange)?;
                Reading { model: Model::Triangulated, value: position, covariance }
            }
        };
        let distance = if reading.model == Model::RangeBearing { value.x } else { reading.value.norm() };
        if distance < self.config.min_range_m.max(TOO_NEAR_M) || distance > self.config.max_range_m {
            return Err(DropReason::OutOfRange);
        }
        Ok(reading)
    }

    /// By what the covariance of a reading is to be multiplied when the last one of the same feature was `since` seconds ago.
    ///
    /// Errors with a correlation of ρ = exp(−Δt/T) from one reading to the next tell exactly as much about what they have in
    /// common as one reading with their variance σ², and for each that follows an independent one with
    /// σ²(1 + ρ)/(1 − ρ) = σ² coth(Δt/2T).
    pub fn repetition(&self, since: f64) -> f64 {
        let lasting = self.config.correlation_s;
        if lasting <= 0.0 { 1.0 } else { 1.0 / (0.5 * since.max(1e-3) / lasting).tanh() }
    }

    fn default_noise(&self, kind: FeatureKind) -> Matrix2<f64> {
        let (a, b) = match kind {
            FeatureKind::RelativePosition => (self.config.position_std_m, self.config.position_std_m),
            FeatureKind::RangeBearing => (self.config.range_std_m, self.config.bearing_std_rad),
            FeatureKind::StereoBearings => (self.config.bearing_std_rad, self.config.bearing_std_rad),
        };
        Matrix2::new(a * a, 0.0, 0.0, b * b)
    }

    /// What this reading should have been for a feature estimated at `z`, with Jacobian and noise at `linearized_at`;
    /// both in the base frame. `None` where the model has no derivative: a feature on top of the sensor.
    pub fn expect(&self, reading: &Reading, z: &Vector2<f64>, linearized_at: &Vector2<f64>) -> Option<Expected> {
        let (z_sensor, at) = (self.mount.transform_back(z), self.mount.transform_back(linearized_at));
        let (expected, jacobian, noise) = match reading.model {
            Model::Position => (z_sensor, Matrix2::identity(), reading.covariance),
            Model::Triangulated => {
                let noise_at = match self.noise_at {
                    NoiseAt::Measured => reading.value,
                    NoiseAt::Predicted => at,
                };
                let noise = self.triangulation_noise(&noise_at, &reading.covariance)?;
                (z_sensor, Matrix2::identity(), noise)
            }
            Model::RangeBearing => (polar(&z_sensor), polar_jacobian(&at)?, reading.covariance),
            Model::StereoBearings => {
                let baseline = self.config.baseline_m;
                (stereo_bearings(&z_sensor, baseline), stereo_jacobian(&at, baseline)?, reading.covariance)
            }
        };
        let mut residual = reading.value - self.bias(reading.model) - expected;
        match reading.model {
            Model::Position | Model::Triangulated => {}
            Model::RangeBearing => residual.y = wrap_angle(residual.y),
            Model::StereoBearings => residual.apply(|angle| *angle = wrap_angle(*angle)),
        }
        let in_base = jacobian * self.mount_rotation.transpose();
        let calibration = self.calibration_jacobian(reading.model, &jacobian, &in_base, &at);
        Some(Expected { residual, jacobian: in_base, calibration, noise })
    }

    /// By what a reading is off in both its numbers.
    fn bias(&self, model: Model) -> Vector2<f64> {
        match model {
            Model::Position | Model::Triangulated => Vector2::zeros(),
            Model::RangeBearing => Vector2::new(self.range_bias, self.bearing_bias),
            Model::StereoBearings => Vector2::new(self.bearing_bias, self.bearing_bias),
        }
    }

    /// ∂(reading)/∂(x, y, yaw, range bias, bearing bias) from ∂(reading)/∂z_s and ∂(reading)/∂z: with z_s = R(ψ)ᵀ(z − m),
    /// ∂z_s/∂m = −R(ψ)ᵀ and ∂z_s/∂ψ = −J z_s.
    fn calibration_jacobian(
        &self,
        model: Model,
        in_sensor: &Matrix2<f64>,
        in_base: &Matrix2<f64>,
        z_sensor: &Vector2<f64>,
    ) -> SensorJacobian {
        let mut jacobian = SensorJacobian::zeros();
        if !self.calibrated {
            return jacobian;
        }
        jacobian.fixed_columns_mut::<2>(0).copy_from(&-in_base);
        jacobian.set_column(2, &-(in_sensor * skew(z_sensor)));
        match model {
            Model::Position | Model::Triangulated => {}
            Model::RangeBearing => (jacobian[(0, 3)], jacobian[(1, 4)]) = (1.0, 1.0),
            Model::StereoBearings => (jacobian[(0, 4)], jacobian[(1, 4)]) = (1.0, 1.0),
        }
        jacobian
    }

    /// Where a reading puts the feature, in the base frame, and the covariance of that. `None` where it puts it nowhere:
    /// lines of sight that do not meet within the sensor's range.
    pub fn invert(&self, reading: &Reading) -> Option<(Vector2<f64>, Matrix2<f64>)> {
        let unbiased = reading.value - self.bias(reading.model);
        let (z_sensor, covariance) = match reading.model {
            Model::Position => (reading.value, reading.covariance),
            Model::Triangulated => (reading.value, self.triangulation_noise(&reading.value, &reading.covariance)?),
            Model::StereoBearings => {
                let z = triangulate(&unbiased, self.config.baseline_m)?;
                (z, self.triangulation_noise(&z, &reading.covariance)?)
            }
            Model::RangeBearing => {
                let z = rotation(unbiased.y) * Vector2::new(unbiased.x, 0.0);
                let inverse = polar_jacobian(&z)?.try_inverse()?;
                (z, inverse * reading.covariance * inverse.transpose())
            }
        };
        let distance = z_sensor.norm();
        let is_near_enough = match reading.model {
            Model::StereoBearings => self.may_be_in_range(&z_sensor, &covariance),
            _ => distance <= self.config.max_range_m,
        };
        if distance < self.config.min_range_m || !is_near_enough {
            return None;
        }
        let r = self.mount_rotation;
        Some((self.mount.transform(&z_sensor), r * covariance * r.transpose()))
    }

    /// How the place that [`Sensor::invert`] gives goes with the calibration: ∂z/∂c = −(∂h/∂z)⁻¹ ∂h/∂c. `None` where nothing
    /// of the sensor is calibrated, or the model has no derivative.
    pub fn calibration_of(&self, reading: &Reading, z: &Vector2<f64>) -> Option<SensorJacobian> {
        if !self.calibrated {
            return None;
        }
        let expected = self.expect(reading, z, z)?;
        Some(-expected.jacobian.try_inverse()? * expected.calibration)
    }

    /// Whether the range of a feature triangulated at `z` is known at all, and not significantly beyond the limit. A limit on
    /// the estimate itself would let in far features only where their noise makes them nearer, which biases every one of
    /// them.
    fn may_be_in_range(&self, z: &Vector2<f64>, covariance: &Matrix2<f64>) -> bool {
        let square = z.norm_squared();
        let (inverse, std) = (1.0 / square.sqrt(), (z.dot(&(covariance * z)) / square).sqrt() / square);
        inverse > LEAST_PARALLAX * std && inverse + LARGEST_EXCESS * std >= 1.0 / self.config.max_range_m
    }

    /// J Q Jᵀ, J the Jacobian of the triangulation at `z`.
    fn triangulation_noise(&self, z: &Vector2<f64>, bearings: &Matrix2<f64>) -> Option<Matrix2<f64>> {
        let j = stereo_jacobian(z, self.config.baseline_m)?.try_inverse()?;
        Some(j * bearings * j.transpose())
    }
}

/// A symmetric positive semidefinite matrix made exactly symmetric.
///
/// # Errors
/// Not finite, not symmetric to a millionth, or with a negative eigenvalue.
pub fn checked_covariance(c: Matrix2<f64>) -> Result<Matrix2<f64>, DropReason> {
    if !c.iter().all(|x| x.is_finite()) {
        return Err(DropReason::NotFinite);
    }
    let scale = c.amax();
    if scale > MAX_VARIANCE {
        return Err(DropReason::Absurd);
    }
    let off = 0.5 * (c[(0, 1)] + c[(1, 0)]);
    let (a, b) = (c[(0, 0)], c[(1, 1)]);
    if (c[(0, 1)] - c[(1, 0)]).abs() > 1e-6 * scale || a <= 0.0 || b <= 0.0 || a * b - off * off < -1e-12 * a * b {
        return Err(DropReason::BadCovariance);
    }
    Ok(Matrix2::new(a, off, off, b))
}

/// (range, bearing) of z.
fn polar(z: &Vector2<f64>) -> Vector2<f64> {
    Vector2::new(z.norm(), z.y.atan2(z.x))
}

/// ∂(range, bearing)/∂z: rows zᵀ/r and (Jz)ᵀ/r².
fn polar_jacobian(z: &Vector2<f64>) -> Option<Matrix2<f64>> {
    let r = z.norm();
    if r < TOO_NEAR_M {
        return None;
    }
    let (u, t) = (z / r, skew(z) / (r * r));
    Some(Matrix2::new(u.x, u.y, t.x, t.y))
}

/// Where the lines of sight of cameras at (0, ±baseline/2) meet: x = b cos β_l cos β_r / sin(β_r − β_l),
/// y = b/2 + x tan β_l, written without the tangent.
pub fn triangulate(bearings: &Vector2<f64>, baseline: f64) -> Option<Vector2<f64>> {
    let ((sl, cl), (sr, cr)) = (bearings.x.sin_cos(), bearings.y.sin_cos());
    let disparity = sr * cl - cr * sl;
    // Both cameras must look forward along their rays and the rays must converge.
    if disparity <= 1e-9 || cl <= 0.0 || cr <= 0.0 {
        return None;
    }
    Some(Vector2::new(baseline * cl * cr / disparity, 0.5 * baseline * (sl * cr + sr * cl) / disparity))
}

/// The bearings of cameras at (0, ±baseline/2).
fn stereo_bearings(z: &Vector2<f64>, baseline: f64) -> Vector2<f64> {
    let bearing = |camera_y: f64| (z.y - camera_y).atan2(z.x);
    Vector2::new(bearing(0.5 * baseline), bearing(-0.5 * baseline))
}

/// ∂(β_left, β_right)/∂z: rows (J(z − c))ᵀ/|z − c|², c = (0, ±baseline/2).
fn stereo_jacobian(z: &Vector2<f64>, baseline: f64) -> Option<Matrix2<f64>> {
    let row = |camera_y: f64| {
        let u = z - Vector2::new(0.0, camera_y);
        let square = u.norm_squared();
        (square > TOO_NEAR_M * TOO_NEAR_M).then(|| skew(&u) / square)
    };
    let (left, right) = (row(0.5 * baseline)?, row(-0.5 * baseline)?);
    Some(Matrix2::new(left.x, left.y, right.x, right.y))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sensor(noise_at: NoiseAt) -> Sensor {
        let config = SensorConfig { x_m: 0.2, y_m: -0.1, yaw_rad: 0.3, ..SensorConfig::default() };
        let uncalibrated = Calibration::new(&crate::CalibrationConfig::default());
        Sensor::new(&config, noise_at, StereoModel::Triangulated, &uncalibrated)
    }

    /// What a perfect sensor reads of a feature at `z` in the sensor frame.
    fn perfect(kind: FeatureKind, z: &Vector2<f64>) -> Observation {
        let value = match kind {
            FeatureKind::RelativePosition => *z,
            FeatureKind::RangeBearing => polar(z),
            FeatureKind::StereoBearings => stereo_bearings(z, 0.5),
        };
        Observation { id: None, value, covariance: None }
    }

    const KINDS: [FeatureKind; 3] =
        [FeatureKind::RelativePosition, FeatureKind::RangeBearing, FeatureKind::StereoBearings];

    proptest! {
        #[test]
        fn inverting_a_perfect_reading_gives_the_feature(x in 0.5..20.0f64, y in -8.0..8.0f64) {
            let (s, z) = (sensor(NoiseAt::Measured), Vector2::new(x, y));
            for kind in KINDS {
                let reading = s.read(kind, &perfect(kind, &z)).unwrap();
                let (found, covariance) = s.invert(&reading).unwrap();
                prop_assert!((found - s.mount.transform(&z)).norm() < 1e-9);
                prop_assert!(covariance.determinant() > 0.0);
                prop_assert!(s.expect(&reading, &found, &found).unwrap().residual.norm() < 1e-9);
            }
        }

        #[test]
        fn jacobians_against_finite_differences(x in 0.5..20.0f64, y in -8.0..8.0f64) {
            let (s, z) = (sensor(NoiseAt::Predicted), Vector2::new(x, y));
            let h = 1e-6;
            for kind in KINDS {
                let reading = s.read(kind, &perfect(kind, &Vector2::new(2.0, 0.5))).unwrap();
                let jacobian = s.expect(&reading, &z, &z).unwrap().jacobian;
                for k in 0..2 {
                    let mut dz = Vector2::zeros();
                    dz[k] = h;
                    let (plus, minus) = (z + dz, z - dz);
                    let difference = s.expect(&reading, &minus, &z).unwrap().residual
                        - s.expect(&reading, &plus, &z).unwrap().residual;
                    let numeric = Vector2::new(difference.x, wrap_angle(difference.y)) / (2.0 * h);
                    prop_assert!((numeric - jacobian.column(k)).norm() < 1e-6 * (1.0 + numeric.norm()));
                }
            }
        }

        #[test]
        fn the_stereo_jacobian_against_finite_differences(x in 0.3..20.0f64, y in -8.0..8.0f64) {
            let (z, h) = (Vector2::new(x, y), 1e-6);
            let jacobian = stereo_jacobian(&z, 0.5).unwrap();
            for k in 0..2 {
                let mut dz = Vector2::zeros();
                dz[k] = h;
                let numeric = (stereo_bearings(&(z + dz), 0.5) - stereo_bearings(&(z - dz), 0.5)) / (2.0 * h);
                prop_assert!((numeric - jacobian.column(k)).norm() < 1e-6 * (1.0 + numeric.norm()));
            }
        }

        #[test]
        fn nothing_that_is_read_panics(x in prop::num::f64::ANY, y in prop::num::f64::ANY, a in prop::num::f64::ANY, b in prop::num::f64::ANY) {
            let s = sensor(NoiseAt::Predicted);
            for kind in KINDS {
                let covariance = Some(Matrix2::new(a, b, b, a));
                if let Ok(reading) = s.read(kind, &Observation { id: None, value: Vector2::new(x, y), covariance }) {
                    let _ = s.invert(&reading);
                    let _ = s.expect(&reading, &Vector2::new(y, x), &Vector2::new(a, b));
                }
            }
        }
    }

    /// 1ᵀΣ⁻¹1 of readings that are alike for a time, against the sum of the information of independent ones.
    #[test]
    fn readings_that_repeat_one_another_tell_what_they_tell_together() {
        let config = SensorConfig { correlation_s: 2.0, ..SensorConfig::default() };
        let uncalibrated = Calibration::new(&crate::CalibrationConfig::default());
        let s = Sensor::new(&config, NoiseAt::Predicted, StereoModel::Bearings, &uncalibrated);
        let (n, dt) = (12, 0.3);
        let sigma = nalgebra::DMatrix::from_fn(n, n, |i, j| (-dt * (i as f64 - j as f64).abs() / 2.0).exp());
        let together = sigma.try_inverse().unwrap().sum();
        let one_by_one = 1.0 + (n - 1) as f64 / s.repetition(dt);
        assert!((together / one_by_one - 1.0).abs() < 1e-12);
        assert!((s.repetition(1e3) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn unusable_observations_are_named() {
        let s = sensor(NoiseAt::Measured);
        let observe = |x: f64, y: f64, c: Option<Matrix2<f64>>| Observation {
            id: None,
            value: Vector2::new(x, y),
            covariance: c,
        };
        let cases = [
            (FeatureKind::RangeBearing, observe(f64::NAN, 0.0, None), DropReason::NotFinite),
            (FeatureKind::RangeBearing, observe(-1.0, 0.0, None), DropReason::Absurd),
            (FeatureKind::RangeBearing, observe(1.0, 1e6, None), DropReason::Absurd),
            (FeatureKind::RangeBearing, observe(1e6, 0.0, None), DropReason::OutOfRange),
            (
                FeatureKind::RangeBearing,
                observe(1.0, 0.0, Some(Matrix2::new(1.0, 2.0, 2.0, 1.0))),
                DropReason::BadCovariance,
            ),
            (FeatureKind::StereoBearings, observe(0.2, 0.1, None), DropReason::OutOfRange),
            (FeatureKind::StereoBearings, observe(3.0, 3.1, None), DropReason::OutOfRange),
        ];
        for (kind, observation, reason) in cases {
            assert_eq!(s.read(kind, &observation).unwrap_err(), reason);
        }
    }
}
