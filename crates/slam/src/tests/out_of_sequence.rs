//! Scans that come too late for their place, and are taken in by going back.

use super::hall::{self, Path};
use super::{Instant, config, drain, recording, stamp};
use crate::{
    Config, DropReason, Imu, Landmark, LandmarkMap, MapMode, Measurement, MeasurementKind, Odometry, PoseEstimate,
    RangeBearing, Se2, Sensor, Slam,
};
use nalgebra::{Matrix3, Vector2};
use proptest::prelude::*;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

const KIND: MeasurementKind = MeasurementKind::RelativePosition;

fn rewinding(filter: &str) -> Config {
    let mut config = config(filter);
    config.timing.reorder_window_s = 0.1;
    config.timing.rewind_s = 1.0;
    config
}

/// What a run has come to, to the last bit.
fn end(slam: &Slam) -> (PoseEstimate, Vec<Landmark>) {
    (slam.predicted().unwrap(), slam.landmarks().collect())
}

/// Takes in all odometry in its order, and each scan `late_by(k)` later than that of its stamp.
fn play(config: &Config, map: Option<&LandmarkMap>, instants: &[Instant], late_by: impl Fn(usize) -> f64) -> Slam {
    let mut slam = Slam::new(config.clone()).unwrap();
    slam.keep_trace();
    if let Some(map) = map {
        slam.set_map(map.clone()).unwrap();
    }
    let mut arrivals: Vec<(f64, usize)> =
        (0..instants.len()).map(|k| (instants[k].odometry.stamp.secs() + late_by(k) + 1e-3, k)).collect();
    arrivals.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut arrivals = arrivals.into_iter().peekable();
    let mut scans_until = |slam: &mut Slam, now: f64| {
        while let Some((_, k)) = arrivals.next_if(|(at, _)| *at < now) {
            slam.features(instants[k].odometry.stamp, config.sensor.kind, &instants[k].seen).unwrap();
            drain(slam);
        }
    };
    for instant in instants {
        let stamp = instant.odometry.stamp;
        // Odometry comes five times as often as scans, and its stamps are not theirs.
        for ago in [0.08, 0.06, 0.04, 0.02] {
            let stamp = stamp + (0.003 - ago);
            if stamp.secs() > 0.0 {
                slam.odometry(&Odometry { stamp, ..instant.odometry }).unwrap();
                drain(&mut slam);
            }
        }
        scans_until(&mut slam, stamp.secs());
        let _ = slam.imu(&Imu { stamp, yaw_rate: instant.odometry.yaw_rate + 0.01, tilt: None });
        slam.odometry(&instant.odometry).unwrap();
        drain(&mut slam);
    }
    scans_until(&mut slam, f64::INFINITY);
    slam
}

/// The trace of a run: poses after each step, and how many measurements were in it.
fn traced(slam: &Slam) -> Vec<(Se2, usize, usize)> {
    let steps = &slam.trace().unwrap().steps;
    steps.iter().map(|step| (step.pose, step.segments.len(), step.measurements.len())).collect()
}

#[test]
fn a_scan_that_is_late_gives_what_it_would_have_given_in_time_to_the_last_bit() {
    let instants = recording(60, 7);
    for filter in ["default", "reduced", "ekf", "fe-ekf", "invariant"] {
        for (learns, is_nameless) in [(false, false), (true, false), (false, true)] {
            let mut config = rewinding(filter);
            config.learning.enabled = learns;
            let mut instants = instants.clone();
            if is_nameless {
                instants.iter_mut().for_each(|i| i.seen.iter_mut().for_each(|o| o.id = None));
            }
            let in_time = play(&config, None, &instants, |_| 0.0);
            let late = play(&config, None, &instants, |k| if k % 7 == 3 { 0.75 } else { 0.0 });
            assert_eq!(end(&late), end(&in_time), "{filter}, learns {learns}, without identities {is_nameless}");
            assert_eq!(traced(&late), traced(&in_time), "{filter}");
            assert_eq!((in_time.late_scans(), late.late_scans()), (0, 8));
        }
    }
}

