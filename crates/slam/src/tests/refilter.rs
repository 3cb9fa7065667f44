//! Scans that are taken in again, once they have taught what the noise is.

use super::*;
use crate::{DropReason, Landmark};
use nalgebra::Matrix3;

/// Learns, and is told these factors of the true standard deviations of measurements and of odometry.
fn claimed(sensor: f64, odometry: f64) -> Config {
    let mut config = config("default");
    config.learning.enabled = true;
    config.sensor.position_std_m *= sensor;
    config.motion.velocity_x_std *= odometry;
    config.motion.velocity_y_std *= odometry;
    config.motion.yaw_rate_std *= odometry;
    config
}

fn taught(config: Config, instants: &[Instant]) -> Slam {
    let mut slam = Slam::new(config).unwrap();
    for instant in instants {
        feed(&mut slam, instant);
    }
    slam
}

/// The greatest distance of landmarks of the same identity, in standard deviations of the second.
fn apart(one: &Slam, other: &Slam) -> f64 {
    let other: Vec<_> = other.landmarks().collect();
    let distance = |landmark: Landmark| {
        let same = other.iter().find(|other| other.id == landmark.id).unwrap();
        let d = landmark.position - same.position;
        (d.dot(&(same.covariance.try_inverse().unwrap() * d))).sqrt()
    };
    one.landmarks().map(distance).fold(0.0, f64::max)
}

#[test]
fn the_map_is_nearer_to_that_of_a_filter_which_was_told_the_noise_rightly() {
    let (mut with, mut without) = (0.0, 0.0);
    for seed in 20..24 {
        let instants = recording(110, seed);
        let mut truth = claimed(1.0, 1.0);
        truth.learning.enabled = false;
        let truth = taught(truth, &instants);
        for (sensor, odometry) in [(4.0, 0.25), (0.25, 4.0), (0.25, 0.25)] {
            let learned = taught(claimed(sensor, odometry), &instants);
            let mut left_alone = claimed(sensor, odometry);
            left_alone.timing.rewind_s = 1.0;
            let left_alone = taught(left_alone, &instants);
            assert!(learned.refilters() > 0 && left_alone.refilters() == 0);
            with += apart(&learned, &truth).powi(2);
            without += apart(&left_alone, &truth).powi(2);
        }
    }
    assert!(with < 0.3 * without, "squared distances {with}, without a second look {without}");
}

#[test]
fn nobody_looks_again_where_the_noise_is_as_told() {
    for seed in 30..36 {
        assert_eq!(taught(claimed(1.0, 1.0), &recording(150, seed)).refilters(), 0);
    }
}

#[test]
fn a_noise_that_changes_later_is_noticed_too() {
    let mut instants = recording(400, 25);
    let mut rng = ChaCha8Rng::seed_from_u64(26);
    for seen in instants[240..].iter_mut().flat_map(|instant| &mut instant.seen) {
        let mut draw = || -> f64 { StandardNormal.sample(&mut rng) };
        let more = Vector2::new(draw(), draw()) * 4.0 * POSITION_STD;
        seen.value = [seen.value[0] + more.x, seen.value[1] + more.y].into();
    }
    let before = taught(claimed(1.0, 1.0), &instants[..240]);
    let after = taught(claimed(1.0, 1.0), &instants[..320]);
    assert_eq!(before.refilters(), 0);
    assert!(after.refilters() > 0, "{:?}", after.learned_noise());
}

#[test]
fn the_step_of_the_last_scan_is_that_of_the_second_look() {
    let mut slam = Slam::new(claimed(4.0, 4.0)).unwrap();
    for instant in recording(30, 27) {
        let steps = feed(&mut slam, &instant);
        let (Some(step), Some(now)) = (steps.last(), slam.predicted()) else { continue };
        assert_eq!((step.estimate.pose, step.estimate.covariance), (now.pose, now.covariance));
    }
    assert!(slam.refilters() > 0);
}

#[test]
fn nobody_goes_back_behind_what_was_changed_from_outside() {
    let instants = recording(40, 28);
    let mut slam = taught(claimed(4.0, 4.0), &instants[..6]);
    let there = Se2::new(0.3, 500.0, -700.0);
    slam.set_pose(there, &Matrix3::identity()).unwrap();
    for instant in &instants[6..] {
        feed(&mut slam, instant);
    }
    let far = slam.predicted().unwrap().pose.p - there.p;
    assert!(slam.refilters() > 0 && far.norm() < 20.0, "{far:?}");
}

#[test]
fn scans_of_thousands_are_not_kept() {
    let mut instants = recording(60, 31);
    for instant in &mut instants[..30] {
        let seen = instant.seen[0].value;
        instant
            .seen
            .extend((0..2000).map(|k| Measurement { value: seen, ..Measurement::new(Some(1000 + k % 3), [0.0; 2]) }));
    }
    let mut slam = taught(claimed(4.0, 4.0), &instants[..30]);
    assert_eq!(slam.refilters(), 0);
    for instant in &instants[30..] {
        feed(&mut slam, instant);
    }
    assert!(slam.refilters() > 0);
}

