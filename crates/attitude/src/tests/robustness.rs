//! Whatever comes in, the state stays finite and nothing panics.

use super::*;
use lienav_base::clock::CONFIRMATIONS;
use proptest::prelude::*;

/// Ordinary numbers, and the ones that break things.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        6 => -3.0..3.0f64,
        1 => prop::num::f64::ANY,
        1 => prop::sample::select(vec![0.0, -0.0, f64::NAN, f64::INFINITY, 1e300, -1e300, 1e-300, 99.0, 900.0]),
    ]
}

fn when() -> impl Strategy<Value = i64> {
    prop_oneof![
        8 => 0..2_000_000_000i64,
        1 => prop::num::i64::ANY,
        1 => prop::sample::select(vec![i64::MIN, i64::MAX, -1, 0]),
    ]
}

#[derive(Clone, Debug)]
enum Event {
    Imu(i64, [f64; 6]),
    /// Ordinary samples from here on.
    Ordinary(i64, u8),
    Field(i64, [f64; 3]),
    Orientation([f64; 4], f64),
    Toggle(bool),
    Reset,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        6 => (when(), [number(), number(), number(), number(), number(), number()]).prop_map(|(t, x)| Event::Imu(t, x)),
        3 => (when(), any::<u8>()).prop_map(|(t, n)| Event::Ordinary(t, n)),
        2 => (when(), prop::array::uniform3(number())).prop_map(|(t, x)| Event::Field(t, x)),
        1 => (prop::array::uniform4(number()), number()).prop_map(|(q, s)| Event::Orientation(q, s)),
        1 => any::<bool>().prop_map(Event::Toggle),
        1 => Just(Event::Reset),
    ]
}

