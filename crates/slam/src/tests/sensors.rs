//! Several sensors, and one of which nobody knows at first where it sits.

use super::{stamp, with_stated_noise};
use crate::{
    Config, DropReason, Measurement, MeasurementKind, MotionConfig, Odometry, RangeBearing, Sensor, Slam, Step,
};
use lienav_lie::Se2;
use nalgebra::Vector2;

const FRONT: Se2 = Se2 { p: Vector2::new(0.4, 0.1), theta: 0.2 };
const REAR: Se2 = Se2 { p: Vector2::new(-0.5, 0.0), theta: 3.0 };
const PERIOD_S: f64 = 0.1;
const LANDMARKS: [(u32, [f64; 2]); 4] = [(1, [5.0, 2.0]), (2, [4.0, -3.0]), (3, [-4.0, 1.0]), (4, [-6.0, -2.0])];

fn lidar(mount: Se2) -> Sensor {
    let measurement = RangeBearing {
        range_std_m: 0.05,
        bearing_std_rad: 0.02,
        min_range_m: 0.1,
        max_range_m: 50.0,
        ..RangeBearing::default()
    };
    Sensor::of_landmarks(measurement, mount)
}

fn config() -> Config {
    let motion = MotionConfig { velocity_x_std: 0.05, yaw_rate_std: 0.02, ..MotionConfig::default() };
    Config { motion, ..with_stated_noise() }
}

/// What a sensor at `mount` reads of the landmarks, by a robot that drives along x at 1 m/s.
fn seen(k: usize, mount: Se2, ids: impl Fn(u32) -> bool) -> Vec<Measurement> {
    let robot = Se2::new(k as f64 * PERIOD_S, 0.0, 0.0);
    let world: Vec<_> = LANDMARKS.iter().map(|(id, p)| (*id, Vector2::from(*p))).collect();
    let read = lidar(mount).simulate(&robot, &world).into_iter().filter(|(id, _)| id.is_some_and(&ids));
    // Off by what depends on the landmark and the time, so that the order of corrections could matter.
    let off = |id: u32| 0.02 * f64::from(id) * (k as f64).sin();
    read.map(|(id, v)| Measurement::new(id, [v.x + off(id.unwrap_or_default()), v.y])).collect()
}

fn odometry(slam: &mut Slam, k: usize) {
    let input = Odometry { stamp: stamp(k), velocity: Vector2::x(), yaw_rate: 0.0, covariance: None };
    slam.odometry(&input).unwrap();
}

fn steps(slam: &mut Slam) -> Vec<Step> {
    std::iter::from_fn(|| slam.poll()).collect()
}

/// A filter with two lidars.
fn two(config: Config) -> (Slam, [MeasurementKind; 2]) {
    let mut slam = Slam::new(config).unwrap();
    let kinds = [FRONT, REAR].map(|mount| slam.add_sensor(lidar(mount)).unwrap());
    (slam, kinds)
}

#[test]
fn scans_of_two_sensors_with_one_stamp_are_both_used_in_one_step() {
    let run = |order: [usize; 2]| {
        let (mut slam, kinds) = two(config());
        odometry(&mut slam, 0);
        for k in 1..20 {
            for i in order {
                slam.features(stamp(k), kinds[i], &seen(k, [FRONT, REAR][i], |_| true)).unwrap();
            }
            odometry(&mut slam, k);
            let steps = steps(&mut slam);
            assert_eq!((steps.len(), steps[0].estimate.stamp), (1, stamp(k)));
            assert_eq!((steps[0].accepted + steps[0].added, steps[0].rejected), (8, 0), "at {k}");
            for i in order {
                let again = slam.features(stamp(k), kinds[i], &[]);
                assert_eq!(again, Err(DropReason::DuplicateStamp));
            }
        }
        slam.predicted().unwrap()
    };
    let estimate = run([0, 1]);
    assert_eq!(estimate, run([1, 0]), "the order of arrival does not matter");
    assert!((estimate.pose.p - Vector2::new(1.9, 0.0)).norm() < 0.05, "{:?}", estimate.pose);
}

