//! Known maps: runs in them, and landmarks that leave and come back, are moved or were never there.

use super::hall::{self, Instant, Path, drive, feed, landmarks, map, nees, start};
use crate::{Config, DropReason, Filter, LandmarkMap, MapMode, Measurement, Odometry, Se2, Slam, TimeJump};
use nalgebra::{Matrix3, Vector2};

/// What a run came to.
#[derive(Clone, Copy, Debug, Default)]
struct Result {
    nees: f64,
    rmse_m: f64,
    /// Measurements used, by all.
    used: f64,
}

fn slam_with(config: Config, map: LandmarkMap) -> Slam {
    let mut slam = Slam::new(config).unwrap();
    slam.set_map(map).unwrap();
    slam
}

fn run(slam: &mut Slam, instants: &[Instant], with_identities: bool) -> Result {
    let (mut nees_sum, mut squares, mut seen) = (0.0, 0.0, 0);
    for instant in instants {
        let estimate = feed(slam, instant, with_identities);
        nees_sum += nees(&estimate, &instant.truth);
        squares += (estimate.0.p - instant.truth.p).norm_squared();
        seen += instant.seen.len();
    }
    let steps = instants.len() as f64;
    let used = 1.0 - slam.counts().total() as f64 / seen as f64;
    Result { nees: nees_sum / steps, rmse_m: (squares / steps).sqrt(), used }
}

/// Runs with maps and starts drawn from their covariances, averaged.
#[derive(Clone, Copy, Debug)]
struct Study {
    filter: &'static str,
    mode: MapMode,
    way: Path,
    map_std: f64,
    active: usize,
    with_identities: bool,
    runs: u64,
    steps: usize,
}

const SIDE: usize = 40;

impl Study {
    fn run(&self) -> Result {
        let mut mean = Result::default();
        for seed in 0..self.runs {
            let truth = landmarks(SIDE, 100 + seed);
            let instants = drive(&truth, SIDE, self.way, self.steps, 200 + seed);
            let mut config = hall::config_from(start(self.way, SIDE), (0.1, 0.03), self.filter, self.mode, 300 + seed);
            config.map.active_features = self.active;
            let mut slam = slam_with(config, map(&truth, self.map_std, 400 + seed));
            let result = run(&mut slam, &instants, self.with_identities);
            mean.nees += result.nees / self.runs as f64;
            mean.rmse_m += result.rmse_m.powi(2) / self.runs as f64;
            mean.used += result.used / self.runs as f64;
        }
        mean.rmse_m = mean.rmse_m.sqrt();
        mean
    }
}

const STUDY: Study = Study {
    filter: "default",
    mode: MapMode::Localization,
    way: Path::Winding,
    map_std: 0.1,
    active: 64,
    with_identities: true,
    runs: 50,
    steps: 1200,
};

/// The table of docs/localization.md.
#[test]
#[ignore = "takes minutes; prints a table"]
fn table_of_consistency() {
    let ways = [
        ("winding", Path::Winding),
        ("circle 6 m", Path::Circle(6.0)),
        ("circle 30 m", Path::Circle(30.0)),
        ("staying", Path::Staying),
    ];
    for (name, way) in ways {
        for map_std in [0.01, 0.1, 0.3] {
            for active in [16, 64, 500] {
                for with_identities in [true, false] {
                    let study = Study { way, map_std, active, with_identities, ..STUDY };
                    let Result { nees, rmse_m, used } = study.run();
                    println!(
                        "{name:12} map {map_std:4} m active {active:3} ids {with_identities:5}: NEES {nees:6.2} RMSE {rmse_m:.4} m used {used:.3}"
                    );
                }
            }
        }
    }
}

/// A hall of 64 landmarks, a circle through it, and a map that is wrong by 10 cm.
fn short_drive(steps: usize, seed: u64) -> (Vec<Vector2<f64>>, Vec<Instant>) {
    let truth = landmarks(8, seed);
    let instants = drive(&truth, 8, Path::Circle(6.0), steps, seed + 1);
    (truth, instants)
}

fn start_of_circle(filter: &str, mode: MapMode, seed: u64) -> Config {
    hall::config_from(start(Path::Circle(6.0), 8), (0.1, 0.03), filter, mode, seed)
}

#[test]
fn frozen_landmarks_stay_where_they_are_to_the_last_bit() {
    let (truth, instants) = short_drive(150, 1);
    for (filter, _) in Filter::TABLE {
        let map = map(&truth, 0.1, 3);
        let mut slam = slam_with(start_of_circle(filter, MapMode::Localization, 4), map.clone());
        let result = run(&mut slam, &instants, true);
        assert!(result.rmse_m < 0.5 && result.used > 0.9, "{filter}: {result:?}");
        assert!(slam.landmarks().count() > 10);
        for landmark in slam.landmarks() {
            let given = &map.landmarks[landmark.id as usize];
            assert_eq!((landmark.position, landmark.covariance), (given.position, given.covariance), "{filter}");
        }
        assert_eq!(slam.map(), map);
        assert_eq!(slam.filter(), &Filter::named(filter).unwrap());
    }
}

