//! What the filter does with ordinary data.

use super::*;
use lienav_integrate::attitude::Method;
use nalgebra::Matrix3;

#[test]
fn roll_pitch_and_bias_are_found_by_every_method() {
    let hand = Hand { pace: 1.5, reach: 0.15 };
    for method in Method::ALL {
        let mut sensor = Sensor::ordinary(2);
        let mut attitude = Attitude::new(Config { method, ..config() }).unwrap();
        for stamp in stamps(200, 20) {
            attitude.imu(&sensor.spoil(&hand.sample(stamp))).unwrap();
            let error = inclination(&attitude.estimate().unwrap(), &hand.orientation(stamp.secs()));
            assert!(stamp.secs() < 3.0 || error < 0.02, "{} at {stamp}: {error}", method.name());
        }
        let estimate = attitude.estimate().unwrap();
        assert!((estimate.gyro_bias - sensor.gyro_bias).norm() < 2e-3, "{} {}", method.name(), estimate.gyro_bias);
        assert!(!estimate.at_rest);
    }
}

#[test]
fn a_start_upside_down_is_a_start_like_any_other() {
    for force in [Vector3::new(0.0, 0.0, -G), Vector3::new(0.0, -G, 0.0), Vector3::new(1e-9, 0.0, -G)] {
        let mut attitude = Attitude::new(config()).unwrap();
        for stamp in stamps(100, 4) {
            attitude.imu(&ImuSample { specific_force: force, ..resting(stamp) }).unwrap();
        }
        let up = attitude.estimate().unwrap().orientation * force;
        assert!((up - Vector3::z() * G).norm() < 1e-3, "{up}");
    }
}

#[test]
fn rest_shows_the_bias_of_all_axes_and_a_steady_turn_shows_none() {
    let rest_with = |rate: Vector3<f64>, seconds: u32| {
        let mut attitude = Attitude::new(config()).unwrap();
        for stamp in stamps(100, seconds) {
            attitude.imu(&ImuSample { angular_velocity: rate, ..resting(stamp) }).unwrap();
        }
        attitude
    };
    let bias = Vector3::new(0.01, -0.05, 0.03);
    let estimate = rest_with(bias, 5).estimate().unwrap();
    assert!(estimate.at_rest && (estimate.gyro_bias - bias).norm() < 1e-4, "{}", estimate.gyro_bias);
    // A turntable: faster than any bias.
    let estimate = rest_with(Vector3::z() * 0.3, 5).estimate().unwrap();
    assert!(!estimate.at_rest && estimate.gyro_bias.z.abs() < 0.01);
    // And one as slow as a bias, when the bias is known already.
    let mut attitude = rest_with(Vector3::zeros(), 10);
    for stamp in stamps(100, 10).map(|stamp| stamp + 10.0) {
        attitude.imu(&ImuSample { angular_velocity: Vector3::z() * 0.05, ..resting(stamp) }).unwrap();
    }
    assert!(attitude.counts().get(DropReason::NotAtRest) > 0);
    assert!(attitude.estimate().unwrap().gyro_bias.z < 0.005);
}

#[test]
fn a_first_force_that_is_not_of_the_size_of_gravity_shows_less_of_the_vertical() {
    let tilt_std = |force: f64| {
        let mut attitude = Attitude::new(config()).unwrap();
        let stamp = Stamp::from_nanos(0);
        attitude.imu(&ImuSample { specific_force: Vector3::z() * force, ..resting(stamp) }).unwrap();
        attitude.state().covariance[(0, 0)].sqrt()
    };
    let initial = config().initial;
    assert!((tilt_std(G) - initial.tilt_std_rad).abs() < 1e-12);
    let expected = initial.tilt_std_rad.hypot(0.2 * initial.tilt_excess_rad);
    assert!((tilt_std(0.8 * G) - expected).abs() < 1e-12 && (tilt_std(1.2 * G) - expected).abs() < 1e-12);
}

