//! Whatever a driver writes is refused with a sentence or gives finite detections.

use crate::{Config, Detector, Scan};
use nalgebra::Vector3;
use rand::RngExt;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;

fn scan<'a>(ranges: &'a [f32], intensities: &'a [f32]) -> Scan<'a> {
    Scan {
        angle_min_rad: -2.0,
        angle_increment_rad: 4.0 / (ranges.len().max(2) - 1) as f64,
        time_increment_s: 1e-5,
        range_min_m: 0.05,
        range_max_m: 30.0,
        ranges,
        intensities,
        twist: Vector3::new(1.0, 0.0, 0.5),
    }
}

fn detector() -> Detector {
    Detector::new(Config::default()).unwrap()
}

#[test]
fn scans_without_an_object_give_none() {
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.0, -1.0, 1e30, 5.0] {
        for rays in [0, 1, 2, 3, 1081, 100_000] {
            let ranges = vec![value; rays];
            let found = detector().detect(&scan(&ranges, &ranges)).unwrap().len();
            assert_eq!(found, 0, "{rays} rays of {value}");
        }
    }
}

#[test]
fn any_ranges_give_finite_detections_in_front_of_the_scanner() {
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let (mut detector, mut found) = (detector(), 0);
    for run in 0..600 {
        let rays = rng.random_range(1..800);
        let wild = run % 3 == 0;
        let draw = |rng: &mut ChaCha8Rng| match rng.random_range(0..12) {
            0 => f32::NAN,
            1 => f32::INFINITY,
            _ if wild => f32::from_bits(rng.random::<u32>()),
            2..6 => rng.random_range(0.0..20.0),
            _ => 6.0 + rng.random_range(0.0..0.02),
        };
        let ranges: Vec<f32> = (0..rays).map(|_| draw(&mut rng)).collect();
        let intensities: Vec<f32> = (0..rays).map(|_| draw(&mut rng).abs().powi(3)).collect();
        for detection in detector.detect(&scan(&ranges, &intensities)).unwrap() {
            found += 1;
            assert!(detection.position.iter().all(|x| x.is_finite()), "{detection:?}");
            assert!(detection.position.norm() <= 15.1 && detection.diameter_m.is_finite(), "{detection:?}");
            let [least, most] = detection.covariance.symmetric_eigenvalues().into();
            assert!(least.min(most) > 0.0 && least.max(most) < 10.0, "{detection:?}");
        }
    }
    assert!(found > 100, "{found}");
}

#[test]
fn a_hundred_thousand_rays_of_small_things_take_no_quadratic_time() {
    let ranges: Vec<f32> = (0..100_000).map(|k| if k % 12 < 5 { 5.0 } else { 9.0 }).collect();
    let mut detector = detector();
    detector.detect(&scan(&ranges, &[])).unwrap();
    assert!(detector.rejected().total() > 8000);
}

#[test]
fn a_header_that_cannot_be_is_refused_by_name() {
    let ranges = [5.0; 10];
    let base = scan(&ranges, &[]);
    let nan = f64::NAN;
    let cases = [
        (Scan { angle_min_rad: nan, ..base }, "angle_min"),
        (Scan { angle_increment_rad: 0.0, ..base }, "angle_increment"),
        (Scan { angle_increment_rad: nan, ..base }, "angle_increment"),
        (Scan { angle_increment_rad: 1.0, ..base }, "full turn"),
        (Scan { time_increment_s: -1.0, ..base }, "time_increment"),
        (Scan { range_min_m: nan, ..base }, "range_min"),
        (Scan { range_max_m: 0.01, ..base }, "range_max"),
        (Scan { twist: Vector3::new(0.0, nan, 0.0), ..base }, "twist"),
        (Scan { intensities: &ranges[1..], ..base }, "9 intensities"),
    ];
    for (scan, word) in cases {
        let message = detector().detect(&scan).unwrap_err().to_string();
        assert!(message.contains(word), "{message}");
    }
    let unlimited = Scan { range_max_m: f64::INFINITY, ..base };
    assert!(detector().detect(&unlimited).is_ok());
}

#[test]
fn sizes_that_contradict_each_other_are_refused() {
    let mut config = Config::default();
    config.sizes.trunk_min_m = 0.25;
    config.sizes.trunk_max_m = 0.6;
    let message = Detector::new(config.clone()).unwrap_err().to_string();
    assert!(message.contains("pole") && message.contains("trunk") && message.contains("0.25"), "{message}");
    config.sizes.trunk_min_m = 0.7;
    assert!(Detector::new(config.clone()).unwrap_err().to_string().contains("exchange"));
    config.sizes.trunk_min_m = 0.3;
    assert!(Detector::new(config.clone()).is_ok());
    config.scanner.range_std_m = 0.0;
    assert!(Detector::new(config).unwrap_err().to_string().contains("scanner.range_std_m"));
}
