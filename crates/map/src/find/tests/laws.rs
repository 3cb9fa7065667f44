//! What must hold whatever the map: the answer moves with the map, and does not depend on the order of measurements.

use super::scene::{Robot, SENSING, Sensing, is_right, random_map};
use crate::find::{Candidate, Displacement, Finder, FinderConfig, Sighting, Verdict};
use crate::{LandmarkMap, MapLandmark};
use lienav_lie::{Se2, wrap_angle};
use nalgebra::{Matrix2, Matrix3, Vector2};
use proptest::prelude::*;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

type Drive = Vec<(Displacement, Vec<Sighting>, Se2)>;

/// So many scans, with the true pose at each.
fn drive(map: &LandmarkMap, sensing: Sensing, scans: usize, seed: u64) -> Drive {
    let mut robot = Robot::new(map, sensing, seed);
    robot.pose.p = Vector2::new(12.0, 12.0);
    (0..scans)
        .map(|_| {
            let (step, scan) = robot.step();
            (step, scan, robot.pose)
        })
        .collect()
}

/// The verdict at each scan.
fn verdicts(map: &LandmarkMap, config: FinderConfig, drive: &Drive) -> Vec<Verdict> {
    let mut finder = Finder::new(map, config).unwrap();
    drive.iter().map(|(step, scan, _)| finder.observe(step, scan)).collect()
}

fn found(verdict: &Verdict) -> Option<&Candidate> {
    if let Verdict::Found(candidate) = verdict { Some(candidate) } else { None }
}

fn moved(map: &LandmarkMap, by: &Se2) -> LandmarkMap {
    let r = by.rotation();
    let landmarks = map.landmarks.iter().map(|landmark| MapLandmark {
        position: by.transform(&landmark.position),
        covariance: r * landmark.covariance * r.transpose(),
        ..*landmark
    });
    LandmarkMap { landmarks: landmarks.collect(), joint: None, near: None }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn moving_the_map_moves_the_answer(
        seed in 0_u64..1000, x in -50.0..50.0, y in -50.0..50.0, theta in -3.0..3.0,
    ) {
        let (map, by) = (random_map(60, 25.0, seed), Se2::new(x, y, theta));
        let drive = drive(&map, Sensing { range_m: 8.0, ..SENSING }, 15, seed);
        let here = verdicts(&map, FinderConfig::default(), &drive);
        let there = verdicts(&moved(&map, &by), FinderConfig::default(), &drive);
        let mut count = 0;
        for (one, other) in here.iter().zip(&there) {
            prop_assert_eq!(std::mem::discriminant(one), std::mem::discriminant(other));
            let (Some(one), Some(other)) = (found(one), found(other)) else { continue };
            let expected = by * one.pose;
            prop_assert!((expected.p - other.pose.p).norm() < 1e-5);
            prop_assert!(wrap_angle(expected.theta - other.pose.theta).abs() < 1e-6);
            let turn = by.rotation().to_homogeneous();
            let covariance = turn * one.covariance * turn.transpose();
            prop_assert!((covariance - other.covariance).amax() < 1e-3 * covariance.amax());
            count += 1;
        }
        prop_assert!(count > 0);
    }

    #[test]
    fn the_order_of_measurements_and_of_landmarks_does_not_matter(seed in 0_u64..1000) {
        let map = random_map(60, 25.0, seed);
        let sensing = Sensing { range_m: 6.0, clutter: 0.3, ..SENSING };
        let drive = drive(&map, sensing, 12, seed);
        let mut shuffled = drive.clone();
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        shuffled.iter_mut().for_each(|(_, scan, _)| scan.shuffle(&mut rng));
        let expected = verdicts(&map, FinderConfig::default(), &drive);
        prop_assert_eq!(&verdicts(&map, FinderConfig::default(), &shuffled), &expected);
        let mut other = map.clone();
        other.landmarks.shuffle(&mut rng);
        for (one, other) in expected.iter().zip(verdicts(&other, FinderConfig::default(), &drive)) {
            prop_assert_eq!(std::mem::discriminant(one), std::mem::discriminant(&other));
            if let (Some(one), Some(other)) = (found(one), found(&other)) {
                prop_assert!((one.pose.p - other.pose.p).norm() < 1e-6);
            }
        }
    }

    #[test]
    fn clutter_does_not_make_it_certain_of_what_is_wrong(seed in 0_u64..1000, clutter in 0.0..2.0) {
        let map = random_map(60, 25.0, seed);
        let drive = drive(&map, Sensing { range_m: 6.0, clutter, ..SENSING }, 20, seed);
        let verdicts = verdicts(&map, FinderConfig::default(), &drive);
        for ((_, _, truth), candidate) in drive.iter().zip(verdicts.iter().map(found)) {
            prop_assert!(candidate.is_none_or(|candidate| is_right(&candidate.pose, truth)), "{clutter}");
        }
    }
}