#[test]
fn a_bias_that_changes_where_rest_begins_is_not_taken_for_tilt() {
    // Turns with one bias, then rest with another, as vibration makes it.
    let hand = Hand { pace: 1.5, reach: 0.15 };
    let after = |bias_change: f64, seed: u64| {
        let mut config = config();
        config.rest.bias_change = bias_change;
        let (mut sensor, mut attitude) = (Sensor::ordinary(seed), Attitude::new(config).unwrap());
        stamps(200, 30).for_each(|stamp| attitude.imu(&sensor.spoil(&hand.sample(stamp))).unwrap());
        let last = Stamp::from_nanos(30_000_000_000);
        let still = hand.orientation(last.secs());
        sensor.gyro_bias += Vector3::repeat(2e-3);
        for stamp in stamps(200, 5).map(|stamp| stamp + 30.0) {
            let rest = ImuSample { specific_force: still.inverse() * Vector3::z() * G, ..resting(stamp) };
            attitude.imu(&sensor.spoil(&rest)).unwrap();
        }
        let estimate = attitude.estimate().unwrap();
        assert!(estimate.at_rest);
        (inclination(&estimate, &still), (estimate.gyro_bias - sensor.gyro_bias).norm())
    };
    let rms = |bias_change: f64| {
        let all: Vec<(f64, f64)> = (0..8).map(|seed| after(bias_change, seed)).collect();
        let of = |part: fn(&(f64, f64)) -> f64| (all.iter().map(|x| part(x).powi(2)).sum::<f64>() / 8.0).sqrt();
        (of(|x| x.0), of(|x| x.1))
    };
    let (with, without) = (rms(1.2e-3), rms(0.0));
    println!("tilt and bias: {with:?} with, {without:?} without");
    assert!(with.0 < 6e-3 && with.1 < 5e-4 && with.1 < without.1, "{with:?} {without:?}");
}

#[test]
fn what_is_more_than_gravity_does_not_tilt_the_horizon() {
    // A hard brake of one second after ten seconds of rest.
    let mut attitude = Attitude::new(config()).unwrap();
    for stamp in stamps(200, 11) {
        let brake = if stamp.secs() < 10.0 { 0.0 } else { 6.0 };
        attitude.imu(&ImuSample { specific_force: Vector3::new(brake, 0.0, G), ..resting(stamp) }).unwrap();
    }
    let tilt = inclination(&attitude.estimate().unwrap(), &UnitQuaternion::identity()).to_degrees();
    // An accelerometer alone would say 31°.
    assert!(tilt < 1.0, "{tilt}");
}

#[test]
fn a_bias_of_the_accelerometer_is_told_from_tilt_by_turning() {
    let mut sensor = Sensor::ordinary(3);
    sensor.accelerometer_bias = Vector3::new(0.1, -0.15, 0.1);
    let hand = Hand { pace: 1.5, reach: 0.1 };
    // Of a sensor that nobody has calibrated.
    let mut config = config();
    config.accelerometer.initial_bias_std = 0.1;
    let mut attitude = Attitude::new(config).unwrap();
    stamps(100, 60).for_each(|stamp| attitude.imu(&sensor.spoil(&hand.sample(stamp))).unwrap());
    let estimate = attitude.estimate().unwrap();
    assert!((estimate.accelerometer_bias - sensor.accelerometer_bias).norm() < 0.06, "{}", estimate.accelerometer_bias);
    let tilt = inclination(&estimate, &hand.orientation(59.99));
    // Left as it is, this bias tilts by 0.018.
    assert!(tilt < 1e-2, "{tilt}");
}

#[test]
fn the_orientation_is_carried_on_by_the_delay_of_the_sensor() {
    let mut delayed = config();
    delayed.gyroscope.delay_s = 0.004;
    let hand = Hand { pace: 3.0, reach: 0.0 };
    let mut attitude = Attitude::new(delayed).unwrap();
    let mut worst = 0.0_f64;
    for stamp in stamps(500, 10) {
        // What is stamped now was 4 ms ago.
        attitude.imu(&ImuSample { stamp, ..hand.sample(stamp - 0.004) }).unwrap();
        worst = worst.max(inclination(&attitude.estimate().unwrap(), &hand.orientation(stamp.secs())));
    }
    assert!(worst < 2e-3, "{worst}");
}

#[test]
fn a_given_orientation_is_taken_also_before_the_first_sample() {
    let given = UnitQuaternion::from_euler_angles(0.0, 0.0, 2.0);
    let mut attitude = Attitude::new(config()).unwrap();
    attitude.set_orientation(given, 1e-3).unwrap();
    attitude.imu(&resting(Stamp::from_nanos(0))).unwrap();
    assert!(attitude.estimate().unwrap().orientation.angle_to(&given) < 1e-12);
}

