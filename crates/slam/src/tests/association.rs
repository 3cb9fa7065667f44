//! Association of measurements without identity, as a run sees it.

use super::{config, drain, feed, recording, stamp};
use crate::{Association, Config, DropReason, Label, Measurement, MeasurementKind, Odometry, Slam, Step};
use lienav_lie::Se2;
use nalgebra::Vector2;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};

/// A robot that goes round twice among posts, of which it sees those within 9 m ahead. Returns the run, and where it
/// ended; `clutter` is the number of false measurements in a scan.
struct Track {
    scans: Vec<(Odometry, Vec<Measurement>)>,
    posts: usize,
    truth: Se2,
}

const DT: f64 = 0.1;

fn still(k: usize) -> Odometry {
    Odometry { stamp: stamp(k), velocity: Vector2::zeros(), yaw_rate: 0.0, covariance: None }
}

fn track(seed: u64, clutter: usize, names: bool) -> Track {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut around: Vec<Vector2<f64>> = Vec::new();
    let mut phase: f64 = 0.0;
    while phase < std::f64::consts::TAU - 0.1 {
        for radius in [17.0, 23.0] {
            let at = phase + random.random_range(-0.03..0.03);
            around.push(Vector2::new(0.0, 20.0) + Vector2::new(at.sin(), -at.cos()) * radius);
        }
        phase += random.random_range(0.15..0.25);
    }
    let mut normal = |std: f64| -> f64 {
        let x: f64 = StandardNormal.sample(&mut random);
        std * x
    };
    let mut truth = Se2::identity();
    let (v, w) = (4.0, 0.2);
    let steps = (2.0 * std::f64::consts::TAU / (w * DT)) as usize + 5;
    let mut false_at = ChaCha8Rng::seed_from_u64(seed + 1000);
    let scans = (0..steps)
        .map(|k| {
            if k > 0 {
                truth = truth * Se2::exp(&nalgebra::Vector3::new(v * DT, 0.0, w * DT));
            }
            let velocity = Vector2::new(v + normal(0.1), 0.0);
            let odometry = Odometry { stamp: stamp(k), velocity, yaw_rate: w + normal(0.05), covariance: None };
            let mut seen = Vec::new();
            for (id, post) in around.iter().enumerate() {
                let z = truth.transform_back(post);
                let is_read = false_at.random_range(0.0..1.0) < 0.9;
                if z.norm() < 9.0 && z.x > 0.0 && is_read {
                    let read = z + Vector2::new(normal(0.08), normal(0.08));
                    seen.push(Measurement::new(names.then_some(id as u32), read));
                }
            }
            for _ in 0..clutter {
                let at = Vector2::new(false_at.random_range(0.0..9.0), false_at.random_range(-9.0..9.0));
                if !names {
                    seen.push(Measurement::new(None, at));
                }
            }
            (odometry, seen)
        })
        .collect();
    Track { scans, posts: around.len(), truth }
}

fn on_track(association: Association) -> Config {
    let mut config = Config { association, ..config("default") };
    config.motion.velocity_x_std = 0.1;
    config.motion.velocity_y_std = 0.01;
    config.motion.yaw_rate_std = 0.05;
    config.sensor.position_std_m = 0.08;
    config
}

fn drive(slam: &mut Slam, scans: &[(Odometry, Vec<Measurement>)]) -> Vec<Step> {
    let mut steps = Vec::new();
    for (odometry, seen) in scans {
        slam.odometry(odometry).unwrap();
        slam.features(odometry.stamp, MeasurementKind::RelativePosition, seen).unwrap();
        steps.extend(drain(slam));
    }
    steps
}

#[test]
fn the_loop_closes_and_every_post_is_one_landmark() {
    let (mut squares, mut named_squares) = (0.0, 0.0);
    for seed in 0..6 {
        let error = |names: bool| {
            let track = track(seed, usize::from(!names), names);
            let mut slam = Slam::new(on_track(Association::Auto)).unwrap();
            let steps = drive(&mut slam, &track.scans);
            let end = steps.last().unwrap().estimate.pose;
            ((end.p - track.truth.p).norm(), slam, track.posts)
        };
        let (with_names, ..) = error(true);
        let (without, slam, posts) = error(false);
        assert_eq!(slam.landmarks().count(), posts, "seed {seed}: {:?}", slam.association());
        squares += without * without;
        named_squares += with_names * with_names;
        assert!(without < 0.5, "seed {seed}: {without} m, {with_names} m with identities");
    }
    assert!(squares < 2.0 * named_squares + 0.01, "{squares} {named_squares}");
}

