//! Noise that is learned while running.

use super::*;
use crate::SavedState;
use std::f64::consts::FRAC_PI_4;

/// Learns, and is told these factors of the true standard deviations of measurements and of odometry.
fn learning(sensor: f64, odometry: f64) -> Config {
    let mut config = config("default");
    config.learning.enabled = true;
    config.learning.sensor_factor = 4.0;
    config.learning.odometry_factor = 4.0;
    config.sensor.position_std_m *= sensor;
    config.motion.velocity_x_std *= odometry;
    config.motion.velocity_y_std *= odometry;
    config.motion.yaw_rate_std *= odometry;
    config
}

/// The same measurements with errors that stay alike, by ρ from one to the next.
fn alike(mut instants: Vec<Instant>, rho: f64, seed: u64) -> Vec<Instant> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut errors = [Vector2::<f64>::zeros(); 8];
    for (k, instant) in instants.iter_mut().enumerate() {
        for (i, (error, seen)) in errors.iter_mut().zip(&mut instant.seen).enumerate() {
            let mut draw = || -> f64 { StandardNormal.sample(&mut rng) };
            let fresh = Vector2::new(draw(), draw()) * POSITION_STD;
            *error = if k == 0 { fresh } else { *error * rho + fresh * (1.0 - rho * rho).sqrt() };
            let p = Se2::new(0.0, 3.0, i as f64 * FRAC_PI_4).transform(&Vector2::new(4.0, 0.0));
            seen.value = (instant.truth.transform_back(&p) + *error).into();
        }
    }
    instants
}

fn learned(config: Config, instants: &[Instant]) -> (Slam, crate::LearnedNoise) {
    let mut slam = Slam::new(config).unwrap();
    for instant in instants {
        feed(&mut slam, instant);
    }
    let noise = slam.learned_noise().unwrap();
    (slam, noise)
}

#[test]
fn nothing_is_learned_from_a_scan_that_was_cut() {
    let mut config = learning(0.25, 1.0);
    config.sensor.max_points = 6;
    let (_, noise) = learned(config, &recording(200, 5));
    assert!(noise.sensors.is_empty() && noise.odometry == [1.0; 3], "eight measurements, six at most: {noise:?}");
}

#[test]
fn wrong_standard_deviations_of_measurements_are_learned() {
    for claimed in [0.25, 0.5, 1.0, 2.0, 4.0] {
        let (_, noise) = learned(learning(claimed, 1.0), &recording(1200, 5));
        let [sensor] = &noise.sensors[..] else { panic!("{noise:?}") };
        for factor in &sensor.std[..2] {
            assert!((factor * claimed - 1.0).abs() < 0.08, "told {claimed}: {noise:?}");
        }
        assert!(
            sensor.time_correlated_share[..2].iter().all(|share| *share < 0.1),
            "independent errors are taken for that: {noise:?}"
        );
    }
}

#[test]
fn wrong_standard_deviations_of_odometry_are_learned() {
    for claimed in [0.5, 1.0, 2.0] {
        let (_, noise) = learned(learning(1.0, claimed), &recording(3000, 6));
        let [forward, _, turning] = noise.odometry.map(|factor| factor * claimed);
        assert!((forward - 1.0).abs() < 0.35 && (turning - 1.0).abs() < 0.35, "told {claimed}: {noise:?}");
    }
}

#[test]
fn a_robot_at_rest_learns_nothing_of_its_odometry() {
    let mut config = learning(2.0, 1.0);
    // At rest, noise of a part of the velocity is none.
    (config.motion.velocity_x_std, config.motion.velocity_y_std, config.motion.yaw_rate_std) = (0.0, 0.0, 0.0);
    let mut instants = recording(600, 7);
    let first = instants[0].clone();
    for instant in &mut instants {
        instant.odometry.velocity = Vector2::zeros();
        instant.odometry.yaw_rate = 0.0;
        instant.truth = first.truth;
    }
    let (_, noise) = learned(config, &alike(instants, 0.0, 8));
    assert_eq!(noise.odometry, [1.0; 3], "{noise:?}");
    assert!((noise.sensors[0].std[0] * 2.0 - 1.0).abs() < 0.1, "{noise:?}");
}

#[test]
fn errors_that_stay_alike_are_found_and_not_taken_for_small_ones() {
    for time_correlated_s in [0.3, 1.0, 3.0] {
        let rho = (-DT / time_correlated_s).exp();
        let (_, noise) = learned(learning(1.0, 1.0), &alike(recording(1500, 9), rho, 10));
        let [sensor] = &noise.sensors[..] else { panic!("{noise:?}") };
        for d in 0..2 {
            let ratio = sensor.correlation_s[d] / time_correlated_s;
            assert!((0.4..=1.5).contains(&ratio), "{time_correlated_s} s: {noise:?}");
            assert!(sensor.time_correlated_share[d] > 0.8, "{time_correlated_s} s: {noise:?}");
        }
        assert!(sensor.std[..2].iter().all(|factor| *factor >= 1.0), "{time_correlated_s} s: {noise:?}");
        assert!(noise.odometry.iter().all(|factor| *factor >= 1.0), "{time_correlated_s} s: {noise:?}");
    }
}

#[test]
fn a_stated_correlation_is_given_up_where_there_is_none() {
    let mut config = learning(1.0, 1.0);
    config.sensor.correlation_s = 0.5;
    let (_, noise) = learned(config, &recording(1500, 11));
    assert!(noise.sensors[0].time_correlated_share[..2].iter().all(|share| *share < 0.15), "{noise:?}");
}

#[test]
fn what_was_learned_is_saved() {
    let instants = recording(300, 12);
    let (mut whole, _) = learned(learning(2.0, 1.0), &instants[..200]);
    let text = serde_json::to_string(&whole.save()).unwrap();
    let saved: SavedState = serde_json::from_str(&text).unwrap();
    let mut resumed = Slam::resume(learning(2.0, 1.0), saved).unwrap();
    assert_eq!(resumed.learned_noise(), whole.learned_noise());
    for instant in &instants[200..] {
        assert_eq!(feed(&mut resumed, instant), feed(&mut whole, instant));
    }
    assert_eq!(resumed.learned_noise(), whole.learned_noise());
    let tree = serde_json::to_value(whole.save()).unwrap();
    let refused = |change: fn(&mut serde_json::Value)| {
        let mut tree = tree.clone();
        change(&mut tree["estimator"]["learned"]);
        let damaged: SavedState = serde_json::from_value(tree).unwrap();
        Slam::resume(learning(2.0, 1.0), damaged).is_err()
    };
    assert!(!refused(|_| ()));
    assert!(refused(|noise| noise["factors"].as_array_mut().unwrap().push(1.0.into())));
    assert!(refused(|noise| noise["factors"][0] = (-1.0).into()));
    assert!(refused(|noise| noise["information"][0] = (-1.0).into()));
    assert!(refused(|noise| noise["lasting"]["sums"][0]["square"] = (-1.0).into()));
    assert!(refused(|noise| noise["lasting"]["stated_s"] = (-1.0).into()));
}
