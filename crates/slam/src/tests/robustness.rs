//! Whatever comes in, the state stays finite and nothing panics.

use super::*;
use crate::{DropReason, Filter, Imu, valid_covariance};
use nalgebra::{Matrix2, Matrix3};
use proptest::prelude::*;

/// Ordinary numbers, and the ones that break things.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => -3.0..3.0f64,
        1 => prop::num::f64::ANY,
        1 => prop::sample::select(vec![0.0, -0.0, f64::NAN, f64::INFINITY, 1e300, -1e300, 1e-300, 1e9]),
    ]
}

fn when() -> impl Strategy<Value = i64> {
    prop_oneof![
        6 => 0..5_000_000_000i64,
        1 => prop::num::i64::ANY,
        1 => prop::sample::select(vec![i64::MIN, i64::MAX, -1, 0]),
    ]
}

#[derive(Clone, Debug)]
enum Event {
    Odometry(i64, [f64; 3], Option<[f64; 9]>),
    Scan(i64, u8, Vec<(u32, [f64; 2], Option<[f64; 4]>)>),
    Imu(i64, f64),
    Pose([f64; 3], [f64; 9]),
    Now(i64),
    Finish,
    Toggle(bool),
}

fn event() -> impl Strategy<Value = Event> {
    let covariance3 = prop::option::of(prop::array::uniform9(number()));
    let covariance2 = prop::option::of(prop::array::uniform4(number()));
    let measurement = (0..6u32, prop::array::uniform2(number()), covariance2);
    prop_oneof![
        8 => (when(), prop::array::uniform3(number()), covariance3).prop_map(|(t, x, c)| Event::Odometry(t, x, c)),
        8 => (when(), 0..3u8, prop::collection::vec(measurement, 0..5)).prop_map(|(t, k, o)| Event::Scan(t, k, o)),
        1 => (when(), number()).prop_map(|(t, w)| Event::Imu(t, w)),
        1 => (prop::array::uniform3(number()), prop::array::uniform9(number())).prop_map(|(x, c)| Event::Pose(x, c)),
        1 => when().prop_map(Event::Now),
        1 => Just(Event::Finish),
        1 => any::<bool>().prop_map(Event::Toggle),
    ]
}