/// A detector that looks at every fifth pose sends scans without measurements in between: those are no misses.
#[test]
fn scans_without_a_look_take_nothing_away() {
    let track = track(2, 0, false);
    let mut scans = track.scans;
    for (k, (_, seen)) in scans.iter_mut().enumerate() {
        if k % 5 != 0 {
            seen.clear();
        }
    }
    let mut slam = Slam::new(on_track(Association::Auto)).unwrap();
    let steps = drive(&mut slam, &scans);
    let end = steps.last().unwrap().estimate.pose;
    let tally = slam.association();
    assert!(
        slam.landmarks().count().abs_diff(track.posts) <= 2,
        "{} of {}: {tally:?}",
        slam.landmarks().count(),
        track.posts
    );
    assert!((end.p - track.truth.p).norm() < 0.5, "{end:?}, {:?}", track.truth);
}

/// A position from outside is no look at landmarks: none of them is missed.
#[test]
fn measurements_of_the_pose_miss_no_landmark() {
    let track = track(3, 0, false);
    let run = |is_heard: bool| {
        let mut config = on_track(Association::Auto);
        config.absolute.position_std_m = 50.0;
        let mut slam = Slam::new(config).unwrap();
        for (odometry, seen) in &track.scans {
            slam.odometry(odometry).unwrap();
            slam.features(odometry.stamp, MeasurementKind::RelativePosition, seen).unwrap();
            if is_heard {
                let position = Measurement::new(None, [0.0, 20.0]);
                slam.features(odometry.stamp, MeasurementKind::WorldPosition, &[position]).unwrap();
            }
            drain(&mut slam);
        }
        (slam.association().scans, slam.association().dropped, slam.landmarks().count())
    };
    assert_eq!(run(true), run(false));
}

/// A robot that passes posts, and sees those within 5 m, does not know its field of view for long: what is behind it
/// and was read once or twice was not missed. Thirteen of these posts once were.
#[test]
fn what_is_left_behind_was_not_missed() {
    let mut slam = Slam::new(on_track(Association::Auto)).unwrap();
    let post = |k: usize| Vector2::new(8.0 * k as f64 + 2.5, [2.5, -2.5, 1.5][k % 3]);
    let scans: Vec<_> = (0..60)
        .map(|k| {
            let odometry = Odometry { velocity: Vector2::new(5.0 / DT, 0.0), ..still(k) };
            let robot = Vector2::new(5.0 * k as f64, 0.0);
            let seen = (0..40).map(|k| post(k) - robot).filter(|z| z.norm() < 5.0);
            (odometry, seen.map(|z| Measurement::new(None, [z.x, z.y])).collect())
        })
        .collect();
    drive(&mut slam, &scans);
    assert_eq!(slam.association().dropped, 0, "{:?}", slam.association());
}

/// One false measurement from far away does not tell that the robot sees so far: posts near the way are read often, and
/// say how far it does; those at the rim are read once or twice, and were not missed later. Twelve of them once were.
#[test]
fn one_false_measurement_from_far_away_makes_nothing_missed() {
    let mut slam = Slam::new(on_track(Association::Auto)).unwrap();
    let mut random = ChaCha8Rng::seed_from_u64(6);
    let post = |k: usize| Vector2::new(4.0 * k as f64 + 2.5, [1.0, -4.8, -1.0, 4.8][k % 4]);
    let step = 2.0;
    let scans: Vec<_> = (0..60)
        .map(|k| {
            let odometry = Odometry { velocity: Vector2::new(step / DT, 0.0), ..still(k) };
            let robot = Vector2::new(step * k as f64, 0.0);
            let seen = (0..40).map(|k| post(k) - robot).filter(|z| z.norm() < 5.0);
            let mut seen: Vec<_> = seen.map(|z| Measurement::new(None, [z.x, z.y])).collect();
            let mut at = || random.random_range(-3.5..3.5);
            seen.push(Measurement::new(None, [at(), at()]));
            if k == 5 {
                seen.push(Measurement::new(None, [25.0, 30.0]));
            }
            (odometry, seen)
        })
        .collect();
    drive(&mut slam, &scans);
    let is_kept = |post: &Vector2<f64>| slam.state().landmarks.iter().any(|landmark| (landmark.x - post).norm() < 0.7);
    let lost: Vec<_> = (0..29).map(post).filter(|post| !is_kept(post)).collect();
    assert!(lost.is_empty(), "{lost:?}: {:?}", slam.association());
}

