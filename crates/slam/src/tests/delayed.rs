//! Landmarks that wait for their place.

use super::single::{FILTERS, World, single};
use super::with_stated_noise;
use super::*;
use nalgebra::Vector3;

/// Beacons about a path that winds, and with it the time when each is told from its image; one range in twenty is too
/// long.
fn winding(seed: u64, mut after: impl FnMut(&Slam, &World, &[Vector2<f64>])) -> Slam {
    let places = [(9.0, 7.0), (-6.0, 8.0), (5.0, -9.0), (-8.0, -5.0)].map(|(x, y)| Vector2::new(x, y));
    let mut config = single("default");
    (config.sensor.late_probability, config.sensor.late_max_m) = (0.05, 5.0);
    let mut slam = Slam::new(config).unwrap();
    let mut world = World::new(seed, 0.02);
    let phase = world.noise(2.0);
    for k in 0..250 {
        let turn = 0.25 * (0.03 * k as f64 + phase).sin();
        let stamp = world.drive(&mut slam, 1.0, turn);
        if k % 3 != 0 {
            continue;
        }
        let seen: Vec<_> = (0..4)
            .map(|i| {
                let late = if world.noise(1.0).abs() > 1.96 { 1.0 + world.noise(1.0).abs() } else { 0.0 };
                let [range] = world.range(&places[i], 0.1);
                Measurement::new(Some(i as u32), [range + late])
            })
            .collect();
        slam.features(stamp, MeasurementKind::Range, &seen).unwrap();
        drain(&mut slam);
        after(&slam, &world, &places);
    }
    slam
}

/// A place is taken only when it is the right one: no beacon is ever a landmark where it is not, by more than six
/// standard deviations.
#[test]
fn no_beacon_is_a_landmark_in_the_mirror() {
    let mut placed = 0;
    for seed in 0..60 {
        let slam = winding(seed, |slam, _, places| {
            for landmark in slam.landmarks() {
                let error = landmark.position - places[landmark.id as usize];
                let square = error.dot(&(landmark.covariance.try_inverse().unwrap() * error));
                let is_there = error.norm() < 3.0 && square < 36.0;
                assert!(is_there, "seed {seed}, beacon {}: off by {error}, {square}", landmark.id);
            }
        });
        placed += slam.landmarks().count();
    }
    assert!(placed > 200, "{placed} of 240 beacons have a place");
}

/// Anchor poses are gone when nobody waits for them, and there are never many.
#[test]
fn anchor_poses_go_when_nobody_waits() {
    let mut most = 0;
    let slam = winding(1, |slam, _, _| most = most.max(slam.state().anchor_poses.len()));
    assert!((3..=96).contains(&most), "{most}");
    assert_eq!(slam.landmarks().count(), 4);
    assert_eq!((slam.state().anchor_poses.len(), slam.state().landmarks.len()), (0, 4));
}

/// What is read before a place is known counts when it is: the covariance of a filter that waits is no larger than that
/// of one that knew the place beforehand to five metres, which is little beside the measurements.
#[test]
fn waiting_loses_nothing() {
    for kind in [MeasurementKind::Range, MeasurementKind::Bearing] {
        for filter in FILTERS {
            let place = Vector2::new(5.0, 6.0);
            let both = [false, true].map(|is_claimed| {
                let mut slam = Slam::new(single(filter)).unwrap();
                let mut world = World::new(7, 0.02);
                for k in 0..120 {
                    let stamp = world.drive(&mut slam, 1.0, 0.3);
                    if k == 0 && is_claimed {
                        let claimed = Measurement { covariance: Some(1.0.into()), ..Measurement::new(Some(3), [0.0]) };
                        let covariance = Some(crate::Noise::from(nalgebra::Matrix2::identity() * 25.0));
                        let claimed = Measurement { covariance, ..Measurement { value: place.into(), ..claimed } };
                        slam.features(stamp, MeasurementKind::RelativePosition, &[claimed]).unwrap();
                    }
                    let value = if kind == MeasurementKind::Range {
                        world.range(&place, 0.1)
                    } else {
                        world.bearing(&place, 0.01)
                    };
                    slam.features(stamp, kind, &[Measurement::new(Some(3), value)]).unwrap();
                    drain(&mut slam);
                }
                assert_eq!(slam.landmarks().count(), 1, "{filter} {kind:?}");
                slam.predicted().unwrap().covariance
            });
            let (waited, claimed) = (both[0].trace(), both[1].trace());
            assert!(waited < 1.2 * claimed, "{filter} {kind:?}: {waited} instead of {claimed}");
        }
    }
}