#[test]
fn a_map_without_errors_gives_the_same_poses_frozen_and_not() {
    let (truth, instants) = short_drive(150, 2);
    for filter in ["default", "invariant", "ekf", "reduced"] {
        let exact = map(&truth, 0.0, 3);
        // Estimates differ to second order in the error of the start.
        let start = start(Path::Circle(6.0), 8);
        let [mut frozen, mut extended] = [MapMode::Localization, MapMode::Extend]
            .map(|mode| slam_with(hall::config_from(start, (0.02, 0.004), filter, mode, 5), exact.clone()));
        for instant in &instants {
            let (one, other) = (feed(&mut frozen, instant, true), feed(&mut extended, instant, true));
            let apart = (one.0.inverse() * other.0).log().norm();
            assert!(apart < 3e-3, "{filter}: {apart}");
            assert!((one.1 - other.1).norm() < 0.05 * one.1.norm(), "{filter}: {} {}", one.1, other.1);
        }
    }
}

#[test]
fn the_order_of_landmarks_in_a_map_does_not_matter() {
    let (truth, instants) = short_drive(100, 3);
    let map = map(&truth, 0.1, 3);
    let mut turned = map.clone();
    turned.landmarks.reverse();
    for with_identities in [true, false] {
        for mode in [MapMode::Localization, MapMode::Extend] {
            let [one, other] = [&map, &turned].map(|map| {
                let mut slam = slam_with(start_of_circle("default", mode, 6), map.clone());
                instants.iter().map(|instant| feed(&mut slam, instant, with_identities)).collect::<Vec<_>>()
            });
            assert_eq!(one, other);
        }
    }
}

#[test]
fn landmarks_out_of_view_leave_and_come_back() {
    let truth = landmarks(8, 4);
    let instants = drive(&truth, 8, Path::Circle(9.0), 900, 5);
    for mode in [MapMode::Localization, MapMode::Extend] {
        let mut config = hall::config_from(start(Path::Circle(9.0), 8), (0.1, 0.03), "default", mode, 7);
        (config.map.active_features, config.map.max_features) = (16, 24);
        let mut slam = slam_with(config, map(&truth, 0.05, 3));
        let mut most = 0;
        let mut met = std::collections::BTreeSet::new();
        for instant in &instants {
            let estimate = feed(&mut slam, instant, true);
            assert!((estimate.0.p - instant.truth.p).norm() < 0.3);
            most = most.max(slam.landmarks().count());
            met.extend(slam.landmarks().map(|landmark| landmark.id));
        }
        assert!(most <= 24 && met.len() > 30, "{mode:?}: {most} at once, {} in all", met.len());
        assert_eq!(slam.counts().get(DropReason::UnknownLandmark), 0);
        assert_eq!(slam.map().landmarks.len(), 64);
    }
}

#[test]
fn what_is_not_in_the_map_is_left_out_or_added_as_the_mode_says() {
    let (truth, instants) = short_drive(80, 5);
    let mut half = map(&truth, 0.05, 3);
    half.landmarks.retain(|landmark| landmark.id % 2 == 0);
    let unknown = instants.iter().flat_map(|instant| &instant.seen).filter(|seen| seen.id.unwrap() % 2 == 1).count();
    let mut slam = slam_with(start_of_circle("default", MapMode::Localization, 8), half.clone());
    run(&mut slam, &instants, true);
    assert_eq!(slam.counts().get(DropReason::UnknownLandmark), unknown as u64);
    assert!(slam.landmarks().all(|landmark| landmark.id % 2 == 0));

    let mut slam = slam_with(start_of_circle("default", MapMode::Extend, 8), half.clone());
    run(&mut slam, &instants, true);
    assert_eq!(slam.counts().get(DropReason::UnknownLandmark), 0);
    let extended = slam.map();
    assert!(extended.landmarks.len() > half.landmarks.len() + 5);
    for landmark in &extended.landmarks {
        let (d, p) = (landmark.position - truth[landmark.id as usize], landmark.covariance);
        assert!(d.dot(&(p.try_inverse().unwrap() * d)) < 25.0, "{landmark:?} is off by {d}");
    }
    let before: f64 = half.landmarks.iter().map(|landmark| landmark.covariance.trace()).sum();
    let kept = extended.landmarks.iter().filter(|landmark| landmark.id % 2 == 0);
    assert!(kept.map(|landmark| landmark.covariance.trace()).sum::<f64>() < before);
}