/// Among clutter, what is new is likelier false. A robot that does not know where it is reads one of two landmarks, and
/// begins a candidate; names then tell where it is. The candidate is that landmark: both would keep all measurements of
/// either out.
#[test]
fn a_candidate_at_the_place_of_an_old_landmark_is_that_landmark() {
    let mut config = on_track(Association::Auto);
    (config.motion.velocity_x_std, config.motion.velocity_y_std) = (0.5, 0.5);
    (config.motion.yaw_rate_std, config.sensor.position_std_m) = (0.001, 0.02);
    let mut slam = Slam::new(config).unwrap();
    let of = |id: Option<u32>, at: [f64; 2]| Measurement::new(id, at);
    let named = [of(Some(0), [30.0, 30.0]), of(Some(1), [30.0, -30.0])];
    let nameless = [of(None, [4.0, 1.0]), of(None, [4.0, 1.8])];
    let mut random = ChaCha8Rng::seed_from_u64(3);
    let mut k = 0;
    let mut scans = |slam: &mut Slam, count: usize, seen: &[Measurement], clutter: usize| {
        let mut steps = Vec::new();
        for _ in 0..count {
            let mut at = || random.random_range(-20.0..-5.0);
            let mut seen = seen.to_vec();
            seen.extend((0..clutter).map(|_| of(None, [at(), at()])));
            steps.extend(drive(slam, &[(still(k), seen)]));
            k += 1;
        }
        steps
    };
    let at_place = |slam: &Slam| {
        let place = Vector2::new(4.0, 1.0);
        slam.state().landmarks.iter().filter(|landmark| (landmark.x - place).norm() < 0.3).count()
    };
    scans(&mut slam, 40, &[named, nameless].concat(), 2);
    // What was not read for long may be elsewhere beside the robot, which does not know how far it has slipped.
    scans(&mut slam, 40, &named, 2);
    scans(&mut slam, 2000, &[], 0);
    assert_eq!(scans(&mut slam, 1, &nameless[..1], 0)[0].added, 1);
    assert_eq!(at_place(&slam), 2);
    let merged = slam.association().merged;
    scans(&mut slam, 10, &named, 0);
    assert_eq!((at_place(&slam), slam.association().merged), (1, merged + 1), "{:?}", slam.association());
    assert_eq!(scans(&mut slam, 1, &[named, nameless].concat(), 0)[0].accepted, 4);
}

/// Whichever of the two is which, two measurements say where the robot is; and there are two, not one and not three.
#[test]
fn two_landmarks_at_one_place_that_are_both_read_stay_two_and_are_used() {
    let mut slam = Slam::new(config("default")).unwrap();
    let mut random = ChaCha8Rng::seed_from_u64(4);
    let mut used = 0;
    for k in 0..60 {
        let mut at = |x: f64, y: f64| {
            let mut noise = || -> f64 {
                let x: f64 = StandardNormal.sample(&mut random);
                0.05 * x
            };
            Measurement::new(None, [x + noise(), y + noise()])
        };
        let seen = vec![at(4.0, 0.0), at(4.0, 0.0), at(2.0, 3.0)];
        slam.odometry(&still(k)).unwrap();
        slam.features(stamp(k), MeasurementKind::RelativePosition, &seen).unwrap();
        used += drain(&mut slam).iter().map(|step| step.accepted + step.added).sum::<usize>();
    }
    assert_eq!(slam.landmarks().count(), 3, "{:?}", slam.association());
    assert!(used > 170, "{used} of 180 used, {} ambiguous", slam.counts().get(DropReason::Ambiguous));
}

#[test]
fn the_order_of_the_measurements_does_not_matter() {
    let track = track(3, 2, false);
    let mut random = ChaCha8Rng::seed_from_u64(5);
    let mut slam = Slam::new(on_track(Association::Auto)).unwrap();
    let steps = drive(&mut slam, &track.scans);
    let mut shuffled = track.scans.clone();
    shuffled.iter_mut().for_each(|(_, seen)| seen.shuffle(&mut random));
    let mut other = Slam::new(on_track(Association::Auto)).unwrap();
    assert_eq!(drive(&mut other, &shuffled), steps);
    let landmarks: Vec<_> = slam.landmarks().collect();
    assert_eq!(other.landmarks().collect::<Vec<_>>(), landmarks);
}

