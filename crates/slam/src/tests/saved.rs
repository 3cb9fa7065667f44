//! A run that is saved and resumed is the run that was not interrupted.

use super::*;
use crate::{Filter, Imu, RangeBearing, ResumeError, SavedState, Sensor};
use nalgebra::Vector3;

/// Inputs in the order of their arrival.
#[derive(Clone, Debug)]
enum Input {
    Odometry(Odometry),
    Imu(Imu),
    Scan(Stamp, MeasurementKind, Vec<Measurement>),
}

/// A noisy run with inertial samples, scans that come late, early and in pairs, and messages with wrong stamps.
fn inputs() -> Vec<Input> {
    let mut inputs = Vec::new();
    let mut late = None;
    for (k, instant) in recording(60, 31).into_iter().enumerate() {
        let stamp = instant.odometry.stamp;
        if k % 3 == 0 {
            inputs.push(Input::Imu(Imu::new(stamp, &Vector3::new(0.0, 0.0, instant.odometry.yaw_rate), None)));
        }
        inputs.push(Input::Odometry(instant.odometry));
        if k % 11 == 5 {
            let ahead = instant.odometry.stamp + [0.9, 1000.0, -500.0][k % 3];
            inputs.push(Input::Odometry(Odometry { stamp: ahead, ..instant.odometry }));
        }
        if k % 13 == 7 {
            inputs.push(Input::Odometry(Odometry {
                stamp: stamp + 0.05,
                velocity: Vector2::new(45.0, 0.0),
                ..instant.odometry
            }));
        }
        let mut seen = instant.seen;
        // Landmarks come one after the other, and the last one is not named.
        seen.truncate(1 + k / 6);
        if let Some(last) = seen.last_mut() {
            last.id = None;
        }
        seen.push(Measurement::new(Some(70), [f64::NAN, 0.0]));
        let scan = Input::Scan(stamp + 0.03, MeasurementKind::RelativePosition, seen);
        inputs.extend(late.take());
        if k % 4 == 1 {
            late = Some(scan)
        } else {
            inputs.push(scan)
        }
        if k % 5 == 2 {
            let value = [4.0 + 0.01 * k as f64, 0.3];
            let seen = vec![Measurement::new(Some(3), value)];
            inputs.push(Input::Scan(stamp + 0.06, MeasurementKind::Added(0), seen));
        }
    }
    inputs
}

/// With ranges that are vague, so that the fixed lag has something to keep, and calibration.
fn vague(filter: &str) -> Config {
    let mut config = config(filter);
    config.sensor.position_std_m = 0.5;
    config.calibration.scale_v.sigma = 0.05;
    config.calibration.range_bias.sigma = 0.1;
    config.calibration.bias_w.walk = 0.01;
    config
}

fn new(config: Config) -> Slam {
    let mut slam = Slam::new(config).unwrap();
    let lidar = RangeBearing {
        range_std_m: 0.3,
        bearing_std_rad: 0.05,
        min_range_m: 0.1,
        max_range_m: 25.0,
        ..RangeBearing::default()
    };
    slam.add_sensor(Sensor::of_landmarks(lidar, Se2::new(0.2, 0.0, 0.0))).unwrap();
    slam
}

/// What comes out, with every number that there is.
fn give(slam: &mut Slam, inputs: &[Input]) -> Vec<String> {
    let mut out = Vec::new();
    for input in inputs {
        let result = match input {
            Input::Odometry(odometry) => slam.odometry(odometry),
            Input::Imu(imu) => slam.imu(imu),
            Input::Scan(stamp, kind, seen) => slam.features(*stamp, *kind, seen),
        };
        out.push(format!("{result:?} {:?}", slam.predicted()));
        out.extend(drain(slam).iter().map(|step| format!("{step:?}")));
    }
    out
}

fn through_text(saved: &SavedState) -> SavedState {
    serde_json::from_str(&serde_json::to_string(saved).unwrap()).unwrap()
}

/// A state that doubts where the robot is, its landmarks reaching so far, m.
fn doubtful(reach_m: f64) -> Slam {
    let mut slam = new(vague("default"));
    give(&mut slam, &inputs()[..40]);
    let mut saved = serde_json::to_value(slam.save()).unwrap();
    saved["uncertain_place"] = serde_json::json!({"since": 3, "log_odds": -20.0, "missed": 5, "reach_m": reach_m});
    slam.restore(serde_json::from_value(saved).unwrap()).unwrap();
    slam
}

