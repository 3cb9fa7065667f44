//! What measurements cannot tell stays unknown, and the covariance says so: the rows of the table in
//! docs/measurements.md that `single` does not test.

use super::single::{FILTERS, World, single};
use super::*;
use crate::{CalibrationParameter, Noise, Prior, WorldFrame};
use nalgebra::{Matrix2, Matrix3};

/// The standard deviation that a parameter has now.
fn std_of(slam: &Slam, parameter: CalibrationParameter) -> f64 {
    slam.calibration().find(|estimate| estimate.parameter == parameter).expect("it is estimated").std
}

fn fix(at: Vector2<f64>, std: f64) -> Measurement {
    let covariance = Some(Noise::from(Matrix2::identity() * (std * std)));
    Measurement { covariance, ..Measurement::new(None, at) }
}

/// Ranges tell one scale from the other, and not how large the world is.
#[test]
fn ranges_do_not_tell_the_scale_of_everything() {
    let beacons = [(9.0, 7.0), (-6.0, 9.0), (5.0, -8.0)].map(|(x, y)| Vector2::new(x, y));
    let sigma = 0.02;
    let learn = |filter: &str, both: bool| {
        let mut config = single(filter);
        config.calibration.range_scale = Prior { sigma, ..Prior::default() };
        if both {
            config.calibration.scale_v = Prior { sigma, ..Prior::default() };
        }
        let mut slam = Slam::new(config).unwrap();
        let mut world = World::new(6, 0.02);
        for _ in 0..600 {
            let stamp = world.drive(&mut slam, 1.0, 0.25);
            let seen: Vec<_> =
                (0..3).map(|i| Measurement::new(Some(i as u32), world.range(&beacons[i], 0.1))).collect();
            slam.features(stamp, MeasurementKind::Range, &seen).unwrap();
            drain(&mut slam);
        }
        slam
    };
    for filter in FILTERS {
        let one = std_of(&learn(filter, false), CalibrationParameter::RangeScale);
        assert!(one < 0.4 * sigma, "{filter}: the wheels are right, and tell the scale of ranges: {one}");
        let both = learn(filter, true);
        // Of (s_v, s_r), each known to σ, the difference becomes known; σ/√2 of either stays.
        for parameter in [CalibrationParameter::RangeScale, CalibrationParameter::ScaleV] {
            let std = std_of(&both, parameter);
            assert!(std > 0.95 * sigma / 2.0_f64.sqrt(), "{filter} {parameter:?}: {std}");
            let value = both.calibration().find(|estimate| estimate.parameter == parameter).unwrap().value;
            assert!(value.abs() < 2.5 * std, "{filter} {parameter:?}: it runs away, to {value} ± {std}");
        }
    }
}

/// Where the robot stands, or turns on the spot, bearings tell no distance and correct nothing.
#[test]
fn bearings_tell_nothing_while_the_robot_stands() {
    let marks = [(4.0, 3.0), (-2.0, 6.0), (5.0, -4.0)].map(|(x, y)| Vector2::new(x, y));
    for filter in FILTERS {
        for w in [0.0, 0.2] {
            let mut config = single(filter);
            config.motion.velocity_x_std = 1e-6;
            config.motion.velocity_y_std = 1e-6;
            let mut slam = Slam::new(config.clone()).unwrap();
            let mut alone = Slam::new(config).unwrap();
            let mut world = World::new(7, 0.0);
            for _ in 0..200 {
                let stamp = world.drive(&mut slam, 0.0, w);
                alone.odometry(&Odometry { stamp, velocity: Vector2::zeros(), yaw_rate: w, covariance: None }).unwrap();
                let seen: Vec<_> =
                    (0..3).map(|i| Measurement::new(Some(i as u32), world.bearing(&marks[i], 0.01))).collect();
                slam.features(stamp, MeasurementKind::Bearing, &seen).unwrap();
                drain(&mut slam);
            }
            assert_eq!(slam.landmarks().count(), 0, "{filter} {w}");
            assert!((0..3).all(|id| slam.state().is_waiting(id)), "{filter} {w}");
            let (with, without) = (slam.predicted().unwrap(), alone.predicted().unwrap());
            assert!((with.covariance - without.covariance).amax() < 1e-9, "{filter} {w}: {}", with.covariance);
            assert!((with.pose.p - without.pose.p).norm() < 1e-9, "{filter} {w}");
        }
    }
}

