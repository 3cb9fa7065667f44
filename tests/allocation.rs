//! The steady state of the filter allocates nothing: once every feature is in the map, a step (several odometry
//! messages, one cloud) leaves the allocator alone. Nor do samples of the attitude filter, nor the exponential
//! integrators, once they are set up.

// A counting allocator is unsafe to write; this test is the only place.
#![allow(unsafe_code)]

use lienav_attitude::{Attitude, ImuSample};
use lienav_base::stamp::Stamp;
use lienav_integrate::dynamics::elastic_arm::ElasticArm;
use lienav_integrate::dynamics::kdv::Kdv;
use lienav_integrate::dynamics::nls::Nls;
use lienav_integrate::exponential::{
    Classical, EnergyPreservingExponential, Iteration, Method, SemilinearPoisson, Splitting, SymplecticExponential,
};
use lienav_lie::Se2;
use lienav_slam::{
    CalibrationConfig, Config, LandmarkMap, MapLandmark, MapMode, Measurement, MeasurementKind, Odometry, Prior, Slam,
};
use nalgebra::{Complex, Matrix2, Vector2, Vector3};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: hands everything on to the system's allocator; the counter is a plain cell of this thread.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|n| n.set(n.get() + 1));
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|n| n.set(n.get() + 1));
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// One step: ten odometry messages, then a cloud of what is seen. Returns the allocations the filter made.
fn step(slam: &mut Slam, k: i64, truth: &mut Se2, seen: &mut Vec<Measurement>, with_id: bool) -> u64 {
    let (v, w, dt) = (0.9, 0.3, 0.005);
    for _ in 0..10 {
        *truth = *truth * Se2::exp(&Vector3::new(v * dt, 0.0, w * dt));
    }
    seen.clear();
    for id in 0..17u32 {
        let feature = Se2::new(0.0, 3.0, id as f64 * 0.37).transform(&Vector2::new(5.0, 0.0));
        let z = truth.transform_back(&feature);
        if k < 3 || (id + k as u32).is_multiple_of(3) {
            let value = Vector2::new(z.norm(), z.y.atan2(z.x));
            seen.push(Measurement::new(with_id.then_some(id), value));
        }
    }
    let before = ALLOCATIONS.get();
    for j in 1..=10 {
        let stamp = Stamp::from_nanos(50_000_000 * k + 5_000_000 * j);
        let odometry = Odometry { stamp, velocity: Vector2::new(v, 0.0), yaw_rate: w, covariance: None };
        assert_eq!(slam.odometry(&odometry), Ok(()));
    }
    assert_eq!(slam.features(Stamp::from_nanos(50_000_000 * (k + 1)), MeasurementKind::RangeBearing, seen), Ok(()));
    while let Some(step) = slam.poll() {
        assert!(step.rejected == 0, "{k} {step:?}");
    }
    assert!(slam.predicted().is_some());
    ALLOCATIONS.get() - before
}

/// Whether nothing is allocated but, once in 100 scans, a copy of what was learned, for who processes them again.
fn is_steady(counts: &[u64]) -> bool {
    counts.chunks(100).all(|scans| scans.iter().filter(|count| **count > 0).count() <= 1)
}

/// Everything there is to calibrate.
fn calibrating() -> CalibrationConfig {
    let small = Prior { value: 0.0, sigma: 0.01, walk: 0.001 };
    CalibrationConfig {
        scale_v: small,
        scale_w: small,
        bias_w: small,
        turn_slip: small,
        drive_yaw: small,
        motion_delay: small,
        sensor_x: small,
        sensor_y: small,
        sensor_yaw: small,
        range_bias: small,
        bearing_bias: small,
        range_scale: small,
        ..CalibrationConfig::default()
    }
}

#[test]
fn a_step_allocates_nothing_once_the_map_stands() {
    for (filter, calibration) in [
        ("default", calibrating()),
        ("ekf", calibrating()),
        ("default", CalibrationConfig::default()),
        ("reduced", CalibrationConfig::default()),
        ("ekf", CalibrationConfig::default()),
        ("fe-ekf", CalibrationConfig::default()),
        ("thesis-ekf", CalibrationConfig::default()),
    ] {
        for (with_id, learns) in [(true, false), (false, false), (true, true), (false, true)] {
            let mut config = Config { filter: filter.into(), calibration: calibration.clone(), ..Config::default() };
            config.learning.enabled = learns;
            let mut slam = Slam::new(config).expect("the settings are valid");
            let start =
                Odometry { stamp: Stamp::from_nanos(0), velocity: Vector2::zeros(), yaw_rate: 0.0, covariance: None };
            slam.odometry(&start).expect("the first message is good");
            let (mut truth, mut seen) = (Se2::identity(), Vec::with_capacity(32));
            let counts: Vec<u64> = (0..800).map(|k| step(&mut slam, k, &mut truth, &mut seen, with_id)).collect();
            assert!(counts[0] > 0, "the counter counts");
            // Without identities, the filter keeps where it was, in case the robot has slipped, and the last 64 scans;
            // where noise is learned, up to 100 scans: until each of these buffers has had the largest scan.
            let is_good = match (with_id, learns) {
                (_, true) => is_steady(&counts[600..]),
                (true, false) => counts[20..].iter().sum::<u64>() == 0,
                (false, false) => counts[200..].iter().sum::<u64>() == 0,
            };
            assert!(is_good, "{filter}, identities {with_id}, learning {learns}: {counts:?}");
        }
    }
}