/// A bag that is looped: the map that was given stays, what was added to it goes where the filter begins again, and
/// stays where it only sets its clock back.
#[test]
fn a_clock_that_is_set_back_while_a_map_is_extended_leaves_the_map_that_was_given() {
    let (truth, instants) = short_drive(400, 4);
    let mut half = map(&truth, 0.05, 3);
    half.landmarks.retain(|landmark| landmark.id % 2 == 0);
    for jump in [TimeJump::Reset, TimeJump::Rewind] {
        let mut config = start_of_circle("default", MapMode::Extend, 8);
        config.timing.on_jump_back = jump;
        let mut slam = slam_with(config, half.clone());
        let later = |instant: &Instant| {
            let odometry = Odometry { stamp: instant.odometry.stamp + 1000.0, ..instant.odometry };
            Instant { odometry, ..instant.clone() }
        };
        run(&mut slam, &instants.iter().map(later).collect::<Vec<_>>(), true);
        let extended = slam.map().landmarks.len();
        assert!(extended > half.landmarks.len() + 5);
        let confirmed = instants.iter().position(|instant| {
            let _refused_until_confirmed = slam.odometry(&instant.odometry);
            slam.time_jumps() > 0
        });
        let confirmed = confirmed.unwrap();
        let mut kept = slam.map();
        if jump == TimeJump::Reset {
            kept.landmarks.sort_by_key(|landmark| landmark.id);
            assert_eq!(kept.landmarks, half.landmarks);
        } else {
            assert_eq!(kept.landmarks.len(), extended);
        }
        // The robot begins where it began, or goes on on its circle.
        run(&mut slam, &instants[confirmed + 1..], jump == TimeJump::Reset);
        let again = slam.map();
        assert!(again.landmarks.len() >= extended - 1, "{} {extended}", again.landmarks.len());
        for landmark in again.landmarks.iter().filter(|_| jump == TimeJump::Reset) {
            let (d, p) = (landmark.position - truth[landmark.id as usize], landmark.covariance);
            assert!(d.dot(&(p.try_inverse().unwrap() * d)) < 25.0, "{landmark:?} is off by {d}");
        }
    }
}

#[test]
fn modes_change_while_running() {
    let (truth, instants) = short_drive(400, 6);
    for filter in ["default", "ekf", "reduced"] {
        let start = start(Path::Circle(6.0), 8);
        let config = hall::config_from(start, (0.02, 0.01), filter, MapMode::Mapping, 3);
        let mut slam = Slam::new(config).unwrap();
        let modes = [MapMode::Mapping, MapMode::Localization, MapMode::Extend, MapMode::Localization, MapMode::Mapping];
        for (mode, part) in modes.into_iter().zip(instants.chunks(80)) {
            let before: Vec<_> = slam.landmarks().map(|landmark| (landmark.id, landmark.position)).collect();
            slam.set_mode(mode);
            assert_eq!(slam.config().map.mode, mode);
            for (landmark, (id, position)) in slam.landmarks().zip(&before) {
                assert!(landmark.id == *id && (landmark.position - position).norm() < 1e-9);
            }
            let count = slam.map();
            let result = run(&mut slam, part, true);
            assert!(result.rmse_m < 0.25 && result.nees < 12.0, "{filter}, {mode:?}: {result:?}");
            if mode == MapMode::Localization {
                assert_eq!(slam.map(), count, "{filter}");
                assert!(count.joint.is_some());
            }
        }
        let wrong = slam.landmarks().map(|l| (l.position - truth[l.id as usize]).norm()).fold(0.0, f64::max);
        assert!(wrong < 0.5, "{filter}: {wrong}");
    }
}

/// The mean NEES over `runs` of the last of some scans, for a start that is off by these standard deviations.
fn nees_from(stds: (f64, f64), scans: usize, runs: u64) -> f64 {
    let way = Path::Circle(6.0);
    let of_run = |seed: u64| {
        let truth = landmarks(12, 20 + seed);
        let instants = drive(&truth, 12, way, scans, 40 + seed);
        let config = hall::config_from(start(way, 12), stds, "default", MapMode::Localization, 60 + seed);
        let mut slam = slam_with(config, map(&truth, 0.1, 80 + seed));
        let last = instants.iter().map(|instant| feed(&mut slam, instant, true)).last().unwrap();
        nees(&last, &instants[scans - 1].truth)
    };
    (0..runs).map(of_run).sum::<f64>() / runs as f64
}

