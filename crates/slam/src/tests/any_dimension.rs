//! Measurements of one, two and three numbers, of landmarks and of the pose, in one scan and in turns.

use super::*;
use crate::{Component, Filter, LandmarkMeasurement, PoseMeasurement, Sensor};
use nalgebra::{Matrix1, Matrix1x2, Matrix2, Matrix3, Vector1, Vector3};

const POSE_STD: f64 = 0.05;
const RANGE_STD: f64 = 0.02;
const FILTERS: [&str; 5] = ["ekf", "fe-ekf", "reduced", "invariant", "default"];

/// (x, y, θ) of the sensor.
#[derive(Debug)]
struct WholePose;

impl PoseMeasurement<3> for WholePose {
    fn components(&self) -> [Component; 3] {
        [Component::Linear, Component::Linear, Component::Angle]
    }
    fn noise(&self) -> Matrix3<f64> {
        Matrix3::identity() * POSE_STD.powi(2)
    }
    fn predict(&self, sensor: &Se2, _: Option<u32>) -> Option<Vector3<f64>> {
        Some(Vector3::new(sensor.p.x, sensor.p.y, sensor.theta))
    }
    fn jacobian(&self, _: &Se2, _: Option<u32>) -> Option<Matrix3<f64>> {
        Some(Matrix3::identity())
    }
}

/// The distance of a landmark that the map has already.
#[derive(Debug)]
struct RangeAlone;

impl LandmarkMeasurement<1> for RangeAlone {
    fn components(&self) -> [Component; 1] {
        [Component::Range]
    }
    fn noise(&self) -> Matrix1<f64> {
        Matrix1::new(RANGE_STD.powi(2))
    }
    fn predict(&self, z: &Vector2<f64>) -> Vector1<f64> {
        Vector1::new(z.norm())
    }
    fn jacobian(&self, z: &Vector2<f64>) -> Option<Matrix1x2<f64>> {
        (z.norm() > 1e-6).then(|| z.transpose() / z.norm())
    }
}

fn at(k: usize, value: impl Into<crate::Value>, id: Option<u32>) -> (Stamp, Measurement) {
    (stamp(k), Measurement::new(id, value))
}

/// A robot that stands at an uncertain place, with the two sensors.
fn standing(filter: &str, position_std: f64, yaw_std: f64) -> (Slam, [MeasurementKind; 2]) {
    let mut config = config(filter);
    (config.motion.velocity_x_std, config.motion.velocity_y_std, config.motion.yaw_rate_std) = (0.0, 0.0, 0.0);
    (config.initial.x_m, config.initial.y_m, config.initial.yaw_rad) = (3.0, -2.0, 0.8);
    (config.initial.position_std_m, config.initial.yaw_std_rad) = (position_std, yaw_std);
    config.gate.probability = 1.0;
    let mut slam = Slam::with_filter(Filter::named(filter).unwrap(), config).unwrap();
    let kinds = [Sensor::of_pose(WholePose, Se2::identity()), Sensor::of_landmarks(RangeAlone, Se2::identity())];
    let kinds = kinds.map(|sensor| slam.add_sensor(sensor).unwrap());
    slam.odometry(&still(stamp(0))).unwrap();
    (slam, kinds)
}

fn still(stamp: Stamp) -> Odometry {
    Odometry { stamp, velocity: Vector2::zeros(), yaw_rate: 0.0, covariance: None }
}

fn give(slam: &mut Slam, kind: MeasurementKind, (stamp, seen): (Stamp, Measurement)) -> Step {
    slam.odometry(&still(stamp)).unwrap();
    slam.features(stamp, kind, &[seen]).unwrap();
    let steps = drain(slam);
    assert_eq!(steps.len(), 1);
    steps[0]
}

/// P⁺ = (P⁻¹ + R⁻¹)⁻¹, and the mean weighted by both: exact in additive coordinates, and to second order of the
/// correction in those from the left.
#[test]
fn a_measurement_of_the_pose_is_weighed_by_its_information() {
    for filter in FILTERS {
        let (mut slam, [pose, _]) = standing(filter, 0.1, 0.02);
        let step = give(&mut slam, pose, at(1, [3.01, -1.99, 0.805], None));
        assert_eq!((step.accepted, step.dof, step.added), (1, 3, 0), "{filter}");
        let prior = Matrix3::from_diagonal(&Vector3::new(0.01, 0.01, 0.0004));
        let noise = Matrix3::identity() * POSE_STD.powi(2);
        let expected = (prior.try_inverse().unwrap() + noise.try_inverse().unwrap()).try_inverse().unwrap();
        let error = (step.estimate.covariance - expected).amax();
        assert!(error < 5e-3 * expected.amax(), "{filter}: {error}");
        let gain = prior * (prior + noise).try_inverse().unwrap();
        let moved = gain * Vector3::new(0.01, 0.01, 0.005);
        let found = step.estimate.pose.p - Vector2::new(3.0, -2.0);
        assert!((found - moved.xy()).norm() < 1e-4, "{filter}: {found}");
        assert!((step.estimate.pose.theta - 0.8 - moved.z).abs() < 1e-5, "{filter}");
    }
}

