//! Loops that turn out wrong, and are undone.

use super::*;
use crate::AssociationTally;
use nalgebra::Matrix3;
use rand::RngExt;

/// How much of a second place is like the first one.
#[derive(Clone, Copy, PartialEq)]
enum Alike {
    /// It is the first one.
    Whole,
    /// Its beginning, which is all that is in view at first.
    Beginning,
}

/// So far the beginning goes, m.
const ALIKE_M: f64 = 13.0;

/// Posts on both sides of a straight way of 30 m; beyond `from_m` those of another seed.
fn posts(from_m: f64, other: u64) -> Vec<Vector2<f64>> {
    let place = |seed: u64, keep: &dyn Fn(f64) -> bool| {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut draw = |k: usize| {
            let x = 2.0 + 2.2 * k as f64 + random.random_range(-0.8..0.8);
            let y = random.random_range(1.5..5.0) * if random.random_range(0.0..1.0) < 0.5 { -1.0 } else { 1.0 };
            Vector2::new(x, y)
        };
        (0..13).map(&mut draw).filter(|post| keep(post.x)).collect::<Vec<_>>()
    };
    let mut all = place(11, &|x| x < from_m);
    all.extend(place(other, &|x| x >= from_m));
    all
}

/// The scan with which the robot is at the second place, and that with which it drives on. It stands for long: while
/// landmarks count as read lately, they may be what it reads.
const SECOND: usize = 170;
const ONWARD: usize = 255;

/// A robot drives along the first place, is carried to another one, and drives along that. Odometry knows that it was
/// carried, and not where to, to 15 m. Returns how many posts there are, too.
fn run_with(alike: Alike, seed: u64) -> (Vec<Instant>, usize) {
    let first = posts(f64::INFINITY, 11);
    let second = if alike == Alike::Whole { first.clone() } else { posts(ALIKE_M, 12) };
    let count = first.len() + if alike == Alike::Whole { 0 } else { second.len() };
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut noise = move || -> f64 {
        let x: f64 = StandardNormal.sample(&mut rng);
        POSITION_STD * x
    };
    let mut read = |posts: &[Vector2<f64>], truth: &Se2| {
        let places = posts.iter().map(|post| truth.transform_back(post));
        let seen = places.filter(|z| z.x > 0.0 && z.norm() < 12.0);
        seen.map(|z| Measurement::new(None, z + Vector2::new(noise(), noise()))).collect::<Vec<_>>()
    };
    let at = |k: usize| Se2::new(0.2 * k as f64, 0.0, 0.0);
    let instants = (0..ONWARD + 150).map(|k| {
        let (truth, velocity, seen) = match k {
            0..150 => (at(k), 2.0, read(&first, &at(k))),
            150..SECOND => (at(150), 0.0, Vec::new()),
            SECOND..ONWARD => (at(0), 0.0, read(&second, &at(0))),
            _ => (at(k - ONWARD), 2.0, read(&second, &at(k - ONWARD))),
        };
        let carried = Matrix3::from_diagonal(&[1125.0, 1125.0, 1e-4].into());
        let covariance = (150..SECOND).contains(&k).then_some(carried);
        let velocity = Vector2::new(velocity, 0.0);
        Instant { odometry: Odometry { stamp: stamp(k), velocity, yaw_rate: 0.0, covariance }, truth, seen }
    });
    (instants.collect(), count)
}

struct Ran {
    slam: Slam,
    steps: Vec<Step>,
    /// Merges that were undone.
    split: Vec<(u32, u32)>,
}

/// Runs, without a loop of these pairs.
fn ran(instants: &[Instant], forbidden: &[(u32, u32)]) -> Ran {
    let mut slam = Slam::new(config("default")).unwrap();
    slam.forbid_loop(forbidden);
    let (mut steps, mut split) = (Vec::new(), Vec::new());
    for instant in instants {
        steps.extend(feed(&mut slam, instant));
        split.extend_from_slice(slam.split_landmarks());
    }
    Ran { slam, steps, split }
}

#[test]
fn a_wrong_loop_is_taken_back_and_its_landmarks_are_two_again() {
    for seed in 0..3 {
        let (instants, posts) = run_with(Alike::Beginning, seed);
        let Ran { slam, split, .. } = ran(&instants, &[]);
        let AssociationTally { loops, taken_back, .. } = slam.association();
        assert_eq!((loops, taken_back), (0, 1), "{split:?}");
        assert!(split.len() >= 4, "{split:?}");
        assert_eq!(slam.landmarks().count(), posts);
    }
}

#[test]
fn a_right_loop_stays() {
    for seed in 0..3 {
        let (instants, posts) = run_with(Alike::Whole, seed);
        let Ran { slam, split, .. } = ran(&instants, &[]);
        let AssociationTally { loops, taken_back, .. } = slam.association();
        assert!(loops >= 1 && taken_back == 0 && split.is_empty(), "{:?}", slam.association());
        assert_eq!(slam.landmarks().count(), posts);
        let end = slam.predicted().unwrap().pose.p - instants.last().unwrap().truth.p;
        assert!(end.norm() < 0.5, "{end:?}");
    }
}

#[test]
fn what_is_taken_back_leaves_no_trace() {
    let (instants, _) = run_with(Alike::Beginning, 1);
    let back = ran(&instants, &[]);
    let never = ran(&instants, &back.split);
    assert!(never.split.is_empty() && !back.split.is_empty());
    assert_eq!(back.slam.predicted(), never.slam.predicted());
    let places = |slam: &Slam| slam.landmarks().map(|landmark| landmark.position).collect::<Vec<_>>();
    assert_eq!(places(&back.slam), places(&never.slam));
    // Until the loop is undone, the two are at different places.
    assert!(back.steps.iter().zip(&never.steps).any(|(a, b)| a.estimate.pose != b.estimate.pose));
}

#[test]
fn nothing_is_kept_once_a_loop_is_decided() {
    for alike in [Alike::Whole, Alike::Beginning] {
        let (instants, _) = run_with(alike, 2);
        let Ran { slam, .. } = ran(&instants, &[]);
        assert!(!slam.is_loop_on_trial(), "{:?}", slam.association());
        // Only what the scans need to which a slip would go back.
        assert!(slam.past_messages() <= 100, "{}", slam.past_messages());
    }
}
