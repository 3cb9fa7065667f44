//! Measurements of any dimension behind one interface, on their mount. All products are made in the measurement's own
//! dimension; what leaves is padded with zeros to three rows.

use crate::calibration::{Calibration, CalibrationParameter, MOTION, OF_ONE_KIND, SensorJacobian};
use crate::checked::CheckedMeasurement;
use crate::input::{Measurement, MeasurementKind};
use crate::measurement::value::{MAX_DIM, checked_covariance, fixed, padded};
use crate::measurement::{Component, LandmarkMeasurement, PoseMeasurement};
use crate::output::DropReason;
use lienav_lie::{Se2, skew, wrap_angle};
use nalgebra::{Matrix2, Matrix3, Matrix3x2, SMatrix, SVector, Vector2, Vector3};
use std::fmt;

/// The column of roll in a [`SensorJacobian`]; that of pitch follows.
const ROLL: usize = CalibrationParameter::Roll as usize - MOTION;

/// An estimate of the range scale below this is not followed: what is divided by 1 + s stays finite.
const LEAST_RANGE_SCALE: f64 = -0.9;

/// Where a sensor sits, and what it gets wrong, as known so far.
#[derive(Clone, Copy, Debug)]
pub struct Mount {
    nominal: Se2,
    /// Of the sensor in the base frame.
    pub pose: Se2,
    rotation: Matrix2<f64>,
    range_bias: f64,
    range_scale: f64,
    bearing_bias: f64,
    /// How far roll and pitch move a landmark per metre of its height above the base, in the base frame.
    tilt: Vector2<f64>,
    /// Whether any of these is estimated.
    is_calibrated: bool,
    /// The map in the world.
    pub world: Se2,
    /// The time-correlated error of positions in the world.
    pub world_error: Vector2<f64>,
}

impl Mount {
    /// At `nominal` in the base frame, calibrated.
    pub fn new(nominal: Se2, calibration: &Calibration) -> Self {
        let mut mount = Self {
            nominal,
            pose: nominal,
            rotation: nominal.rotation(),
            range_bias: 0.0,
            range_scale: 0.0,
            bearing_bias: 0.0,
            tilt: Vector2::zeros(),
            is_calibrated: calibration.sensor().next().is_some(),
            world: Se2::identity(),
            world_error: Vector2::zeros(),
        };
        mount.take_over(calibration);
        mount
    }

    /// Takes over what has been learned of it; that is nothing where none of it is estimated.
    #[inline]
    pub fn calibrate(&mut self, calibration: &Calibration) {
        if self.is_calibrated {
            self.take_over(calibration);
        }
    }

    /// Takes over what has been learned of it, and whether any of it is estimated.
    pub(crate) fn recalibrate(&mut self, calibration: &Calibration) {
        self.is_calibrated = calibration.sensor().next().is_some();
        self.take_over(calibration);
    }

    fn take_over(&mut self, calibration: &Calibration) {
        let of = |parameter| calibration.get(parameter);
        self.pose = Se2::new(
            self.nominal.p.x + of(CalibrationParameter::SensorX),
            self.nominal.p.y + of(CalibrationParameter::SensorY),
            self.nominal.theta + of(CalibrationParameter::SensorYaw),
        );
        self.rotation = self.pose.rotation();
        self.range_bias = of(CalibrationParameter::RangeBias);
        self.bearing_bias = of(CalibrationParameter::BearingBias);
        self.range_scale = of(CalibrationParameter::RangeScale).max(LEAST_RANGE_SCALE);
        self.tilt = calibration.tilt_shift();
        self.world = calibration.world();
        self.world_error = Vector2::new(of(CalibrationParameter::ErrorX), of(CalibrationParameter::ErrorY));
    }

    /// Without calibration.
    #[inline]
    pub fn nominal(&self) -> Se2 {
        self.nominal
    }

    /// Whether it is, or may be, elsewhere than at the base's origin.
    #[inline]
    pub fn is_off_centre(&self) -> bool {
        self.nominal.p != Vector2::zeros() || self.pose.p != Vector2::zeros() || self.is_calibrated
    }

    /// Whether anything about the sensor is estimated.
    #[inline]
    pub fn is_calibrated(&self) -> bool {
        self.is_calibrated
    }

    /// From the base frame to the sensor frame, R(ψ)ᵀ(z − m), with the rotation that is at hand.
    #[inline]
    fn in_sensor_frame(&self, z: &Vector2<f64>) -> Vector2<f64> {
        let (d, s, c) = (z - self.pose.p, self.rotation[(1, 0)], self.rotation[(0, 0)]);
        Vector2::new(c * d.x + s * d.y, c * d.y - s * d.x)
    }

