//! Scans of a planar laser scanner by ray casting: discs (poles, trunks, reflectors), walls and people who walk.
//!
//! A ray is a narrow beam, a bundle of directions over the divergence. A beam that falls on two surfaces at
//! an edge reads one of them or, with a stated probability, something between: a mixed pixel. Rays leave one after the
//! other while the scanner moves and people walk. Every reading keeps what the middle of its beam met, so that a test
//! knows how many rays hit a pole and whether something stood before it.
//!
//! ```
//! use lienav_lie::se2::Se2;
//! use lienav_sim::scan::{Disc, Scanner, Seen, World};
//! use nalgebra::{Vector2, Vector3};
//! use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
//!
//! let world = World { discs: vec![Disc::pole(Vector2::new(4.0, 0.0), 0.1)], ..World::default() };
//! let mut rng = ChaCha8Rng::seed_from_u64(1);
//! let cast = Scanner::default().cast(&world, &Se2::identity(), &Vector3::zeros(), 0.0, &mut rng);
//! assert_eq!(cast.seen.iter().filter(|seen| **seen == Seen::Disc(0)).count(), 11);
//! ```

mod people;

pub use people::{Body, Person};

use crate::random::normal;
use lienav_lie::se2::Se2;
use nalgebra::{Vector2, Vector3};
use rand::{Rng, RngExt};

/// Directions in one beam.
const BUNDLE: usize = 5;
/// Echoes closer together than this are one pulse to the receiver, m: only they mix.
const PULSE_M: f64 = 1.5;

/// A cylinder that stands upright.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Disc {
    /// Where its axis is, in the world, m.
    pub centre: Vector2<f64>,
    /// Its radius, m.
    pub radius: f64,
    /// Part of the light that comes back from a white surface at right angles; retroreflectors have 10 and more.
    pub reflectivity: f64,
}

impl Disc {
    /// A pole of grey metal or wood.
    pub fn pole(centre: Vector2<f64>, radius: f64) -> Self {
        Self { centre, radius, reflectivity: 0.4 }
    }

    /// A cylinder wrapped in reflective tape.
    pub fn reflector(centre: Vector2<f64>, radius: f64) -> Self {
        Self { centre, radius, reflectivity: 15.0 }
    }
}

/// A straight wall without thickness.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wall {
    /// One end, in the world, m.
    pub from: Vector2<f64>,
    /// The other end.
    pub to: Vector2<f64>,
    /// As in [`Disc`].
    pub reflectivity: f64,
}

/// What stands and walks in the plane of the scanner.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct World {
    /// Cylinders that stand still.
    pub discs: Vec<Disc>,
    /// Walls.
    pub walls: Vec<Wall>,
    /// People.
    pub people: Vec<Person>,
}

/// What the middle of a beam met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Nothing within range.
    Nothing,
    /// A disc, by its place in [`World::discs`].
    Disc(usize),
    /// A wall, by its place in [`World::walls`].
    Wall(usize),
    /// A person, by its place in [`World::people`].
    Person(usize),
}

/// A scanner and its errors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scanner {
    /// Direction of the first ray, rad.
    pub angle_min_rad: f64,
    /// From one ray to the next, rad.
    pub angle_increment_rad: f64,
    /// How many rays.
    pub rays: usize,
    /// From one ray to the next, s.
    pub time_increment_s: f64,
    /// Nothing nearer is read, m.
    pub range_min_m: f64,
    /// Nothing farther is read, m.
    pub range_max_m: f64,
    /// Standard deviation of a range, m.
    pub range_std_m: f64,
    /// Standard deviation of an intensity, as a part of it.
    pub intensity_std: f64,
    /// Full width of a beam, rad.
    pub beam_divergence_rad: f64,
    /// Probability that a beam on two surfaces reads something between.
    pub mixed_probability: f64,
    /// Probability that a ray reads nothing at all.
    pub dropout_probability: f64,
}

impl Default for Scanner {
    /// 270° with 1,081 rays, 40 scans a second, ranges with 1 cm.
    fn default() -> Self {
        Self {
            angle_min_rad: -135.0_f64.to_radians(),
            angle_increment_rad: 0.25_f64.to_radians(),
            rays: 1081,
            time_increment_s: 0.025 / 1440.0,
            range_min_m: 0.1,
            range_max_m: 30.0,
            range_std_m: 0.01,
            intensity_std: 0.05,
            beam_divergence_rad: 0.0015,
            mixed_probability: 0.5,
            dropout_probability: 0.002,
        }
    }
}

/// One scan, in the order of the rays.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cast {
    /// Ranges, m; infinite where nothing came back.
    pub ranges: Vec<f32>,
    /// Intensities, in units of the scanner; 0 where nothing came back.
    pub intensities: Vec<f32>,
    /// What the middle of each beam met.
    pub seen: Vec<Seen>,
}

/// One direction of a beam meets a surface.
#[derive(Clone, Copy)]
struct Hit {
    range: f64,
    intensity: f64,
    seen: Seen,
}

