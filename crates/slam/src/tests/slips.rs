//! Wheels that slip, found by landmarks without identity.

use super::{config, drain, stamp};
use crate::{FeatureKind, Observation, Odometry, Slam, Step};
use lienav_lie::Se2;
use nalgebra::{Vector2, Vector3};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

/// A robot that drives in circles among posts, of which its camera reads each in four of five looks. Where it has turned
/// further than its wheels say: at which steps, and by how much, rad.
struct Drive {
    seed: u64,
    slips: Vec<(usize, f64)>,
    names: bool,
}

/// So many steps are one time around.
const ROUND: usize = 125;
const DT: f64 = 0.1;

struct Driven {
    steps: Vec<Step>,
    truths: Vec<Se2>,
    posts: usize,
    slam: Slam,
}

impl Drive {
    fn posts(random: &mut ChaCha8Rng) -> Vec<Vector2<f64>> {
        let mut posts: Vec<Vector2<f64>> = Vec::new();
        while posts.len() < 16 {
            let post = Vector2::new(random.random_range(-6.0..6.0), random.random_range(-4.0..8.0));
            if posts.iter().all(|other| (post - other).norm() > 1.2) {
                posts.push(post);
            }
        }
        posts
    }

    fn run(&self) -> Driven {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        let posts = Self::posts(&mut random);
        let mut normal = |std: f64| -> f64 {
            let x: f64 = StandardNormal.sample(&mut random);
            std * x
        };
        let mut looks = ChaCha8Rng::seed_from_u64(self.seed + 100);
        let mut config = config("default");
        (config.motion.velocity_x_std, config.motion.velocity_y_std, config.motion.yaw_rate_std) = (0.03, 0.01, 0.03);
        config.sensor.position_std_m = 0.05;
        let mut slam = Slam::new(config).unwrap();
        let (mut truth, mut truths, mut steps) = (Se2::identity(), Vec::new(), Vec::new());
        let (v, w) = (1.0, std::f64::consts::TAU / (ROUND as f64 * DT));
        for k in 0..4 * ROUND {
            let slipped = self.slips.iter().find(|slip| slip.0 == k).map_or(0.0, |slip| slip.1);
            if k > 0 {
                truth = truth * Se2::exp(&Vector3::new(v * DT, 0.0, w * DT + slipped));
            }
            let (velocity, yaw_rate) = (Vector2::new(v + normal(0.03), normal(0.01)), w + normal(0.03));
            slam.odometry(&Odometry { stamp: stamp(k), velocity, yaw_rate, covariance: None }).unwrap();
            let mut seen = Vec::new();
            for (id, post) in posts.iter().enumerate() {
                let z = truth.transform_back(post);
                if z.norm() < 6.0 && z.y.atan2(z.x).abs() < 0.9 && looks.random_range(0.0..1.0) < 0.8 {
                    let read = z + Vector2::new(normal(0.05), normal(0.05));
                    seen.push(Observation::new(self.names.then_some(id as u32), read));
                }
            }
            slam.features(stamp(k), FeatureKind::RelativePosition, &seen).unwrap();
            for step in drain(&mut slam) {
                steps.push(step);
                truths.push(truth);
            }
        }
        Driven { steps, truths, posts: posts.len(), slam }
    }
}

impl Driven {
    /// The greatest distance from the truth in the last round, m.
    fn error(&self) -> f64 {
        let last = self.steps.iter().zip(&self.truths).rev().take(ROUND);
        last.map(|(step, truth)| (step.estimate.pose.p - truth.p).norm()).fold(0.0, f64::max)
    }
}

#[test]
fn a_robot_whose_wheels_slip_is_found_where_it_is() {
    for (seed, by) in [(0, 0.5), (1, -0.5), (2, 0.4), (3, -0.4), (4, 0.6), (5, 0.45), (6, -0.55), (7, 0.35)] {
        let slips = vec![(ROUND + 60, by)];
        let driven = Drive { seed, slips, names: false }.run();
        let (error, Driven { slam, posts, .. }) = (driven.error(), &driven);
        assert!(error < 0.1 && slam.association().slips == 1, "seed {seed}: {error} m, {:?}", slam.association());
        assert!(slam.landmarks().count() <= posts + 2, "seed {seed}: {} of {posts}", slam.landmarks().count());
    }
}

#[test]
fn a_robot_that_drives_as_its_wheels_say_has_not_slipped() {
    for seed in 10..18 {
        let driven = Drive { seed, slips: Vec::new(), names: false }.run();
        let (error, found) = (driven.error(), driven.slam.association());
        assert!(error < 0.1 && found.slips == 0, "seed {seed}: {error} m, {found:?}");
        assert!(driven.slam.landmarks().count() <= driven.posts);
    }
}

/// The steps are those that are told, once and in the order of their stamps, and after a slip go on where it is found.
#[test]
fn a_slip_that_is_found_late_is_one_step() {
    let driven = Drive { seed: 2, slips: vec![(ROUND + 60, 0.4)], names: false }.run();
    assert!(driven.steps.windows(2).all(|two| two[0].estimate.stamp < two[1].estimate.stamp));
    let jumps =
        driven.steps.windows(2).map(|two| (two[0].estimate.pose.inverse() * two[1].estimate.pose).log().z.abs());
    assert_eq!(jumps.filter(|turn| *turn > 0.25).count(), 1);
    // What is kept is what has come since the first time to which it goes back.
    assert!(driven.slam.past_messages() <= 70, "{}", driven.slam.past_messages());
}

#[test]
fn with_identities_nothing_is_kept() {
    let driven = Drive { seed: 1, slips: vec![(ROUND + 60, -0.5)], names: true }.run();
    assert_eq!((driven.slam.association().slips, driven.slam.past_messages()), (0, 0));
}
