//! Each measurement against finite differences, and what is unusable.

use super::*;
use crate::calibration::{Calibration, CalibrationParameter};
use crate::checked::CheckedMeasurement;
use crate::config::{CalibrationConfig, SensorConfig};
use crate::filter::{NoiseAt, StereoModel};
use crate::input::{Measurement, MeasurementKind};
use crate::sensor::{Sensor, Sensors};
use crate::tilt_noise::{TiltInState, TiltNoise};
use lienav_base::stamp::Stamp;
use lienav_lie::wrap_angle;
use nalgebra::{Matrix1x2, Matrix3, Vector1, Vector3};
use proptest::prelude::*;

const KINDS: [MeasurementKind; 3] =
    [MeasurementKind::RelativePosition, MeasurementKind::RangeBearing, MeasurementKind::StereoBearings];

/// A bearing alone: a measurement of one number that places no landmark.
#[derive(Debug)]
struct BearingAlone;

impl LandmarkMeasurement<1> for BearingAlone {
    fn components(&self) -> [Component; 1] {
        [Component::Bearing]
    }
    fn noise(&self) -> SMatrix<f64, 1, 1> {
        SMatrix::<f64, 1, 1>::new(1e-4)
    }
    fn predict(&self, z: &Vector2<f64>) -> Vector1<f64> {
        Vector1::new(z.y.atan2(z.x))
    }
    fn jacobian(&self, z: &Vector2<f64>) -> Option<Matrix1x2<f64>> {
        let square = z.norm_squared();
        (square > TOO_NEAR_M * TOO_NEAR_M).then(|| Matrix1x2::new(-z.y, z.x) / square)
    }
}

/// The pose itself.
#[derive(Debug)]
struct WholePose;

impl PoseMeasurement<3> for WholePose {
    fn components(&self) -> [Component; 3] {
        [Component::Linear, Component::Linear, Component::Angle]
    }
    fn noise(&self) -> Matrix3<f64> {
        Matrix3::identity() * 1e-2
    }
    fn predict(&self, sensor: &Se2, _: Option<u32>) -> Option<Vector3<f64>> {
        Some(Vector3::new(sensor.p.x, sensor.p.y, sensor.theta))
    }
    fn jacobian(&self, _: &Se2, _: Option<u32>) -> Option<Matrix3<f64>> {
        Some(Matrix3::identity())
    }
}

fn uncalibrated() -> Calibration {
    Calibration::new(&CalibrationConfig::default())
}

/// The configured sensors, then a bearing and a pose.
fn sensors(stereo: StereoModel) -> (Sensors, Vec<Mount>) {
    let config = SensorConfig { x_m: 0.2, y_m: -0.1, yaw_rad: 0.3, ..SensorConfig::default() };
    let mount = Se2::new(0.4, 0.3, -0.5);
    let added = [Sensor::of_landmarks(BearingAlone, mount), Sensor::of_pose(WholePose, mount)];
    let sensors = Sensors::new(&config, stereo, &added);
    let mounts = sensors.mounts(&uncalibrated());
    (sensors, mounts)
}

const TRIANGULATED: StereoModel = StereoModel::Triangulated(NoiseAt::Measured);

fn measurement(value: impl Into<Value>) -> Measurement {
    Measurement::new(None, value)
}

/// What a perfect sensor reads of a landmark at `z` in the sensor frame.
fn perfect(kind: MeasurementKind, z: &Vector2<f64>) -> Measurement {
    let bearing = |y: f64| (z.y - y).atan2(z.x);
    match kind {
        MeasurementKind::RelativePosition => measurement(*z),
        MeasurementKind::StereoBearings => measurement([bearing(0.25), bearing(-0.25)]),
        MeasurementKind::RangeBearing => measurement([z.norm(), bearing(0.0)]),
        MeasurementKind::Range => measurement([z.norm()]),
        _ => measurement([bearing(0.0)]),
    }
}

