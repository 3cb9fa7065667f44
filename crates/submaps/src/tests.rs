//! Submaps beside the filter that has one map, and beside each other.

mod calibration;
mod extend;
mod going_on;
mod known;
mod outside;
mod recognise;
mod saved;

use super::join::Workspace;
use super::near::Near;
use super::problem::{FULLY, Placed, Problem, Start};
use super::submap::{Gaussian, Submap, tests::random_part};
use super::{Submaps, Worker};
use lienav_lie::Se2;
use lienav_slam::by_id::ById;
use lienav_slam::{Config, Filter, Landmark, MapLandmark, Measurement, MeasurementKind, Odometry, Slam, Stamp, Step};
use nalgebra::{Matrix2, Matrix3, SMatrix, Vector2, Vector3};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand_distr::{Distribution, Normal};
use std::collections::HashSet;
use std::sync::Arc;

/// Five submaps that agree on where everything is: neighbours share landmarks, and the first and the last do.
fn chain() -> (Problem, Matrix3<f64>) {
    let start_covariance = Matrix3::from_diagonal(&Vector3::new(0.04, 0.01, 0.0025));
    let pose = Se2::new(3.0, -2.0, 0.7);
    let start = Start::new(pose, &start_covariance);
    let (submaps, landmarks, bases) = (Vec::new(), Vec::new(), vec![pose]);
    let mut problem = Problem { start, submaps, bases, landmarks, closed: 5, tolerance: FULLY };
    let shared: [Vec<usize>; 5] =
        [vec![0, 1, 2, 3], vec![2, 3, 4, 5], vec![4, 5, 6, 7], vec![6, 7, 8, 9], vec![8, 9, 0, 1]];
    for (k, numbers) in shared.into_iter().enumerate() {
        let random = random_part(k as u64, 4);
        let base = problem.bases[k];
        let mut places = random.places.clone();
        for (place, number) in places.iter_mut().zip(&numbers) {
            match problem.landmarks.get(*number) {
                Some(p) => *place = base.transform_back(p),
                None => problem.landmarks.push(base.transform(place)),
            }
        }
        let submap = Submap::new(Gaussian { places, ..(*random).clone() }).unwrap();
        problem.bases.push(base * submap.exit);
        let (submap, landmarks) = (Arc::new(submap), Arc::new(numbers));
        problem.submaps.push(Placed {
            submap,
            landmarks,
            base: Some(k),
            exit: k + 1,
            is_outside: false,
            is_of_world: false,
        });
    }
    (problem, start_covariance)
}

fn chained(problem: &Problem) -> Near {
    let start = Near::start(&problem.start);
    problem
        .submaps
        .iter()
        .fold(start, |near, placed| near.behind(&placed.submap, &placed.landmarks, |_, _| true).unwrap())
}

/// What one submap after the other gives in covariance form, and what the sparse least squares give, is the same.
#[test]
fn the_chain_of_submaps_is_the_least_squares_of_all() {
    let (problem, _) = chain();
    let solution = problem.solve().unwrap();
    assert!(solution.cost < 1e-16, "{}", solution.cost);
    let one = chained(&problem);
    let other = Near::of_solution(&solution, one.landmarks.clone());
    assert!((one.base.p - other.base.p).norm() < 1e-9);
    assert!((&one.covariance - &other.covariance).amax() < 1e-9 * other.covariance.amax());
    let covariances = solution.landmark_covariances();
    for (number, p) in problem.landmarks.iter().enumerate() {
        assert!((solution.landmarks[number] - p).norm() < 1e-9);
        assert!(covariances[number].is_some());
    }
}

/// Where submaps differ a little, the corrections of both agree to first order in the differences.
#[test]
fn small_differences_are_shared_out_in_the_same_way() {
    let off = |scale: f64| {
        let (mut problem, _) = chain();
        for (k, placed) in problem.submaps.iter_mut().enumerate() {
            let Gaussian { exit, ids, places, covariance } = (**placed.submap).clone();
            let shift = |(i, p): (usize, &Vector2<f64>)| {
                p + Vector2::new((i * 7 + k * 3) as f64 % 5.0 - 2.0, (i * 3 + k) as f64 % 4.0 - 1.5) * scale
            };
            let places: Vec<Vector2<f64>> = places.iter().enumerate().map(shift).collect();
            placed.submap = Arc::new(Submap::new(Gaussian { exit, ids, places, covariance }).unwrap());
        }
        let before = problem.bases[5];
        let base = problem.solve().unwrap().bases[5];
        (chained(&problem).base.p - base.p).norm() / (base.p - before.p).norm()
    };
    let (coarse, fine) = (off(1e-3), off(1e-5));
    assert!(coarse < 0.03 && fine < 0.03 * coarse, "{coarse} {fine}");
}

