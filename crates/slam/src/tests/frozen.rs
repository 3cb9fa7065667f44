//! Landmarks of a known map in the state: as they enter it, and frozen ones against those that are not.

use super::laws::correlated;
use super::{linearized, stamp, with_stated_noise};
use crate::{
    Coordinates, Filter, LandmarkMap, MapLandmark, Measurement, MeasurementKind, NearCovariances, Se2, StereoModel,
};
use lienav_associate::active_landmarks::activate_all;
use lienav_planar::known_map::KnownMap;
use lienav_planar::linearize::Match;
use lienav_planar::motion::Increment;
use lienav_planar::propagate::{Rows, propagate};
use lienav_planar::sensor::Sensors;
use lienav_planar::state::State;
use lienav_planar::update::{Workspace, update};
use nalgebra::{DMatrix, DVector, Matrix2, Matrix3, Vector2, Vector3};

const COORDINATES: [Coordinates; 3] = [Coordinates::World, Coordinates::Robot, Coordinates::Invariant];

fn known_landmarks() -> LandmarkMap {
    let landmark = |id: u32| MapLandmark {
        id: 100 + id,
        class: 0,
        position: Vector2::new(2.0 + f64::from(id), 1.0 - 3.0 * f64::from(id)),
        covariance: Matrix2::new(0.09, 0.02, 0.02, 0.04),
    };
    let shared = Matrix2::new(0.03, 0.01, -0.005, 0.02);
    let mut joint = DMatrix::zeros(4, 4);
    for k in [0, 1] {
        joint.fixed_view_mut::<2, 2>(2 * k, 2 * k).copy_from(&landmark(0).covariance);
    }
    joint.fixed_view_mut::<2, 2>(0, 2).copy_from(&shared);
    joint.fixed_view_mut::<2, 2>(2, 0).copy_from(&shared.transpose());
    LandmarkMap { landmarks: vec![landmark(0), landmark(1)], joint: Some(joint), near: None }
}

/// The error of a landmark in the coordinates of the state, for a true pose that is off by `d` in the same coordinates
/// and a true place that is off by `dp`.
fn error_of(state: &State, d: &Vector3<f64>, p: &Vector2<f64>, dp: &Vector2<f64>) -> Vector2<f64> {
    let pose = match state.coordinates {
        Coordinates::Invariant => Se2::exp(d) * state.pose,
        _ => Se2::new(state.pose.p.x + d.x, state.pose.p.y + d.y, state.pose.theta + d.z),
    };
    let dz = pose.transform_back(&(p + dp)) - state.pose.transform_back(p);
    match state.coordinates {
        Coordinates::World => *dp,
        Coordinates::Robot => dz,
        Coordinates::Invariant if state.is_frozen => *dp,
        Coordinates::Invariant => state.pose.rotation() * dz,
    }
}

/// The same with the covariances of near landmarks instead of the joint one.
fn with_near(map: LandmarkMap) -> LandmarkMap {
    let joint = map.joint.as_ref().unwrap();
    let near = NearCovariances::new(2, [(0, 1, joint.fixed_view::<2, 2>(0, 2).into_owned())]);
    LandmarkMap { near: Some(near), joint: None, ..map }
}

#[test]
fn landmarks_enter_with_the_covariance_that_finite_differences_give() {
    let makes: [fn(LandmarkMap) -> LandmarkMap; 2] = [|map| map, with_near];
    for (coordinates, make) in COORDINATES.into_iter().flat_map(|coordinates| makes.map(|make| (coordinates, make))) {
        for freeze in [false, true] {
            let mut state = correlated(coordinates, 2, 5);
            if freeze {
                state.freeze();
            }
            let (before, map) = (state.covariance.to_matrix(), known_landmarks());
            let n = before.nrows();
            activate_all(&mut state, &KnownMap::new(make(map.clone())), stamp(3));
            // The errors of all are this times those of what was there before and of the places in the map.
            let mut jacobian = DMatrix::identity(n + 4, n + 4);
            let h = 1e-6;
            for (k, landmark) in map.landmarks.iter().enumerate() {
                for column in 0..5 {
                    let mut step = DVector::zeros(5);
                    step[column] = h;
                    let at = |sign: f64| {
                        let (d, dp) = (step.fixed_rows::<3>(0) * sign, step.fixed_rows::<2>(3) * sign);
                        error_of(&state, &d.into_owned(), &landmark.position, &dp.into_owned())
                    };
                    let derivative = (at(1.0) - at(-1.0)) / (2.0 * h);
                    let column = if column < 3 { column } else { n + 2 * k + column - 3 };
                    jacobian.fixed_view_mut::<2, 1>(n + 2 * k, column).copy_from(&derivative);
                }
            }
            let mut prior = DMatrix::zeros(n + 4, n + 4);
            prior.view_mut((0, 0), (n, n)).copy_from(&before);
            prior.view_mut((n, n), (4, 4)).copy_from(map.joint.as_ref().unwrap());
            let expected = &jacobian * prior * jacobian.transpose();
            let difference = (state.covariance.to_matrix() - &expected).amax();
            assert!(difference < 1e-8, "{coordinates:?}, frozen {freeze}: {difference}");
        }
    }
}

