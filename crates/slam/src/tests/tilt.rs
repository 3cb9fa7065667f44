//! A robot on a slope: what the planar filter makes of it with roll and pitch, and without.

use super::*;
use crate::{CalibrationConfig, Imu, Tilt};
use lienav_planar::calibration::Calibration;
use lienav_planar::state::time_correlated::SLOTS;
use nalgebra::{Matrix3, UnitQuaternion, Vector3};

const SPEED: f64 = 0.9;
const TURN: f64 = 0.4;
/// Odometry at 50 Hz, the inertial sensor at 1 kHz.
const ODOMETRY_NS: i64 = 20_000_000;
const IMU_NS: i64 = 1_000_000;

/// A circle on a plane that is banked by 0.25 rad and rises by 0.15 rad.
struct Slope(UnitQuaternion<f64>);

impl Slope {
    fn new() -> Self {
        Self(UnitQuaternion::from_euler_angles(0.25, -0.15, 0.0))
    }

    fn orientation(&self, t: f64) -> UnitQuaternion<f64> {
        self.0 * UnitQuaternion::from_scaled_axis(Vector3::z() * (TURN * t))
    }

    /// Seen from above, from where the robot was at first.
    fn pose(&self, t: f64) -> Se2 {
        let at = |t: f64| {
            let on_plane = Vector3::new((TURN * t).sin(), 1.0 - (TURN * t).cos(), 0.0) * (SPEED / TURN);
            let (_, _, yaw) = self.orientation(t).euler_angles();
            let above = self.0 * on_plane;
            Se2::new(above.x, above.y, yaw)
        };
        at(0.0).inverse() * at(t)
    }

    fn tilt(&self, t: f64) -> Tilt {
        Tilt::of(&self.orientation(t)).unwrap()
    }

    /// Where a pole is cut by the plane of a sensor in the middle of the robot.
    fn seen(&self, t: f64, pole: &Vector2<f64>) -> Vector2<f64> {
        let ahead = self.pose(t).inverse().transform(pole);
        self.tilt(t).levelling().try_inverse().unwrap() * ahead
    }
}

const POLES: [[f64; 2]; 4] = [[4.0, 1.0], [-2.0, 3.0], [1.0, 6.0], [3.0, -3.0]];

/// Ten seconds of the slope, with a scan of poles every half second where a kind is given: the filter at its end.
fn drive(use_tilt: bool, has_orientation: bool, kind: Option<MeasurementKind>) -> Slam {
    let slope = Slope::new();
    let mut config = config("default");
    config.motion.use_tilt = use_tilt;
    (config.sensor.x_m, config.sensor.y_m, config.sensor.yaw_rad) = (0.3, -0.1, 0.5);
    let mount = Se2::new(0.3, -0.1, 0.5);
    let mut slam = Slam::new(config).unwrap();
    for begin in (0..10_000_000_000).step_by(ODOMETRY_NS as usize) {
        let odometry = |nanos: i64| Odometry {
            stamp: Stamp::from_nanos(nanos),
            velocity: Vector2::new(SPEED, 0.0),
            yaw_rate: TURN,
            covariance: None,
        };
        if begin == 0 {
            slam.odometry(&odometry(0)).unwrap();
        }
        for k in 0..ODOMETRY_NS / IMU_NS {
            // In the middle of what it stands for.
            let stamp = Stamp::from_nanos(begin + k * IMU_NS + IMU_NS / 2);
            let tilt = has_orientation.then(|| slope.tilt(stamp.secs()));
            slam.imu(&Imu::new(stamp, &(Vector3::z() * TURN), tilt)).unwrap();
        }
        let now = odometry(begin + ODOMETRY_NS);
        slam.odometry(&now).unwrap();
        if let Some(kind) = kind.filter(|_| now.stamp.nanos() % 500_000_000 == 0) {
            let seen = |(id, pole): (usize, &[f64; 2])| {
                let cut = mount.inverse().transform(&slope.seen(now.stamp.secs(), &Vector2::from(*pole)));
                let polar = Vector2::new(cut.norm(), cut.y.atan2(cut.x));
                let value = if kind == MeasurementKind::RangeBearing { polar } else { cut };
                Measurement::new(Some(id as u32), value)
            };
            let scan: Vec<Measurement> = POLES.iter().enumerate().map(seen).collect();
            slam.features(now.stamp, kind, &scan).unwrap();
        }
        while slam.poll().is_some() {}
    }
    slam
}

#[test]
fn heading_and_way_on_a_slope_are_those_seen_from_above() {
    let truth = Slope::new().pose(10.0);
    let off = |use_tilt: bool, has_orientation: bool| {
        let found = drive(use_tilt, has_orientation, None).predicted().unwrap().pose;
        (lienav_lie::wrap_angle(found.theta - truth.theta).abs(), (found.p - truth.p).norm())
    };
    let (heading, way) = off(true, true);
    assert!(heading < 1e-6 && way < 1e-4, "{heading} {way}");
    // The rate about the robot's own vertical, and the way along the slope.
    let (heading, way) = off(false, false);
    assert!(heading > 5e-3 && way > 0.05, "{heading} {way}");
    // The rate of the heading alone.
    let (heading, way) = off(false, true);
    assert!(heading < 1e-6 && way > 0.05, "{heading} {way}");
}