#[test]
fn a_start_that_is_wrong_by_what_it_claims_is_found() {
    // The mean of 60 draws of χ² with three degrees of freedom is within 3 ± 0.95 (3 σ).
    for (stds, scans) in [((0.5, 0.2), 1), ((0.5, 0.2), 30), ((5.0, 3.0), 1), ((5.0, 3.0), 30), ((0.0, 3.0), 30)] {
        let mean = nees_from(stds, scans, 60);
        assert!((2.05..3.95).contains(&mean), "start {stds:?}, {scans} clouds: {mean}");
    }
}

#[test]
fn the_covariance_counts_the_errors_of_the_map() {
    for map_std in [0.01, 0.3] {
        for with_identities in [true, false] {
            let study = Study { map_std, with_identities, runs: 12, steps: 250, ..STUDY };
            let Result { nees, used, .. } = study.run();
            assert!((1.8..4.4).contains(&nees) && used > 0.98, "{map_std} {with_identities}: {nees}, {used}");
        }
    }
    // A map that is taken for exact and is not makes the covariance far too small.
    let truth = landmarks(12, 1);
    let instants = drive(&truth, 12, Path::Circle(6.0), 200, 2);
    let mut wrong = map(&truth, 0.1, 3);
    wrong.landmarks.iter_mut().for_each(|landmark| landmark.covariance *= 1e-6);
    let mut slam = slam_with(start_of_circle("default", MapMode::Localization, 4), wrong);
    assert!(run(&mut slam, &instants, true).nees > 6.0);
}

/// A drive in which landmark `id` is `elsewhere` from the middle on; `None` takes it away.
fn changed(id: u32, elsewhere: Option<Vector2<f64>>) -> (Vec<Vector2<f64>>, Vec<Instant>) {
    let (truth, mut instants) = short_drive(900, 7);
    let late = instants.len() / 3;
    for instant in &mut instants[late..] {
        instant.seen.retain(|seen| seen.id != Some(id));
        let z = elsewhere.map(|p| instant.truth.transform_back(&p)).filter(|z| z.norm() < hall::VIEW_M);
        let value = |z: Vector2<f64>| [z.norm(), z.y.atan2(z.x)];
        instant.seen.extend(z.map(|z| Measurement::new(Some(id), value(z))));
    }
    (truth, instants)
}

#[test]
fn a_landmark_that_was_moved_or_taken_away_is_noticed() {
    use crate::LandmarkStatus::{Gone, Moved};
    let id = 29;
    let (truth, _) = short_drive(1, 7);
    let place = truth[id as usize] + Vector2::new(1.0, 0.6);
    for mode in [MapMode::Localization, MapMode::Extend] {
        for with_identities in [true, false] {
            for elsewhere in [Some(place), None] {
                let (truth, instants) = changed(id, elsewhere);
                let mut slam = slam_with(start_of_circle("default", mode, 9), map(&truth, 0.05, 3));
                let result = run(&mut slam, &instants, with_identities);
                let lost: Vec<_> = slam.lost_landmarks().collect();
                let what = format!("{mode:?}, identities {with_identities}, {elsewhere:?}: {lost:?}, {result:?}");
                match (mode, with_identities, elsewhere) {
                    // What was taken away and stands elsewhere without a name is gone, and another one is new.
                    (_, false, _) | (_, true, None) => assert_eq!(lost, [(id, Gone)], "{what}"),
                    (_, true, Some(_)) => assert_eq!(lost, [(id, Moved)], "{what}"),
                }
                assert!(result.rmse_m < 0.1 && result.nees < 7.0, "{what}");
            }
        }
    }
}

#[test]
fn a_wrong_pose_or_a_narrow_view_takes_no_landmark_from_the_map() {
    let (truth, mut instants) = short_drive(900, 8);
    // One in ten is missed, and nothing is seen behind.
    let mut noise = hall::Noise::new(10);
    for instant in &mut instants {
        instant.seen.retain(|seen| noise.normal(1.0).abs() < 1.64 && seen.value[1].abs() < 1.8);
    }
    let map = map(&truth, 0.05, 3);
    for with_identities in [true, false] {
        let mut slam = slam_with(start_of_circle("default", MapMode::Localization, 9), map.clone());
        run(&mut slam, &instants, with_identities);
        assert_eq!(slam.lost_landmarks().collect::<Vec<_>>(), []);
    }
    // The robot is told that it is elsewhere, and is sure of it.
    let mut slam = slam_with(start_of_circle("default", MapMode::Localization, 9), map);
    run(&mut slam, &instants[..200], true);
    let wrong = instants[200].truth * Se2::new(1.5, -0.7, 0.4);
    slam.set_pose(wrong, &(Matrix3::identity() * 1e-4)).unwrap();
    run(&mut slam, &instants[200..], true);
    assert_eq!(slam.lost_landmarks().collect::<Vec<_>>(), []);
    let last = slam.predicted().unwrap().pose;
    assert!((last.p - instants[899].truth.p).norm() < 0.3, "{last:?}");
}
