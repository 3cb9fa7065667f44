//! A filter that is saved goes on to the last bit.

use crate::{Attitude, Config, ImuSample, ResumeError};
use lienav_base::stamp::Stamp;
use nalgebra::Vector3;

fn sample(k: i64) -> ImuSample {
    let t = 0.005 * k as f64;
    ImuSample {
        stamp: Stamp::from_nanos(5_000_000 * k),
        angular_velocity: Vector3::new(0.3 * (2.0 * t).sin(), 0.2 * t.cos(), 0.5 * (0.7 * t).sin()),
        specific_force: Vector3::new(0.4 * (3.0 * t).cos(), 0.3 * t.sin(), 9.81),
    }
}

#[test]
fn a_saved_filter_goes_on_to_the_last_bit_from_any_sample() {
    for until in [0, 1, 7, 400, 1003] {
        let mut whole = Attitude::new(Config::default()).unwrap();
        for k in 0..until {
            let _ = whole.imu(&sample(k));
        }
        let mut resumed = Attitude::resume(&whole.save().unwrap()).unwrap();
        for k in until..until + 600 {
            assert_eq!(whole.imu(&sample(k)), resumed.imu(&sample(k)));
            assert_eq!(whole.estimate(), resumed.estimate(), "{until} {k}");
        }
        assert_eq!(whole.counts().by_word(), resumed.counts().by_word());
    }
}

#[test]
fn a_damaged_state_is_refused() {
    let text = Attitude::new(Config::default()).unwrap().save().unwrap();
    assert!(matches!(Attitude::resume(&text[..text.len() / 2]), Err(ResumeError::Text(_))));
    let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
    value["state"]["covariance"][0] = (-1.0).into(); // a matrix, column by column
    let said = Attitude::resume(&value.to_string()).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(said.contains("use an older copy"), "{said}");
}