#[test]
fn with_identities_the_rule_for_those_without_changes_no_bit() {
    let instants = recording(60, 4);
    let run = |association| {
        let mut slam = Slam::new(Config { association, ..config("default") }).unwrap();
        instants.iter().flat_map(|instant| feed(&mut slam, instant)).collect::<Vec<_>>()
    };
    assert_eq!(run(Association::Auto), run(Association::Ids));
}

#[test]
fn where_all_are_well_apart_the_joint_association_finds_what_identities_say() {
    let run = |association, names: bool| {
        let mut slam = Slam::new(Config { association, ..config("default") }).unwrap();
        let mut steps = Vec::new();
        for mut instant in recording(60, 6) {
            if !names {
                instant.seen.iter_mut().for_each(|checked| checked.id = None);
            }
            steps.extend(feed(&mut slam, &instant));
        }
        assert_eq!(slam.landmarks().count(), 8, "{association:?}");
        steps
    };
    let expected = run(Association::Ids, true);
    for (step, expected) in run(Association::Auto, false).iter().zip(&expected) {
        assert_eq!(step.accepted, expected.accepted, "{:?}", step.estimate.stamp);
        let apart = expected.estimate.pose.inverse() * step.estimate.pose;
        assert!(apart.log().norm() < 1e-9, "{apart:?}");
    }
}

#[test]
fn names_and_measurements_without_mix_in_one_scan() {
    let mut slam = Slam::new(config("default")).unwrap();
    for mut instant in recording(60, 8) {
        instant.seen.iter_mut().skip(3).for_each(|checked| checked.id = None);
        feed(&mut slam, &instant);
    }
    let mut own: Vec<u32> = slam.landmarks().map(|landmark| landmark.id).collect();
    own.sort_unstable();
    assert_eq!((own.len(), &own[..3]), (8, [0, 1, 2].as_slice()));
    assert_eq!(slam.counts().get(DropReason::DuplicateFeature), 0);
}

#[test]
fn with_ids_alone_measurements_without_are_left_out_and_counted() {
    let mut slam = Slam::new(Config { association: Association::Ids, ..config("default") }).unwrap();
    for mut instant in recording(5, 8) {
        instant.seen.iter_mut().skip(3).for_each(|checked| checked.id = None);
        feed(&mut slam, &instant);
    }
    assert_eq!(slam.landmarks().count(), 3);
    assert_eq!(slam.counts().get(DropReason::UnknownLandmark), 25);
}

#[test]
fn clutter_alone_becomes_no_map() {
    let mut random = ChaCha8Rng::seed_from_u64(2);
    let mut slam = Slam::new(config("default")).unwrap();
    for k in 0..100 {
        let mut at = || Vector2::new(random.random_range(-20.0..20.0), random.random_range(-20.0..20.0));
        let seen: Vec<Measurement> = (0..6).map(|_| Measurement::new(None, at())).collect();
        slam.odometry(&still(k)).unwrap();
        slam.features(stamp(k), MeasurementKind::RelativePosition, &seen).unwrap();
        drain(&mut slam);
    }
    assert!(slam.landmarks().count() <= 2, "{}", slam.landmarks().count());
    assert!(slam.state().landmarks.len() < 250, "{} are kept", slam.state().landmarks.len());
}

#[test]
fn a_thousand_measurements_at_one_place_end_and_are_counted() {
    let mut config = config("default");
    config.sensor.max_points = 1000;
    let mut slam = Slam::new(config).unwrap();
    for k in 0..4 {
        let seen = vec![Measurement::new(None, [3.0, 1.0]); 1000];
        slam.odometry(&still(k)).unwrap();
        slam.features(stamp(k), MeasurementKind::RelativePosition, &seen).unwrap();
        let step = drain(&mut slam)[0];
        assert_eq!(step.accepted + step.added + step.rejected, 1000, "cloud {k}");
        assert!(step.accepted <= slam.state().landmarks.len());
    }
}