    /// What an unbiased sensor would have read, (1 + s)·read − b for a range, and the covariance of that.
    fn unbiased<const D: usize>(
        &self,
        components: &[Component; D],
        read: &SVector<f64, D>,
        covariance: &SMatrix<f64, D, D>,
    ) -> (SVector<f64, D>, SMatrix<f64, D, D>) {
        let scale = |k: usize| if components[k] == Component::Range { 1.0 + self.range_scale } else { 1.0 };
        let unbiased = SVector::from_fn(|k, _| match components[k] {
            Component::Linear | Component::Angle => read[k],
            Component::Range => read[k] * scale(k) - self.range_bias,
            Component::Bearing => read[k] - self.bearing_bias,
        });
        (unbiased, SMatrix::from_fn(|i, k| covariance[(i, k)] * (scale(i) * scale(k))))
    }

    /// What this sensor reads of what an unbiased one would read, (r + b)/(1 + s) for a range. The noise of a
    /// measurement is added to this: where it was added to r, a smaller s would make all residuals smaller, and runs
    /// would end with ranges too short.
    fn as_read<const D: usize>(&self, components: &[Component; D], predicted: &SVector<f64, D>) -> SVector<f64, D> {
        SVector::from_fn(|k, _| match components[k] {
            Component::Linear | Component::Angle => predicted[k],
            Component::Range => (predicted[k] + self.range_bias) / (1.0 + self.range_scale),
            Component::Bearing => predicted[k] + self.bearing_bias,
        })
    }

    /// ∂(reading) of ∂(what an unbiased sensor would read).
    fn scale_rows<const D: usize, const N: usize>(
        &self,
        components: &[Component; D],
        mut jacobian: SMatrix<f64, D, N>,
    ) -> SMatrix<f64, D, N> {
        if self.range_scale != 0.0 {
            for (k, component) in components.iter().enumerate() {
                if *component == Component::Range {
                    jacobian.row_mut(k).scale_mut(1.0 / (1.0 + self.range_scale));
                }
            }
        }
        jacobian
    }

    /// Adds ∂(reading)/∂(range bias, bearing bias, range scale), of y = (r + b)/(1 + s) or β + b; `expected` is the y
    /// that is expected, for that of the measurement has its noise, and a derivative that has it, too, is not
    /// independent of the residual.
    fn bias_columns<const D: usize>(
        &self,
        components: &[Component; D],
        expected: &SVector<f64, D>,
        jacobian: &mut SMatrix<f64, D, OF_ONE_KIND>,
    ) {
        for (k, component) in components.iter().enumerate() {
            match component {
                Component::Linear | Component::Angle => {}
                Component::Range => {
                    let scale = 1.0 + self.range_scale;
                    (jacobian[(k, 3)], jacobian[(k, 5)]) = (1.0 / scale, -expected[k] / scale);
                }
                Component::Bearing => jacobian[(k, 4)] = 1.0,
            }
        }
    }
}

/// What is expected of a measurement, at first order around one estimate; rows beyond `dim` are zero.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    /// How many numbers the measurement has.
    pub dim: usize,
    /// Reading − expectation, angles wrapped.
    pub residual: Vector3<f64>,
    /// ∂(reading)/∂z, z the landmark in the base frame; zero for a measurement of the pose.
    pub by_landmark: Matrix3x2<f64>,
    /// ∂(reading)/∂(x, y, θ) of the base in the map; zero for a measurement of a landmark at z.
    pub by_pose: Matrix3<f64>,
    /// ∂(reading)/∂(calibration); `None` where nothing is calibrated.
    pub by_calibration: Option<SensorJacobian>,
    /// Covariance of the measurement.
    pub noise: Matrix3<f64>,
}

/// A measurement whose dimension is not part of its type.
pub trait Erased: fmt::Debug + Send + Sync {
    /// What its numbers are.
    fn components(&self) -> &[Component];

    /// Whether it measures the pose, and not a landmark.
    fn is_of_pose(&self) -> bool;

    /// Whether it measures in the world, and not in the map.
    fn is_of_world(&self) -> bool {
        false
    }

    /// The numbers of a usable measurement, and their covariance.
    fn read(&self, raw: &Measurement) -> Result<(Vector3<f64>, Matrix3<f64>), DropReason>;

    /// What a landmark at `z` would have read, linearized at `at`; both in the base frame.
    fn expect_landmark(
        &self,
        mount: &Mount,
        checked: &CheckedMeasurement,
        z: &Vector2<f64>,
        at: &Vector2<f64>,
    ) -> Option<Expected>;

