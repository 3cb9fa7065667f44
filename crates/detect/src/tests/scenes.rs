//! Scenes from a seed, and the bars of precision, recall and consistency over many of them.

use super::tally::{Report, line, run};
use crate::{Config, Scan};
use lienav_lie::se2::Se2;
use lienav_sim::scan::{Body, Cast, Disc, Person, Scanner, Wall, World};
use nalgebra::{Vector2, Vector3};
use rand::RngExt;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use std::f64::consts::TAU;

/// A hall with a robot in it.
pub struct Scene {
    pub world: World,
    pub scanner: Scanner,
    pub twist: Vector3<f64>,
    start: Se2,
    seed: u64,
}

/// What a scene is made of.
#[derive(Clone, Copy)]
pub struct Kind {
    pub scanner: Scanner,
    pub poles: usize,
    /// Least and largest diameter of what is not a reflector, m.
    pub diameters_m: [f64; 2],
    pub reflectors: usize,
    pub people: usize,
    /// The σ that the settings have, if it is not that of the scanner, m.
    pub believed_std_m: Option<f64>,
    /// Part of the people who stand.
    pub stand: f64,
    pub walls: usize,
}

impl Kind {
    pub fn usual() -> Self {
        Self {
            scanner: Scanner::default(),
            poles: 12,
            diameters_m: [0.05, 0.3],
            reflectors: 6,
            people: 4,
            believed_std_m: None,
            stand: 0.0,
            walls: 4,
        }
    }
    fn noise(self, range_std_m: f64) -> Self {
        Self { scanner: Scanner { range_std_m, ..self.scanner }, ..self }
    }
    fn resolution(self, degrees: f64) -> Self {
        let rays = (270.0 / degrees).round() as usize + 1;
        let time_increment_s = 0.025 / 360.0 * degrees;
        let angle_increment_rad = degrees.to_radians();
        Self { scanner: Scanner { rays, time_increment_s, angle_increment_rad, ..self.scanner }, ..self }
    }
}

impl Scene {
    pub fn new(kind: &Kind, seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let half = Vector2::new(rng.random_range(8.0..16.0), rng.random_range(8.0..16.0));
        let corners =
            [[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]].map(|[x, y]| Vector2::new(x * half.x, y * half.y));
        let mut walls: Vec<Wall> = (0..4)
            .map(|k| Wall { from: corners[k], to: corners[(k + 1) % 4], reflectivity: rng.random_range(0.2..0.9) })
            .collect();
        for _ in 0..kind.walls {
            let from = Vector2::new(rng.random_range(-half.x..half.x), rng.random_range(-half.y..half.y));
            let (angle, length) = (rng.random_range(0.0..TAU), rng.random_range(0.6..6.0));
            let along = Vector2::new(angle.cos(), angle.sin());
            let aside = Vector2::new(-along.y, along.x) * rng.random_range(-2.0..2.0);
            let reflectivity = rng.random_range(0.2..0.9);
            walls.push(Wall { from, to: from + along * length, reflectivity });
            walls.push(Wall { from, to: from + aside, reflectivity });
        }
        walls.retain(|wall| distance_to(wall, &Vector2::zeros()) > 1.5);
        let [least, most] = kind.diameters_m;
        let mut discs: Vec<Disc> = Vec::new();
        for k in 0..kind.poles + kind.reflectors {
            for _ in 0..100 {
                let centre = Vector2::new(rng.random_range(-half.x..half.x), rng.random_range(-half.y..half.y));
                let clear = centre.norm() > 1.5
                    && discs.iter().all(|disc| (disc.centre - centre).norm() > 1.0)
                    && walls.iter().all(|wall| distance_to(wall, &centre) > 0.6);
                if clear {
                    let pole = Disc {
                        reflectivity: rng.random_range(0.1..0.9),
                        ..Disc::pole(centre, 0.5 * rng.random_range(least..most))
                    };
                    discs.push(if k < kind.poles { pole } else { Disc::reflector(centre, 0.04) });
                    break;
                }
            }
        }
        let people = (0..kind.people).map(|_| person(&mut rng, &half, kind.stand)).collect();
        let twist = Vector3::new(rng.random_range(-0.5..1.5), rng.random_range(-0.2..0.2), rng.random_range(-1.0..1.0));
        // Where the robot is after a second lies at the origin.
        let start = Se2::new(0.0, 0.0, rng.random_range(0.0..TAU)) * Se2::exp(&-twist);
        Self { world: World { discs, walls, people }, scanner: kind.scanner, twist, start, seed }
    }

    pub fn pose(&self, time_s: f64) -> Se2 {
        self.start * Se2::exp(&(self.twist * time_s))
    }

    pub fn noise(&self) -> ChaCha8Rng {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_stream(1);
        rng
    }
}

fn distance_to(wall: &Wall, point: &Vector2<f64>) -> f64 {
    let along = wall.to - wall.from;
    let part = ((point - wall.from).dot(&along) / along.norm_squared()).clamp(0.0, 1.0);
    (wall.from + along * part - point).norm()
}