#[test]
fn freezing_changes_the_coordinates_of_errors_and_not_what_is_known() {
    for coordinates in COORDINATES {
        let before = correlated(coordinates, 4, 8);
        let mut state = before.clone();
        state.freeze();
        for i in 0..4 {
            let (one, other) = (before.landmark(i), state.landmark(i));
            assert!((one.position - other.position).norm() < 1e-12);
            assert!((one.covariance - other.covariance).norm() < 1e-12);
            assert!((before.relative_covariance(i) - state.relative_covariance(i)).norm() < 1e-12, "{coordinates:?}");
        }
        assert!((before.pose_covariance() - state.pose_covariance()).norm() < 1e-12);
        state.thaw(coordinates);
        assert_eq!(state.coordinates, coordinates);
        assert!((before.covariance.to_matrix() - state.covariance.to_matrix()).amax() < 1e-12, "{coordinates:?}");
        for (one, other) in before.landmarks.iter().zip(&state.landmarks) {
            assert!((one.x - other.x).norm() < 1e-12);
        }
    }
}

/// Measurements of three frozen landmarks, a little off.
fn matches_of(state: &State, sensors: &Sensors) -> Vec<Match> {
    let read = |i: usize| {
        let z = state.in_robot(i);
        let value = [z.norm() + 0.02, z.y.atan2(z.x) - 0.01];
        let measurement = Measurement::new(None, value);
        linearized(state, sensors, &sensors.read(MeasurementKind::RangeBearing, &measurement).unwrap(), i)
    };
    [2, 0, 3].map(read).to_vec()
}

/// The filter of Schmidt as textbooks have it: any gain, P⁺ = (I − KH)P(I − KH)ᵀ + KRKᵀ.
#[test]
fn an_update_of_frozen_landmarks_is_that_of_a_plain_schmidt_filter() {
    let filters = [("ekf", Coordinates::World), ("invariant", Coordinates::Invariant)];
    for (name, coordinates) in filters {
        let filter = Filter::named(name).unwrap();
        let sensors = Sensors::new(&with_stated_noise().sensor, StereoModel::Bearings, &[]);
        let mut state = correlated(coordinates, 4, 9);
        state.freeze();
        let p = state.covariance.to_matrix();
        let matches = matches_of(&state, &sensors);
        let (mut h, mut r, mut y) = (DMatrix::zeros(6, 11), DMatrix::zeros(6, 6), DVector::zeros(6));
        for (k, (m, i)) in matches.iter().zip([2, 0, 3]).enumerate() {
            h.fixed_view_mut::<2, 3>(2 * k, 0).copy_from(&m.by_pose.fixed_view::<2, 3>(0, 0));
            h.fixed_view_mut::<2, 2>(2 * k, 3 + 2 * i).copy_from(&m.by_landmark.fixed_view::<2, 2>(0, 0));
            r.fixed_view_mut::<2, 2>(2 * k, 2 * k).copy_from(&m.noise.fixed_view::<2, 2>(0, 0));
            y.fixed_rows_mut::<2>(2 * k).copy_from(&m.residual.fixed_rows::<2>(0));
        }
        let s = &h * &p * h.transpose() + &r;
        let mut gain = &p * h.transpose() * s.try_inverse().unwrap();
        gain.rows_mut(3, 8).fill(0.0);
        let rest = DMatrix::identity(11, 11) - &gain * &h;
        let expected = &rest * &p * rest.transpose() + &gain * &r * gain.transpose();
        let correction = (&gain * y).fixed_rows::<3>(0).into_owned();
        let before = state.pose;
        let places: Vec<_> = state.landmarks.iter().map(|landmark| landmark.x).collect();
        update(&mut state, &matches, &filter, (&[], &[]), &mut Workspace::default()).unwrap();
        let difference = (state.covariance.to_matrix() - expected).amax();
        assert!(difference < 1e-12, "{name}: {difference}");
        let expected = match coordinates {
            Coordinates::Invariant => Se2::exp(&correction) * before,
            _ => Se2::new(before.p.x + correction.x, before.p.y + correction.y, before.theta + correction.z),
        };
        assert!((expected.inverse() * state.pose).log().norm() < 1e-12, "{name}");
        assert_eq!(places, state.landmarks.iter().map(|landmark| landmark.x).collect::<Vec<_>>());
    }
}

#[test]
fn a_motion_among_frozen_landmarks_is_that_of_the_same_landmarks_not_frozen() {
    for (name, coordinates) in [("ekf", Coordinates::World), ("invariant", Coordinates::Invariant)] {
        let filter = Filter::named(name).unwrap();
        let covariance = Matrix3::from_diagonal(&Vector3::new(0.01, 0.02, 0.03));
        let motion = Increment { motion: Se2::new(0.3, -0.1, 0.2), covariance, drift: None };
        let mut thawed = correlated(coordinates, 4, 10);
        let mut state = thawed.clone();
        state.freeze();
        propagate(&mut state, &motion, &filter, &mut Rows::default());
        propagate(&mut thawed, &motion, &filter, &mut Rows::default());
        thawed.freeze();
        assert!((state.covariance.to_matrix() - thawed.covariance.to_matrix()).amax() < 1e-12, "{name}");
    }
}
