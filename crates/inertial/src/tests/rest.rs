//! Rest, found from the inertial sensor.

use super::simulator::{Motion, Normal};
use crate::imu::{Imu, ImuSample};
use crate::rest::RestDetector;
use lienav_base::stamp::Stamp;
use nalgebra::Vector3;

/// How many of the samples from 1 s on lie at rest.
fn share_at_rest(motion: &str, vibration: (f64, f64)) -> f64 {
    let (mut detector, mut normal, mut found) = (RestDetector::default(), Normal::new(3), 0.0);
    let motion = Motion::named(motion);
    for k in 0..2000 {
        let t = f64::from(k) * 0.005;
        let (_, ideal) = motion.at(t, 9.8);
        let value = Imu::new(ideal.rate + normal.vector(vibration.0), ideal.force + normal.vector(vibration.1));
        detector.push(&ImuSample { stamp: Stamp::from_secs(t), value });
        found += if t >= 1.0 && detector.is_at_rest() { 1.0 } else { 0.0 };
    }
    found / 1800.0
}

#[test]
fn a_body_at_rest_is_found_also_with_its_motors_on_and_one_in_motion_is_not() {
    for vibration in [(0.001, 0.01), (0.02, 0.2)] {
        assert!(share_at_rest("rest", vibration) > 0.99, "{vibration:?}");
        for motion in ["circle", "hand", "drone"] {
            assert_eq!(share_at_rest(motion, vibration), 0.0, "{motion} {vibration:?}");
        }
    }
}

#[test]
fn a_gap_begins_the_window_again_and_no_sample_makes_it_panic() {
    let mut detector = RestDetector::default();
    let still =
        |t: f64| ImuSample { stamp: Stamp::from_secs(t), value: Imu::new(Vector3::zeros(), Vector3::z() * 9.8) };
    (0..200).for_each(|k| detector.push(&still(f64::from(k) * 0.005)));
    assert!(detector.is_at_rest());
    detector.push(&still(3.0));
    assert_eq!(detector.log_odds(), None);
    for t in [3.0, 2.0, 1e9, -1e9, 3.0] {
        detector.push(&still(t));
        detector.push(&ImuSample { value: Imu::new(Vector3::repeat(f64::NAN), Vector3::zeros()), ..still(t) });
    }
    assert_eq!(detector.log_odds(), None);
}