#[test]
fn two_sensors_know_as_much_as_one_that_sees_what_both_see() {
    let (mut both, [front, rear]) = two(config());
    let (mut one, [all, _]) = two(config());
    for k in 0..20 {
        odometry(&mut both, k);
        odometry(&mut one, k);
        if k > 0 {
            both.features(stamp(k), front, &seen(k, FRONT, |id| id < 3)).unwrap();
            both.features(stamp(k), rear, &seen(k, FRONT, |id| id >= 3)).unwrap_or_default();
            one.features(stamp(k), all, &seen(k, FRONT, |_| true)).unwrap();
        }
        both.place_sensor(rear, FRONT).unwrap();
        steps(&mut both);
        steps(&mut one);
    }
    let (both, one) = (both.predicted().unwrap(), one.predicted().unwrap());
    // The second scan is linearized at the estimate after the first.
    let ratio = both.covariance.m11 / one.covariance.m11;
    assert!((ratio - 1.0).abs() < 0.01, "{ratio}");
    assert!((both.pose.p - one.pose.p).norm() < 2e-3, "{:?} {:?}", both.pose, one.pose);
}

#[test]
fn a_second_scan_that_comes_after_the_step_is_used_at_its_stamp() {
    let (mut slam, [front, rear]) = two(config());
    for k in 0..5 {
        odometry(&mut slam, k);
        if k > 0 {
            slam.features(stamp(k), front, &seen(k, FRONT, |_| true)).unwrap();
            assert_eq!(steps(&mut slam).len(), 1);
            slam.features(stamp(k), rear, &seen(k, REAR, |_| true)).unwrap();
            let late = steps(&mut slam);
            assert_eq!((late.len(), late[0].estimate.stamp, late[0].accepted), (1, stamp(k), 4));
        }
    }
}

#[test]
fn scans_of_a_slower_sensor_are_taken_in_where_the_faster_one_is_held_back() {
    // The rear sensor is read between the scans of the front one, and its scans come after the next of those.
    let run = |hold_s: f64| {
        let mut config = config();
        config.timing.hold_features_s = hold_s;
        let (mut slam, [front, rear]) = two(config);
        odometry(&mut slam, 0);
        let (mut accepted, mut last) = (0, None);
        for k in 1..40 {
            odometry(&mut slam, k);
            match k % 2 {
                0 => slam.features(stamp(k), front, &seen(k, FRONT, |_| true)).unwrap(),
                _ => {
                    if k > 2 {
                        let _counted = slam.features(stamp(k - 2), rear, &seen(k - 2, REAR, |_| true));
                    }
                }
            }
            for step in steps(&mut slam) {
                assert!(last < Some(step.estimate.stamp), "stamps increase");
                last = Some(step.estimate.stamp);
                accepted += step.accepted + step.added;
            }
        }
        (accepted, slam.counts().get(DropReason::TooLate))
    };
    let (without, dropped) = run(0.0);
    assert!(dropped > 10, "{dropped} of the rear sensor come too late");
    let (with, dropped) = run(0.2);
    assert!(dropped == 0 && with > without + 50, "{without} {with} {dropped}");
}

#[test]
fn a_sensor_that_is_placed_later_is_as_one_that_was_configured() {
    let mut known = config();
    (known.sensor.x_m, known.sensor.y_m, known.sensor.yaw_rad) = (FRONT.p.x, FRONT.p.y, FRONT.theta);
    let mut runs = [(known, None), (config(), Some(FRONT))].map(|(config, place)| {
        let mut slam = Slam::new(config.clone()).unwrap();
        odometry(&mut slam, 0);
        if let Some(mount) = place {
            slam.place_sensor(MeasurementKind::RangeBearing, mount).unwrap();
        }
        for k in 1..10 {
            odometry(&mut slam, k);
            slam.features(stamp(k), MeasurementKind::RangeBearing, &seen(k, FRONT, |_| true)).unwrap();
            assert_eq!(steps(&mut slam).len(), 1);
            // A change of other settings keeps the place.
            let mut other = slam.config().clone();
            other.gate.probability = if k % 2 == 0 { 0.999 } else { 0.99 };
            slam.reconfigure(other).unwrap();
        }
        slam
    });
    let estimates = runs.each_ref().map(|slam| slam.predicted().unwrap());
    assert_eq!(estimates[0], estimates[1]);
    assert!((estimates[0].pose.p - Vector2::new(0.9, 0.0)).norm() < 0.1);
    let elsewhere = Se2::new(f64::NAN, 0.0, 0.0);
    assert_eq!(runs[0].place_sensor(MeasurementKind::RangeBearing, elsewhere), Err(DropReason::NotFinite));
    assert_eq!(runs[0].place_sensor(MeasurementKind::Added(0), FRONT), Err(DropReason::UnknownSensor));
}