/// A circle in a hall of 400 known landmarks, of which 24 are in the filter at once: they come and go all the time.
#[test]
fn nor_does_a_step_in_a_known_map() {
    let truth: Vec<Vector2<f64>> =
        (0..400).map(|k| Vector2::new(3.0 * f64::from(k % 20) - 28.5, 3.0 * f64::from(k / 20) - 28.5)).collect();
    let landmark = |(id, p): (usize, &Vector2<f64>)| MapLandmark {
        id: id as u32,
        class: 0,
        position: *p,
        covariance: Matrix2::identity() * 1e-4,
    };
    let map = LandmarkMap { landmarks: truth.iter().enumerate().map(landmark).collect(), joint: None, near: None };
    for filter in ["default", "ekf", "reduced"] {
        for with_id in [true, false] {
            let mut config = Config { filter: filter.into(), ..Config::default() };
            (config.map.mode, config.map.active_features) = (MapMode::Localization, 24);
            (config.initial.x_m, config.initial.yaw_rad) = (10.0, std::f64::consts::FRAC_PI_2);
            let mut slam = Slam::new(config).expect("the settings are valid");
            slam.set_map(map.clone()).expect("a map");
            let (mut pose, mut seen) = (Se2::new(10.0, 0.0, std::f64::consts::FRAC_PI_2), Vec::with_capacity(32));
            let mut counts = Vec::with_capacity(2000);
            for k in 0..2000 {
                let stamp = Stamp::from_nanos(100_000_000 * k);
                seen.clear();
                seen.extend(truth.iter().enumerate().filter(|(_, p)| (*p - pose.p).norm() < 4.0).map(|(id, p)| {
                    let z = pose.transform_back(p);
                    let value = Vector2::new(z.norm(), z.y.atan2(z.x));
                    Measurement::new(with_id.then_some(id as u32), value)
                }));
                let odometry = Odometry { stamp, velocity: Vector2::new(1.0, 0.0), yaw_rate: 0.1, covariance: None };
                let before = ALLOCATIONS.get();
                assert_eq!(slam.odometry(&odometry), Ok(()));
                assert_eq!(slam.features(stamp, MeasurementKind::RangeBearing, &seen), Ok(()));
                while let Some(step) = slam.poll() {
                    assert!(step.rejected == 0, "{k} {step:?}");
                }
                counts.push(ALLOCATIONS.get() - before);
                pose = pose * Se2::exp(&Vector3::new(0.1, 0.0, 0.01));
            }
            assert!(counts[0] > 0, "the counter counts");
            assert_eq!(counts[700..].iter().sum::<u64>(), 0, "{filter}, identities {with_id}");
        }
    }
}

/// Odometry at 1 kHz of which 200 messages wait, with a second clock beside it, and a prediction after each message.
#[test]
fn nor_does_odometry_that_waits_or_is_of_another_clock() {
    let mut slam = Slam::new(Config::default()).expect("the defaults are valid");
    let counts: Vec<u64> = (0..3000)
        .map(|k| {
            let before = ALLOCATIONS.get();
            let stamp = Stamp::from_nanos(1_000_000 * k);
            let odometry = Odometry { stamp, velocity: Vector2::new(1.0, 0.0), yaw_rate: 0.2, covariance: None };
            assert_eq!(slam.odometry(&odometry), Ok(()));
            assert!(slam.odometry(&Odometry { stamp: stamp - 1e3, ..odometry }).is_err());
            assert!(slam.poll().is_none() && slam.predicted().is_some());
            ALLOCATIONS.get() - before
        })
        .collect();
    assert!(counts[0..600].iter().sum::<u64>() > 0, "the counter counts");
    assert_eq!(counts[600..].iter().sum::<u64>(), 0, "{counts:?}");
}