impl Scanner {
    /// The scan that begins at `time_s` with the scanner at `pose` (scanner to world), while it moves with `twist`
    /// (m/s, m/s, rad/s, in its own axes) and people walk.
    pub fn cast(&self, world: &World, pose: &Se2, twist: &Vector3<f64>, time_s: f64, rng: &mut impl Rng) -> Cast {
        let mut cast = Cast::default();
        for ray in 0..self.rays {
            let after_s = ray as f64 * self.time_increment_s;
            let pose = *pose * Se2::exp(&(twist * after_s));
            let angle = pose.theta + self.angle_min_rad + ray as f64 * self.angle_increment_rad;
            let beam: [Option<Hit>; BUNDLE] = std::array::from_fn(|k| {
                let part = (k as f64 + 0.5) / BUNDLE as f64 - 0.5;
                self.meet(world, &pose.p, angle + part * self.beam_divergence_rad, time_s + after_s)
            });
            cast.seen.push(beam[BUNDLE / 2].map_or(Seen::Nothing, |hit| hit.seen));
            let (range, intensity) = self.read(&beam, rng).unwrap_or((f64::INFINITY, 0.0));
            cast.ranges.push(range as f32);
            cast.intensities.push(intensity as f32);
        }
        cast
    }

    /// The nearest surface in a direction.
    fn meet(&self, world: &World, origin: &Vector2<f64>, angle: f64, time_s: f64) -> Option<Hit> {
        let direction = Vector2::new(angle.cos(), angle.sin());
        let mut nearest: Option<Hit> = None;
        let mut offer = |range: f64, cos_incidence: f64, reflectivity: f64, seen: Seen| {
            if range > 0.0 && range < self.range_max_m && nearest.is_none_or(|hit| range < hit.range) {
                let returned = 0.3 + 0.7 * cos_incidence.abs();
                let intensity = 1000.0 * reflectivity * returned / (1.0 + (range / 8.0).powi(2));
                nearest = Some(Hit { range, intensity, seen });
            }
        };
        for (k, disc) in world.discs.iter().enumerate() {
            if let Some((range, cos)) = meet_disc(&(disc.centre - origin), disc.radius, &direction) {
                offer(range, cos, disc.reflectivity, Seen::Disc(k));
            }
        }
        for (k, wall) in world.walls.iter().enumerate() {
            if let Some((range, cos)) = meet_wall(&(wall.from - origin), &(wall.to - origin), &direction) {
                offer(range, cos, wall.reflectivity, Seen::Wall(k));
            }
        }
        for (k, person) in world.people.iter().enumerate() {
            if let Some((range, cos)) = person.meet(origin, &direction, time_s) {
                offer(range, cos, person.reflectivity, Seen::Person(k));
            }
        }
        nearest
    }

    /// Range and intensity that the receiver reads from one beam, with noise.
    fn read(&self, beam: &[Option<Hit>; BUNDLE], rng: &mut impl Rng) -> Option<(f64, f64)> {
        // Drawn in every case, so that a change of one ray leaves the noise of all others.
        let (noise, intensity_noise) = (normal(rng), normal(rng));
        let (mixes, where_between, drops) = (rng.random::<f64>(), rng.random::<f64>(), rng.random::<f64>());
        if drops < self.dropout_probability {
            return None;
        }
        let nearest = beam.iter().flatten().map(|hit| hit.range).reduce(f64::min)?;
        let near = |hit: &Hit| hit.range < nearest + 0.2;
        let mean = |of: &dyn Fn(&Hit) -> bool| {
            let hits: Vec<_> = beam.iter().flatten().filter(|hit| of(hit)).collect();
            let count = hits.len().max(1) as f64;
            let sum = |value: fn(&Hit) -> f64| hits.iter().map(|hit| value(hit)).sum::<f64>();
            (hits.len(), sum(|hit| hit.range) / count, sum(|hit| hit.intensity) / count)
        };
        let (front, back) = (mean(&near), mean(&|hit| !near(hit)));
        let (range, intensity) = if back.0 == 0 {
            // A sliver of the beam on a surface with nothing behind is below the threshold of the receiver.
            if front.0 * 2 < BUNDLE {
                return None;
            }
            (front.1, front.2)
        } else if mixes < self.mixed_probability && back.1 - front.1 < PULSE_M {
            let part = where_between;
            (front.1 + part * (back.1 - front.1), front.2 + part * (back.2 - front.2))
        } else if front.0 * 2 > BUNDLE {
            (front.1, front.2)
        } else {
            (back.1, back.2)
        };
        let range = range + self.range_std_m * noise;
        let intensity = intensity * (1.0 + self.intensity_std * intensity_noise);
        (self.range_min_m..self.range_max_m).contains(&range).then_some((range, intensity.max(0.0)))
    }
}

/// Range of a disc and cosine of the incidence, for an origin at zero.
fn meet_disc(centre: &Vector2<f64>, radius: f64, direction: &Vector2<f64>) -> Option<(f64, f64)> {
    let aside = centre.perp(direction);
    let depth_squared = radius * radius - aside * aside;
    if depth_squared < 0.0 {
        return None;
    }
    let depth = depth_squared.sqrt();
    let range = centre.dot(direction) - depth;
    (range > 0.0).then_some((range, depth / radius))
}

/// Range of a wall and cosine of the incidence, for an origin at zero.
fn meet_wall(from: &Vector2<f64>, to: &Vector2<f64>, direction: &Vector2<f64>) -> Option<(f64, f64)> {
    let along = to - from;
    let across = direction.perp(&along);
    if across == 0.0 {
        return None;
    }
    let range = from.perp(&along) / across;
    let part = from.perp(direction) / across;
    (range > 0.0 && (0.0..=1.0).contains(&part)).then(|| (range, across / along.norm()))
}

#[cfg(test)]
mod tests;
