//! What stands still and what does not.

use crate::{Class, Config, Detection, Tracker};
use lienav_base::stamp::Stamp;
use lienav_lie::se2::Se2;
use nalgebra::{Matrix2, Vector2};

fn tracker() -> Tracker {
    Tracker::new(Config::default().persistence)
}

fn at(x: f64, y: f64) -> Detection {
    Detection {
        class: Class::Pole,
        position: Vector2::new(x, y),
        covariance: Matrix2::identity() * 1e-4,
        diameter_m: 0.12,
        diameter_std_m: 0.01,
        rays: 6,
        isolated: true,
    }
}

fn stamp(k: usize) -> Stamp {
    Stamp::from_secs(0.1 * k as f64)
}

/// Scans after which a detection passes, for a thing that `place` puts somewhere by the number of the scan.
fn passes(place: impl Fn(usize) -> Detection) -> Vec<usize> {
    let mut tracker = tracker();
    (0..40).filter(|&k| !tracker.update(stamp(k), &Se2::identity(), &[place(k)]).is_empty()).collect()
}

#[test]
fn a_pole_is_a_landmark_after_a_second_seen_from_a_robot_that_moves() {
    let mut tracker = tracker();
    let pole = Vector2::new(6.0, 1.0);
    for k in 0..30 {
        let pose = Se2::new(0.1 * k as f64, 0.02 * k as f64, 0.05 * k as f64);
        let seen = pose.transform_back(&pole);
        let standing = tracker.update(stamp(k), &pose, &[at(seen.x, seen.y)]).to_vec();
        assert_eq!(standing.len(), usize::from(k >= 10), "scan {k}");
        if let Some(detection) = standing.first() {
            assert_eq!(detection.position, seen, "what comes out is what was measured");
        }
    }
}

#[test]
fn what_walks_or_rests_for_half_a_second_only_is_none() {
    assert!(passes(|k| at(4.0 + 0.05 * k as f64, 0.0)).is_empty());
    assert!(passes(|k| at(4.0 + 0.6 * (k / 7) as f64, 0.0)).is_empty());
}

#[test]
fn a_reflector_passes_at_once() {
    assert_eq!(passes(|k| Detection { class: Class::Reflector, ..at(0.3 * k as f64, 0.0) }).len(), 40);
}

#[test]
fn legs_that_stand_beside_each_other_are_none_and_a_landmark_stays_one_beside_them() {
    assert!(passes(|_| Detection { isolated: false, ..at(4.0, 0.0) }).is_empty());
    let passed = passes(|k| Detection { isolated: k < 15, ..at(4.0, 0.0) });
    assert_eq!(passed, (10..40).collect::<Vec<_>>());
}

#[test]
fn time_that_goes_back_forgets_everything_and_so_does_a_long_time() {
    let mut tracker = tracker();
    let pose = Se2::identity();
    let mut seen = |k: usize| tracker.update(stamp(k), &pose, &[at(4.0, 0.0)]).len();
    assert_eq!((0..=20).map(&mut seen).sum::<usize>(), 11);
    assert_eq!(seen(40), 1, "hidden for two seconds");
    assert_eq!(seen(100), 0, "for six");
    assert_eq!((101..=112).map(&mut seen).sum::<usize>(), 3);
    assert_eq!(seen(50), 0, "time went back");
}
