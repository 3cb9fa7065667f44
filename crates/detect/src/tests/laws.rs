//! What turning, mirroring and moving the scanner does to the result.

use super::circles::{cast, message};
use super::scenes::{Kind, Scene, scan_of};
use crate::{Config, Detection, Detector, Scan};
use lienav_lie::se2::{Se2, rotation};
use lienav_sim::scan::{Disc, Scanner, Wall, World};
use nalgebra::{Matrix2, Vector2, Vector3};

fn detect(scan: &Scan) -> Vec<Detection> {
    Detector::new(Config::default()).unwrap().detect(scan).unwrap().to_vec()
}

fn same(found: &[Detection], expected: &[Detection], turn: &Matrix2<f64>) {
    assert_eq!(found.len(), expected.len());
    assert!(!found.is_empty());
    for (a, b) in found.iter().zip(expected) {
        assert_eq!((a.class, a.rays, a.isolated), (b.class, b.rays, b.isolated));
        assert!((a.position - turn * b.position).norm() < 1e-9, "{a:?} {b:?}");
        assert!((a.covariance - turn * b.covariance * turn.transpose()).norm() < 1e-12, "{a:?} {b:?}");
        assert!((a.diameter_m - b.diameter_m).abs() < 1e-9);
    }
}

#[test]
fn turning_the_scanner_turns_the_result() {
    for seed in 0..20 {
        let scene = Scene::new(&Kind::usual(), seed);
        let cast = scene.scanner.cast(&scene.world, &scene.pose(1.0), &scene.twist, 1.0, &mut scene.noise());
        let scan = scan_of(&scene, &cast);
        let turn = rotation(0.7);
        let v = rotation(0.7) * scan.twist.xy();
        let twist = Vector3::new(v.x, v.y, scan.twist.z);
        let turned = Scan { angle_min_rad: scan.angle_min_rad + 0.7, twist, ..scan };
        same(&detect(&turned), &detect(&scan), &turn);
    }
}

#[test]
fn a_scanner_upside_down_sees_the_mirror_image() {
    let mirror = Matrix2::new(1.0, 0.0, 0.0, -1.0);
    for seed in 0..20 {
        let scene = Scene::new(&Kind::usual(), seed);
        let cast = scene.scanner.cast(&scene.world, &scene.pose(1.0), &scene.twist, 1.0, &mut scene.noise());
        let scan = scan_of(&scene, &cast);
        let mirrored = Scan {
            angle_min_rad: -scan.angle_min_rad,
            angle_increment_rad: -scan.angle_increment_rad,
            twist: Vector3::new(scan.twist.x, -scan.twist.y, -scan.twist.z),
            ..scan
        };
        same(&detect(&mirrored), &detect(&scan), &mirror);
    }
}

#[test]
fn the_seam_of_a_full_turn_may_lie_on_a_pole() {
    let centre = Vector2::new(-4.0, 0.03);
    let world = World {
        discs: vec![Disc::pole(centre, 0.12)],
        walls: vec![Wall { from: Vector2::new(-9.0, -30.0), to: Vector2::new(-9.0, 30.0), reflectivity: 0.5 }],
        people: vec![],
    };
    for first in [-std::f64::consts::PI, -3.1, 3.0, 0.0] {
        let scanner = Scanner { angle_min_rad: first, rays: 1440, dropout_probability: 0.0, ..Scanner::default() };
        let cast = cast(&scanner, &world, &Vector3::zeros(), 4);
        let found = detect(&message(&scanner, &cast, Vector3::zeros()));
        assert_eq!(found.len(), 1, "first ray at {first}");
        assert!((found[0].position - centre).norm() < 0.02, "{found:?}");
    }
}

#[test]
fn the_motion_during_the_scan_is_taken_out() {
    let polar = |k: u32| {
        let angle = 0.55 * f64::from(k) - 2.2;
        Vector2::new(angle.cos(), angle.sin()) * (2.0 + 0.7 * f64::from(k))
    };
    let world = World { discs: (0..9).map(|k| Disc::pole(polar(k), 0.1)).collect(), ..World::default() };
    // A slow scanner: 270° in 75 ms.
    let scanner = Scanner {
        time_increment_s: 7e-5,
        range_std_m: 1e-4,
        beam_divergence_rad: 0.0,
        dropout_probability: 0.0,
        ..Scanner::default()
    };
    let twist = Vector3::new(1.5, -0.3, 1.2);
    let cast = cast(&scanner, &world, &twist, 5);
    let worst = |twist: Vector3<f64>| {
        let found = detect(&message(&scanner, &cast, twist));
        assert!(found.len() >= 8, "{}", found.len());
        let nearest = |detection: &Detection| {
            let distances = world.discs.iter().map(|disc| (disc.centre - detection.position).norm());
            distances.fold(f64::MAX, f64::min)
        };
        found.iter().map(nearest).fold(0.0, f64::max)
    };
    let (with, without) = (worst(twist), worst(Vector3::zeros()));
    assert!(with < 0.012, "{with}");
    assert!(without > 0.1, "{without}");
    // The pose of the stamp is that of the first ray.
    assert!(Se2::exp(&(twist * scanner.time_increment_s * 1080.0)).p.norm() > 0.1);
}

#[test]
fn a_detector_that_saw_other_scans_finds_the_same() {
    let mut used = Detector::new(Config::default()).unwrap();
    for seed in 0..6 {
        let scene = Scene::new(&Kind::usual(), seed);
        let cast = scene.scanner.cast(&scene.world, &scene.pose(0.0), &scene.twist, 0.0, &mut scene.noise());
        let scan = scan_of(&scene, &cast);
        assert_eq!(used.detect(&scan).unwrap(), detect(&scan));
    }
}