/// A robot that starts elsewhere, turned, estimates the same, moved: of nothing else has it measurements.
#[test]
fn the_world_may_be_turned_and_moved() {
    let moved = Se2::new(3.0, -7.0, 2.0);
    for kind in [MeasurementKind::Range, MeasurementKind::Bearing] {
        for filter in ["default", "invariant", "reduced"] {
            let ends = [Se2::identity(), moved].map(|start| {
                let mut config = single(filter);
                (config.initial.x_m, config.initial.y_m, config.initial.yaw_rad) = (start.p.x, start.p.y, start.theta);
                let mut slam = Slam::new(config).unwrap();
                let mut world = World::new(11, 0.02);
                for _ in 0..150 {
                    let stamp = world.drive(&mut slam, 1.0, 0.3);
                    let place = Vector2::new(5.0, 6.0);
                    let value = if kind == MeasurementKind::Range {
                        world.range(&place, 0.1)
                    } else {
                        world.bearing(&place, 0.01)
                    };
                    slam.features(stamp, kind, &[Measurement::new(Some(3), value)]).unwrap();
                    drain(&mut slam);
                }
                let landmark = slam.landmarks().next().unwrap().position;
                (slam.predicted().unwrap().pose, landmark)
            });
            let (expected, place) = (moved * ends[0].0, moved.transform(&ends[0].1));
            assert!((ends[1].0.p - expected.p).norm() < 1e-6, "{filter} {kind:?}: {:?} {expected:?}", ends[1].0);
            assert!((ends[1].1 - place).norm() < 1e-6, "{filter} {kind:?}");
        }
    }
}

/// A landmark that another kind of measurement places takes all the measurements that waited for it.
#[test]
fn what_waits_is_used_when_another_sensor_places_the_landmark() {
    let place = Vector2::new(8.0, 5.0);
    let end = |with_ranges: bool| {
        let mut slam = Slam::new(single("default")).unwrap();
        let mut world = World::new(9, 0.02);
        for k in 0..60 {
            // Straight on: ranges alone do not tell the side.
            let stamp = world.drive(&mut slam, 1.0, 0.0);
            let range = world.range(&place, 0.1);
            if with_ranges && k < 40 {
                slam.features(stamp, MeasurementKind::Range, &[Measurement::new(Some(3), range)]).unwrap();
            }
            if k == 40 {
                let z = world.truth.transform_back(&place);
                let covariance = Some(crate::Noise::from(nalgebra::Matrix2::identity() * 0.04));
                let seen = Measurement { covariance, ..Measurement::new(Some(3), z) };
                slam.features(stamp, MeasurementKind::RelativePosition, &[seen]).unwrap();
            }
            drain(&mut slam);
        }
        assert_eq!((slam.landmarks().count(), slam.state().anchor_poses.len()), (1, 0));
        let landmark = slam.landmarks().next().unwrap();
        let error = landmark.position - place;
        assert!(error.dot(&(landmark.covariance.try_inverse().unwrap() * error)) < 13.8, "{error}");
        landmark.covariance.trace()
    };
    assert!(end(true) < 0.5 * end(false), "the ranges counted");
}

/// Jacobians of a measurement from an anchor pose, against finite differences of the points and the landmark.
#[test]
fn a_measurement_from_a_anchor_pose_is_linearized_as_it_is() {
    use crate::Coordinates;
    use lienav_associate::delayed_initialization::row::linearize;
    use lienav_planar::calibration::Calibration;
    let config = crate::SensorConfig { x_m: 0.3, y_m: -0.2, yaw_rad: 0.4, ..crate::SensorConfig::default() };
    let sensors = Sensors::new(&config, crate::StereoModel::Bearings, &[]);
    for coordinates in [Coordinates::World, Coordinates::Robot, Coordinates::Invariant] {
        for (kind, value) in [(MeasurementKind::Range, 6.0), (MeasurementKind::Bearing, -0.8)] {
            let mut state = laws::correlated(coordinates, 3, 4);
            state.mounts = sensors.mounts(&Calibration::new(&with_stated_noise().calibration));
            let measurement = sensors.read(kind, &Measurement::new(Some(0), [value])).unwrap();
            let at = |state: &State| {
                let row = linearize(state, &sensors, (1, Some(2)), &measurement, &state.landmarks[0].x).unwrap();
                let [a, b, c, d] = [0, 1, 2, 3].map(|k| row.entries[k].1);
                (row.residual, [row.by_landmark.x, row.by_landmark.y, c, d, a, b])
            };
            let (_, h) = at(&state);
            for (row, h) in h.into_iter().enumerate() {
                let mut residual = [0.0; 2];
                for (sign, residual) in [1e-6, -1e-6].into_iter().zip(&mut residual) {
                    let mut moved = state.clone();
                    moved.landmarks[row / 2].x[row % 2] += sign;
                    *residual = at(&moved).0;
                }
                // Residuals fall as predictions rise.
                let numeric = -(residual[0] - residual[1]) / 2e-6;
                assert!((h - numeric).abs() < 1e-6, "{coordinates:?} {kind:?} {row}: {h} {numeric}");
            }
        }
    }
}

