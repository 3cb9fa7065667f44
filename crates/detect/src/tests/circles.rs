//! Single objects: what is one, what is none, and how well it is known.

use crate::{Class, Config, Detection, Detector, Rejection, Scan};
use lienav_lie::se2::Se2;
use lienav_sim::scan::{Cast, Disc, Scanner, Wall, World};
use nalgebra::{Vector2, Vector3};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;

pub fn cast(scanner: &Scanner, world: &World, twist: &Vector3<f64>, seed: u64) -> Cast {
    scanner.cast(world, &Se2::identity(), twist, 0.0, &mut ChaCha8Rng::seed_from_u64(seed))
}

pub fn message<'a>(scanner: &Scanner, cast: &'a Cast, twist: Vector3<f64>) -> Scan<'a> {
    Scan {
        angle_min_rad: scanner.angle_min_rad,
        angle_increment_rad: scanner.angle_increment_rad,
        time_increment_s: scanner.time_increment_s,
        range_min_m: scanner.range_min_m,
        range_max_m: scanner.range_max_m,
        ranges: &cast.ranges,
        intensities: &cast.intensities,
        twist,
    }
}

pub fn found(config: &Config, scanner: &Scanner, world: &World, seed: u64) -> (Vec<Detection>, crate::Counts) {
    let cast = cast(scanner, world, &Vector3::zeros(), seed);
    let mut detector = Detector::new(config.clone()).unwrap();
    let found = detector.detect(&message(scanner, &cast, Vector3::zeros())).unwrap().to_vec();
    (found, *detector.rejected())
}

fn wall(from: [f64; 2], to: [f64; 2]) -> Wall {
    Wall { from: from.into(), to: to.into(), reflectivity: 0.5 }
}

fn behind() -> Vec<Wall> {
    vec![wall([8.0, -30.0], [8.0, 30.0])]
}

#[test]
fn position_and_diameter_of_one_pole_and_their_deviations() {
    for (range, radius) in [(1.0, 0.05), (2.0, 0.15), (4.0, 0.1), (7.0, 0.12)] {
        let (mut nees, mut diameter, runs) = (0.0, 0.0, 60);
        for seed in 0..runs {
            // Another place between the rays and another width in rays each time.
            let radius = radius * (1.0 - 0.002 * seed as f64);
            let discs = vec![Disc::pole(Vector2::new(range, 0.3), radius)];
            let world = World { discs, walls: behind(), people: vec![] };
            let angle_min_rad = -2.0 + 1e-4 * seed as f64;
            let scanner = Scanner { angle_min_rad, rays: 900, dropout_probability: 0.0, ..Scanner::default() };
            let (found, _) = found(&Config::default(), &scanner, &world, seed);
            assert_eq!(found.len(), 1, "{range} m, radius {radius} m, seed {seed}");
            let error = found[0].position - world.discs[0].centre;
            nees += (error.transpose() * found[0].covariance.try_inverse().unwrap() * error).x / runs as f64;
            diameter += ((found[0].diameter_m - 2.0 * radius) / found[0].diameter_std_m).powi(2) / runs as f64;
        }
        // 99.9 % of the mean of 60 χ² with two degrees, and a little for the beam.
        assert!((1.2..3.2).contains(&nees), "{range} m, radius {radius} m: {nees:.2}");
        assert!((0.4..2.0).contains(&diameter), "{range} m, radius {radius} m: {diameter:.2}");
    }
}

#[test]
fn a_pole_that_something_nearer_cuts_off_is_not_measured() {
    let pole = Disc::pole(Vector2::new(5.0, 0.0), 0.15);
    let scanner = Scanner { mixed_probability: 0.0, ..Scanner::default() };
    let whole = World { discs: vec![pole], walls: behind(), people: vec![] };
    assert_eq!(found(&Config::default(), &scanner, &whole, 1).0.len(), 1);
    let mut cut = whole.clone();
    cut.walls.push(wall([3.0, 0.02], [3.0, 2.0]));
    let (found, rejected) = found(&Config::default(), &scanner, &cut, 1);
    assert!(found.is_empty(), "{found:?}");
    assert!(rejected.get(Rejection::CutOff) >= 1);
}

#[test]
fn corners_ends_of_walls_and_plates_are_no_poles() {
    let shapes: [(&str, Vec<Wall>); 4] = [
        ("corner towards the scanner", vec![wall([3.0, 0.0], [6.0, 2.5]), wall([3.0, 0.0], [6.0, -2.5])]),
        ("corner of a room", vec![wall([6.0, 0.0], [1.0, 5.0]), wall([6.0, 0.0], [1.0, -5.0])]),
        ("wall seen from its end", vec![wall([3.0, 0.1], [7.0, 0.15])]),
        ("plate", vec![wall([2.5, -0.1], [2.5, 0.1])]),
    ];
    for (name, mut walls) in shapes {
        walls.extend(behind());
        let world = World { walls, ..World::default() };
        for seed in 0..40 {
            let (found, _) = found(&Config::default(), &Scanner::default(), &world, seed);
            assert!(found.is_empty(), "{name}, seed {seed}: {found:?}");
        }
    }
}

#[test]
fn classes_follow_from_diameter_and_brightness() {
    let mut config = Config::default();
    (config.sizes.trunk_min_m, config.sizes.trunk_max_m) = (0.3, 0.8);
    let discs = vec![
        Disc::reflector(Vector2::new(6.0, 0.0), 0.04),
        Disc::pole(Vector2::new(4.0, 2.0), 0.08),
        Disc::pole(Vector2::new(4.0, -3.0), 0.38),
    ];
    let world = World { discs, walls: behind(), people: vec![] };
    let classes = |config: &Config| {
        let (found, _) = found(config, &Scanner::default(), &world, 2);
        found.iter().map(|detection| detection.class).collect::<Vec<_>>()
    };
    assert_eq!(classes(&config), [Class::Reflector, Class::Trunk, Class::Pole]);
    config.reflector.diameter_m = 0.0;
    config.sizes.trunk_max_m = 0.0;
    assert_eq!(classes(&config), [Class::Pole, Class::Pole], "the reflector is a thin pole, the trunk nothing");
    config.reflector.diameter_m = 0.08;
    config.reflector.threshold = 1e6;
    assert_eq!(classes(&config), [Class::Pole, Class::Pole], "nothing is so bright");
}

#[test]
fn two_legs_are_not_isolated_and_two_poles_far_apart_are() {
    let pair = |apart: f64| {
        let discs =
            vec![Disc::pole(Vector2::new(4.0, 0.5 * apart), 0.06), Disc::pole(Vector2::new(4.0, -0.5 * apart), 0.06)];
        let world = World { discs, walls: behind(), people: vec![] };
        let (found, _) = found(&Config::default(), &Scanner::default(), &world, 3);
        found.iter().map(|detection| detection.isolated).collect::<Vec<_>>()
    };
    assert_eq!(pair(0.3), [false, false]);
    assert_eq!(pair(1.2), [true, true]);
}