#[test]
fn poles_seen_on_a_slope_are_put_where_they_are_seen_from_above() {
    let off = |use_tilt: bool, kind: MeasurementKind| {
        let slam = drive(use_tilt, true, Some(kind));
        let found = slam.landmarks().map(|l| (l.position - Vector2::from(POLES[l.id as usize])).norm());
        found.fold(0.0, f64::max)
    };
    for kind in [MeasurementKind::RelativePosition, MeasurementKind::RangeBearing] {
        assert!(off(true, kind) < 2e-3, "{kind:?} {}", off(true, kind));
        assert!(off(false, kind) > 0.03, "{kind:?} {}", off(false, kind));
    }
}

/// Posts of 2 m around the way of a robot, with identities.
const HEIGHT_M: f64 = 2.0;

/// What a base at `pose` that leans by `tilt` measures of a point at this height above the floor: (x, y) and the height
/// in the frame of the base.
fn measured(pose: &Se2, tilt: &Tilt, point: &Vector2<f64>, height: f64) -> (Vector2<f64>, f64) {
    let base = UnitQuaternion::from_euler_angles(tilt.roll, tilt.pitch, pose.theta);
    let from_base = Vector3::new(point.x - pose.p.x, point.y - pose.p.y, height);
    let seen = base.inverse() * from_base;
    (seen.xy(), seen.z)
}

#[test]
fn roll_and_pitch_move_a_landmark_by_its_height() {
    // y = h(φ, θ) against the derivative that the filter has, at any place of the landmark, by finite differences.
    let pose = Se2::new(0.4, -0.3, 0.8);
    for (place, height) in [([3.0, 1.0], 2.0), ([-1.0, 0.2], 0.7), ([0.5, -4.0], -1.5)] {
        let place = Vector2::from(place);
        let step = 1e-6;
        let at = |roll: f64, pitch: f64| measured(&pose, &Tilt { roll, pitch }, &place, height).0;
        let by_roll = (at(step, 0.0) - at(-step, 0.0)) / (2.0 * step);
        let by_pitch = (at(0.0, step) - at(0.0, -step)) / (2.0 * step);
        assert!((by_roll - Vector2::new(0.0, height)).norm() < 1e-6, "{by_roll}");
        assert!((by_pitch - Vector2::new(-height, 0.0)).norm() < 1e-6, "{by_pitch}");
        // What levelling adds is the opposite, per metre.
        for (tilt, expected) in [
            (Tilt { roll: step, pitch: 0.0 }, Vector2::new(0.0, -step)),
            (Tilt { roll: 0.0, pitch: step }, Vector2::new(step, 0.0)),
        ] {
            assert!((tilt.shift_per_height() - expected).norm() < 1e-12);
        }
    }
}

const MOUNT: Se2 = Se2 { p: Vector2::new(0.1, 0.0), theta: 0.3 };

fn sensor_of_posts() -> crate::Sensor {
    crate::Sensor::of_landmarks(crate::Position { std_m: 0.01, min_range_m: 0.0, max_range_m: 50.0 }, MOUNT)
}

/// A robot on a circle of 2 m that rocks by this many radians once in 2 s, with posts on a sensor that was added to the
/// filter: the filter, and the mean NEES and the root mean square of the position after 5 s.
fn rock(
    amplitude: f64,
    seed: u64,
    change: impl FnOnce(&mut Config),
    knows_height: bool,
    has_imu: bool,
) -> (Slam, f64, f64) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut noise = |std: f64| {
        let x: f64 = rand_distr::Distribution::sample(&rand_distr::StandardNormal, &mut random);
        std * x
    };
    let mut config = config("default");
    change(&mut config);
    let mut slam = Slam::new(config).unwrap();
    let kind = slam.add_sensor(sensor_of_posts()).unwrap();
    let (speed, rate) = (0.5, 0.25);
    let truth = |t: f64| Se2::exp(&Vector3::new(speed * t, 0.0, rate * t));
    let (mut nees, mut square, mut steps) = (0.0, 0.0, 0.0);
    for k in 0..2500_i64 {
        let t = 0.02 * k as f64;
        let stamp = Stamp::from_nanos(20_000_000 * k);
        let tilt = Tilt { roll: amplitude * (3.1 * t).sin(), pitch: amplitude * (2.3 * t).cos() };
        let std = Vector3::new(0.02, 0.01, 0.02);
        let twist = Vector3::new(speed, 0.0, rate) + std.map(&mut noise);
        let covariance = Some(Matrix3::from_diagonal(&std.component_mul(&std)));
        if has_imu {
            slam.imu(&Imu { stamp, yaw_rate: twist.z, tilt: Some(tilt) }).unwrap();
        }
        slam.odometry(&Odometry { stamp, velocity: twist.xy(), yaw_rate: twist.z, covariance }).unwrap();
        if k % 5 == 0 && k > 0 {
            let seen: Vec<Measurement> = (0..8_u32)
                .map(|id| {
                    let angle = 0.8 * f64::from(id);
                    let post = Vector2::new(4.5 * angle.cos(), 2.0 + 4.5 * angle.sin());
                    let (on_base, height) = measured(&truth(t), &tilt, &post, HEIGHT_M);
                    let read = MOUNT.transform_back(&on_base) + Vector2::new(noise(0.01), noise(0.01));
                    let height_m = if knows_height { height } else { 0.0 };
                    Measurement { height_m, ..Measurement::new(Some(id), read) }
                })
                .collect();
            slam.features(stamp, kind, &seen).unwrap();
        }
        while let Some(step) = slam.poll() {
            let Some(pose) = (step.estimate.stamp.secs() > 5.0).then(|| truth(step.estimate.stamp.secs())) else {
                continue;
            };
            let (off, found) = (step.estimate.pose.p - pose.p, step.estimate.pose);
            let error = Vector3::new(off.x, off.y, lienav_lie::wrap_angle(found.theta - pose.theta));
            nees += error.dot(&step.estimate.covariance.cholesky().unwrap().solve(&error));
            square += off.norm_squared();
            steps += 1.0;
        }
    }
    (slam, nees / steps, (square / steps).sqrt())
}