/// Positions of a robot that stands are of its antenna above the middle of the base, whatever the heading. In the
/// coordinates of the map, the direction that stays unknown changes with the estimate, and some of it is taken for
/// known.
#[test]
fn positions_do_not_tell_the_heading_of_a_robot_that_stands() {
    for (filter, at_least) in [("ekf", 0.3), ("reduced", 0.3), ("default", 0.2), ("invariant", 0.2), ("fe-ekf", 0.2)] {
        let mut config = single(filter);
        (config.initial.position_std_m, config.initial.yaw_std_rad) = (1.0, 0.3);
        config.calibration.world.frame = WorldFrame::Map;
        let mut slam = Slam::new(config).unwrap();
        let mut world = World::new(9, 0.0);
        for _ in 0..200 {
            let stamp = world.drive(&mut slam, 0.0, 0.0);
            let at = world.truth.p + Vector2::new(world.noise(0.1), world.noise(0.1));
            slam.features(stamp, MeasurementKind::WorldPosition, &[fix(at, 0.1)]).unwrap();
            drain(&mut slam);
        }
        let covariance = slam.predicted().unwrap().covariance;
        assert!(covariance.m33.sqrt() >= at_least, "{filter}: {covariance}");
        assert!(covariance.m11 < 0.01 && covariance.m22 < 0.01, "{filter}: the position became known: {covariance}");
    }
}

/// Where the map lies in the world is found; where the robot started in its map is not, and what the way adds to that
/// does not grow any more.
#[test]
fn positions_in_a_frame_of_their_own_keep_the_start_as_it_was_said() {
    let tie = Se2::new(40.0, -30.0, 0.7);
    for filter in ["default", "invariant"] {
        let drive = |position_std_m: f64, yaw_std_rad: f64, steps: usize, with_fixes: bool| {
            let mut config = single(filter);
            (config.initial.position_std_m, config.initial.yaw_std_rad) = (position_std_m, yaw_std_rad);
            config.calibration.world.frame = WorldFrame::Estimated;
            let mut slam = Slam::new(config).unwrap();
            let mut world = World::new(10, 0.02);
            for _ in 0..steps {
                let stamp = world.drive(&mut slam, 1.0, 0.1);
                if with_fixes {
                    let at = (tie * world.truth).p + Vector2::new(world.noise(0.1), world.noise(0.1));
                    slam.features(stamp, MeasurementKind::WorldPosition, &[fix(at, 0.1)]).unwrap();
                }
                drain(&mut slam);
            }
            (slam.predicted().unwrap().covariance, with_fixes.then(|| slam.state().calibration.world()))
        };
        let (covariance, _) = drive(0.5, 0.2, 600, true);
        assert!(covariance.m33 >= 0.04 && covariance.m11 + covariance.m22 >= 0.5, "{filter}: {covariance}");
        let sum = |c: &Matrix3<f64>| c.m11 + c.m22;
        let ((early, _), (late, found)) = (drive(0.0, 0.0, 600, true), drive(0.0, 0.0, 2400, true));
        let ((alone_early, _), (alone_late, _)) = (drive(0.0, 0.0, 600, false), drive(0.0, 0.0, 2400, false));
        assert!(sum(&alone_late) > 2.0 * sum(&alone_early), "{filter}: odometry alone gets worse");
        assert!(late.m33 < 1.05 * early.m33 && sum(&late) < 0.2 * sum(&alone_late), "{filter}: {late} after {early}");
        let found = found.expect("there were fixes");
        assert!((found.theta - tie.theta).abs() < 0.1 && (found.p - tie.p).norm() < 1.0, "{filter}: {found:?}");
    }
}

/// An error that never changes moves the whole map, and nobody can tell.
#[test]
fn an_error_that_all_positions_have_stays_in_the_place_of_the_map() {
    for filter in ["default", "invariant"] {
        let mut config = single(filter);
        config.calibration.world.frame = WorldFrame::Estimated;
        (config.calibration.world.error_std_m, config.calibration.world.error_time_s) = (0.5, 1e5);
        let mut slam = Slam::new(config).unwrap();
        let mut world = World::new(11, 0.02);
        for _ in 0..1500 {
            let stamp = world.drive(&mut slam, 1.0, 0.1);
            let at = world.truth.p + Vector2::new(0.4 + world.noise(0.05), -0.3 + world.noise(0.05));
            slam.features(stamp, MeasurementKind::WorldPosition, &[fix(at, 0.05)]).unwrap();
            drain(&mut slam);
        }
        for parameter in [CalibrationParameter::WorldX, CalibrationParameter::WorldY] {
            let std = std_of(&slam, parameter);
            assert!((0.49..0.6).contains(&std), "{filter} {parameter:?}: {std}");
        }
    }
}
