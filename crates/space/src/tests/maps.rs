//! Maps that are saved, read and used.

use super::{config, error, play, play_range, run, slam};
use crate::{DropReason, Map3d, MapError, MapMode};
use lienav_lie::Se3;
use nalgebra::{Matrix3, Matrix6, Vector3};

#[test]
fn a_map_comes_back_from_its_text_and_serves_localization() {
    let first = run(20.0, 1, false);
    let mut mapping = slam(config());
    play(&mut mapping, &first);
    let map = mapping.map();
    assert!(map.landmarks.len() > 20, "{}", map.landmarks.len());
    let read = Map3d::from_json(&map.to_json()).unwrap();
    assert_eq!(read, map);

    let second = run(20.0, 2, false);
    let mut config = config();
    config.map.mode = MapMode::Localization;
    let mut localized = slam(config);
    localized.load_map(read).unwrap();
    let all = play(&mut localized, &second);
    let last = all.last().unwrap();
    let (off, deviations) = error(&second, &last.estimate);
    assert!(off < 0.1 && deviations < 4.0, "{off} m, {deviations} sigma");
    assert_eq!(last.landmarks, map.landmarks.len());
    assert!(localized.counts().get(DropReason::UnknownLandmark) < 100);
}

/// A start that states no standard deviation is not exact in a map that was there before.
#[test]
fn a_start_beside_its_place_in_a_known_map_is_not_sure() {
    let mut mapping = slam(config());
    play(&mut mapping, &run(20.0, 1, false));
    let second = run(20.0, 2, false);
    let mut config = config();
    config.map.mode = MapMode::Localization;
    (config.start.x_m, config.start.y_m) = (config.start.x_m + 0.6, config.start.y_m - 0.5);
    let mut localized = slam(config);
    localized.load_map(mapping.map()).unwrap();
    let all = play(&mut localized, &second);
    // From the first frame on.
    assert!(all.iter().all(|step| error(&second, &step.estimate).0 < 0.1));
    let (off, deviations) = error(&second, &all.last().unwrap().estimate);
    assert!(off < 0.1 && deviations < 4.0, "{off} m, {deviations} sigma");
}

#[test]
fn the_joint_covariance_survives_a_change_of_the_state() {
    let run = run(10.0, 3, false);
    let mut slam = slam(config());
    play(&mut slam, &run);
    let map = slam.map();
    let before = slam.pose().unwrap();
    for (k, landmark) in slam.landmarks().iter().enumerate() {
        assert!((landmark.covariance - map.block(k, k)).amax() < 1e-12, "{}", landmark.covariance);
    }
    slam.load_map(map.clone()).unwrap();
    let again = slam.map();
    assert_eq!(again.landmarks, map.landmarks);
    let largest = map.covariance.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
    for (a, b) in map.covariance.iter().zip(&again.covariance) {
        assert!((a - b).abs() < 1e-9 * largest, "{a} {b}");
    }
    assert!((slam.pose().unwrap().covariance - before.covariance).amax() < 1e-9);
}

#[test]
fn a_robot_that_is_put_elsewhere_in_a_known_map_is_right_again() {
    let first = run(20.0, 1, false);
    let mut mapping = slam(config());
    play(&mut mapping, &first);
    let mut config = config();
    config.map.mode = MapMode::Localization;
    let mut slam = slam(config);
    slam.load_map(mapping.map()).unwrap();
    // It stands half a metre beside where it believes to be.
    let wide = Matrix6::from_diagonal(&nalgebra::Vector6::new(0.5, 0.5, 0.5, 0.05, 0.05, 0.1));
    slam.set_pose(&Se3::new(lienav_lie::So3::identity(), Vector3::new(0.4, -0.3, 0.2)), &wide).unwrap();
    let all = play_range(&mut slam, &first, 0.0, 6.0);
    let (off, deviations) = error(&first, &all.last().unwrap().estimate);
    assert!(off < 0.1 && deviations < 4.0, "{off} m, {deviations} sigma");
}

#[test]
fn what_is_no_map_is_refused_with_a_sentence() {
    let place = (1, Vector3::zeros(), Matrix3::identity());
    let map = Map3d::independent([place, (2, Vector3::x(), Matrix3::identity())]);
    assert_eq!(map.check(), Ok(()));
    let mut short = map.clone();
    short.covariance.pop();
    assert_eq!(short.check().unwrap_err().to_string(), "2 landmarks need 21 numbers of covariance, and the map has 20");
    assert_eq!(Map3d::independent([place, place]).check(), Err(MapError::Landmark(1)));
    let mut bad = map.clone();
    bad.covariance[0] = f64::NAN;
    assert_eq!(bad.check(), Err(MapError::Landmark(1)));
    let mut indefinite = map.clone();
    indefinite.covariance[6] = 5.0;
    assert_eq!(indefinite.check(), Err(MapError::Landmark(1)));
    assert!(Map3d::from_json("[1, 2").is_err());
    let many = Map3d { landmarks: vec![map.landmarks[0]; 1001], covariance: vec![0.0; 3003 * 3004 / 2] };
    assert_eq!(many.check(), Err(MapError::Large(1001)));
    let mut config = config();
    config.map.max_landmarks = 1;
    assert_eq!(slam(config).load_map(map), Err(MapError::TooMany(2, 1)));
}