#[test]
fn a_robot_that_rocks_knows_how_well_it_knows_its_pose() {
    for degrees in [0.0, 0.5, 2.0_f64] {
        let runs = (0..6).map(|seed| rock(degrees.to_radians(), seed, |_| {}, true, false));
        let (nees, rms) = runs.fold((0.0, 0.0_f64), |(n, e), (_, nees, rms)| (n + nees / 6.0, e.max(rms)));
        assert!((0.8..6.0).contains(&nees) && rms < 0.06, "{degrees}: {nees} {rms}");
    }
    // Without the heights, or with a base that is said to be always level, it does not.
    let (_, nees, _) = rock(0.035, 1, |_| {}, false, false);
    let (_, same, _) = rock(0.035, 1, |config| config.motion.tilt_std_rad = 0.0, true, false);
    assert!(nees > 30.0 && same > 30.0, "{nees} {same}");
}

#[test]
fn what_an_inertial_sensor_levels_is_as_exact_as_on_level_ground() {
    let run =
        |amplitude: f64, use_tilt: bool| rock(amplitude, 3, |config| config.motion.use_tilt = use_tilt, true, true);
    let ((_, nees, rms), (_, _, level)) = (run(0.1, true), run(0.0, true));
    assert!(rms < level + 0.004 && nees < 6.0, "{rms} {level} {nees}");
    assert!(run(0.1, false).2 > 3.0 * rms, "{}", run(0.1, false).2);
}

#[test]
fn roll_and_pitch_are_states_only_where_a_landmark_has_a_height() {
    let rows = |slam: &Slam| slam.state().covariance.calibration();
    let (plain, ..) = rock(0.0, 2, |_| {}, false, false);
    let (tall, ..) = rock(0.0, 2, |_| {}, true, false);
    assert_eq!((rows(&plain), rows(&tall)), (0, 2));
    assert_eq!(tall.calibration().count(), 0, "they are no constants that somebody may want to know");
    // With calibration and time-correlated errors beside them; started again; and saved.
    let all_on = |config: &mut Config| {
        config.calibration = super::calibration::all_on();
        config.sensor.correlation_s = 0.5;
    };
    let (mut slam, nees, _) = rock(0.02, 4, all_on, true, false);
    assert!(nees < 9.0, "{nees}");
    let before = rows(&slam);
    assert_eq!(before, 12 + 2 + 2 * SLOTS);
    let mut config = config("default");
    all_on(&mut config);
    let mut resumed = Slam::new(config).unwrap();
    resumed.add_sensor(sensor_of_posts()).unwrap();
    resumed.restore(slam.save()).unwrap();
    assert_eq!((rows(&resumed), resumed.state().calibration.tilt()), (before, slam.state().calibration.tilt()));
    slam.reset();
    assert_eq!(rows(&slam), before);
}

#[test]
fn a_calibration_that_was_saved_without_roll_and_pitch_is_read() {
    let mut config = CalibrationConfig::default();
    (config.range_scale.value, config.world.error_std_m) = (0.02, 0.5);
    let now = Calibration::new(&config);
    let mut saved = serde_json::to_value(&now).unwrap();
    for field in ["values", "walks"] {
        saved[field].as_array_mut().unwrap().drain(12..14);
    }
    saved.as_object_mut().unwrap().remove("tilt");
    assert_eq!(serde_json::from_value::<Calibration>(saved.clone()).unwrap(), now);
    saved["values"].as_array_mut().unwrap().pop();
    assert!(serde_json::from_value::<Calibration>(saved).is_err());
}