proptest! {
    #[test]
    fn placing_a_perfect_measurement_gives_the_landmark(x in 0.5..20.0f64, y in -8.0..8.0f64) {
        for stereo in [TRIANGULATED, StereoModel::Bearings] {
            let ((sensors, mounts), z) = (sensors(stereo), Vector2::new(x, y));
            // Bearings place nothing whose parallax their noise hides: at the sides of the cameras, that of the
            // default does.
            let covariance = (stereo == StereoModel::Bearings).then(|| Noise::from(Matrix2::identity() * 1e-6));
            for kind in KINDS {
                let checked = sensors.read(kind, &Measurement { covariance, ..perfect(kind, &z) }).unwrap();
                let (found, covariance) = sensors.place(&mounts, &checked).unwrap();
                prop_assert!((found - mounts[0].pose.transform(&z)).norm() < 1e-9);
                prop_assert!(covariance.determinant() > 0.0);
                prop_assert!(sensors.expect(&mounts, &checked, &found, &found).unwrap().residual.norm() < 1e-9);
            }
        }
    }

    #[test]
    fn jacobians_by_the_landmark_against_finite_differences(x in 0.5..20.0f64, y in -8.0..8.0f64) {
        for stereo in [TRIANGULATED, StereoModel::Bearings] {
            let ((sensors, mounts), z, h) = (sensors(stereo), Vector2::new(x, y), 1e-6);
            for kind in KINDS.into_iter().chain([MeasurementKind::Range, MeasurementKind::Bearing, MeasurementKind::Added(0)]) {
                let checked = sensors.read(kind, &perfect(kind, &Vector2::new(2.0, 0.5))).unwrap();
                let jacobian = sensors.expect(&mounts, &checked, &z, &z).unwrap().by_landmark;
                for k in 0..2 {
                    let mut dz = Vector2::zeros();
                    dz[k] = h;
                    let at = |z: Vector2<f64>| sensors.expect(&mounts, &checked, &z, &z).unwrap().residual;
                    let numeric = (at(z - dz) - at(z + dz)).map(wrap_angle) / (2.0 * h);
                    prop_assert!((numeric - jacobian.column(k)).norm() < 1e-6 * (1.0 + numeric.norm()));
                }
            }
        }
    }

    #[test]
    fn jacobians_by_the_pose_against_finite_differences(x in -9.0..9.0f64, y in -8.0..8.0f64, theta in -3.0..3.0f64) {
        let ((sensors, _), pose, h) = (sensors(TRIANGULATED), Se2::new(x, y, theta), 1e-6);
        let mut calibration = uncalibrated();
        calibration.set_world(&Se2::new(3.0, -2.0, 1.1));
        let mounts = sensors.mounts(&calibration);
        let seen = [
            (MeasurementKind::Added(1), measurement([1.0, 2.0, 0.3])),
            (MeasurementKind::WorldPosition, measurement([1.0, 2.0])),
            (MeasurementKind::WorldPose, measurement([1.0, 2.0, 0.3])),
        ];
        for ((kind, seen), k) in seen.into_iter().flat_map(|seen| [0, 1, 2].map(|k| (seen, k))) {
            let checked = sensors.read(kind, &seen).unwrap();
            let jacobian = sensors.expect_pose(&mounts, &checked, &pose, &pose).unwrap().by_pose;
            let at = |sign: f64| {
                let mut moved = pose;
                match k {
                    0 => moved.p.x += sign * h,
                    1 => moved.p.y += sign * h,
                    _ => moved.theta += sign * h,
                }
                sensors.expect_pose(&mounts, &checked, &moved, &moved).unwrap().residual
            };
            let numeric = (at(-1.0) - at(1.0)).map(wrap_angle) / (2.0 * h);
            prop_assert!((numeric - jacobian.column(k)).norm() < 1e-6 * (1.0 + numeric.norm()), "{kind:?} {k}: {numeric}");
        }
    }

    #[test]
    fn jacobians_by_the_calibration_against_finite_differences(x in 1.0..9.0f64, y in -4.0..4.0f64, theta in -3.0..3.0f64) {
        let mut priors = CalibrationConfig::default();
        for parameter in &crate::calibration::CalibrationParameter::ALL[crate::calibration::MOTION..] {
            if let Some(prior) = priors.prior_mut(*parameter) {
                prior.sigma = 0.1;
            }
        }
        (priors.world.frame, priors.world.error_std_m) = (crate::config::WorldFrame::Estimated, 0.5);
        let mut calibration = Calibration::new(&priors);
        calibration.set_world(&Se2::new(y, -x, 0.7 * theta));
        calibration.set_tilt(Some(TiltInState::new(TiltNoise { std_rad: 0.01, time_s: 1.0 }, Stamp::default())));
        calibration.correct_one(CalibrationParameter::Pitch, 0.02);
        let ((sensors, _), z, pose, h) = (sensors(StereoModel::Bearings), Vector2::new(x, y), Se2::new(x, y, theta), 1e-6);
        let mounts = sensors.mounts(&calibration);
        let expect = |mounts: &[Mount], checked: &CheckedMeasurement| match sensors.is_of_pose(checked) {
            true => sensors.expect_pose(mounts, checked, &pose, &pose).unwrap(),
            false => sensors.expect(mounts, checked, &z, &z).unwrap(),
        };
        let values = KINDS.map(|kind| (kind, perfect(kind, &z))).into_iter().chain([
            (MeasurementKind::Range, perfect(MeasurementKind::Range, &z)),
            (MeasurementKind::Bearing, perfect(MeasurementKind::Bearing, &z)),
            (MeasurementKind::WorldPosition, measurement([1.0, 2.0])),
            (MeasurementKind::WorldPose, measurement([1.0, 2.0, 0.3])),
            (MeasurementKind::Added(0), measurement([0.3])),
            (MeasurementKind::Added(1), measurement([1.0, 2.0, 0.3])),
        ]);
        for (kind, seen) in values {
            let checked = sensors.read(kind, &Measurement { height_m: 1.7, ..seen }).unwrap();
            let jacobian = expect(&mounts, &checked).by_calibration.unwrap();
            for k in 0..crate::calibration::SENSOR {
                let at = |sign: f64| {
                    let mut moved = calibration.clone();
                    moved.correct_one(CalibrationParameter::ALL[crate::calibration::MOTION + k], sign * h);
                    expect(&sensors.mounts(&moved), &checked).residual
                };
                let numeric = (at(-1.0) - at(1.0)).map(wrap_angle) / (2.0 * h);
                prop_assert!((numeric - jacobian.column(k)).norm() < 1e-6 * (1.0 + numeric.norm()), "{kind:?} {k}: \
                    {numeric}");
            }
        }
    }

    #[test]
    fn nothing_that_is_read_panics(numbers in prop::array::uniform4(prop::num::f64::ANY), dim in 1..=3usize) {
        let (sensors, mounts) = sensors(TRIANGULATED);
        let [x, y, a, b] = numbers;
        let (value, covariance) = match dim {
            1 => (Value::from([x]), Noise::from(a)),
            2 => (Value::from([x, y]), Noise::from(Matrix2::new(a, b, b, a))),
            _ => (Value::from([x, y, a]), Noise::from(Matrix3::new(a, b, x, b, a, y, x, y, a))),
        };
        for kind in KINDS.into_iter().chain([MeasurementKind::Added(0), MeasurementKind::Added(1), MeasurementKind::Added(2)]) {
            if let Ok(checked) = sensors.read(kind, &Measurement { covariance: Some(covariance), ..Measurement::new(Some(3), value) }) {
                let _ = sensors.place(&mounts, &checked);
                let _ = sensors.expect(&mounts, &checked, &Vector2::new(y, x), &Vector2::new(a, b));
                let _ = sensors.expect_pose(&mounts, &checked, &Se2::new(x, y, a), &Se2::new(a, b, x));
            }
        }
    }
}