/// A robot that goes round in a ring of posts, twice, and sees those ahead of it.
struct World {
    random: ChaCha8Rng,
    noise: f64,
    truth: Se2,
    time: f64,
    /// Which posts there are.
    posts: Vec<usize>,
    /// Its velocities are so many times what odometry says.
    scale: f64,
    /// Which posts say which they are.
    is_named: fn(usize) -> bool,
    /// The class that posts say at a time; 0 for none.
    class: fn(f64) -> u32,
}

const POSTS: usize = 24;

impl World {
    /// How it goes on from one measurement to the next: 1 m/s, 0.1 rad/s, 0.1 s.
    const STEP: Vector3<f64> = Vector3::new(0.1, 0.0, 0.01);

    fn new(seed: u64, noise: f64) -> Self {
        Self {
            random: ChaCha8Rng::seed_from_u64(seed),
            noise,
            truth: Se2::identity(),
            time: 0.0,
            posts: (0..POSTS).collect(),
            scale: 1.0,
            is_named: |_| true,
            class: |_| 0,
        }
    }

    fn config(&self, local_features: usize) -> Config {
        let mut config = Config::default();
        // Noise that is learned is another one in submaps.
        config.learning.enabled = false;
        let n = self.noise;
        (config.motion.velocity_x_std, config.motion.velocity_y_std, config.motion.yaw_rate_std) =
            (0.5 * n, 0.2 * n, 0.3 * n);
        (config.sensor.range_std_m, config.sensor.bearing_std_rad, config.sensor.max_range_m) =
            (0.3 * n, 0.1 * n, 30.0);
        config.gate.probability = 1.0;
        config.timing.reorder_window_s = 0.0;
        config.map.local_features = local_features;
        config
    }

    fn normal(&mut self, std: f64) -> f64 {
        Normal::new(0.0, std).unwrap().sample(&mut self.random)
    }

    fn post(k: usize) -> Vector2<f64> {
        let angle = k as f64 * std::f64::consts::TAU / POSTS as f64;
        let radius = if k.is_multiple_of(2) { 13.0 } else { 7.0 };
        Vector2::new(radius * angle.sin(), 10.0 - radius * angle.cos())
    }

    fn advance(&mut self, slam: &mut Slam) -> Option<Step> {
        let (v, w, dt, n) = (1.0, 0.1, 0.1, self.noise);
        if self.time > 0.0 {
            self.truth = self.truth * Se2::exp(&Self::STEP);
        }
        let stamp = Stamp::from_secs(self.time);
        self.time += dt;
        let velocity = Vector2::new(v + self.normal(0.5 * n), self.normal(0.2 * n)) / self.scale;
        let yaw_rate = (w + self.normal(0.3 * n)) / self.scale;
        slam.odometry(&Odometry { stamp, velocity, yaw_rate, covariance: None }).unwrap();
        let mut seen = Vec::new();
        for k in self.posts.clone() {
            let z = self.truth.transform_back(&Self::post(k));
            if z.norm() < 6.0 {
                let value = [z.norm() + self.normal(0.3 * n), z.y.atan2(z.x) + self.normal(0.1 * n)];
                let mut measurement = Measurement::new((self.is_named)(k).then_some(k as u32), value);
                measurement.label.class = (self.class)(self.time);
                seen.push(measurement);
            }
        }
        slam.features(stamp, MeasurementKind::RangeBearing, &seen).unwrap();
        slam.poll()
    }
}

fn of_submaps(config: Config) -> Slam {
    Slam::of_submaps(Filter::named(&config.filter).unwrap(), config).unwrap()
}

