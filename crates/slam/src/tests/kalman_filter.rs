//! A filter that a program steps by itself.

use super::with_stated_noise;
use crate::{
    Block, Config, DropReason, Filter, Increment, KalmanFilter, Measurement, MeasurementKind, Odometry, Se2, Sensor,
    Slam, Stamp,
};
use lienav_planar::measurement::Bearing;
use nalgebra::{Matrix3, Vector2};

const STEP_S: f64 = 0.1;

fn twist(k: i32) -> Odometry {
    let stamp = Stamp::from_secs(STEP_S * f64::from(k));
    Odometry { stamp, velocity: Vector2::new(1.0, 0.02), yaw_rate: 0.3, covariance: None }
}

/// What a robot that drives as the twists say measures, without noise but for the last digits.
fn seen(k: i32) -> Vec<Measurement> {
    let landmarks = [(4.0, 1.0), (2.0, 5.0), (-3.0, 3.0)].map(|(x, y)| Vector2::new(x, y));
    let mut pose = Se2::identity();
    for _ in 0..k {
        pose = pose * Se2::exp(&nalgebra::Vector3::new(STEP_S, 0.002, 0.3 * STEP_S));
    }
    let measured = |(id, p): (usize, &Vector2<f64>)| {
        let z = pose.transform_back(p);
        let wrong = 0.01 * f64::from((7 * k + id as i32) % 5 - 2);
        Measurement::new(Some(id as u32), [z.norm() + wrong, z.y.atan2(z.x) + wrong])
    };
    landmarks.iter().enumerate().map(measured).collect()
}

#[test]
fn it_takes_the_steps_of_the_pipeline() {
    for name in ["default", "ekf", "reduced", "fe-ekf"] {
        let mut slam = Slam::new(Config { filter: name.to_owned(), ..with_stated_noise() }).unwrap();
        let mut filter = KalmanFilter::new(Filter::named(name).unwrap(), with_stated_noise()).unwrap();
        let (mut steps, mut last) = (0, None);
        for k in 0..=50 {
            slam.odometry(&twist(k)).unwrap();
            slam.features(twist(k).stamp, MeasurementKind::RangeBearing, &seen(k)).unwrap();
            if k > 0 {
                filter.predict_twist(&twist(k), STEP_S).unwrap();
            }
            let correction = filter.correct(MeasurementKind::RangeBearing, &seen(k)).unwrap();
            while let Some(step) = slam.poll() {
                (steps, last) = (steps + 1, Some(step));
            }
            assert_eq!(correction.accepted + correction.added, 3, "{name} {k}: {correction:?}");
        }
        assert_eq!(steps, 51, "{name}");
        let (estimate, (pose, covariance)) = (last.unwrap().estimate, filter.pose());
        assert_eq!((estimate.pose, estimate.covariance), (pose, covariance), "{name}");
    }
}

#[test]
fn the_joint_covariance_is_that_of_pose_and_landmarks_in_the_map_for_every_filter() {
    for (name, filter) in Filter::TABLE {
        if filter.stereo != crate::StereoModel::Bearings || name.starts_with("thesis") {
            continue;
        }
        let mut config = with_stated_noise();
        config.calibration.bias_w = crate::Prior { sigma: 0.01, ..config.calibration.bias_w };
        let mut filter = KalmanFilter::new(filter, config).unwrap();
        for k in 0..12 {
            filter.predict_twist(&twist(k), STEP_S).unwrap();
            filter.correct(MeasurementKind::RangeBearing, &seen(k + 1)).unwrap();
        }
        let (mean, covariance, blocks) = (filter.mean(), filter.covariance(), filter.blocks());
        let (pose, of_pose) = filter.pose();
        assert!((covariance.view((0, 0), (3, 3)) - of_pose).norm() < 1e-9 * of_pose.norm(), "{name}");
        assert_eq!((mean[0], mean[1]), (pose.p.x, pose.p.y), "{name}");
        assert_eq!(blocks.last().unwrap().1.end, mean.len(), "{name}");
        assert!(blocks.windows(2).all(|pair| pair[0].1.end == pair[1].1.start), "{name}: {blocks:?}");
        for landmark in filter.landmarks() {
            let (_, range) = blocks.iter().find(|(block, _)| *block == Block::Landmark(landmark.id)).unwrap();
            let own = covariance.view((range.start, range.start), (2, 2)) - landmark.covariance;
            assert!(own.norm() < 1e-9 * landmark.covariance.norm(), "{name}");
            assert!((mean.rows(range.start, 2) - landmark.position).norm() < 1e-12, "{name}");
        }
        assert!(covariance.symmetric_eigenvalues().min() > -1e-12, "{name}");
    }
}

