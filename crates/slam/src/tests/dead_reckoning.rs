//! Motions without corrections add up to what a filter that sees nothing says.

use super::*;
use crate::{Imu, Increment, TwistHold};

/// Drives by `recording`, with scans if `sees`, and asks for the motion after every `every`-th odometry message.
fn driven(config: Config, sees: bool, every: usize) -> (Increment, Slam) {
    let mut slam = Slam::new(config).unwrap();
    let (mut sum, mut newest) = (Increment::none(), None::<Stamp>);
    for (k, instant) in recording(80, 4).iter().enumerate() {
        let stamp = instant.odometry.stamp;
        let _ = slam.imu(&Imu { stamp, yaw_rate: 0.1 + 0.01 * (k % 5) as f64, tilt: None });
        slam.odometry(&instant.odometry).unwrap();
        if k % every == 0 {
            if let Some(since) = newest.replace(stamp) {
                let motion = slam.motion_since(since);
                assert!(motion.motion.p.norm() < 3.0 * every as f64 * DT, "{motion:?}");
                sum = sum.then(&motion);
            }
            assert_eq!(slam.motion_since(stamp), Increment::none(), "there is none since the newest message");
        }
        if sees {
            slam.features(stamp, MeasurementKind::RelativePosition, &instant.seen).unwrap();
            drain(&mut slam);
        }
    }
    (sum, slam)
}

#[test]
fn they_add_up_to_the_prediction_of_a_filter_that_sees_nothing() {
    for (hold, window, every) in [
        (TwistHold::Before, 0.2, 1),
        (TwistHold::Before, 0.0, 1),
        (TwistHold::After, 0.2, 1),
        (TwistHold::After, 0.0, 1),
        // Fewer than wait.
        (TwistHold::Before, 1.0, 5),
    ] {
        let mut config = config("default");
        (config.motion.hold, config.timing.reorder_window_s) = (hold, window);
        let (sum, slam) = driven(config.clone(), false, every);
        let predicted = slam.predicted().unwrap();
        let missing = slam.motion_since(Stamp::from_nanos(100_000_000 * (79 - 79 % every as i64)));
        let (pose, covariance) = sum.then(&missing).carry(&Se2::identity(), &nalgebra::Matrix3::zeros());
        assert!((pose.p - predicted.pose.p).norm() < 1e-9, "{hold:?} {window} {every}: {pose:?} {predicted:?}");
        assert!((pose.theta - predicted.pose.theta).sin().abs() < 1e-9);
        assert!((covariance - predicted.covariance).amax() < 1e-6 * predicted.covariance.amax(), "{hold:?} {window}");
        if every > 1 {
            continue;
        }
        // Where landmarks are seen, the pose is another one, and the motions are the same.
        let (seeing, slam) = driven(config, true, every);
        assert!((seeing.motion.p - sum.motion.p).norm() < 1e-12 && seeing.motion.theta == sum.motion.theta);
        assert!((slam.predicted().unwrap().pose.p - predicted.pose.p).norm() > 1e-3);
    }
}

#[test]
fn there_is_no_motion_before_two_messages() {
    let mut slam = Slam::new(config("default")).unwrap();
    assert_eq!(slam.motion_since(Stamp::default()), Increment::none());
    slam.odometry(&recording(1, 4)[0].odometry).unwrap();
    assert_eq!(slam.motion_since(Stamp::MIN), Increment::none());
}