/// The steps of a run, its landmarks at the end, and the status.
fn run(
    seed: u64,
    noise: f64,
    local_features: usize,
    worker: Worker,
) -> (Vec<Step>, Vec<Landmark>, super::Status, Vec<Se2>) {
    let mut world = World::new(seed, noise);
    let mut slam = of_submaps(world.config(local_features));
    let mut submaps = Submaps::new(&slam, worker).unwrap();
    let (mut steps, mut truth) = (Vec::new(), Vec::new());
    while world.time < 130.0 {
        let Some(step) = world.advance(&mut slam) else { continue };
        steps.push(match &mut submaps {
            Some(submaps) => submaps.join(&mut slam, step),
            None => step,
        });
        truth.push(world.truth);
    }
    match submaps {
        Some(mut submaps) => {
            submaps.finish(&mut slam);
            (steps, submaps.landmarks(), submaps.status().clone(), truth)
        }
        None => (steps, slam.landmarks().collect(), super::Status::default(), truth),
    }
}

/// With noise so small that nothing is nonlinear, the submaps know at each scan what one map knows: also after the
/// loop, and also of how well they know it. A measurement used twice, or not at all, would make the covariance another
/// one.
#[test]
fn at_every_scan_the_submaps_know_what_one_map_knows() {
    let (dense, map, ..) = run(1, 1e-3, 0, Worker::InPlace);
    let (steps, landmarks, status, _) = run(1, 1e-3, 10, Worker::InPlace);
    assert!(status.submaps > 7 && status.solutions > 3 && status.failed == 0 && status.moved == 0, "{status:?}");
    assert_eq!((steps.len(), landmarks.len(), status.landmarks), (dense.len(), POSTS, POSTS));
    // What is near is known late at times: until then, what the submaps say is less than could be known.
    let mut late = Vec::new();
    for (one, other) in dense.iter().zip(&steps).skip(1) {
        let (p, q) = (one.estimate.covariance, other.estimate.covariance);
        let ratio = (q - p).symmetric_eigenvalues();
        let scale = p.symmetric_eigenvalues().max();
        assert!(ratio.min() > -1e-3 * scale, "{} overconfident: {}", one.estimate.stamp, ratio / scale);
        if (q - p).amax() > 1e-2 * scale {
            late.push((one.estimate.stamp.secs(), (q - p).amax() / scale));
        }
        let d = Vector3::new(
            one.estimate.pose.p.x - other.estimate.pose.p.x,
            one.estimate.pose.p.y - other.estimate.pose.p.y,
            one.estimate.pose.theta - other.estimate.pose.theta,
        );
        assert!(d.norm() < 0.05 * p.trace().sqrt() + 1e-9 || (q - p).amax() > 1e-3 * scale, "{d}");
    }
    assert!(late.len() < steps.len() / 50, "{late:?}");
    for landmark in &landmarks {
        let other = map.iter().find(|other| other.id == landmark.id).unwrap();
        assert!((landmark.position - other.position).norm() < 0.05 * other.covariance.trace().sqrt());
        assert!((landmark.covariance - other.covariance).amax() < 2e-3 * other.covariance.trace());
        assert!(landmark.measurements == other.measurements || landmark.measurements > 0);
    }
}

#[test]
fn the_pose_is_consistent_also_after_the_loop() {
    let (mut sum, mut after, mut count) = (0.0, 0.0, 0.0);
    for seed in 1..=12 {
        let (steps, _, _, truth) = run(seed, 0.1, 10, Worker::InPlace);
        let nees = |(step, truth): (&Step, &Se2)| {
            let estimate = step.estimate;
            let d = estimate.pose.p - truth.p;
            let turn = (estimate.pose.theta - truth.theta).sin();
            let d = Vector3::new(d.x, d.y, turn);
            estimate.covariance.try_inverse().map_or(0.0, |inverse| d.dot(&(inverse * d)))
        };
        let all: Vec<f64> = steps.iter().zip(&truth).skip(1).map(nees).collect();
        sum += all.iter().sum::<f64>() / all.len() as f64;
        after += all[640..].iter().sum::<f64>() / (all.len() - 640) as f64;
        count += 1.0;
    }
    let (all, after) = (sum / count, after / count);
    assert!((1.9..4.4).contains(&all) && (1.9..4.4).contains(&after), "{all} {after}");
}

