//! Heading from the magnetic field.

use super::*;

/// The field where the body is not turned: 30° dip, north along y, tesla.
fn field() -> Vector3<f64> {
    Vector3::new(0.0, 4e-5, -2.3e-5)
}

fn with_compass() -> Attitude {
    let mut config = config();
    config.magnetometer.enabled = true;
    config.initial.yaw_std_rad = 3.0;
    Attitude::new(config).unwrap()
}

/// Feeds a turning sensor that thinks it starts with heading 0, but starts with `heading`.
fn feed(attitude: &mut Attitude, from: u32, to: u32, heading: f64, spoil: Vector3<f64>) -> Estimate {
    let hand = Hand { pace: 1.0, reach: 0.1 };
    let start = UnitQuaternion::from_scaled_axis(Vector3::z() * heading);
    for (k, stamp) in stamps(100, to).enumerate().skip(100 * from as usize) {
        attitude.imu(&hand.sample(stamp)).unwrap();
        if k % 5 == 0 {
            let body = (start * hand.orientation(stamp.secs())).inverse() * (field() + spoil);
            let _ = attitude.magnetic_field(&MagneticField { stamp, field: body });
        }
    }
    attitude.estimate().unwrap()
}

fn heading_error(estimate: &Estimate, t: f64, heading: f64) -> f64 {
    let start = UnitQuaternion::from_scaled_axis(Vector3::z() * heading);
    let truth = start * Hand { pace: 1.0, reach: 0.1 }.orientation(t);
    (estimate.orientation * truth.inverse()).scaled_axis().z
}

#[test]
fn north_is_found_from_any_heading() {
    for heading in [0.5, -1.6, 3.1] {
        let mut attitude = with_compass();
        let estimate = feed(&mut attitude, 0, 20, heading, Vector3::zeros());
        let error = heading_error(&estimate, 19.99, heading);
        assert!(error.abs() < 0.03, "{heading} {error}");
        assert!(estimate.orientation_covariance.m33.sqrt() < 0.1);
    }
}

#[test]
fn a_disturbed_field_is_left_out_until_it_has_stayed() {
    let mut attitude = with_compass();
    feed(&mut attitude, 0, 10, 0.0, Vector3::zeros());
    let iron = Vector3::new(3e-5, 0.0, 0.0);
    let estimate = feed(&mut attitude, 10, 20, 0.0, iron);
    assert!(heading_error(&estimate, 19.99, 0.0).abs() < 0.03);
    assert!(attitude.counts().get(DropReason::Disturbed) > 150);
    // A room full of iron is the new usual after a while.
    let before = attitude.counts().get(DropReason::Disturbed);
    feed(&mut attitude, 20, 60, 0.0, iron);
    assert!(attitude.counts().get(DropReason::Disturbed) - before < 400);
}

#[test]
fn a_bent_field_does_not_tilt_the_horizon() {
    let mut attitude = with_compass();
    attitude.imu(&resting(Stamp::from_nanos(0))).unwrap();
    let before = attitude.state().clone();
    let stamp = Stamp::from_nanos(0);
    attitude.magnetic_field(&MagneticField { stamp, field: Vector3::new(3e-5, 1e-5, 0.0) }).unwrap();
    let after = attitude.state();
    let up = |state: &super::super::state::State| state.orientation.inverse() * Vector3::z();
    assert!(up(&before).angle(&up(after)) < 1e-12);
    assert_ne!(before.orientation, after.orientation);
}

#[test]
fn fields_out_of_order_are_counted_under_their_reasons() {
    let mut attitude = with_compass();
    let at = |nanos: i64| MagneticField { stamp: Stamp::from_nanos(nanos), field: field() };
    assert_eq!(attitude.magnetic_field(&at(0)), Err(DropReason::NotStarted));
    attitude.imu(&resting(Stamp::from_nanos(1_000_000_000))).unwrap();
    assert_eq!(attitude.magnetic_field(&at(500_000_000)), Err(DropReason::TooLate));
    assert_eq!(attitude.magnetic_field(&at(2_000_000_000)), Err(DropReason::FromTheFuture));
    assert_eq!(attitude.magnetic_field(&at(990_000_000)), Ok(()));
    assert_eq!(attitude.magnetic_field(&at(990_000_000)), Err(DropReason::DuplicateStamp));
    assert_eq!(attitude.magnetic_field(&at(980_000_000)), Err(DropReason::TooLate));
    let nothing = MagneticField { field: Vector3::zeros(), ..at(995_000_000) };
    assert_eq!(attitude.magnetic_field(&nothing), Err(DropReason::Absurd));
    let mut off = Attitude::new(config()).unwrap();
    assert_eq!(off.magnetic_field(&at(0)), Err(DropReason::Disabled));
}

/// A magnetometer that is quicker than corrections by gravity are must not keep gravity waiting.
#[test]
fn fields_with_every_sample_do_not_stop_gravity() {
    let mut attitude = with_compass();
    let tilted = UnitQuaternion::from_scaled_axis(Vector3::x() * 0.15);
    attitude.set_orientation(tilted, 0.2).unwrap();
    for stamp in stamps(100, 10) {
        attitude.imu(&resting(stamp)).unwrap();
        attitude.magnetic_field(&MagneticField { stamp, field: field() }).unwrap();
    }
    let up = attitude.orientation() * Vector3::z();
    assert!(up.xy().norm() < 0.03, "{up}");
}