/// NEES of the pose at the moment when the first landmark takes its place, over many runs.
#[test]
fn the_covariance_is_honest_when_landmarks_take_their_places() {
    let (mut nees, mut runs) = (0.0, 0.0);
    for seed in 100..140 {
        let mut first = None;
        winding(seed, |slam, world, _| {
            if first.is_none() && slam.landmarks().count() > 0 {
                let estimate = slam.predicted().unwrap();
                let p = world.truth.p - estimate.pose.p;
                let error = Vector3::new(p.x, p.y, lienav_lie::wrap_angle(world.truth.theta - estimate.pose.theta));
                first = Some(error.dot(&(estimate.covariance.try_inverse().unwrap() * error)));
            }
        });
        nees += first.unwrap_or_default();
        runs += f64::from(u8::from(first.is_some()));
    }
    // χ² of 120 degrees of freedom by 40: 3 ± 0.39.
    assert!(runs > 35.0 && (1.9..4.3).contains(&(nees / runs)), "{} over {runs} runs", nees / runs);
}

/// Bearings have no scale: that of the map is what odometry says, and the covariance knows how well. What is long in
/// odometry by its noise must not count more than what is short.
#[test]
fn the_scale_of_a_map_by_bearings_is_that_of_odometry() {
    let (runs, std) = (12, 0.05);
    let (mut nees, mut bias) = (0.0, 0.0);
    for seed in 0..runs {
        let mut config = single("default");
        let motion = &mut config.motion;
        (motion.velocity_x_std, motion.velocity_y_std, motion.yaw_rate_std) = (std, std, std);
        (config.sensor.bearing_std_rad, config.sensor.max_range_m) = (0.0087, 10.0);
        config.gate.probability = 1.0;
        let mut slam = Slam::new(config).unwrap();
        let mut world = World::new(200 + seed, std);
        // A way of 10 m radius about (0, 10), and marks up to 7 m beside it.
        let marks: Vec<Vector2<f64>> = (0..110)
            .map(|_| {
                let angle = world.noise(10.0);
                let radius = 3.0 + 14.0 * (0.5 + 0.5 * libm::erf(world.noise(1.0) / 2.0_f64.sqrt())).sqrt();
                Vector2::new(radius * angle.cos(), 10.0 + radius * angle.sin())
            })
            .collect();
        for _ in 0..250 {
            let stamp = world.drive(&mut slam, 1.0, 0.1);
            let seen: Vec<_> =
                (0..marks.len()).filter(|&i| (0.5..7.0).contains(&(marks[i] - world.truth.p).norm())).collect();
            let seen: Vec<_> =
                seen.iter().map(|&i| Measurement::new(Some(i as u32), world.bearing(&marks[i], 0.0087))).collect();
            slam.features(stamp, MeasurementKind::Bearing, &seen).unwrap();
            drain(&mut slam);
        }
        let estimate = slam.predicted().unwrap();
        let way = world.truth.p.normalize();
        let off = way.dot(&(world.truth.p - estimate.pose.p));
        let variance = way.dot(&(estimate.covariance.fixed_view::<2, 2>(0, 0) * way));
        nees += off * off / variance / runs as f64;
        bias += off / world.truth.p.norm() / runs as f64;
    }
    // χ² of 24 by 24: 1 ± 0.29.
    assert!(nees < 2.0 && bias.abs() < 0.006, "NEES along the way {nees}, bias of the scale {bias}");
}