/// What is saved and shown while the robot drives changes nothing, and is the map: at the end the one of
/// [`Submaps::finish`], to the last bit.
#[test]
fn the_map_can_be_had_at_any_time() {
    let mut world = World::new(4, 0.05);
    let mut slam = of_submaps(world.config(8));
    let mut submaps = Submaps::new(&slam, Worker::Thread).unwrap().unwrap();
    assert_eq!(
        (submaps.known(&slam).len(), submaps.snapshot(&slam).solve().map(|map| map.landmarks.len())),
        (0, Ok(0))
    );
    let (plain, ..) = run(4, 0.05, 8, Worker::InPlace);
    let mut ids = HashSet::new();
    for one in plain {
        let step = world.advance(&mut slam).unwrap();
        let local = slam.local().unwrap();
        ids.extend((0..local.len()).filter(|i| local.is_landmark(*i)).map(|i| local.id(i)));
        assert_eq!(submaps.join(&mut slam, step), one);
        if world.time < 20.0 || world.time > 125.0 {
            let saved = submaps.snapshot(&slam).solve().unwrap().landmarks;
            let known: Vec<MapLandmark> = submaps.known(&slam).iter().map(MapLandmark::from).collect();
            for landmarks in [&saved, &known] {
                let found: HashSet<u32> = landmarks.iter().map(|landmark| landmark.id).collect();
                assert_eq!((landmarks.len(), &found), (ids.len(), &ids), "{}", world.time);
                for landmark in landmarks {
                    let off = landmark.position - World::post(landmark.id as usize);
                    let nees = landmark.covariance.try_inverse().map(|inverse| off.dot(&(inverse * off)));
                    assert!(nees.is_some_and(|nees| nees < 25.0), "{landmark:?} at {}", world.time);
                }
            }
        }
    }
    let saved = submaps.snapshot(&slam).solve().unwrap().landmarks;
    submaps.finish(&mut slam);
    assert_eq!(saved, submaps.landmarks().iter().map(MapLandmark::from).collect::<Vec<_>>());
    assert_eq!(submaps.landmarks(), submaps.known(&slam));
}

/// A robot that has seen nothing yet is where it began, carried on by odometry.
#[test]
fn before_the_first_scan_the_start_is_carried_on() {
    let mut config = World::new(1, 0.1).config(8);
    (config.initial.x_m, config.initial.yaw_rad) = (5.0, std::f64::consts::FRAC_PI_2);
    config.initial.position_std_m = 0.3;
    let mut slam = of_submaps(config.clone());
    let submaps = Submaps::new(&slam, Worker::InPlace).unwrap().unwrap();
    config.map.local_features = 0;
    let mut dense = Slam::new(config).unwrap();
    for k in 0..=10 {
        let stamp = Stamp::from_secs(0.1 * f64::from(k));
        let odometry = Odometry { stamp, velocity: Vector2::new(1.0, 0.0), yaw_rate: 0.2, covariance: None };
        [&mut slam, &mut dense].into_iter().for_each(|slam| slam.odometry(&odometry).unwrap());
    }
    let (one, other) = (submaps.predicted(&slam).unwrap(), dense.predicted().unwrap());
    assert!((one.pose.p - other.pose.p).norm() < 1e-9 && (one.pose.theta - other.pose.theta).abs() < 1e-9);
    assert!((one.covariance - other.covariance).amax() < 1e-9 && one.stamp == other.stamp);
}

