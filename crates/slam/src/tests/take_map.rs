//! The map of a run, and a map for a run.

use super::*;
use crate::{Coordinates, LandmarkMap, LandmarkMapError, MapLandmark, TakeMapError};
use lienav_lie::rotation;
use nalgebra::{DMatrix, DVector, Matrix2, Matrix3, Vector3};

const FILTERS: [&str; 6] = ["default", "invariant", "reduced", "ekf", "fe-ekf", "thesis-ekf"];

/// A run whose pose is uncertain.
fn driven(filter: &str) -> Slam {
    let (mut slam, _) = run(filter, &recording(40, 21));
    let covariance = Matrix3::new(0.04, 0.01, 0.002, 0.01, 0.09, -0.003, 0.002, -0.003, 0.01);
    slam.set_pose(Se2::new(20.0, -7.0, 0.9), &covariance).unwrap();
    for instant in recording(60, 21).iter().skip(40) {
        feed(&mut slam, instant);
    }
    slam
}

/// The positions of the landmarks where the errors of the state are `errors`.
fn positions(slam: &Slam, errors: &DVector<f64>) -> DVector<f64> {
    let state = slam.state();
    let first = Vector3::new(errors[0], errors[1], errors[2]);
    let pose = match state.coordinates {
        Coordinates::Invariant => Se2::exp(&first) * state.pose,
        _ => Se2 { p: state.pose.p + first.xy(), theta: state.pose.theta + first.z },
    };
    let mut found = DVector::zeros(2 * state.landmarks.len());
    for i in 0..state.landmarks.len() {
        let row = state.covariance.row_of(i);
        let own = Vector2::new(errors[row], errors[row + 1]);
        let position = match state.coordinates {
            Coordinates::World => state.landmarks[i].x + own,
            Coordinates::Robot => pose.transform(&(state.landmarks[i].x + own)),
            Coordinates::Invariant => {
                pose.transform(&(state.in_robot(i) + rotation(state.pose.theta).transpose() * own))
            }
        };
        found.rows_mut(2 * i, 2).copy_from(&position);
    }
    found
}

#[test]
fn the_joint_covariance_is_that_of_the_state_by_finite_differences() {
    for filter in FILTERS {
        let slam = driven(filter);
        let (state, map) = (slam.state(), slam.map());
        let n = state.covariance.dim();
        let step = 1e-6;
        let mut jacobian = DMatrix::zeros(2 * state.landmarks.len(), n);
        for k in 0..n {
            let mut errors = DVector::zeros(n);
            errors[k] = step;
            let change = positions(&slam, &errors) - positions(&slam, &-errors);
            jacobian.set_column(k, &(change / (2.0 * step)));
        }
        let expected = &jacobian * state.covariance.to_matrix() * jacobian.transpose();
        let joint = map.joint.as_ref().unwrap();
        assert!((joint - &expected).amax() < 1e-8 * expected.amax(), "{filter}: {}", (joint - &expected).amax());
        assert!((joint - joint.transpose()).amax() == 0.0);
        assert!(joint[(0, 2)].abs() > 1e-3, "{filter}: landmarks share the error of the pose");
        assert_eq!(map.check(), Ok(()));
    }
}

#[test]
fn its_landmarks_are_those_of_the_map() {
    for filter in FILTERS {
        let slam = driven(filter);
        let map = slam.map();
        assert_eq!(map, slam.save().map());
        for (landmark, known) in slam.landmarks().zip(&map.landmarks) {
            assert_eq!((landmark.id, landmark.position), (known.id, known.position));
            assert!((landmark.covariance - known.covariance).amax() < 1e-14, "{filter}");
        }
    }
}

#[test]
fn a_map_that_was_taken_is_the_map() {
    for filter in FILTERS {
        let map = driven(filter).map();
        let mut slam = driven(filter);
        for instant in recording(80, 22).iter().skip(60) {
            feed(&mut slam, instant);
        }
        // Odometry that no step has used yet.
        slam.odometry(&recording(90, 22)[80].odometry).unwrap();
        let before = slam.predicted().unwrap();
        slam.take_map(&map).unwrap();
        let after = slam.predicted().unwrap();
        assert!((before.pose.p - after.pose.p).norm() < 1e-12 && (before.covariance - after.covariance).amax() < 1e-12);
        let taken = slam.map();
        for (taken, known) in taken.landmarks.iter().zip(&map.landmarks) {
            assert_eq!(taken.id, known.id);
            assert!((taken.position - known.position).norm() < 1e-12, "{filter}");
        }
        let (taken, known) = (taken.joint.unwrap(), map.joint.clone().unwrap());
        assert!((&taken - &known).amax() < 1e-12 * known.amax().max(1.0), "{filter}: {}", (taken - known).amax());
    }
}

/// The landmarks of [`recording`], in its map.
fn survey() -> LandmarkMap {
    let landmark = |i: u32| MapLandmark {
        id: i,
        class: 0,
        position: Se2::new(0.0, 3.0, f64::from(i) * std::f64::consts::FRAC_PI_4).transform(&Vector2::new(4.0, 0.0)),
        covariance: Matrix2::identity() * 1e-4,
    };
    LandmarkMap { landmarks: (0..8).map(landmark).collect(), joint: None, near: None }
}

/// The start is 0.3 m and 0.1 rad off, and known to be so uncertain: landmarks of a survey tell where the robot is.
#[test]
fn a_survey_tells_a_robot_where_it_is() {
    for filter in ["default", "invariant", "reduced", "ekf"] {
        let mut config = config(filter);
        (config.initial.x_m, config.initial.yaw_rad) = (0.3, 0.1);
        (config.initial.position_std_m, config.initial.yaw_std_rad) = (0.3, 0.1);
        let mut slam = Slam::new(config).unwrap();
        slam.take_map(&survey()).unwrap();
        let mut rejected = 0;
        for instant in recording(60, 23) {
            for step in feed(&mut slam, &instant) {
                assert_eq!(step.added, 0, "{filter}");
                rejected += step.rejected;
                let error = (step.estimate.pose.p - instant.truth.p).norm();
                assert!(error < 0.12, "{filter}: {error} m at {}", step.estimate.stamp);
            }
        }
        assert!(rejected < 5, "{filter}: {rejected} of 480 readings");
        let std = slam.predicted().unwrap().covariance.m11.sqrt();
        assert!(std < 0.05, "{filter}: {std}");
    }
}

#[test]
fn what_is_no_map_or_too_large_changes_nothing() {
    let (mut slam, _) = run("default", &recording(20, 24));
    let before = slam.map();
    let mut map = survey();
    map.landmarks[3].id = 5;
    assert_eq!(slam.take_map(&map), Err(TakeMapError::NoMap(LandmarkMapError::DuplicateId(5))));
    let mut small = config("default");
    small.map.max_features = 3;
    let mut small = Slam::new(small).unwrap();
    let refused = small.take_map(&survey()).unwrap_err();
    assert_eq!(refused, TakeMapError::TooManyLandmarks { landmarks: 8, most: 3 });
    assert!(refused.to_string().contains("'map.max_features' is 3: raise it"));
    assert_eq!((slam.map(), small.landmarks().count()), (before, 0));
}
