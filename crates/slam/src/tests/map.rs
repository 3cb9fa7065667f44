//! Landmarks come, stay and go by stated rules.

use super::*;
use crate::{DropReason, WhenFull};
use nalgebra::Matrix3;

fn sees(ids: &[u32]) -> Vec<Measurement> {
    ids.iter()
        .map(|&id| {
            let angle = id as f64 * 0.61;
            let value = Se2::new(0.0, 0.0, angle).transform(&Vector2::new(3.0 + 0.05 * id as f64, 0.0));
            Measurement::new(Some(id), value)
        })
        .collect()
}

fn still(k: usize) -> Odometry {
    Odometry { stamp: stamp(k), velocity: Vector2::zeros(), yaw_rate: 0.0, covariance: None }
}

fn show(slam: &mut Slam, k: usize, ids: &[u32]) -> Step {
    slam.odometry(&still(k)).unwrap();
    slam.features(stamp(k), MeasurementKind::RelativePosition, &sees(ids)).unwrap();
    slam.poll().unwrap()
}

fn ids(slam: &Slam) -> Vec<u32> {
    let mut ids: Vec<u32> = slam.landmarks().map(|l| l.id).collect();
    ids.sort_unstable();
    ids
}

#[test]
fn a_full_map_refuses_and_says_so() {
    let mut c = config("reduced");
    c.map.max_features = 3;
    let mut slam = Slam::new(c).unwrap();
    let step = show(&mut slam, 0, &[1, 2, 3, 4, 5]);
    assert_eq!((step.added, step.rejected, step.landmarks), (3, 2, 3));
    assert_eq!(slam.counts().get(DropReason::MapFull), 2);
    assert_eq!(ids(&slam), [1, 2, 3]);
}

#[test]
fn or_the_oldest_makes_room_unless_it_is_in_view() {
    let mut c = config("reduced");
    c.map.max_features = 3;
    c.map.when_full = WhenFull::DropOldest;
    let mut slam = Slam::new(c).unwrap();
    show(&mut slam, 0, &[1, 2, 3]);
    show(&mut slam, 1, &[2, 3]);
    show(&mut slam, 2, &[3, 4]);
    assert_eq!(ids(&slam), [2, 3, 4]);
    show(&mut slam, 3, &[2, 3, 4, 5]);
    assert_eq!(ids(&slam), [2, 3, 4]);
    assert_eq!(slam.counts().get(DropReason::MapFull), 1);
}

#[test]
fn landmarks_not_seen_for_long_are_forgotten() {
    let mut c = config("ekf");
    c.map.forget_after_s = 0.25;
    let mut slam = Slam::new(c).unwrap();
    show(&mut slam, 0, &[1, 2, 3]);
    show(&mut slam, 1, &[2]);
    show(&mut slam, 2, &[2]);
    assert_eq!(ids(&slam), [1, 2, 3]);
    show(&mut slam, 3, &[2]);
    assert_eq!(ids(&slam), [2]);
    let step = show(&mut slam, 4, &[1, 2]);
    assert_eq!((step.added, step.accepted), (1, 1));
}

#[test]
fn the_map_grows_past_its_first_allocation() {
    let mut slam = Slam::new(config("reduced")).unwrap();
    let all: Vec<u32> = (0..200).collect();
    assert_eq!(show(&mut slam, 0, &all).added, 200);
    assert_eq!(show(&mut slam, 1, &all).accepted, 200);
}

#[test]
fn the_same_landmark_twice_in_a_scan_counts_once() {
    let mut slam = Slam::new(config("reduced")).unwrap();
    let step = show(&mut slam, 0, &[1, 2, 1]);
    assert_eq!((step.added, step.rejected), (2, 1));
    let step = show(&mut slam, 1, &[2, 2]);
    assert_eq!((step.accepted, step.rejected), (1, 1));
    assert_eq!(slam.counts().get(DropReason::DuplicateFeature), 2);
}

#[test]
fn without_identities_it_finds_the_same_map() {
    let instants = recording(100, 9);
    let (_, known) = run("reduced", &instants);
    let mut slam = Slam::new(config("reduced")).unwrap();
    let mut steps = Vec::new();
    for mut instant in instants {
        instant.seen.iter_mut().for_each(|o| o.id = None);
        steps.extend(feed(&mut slam, &instant));
    }
    assert_eq!(slam.landmarks().count(), 8);
    let (a, b) = (known.last().unwrap().estimate, steps.last().unwrap().estimate);
    assert!((a.pose.p - b.pose.p).norm() < 0.02, "{:?} {:?}", a.pose, b.pose);
}