#[test]
fn a_doubtful_place_is_stated_as_wide_until_a_pose_is_given_or_landmarks_are_named() {
    let variance = |slam: &Slam| slam.predicted().unwrap().covariance[(0, 0)];
    let mut slam = doubtful(30.0);
    assert!((variance(&slam) / 900.0 - 1.0).abs() < 0.01, "{}", variance(&slam));
    slam.set_pose(Se2::identity(), &(nalgebra::Matrix3::identity() * 1e-4)).unwrap();
    assert!(variance(&slam) < 0.01, "{}", variance(&slam));
    let mut slam = doubtful(30.0);
    give(&mut slam, &inputs()[40..]);
    assert!(variance(&slam) < 1.0, "{}", variance(&slam));
    assert!(variance(&doubtful(-1.0)) < 1.0, "a damaged file states no doubt");
}

#[test]
fn every_filter_goes_on_bit_for_bit_wherever_it_was_interrupted() {
    let inputs = inputs();
    for (filter, _) in Filter::TABLE {
        let mut whole = new(vague(filter));
        let mut lags = 0;
        for k in 0..inputs.len() {
            if k % 9 == 4 {
                let saved = whole.save();
                lags += usize::from(serde_json::to_string(&saved).unwrap().contains("\"before\":{"));
                let mut resumed = new(vague(filter));
                resumed.restore(through_text(&saved)).unwrap();
                let mut unbroken = new(vague(filter));
                give(&mut unbroken, &inputs[..k]);
                let rest = &inputs[k..inputs.len().min(k + 40)];
                assert_eq!(give(&mut resumed, rest), give(&mut unbroken, rest), "{filter} at {k}");
                assert_eq!(resumed.map(), unbroken.map(), "{filter} at {k}");
                assert_eq!((resumed.counts(), resumed.time_jumps()), (unbroken.counts(), unbroken.time_jumps()));
            }
            give(&mut whole, &inputs[k..=k]);
        }
        assert!(whole.landmarks().count() >= 8, "{filter}");
        if Filter::named(filter).unwrap().fixed_lag() > 0 {
            assert!(lags > 5, "{filter} was saved {lags} times with clouds of the fixed lag");
        }
    }
}

#[test]
fn the_state_of_another_filter_or_sensor_is_refused_with_what_to_do() {
    let mut slam = new(vague("default"));
    give(&mut slam, &inputs()[..100]);
    let saved = slam.save();
    let refused = |config: Config, added: bool| {
        let mut other = if added { new(config) } else { Slam::new(config).unwrap() };
        let refused = other.restore(saved.clone()).unwrap_err();
        assert!(other.landmarks().count() == 0 && other.predicted().is_none());
        refused.to_string()
    };
    let changed = |change: fn(&mut Config)| {
        let mut config = vague("default");
        change(&mut config);
        refused(config, true)
    };
    assert!(changed(|c| c.filter = "ekf".into()).contains("by the filter 'default', and this one is 'ekf'"));
    assert!(changed(|c| c.sensor.x_m = 0.5).contains("with parameter 'sensor.x_m' at 0.0, and it is 0.5 now"));
    assert!(changed(|c| c.calibration.bias_w.walk = 0.0).contains("'calibration.bias_w.walk'"));
    assert!(changed(|c| c.map.max_features = 2).contains("'map.max_features' is 2: raise it"));
    assert!(refused(vague("default"), false).contains("other added sensors"));
    // What does not change the meaning of the state may be another one.
    let mut config = vague("default");
    (config.gate.probability, config.map.max_features, config.initial.x_m) = (0.99, 20, 7.0);
    let mut other = new(config.clone());
    other.restore(saved.clone()).unwrap();
    assert_eq!((other.map(), other.config()), (slam.map(), &config));
    assert!(give(&mut other, &inputs()[100..]).iter().any(|line| line.contains("accepted")));
}

