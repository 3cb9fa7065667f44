//! Wheels that slip, found by landmarks without identity.

use super::again::Named;
use super::{config, drain, stamp};
use crate::estimator::Slip;
use crate::{Measurement, MeasurementKind, Noise, Odometry, Slam, Step};
use lienav_associate::association::cuts::Cut;
use lienav_lie::Se2;
use nalgebra::{Matrix2, Vector2, Vector3};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};

/// A robot that drives in circles among posts, of which its camera reads each in four of five looks. Where it has
/// turned further than its wheels say: at which steps, and by how much, rad.
pub(super) struct Drive {
    pub seed: u64,
    pub slips: Vec<(usize, f64)>,
    pub names: bool,
    /// Whether positions from outside come, too, twice a second.
    pub fixes: bool,
}

/// So many steps are one time around.
pub(super) const ROUND: usize = 125;
const DT: f64 = 0.1;

pub(super) struct Driven {
    steps: Vec<Step>,
    truths: Vec<Se2>,
    pub posts: usize,
    pub slam: Slam,
    pub named: Named,
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

    pub fn run(&self) -> Driven {
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
        let mut named = Named::default();
        let (v, w) = (1.0, std::f64::consts::TAU / (ROUND as f64 * DT));
        for k in 0..4 * ROUND {
            let slipped = self.slips.iter().find(|slip| slip.0 == k).map_or(0.0, |slip| slip.1);
            if k > 0 {
                truth = truth * Se2::exp(&Vector3::new(v * DT, 0.0, w * DT + slipped));
            }
            let (velocity, yaw_rate) = (Vector2::new(v + normal(0.03), normal(0.01)), w + normal(0.03));
            slam.odometry(&Odometry { stamp: stamp(k), velocity, yaw_rate, covariance: None }).unwrap();
            let (mut seen, mut of) = (Vec::new(), Vec::new());
            for (id, post) in posts.iter().enumerate() {
                let z = truth.transform_back(post);
                if z.norm() < 6.0 && z.y.atan2(z.x).abs() < 0.9 && looks.random_range(0.0..1.0) < 0.8 {
                    let read = z + Vector2::new(normal(0.05), normal(0.05));
                    seen.push(Measurement::new(self.names.then_some(id as u32), read));
                    of.push((read, id));
                }
            }
            if self.fixes && k % 5 == 2 {
                let value = truth.p + Vector2::new(normal(0.3), normal(0.3));
                let covariance = Some(Noise::from(Matrix2::identity() * 0.09));
                let fix = Measurement { covariance, ..Measurement::new(None, value) };
                slam.features(stamp(k), MeasurementKind::WorldPosition, &[fix]).unwrap();
            }
            slam.features(stamp(k), MeasurementKind::RelativePosition, &seen).unwrap();
            for step in drain(&mut slam) {
                steps.push(step);
                truths.push(truth);
                named.note(&slam, &of);
            }
        }
        Driven { steps, truths, posts: posts.len(), slam, named }
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
        let driven = Drive { seed, slips, names: false, fixes: false }.run();
        let (error, Driven { slam, posts, .. }) = (driven.error(), &driven);
        assert!(
            error < 0.1 && slam.association().slips + slam.recoveries() >= 1,
            "seed {seed}: {error} m, {:?}",
            slam.association()
        );
        assert!(slam.landmarks().count() <= posts + 2, "seed {seed}: {} of {posts}", slam.landmarks().count());
    }
}

#[test]
fn a_robot_that_drives_as_its_wheels_say_has_not_slipped() {
    for seed in 10..18 {
        let driven = Drive { seed, slips: Vec::new(), names: false, fixes: false }.run();
        let (error, found) = (driven.error(), driven.slam.association());
        assert!(error < 0.1 && found.slips == 0, "seed {seed}: {error} m, {found:?}");
        assert!(driven.slam.landmarks().count() <= driven.posts);
    }
}

