//! From measurements of a filter's sensors to a pose that the filter can take.

use super::with_stated_noise;
use crate::{DropReason, GlobalLocalization, LandmarkMap, MapLandmark, Measurement, MeasurementKind, Slam};
use crate::{FinderConfig, Verdict};
use lienav_lie::{Se2, wrap_angle};
use lienav_planar::motion::Increment;
use nalgebra::{Matrix2, Matrix3, Vector2, Vector3};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

/// Exact measurements of a lidar 0.4 m ahead and 0.1 m to the left of the base, turned by 0.3 rad.
fn look(from: &Se2, places: &[Vector2<f64>]) -> Vec<Measurement> {
    let sensor = *from * Se2::new(0.4, 0.1, 0.3);
    let in_view = places.iter().map(|place| sensor.transform_back(place)).filter(|z| z.norm() < 8.0);
    in_view.map(|z| Measurement::new(None, [z.norm(), z.y.atan2(z.x)])).collect()
}

#[test]
fn a_filter_that_is_told_where_it_was_found_is_there() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let mut place = || Vector2::new(rng.random::<f64>(), rng.random::<f64>()) * 25.0;
    let covariance = Matrix2::identity() * 1e-4;
    let landmarks = (1..=60).map(|id| MapLandmark { id, class: 0, position: place(), covariance }).collect();
    let map = LandmarkMap { landmarks, joint: None, near: None };
    let places: Vec<Vector2<f64>> = map.landmarks.iter().map(|landmark| landmark.position).collect();
    let mut config = with_stated_noise();
    (config.sensor.x_m, config.sensor.y_m, config.sensor.yaw_rad) = (0.4, 0.1, 0.3);
    let mut slam = Slam::new(config.clone()).unwrap();
    let mut search = GlobalLocalization::new(&map, FinderConfig::default(), slam.filter(), &config, &[]).unwrap();
    let half = Increment {
        motion: Se2::new(0.05, 0.0, 0.01),
        covariance: Matrix3::from_diagonal(&Vector3::repeat(1e-5)),
        drift: None,
    };
    let mut truth = Se2::new(12.0, 9.0, 2.0);
    for _ in 0..12 {
        for _ in 0..2 {
            search.advance(&half);
            truth = truth * half.motion;
        }
        let mut scan = look(&truth, &places);
        scan.push(Measurement::new(None, [f64::NAN, 0.0]));
        let refused = search.observe(MeasurementKind::RangeBearing, &scan);
        assert_eq!((refused.total(), refused.get(DropReason::NotFinite)), (1, 1));
    }
    search.advance(&half);
    truth = truth * half.motion;
    let Verdict::Found(found) = search.verdict() else { panic!("{:?}", search.verdict()) };
    let (pose, covariance) = search.found().unwrap();
    assert!((pose.p - truth.p).norm() < 0.02 && wrap_angle(pose.theta - truth.theta).abs() < 0.005);
    assert!(search.elsewhere() < 1e-3 && search.candidates()[0] == found);
    slam.set_pose(pose, &covariance).unwrap();
    search.restart();
    assert_eq!((search.verdict(), search.candidates().len(), search.found()), (Verdict::Searching, 0, None));
}