#[test]
fn an_measurement_between_two_landmarks_is_ambiguous() {
    let mut slam = Slam::new(config("reduced")).unwrap();
    let at = |x: f64, id| Measurement::new(id, [3.0, x]);
    slam.odometry(&still(0)).unwrap();
    slam.features(stamp(0), MeasurementKind::RelativePosition, &[at(0.0, Some(1)), at(0.12, Some(2))]).unwrap();
    slam.poll().unwrap();
    slam.odometry(&still(1)).unwrap();
    slam.features(stamp(1), MeasurementKind::RelativePosition, &[at(0.06, None)]).unwrap();
    assert_eq!(slam.poll().unwrap().accepted, 0);
    assert_eq!(slam.counts().get(DropReason::Ambiguous), 1);
}

#[test]
fn a_misread_is_gated_and_leaves_no_trace() {
    let instants = recording(30, 10);
    for filter in ["default", "inverse-range", "reduced", "ekf", "fe-ekf"] {
        let (mut clean, _) = run(filter, &instants[..29]);
        let (mut dirty, _) = run(filter, &instants[..29]);
        let mut last = instants[29].clone();
        let mut bad = last.clone();
        bad.seen[3].value = (-bad.seen[3].value.xy()).into();
        last.seen.remove(3);
        let (a, b) = (feed(&mut clean, &last)[0], feed(&mut dirty, &bad)[0]);
        assert_eq!(a.estimate, b.estimate, "{filter}");
        assert_eq!(dirty.counts().get(DropReason::Gated), 1);
    }
}

#[test]
fn putting_the_robot_elsewhere_takes_the_map_along() {
    let instants = recording(50, 11);
    for filter in ["default", "inverse-range", "reduced", "ekf", "fe-ekf"] {
        let (mut slam, _) = run(filter, &instants);
        let from = slam.predicted().unwrap().pose;
        let before: Vec<_> = slam.landmarks().map(|l| (l.id, from.transform_back(&l.position))).collect();
        let to = Se2::new(100.0, -50.0, 1.0);
        let covariance = Matrix3::from_diagonal(&nalgebra::Vector3::new(0.04, 0.09, 0.01));
        slam.set_pose(to, &covariance).unwrap();
        let estimate = slam.predicted().unwrap();
        assert!((estimate.pose.p - to.p).norm() < 1e-12 && (estimate.covariance - covariance).amax() < 1e-12);
        for ((id, z), landmark) in before.iter().zip(slam.landmarks()) {
            assert_eq!(*id, landmark.id);
            assert!((to.transform(z) - landmark.position).norm() < 1e-9, "{filter}");
            // Far from the origin of nothing: position uncertainty of the pose shows up in every landmark.
            assert!(landmark.covariance[(0, 0)] > 0.04 && landmark.covariance.cholesky().is_some());
        }
        let bad = Matrix3::from_diagonal(&nalgebra::Vector3::new(1.0, -1.0, 1.0));
        assert_eq!(slam.set_pose(to, &bad), Err(DropReason::BadCovariance));
        assert_eq!(slam.set_pose(Se2::new(f64::NAN, 0.0, 0.0), &covariance), Err(DropReason::NotFinite));
    }
}

#[test]
fn both_coordinates_know_the_same_landmarks() {
    let instants = recording(30, 12);
    let ((reduced, _), (ekf, _)) = (run("reduced", &instants), run("ekf", &instants));
    for a in reduced.landmarks() {
        let b = ekf.landmarks().find(|l| l.id == a.id).unwrap();
        assert!((a.position - b.position).norm() < 0.01);
        assert!((a.covariance - b.covariance).amax() < 0.1 * b.covariance.amax());
    }
}

#[test]
fn a_scan_without_measurements_is_a_step_that_changes_nothing() {
    for filter in ["default", "ekf", "oc-ekf", "cartesian"] {
        let instants = recording(80, 41);
        let silent = |k: usize| k % 5 == 2 || (40..52).contains(&k);
        let play = |says_so: bool| {
            let mut slam = Slam::new(config(filter)).unwrap();
            let mut steps = Vec::new();
            for (k, instant) in instants.iter().enumerate() {
                let instant = if silent(k) { &Instant { seen: Vec::new(), ..instant.clone() } } else { instant };
                if says_so || !silent(k) {
                    steps.extend(feed(&mut slam, instant));
                } else {
                    slam.odometry(&instant.odometry).unwrap();
                }
            }
            (slam, steps)
        };
        let ((with, all), (without, rest)) = (play(true), play(false));
        assert_eq!(with.predicted(), without.predicted(), "{filter}");
        assert_eq!((all.len(), rest.len()), (80, 80 - (0..80).filter(|k| silent(*k)).count()));
        let said: Vec<_> = all.into_iter().filter(|step| step.accepted + step.added > 0).collect();
        assert_eq!(said, rest, "{filter}");
    }
}