    /// What a base at `pose` would have read, linearized at `at`.
    fn expect_pose(&self, mount: &Mount, checked: &CheckedMeasurement, pose: &Se2, at: &Se2) -> Option<Expected>;

    /// Where a measurement puts a new landmark, in the base frame, and the covariance of that.
    fn place(&self, mount: &Mount, checked: &CheckedMeasurement) -> Option<(Vector2<f64>, Matrix2<f64>)>;

    /// Where the landmark of a measurement may be, in the base frame, if the measurement does not determine it.
    fn hypotheses(&self, mount: &Mount, checked: &CheckedMeasurement) -> Vec<(Vector2<f64>, Matrix2<f64>)>;

    /// The probability that a measurement with this residual is one as the noise says; 1 where nothing disturbs.
    fn trust(&self, residual: &Vector3<f64>, covariance: &Matrix3<f64>) -> f64;

    /// What a perfect sensor on `robot` reads of the landmarks, by identity.
    fn simulate(&self, robot: &Se2, mount: &Se2, landmarks: &[(u32, Vector2<f64>)])
    -> Vec<(Option<u32>, Vector3<f64>)>;

    /// As which built-in kind roll and pitch level its numbers; `None` where they do not.
    fn levelled_as(&self) -> Option<MeasurementKind> {
        None
    }

    /// The covariance of a measurement that states none.
    fn noise(&self) -> Matrix3<f64>;
}

/// The numbers of a measurement and its covariance, checked.
pub fn numbers<const D: usize>(
    raw: &Measurement,
    noise: impl FnOnce(&SVector<f64, D>) -> SMatrix<f64, D, D>,
) -> Result<(SVector<f64, D>, SMatrix<f64, D, D>), DropReason> {
    if raw.value.len() != D {
        return Err(DropReason::WrongDimension);
    }
    let value = raw.value.fixed::<D>();
    if !value.iter().all(|x| x.is_finite()) {
        return Err(DropReason::NotFinite);
    }
    let covariance = match &raw.covariance {
        Some(stated) if stated.dim() != D => return Err(DropReason::WrongDimension),
        Some(stated) => checked_covariance(&stated.fixed::<D>())?,
        None => noise(&value),
    };
    Ok((value, covariance))
}

/// read − expected, wrapped where it is an angle.
pub fn residual<const D: usize>(
    components: &[Component; D],
    read: &SVector<f64, D>,
    expected: &SVector<f64, D>,
) -> SVector<f64, D> {
    let mut residual = read - expected;
    for (r, component) in residual.iter_mut().zip(components) {
        if component.wraps() {
            *r = wrap_angle(*r);
        }
    }
    residual
}

/// A [`LandmarkMeasurement`] as [`Erased`].
#[derive(Debug)]
pub struct OfLandmark<M, const D: usize> {
    measurement: M,
    components: [Component; D],
}

impl<M: LandmarkMeasurement<D>, const D: usize> OfLandmark<M, D> {
    const FITS: () = assert!(D >= 1 && D <= MAX_DIM, "a measurement has one to three numbers");

    /// Of one to three numbers; more do not compile.
    #[inline]
    pub fn new(measurement: M) -> Self {
        let () = Self::FITS;
        Self { components: measurement.components(), measurement }
    }

    /// ∂(reading)/∂(x, y, yaw, range bias, bearing bias, range scale) from ∂(reading)/∂z_s and ∂(reading)/∂z: with z_s
    /// = R(ψ)ᵀ(z − m), ∂z_s/∂m = −R(ψ)ᵀ and ∂z_s/∂ψ = −J z_s.
    fn by_calibration(
        &self,
        mount: &Mount,
        in_sensor: &SMatrix<f64, D, 2>,
        in_base: &SMatrix<f64, D, 2>,
        z_sensor: &Vector2<f64>,
    ) -> SMatrix<f64, D, OF_ONE_KIND> {
        let mut jacobian = SMatrix::<f64, D, OF_ONE_KIND>::zeros();
        jacobian.fixed_columns_mut::<2>(0).copy_from(&-in_base);
        jacobian.set_column(2, &-(in_sensor * skew(z_sensor)));
        let expected = mount.as_read(&self.components, &self.measurement.predict(z_sensor));
        mount.bias_columns(&self.components, &expected, &mut jacobian);
        jacobian
    }
}

impl<M: LandmarkMeasurement<D>, const D: usize> Erased for OfLandmark<M, D> {
    fn components(&self) -> &[Component] {
        &self.components
    }