#[test]
fn what_was_left_out_is_counted_once() {
    let mut instants = recording(60, 29);
    for instant in &mut instants {
        instant.seen.push(Measurement::new(Some(77), [f64::NAN, 0.0]));
    }
    let slam = taught(claimed(4.0, 4.0), &instants);
    assert!(slam.refilters() > 0);
    assert_eq!(slam.counts().get(DropReason::NotFinite), 60);
}

#[test]
fn nobody_looks_again_where_it_would_take_long() {
    // Seventy landmarks, or five hundred messages of odometry between two scans.
    let many: Vec<Instant> = recording(40, 32)
        .into_iter()
        .map(|mut instant| {
            let beyond = (0..70).map(|k| Vector2::new(f64::from(k % 10), f64::from(k / 10) - 3.0));
            let seen = |(k, p): (u32, Vector2<f64>)| {
                let value: [f64; 2] = instant.truth.transform_back(&p).into();
                Measurement::new(Some(500 + k), value)
            };
            let more: Vec<Measurement> = (0..).zip(beyond).map(seen).collect();
            instant.seen.extend(more);
            instant
        })
        .collect();
    assert_eq!(taught(claimed(4.0, 4.0), &many).refilters(), 0);

    let mut slam = Slam::new(claimed(4.0, 4.0)).unwrap();
    let instants = recording(15, 33);
    for pair in instants.windows(2) {
        feed(&mut slam, &pair[0]);
        let (from, to) = (pair[0].odometry.stamp, pair[1].odometry.stamp);
        for k in 1..500 {
            let stamp = from + to.since(from) * f64::from(k) / 500.0;
            slam.odometry(&Odometry { stamp, ..pair[1].odometry }).unwrap();
        }
    }
    assert_eq!(slam.refilters(), 0);
}

/// Errors of a landmark's measurements that stay alike for half a second, which nobody has told: the scans that have
/// shown that are taken in again with it.
#[test]
fn errors_that_last_are_a_reason_to_look_again() {
    let mut instants = recording(60, 28);
    let mut rng = ChaCha8Rng::seed_from_u64(29);
    let mut time_correlated = std::collections::HashMap::new();
    for seen in instants.iter_mut().flat_map(|instant| &mut instant.seen) {
        let mut draw = || -> f64 { StandardNormal.sample(&mut rng) };
        let more = Vector2::new(draw(), draw()) * 2.0 * POSITION_STD;
        let kept: f64 = 0.82;
        let error = time_correlated.entry(seen.id).or_insert(more);
        *error = *error * kept + more * (1.0 - kept * kept).sqrt();
        seen.value = [seen.value[0] + error.x, seen.value[1] + error.y].into();
    }
    let mut as_large = claimed(2.2, 1.0);
    as_large.learning.sensor_factor = 1.01;
    let slam = taught(as_large, &instants);
    assert!(slam.refilters() > 0, "{:?}", slam.learned_noise());
}

/// Eight posts around a robot that drives in a circle and turns by `by` more than its wheels say, before the sixth
/// scan.
fn slipped(by: f64, seed: u64) -> Vec<Instant> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut noise = |std: f64| -> f64 {
        let x: f64 = StandardNormal.sample(&mut rng);
        std * x
    };
    let posts = (0..8).map(|k| Se2::new(0.0, 3.0, f64::from(k) * 0.785).transform(&Vector2::new(4.0, 0.0)));
    let posts: Vec<Vector2<f64>> = posts.collect();
    let (mut truth, mut instants) = (Se2::identity(), Vec::new());
    for k in 0..60 {
        let slip = if k == 5 { by } else { 0.0 };
        truth = truth * Se2::exp(&nalgebra::Vector3::new(0.09, 0.0, 0.03 + slip));
        let velocity = Vector2::new(0.9 + noise(VELOCITY_STD), noise(VELOCITY_STD));
        let yaw_rate = 0.3 + noise(YAW_RATE_STD);
        let mut read = |post: &Vector2<f64>| {
            let z = truth.transform_back(post) + Vector2::new(noise(POSITION_STD), noise(POSITION_STD));
            Measurement::new(None, z)
        };
        let seen = posts.iter().map(&mut read).collect();
        instants.push(Instant {
            odometry: Odometry { stamp: stamp(k), velocity, yaw_rate, covariance: None },
            truth,
            seen,
        });
    }
    instants
}

/// A noise that was told far too large has followed a slip. What is learned of it would not, and begin all landmarks
/// anew.
#[test]
fn nobody_looks_again_where_landmarks_would_be_lost() {
    for seed in 0..4 {
        let run = |by: f64| taught(claimed(1.0, 40.0), &slipped(by, seed));
        let (driven, turned) = (run(0.0), run(0.25));
        assert!(driven.refilters() > 0, "seed {seed}");
        assert_eq!((turned.refilters(), turned.association().slips), (0, 0), "seed {seed}");
        assert_eq!(turned.landmarks().count(), 8, "seed {seed}");
    }
}
