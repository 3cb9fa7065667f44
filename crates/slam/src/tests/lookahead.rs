//! The prediction at the newest odometry: what it is, and what it costs.

use super::*;
use crate::lookahead::tests::COMPOSITIONS;
use crate::{CalibrationConfig, Imu, Prior, TwistHold};
use rand::RngExt;

/// 1 kHz for `seconds`, a gyroscope at 200 Hz that is `late_ms` late, and a scan each 100 ms.
fn fast(slam: &mut Slam, seconds: i64, late_ms: i64, mut check: impl FnMut(&Slam)) {
    let instants = recording(10 * seconds as usize + 1, 1);
    for ms in 0..1000 * seconds {
        let stamp = |ms: i64| Stamp::from_nanos(1_000_000 * ms);
        let instant = &instants[(ms / 100) as usize];
        if ms % 5 == 0 {
            let _ = slam.imu(&Imu { stamp: stamp(ms - late_ms), yaw_rate: 0.3 + 1e-3 * (ms % 7) as f64, tilt: None });
        }
        slam.odometry(&Odometry { stamp: stamp(ms), ..instant.odometry }).unwrap();
        if ms % 100 == 0 {
            slam.features(stamp(ms), MeasurementKind::RelativePosition, &instant.seen).unwrap();
        }
        drain(slam);
        check(slam);
    }
}

fn with_window(seconds: f64) -> Config {
    let mut config = config("default");
    config.timing.reorder_window_s = seconds;
    config
}

#[test]
fn an_odometry_message_costs_the_same_whatever_waits() {
    for window in [0.0, 0.2, 2.0] {
        let mut slam = Slam::new(with_window(window)).unwrap();
        let before = COMPOSITIONS.get();
        fast(&mut slam, 6, -1, |_| ());
        let each = (COMPOSITIONS.get() - before) as f64 / 6e3;
        assert!(each < 4.0, "window {window} s: {each} compositions a message");
    }
}

fn assert_is_up_to_date(slam: &Slam) {
    let (Some(found), Some(expected)) = (slam.predicted(), slam.ahead_from_nothing()) else { return };
    assert_eq!(found.stamp, expected.stamp);
    assert!((found.pose.p - expected.pose.p).norm() < 1e-12, "{found:?} {expected:?}");
    assert!((found.pose.theta - expected.pose.theta).abs() < 1e-12);
    assert!((found.covariance - expected.covariance).amax() <= 1e-10 * expected.covariance.amax());
}

#[test]
fn late_samples_and_calibration_are_in_the_prediction() {
    let small = Prior { value: 0.0, sigma: 0.01, walk: 0.001 };
    let calibrating = CalibrationConfig { scale_v: small, bias_w: small, ..CalibrationConfig::default() };
    for calibration in [CalibrationConfig::default(), calibrating] {
        for late_ms in [0, 3, 40] {
            let mut slam = Slam::new(Config { calibration: calibration.clone(), ..with_window(0.05) }).unwrap();
            fast(&mut slam, 1, late_ms, assert_is_up_to_date);
        }
    }
}

#[test]
fn messages_out_of_order_are_in_the_prediction() {
    let instants = recording(200, 2);
    for (seed, hold) in [(1, TwistHold::Before), (2, TwistHold::After)] {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut config = with_window(1.0);
        config.motion.hold = hold;
        let mut slam = Slam::new(config).unwrap();
        let mut arrivals: Vec<(f64, usize)> = (1..200).map(|k| (k as f64 + rng.random_range(0.0..5.0), k)).collect();
        arrivals.sort_by(|a, b| a.0.total_cmp(&b.0));
        feed(&mut slam, &instants[0]);
        for (_, k) in arrivals {
            if k % 7 == 0 {
                let _ = slam.imu(&Imu { stamp: stamp(k) - 0.33, yaw_rate: 0.3, tilt: None });
            }
            let _ = slam.odometry(&instants[k].odometry);
            if k % 3 == 0 {
                let _ = slam.features(stamp(k), MeasurementKind::RelativePosition, &instants[k].seen);
            }
            drain(&mut slam);
            assert_is_up_to_date(&slam);
        }
        // A scan that is due takes the state to its stamp: odometry of before comes too late then.
        assert!(slam.counts().total() < 70, "{:?}", slam.counts());
    }
}