    fn is_of_pose(&self) -> bool {
        false
    }

    fn read(&self, raw: &Measurement) -> Result<(Vector3<f64>, Matrix3<f64>), DropReason> {
        let (value, covariance) = numbers::<D>(raw, |read| self.measurement.noise_of(read))?;
        Ok((padded_vector(&self.measurement.read(&value)?), padded(&covariance)))
    }

    #[inline]
    fn expect_landmark(
        &self,
        mount: &Mount,
        checked: &CheckedMeasurement,
        z: &Vector2<f64>,
        at: &Vector2<f64>,
    ) -> Option<Expected> {
        // A base that leans measures the landmark away from where it stands.
        let shift = mount.tilt * checked.height_m;
        let (z_sensor, at) = (mount.in_sensor_frame(&(z - shift)), mount.in_sensor_frame(&(at - shift)));
        let read: SVector<f64, D> = fixed_vector(&checked.value);
        let expected = mount.as_read(&self.components, &self.measurement.predict(&z_sensor));
        let jacobian = mount.scale_rows(&self.components, self.measurement.jacobian(&at)?);
        // Where the landmark is believed to be: first estimates are for Jacobians alone, which have to agree with each
        // other; the noise of a measurement depends on where its landmark is.
        let noise = self.measurement.noise_at(&fixed(&checked.covariance), &read, &z_sensor)?;
        let in_base = jacobian * mount.rotation.transpose();
        let by_calibration = mount.is_calibrated.then(|| {
            let mut columns = self.by_calibration(mount, &jacobian, &in_base, &at);
            // By (φ, θ), which move the landmark by (θ, −φ) times its height.
            columns.set_column(ROLL, &(in_base.column(1) * checked.height_m));
            columns.set_column(ROLL + 1, &(in_base.column(0) * -checked.height_m));
            SensorJacobian::of_sensor(padded(&columns))
        });
        let residual = residual(&self.components, &read, &expected);
        Some(Expected {
            dim: D,
            residual: padded_vector(&residual),
            by_landmark: padded(&in_base),
            by_pose: Matrix3::zeros(),
            by_calibration,
            noise: padded(&noise),
        })
    }

    fn expect_pose(&self, _: &Mount, _: &CheckedMeasurement, _: &Se2, _: &Se2) -> Option<Expected> {
        None
    }

    fn place(&self, mount: &Mount, checked: &CheckedMeasurement) -> Option<(Vector2<f64>, Matrix2<f64>)> {
        let read: SVector<f64, D> = fixed_vector(&checked.value);
        let (unbiased, noise) = mount.unbiased(&self.components, &read, &fixed(&checked.covariance));
        let (z_sensor, covariance) = self.measurement.place(&unbiased, &noise)?;
        let r = mount.rotation;
        Some((mount.pose.transform(&z_sensor) + mount.tilt * checked.height_m, r * covariance * r.transpose()))
    }

    fn hypotheses(&self, mount: &Mount, checked: &CheckedMeasurement) -> Vec<(Vector2<f64>, Matrix2<f64>)> {
        let read: SVector<f64, D> = fixed_vector(&checked.value);
        let (unbiased, noise) = mount.unbiased(&self.components, &read, &fixed(&checked.covariance));
        let mut all = self.measurement.hypotheses(&unbiased, &noise);
        for (z, covariance) in &mut all {
            *z = mount.pose.transform(z);
            *covariance = mount.rotation * *covariance * mount.rotation.transpose();
        }
        all
    }

    fn trust(&self, residual: &Vector3<f64>, covariance: &Matrix3<f64>) -> f64 {
        self.measurement.trust(&fixed_vector(residual), &fixed(covariance))
    }

    fn simulate(
        &self,
        robot: &Se2,
        mount: &Se2,
        landmarks: &[(u32, Vector2<f64>)],
    ) -> Vec<(Option<u32>, Vector3<f64>)> {
        let sensor = *robot * *mount;
        let seen = landmarks.iter().map(|(id, p_world)| (*id, sensor.transform_back(p_world)));
        let seen = seen.filter(|(_, z)| self.measurement.sees(z));
        seen.map(|(id, z)| (Some(id), padded_vector(&self.measurement.predict(&z)))).collect()
    }

    fn levelled_as(&self) -> Option<MeasurementKind> {
        self.measurement.levelled_as()
    }

    fn noise(&self) -> Matrix3<f64> {
        padded(&self.measurement.noise())
    }
}

/// A [`PoseMeasurement`] as [`Erased`].
#[derive(Debug)]
pub struct OfPose<M, const D: usize> {
    measurement: M,
    components: [Component; D],
}