/// 1ᵀΣ⁻¹1 of measurements that are alike for a time, against the sum of the information of independent ones. R = J Q Jᵀ
/// is that of the place the landmark is believed to be at, also for a filter whose Jacobians are evaluated at first
/// estimates.
#[test]
fn the_noise_of_a_triangulated_position_is_that_of_the_predicted_point() {
    let (sensors, mounts) = sensors(StereoModel::Triangulated(NoiseAt::Predicted));
    let (z, first) = (Vector2::new(3.0, 0.4), Vector2::new(4.5, 0.7));
    let checked = sensors.read(MeasurementKind::StereoBearings, &perfect(MeasurementKind::StereoBearings, &z)).unwrap();
    let noise = |linearized_at: &Vector2<f64>| sensors.expect(&mounts, &checked, &z, linearized_at).unwrap().noise;
    assert_eq!(noise(&first), noise(&z));
    let farther = sensors.expect(&mounts, &checked, &first, &z).unwrap().noise;
    assert!(farther.trace() > 2.0 * noise(&z).trace(), "{farther}");
}

#[test]
fn measurements_that_repeat_one_another_tell_what_they_tell_together() {
    let config = SensorConfig { correlation_s: 2.0, ..SensorConfig::default() };
    let s = Sensors::new(&config, StereoModel::Bearings, &[]);
    let (n, dt) = (12, 0.3);
    let sigma = nalgebra::DMatrix::from_fn(n, n, |i, j| (-dt * (i as f64 - j as f64).abs() / 2.0).exp());
    let together = sigma.try_inverse().unwrap().sum();
    let one_by_one = 1.0 + (n - 1) as f64 / s.repetition(&CheckedMeasurement::BLANK, dt);
    assert!((together / one_by_one - 1.0).abs() < 1e-12);
    assert!((s.repetition(&CheckedMeasurement::BLANK, 1e3) - 1.0).abs() < 1e-12);
}