/// Fifty metres without a post: the robot is off by up to a metre and a tenth of a radian when it sees the first posts
/// again, one after the other.
#[test]
fn the_pose_is_consistent_at_once_when_a_loop_closes_a_long_way_without_landmarks() {
    let (mut first, mut later, mut largest, mut absurd) = (Vec::new(), Vec::new(), 0.0_f64, 0);
    for seed in 1..=20 {
        let mut world = World::new(seed, 0.15);
        world.posts = vec![0, 1, 2, 22, 23];
        let mut slam = of_submaps(world.config(6));
        let mut submaps = Submaps::new(&slam, Worker::InPlace).unwrap().unwrap();
        let mut scans = 0;
        while world.time < 70.0 {
            let Some(step) = world.advance(&mut slam) else { continue };
            let is_blind = step.accepted + step.added == 0;
            let Step { estimate, .. } = submaps.join(&mut slam, step);
            let d = estimate.pose.p - world.truth.p;
            let d = Vector3::new(d.x, d.y, (estimate.pose.theta - world.truth.theta).sin());
            if is_blind {
                largest = largest.max(d.z.abs());
            } else if world.time > 30.0 {
                let nees = estimate.covariance.try_inverse().map_or(f64::INFINITY, |inverse| d.dot(&(inverse * d)));
                if scans < 20 { &mut first } else { &mut later }.push(nees / 3.0);
                (scans, absurd) = (scans + 1, absurd + u32::from(nees > 30.0));
            }
        }
    }
    let mean = |nees: &[f64]| nees.iter().sum::<f64>() / nees.len() as f64;
    let (first, later) = (mean(&first), mean(&later));
    assert!(largest > 0.2, "{largest}");
    assert!((0.6..1.4).contains(&first) && (0.6..1.3).contains(&later) && absurd < 4, "{first} {later} {absurd}");
}

/// Thirty times round among the same posts: submaps of posts that were all known before become one, and the map is
/// known hardly less well than by one map of all, and never better.
#[test]
fn a_robot_that_goes_round_and_round_keeps_a_bounded_number_of_submaps() {
    let landmarks = |local_features| {
        let mut world = World::new(4, 0.02);
        let mut slam = of_submaps(world.config(local_features));
        let mut submaps = Submaps::new(&slam, Worker::InPlace).unwrap();
        let mut kept = Vec::new();
        while world.time < 1890.0 {
            let Some(step) = world.advance(&mut slam) else { continue };
            if let Some(submaps) = &mut submaps {
                submaps.join(&mut slam, step);
                kept.push(submaps.status().kept);
            }
        }
        match submaps {
            Some(mut submaps) => {
                submaps.finish(&mut slam);
                let status = submaps.status();
                assert!(status.submaps > 100 && status.failed == 0 && status.moved == 0, "{status:?}");
                (submaps.landmarks(), kept)
            }
            None => (slam.landmarks().collect(), kept),
        }
    };
    let (dense, _) = landmarks(0);
    let (of_submaps, kept) = landmarks(10);
    let most = |kept: &[usize]| kept.iter().copied().max().unwrap_or(0);
    let (half, whole) = (most(&kept[..kept.len() / 2]), most(&kept));
    assert!(whole <= 45 && whole <= half + 3, "{half} {whole}");
    assert_eq!(dense.len(), of_submaps.len());
    for landmark in &of_submaps {
        let other = dense.iter().find(|other| other.id == landmark.id).unwrap();
        let ratio = landmark.covariance.trace() / other.covariance.trace();
        assert!((0.97..1.2).contains(&ratio), "{}: {ratio}", landmark.id);
        let off = landmark.position - other.position;
        assert!(off.norm() < other.covariance.trace().sqrt(), "{}: {off}", landmark.id);
    }
}

#[test]
fn the_same_input_gives_the_same_bits_also_from_threads() {
    let of = |worker| {
        let (steps, landmarks, ..) = run(3, 0.1, 10, worker);
        let poses = steps.iter().map(|step| (step.estimate.pose, step.estimate.covariance)).collect::<Vec<_>>();
        (poses, landmarks)
    };
    let (one, other, thread) = (of(Worker::InPlace), of(Worker::InPlace), of(Worker::Thread));
    assert_eq!(one, other);
    assert_eq!(one, thread);
}

