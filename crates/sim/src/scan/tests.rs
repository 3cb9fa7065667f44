use super::*;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

fn exact() -> Scanner {
    Scanner {
        range_std_m: 0.0,
        intensity_std: 0.0,
        beam_divergence_rad: 0.0,
        dropout_probability: 0.0,
        ..Scanner::default()
    }
}

fn cast(scanner: &Scanner, world: &World, pose: Se2, twist: Vector3<f64>) -> Cast {
    scanner.cast(world, &pose, &twist, 0.0, &mut ChaCha8Rng::seed_from_u64(3))
}

#[test]
fn ranges_lie_on_the_surfaces() {
    let world = World {
        discs: vec![Disc::pole(Vector2::new(3.0, 1.0), 0.2)],
        walls: vec![Wall { from: Vector2::new(5.0, -9.0), to: Vector2::new(5.0, 9.0), reflectivity: 0.5 }],
        people: vec![Person {
            position: Vector2::new(2.0, -1.5),
            velocity: Vector2::zeros(),
            heading_rad: 0.4,
            phase: 0.0,
            reflectivity: 0.3,
            body: Body::Torso { half_width: 0.25, half_depth: 0.15 },
        }],
    };
    let (scanner, pose) = (exact(), Se2::new(0.3, -0.2, 0.1));
    let scan = cast(&scanner, &world, pose, Vector3::zeros());
    let mut counts = [0; 4];
    for (k, (&range, seen)) in scan.ranges.iter().zip(&scan.seen).enumerate() {
        let angle = scanner.angle_min_rad + k as f64 * scanner.angle_increment_rad;
        let point = pose.transform(&(f64::from(range) * Vector2::new(angle.cos(), angle.sin())));
        match seen {
            Seen::Nothing => counts[0] += 1,
            Seen::Disc(_) => {
                counts[1] += 1;
                assert!(((point - world.discs[0].centre).norm() - 0.2).abs() < 1e-5);
            }
            Seen::Wall(_) => {
                counts[2] += 1;
                assert!((point.x - 5.0).abs() < 1e-4);
            }
            Seen::Person(_) => {
                counts[3] += 1;
                let d = point - world.people[0].position;
                let (sin, cos) = 0.4_f64.sin_cos();
                let (u, v) = ((cos * d.x + sin * d.y) / 0.15, (cos * d.y - sin * d.x) / 0.25);
                assert!((u * u + v * v - 1.0).abs() < 1e-4);
            }
        }
    }
    assert!(counts.iter().all(|&count| count > 15), "{counts:?}");
}

#[test]
fn a_scanner_that_turns_with_the_rays_sees_one_direction() {
    let world = World {
        walls: vec![Wall { from: Vector2::new(5.0, -9.0), to: Vector2::new(5.0, 9.0), reflectivity: 0.5 }],
        ..World::default()
    };
    let scanner = Scanner { angle_min_rad: 0.0, ..exact() };
    let back = -scanner.angle_increment_rad / scanner.time_increment_s;
    let scan = cast(&scanner, &world, Se2::identity(), Vector3::new(0.0, 0.0, back));
    assert!(scan.ranges.iter().all(|range| (range - 5.0).abs() < 1e-5));
}

#[test]
fn a_seed_repeats_a_scan_and_a_beam_at_an_edge_mixes() {
    let world = World {
        discs: (0..40).map(|k| Disc::pole(Vector2::new(6.0, 0.5 * f64::from(k) - 10.0), 0.1)).collect(),
        walls: vec![Wall { from: Vector2::new(7.0, -30.0), to: Vector2::new(7.0, 30.0), reflectivity: 0.5 }],
        ..World::default()
    };
    let scanner = Scanner { mixed_probability: 1.0, range_std_m: 0.0, ..Scanner::default() };
    let scan = cast(&scanner, &world, Se2::identity(), Vector3::zeros());
    assert_eq!(scan, cast(&scanner, &world, Se2::identity(), Vector3::zeros()));
    let between = scan.ranges.iter().enumerate().filter(|(k, range)| {
        let angle = scanner.angle_min_rad + *k as f64 * scanner.angle_increment_rad;
        let point = f64::from(**range) * Vector2::new(angle.cos(), angle.sin());
        range.is_finite() && point.x < 6.9 && world.discs.iter().all(|disc| (point - disc.centre).norm() > 0.15)
    });
    assert!(between.count() > 2);
}

#[test]
fn a_foot_that_stands_hardly_moves_and_legs_keep_up_with_the_body() {
    let person = Person {
        position: Vector2::zeros(),
        velocity: Vector2::new(1.2, 0.0),
        heading_rad: 0.0,
        phase: 0.0,
        reflectivity: 0.3,
        body: Body::Legs { radius: 0.06 },
    };
    let moved = (person.legs(0.5)[0] - person.legs(0.1)[0]).norm();
    assert!(moved < 0.1, "{moved}");
    for k in 0..100 {
        let time = 0.1 * f64::from(k);
        for leg in person.legs(time) {
            assert!((leg.x - 1.2 * time).abs() < 0.6 && leg.y.abs() < 0.13);
        }
    }
}