#[test]
fn a_flood_of_measurements_among_landmarks_that_stand_together_is_counted_and_leaves_them() {
    let mut config = config("default");
    config.sensor.max_points = 2000;
    let mut slam = Slam::new(config).unwrap();
    let mut random = ChaCha8Rng::seed_from_u64(9);
    let mut spread = |scale: f64| -> f64 {
        let x: f64 = StandardNormal.sample(&mut random);
        scale * x
    };
    let mut known = Vec::new();
    let post = |i: u32| [3.0 + 0.25 * f64::from(i % 4), 1.0 + 0.25 * f64::from(i / 4)];
    for k in 0..24 {
        let seen: Vec<_> = if k < 20 {
            let near = |[x, y]: [f64; 2]| Measurement::new(None, [x + spread(0.05), y + spread(0.05)]);
            (0..12).map(post).map(near).collect()
        } else {
            (0..2000).map(|_| Measurement::new(None, [3.4 + spread(0.4), 1.25 + spread(0.4)])).collect()
        };
        slam.odometry(&still(k)).unwrap();
        slam.features(stamp(k), MeasurementKind::RelativePosition, &seen).unwrap();
        let step = drain(&mut slam)[0];
        assert_eq!(step.accepted + step.added + step.rejected, seen.len(), "cloud {k}");
        let now: Vec<_> = slam.landmarks().map(|landmark| landmark.id).collect();
        if k == 19 {
            known = now;
            assert_eq!(known.len(), 12);
        } else if k > 19 {
            assert!(known.iter().all(|id| now.contains(id)), "cloud {k}: {now:?}");
        }
    }
}

#[test]
fn classes_tell_apart_what_places_do_not() {
    // Two posts so near to each other that a measurement may be of either; one is read at a time.
    let run = |classes: bool| {
        let mut slam = Slam::new(config("default")).unwrap();
        let mut random = ChaCha8Rng::seed_from_u64(9);
        for k in 0..80 {
            let mut noise = || -> f64 {
                let x: f64 = StandardNormal.sample(&mut random);
                0.05 * x
            };
            let post = |class: u32, y: f64, noise: &mut dyn FnMut() -> f64| {
                let mut checked = Measurement::new(None, [4.0 + noise(), y + noise()]);
                checked.label = Label { class: if classes { class } else { 0 }, ..Label::default() };
                checked
            };
            let mut seen = vec![post(1, 0.0, &mut noise), post(2, 0.32, &mut noise)];
            if k > 10 {
                seen.truncate(1 + k % 2);
            }
            slam.odometry(&still(k)).unwrap();
            slam.features(stamp(k), MeasurementKind::RelativePosition, &seen).unwrap();
            drain(&mut slam);
        }
        (slam.counts().get(DropReason::Ambiguous), slam.landmarks().count())
    };
    let (with, landmarks) = run(true);
    let (without, _) = run(false);
    assert_eq!(landmarks, 2);
    assert!(with < without || without == 0, "{with} left out with classes, {without} without");
}

#[test]
fn a_run_goes_on_bit_for_bit_where_it_was_saved() {
    let track = track(1, 1, false);
    let half = track.scans.len() * 6 / 10;
    let mut slam = Slam::new(on_track(Association::Auto)).unwrap();
    drive(&mut slam, &track.scans[..half]);
    let mut resumed = Slam::resume(on_track(Association::Auto), slam.save()).unwrap();
    assert_eq!(drive(&mut resumed, &track.scans[half..]), drive(&mut slam, &track.scans[half..]));
    assert_eq!(resumed.association(), slam.association());
}

/// A front end that sends nonsense for a diameter is believed about the place, and about nothing else.
#[test]
fn an_absurd_diameter_leaves_no_trace() {
    let scans = track(5, 1, false).scans;
    let end = |diameters: &[f64]| {
        let mut slam = Slam::new(on_track(Association::Auto)).unwrap();
        let mut nonsense = diameters.iter().cycle();
        for (odometry, seen) in &scans[..60] {
            let mut seen = seen.clone();
            for (measurement, diameter_m) in seen.iter_mut().zip(&mut nonsense) {
                measurement.label = Label { diameter_m: *diameter_m, diameter_std_m: 0.05, class: 0 };
            }
            drive(&mut slam, &[(*odometry, seen)]);
        }
        format!("{:?}", slam.predicted())
    };
    assert_eq!(end(&[f64::NAN, f64::INFINITY, 1e300, -1.0]), end(&[0.0]));
}

/// Candidates may be forgotten, and the rule may change while there are some: what counts is what is there.
#[test]
fn landmarks_are_counted_whatever_becomes_of_candidates() {
    let scans = track(6, 3, false).scans;
    let mut config = on_track(Association::Auto);
    config.map.forget_after_s = 0.3;
    let mut slam = Slam::new(config.clone()).unwrap();
    for (k, scan) in scans[..80].iter().enumerate() {
        if k % 20 == 19 {
            config.association = if k % 40 == 19 { Association::Ids } else { Association::Auto };
            slam.reconfigure(config.clone()).unwrap();
        }
        for step in drive(&mut slam, std::slice::from_ref(scan)) {
            assert_eq!(step.landmarks, slam.landmarks().count());
        }
    }
}