/// What was read of the pose since is taken in again, too, once.
#[test]
fn a_slip_is_found_where_positions_come_from_outside() {
    for (seed, by) in [(0, 0.5), (1, -0.5), (2, 0.4), (3, -0.4)] {
        let driven = Drive { seed, slips: vec![(ROUND + 60, by)], names: false, fixes: true }.run();
        let (error, Driven { slam, posts, steps, .. }) = (driven.error(), &driven);
        assert!(
            error < 0.1 && slam.association().slips + slam.recoveries() >= 1,
            "seed {seed}: {error} m, {:?}",
            slam.association()
        );
        assert!(slam.landmarks().count() <= posts + 2, "seed {seed}: {} of {posts}", slam.landmarks().count());
        assert!(steps.windows(2).all(|two| two[0].estimate.stamp < two[1].estimate.stamp));
        assert_eq!(slam.counts().total(), steps.iter().map(|step| step.rejected as u64).sum::<u64>());
    }
}

/// The steps are those that are told, once and in the order of their stamps, and after a slip go on where it is found.
#[test]
fn a_slip_that_is_found_late_is_one_step() {
    let driven = Drive { seed: 2, slips: vec![(ROUND + 60, 0.4)], names: false, fixes: false }.run();
    assert!(driven.steps.windows(2).all(|two| two[0].estimate.stamp < two[1].estimate.stamp));
    let jumps =
        driven.steps.windows(2).map(|two| (two[0].estimate.pose.inverse() * two[1].estimate.pose).log().z.abs());
    assert_eq!(jumps.filter(|turn| *turn > 0.25).count(), 1);
    // What is kept is what has come since the first time to which it goes back.
    assert!(driven.slam.past_messages() <= 70, "{}", driven.slam.past_messages());
}

#[test]
fn with_identities_nothing_is_kept() {
    let driven = Drive { seed: 1, slips: vec![(ROUND + 60, -0.5)], names: true, fixes: false }.run();
    assert_eq!((driven.slam.association().slips, driven.slam.past_messages()), (0, 0));
}

/// A robot that drives around in a circle of `RADIUS`, along which posts stand, but not where its wheels slip.
struct Around {
    slam: Slam,
    truth: Se2,
    random: ChaCha8Rng,
    step: usize,
}

const RADIUS: f64 = 15.0;
/// So many steps of 0.1 m are one time around.
const AROUND: usize = 942;
/// There are no posts between these parts of a circle, and within them the wheels slip.
const BARE: (f64, f64) = (0.5, 0.6);
const SLIPS: (usize, usize) = (470, 480);

impl Around {
    fn new(seed: u64) -> Self {
        let mut config = config("default");
        (config.motion.velocity_x_std, config.motion.velocity_y_std, config.motion.yaw_rate_std) = (0.03, 0.01, 0.03);
        config.sensor.position_std_m = 0.05;
        Self {
            slam: Slam::new(config).unwrap(),
            truth: Se2::identity(),
            random: ChaCha8Rng::seed_from_u64(seed),
            step: 0,
        }
    }

    /// Posts stand to the left and to the right in turns, every 3 m.
    fn posts() -> impl Iterator<Item = Vector2<f64>> {
        let parts = (0..31).map(|k| f64::from(k) / 31.0).filter(|part| !(BARE.0..BARE.1).contains(part));
        parts.enumerate().map(|(k, part)| {
            let (s, c) = (part * std::f64::consts::TAU).sin_cos();
            let radius = RADIUS + [-1.5, 1.8, -2.2, 1.2][k % 4];
            Vector2::new(radius * s, RADIUS - radius * c)
        })
    }

    /// So many steps on; where the wheels slip, they say that it has turned by `by` less than it has. Gives the error
    /// of the last estimate, m.
    fn drive(&mut self, steps: usize, by: f64) -> f64 {
        let mut error = f64::NAN;
        for _ in 0..steps {
            let normal = |random: &mut ChaCha8Rng, std: f64| -> f64 {
                let x: f64 = StandardNormal.sample(random);
                std * x
            };
            let k = self.step;
            let slipped = if (SLIPS.0..SLIPS.1).contains(&k) { by / (SLIPS.1 - SLIPS.0) as f64 / DT } else { 0.0 };
            let w = 1.0 / RADIUS;
            self.truth = self.truth * Se2::exp(&Vector3::new(DT, 0.0, w * DT));
            let random = &mut self.random;
            let velocity = Vector2::new(1.0 + normal(random, 0.03), normal(random, 0.01));
            let yaw_rate = w - slipped + normal(random, 0.03);
            self.slam.odometry(&Odometry { stamp: stamp(k), velocity, yaw_rate, covariance: None }).unwrap();
            let mut seen = Vec::new();
            for post in Self::posts() {
                let z = self.truth.transform_back(&post);
                if z.norm() < 7.0 && z.y.atan2(z.x).abs() < 0.9 && random.random_range(0.0..1.0) < 0.8 {
                    let read = z + Vector2::new(normal(random, 0.05), normal(random, 0.05));
                    seen.push(Measurement::new(None, read));
                }
            }
            self.slam.features(stamp(k), MeasurementKind::RelativePosition, &seen).unwrap();
            for step in drain(&mut self.slam) {
                error = (step.estimate.pose.p - self.truth.p).norm();
            }
            self.step += 1;
        }
        error
    }
}

