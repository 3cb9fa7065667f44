//! What a scan of 1,081 rays costs, among poles, walls and people.
//!
//! `cargo bench -p lienav-detect --bench detector`

use criterion::{Criterion, criterion_group, criterion_main};
use lienav_detect::{Config, Detector, Scan};
use lienav_lie::se2::Se2;
use lienav_sim::scan::{Body, Disc, Person, Scanner, Wall, World};
use nalgebra::{Vector2, Vector3};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use std::hint::black_box;

fn world(poles: u32) -> World {
    let polar = |range: f64, angle: f64| Vector2::new(range * angle.cos(), range * angle.sin());
    let wall = |from: [f64; 2], to: [f64; 2]| Wall { from: from.into(), to: to.into(), reflectivity: 0.6 };
    let disc = |k: u32| {
        let (angle, range) = (f64::from(k) / f64::from(poles) * 4.4 - 2.2, 2.0 + f64::from(k * 7 % 11));
        let radius = 0.03 + 0.01 * f64::from(k % 12);
        if k.is_multiple_of(4) {
            Disc::reflector(polar(range, angle), 0.04)
        } else {
            Disc::pole(polar(range, angle), radius)
        }
    };
    let person = |k: u32| Person {
        position: polar(3.0 + f64::from(k), 1.1 * f64::from(k) - 2.0),
        velocity: Vector2::new(0.8, 0.5),
        heading_rad: 0.0,
        phase: 0.13 * f64::from(k),
        reflectivity: 0.3,
        body: Body::Legs { radius: 0.06 },
    };
    World {
        discs: (0..poles).map(disc).collect(),
        walls: vec![
            wall([-14.0, -14.0], [14.0, -14.0]),
            wall([14.0, -14.0], [14.0, 14.0]),
            wall([14.0, 14.0], [-14.0, 14.0]),
            wall([-14.0, 14.0], [-14.0, -14.0]),
        ],
        people: (0..4).map(person).collect(),
    }
}

fn scans(c: &mut Criterion) {
    for poles in [12, 40] {
        let (scanner, twist) = (Scanner::default(), Vector3::new(0.8, 0.0, 0.5));
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let cast = scanner.cast(&world(poles), &Se2::identity(), &twist, 0.0, &mut rng);
        let scan = Scan {
            angle_min_rad: scanner.angle_min_rad,
            angle_increment_rad: scanner.angle_increment_rad,
            time_increment_s: scanner.time_increment_s,
            range_min_m: scanner.range_min_m,
            range_max_m: scanner.range_max_m,
            ranges: &cast.ranges,
            intensities: &cast.intensities,
            twist,
        };
        let Ok(mut detector) = Detector::new(Config::default()) else { return };
        c.bench_function(&format!("scan of 1081 rays/{poles} poles"), |b| {
            b.iter(|| detector.detect(black_box(&scan)).map(<[_]>::len));
        });
    }
}

criterion_group!(benches, scans);
criterion_main!(benches);