/// A robot that goes to and fro before features whose ranges are vague: the window is open all the time.
#[test]
fn nor_do_clouds_that_are_linearized_again() {
    let mut config = Config::default();
    config.learning.enabled = false;
    config.sensor.kind = MeasurementKind::StereoBearings;
    (config.sensor.bearing_std_rad, config.sensor.baseline_m) = (0.02, 0.5);
    let mut slam = Slam::new(config).expect("the settings are valid");
    let start = Odometry { stamp: Stamp::from_nanos(0), velocity: Vector2::zeros(), yaw_rate: 0.0, covariance: None };
    slam.odometry(&start).expect("the first message is good");
    let (mut x, mut seen, mut counts) = (0.0, Vec::with_capacity(8), Vec::with_capacity(200));
    for k in 1..=200 {
        let velocity = (0.2 * k as f64).cos();
        x += 0.1 * velocity;
        seen.clear();
        seen.extend((0..8).map(|id| {
            let bearing = |camera: f64| (f64::from(id) - 4.0 - camera).atan2(4.5 - x);
            Measurement::new(Some(id as u32), [bearing(0.25), bearing(-0.25)])
        }));
        let before = ALLOCATIONS.get();
        let stamp = Stamp::from_nanos(100_000_000 * k);
        let odometry = Odometry { stamp, velocity: Vector2::new(velocity, 0.0), yaw_rate: 0.0, covariance: None };
        assert_eq!(slam.odometry(&odometry), Ok(()));
        assert_eq!(slam.features(stamp, MeasurementKind::StereoBearings, &seen), Ok(()));
        while let Some(step) = slam.poll() {
            assert!(step.rejected == 0 && step.landmarks == 8, "{k} {step:?}");
        }
        counts.push(ALLOCATIONS.get() - before);
    }
    assert!(counts[2..20].iter().sum::<u64>() > 20, "the window is filled: {counts:?}");
    assert_eq!(counts[60..].iter().sum::<u64>(), 0, "{counts:?}");
}

#[test]
fn a_sample_of_the_attitude_filter_allocates_nothing() {
    let mut attitude = Attitude::new(lienav_attitude::Config::default()).expect("the defaults are valid");
    let before = ALLOCATIONS.get();
    for k in 0..2000 {
        // Two seconds of rest, then turns; a gap and a sample of yesterday.
        let turn = if k < 400 { 0.0 } else { (0.01 * k as f64).sin() };
        let stamp = Stamp::from_nanos(5_000_000 * if k < 1500 { k } else { k + 100 });
        let angular_velocity = Vector3::new(turn, 0.1, 0.0);
        let _ = attitude.imu(&ImuSample { stamp, angular_velocity, specific_force: Vector3::z() * 9.81 });
        let _ = attitude.imu(&ImuSample { stamp: stamp - 1.0, angular_velocity, specific_force: Vector3::z() });
        assert!(attitude.estimate().is_some());
    }
    assert_eq!(ALLOCATIONS.get() - before, 0);
    assert_eq!(attitude.gaps(), 1);
}

/// Allocations of ten steps of every method but Newton's, which factorizes a new matrix in every step.
fn allocations_of_steps<P: SemilinearPoisson>(system: &P, start: &[f64], step: f64) -> u64 {
    let exact = Iteration::default();
    let mut methods: Vec<Box<dyn Method + '_>> = vec![
        Box::new(SymplecticExponential::midpoint(system, step, exact)),
        Box::new(SymplecticExponential::disex(system, step, exact)),
        Box::new(EnergyPreservingExponential::new(system, step, exact)),
        Box::new(Classical::midpoint(system, step, Splitting::Linear, exact)),
        Box::new(Classical::discrete_gradient(system, 1e-6, Splitting::None, exact)),
    ];
    let (mut state, mut scratch) = (start.to_vec(), system.scratch());
    let before = ALLOCATIONS.get();
    for method in &mut methods {
        state.copy_from_slice(start);
        method.run(10, &mut state).expect("the step is small");
        assert!(system.energy(&state, &mut scratch).is_finite());
    }
    ALLOCATIONS.get() - before
}

#[test]
fn an_exponential_integrator_allocates_nothing_once_it_is_set_up() {
    let nls = Nls::new(401).expect("there are nodes");
    let start = nls.sample(|x| Complex::new(1.0 / (2.0 + x.cos()), 0.0));
    assert_eq!(allocations_of_steps(&nls, &start, 0.01), 0);
    let kdv = Kdv::new(401, 5e-4).expect("there are nodes");
    let start = kdv.sample(|x| 0.5 * x.cos());
    assert_eq!(allocations_of_steps(&kdv, &start, 1e-3), 0);
    let arm = ElasticArm::new(&Default::default()).expect("the default is an arm");
    assert_eq!(allocations_of_steps(&arm.system, &arm.bent(0.01), 1e-3), 0);
}