/// Whatever a file says, the filter either refuses it or goes on; it never panics.
#[test]
fn what_does_not_belong_together_is_refused() {
    let mut slam = new(vague("default"));
    give(&mut slam, &inputs()[..100]);
    let tree = serde_json::to_value(slam.save()).unwrap();
    let refused = |change: fn(&mut serde_json::Value)| {
        let mut tree = tree.clone();
        change(&mut tree);
        let mut other = new(vague("default"));
        let saved = serde_json::from_value::<SavedState>(tree).map_err(|e| e.to_string());
        let result = saved.and_then(|saved| other.restore(saved).map_err(|e| e.to_string()));
        assert_eq!(other.landmarks().count(), 0);
        result.unwrap_err()
    };
    assert!(refused(|t| t["estimator"]["state"]["features"][0]["id"] = 1.into()).contains("share an identity"));
    assert!(refused(|t| drop(t["estimator"]["state"]["features"].as_array_mut().unwrap().pop())).contains("damaged"));
    assert!(refused(|t| t["estimator"]["state"]["pose"]["p"][0] = serde_json::Value::Null).contains("null"));
    let zeros = "0".repeat(16);
    let replaced = |text: &str| text.replacen(&zeros[..], "7ff0000000000000", 1);
    let mut infinite = tree.clone();
    let lower = &mut infinite["estimator"]["state"]["covariance"]["lower"];
    *lower = replaced(&format!("{zeros}{}", &lower.as_str().unwrap()[16..])).into();
    let saved: SavedState = serde_json::from_value(infinite).unwrap();
    assert_eq!(new(vague("default")).restore(saved), Err(ResumeError::Damaged("a number is not finite")));
    assert!(
        refused(|t| t["estimator"]["fixed_lag"]["past"][0]["before"] = serde_json::Value::Null).contains("damaged")
    );
    assert!(refused(|t| t["estimator"]["fixed_lag"]["block"] = 3.into()).contains("damaged"));
    assert!(
        refused(|t| t["estimator"]["fixed_lag"]["past"][0]["readings"][0]["reading"]["sensor"] = 9.into())
            .contains("of a sensor that there is not")
    );
    let remembered = "without identity is damaged";
    assert!(
        refused(|t| drop(t["estimator"]["memory"]["rates"]["looks"].as_array_mut().unwrap().pop()))
            .contains(remembered)
    );
    assert!(refused(|t| t["estimator"]["memory"]["rates"]["clouds"] = (-1.0).into()).contains(remembered));
    assert!(refused(|t| t["time_jumps"] = u64::MAX.into()).contains("absurd"));
}

#[test]
fn after_a_restart_of_the_clock_pose_and_map_go_on_at_any_time() {
    let (mut slam, _) = run("default", &recording(40, 33));
    // Odometry that no step has used is not lost.
    let ahead = Odometry { stamp: stamp(40), ..recording(40, 33)[39].odometry };
    let mut waiting = Slam::resume(config("default"), slam.save()).unwrap();
    waiting.odometry(&ahead).unwrap();
    let predicted = waiting.predicted().unwrap();
    waiting.restart_clock();
    waiting.odometry(&Odometry { stamp: Stamp::from_secs(-50.0), ..ahead }).unwrap();
    let after = waiting.predicted().unwrap();
    assert!((after.pose.p - predicted.pose.p).norm() < 1e-12, "{after:?} {predicted:?}");
    assert!((after.covariance - predicted.covariance).amax() < 1e-12);
    slam.restart_clock();
    let mut resumed = Slam::resume(config("default"), through_text(&slam.save())).unwrap();
    assert!(resumed.predicted().is_none() && resumed.landmarks().count() == 8);
    // The robot stands where it was, and it is an hour earlier.
    let hour = Stamp::from_secs(-3600.0);
    let before = slam.save().map();
    let last = recording(40, 33)[39].clone();
    for k in 0..10 {
        let stamp = hour + 0.1 * f64::from(k);
        resumed.odometry(&Odometry { stamp, velocity: Vector2::zeros(), yaw_rate: 0.0, covariance: None }).unwrap();
        resumed.features(stamp, MeasurementKind::RelativePosition, &last.seen).unwrap();
        for step in drain(&mut resumed) {
            assert_eq!((step.accepted, step.added), (8, 0));
            assert!((step.estimate.pose.p - last.truth.p).norm() < 0.3);
        }
    }
    assert_eq!(resumed.map().landmarks.len(), before.landmarks.len());
}