#[test]
fn unusable_measurements_are_named() {
    let (s, _) = sensors(TRIANGULATED);
    let with = |value: [f64; 2], c: Matrix2<f64>| Measurement { covariance: Some(c.into()), ..measurement(value) };
    let cases = [
        (MeasurementKind::RangeBearing, measurement([f64::NAN, 0.0]), DropReason::NotFinite),
        (MeasurementKind::RangeBearing, measurement([-1.0, 0.0]), DropReason::Absurd),
        (MeasurementKind::RangeBearing, measurement([1.0, 1e6]), DropReason::Absurd),
        (MeasurementKind::RangeBearing, measurement([1e6, 0.0]), DropReason::OutOfRange),
        (MeasurementKind::RangeBearing, with([1.0, 0.0], Matrix2::new(1.0, 2.0, 2.0, 1.0)), DropReason::BadCovariance),
        (MeasurementKind::RangeBearing, with([1.0, 0.0], Matrix2::new(f64::NAN, 0.0, 0.0, 1.0)), DropReason::NotFinite),
        (MeasurementKind::RangeBearing, measurement([1.0]), DropReason::WrongDimension),
        (MeasurementKind::StereoBearings, measurement([0.2, 0.1]), DropReason::OutOfRange),
        (MeasurementKind::StereoBearings, measurement([3.0, 3.1]), DropReason::OutOfRange),
        (MeasurementKind::Added(0), measurement([1.0, 0.0]), DropReason::WrongDimension),
        (MeasurementKind::Added(2), measurement([1.0]), DropReason::UnknownSensor),
    ];
    for (kind, measurement, reason) in cases {
        assert_eq!(s.read(kind, &measurement).unwrap_err(), reason, "{kind:?} {measurement:?}");
    }
}