#[test]
fn with_identities_the_answer_is_immediate_and_equal() {
    for seed in 1..6 {
        let map = random_map(60, 25.0, seed);
        let named = drive(&map, Sensing { range_m: 6.0, with_ids: true, ..SENSING }, 12, seed);
        let mut nameless = named.clone();
        nameless.iter_mut().flat_map(|(_, scan, _)| scan).for_each(|sighting| sighting.id = None);
        let named_verdicts = verdicts(&map, FinderConfig::default(), &named);
        let first = found(&named_verdicts[0]).expect("found by identities in the first cloud");
        assert!(is_right(&first.pose, &named[0].2));
        let last = verdicts(&map, FinderConfig::default(), &nameless)[11];
        let (one, other) = (found(&named_verdicts[11]).unwrap(), found(&last).unwrap());
        assert!((one.pose.p - other.pose.p).norm() < 0.03, "{:?} {:?}", one.pose, other.pose);
        assert!(wrap_angle(one.pose.theta - other.pose.theta).abs() < 0.01);
    }
}

/// What a landmark is called is believed, but not against everything else.
#[test]
fn a_class_tells_places_apart_and_a_wrong_name_does_not_mislead() {
    let map = random_map(60, 25.0, 9);
    let drive = drive(&map, Sensing { range_m: 6.0, ..SENSING }, 12, 9);
    let mut misnamed = drive.clone();
    misnamed.iter_mut().for_each(|(_, scan, _)| scan[0].id = Some(1 + scan.len() as u32));
    for (verdict, (_, _, truth)) in verdicts(&map, FinderConfig::default(), &misnamed).iter().zip(&misnamed) {
        assert!(found(verdict).is_none_or(|candidate| is_right(&candidate.pose, truth)));
    }
    let mut other_class = map.clone();
    other_class.landmarks.iter_mut().for_each(|landmark| landmark.class = 2);
    let mut classified = drive.clone();
    classified.iter_mut().flat_map(|(_, scan, _)| scan).for_each(|sighting| sighting.class = 1);
    assert!(verdicts(&other_class, FinderConfig::default(), &classified).iter().all(|v| found(v).is_none()));
    classified.iter_mut().flat_map(|(_, scan, _)| scan).for_each(|sighting| sighting.class = 2);
    assert!(found(&verdicts(&other_class, FinderConfig::default(), &classified)[11]).is_some());
}

/// What cannot be used changes nothing, and no input makes work or memory grow.
#[test]
fn whatever_comes_the_room_is_bounded() {
    let sighting = |x: f64, y: f64, variance: f64| Sighting {
        position: Vector2::new(x, y),
        covariance: Matrix2::identity() * variance,
        id: None,
        class: 0,
    };
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut anywhere = || 20.0 * rng.random::<f64>() - 10.0;
    let scans: [Vec<Sighting>; 5] = [
        vec![sighting(1.0, 2.0, 0.01); 5000],
        (0..5000).map(|_| sighting(anywhere(), anywhere(), 0.01)).collect(),
        vec![sighting(f64::NAN, 1.0, 0.1), sighting(1.0, 1.0, -1.0), sighting(1.0, f64::INFINITY, 1.0)],
        vec![sighting(1.0, 1.0, f64::INFINITY), sighting(1e300, 1.0, 1.0), sighting(2.0, 2.0, 1e12)],
        vec![],
    ];
    let mut crowd = random_map(3000, 0.0, 1);
    crowd.landmarks.truncate(2000);
    let mut pair = random_map(2, 10.0, 1);
    pair.landmarks.truncate(1);
    for map in [LandmarkMap::default(), pair, crowd, random_map(300, 30.0, 2)] {
        let mut finder = Finder::new(&map, FinderConfig::default()).unwrap();
        for k in 0..40 {
            let covariance = Matrix3::identity() * if k == 33 { f64::NAN } else { 1e-4 };
            let step = Displacement { motion: Se2::new(0.1, 0.0, 0.02), covariance };
            let verdict = finder.observe(&step, &scans[k % scans.len()]);
            assert!(found(&verdict).is_none(), "{verdict:?}");
            assert!(finder.constellation.len() <= 24 + 64 && finder.hypotheses.len() <= 96);
            assert!(finder.candidates().iter().all(|c| c.probability.is_finite()));
        }
    }
    let mut finder = Finder::new(&random_map(300, 30.0, 2), FinderConfig::default()).unwrap();
    let usable = scans[2].iter().chain(&scans[3]).filter(|s| !finder.usable(&[**s]).0.is_empty()).count();
    assert_eq!(usable, 1);
    assert_eq!(finder.observe(&Displacement::none(), &scans[2]), Verdict::Searching);
    assert_eq!(finder.constellation.len(), 0);
}
