//! A part that goes on with some landmarks: only the error of the pose is forgotten.

use super::*;
use crate::Filter;
use nalgebra::DMatrix;

/// Drives past posts for two seconds.
fn driven() -> Slam {
    let mut config = config("default");
    config.map.local_features = 8;
    config.map.forget_after_s = 0.5;
    let mut slam = Slam::of_submaps(Filter::default(), config).unwrap();
    drive(&mut slam, 0..20, &[1, 2, 3]);
    slam
}

fn drive(slam: &mut Slam, instants: std::ops::Range<usize>, ids: &[u32]) {
    for k in instants {
        let velocity = Vector2::new(1.0, 0.1);
        slam.odometry(&Odometry { stamp: stamp(k), velocity, yaw_rate: 0.4, covariance: None }).unwrap();
        let robot = Se2::exp(&(nalgebra::Vector3::new(1.0, 0.1, 0.4) * stamp(k).since(stamp(0))));
        let seen = |id: &u32| {
            let post = Vector2::new(2.0 + f64::from(*id), 1.0 - 0.7 * f64::from(*id));
            Measurement::new(Some(*id), robot.transform_back(&post))
        };
        let seen: Vec<Measurement> = ids.iter().map(seen).collect();
        slam.features(stamp(k), MeasurementKind::RelativePosition, &seen).unwrap();
        while slam.poll().is_some() {}
    }
}

#[test]
fn what_stays_is_where_it_was_as_seen_from_the_robot() {
    let mut slam = driven();
    let (pose, before) = {
        let local = slam.local().unwrap();
        let stays = [local.find(1).unwrap(), local.find(3).unwrap()];
        let places = stays.map(|i| local.pose().transform_back(&local.place(i)));
        (local.pose(), (places, local.covariance(&stays)))
    };
    assert!(before.1.fixed_view::<3, 3>(0, 0).amax() > 1e-6 && pose.theta > 0.1);
    slam.start_submap_with(|id| id != 2);
    let local = slam.local().unwrap();
    assert_eq!((local.len(), local.pose()), (2, Se2::identity()));
    let stays = [local.find(1).unwrap(), local.find(3).unwrap()];
    let after = local.covariance(&stays);
    assert!(after.rows(0, 3).amax() == 0.0);
    // e of each is turned with the frame, and nothing else.
    let back = pose.rotation().transpose();
    let turn = DMatrix::from_fn(4, 4, |i, j| if i / 2 == j / 2 { back[(i % 2, j % 2)] } else { 0.0 });
    let expected = &turn * before.1.view((3, 3), (4, 4)) * turn.transpose();
    assert!((after.view((3, 3), (4, 4)) - &expected).amax() < 1e-12 * expected.amax());
    for (i, place) in stays.iter().zip(&before.0) {
        assert!((local.place(*i) - place).norm() < 1e-12);
    }
}

/// Landmarks that the part before has, too, are what both have in common: they stay, whatever `map.forget_after_s`
/// says.
#[test]
fn what_a_part_was_begun_with_is_not_forgotten() {
    let mut slam = driven();
    slam.start_submap_with(|id| id == 1);
    drive(&mut slam, 20..30, &[4, 5]);
    drive(&mut slam, 30..45, &[5]);
    let local = slam.local().unwrap();
    assert!(local.find(1).is_some() && local.find(5).is_some() && local.find(4).is_none());
}