/// The pose that is joined at a scan is the end of the submap that would be closed then.
#[test]
fn joining_is_the_end_of_a_submap() {
    let (problem, _) = chain();
    let near = chained(&problem);
    let mut world = World::new(5, 1e-3);
    let mut slam = of_submaps(world.config(0));
    slam.start_submap();
    for _ in 0..40 {
        world.advance(&mut slam);
    }
    let local = slam.local().unwrap();
    // The closed submaps know three of the posts, a little elsewhere.
    let mut near = Near { landmarks: vec![0, 1, 2], places: Vec::new(), is_in_map: vec![false; 3], ..near };
    near.places = (0..3).map(|i| local.place(i) + Vector2::new(1e-4, -2e-4)).collect();
    near.covariance = near.covariance.view((0, 0), (9, 9)).into_owned() * 1e-4;
    let index: ById<usize> = (0..3).map(|i| (local.id(i), i)).collect();
    let joined = near.join(&local, &index, &super::common::Coupling::default(), &mut Workspace::default());

    let all: Vec<usize> = (0..local.len()).collect();
    let submap = Submap::new(Gaussian::new(&local, &all)).unwrap();
    let after = near.after(&submap, &all, |_, _| true).unwrap();
    assert_eq!(joined.shared, 3);
    let off = (joined.pose.p - after.base.p).norm() / joined.covariance.trace().sqrt();
    assert!(off < 1e-3, "{off}");
    let turn = after.base.rotation();
    let mut to_map = Matrix3::identity();
    to_map.fixed_view_mut::<2, 2>(0, 0).copy_from(&turn);
    let own: SMatrix<f64, 3, 3> = after.covariance.fixed_view::<3, 3>(0, 0).into_owned();
    let expected = to_map * own * to_map.transpose();
    assert!((joined.covariance - expected).amax() < 1e-3 * expected.amax(), "{} {expected}", joined.covariance);
}

#[test]
fn what_submaps_cannot_do_is_refused() {
    let refused = |change: fn(&mut Config)| {
        let mut config = World::new(1, 0.1).config(10);
        change(&mut config);
        Submaps::new(&of_submaps(config), Worker::InPlace).err().unwrap().to_string()
    };
    assert!(refused(|config| config.filter = "ekf".into()).contains("filter"));
    let alone = Slam::new(World::new(1, 0.1).config(10)).err().unwrap().to_string();
    assert!(alone.contains("map.local_features") && alone.contains("lienav_submaps"), "{alone}");
    let mut dense = Config::default();
    dense.map.max_features = 5001;
    assert!(Slam::new(dense).err().unwrap().to_string().contains("map.local_features"));
}

/// A post that was moved between two rounds is another landmark from then on, and pulls nothing.
#[test]
fn a_landmark_that_has_moved_is_reported_and_not_averaged() {
    let mut world = World::new(2, 0.1);
    let mut slam = of_submaps(world.config(10));
    let mut submaps = Submaps::new(&slam, Worker::InPlace).unwrap().unwrap();
    let mut steps = Vec::new();
    let moved = Vector2::new(1.2, -1.0);
    let post = World::post(3);
    while world.time < 125.0 {
        let before = world.truth;
        let (v, w, dt) = (1.0, 0.1, 0.1);
        if world.time > 0.0 {
            world.truth = before * Se2::exp(&Vector3::new(v * dt, 0.0, w * dt));
        }
        let stamp = Stamp::from_secs(world.time);
        world.time += dt;
        slam.odometry(&Odometry { stamp, velocity: Vector2::new(v, 0.0), yaw_rate: w, covariance: None }).unwrap();
        let posts = (0..POSTS).map(|k| (k, if k == 3 && world.time > 60.0 { post + moved } else { World::post(k) }));
        let seen: Vec<Measurement> = posts
            .map(|(k, p)| (k, world.truth.transform_back(&p)))
            .filter(|(_, z)| z.norm() < 6.0)
            .map(|(k, z)| Measurement::new(Some(k as u32), [z.norm(), z.y.atan2(z.x)]))
            .collect();
        slam.features(stamp, MeasurementKind::RangeBearing, &seen).unwrap();
        if let Some(step) = slam.poll() {
            steps.push((submaps.join(&mut slam, step), world.truth));
        }
    }
    submaps.finish(&mut slam);
    assert_eq!(submaps.status().moved, 1, "{:?}", submaps.status());
    let landmarks = submaps.landmarks();
    assert_eq!(landmarks.len(), POSTS);
    let there = landmarks.iter().find(|landmark| landmark.id == 3).unwrap();
    assert!((there.position - post - moved).norm() < 0.1, "{there:?}");
    let worst = steps.iter().map(|(step, truth)| (step.estimate.pose.p - truth.p).norm()).fold(0.0, f64::max);
    assert!(worst < 0.1, "{worst}");
    let _ = Matrix2::<f64>::identity();
}