/// A landmark seen from an uncertain place, then the pose, then the landmark's range: what the pose tells reaches the
/// landmark through the correlation, and every filter comes to the same numbers, that are those of one batch.
#[test]
fn what_is_learned_of_the_pose_reaches_the_map() {
    let landmark = Vector2::new(6.0, 1.0);
    let truth = Se2::new(3.02, -1.985, 0.804);
    let z = truth.transform_back(&landmark);
    for filter in FILTERS {
        let (mut slam, [pose, range]) = standing(filter, 0.1, 0.02);
        let started = give(&mut slam, MeasurementKind::RelativePosition, at(1, z, Some(4)));
        assert_eq!(started.added, 1);
        let before = slam.landmarks().next().unwrap();
        give(&mut slam, pose, at(2, [truth.p.x, truth.p.y, truth.theta], None));
        let between = slam.landmarks().next().unwrap();
        let step = give(&mut slam, range, at(3, [z.norm()], Some(4)));
        assert_eq!((step.accepted, step.dof), (1, 1), "{filter}");
        let after = slam.landmarks().next().unwrap();
        assert!(between.covariance.trace() < 0.7 * before.covariance.trace(), "{filter}: {}", between.covariance);
        assert!((between.position - landmark).norm() < (before.position - landmark).norm(), "{filter}");
        assert!(after.covariance.trace() < between.covariance.trace(), "{filter}");

        let batch = batch(&z, &landmark, &truth);
        assert!((after.covariance - batch).amax() < 0.02 * batch.amax(), "{filter}: {} {batch}", after.covariance);
    }
}

/// Covariance of the landmark from all measurements at once: unknowns (x, y, θ, landmark), linearized at the truth.
fn batch(z: &Vector2<f64>, landmark: &Vector2<f64>, truth: &Se2) -> Matrix2<f64> {
    use nalgebra::{SMatrix, Vector5};
    let mut information = SMatrix::<f64, 5, 5>::zeros();
    for (k, std) in [0.1, 0.1, 0.02].into_iter().enumerate() {
        information[(k, k)] += 1.0 / (std * std) + 1.0 / POSE_STD.powi(2);
    }
    let back = truth.rotation().transpose();
    let delta = landmark - truth.p;
    let by_yaw = back * Vector2::new(delta.y, -delta.x);
    let mut position = SMatrix::<f64, 2, 5>::zeros();
    position.fixed_view_mut::<2, 2>(0, 0).copy_from(&-back);
    position.fixed_view_mut::<2, 1>(0, 2).copy_from(&by_yaw);
    position.fixed_view_mut::<2, 2>(0, 3).copy_from(&back);
    information += position.transpose() * position / POSITION_STD.powi(2);
    let range: Vector5<f64> = (z.transpose() / z.norm() * position).transpose();
    information += range * range.transpose() / RANGE_STD.powi(2);
    information.try_inverse().unwrap().fixed_view::<2, 2>(3, 3).into_owned()
}

#[test]
fn a_measurement_that_places_nothing_starts_no_landmark() {
    let (mut slam, [_, range]) = standing("default", 0.0, 0.0);
    let step = give(&mut slam, range, at(1, [4.0], Some(9)));
    assert_eq!((step.added, step.rejected, step.landmarks), (0, 1, 0));
    assert_eq!(slam.counts().get(crate::DropReason::OutOfRange), 1);
}

#[test]
fn measurements_that_no_sensor_has_are_counted() {
    let (mut slam, [pose, _]) = standing("default", 0.1, 0.1);
    let step = give(&mut slam, pose, at(1, [1.0, 2.0], None));
    assert_eq!((step.accepted, step.rejected), (0, 1));
    assert_eq!(slam.counts().get(crate::DropReason::WrongDimension), 1);
    give(&mut slam, MeasurementKind::Added(7), at(2, [1.0], None));
    assert_eq!(slam.counts().get(crate::DropReason::UnknownSensor), 1);
}