fn apply(slam: &mut Slam, event: &Event) {
    match event {
        Event::Odometry(t, x, c) => {
            let covariance = c.map(|c| Matrix3::from_row_slice(&c));
            let stamp = Stamp::from_nanos(*t);
            let _ = slam.odometry(&Odometry { stamp, velocity: Vector2::new(x[0], x[1]), yaw_rate: x[2], covariance });
        }
        Event::Scan(t, kind, seen) => {
            let kind =
                [MeasurementKind::RelativePosition, MeasurementKind::RangeBearing, MeasurementKind::StereoBearings]
                    [*kind as usize];
            let seen: Vec<Measurement> = seen
                .iter()
                .map(|(id, x, c)| Measurement {
                    covariance: c.map(|c| Matrix2::from_row_slice(&c).into()),
                    ..Measurement::new((*id < 5).then_some(*id), *x)
                })
                .collect();
            let _ = slam.features(Stamp::from_nanos(*t), kind, &seen);
        }
        Event::Imu(t, w) => {
            let _ = slam.imu(&Imu { stamp: Stamp::from_nanos(*t), yaw_rate: *w, tilt: None });
        }
        Event::Pose(x, c) => {
            let _ = slam.set_pose(Se2::new(x[0], x[1], x[2]), &Matrix3::from_row_slice(c));
        }
        Event::Now(t) => slam.now(Stamp::from_nanos(*t)),
        Event::Finish => slam.finish(),
        Event::Toggle(on) => slam.set_enabled(*on),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn garbage_never_gets_into_the_state(filter in prop::sample::select(Filter::NAMES.to_vec()), events in prop::collection::vec(event(), 1..60)) {
        let mut slam = Slam::new(config(filter)).unwrap();
        for event in &events {
            apply(&mut slam, event);
            let mut last = None;
            while let Some(step) = slam.poll() {
                prop_assert!(step.estimate.pose.p.iter().all(|x| x.is_finite()), "{event:?}");
                prop_assert!(valid_covariance(&step.estimate.covariance).is_some(), "{event:?}");
                prop_assert!(last.is_none_or(|l| l < step.estimate.stamp));
                last = Some(step.estimate.stamp);
            }
            if let Some(estimate) = slam.predicted() {
                prop_assert!(estimate.pose.theta.is_finite(), "{event:?}");
                prop_assert!(valid_covariance(&estimate.covariance).is_some(), "{event:?}");
            }
        }
    }
}

#[test]
fn bad_odometry_is_named_and_changes_nothing() {
    let instants = recording(20, 1);
    let (mut slam, _) = run("reduced", &instants[..19]);
    let good = instants[19].odometry;
    let before = slam.predicted();
    let mut lopsided = Matrix3::identity();
    lopsided[(0, 1)] = 3.0;
    let cases = [
        (Odometry { yaw_rate: f64::NAN, ..good }, DropReason::NotFinite),
        (Odometry { velocity: Vector2::new(0.0, f64::INFINITY), ..good }, DropReason::NotFinite),
        (Odometry { velocity: Vector2::new(1e6, 0.0), ..good }, DropReason::Absurd),
        (Odometry { yaw_rate: -1e6, ..good }, DropReason::Absurd),
        (Odometry { covariance: Some(-Matrix3::identity()), ..good }, DropReason::BadCovariance),
        (Odometry { covariance: Some(lopsided), ..good }, DropReason::BadCovariance),
        (Odometry { covariance: Some(Matrix3::repeat(f64::NAN)), ..good }, DropReason::NotFinite),
    ];
    for (odometry, reason) in cases {
        assert_eq!(slam.odometry(&odometry), Err(reason));
        assert_eq!(slam.predicted(), before);
    }
    assert_eq!(slam.odometry(&good), Ok(()));
}

/// One that is indefinite beside a large variance is invalid; one that is so by rounding alone is made valid.
#[test]
fn covariances_from_outside_are_valid_or_refused() {
    let instants = recording(40, 1);
    let diagonal = |d: [f64; 3]| Matrix3::from_diagonal(&d.into());
    let single = |x: f64| f64::from(x as f32);
    let (a, b) = (0.1, 0.9);
    let rounded =
        Matrix3::new(single(a * a), single(a * b), 0.0, single(a * b), single(b * b), 0.0, 0.0, 0.0, single(1e-3))
            * 1e-3;
    assert!(rounded.m11 * rounded.m22 < rounded.m12 * rounded.m12, "it is indefinite by rounding");
    for filter in ["default", "ekf"] {
        let (mut slam, _) = run(filter, &instants[..20]);
        assert_eq!(slam.set_pose(Se2::identity(), &diagonal([1e9, 1e9, -0.5])), Err(DropReason::BadCovariance));
        let indefinite = Odometry { covariance: Some(diagonal([1.0, 1.0, -5e-10])), ..instants[20].odometry };
        assert_eq!(slam.odometry(&indefinite), Err(DropReason::BadCovariance));
        for instant in &instants[20..] {
            let odometry = Odometry { covariance: Some(rounded), ..instant.odometry };
            for step in feed(&mut slam, &Instant { odometry, ..instant.clone() }) {
                assert!(valid_covariance(&step.estimate.covariance).is_some(), "{filter}: {step:?}");
            }
        }
        assert_eq!(slam.set_pose(instants[39].truth, &rounded), Ok(()));
        assert_eq!(slam.counts().get(DropReason::InvalidCovariance), 0, "{filter}");
    }
}

#[test]
fn settings_that_may_change_do_and_others_do_not() {
    let mut slam = Slam::new(config("reduced")).unwrap();
    let mut next = slam.config().clone();
    next.gate.probability = 0.95;
    slam.reconfigure(next.clone()).unwrap();
    assert_eq!(slam.config().gate.probability, 0.95);
    next.sensor.x_m = 1.0;
    let refusal = slam.reconfigure(next.clone()).unwrap_err();
    assert!(refusal.contains("sensor.x_m") && refusal.contains("restart"), "{refusal}");
    next.sensor.x_m = 0.0;
    next.gate.probability = 2.0;
    let refusal = slam.reconfigure(next).unwrap_err();
    assert!(refusal.contains("gate.probability") && refusal.contains("0.5 … 1"), "{refusal}");
    assert_eq!(slam.config().gate.probability, 0.95);
}

/// Poses from outside that are taken, however far off and uncertain, leave a covariance; the others are refused.
#[test]
fn a_pose_from_outside_is_taken_or_refused_and_never_spoils_the_covariance() {
    let instants = recording(45, 1);
    let cases = [1e3, 1e6, 1e7, 1.1e7, 1e12, 1e308].into_iter().flat_map(|x| {
        let heading = [0.1, 9.8, 10.0, 1e12];
        [1.0, 1e6, 1e10, 1.1e10, 1e12].into_iter().flat_map(move |var| heading.map(|heading_var| (x, var, heading_var)))
    });
    for (x, var, heading_var) in cases {
        for filter in ["default", "ekf"] {
            let (mut slam, _) = run(filter, &instants[..30]);
            let covariance = Matrix3::from_diagonal(&nalgebra::Vector3::new(var, var, heading_var));
            let outcome = slam.set_pose(Se2::new(x, -x, 1.0), &covariance);
            let taken = x <= 1e7 && var <= 1e10 && heading_var < 9.87;
            assert_eq!(outcome, if taken { Ok(()) } else { Err(DropReason::Absurd) }, "{x} {var} {heading_var}");
            for instant in &instants[30..] {
                feed(&mut slam, instant);
                let c = slam.predicted().unwrap().covariance;
                let good = c.diagonal().iter().all(|v| v.is_finite() && *v > 0.0);
                assert!(good, "{filter} {x} {var} {heading_var}: {c}");
            }
        }
    }
}

/// Two spikes with one stamp are held back, and later believed: the second one is a duplicate.
#[test]
fn spikes_with_one_stamp_that_are_believed_end_no_filter() {
    let mut slam = Slam::new(config("default")).unwrap();
    let send = |slam: &mut Slam, k: i64, v: f64| {
        let stamp = Stamp::from_nanos(20_000_000 * k);
        slam.odometry(&Odometry { stamp, velocity: Vector2::new(v, 0.0), yaw_rate: 0.0, covariance: None })
    };
    (0..50).for_each(|k| send(&mut slam, k, 0.0).unwrap());
    for k in [50, 51, 51, 52, 53, 54, 55, 56, 57] {
        let _held_or_not = send(&mut slam, k, 20.0);
    }
    (58..120).for_each(|k| send(&mut slam, k, 20.0).unwrap());
    assert!(slam.predicted().unwrap().pose.p.x > 20.0);
    assert_eq!(slam.counts().get(DropReason::OdometrySpike), 5);
}