/// A gyroscope whose scales and axes are off by a hundredth and less: turns show them, and the vertical is nearer.
#[test]
fn errors_of_scales_and_axes_are_found_while_it_turns() {
    let off = Matrix3::new(0.006, -0.003, 0.002, 0.004, -0.008, 0.003, -0.002, 0.003, 0.005);
    let hand = Hand { pace: 2.0, reach: 0.1 };
    let run = |off: &Matrix3<f64>, std: f64| {
        let mut config = config();
        config.gyroscope.scale_std = std;
        let (mut attitude, mut sensor) = (Attitude::new(config).unwrap(), Sensor::ordinary(3));
        let (mut sum, mut count) = (0.0, 0.0);
        for stamp in stamps(200, 90) {
            let sample = hand.sample(stamp);
            let read =
                ImuSample { angular_velocity: sample.angular_velocity + off * sample.angular_velocity, ..sample };
            attitude.imu(&sensor.spoil(&read)).unwrap();
            if stamp.secs() > 30.0 {
                sum += inclination(&attitude.estimate().unwrap(), &hand.orientation(stamp.secs())).powi(2);
                count += 1.0;
            }
        }
        ((sum / count).sqrt(), (attitude.state().scales - off).norm() / off.norm())
    };
    let (learned, unexplained) = run(&off, 0.005);
    let (ignored, _) = run(&off, 0.0);
    println!("{learned:.5} rad learned, {ignored:.5} ignored; {unexplained:.2} of the errors left");
    assert!(learned < 0.7 * ignored && unexplained < 0.7, "{learned} {ignored} {unexplained}");
}

/// A sensor at the end of an arm: its position follows its orientation, and the filter finds how long the arm is.
#[test]
fn the_lever_of_what_turns_about_a_point_is_found_and_the_vertical_is_nearer() {
    const H: f64 = 1e-3;
    let (hand, lever) = (Hand { pace: 1.5, reach: 0.0 }, Vector3::new(0.3, -0.2, 0.5));
    let at = |t: f64| hand.orientation(t) * lever;
    let run = |std: f64| {
        let mut config = config();
        config.motion.lever_std = std;
        let (mut attitude, mut sensor) = (Attitude::new(config).unwrap(), Sensor::ordinary(5));
        let (mut sum, mut count) = (0.0, 0.0);
        for stamp in stamps(200, 60) {
            let (t, sample) = (stamp.secs(), hand.sample(stamp));
            let acceleration = (at(t + H) - at(t) * 2.0 + at(t - H)) / (H * H);
            let force = sample.specific_force + hand.orientation(t).inverse() * acceleration;
            attitude.imu(&sensor.spoil(&ImuSample { specific_force: force, ..sample })).unwrap();
            if t > 20.0 {
                sum += inclination(&attitude.estimate().unwrap(), &hand.orientation(t)).powi(2);
                count += 1.0;
            }
        }
        ((sum / count).sqrt(), (attitude.state().lever - lever).norm())
    };
    let (found, ignored) = (run(0.3), run(0.0));
    println!("{:.5} rad with the lever, {:.3} m off; {:.5} rad without", found.0, found.1, ignored.0);
    assert!(found.1 < 0.05 && found.0 < 0.7 * ignored.0, "{found:?} {ignored:?}");
}

/// Half a step of a fast turn is 0.03 rad here: as much would the estimate lean if a force were taken for that of the
/// middle of its step.
#[test]
fn a_fast_turn_about_a_level_axis_does_not_tilt() {
    let mut attitude = Attitude::new(config()).unwrap();
    let angle = |t: f64| 6.0 * (t - 3.0).max(0.0);
    for stamp in stamps(100, 40) {
        let t = stamp.secs();
        let truth = UnitQuaternion::from_scaled_axis(Vector3::y() * angle(t));
        let rate = Vector3::y() * if t > 3.0 { 6.0 } else { 0.0 };
        let sample = ImuSample { stamp, angular_velocity: rate, specific_force: truth.inverse() * Vector3::z() * G };
        attitude.imu(&sample).unwrap();
        let error = inclination(&attitude.estimate().unwrap(), &truth);
        assert!(t < 20.0 || error < 5e-3, "{error} at {stamp}");
    }
}