fn apply(attitude: &mut Attitude, event: &Event) {
    match event {
        Event::Imu(t, x) => {
            let _ = attitude.imu(&ImuSample {
                stamp: Stamp::from_nanos(*t),
                angular_velocity: Vector3::new(x[0], x[1], x[2]),
                specific_force: Vector3::new(x[3], x[4], x[5]),
            });
        }
        Event::Ordinary(t, n) => {
            for k in 0..i64::from(*n) {
                let _ = attitude.imu(&resting(Stamp::from_nanos(t.saturating_add(10_000_000 * k))));
            }
        }
        Event::Field(t, x) => {
            let field = MagneticField { stamp: Stamp::from_nanos(*t), field: Vector3::new(x[0], x[1], x[2]) };
            let _ = attitude.magnetic_field(&field);
        }
        Event::Orientation(q, std) => {
            let q = nalgebra::Quaternion::new(q[0], q[1], q[2], q[3]);
            let _ = attitude.set_orientation(UnitQuaternion::new_unchecked(q), *std);
        }
        Event::Toggle(on) => attitude.set_enabled(*on),
        Event::Reset => attitude.reset(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn nothing_makes_it_panic_or_forget_what_a_number_is(events in prop::collection::vec(event(), 1..40)) {
        let mut config = config();
        config.magnetometer.enabled = true;
        let mut attitude = Attitude::new(config).unwrap();
        for event in &events {
            apply(&mut attitude, event);
            if let Some(e) = attitude.estimate() {
                prop_assert!((e.orientation.norm() - 1.0).abs() < 1e-9, "{event:?} {e:?}");
                let numbers = e.orientation_covariance.iter().chain(e.gyro_bias_covariance.iter())
                    .chain(e.gyro_bias.iter()).chain(e.angular_velocity.iter()).chain(e.accelerometer_bias.iter());
                prop_assert!(numbers.copied().all(f64::is_finite), "{event:?} {e:?}");
            }
        }
        // And it still works.
        attitude.set_enabled(true);
        attitude.reset();
        for stamp in stamps(100, 3) {
            let _ = attitude.imu(&resting(stamp));
        }
        let up = attitude.orientation() * Vector3::z();
        prop_assert!(up.z > 0.9999, "{up}");
    }
}

#[test]
fn bad_samples_are_counted_under_their_reasons() {
    let mut attitude = Attitude::new(config()).unwrap();
    let at = |nanos: i64| resting(Stamp::from_nanos(nanos));
    let second = 1_000_000_000;
    assert_eq!(attitude.imu(&at(0)), Ok(()));
    assert_eq!(attitude.imu(&at(10_000_000)), Ok(()));
    assert_eq!(attitude.imu(&at(10_000_000)), Err(DropReason::DuplicateStamp));
    assert_eq!(attitude.imu(&at(5_000_000)), Err(DropReason::TooLate));
    for k in 1..CONFIRMATIONS as i64 {
        assert_eq!(attitude.imu(&at(50 * second + k * 10_000_000)), Err(DropReason::FromTheFuture));
    }
    assert_eq!(attitude.imu(&at(51 * second)), Ok(()), "a real gap");
    assert_eq!(attitude.imu(&at(-100 * second)), Err(DropReason::UnconfirmedJump));
    assert_eq!(attitude.gaps(), 1);
    let bad = |rate: f64, force: f64| ImuSample {
        angular_velocity: Vector3::x() * rate,
        specific_force: Vector3::x() * force,
        ..at(61 * second)
    };
    assert_eq!(attitude.imu(&bad(f64::NAN, 0.0)), Err(DropReason::NotFinite));
    assert_eq!(attitude.imu(&bad(0.0, f64::INFINITY)), Err(DropReason::NotFinite));
    assert_eq!(attitude.imu(&bad(1e3, 0.0)), Err(DropReason::Absurd));
    assert_eq!(attitude.imu(&bad(0.0, 1e4)), Err(DropReason::Absurd));
    attitude.set_enabled(false);
    assert_eq!(attitude.imu(&at(62 * second)), Err(DropReason::Disabled));
    let words: Vec<&str> = attitude.counts().by_word().into_keys().collect();
    let expected =
        ["absurd", "disabled", "duplicate_stamp", "from_the_future", "not_finite", "too_late", "unconfirmed_jump"];
    assert_eq!(words, expected);
}

#[test]
fn time_set_back_starts_anew_or_goes_on_as_the_setting_says() {
    for (on_jump_back, kept) in [(TimeJump::Reset, false), (TimeJump::Rewind, true)] {
        let mut config = config();
        config.timing.on_jump_back = on_jump_back;
        let mut attitude = Attitude::new(config).unwrap();
        for stamp in stamps(100, 10) {
            let turning = ImuSample { angular_velocity: Vector3::z() * 0.01, ..resting(stamp) };
            attitude.imu(&turning).unwrap();
        }
        for (run, stamp) in (1..).zip(stamps(100, 1)).take(CONFIRMATIONS) {
            let expected = if run < CONFIRMATIONS { Err(DropReason::UnconfirmedJump) } else { Ok(()) };
            assert_eq!(attitude.imu(&resting(stamp)), expected);
        }
        assert_eq!(attitude.time_jumps(), 1);
        assert_eq!(attitude.estimate().unwrap().gyro_bias.z > 5e-3, kept);
    }
}

#[test]
fn a_gap_leaves_the_heading_uncertain_and_the_bias_known() {
    let mut attitude = Attitude::new(config()).unwrap();
    stamps(100, 10).for_each(|stamp| attitude.imu(&resting(stamp)).unwrap());
    let before = attitude.estimate().unwrap();
    attitude.imu(&resting(Stamp::from_nanos(11_000_000_000))).unwrap();
    let after = attitude.estimate().unwrap();
    assert_eq!(attitude.gaps(), 1);
    assert!(after.orientation_covariance.m33.sqrt() > 0.9 && before.orientation_covariance.m33.sqrt() < 0.01);
    assert!(after.gyro_bias_covariance.m33 < 2.0 * before.gyro_bias_covariance.m33 + 1e-7);
}

#[test]
fn settings_that_need_a_restart_are_refused_by_name() {
    let mut attitude = Attitude::new(config()).unwrap();
    let mut changed = config();
    changed.motion.memory_s = 30.0;
    assert_eq!(attitude.reconfigure(changed.clone()), Ok(()));
    changed.initial.yaw_rad = 1.0;
    assert!(attitude.reconfigure(changed).unwrap_err().contains("'initial.yaw_rad'"));
    let mut wrong = config();
    wrong.rest.max_bias = -1.0;
    assert!(attitude.reconfigure(wrong.clone()).unwrap_err().contains("'rest.max_bias' is -1.0"));
    assert!(Attitude::new(wrong).is_err());
}

#[test]
fn every_setting_is_described_once_and_the_default_is_valid() {
    fn leaves(prefix: &str, node: &serde_json::Value, out: &mut Vec<String>) {
        match node {
            serde_json::Value::Object(map) => map.iter().for_each(|(key, value)| {
                leaves(&if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") }, value, out);
            }),
            _ => out.push(prefix.to_owned()),
        }
    }
    let mut found = Vec::new();
    leaves("", &serde_json::to_value(Config::default()).unwrap(), &mut found);
    let mut described: Vec<String> = SPECS.iter().map(|s| s.name.to_owned()).collect();
    found.sort();
    described.sort();
    assert_eq!(found, described);
    assert_eq!(Config::default().validate(), Ok(()));
}

#[test]
fn a_first_force_that_points_the_wrong_way_is_found_out() {
    let hand = Hand { pace: 4.0, reach: 0.3 };
    for first in [Vector3::new(0.0, 0.0, -8.0), Vector3::new(-9.0, 1.0, -4.0)] {
        let mut sensor = Sensor::ordinary(7);
        let mut attitude = Attitude::new(config()).unwrap();
        for stamp in stamps(200, 20) {
            let mut sample = sensor.spoil(&hand.sample(stamp));
            if stamp.secs() == 0.0 {
                sample.specific_force = first;
            }
            attitude.imu(&sample).unwrap();
            let error = inclination(&attitude.estimate().unwrap(), &hand.orientation(stamp.secs()));
            assert!(stamp.secs() < 10.0 || error < 0.1, "{first} at {stamp}: {error}");
        }
        assert_eq!(attitude.levellings(), 0, "{first}: found while starting");
    }
}