fn person(rng: &mut ChaCha8Rng, half: &Vector2<f64>, stand: f64) -> Person {
    let (heading, range) = (rng.random_range(0.0..TAU), rng.random_range(1.5..10.0));
    let towards = rng.random_range(0.0..TAU);
    let position = Vector2::new(towards.cos(), towards.sin()) * range;
    let position = Vector2::new(position.x.clamp(-half.x, half.x), position.y.clamp(-half.y, half.y));
    let speed = if rng.random_range(0.0..1.0) < stand { 0.0 } else { rng.random_range(0.5..1.6) };
    let body = if rng.random_range(0.0..1.0) < 0.25 {
        Body::Torso { half_width: rng.random_range(0.19..0.26), half_depth: rng.random_range(0.11..0.16) }
    } else {
        Body::Legs { radius: rng.random_range(0.045..0.075) }
    };
    Person {
        position,
        velocity: Vector2::new(heading.cos(), heading.sin()) * speed,
        heading_rad: heading,
        phase: rng.random_range(0.0..1.0),
        reflectivity: rng.random_range(0.1..0.6),
        body,
    }
}

/// The message of a cast.
pub fn scan_of<'a>(scene: &Scene, cast: &'a Cast) -> Scan<'a> {
    Scan {
        angle_min_rad: scene.scanner.angle_min_rad,
        angle_increment_rad: scene.scanner.angle_increment_rad,
        time_increment_s: scene.scanner.time_increment_s,
        range_min_m: scene.scanner.range_min_m,
        range_max_m: scene.scanner.range_max_m,
        ranges: &cast.ranges,
        intensities: &cast.intensities,
        twist: scene.twist,
    }
}

/// Settings that know the scanner, and nothing else of the scene.
pub fn settings(scanner: &Scanner) -> Config {
    let mut config = Config::default();
    config.scanner.range_std_m = scanner.range_std_m;
    config.scanner.beam_divergence_rad = scanner.beam_divergence_rad;
    config
}

fn report(kind: &Kind, seeds: std::ops::Range<u64>) -> Report {
    let mut report = Report::default();
    for seed in seeds {
        let mut settings = settings(&kind.scanner);
        settings.scanner.range_std_m = kind.believed_std_m.unwrap_or(settings.scanner.range_std_m);
        if kind.diameters_m[1] > 0.3 {
            (settings.sizes.trunk_min_m, settings.sizes.trunk_max_m) = (0.3, kind.diameters_m[1]);
        }
        run(&Scene::new(kind, seed), &settings, &mut report);
    }
    report
}

/// The bars, in short.
#[test]
fn poles_and_reflectors_among_people_and_walls() {
    let report = report(&Kind::usual(), 0..40);
    for tally in [&report.poles_in_view, &report.reflectors] {
        assert!(tally.there > 200, "{tally:?}");
        assert!(tally.precision() >= 0.98, "{:.3} {tally:?}", tally.precision());
        assert!(tally.recall() >= 0.95, "{:.3} {tally:?}", tally.recall());
        assert!((1.6..2.5).contains(&tally.mean_nees()), "{:.2} {tally:?}", tally.mean_nees());
    }
}

/// The tables of docs/detector.md: `LIENAV_RUNS=200 cargo test -p lienav-detect --lib table -- --ignored --nocapture`.
#[test]
#[ignore = "minutes; prints the tables of docs/detector.md"]
fn table() {
    let runs = std::env::var("LIENAV_RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(100);
    let usual = Kind::usual();
    let kinds = [
        ("usual", usual),
        ("one in five stands", Kind { stand: 0.2, ..usual }),
        ("all stand", Kind { stand: 1.0, ..usual }),
        ("noise 2 cm", usual.noise(0.02)),
        ("noise 3 cm", usual.noise(0.03)),
        ("2 cm, believed 1 cm", Kind { believed_std_m: Some(0.01), ..usual.noise(0.02) }),
        ("1 cm, believed 2 cm", Kind { believed_std_m: Some(0.02), ..usual }),
        ("trunks of 20–80 cm", Kind { diameters_m: [0.2, 0.8], ..usual }),
        ("0.5°", usual.resolution(0.5)),
        ("1°", usual.resolution(1.0)),
        ("1°, 3 cm", usual.resolution(1.0).noise(0.03)),
        ("30 poles", Kind { poles: 30, ..usual }),
        ("10 people", Kind { people: 10, ..usual }),
        ("no people", Kind { people: 0, ..usual }),
    ];
    for (name, kind) in kinds {
        let report = report(&kind, 1000..1000 + runs);
        println!("{}", line(&format!("{name}: poles, tracked"), &report.poles));
        println!("{}", line(&format!("{name}: poles, tracked, in view for 1.2 s"), &report.poles_in_view));
        println!("{}", line(&format!("{name}: poles, one scan"), &report.poles_alone));
        println!("{}", line(&format!("{name}: reflectors"), &report.reflectors));
        for (rays, tally) in ["3", "4–5", "6–9", "10–19", "20+"].iter().zip(&report.by_rays) {
            println!("{}", line(&format!("{name}: poles, one scan, {rays} rays"), tally));
        }
    }
}