#[test]
fn innovations_and_their_covariance_give_the_nis() {
    let mut filter = KalmanFilter::new(Filter::named("ekf").unwrap(), with_stated_noise()).unwrap();
    for k in 0..20 {
        filter.predict_twist(&twist(k), STEP_S).unwrap();
        let correction = filter.correct(MeasurementKind::RangeBearing, &seen(k + 1)).unwrap();
        if correction.accepted > 0 {
            let inverse = correction.innovation_covariance.clone().cholesky().unwrap().inverse();
            let nis = correction.innovation.dot(&(inverse * &correction.innovation));
            assert!((nis - correction.nis).abs() < 1e-9 * (1.0 + nis), "{nis} {}", correction.nis);
            assert_eq!(correction.used.last().unwrap().1.end, correction.dof);
        }
    }
}

#[test]
fn a_sensor_of_the_program_corrects_with_the_others() {
    let mut filter = KalmanFilter::new(Filter::default(), with_stated_noise()).unwrap();
    let camera = Bearing { std_rad: 0.01, min_range_m: 0.1, max_range_m: 20.0 };
    let camera = filter.add_sensor(Sensor::of_landmarks(camera, Se2::new(0.1, 0.0, 0.0))).unwrap();
    filter.correct(MeasurementKind::RangeBearing, &[Measurement::new(Some(1), [5.0, 0.0])]).unwrap();
    let correction = filter.correct(camera, &[Measurement::new(Some(1), [0.01])]).unwrap();
    assert_eq!((correction.accepted, correction.dof), (1, 1));
    let other = MeasurementKind::Added(1);
    assert_eq!(filter.correct(other, &[]).unwrap_err(), DropReason::UnknownSensor);
}

#[test]
fn bad_input_changes_nothing() {
    let mut filter = KalmanFilter::new(Filter::default(), with_stated_noise()).unwrap();
    filter.correct(MeasurementKind::RangeBearing, &seen(0)).unwrap();
    let before = (filter.mean(), filter.covariance());
    let motion = |x: f64, covariance| Increment { motion: Se2::new(x, 0.0, 0.0), covariance, drift: None };
    let good = Matrix3::identity() * 1e-4;
    assert_eq!(filter.predict(&motion(f64::NAN, good), 0.1), Err(DropReason::NotFinite));
    assert_eq!(filter.predict(&motion(1.0, good), f64::INFINITY), Err(DropReason::NotFinite));
    assert_eq!(filter.predict(&motion(1.0, good), -0.1), Err(DropReason::Absurd));
    assert_eq!(filter.predict(&motion(1.0, -good), 0.1), Err(DropReason::BadCovariance));
    let correction =
        filter.correct(MeasurementKind::RangeBearing, &[Measurement::new(Some(9), [f64::NAN, 0.0])]).unwrap();
    assert_eq!((correction.accepted, correction.refused.get(DropReason::NotFinite)), (0, 1));
    assert_eq!((filter.mean(), filter.covariance()), before);
}

#[test]
fn a_known_map_is_refused_with_a_sentence() {
    let mut config = with_stated_noise();
    config.map.mode = crate::MapMode::Localization;
    let refused = KalmanFilter::new(Filter::default(), config).err().unwrap().to_string();
    assert!(refused.contains("map.mode") && refused.contains("Slam"), "{refused}");
}

/// A model that fails where a program has made a mistake.
#[derive(Debug)]
struct Broken;

impl crate::LandmarkMeasurement<1> for Broken {
    fn components(&self) -> [crate::Component; 1] {
        [crate::Component::Linear]
    }

    fn noise(&self) -> nalgebra::Matrix1<f64> {
        nalgebra::Matrix1::new(1.0)
    }

    fn predict(&self, _: &Vector2<f64>) -> nalgebra::Vector1<f64> {
        nalgebra::Vector1::new(f64::NAN)
    }

    fn jacobian(&self, _: &Vector2<f64>) -> Option<nalgebra::Matrix1x2<f64>> {
        Some(nalgebra::Matrix1x2::new(1.0, f64::NAN))
    }
}

#[test]
fn a_model_that_gives_no_numbers_changes_nothing() {
    for name in ["default", "ekf", "reduced"] {
        let mut filter = KalmanFilter::new(Filter::named(name).unwrap(), with_stated_noise()).unwrap();
        let broken = filter.add_sensor(Sensor::of_landmarks(Broken, Se2::identity())).unwrap();
        filter.correct(MeasurementKind::RangeBearing, &seen(0)).unwrap();
        let before = (filter.mean(), filter.covariance());
        let correction = filter.correct(broken, &[Measurement::new(Some(1), [1.0])]).unwrap();
        assert_eq!(correction.accepted, 0, "{name}: {correction:?}");
        assert_eq!((filter.mean(), filter.covariance()), before, "{name}");
    }
}