impl<M: PoseMeasurement<D>, const D: usize> OfPose<M, D> {
    const FITS: () = assert!(D >= 1 && D <= MAX_DIM, "a measurement has one to three numbers");

    /// Of one to three numbers; more do not compile.
    #[inline]
    pub fn new(measurement: M) -> Self {
        let () = Self::FITS;
        Self { components: measurement.components(), measurement }
    }
}

impl<M: PoseMeasurement<D>, const D: usize> Erased for OfPose<M, D> {
    fn components(&self) -> &[Component] {
        &self.components
    }

    fn is_of_pose(&self) -> bool {
        true
    }

    fn read(&self, raw: &Measurement) -> Result<(Vector3<f64>, Matrix3<f64>), DropReason> {
        let (value, covariance) = numbers::<D>(raw, |_| self.measurement.noise())?;
        Ok((padded_vector(&self.measurement.read(&value, raw.id)?), padded(&covariance)))
    }

    fn expect_landmark(
        &self,
        _: &Mount,
        _: &CheckedMeasurement,
        _: &Vector2<f64>,
        _: &Vector2<f64>,
    ) -> Option<Expected> {
        None
    }

    /// With the sensor at p + R(θ)m, θ + ψ: ∂(p_s, θ_s)/∂(p, θ) = [[I, J R(θ)m], [0, 1]], ∂(p_s, θ_s)/∂(m, ψ) =
    /// diag(R(θ), 1).
    fn expect_pose(&self, mount: &Mount, checked: &CheckedMeasurement, pose: &Se2, at: &Se2) -> Option<Expected> {
        let predict = |base: &Se2| {
            let predicted = self.measurement.predict(&(*base * mount.pose), checked.id)?;
            Some(mount.as_read(&self.components, &predicted))
        };
        let expected = predict(pose)?;
        let of_sensor = mount.scale_rows(&self.components, self.measurement.jacobian(&(*at * mount.pose), checked.id)?);
        let (r, lever) = (at.rotation(), skew(&(at.rotation() * mount.pose.p)));
        let by_base = Matrix3::new(1.0, 0.0, lever.x, 0.0, 1.0, lever.y, 0.0, 0.0, 1.0);
        let at_linearization = if mount.is_calibrated { Some(predict(at)?) } else { None };
        let by_calibration = at_linearization.map(|at_linearization| {
            let by_mount = Matrix3::new(r[(0, 0)], r[(0, 1)], 0.0, r[(1, 0)], r[(1, 1)], 0.0, 0.0, 0.0, 1.0);
            let mut jacobian = SMatrix::<f64, D, OF_ONE_KIND>::zeros();
            jacobian.fixed_columns_mut::<3>(0).copy_from(&(of_sensor * by_mount));
            mount.bias_columns(&self.components, &at_linearization, &mut jacobian);
            SensorJacobian::of_sensor(padded(&jacobian))
        });
        let read: SVector<f64, D> = fixed_vector(&checked.value);
        let residual = residual(&self.components, &read, &expected);
        Some(Expected {
            dim: D,
            residual: padded_vector(&residual),
            by_landmark: Matrix3x2::zeros(),
            by_pose: padded(&(of_sensor * by_base)),
            by_calibration,
            noise: checked.covariance,
        })
    }

    fn place(&self, _: &Mount, _: &CheckedMeasurement) -> Option<(Vector2<f64>, Matrix2<f64>)> {
        None
    }

    fn hypotheses(&self, _: &Mount, _: &CheckedMeasurement) -> Vec<(Vector2<f64>, Matrix2<f64>)> {
        Vec::new()
    }

    fn trust(&self, _: &Vector3<f64>, _: &Matrix3<f64>) -> f64 {
        1.0
    }

    fn simulate(&self, robot: &Se2, mount: &Se2, _: &[(u32, Vector2<f64>)]) -> Vec<(Option<u32>, Vector3<f64>)> {
        let sensor = *robot * *mount;
        let read = |id| Some((id, padded_vector(&self.measurement.predict(&sensor, id)?)));
        self.measurement.measurements(&sensor).into_iter().filter_map(read).collect()
    }

    fn noise(&self) -> Matrix3<f64> {
        padded(&self.measurement.noise())
    }
}

fn padded_vector<const D: usize>(v: &SVector<f64, D>) -> Vector3<f64> {
    padded(v)
}

fn fixed_vector<const D: usize>(v: &Vector3<f64>) -> SVector<f64, D> {
    fixed(v)
}