/// Hundreds of scans after the wheels have slipped, where nothing was in view.
#[test]
fn a_slip_of_long_ago_is_found_where_the_map_hung_together_by_odometry() {
    for (seed, by) in [(0, 0.5), (1, -0.5), (2, 0.45), (3, -0.6)] {
        let mut robot = Around::new(seed);
        robot.drive(AROUND + AROUND / 4, by);
        let error = robot.drive(AROUND / 4, by);
        let found = robot.slam.association();
        assert!(error < 0.5, "seed {seed}: {error} m, {found:?}");
        assert!(found.slips == 1, "seed {seed}: {error} m, {found:?}");
    }
}

/// That a slip of long ago is told later is as if it had been told in time.
#[test]
fn a_slip_that_is_told_late_is_the_slip() {
    let (mut late, mut claimed) = (Around::new(4), Around::new(4));
    late.drive(475, 0.0);
    claimed.drive(475, 0.0);
    let place = claimed.slam.estimator.state.pose.p;
    let slip = Slip { turn: 0.0, std: 0.3, at: None };
    claimed.slam.estimator.slip(slip);
    late.drive(200, 0.0);
    claimed.drive(200, 0.0);
    let Some(cut) = late.slam.estimator.point().cut() else { panic!("nothing of before was read again") };
    assert!((cut.place - place).norm() < 2.0 && (1.0..4.0).contains(&cut.reach_m), "{cut:?}, {place}");
    let before = late.slam.estimator.state.pose_covariance()[(2, 2)];
    late.slam.estimator.slip(Slip { at: Some(Cut { place, reach_m: 0.0, ..cut }), ..slip });
    let (late, claimed) = (&late.slam.estimator.state, &claimed.slam.estimator.state);
    assert!(late.pose_covariance()[(2, 2)] > before + 0.08);
    assert_eq!(late.landmarks.len(), claimed.landmarks.len());
    let n = late.covariance.dim();
    for (i, j) in (0..n).flat_map(|i| (0..=i).map(move |j| (i, j))) {
        let (one, other) = (late.covariance.get(i, j), claimed.covariance.get(i, j));
        assert!((one - other).abs() < 1e-6 * (1.0 + other.abs()), "{i}, {j}: {one}, {other}");
    }
}

/// What was read since turns with the robot, and what was there before stays.
#[test]
fn a_slip_that_is_told_late_turns_one_side_of_the_map() {
    let mut robot = Around::new(5);
    robot.drive(675, 0.0);
    let before = robot.slam.estimator.state.clone();
    let Some(cut) = robot.slam.estimator.point().cut() else { panic!("nothing of before was read again") };
    robot.slam.estimator.slip(Slip { turn: 0.4, std: 0.2, at: Some(cut) });
    let after = &robot.slam.estimator.state;
    assert!((after.pose.theta - before.pose.theta - 0.4).abs() < 1e-12);
    let moved = |from: &Vector2<f64>, to: &Vector2<f64>| ((to - cut.place).norm() - (from - cut.place).norm()).abs();
    assert!(moved(&before.pose.p, &after.pose.p) < 1e-9);
    let mut turned = 0;
    for (i, landmark) in after.landmarks.iter().enumerate() {
        let was = &before.landmarks[before.find(landmark.id).unwrap()];
        if landmark.x == was.x {
            continue;
        }
        turned += 1;
        let (now, then) = (after.in_robot(i), before.in_robot(before.find(landmark.id).unwrap()));
        assert!((now - then).norm() < 1e-9);
        assert!((after.relative_spread(i) - before.relative_spread(i)).abs() < 1e-9);
    }
    assert!((3..12).contains(&turned), "{turned} of {}", after.landmarks.len());
}