#[test]
fn in_a_known_map_too() {
    let truth = hall::landmarks(7, 1);
    let map = hall::map(&truth, 0.05, 2);
    let way = Path::Circle(6.0);
    let instants: Vec<Instant> = hall::drive(&truth, 7, way, 80, 3)
        .into_iter()
        .map(|hall::Instant { odometry, truth, seen }| Instant { odometry, truth, seen })
        .collect();
    for mode in [MapMode::Localization, MapMode::Extend] {
        let mut config = hall::config("default", mode);
        (config.timing.reorder_window_s, config.timing.rewind_s) = (0.1, 1.0);
        let start = hall::start(way, 7);
        (config.initial.x_m, config.initial.y_m, config.initial.yaw_rad) = (start.p.x, start.p.y, start.theta);
        let in_time = play(&config, Some(&map), &instants, |_| 0.0);
        let late = play(&config, Some(&map), &instants, |k| if k % 5 == 2 { 0.45 } else { 0.0 });
        assert_eq!(end(&late), end(&in_time), "{mode:?}");
        assert_eq!(late.map(), in_time.map());
        assert!(late.late_scans() > 10);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn scans_of_any_lateness_within_the_time_give_the_run_in_which_they_were_in_time(
        seed in 0_u64..1000, most in 0.0..0.95_f64, window in 0.0..0.3_f64,
    ) {
        let instants = recording(40, seed);
        let mut config = rewinding("default");
        config.timing.reorder_window_s = window;
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let late: Vec<f64> = instants.iter()
            .map(|_| rng.random_range(0.0..=most)).collect();
        let in_time = play(&config, None, &instants, |_| 0.0);
        let other = play(&config, None, &instants, |k| late[k]);
        prop_assert_eq!(end(&other), end(&in_time));
        prop_assert_eq!(traced(&other), traced(&in_time));
    }
}

/// Sixty instants of which scan 50 is missing.
fn without_one(config: Config) -> (Slam, Vec<Instant>) {
    let instants = recording(60, 5);
    let mut slam = Slam::new(config).unwrap();
    slam.keep_trace();
    for (k, instant) in instants.iter().enumerate() {
        slam.odometry(&instant.odometry).unwrap();
        if k != 50 {
            slam.features(instant.odometry.stamp, KIND, &instant.seen).unwrap();
        }
        drain(&mut slam);
    }
    (slam, instants)
}

#[test]
fn what_is_too_late_for_that_too_is_dropped_and_what_is_known_counts_once() {
    let (mut slam, instants) = without_one(rewinding("default"));
    let before = end(&slam);
    for (k, reason) in [(40, DropReason::TooLate), (55, DropReason::DuplicateStamp), (59, DropReason::DuplicateStamp)] {
        assert_eq!(slam.features(stamp(k), KIND, &instants[k].seen), Err(reason), "{k}");
    }
    assert_eq!((end(&slam), slam.late_scans()), (before.clone(), 0));
    assert_eq!(slam.features(stamp(50), KIND, &instants[50].seen), Ok(()));
    assert_eq!(slam.features(stamp(50), KIND, &instants[50].seen), Err(DropReason::DuplicateStamp));
    assert_ne!(end(&slam).0, before.0);
    assert_eq!((slam.poll(), slam.late_scans()), (None, 1));
}

#[test]
fn by_default_nothing_is_kept_and_late_scans_are_dropped() {
    let (mut slam, instants) = without_one(config("default"));
    assert_eq!(slam.features(stamp(50), KIND, &instants[50].seen), Err(DropReason::TooLate));
    assert_eq!(slam.rollback_sizes(), (0, 0));
}

#[test]
fn nobody_goes_back_behind_what_was_changed_from_outside() {
    type Change = fn(&mut Slam);
    let changes: [Change; 5] = [
        |slam| slam.set_pose(Se2::new(1.0, 2.0, 0.3), &Matrix3::zeros()).unwrap(),
        |slam| slam.set_mode(MapMode::Extend),
        |slam| slam.place_sensor(KIND, Se2::new(0.1, 0.0, 0.0)).unwrap(),
        |slam| slam.reconfigure(Config { filter: "default".into(), ..rewinding("default") }).unwrap(),
        |slam| slam.restore(slam.save()).unwrap(),
    ];
    for (k, change) in changes.into_iter().enumerate() {
        let (mut slam, instants) = without_one(rewinding("default"));
        change(&mut slam);
        let pose = slam.predicted();
        assert_eq!(slam.features(stamp(50), KIND, &instants[50].seen), Err(DropReason::TooLate), "change {k}");
        assert_eq!(slam.predicted(), pose);
    }
}

#[test]
fn a_sensor_that_has_seen_nothing_yet_may_be_placed_without_harm() {
    let (mut slam, instants) = without_one(rewinding("default"));
    let measurement =
        RangeBearing { range_std_m: 0.05, bearing_std_rad: 0.02, max_range_m: 50.0, ..RangeBearing::default() };
    let added = slam.add_sensor(Sensor::of_landmarks(measurement, Se2::identity())).unwrap();
    for (k, instant) in recording(70, 5).iter().enumerate().skip(60) {
        slam.odometry(&instant.odometry).unwrap();
        slam.features(stamp(k), KIND, &instant.seen).unwrap();
        drain(&mut slam);
    }
    slam.place_sensor(added, Se2::new(0.1, 0.0, 0.0)).unwrap();
    let seen = [Measurement::new(Some(100), [3.0, 0.0])];
    assert_eq!(slam.features(stamp(65), added, &seen), Ok(()));
    assert_eq!(slam.late_scans(), 1);
    // The newest pose is four instants on.
    let landmark = slam.landmarks().find(|landmark| landmark.id == 100).unwrap();
    let pose = slam.trace().unwrap().steps[64].pose;
    assert!((landmark.position - pose.transform(&Vector2::new(3.1, 0.0))).norm() < 0.02, "{landmark:?} {pose:?}");
    slam.place_sensor(added, Se2::new(0.2, 0.0, 0.0)).unwrap();
    assert_eq!(slam.features(stamp(64), added, &instants[50].seen), Err(DropReason::TooLate));
}

#[test]
fn what_is_kept_is_bounded() {
    let instants = recording(400, 6);
    let slam = play(&rewinding("default"), None, &instants, |k| if k % 3 == 1 { 0.6 } else { 0.0 });
    let (points, scans) = slam.rollback_sizes();
    // A second, in quarters, and the one before it; 10 scans a second.
    assert!((4..=6).contains(&points) && scans <= 15, "{points} points, {scans} clouds");
}

#[test]
fn neither_a_search_that_finds_nothing_nor_a_sensor_that_stops_keeps_messages_for_ever() {
    let truth = hall::landmarks(7, 1);
    for searches in [true, false] {
        let mut config = hall::config("default", MapMode::Localization);
        (config.timing.rewind_s, config.initial.mode) =
            (1.0, if searches { crate::StartMode::Unknown } else { crate::StartMode::Given });
        let mut slam = Slam::new(config).unwrap();
        slam.set_map(hall::map(&truth, 0.05, 2)).unwrap();
        assert_eq!(slam.search().is_some(), searches);
        for k in 0..2000 {
            let odometry = Odometry { stamp: stamp(k), velocity: Vector2::zeros(), yaw_rate: 0.0, covariance: None };
            let _ = slam.imu(&Imu { stamp: stamp(k), yaw_rate: 0.0, tilt: None });
            slam.odometry(&odometry).unwrap();
        }
        assert!(slam.past_messages() <= 50, "{} messages, searches {searches}", slam.past_messages());
    }
}

#[test]
fn switched_on_while_running_it_works_from_there_on() {
    let (mut slam, instants) = without_one(config("default"));
    slam.reconfigure(rewinding("default")).unwrap_err();
    let mut config = config("default");
    config.timing.rewind_s = 1.0;
    slam.reconfigure(config).unwrap();
    for (k, mut instant) in recording(80, 5).into_iter().enumerate().skip(60) {
        instant.seen.truncate(6);
        slam.odometry(&instant.odometry).unwrap();
        if k != 75 {
            slam.features(instant.odometry.stamp, KIND, &instant.seen).unwrap();
        }
        drain(&mut slam);
    }
    assert_eq!(slam.features(stamp(62), KIND, &instants[50].seen), Err(DropReason::TooLate));
    assert_eq!(slam.features(stamp(75), KIND, &instants[50].seen), Ok(()));
}
