//! Where the features are.

use super::random::{Purpose, generator};
use super::scenario::{Scenario, WorldConfig, WorldKind, points};
use super::trajectory::Trajectory;
use lienav_base::settings::OutOfRange;
use nalgebra::Vector2;
use rand::{Rng, RngExt};
use std::collections::BTreeMap;
use std::f64::consts::TAU;

/// More features than this are a mistake.
const MAX_FEATURES: f64 = 1e6;

/// A path of more points than this is a mistake.
const MAX_OUTLINE: f64 = 1e7;

/// The path is taken as points this far apart at most, m: distances from it are right to 0.1 mm at a margin of 5 m.
const OUTLINE_SPACING_M: f64 = 0.05;

/// The features of a scenario in the map frame, in the order of their ids 0, 1, 2, …
///
/// # Errors
/// A density that gives more features than anyone can mean.
pub(super) fn landmarks(scenario: &Scenario, trajectory: &Trajectory) -> Result<Vec<(u32, Vector2<f64>)>, OutOfRange> {
    let world = &scenario.world;
    let local = match world.layout {
        WorldKind::Scattered => {
            let outline = outline(world, trajectory)?;
            scatter(world, &outline, &mut generator(scenario.seed, Purpose::World))?
        }
        WorldKind::Ring => ring(world),
        WorldKind::Listed => points(&world.features_x_m, &world.features_y_m),
        WorldKind::Grid => grid(world, &mut generator(scenario.seed, Purpose::World))?,
    };
    Ok((0..).zip(local.iter().map(|p| trajectory.start().transform(p))).collect())
}

/// Positions at equal angles, the first one on the x axis.
fn ring(world: &WorldConfig) -> Vec<Vector2<f64>> {
    let centre = Vector2::new(world.ring_x_m, world.ring_y_m);
    (0..world.ring_count)
        .map(|i| {
            let (sin, cos) = (TAU * f64::from(i) / f64::from(world.ring_count)).sin_cos();
            centre + world.ring_radius_m * Vector2::new(cos, sin)
        })
        .collect()
}

/// Rows along x, one beside the other along y, each feature off its place.
fn grid(world: &WorldConfig, rng: &mut impl Rng) -> Result<Vec<Vector2<f64>>, OutOfRange> {
    let count = f64::from(world.grid_rows) * f64::from(world.grid_columns);
    if count > MAX_FEATURES {
        let allowed = format!(
            "at most {:.0} here: more than a million features otherwise",
            MAX_FEATURES / f64::from(world.grid_columns)
        );
        return Err(OutOfRange { name: "world.grid_rows", value: world.grid_rows.to_string(), allowed });
    }
    let mut off = || world.grid_jitter_m * (2.0 * rng.random::<f64>() - 1.0);
    let mut place = |row: u32, column: u32| {
        let x = world.grid_x_m + f64::from(column) * world.grid_step_m;
        let y = world.grid_y_m + f64::from(row) * world.grid_spacing_m;
        Vector2::new(x + off(), y + off())
    };
    let mut features = Vec::with_capacity(count as usize);
    for row in 0..world.grid_rows {
        features.extend((0..world.grid_columns).map(|column| place(row, column)));
    }
    Ok(features)
}

/// The classes of the features of a scenario, in the order of their ids; empty where they have none.
pub(super) fn classes(world: &WorldConfig) -> Vec<u32> {
    match world.layout {
        WorldKind::Listed => world.features_class.iter().map(|class| *class as u32).collect(),
        WorldKind::Scattered | WorldKind::Ring | WorldKind::Grid => Vec::new(),
    }
}

fn outline(world: &WorldConfig, trajectory: &Trajectory) -> Result<Vec<Vector2<f64>>, OutOfRange> {
    let spacing_m = OUTLINE_SPACING_M.min(world.margin_m / 20.0);
    let length_m = trajectory.outline_length_m();
    if length_m / spacing_m > MAX_OUTLINE {
        let allowed = format!("ring or listed: a path of {length_m:.0} m is too long to scatter features beside");
        return Err(OutOfRange { name: "world.layout", value: "scattered".into(), allowed });
    }
    Ok(trajectory.outline(spacing_m))
}

/// Positions uniformly at random among those at least the clearance and at most the margin away from `outline`: drawn
/// uniformly over the square cells (as wide as the margin) at and around the path, and kept where they fit.
fn scatter(world: &WorldConfig, outline: &[Vector2<f64>], rng: &mut impl Rng) -> Result<Vec<Vector2<f64>>, OutOfRange> {
    let cells = Cells::around(outline, world.margin_m);
    let candidates = world.density_per_m2 * cells.area_m2();
    if candidates > MAX_FEATURES {
        let allowed =
            format!("at most {:.3} here: more than a million features otherwise", MAX_FEATURES / cells.area_m2());
        return Err(OutOfRange { name: "world.density_per_m2", value: world.density_per_m2.to_string(), allowed });
    }
    let fits = |p: &Vector2<f64>| (world.clearance_m..=world.margin_m).contains(&cells.distance(p));
    Ok((0..candidates.round() as usize).map(|_| cells.draw(rng)).filter(fits).collect())
}

/// The points of a path, sorted into square cells, with the empty cells around them.
struct Cells {
    width_m: f64,
    points: BTreeMap<(i64, i64), Vec<Vector2<f64>>>,
    /// The keys of `points`, to draw from.
    keys: Vec<(i64, i64)>,
}

impl Cells {
    fn around(outline: &[Vector2<f64>], width_m: f64) -> Self {
        let mut points: BTreeMap<(i64, i64), Vec<Vector2<f64>>> = BTreeMap::new();
        for p in outline {
            let key = key(p, width_m);
            for around in neighbours(key) {
                points.entry(around).or_default();
            }
            points.entry(key).or_default().push(*p);
        }
        let keys = points.keys().copied().collect();
        Self { width_m, points, keys }
    }

    fn area_m2(&self) -> f64 {
        self.keys.len() as f64 * self.width_m * self.width_m
    }

    fn draw(&self, rng: &mut impl Rng) -> Vector2<f64> {
        let (i, j) = self.keys[rng.random_range(0..self.keys.len())];
        Vector2::new(i as f64 + rng.random::<f64>(), j as f64 + rng.random::<f64>()) * self.width_m
    }

    /// Distance from the path where it is at most the width of a cell; infinite or too large beyond.
    fn distance(&self, p: &Vector2<f64>) -> f64 {
        neighbours(key(p, self.width_m))
            .filter_map(|around| self.points.get(&around))
            .flatten()
            .map(|q| (q - p).norm_squared())
            .fold(f64::INFINITY, f64::min)
            .sqrt()
    }
}

fn key(p: &Vector2<f64>, width_m: f64) -> (i64, i64) {
    ((p.x / width_m).floor() as i64, (p.y / width_m).floor() as i64)
}

/// The cell itself and the eight around it.
fn neighbours((i, j): (i64, i64)) -> impl Iterator<Item = (i64, i64)> {
    (-1..=1).flat_map(move |di| (-1..=1).map(move |dj| (i + di, j + dj)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn generate(scenario: &Scenario) -> Vec<(u32, Vector2<f64>)> {
        landmarks(scenario, &Trajectory::new(&scenario.trajectory).unwrap()).unwrap()
    }

    /// Of a straight path of 60 m, the whole path being a stadium of margin m.
    #[test]
    fn scattered_features_have_their_density_and_keep_their_distance() {
        let mut scenario = Scenario::named("thesis-line-10hz-high-q1").unwrap();
        scenario.world.clearance_m = 0.5;
        let stadium = |margin: f64| 120.0 * margin + std::f64::consts::PI * margin * margin;
        let expected = 1.8 * (stadium(5.0) - stadium(0.5));
        let distance = |p: &Vector2<f64>| (p - Vector2::new(p.x.clamp(0.0, 60.0), 0.0)).norm();
        let mut count = 0;
        for seed in 0..10 {
            scenario.seed = seed;
            let features = generate(&scenario);
            assert!(features.iter().all(|(_, p)| (0.499..=5.001).contains(&distance(p))));
            count += features.len();
        }
        // The count of 10 worlds has a standard deviation below √(10 n).
        let deviation = count as f64 - 10.0 * expected;
        assert!(deviation.abs() < 3.0 * (10.0 * expected).sqrt(), "{count} features, 10 × {expected} expected");
    }

    #[test]
    fn scattered_features_are_as_frequent_left_as_right_near_as_far() {
        let scenario = Scenario::named("thesis-line-10hz-high-q1").unwrap();
        let features = generate(&scenario);
        let beside: Vec<_> = features.iter().filter(|(_, p)| (0.0..60.0).contains(&p.x)).collect();
        for (what, share) in [
            ("left", beside.iter().filter(|(_, p)| p.y > 0.0).count()),
            ("near", beside.iter().filter(|(_, p)| p.y.abs() < 2.5).count()),
            ("first half", beside.iter().filter(|(_, p)| p.x < 30.0).count()),
        ] {
            let z = (share as f64 - 0.5 * beside.len() as f64) / (0.25 * beside.len() as f64).sqrt();
            assert!(z.abs() < 3.0, "{what}: {share} of {}", beside.len());
        }
    }

    #[test]
    fn ids_count_up_and_a_seed_repeats_the_world() {
        let mut scenario = Scenario::default();
        let world = generate(&scenario);
        assert!(world.iter().enumerate().all(|(i, (id, _))| i == *id as usize));
        assert_eq!(generate(&scenario), world);
        scenario.seed += 1;
        assert_ne!(generate(&scenario), world);
    }

    #[test]
    fn the_world_moves_with_the_start() {
        let mut scenario = Scenario::default();
        let there = generate(&scenario);
        scenario.trajectory.start_x_m = 100.0;
        scenario.trajectory.start_yaw_rad = 1.0;
        let moved = generate(&scenario);
        assert_eq!(there.len(), moved.len());
        for ((_, p), (_, q)) in there.iter().zip(&moved) {
            assert_eq!(scenario.trajectory.start().transform(p), *q);
        }
    }

    #[test]
    fn the_esde_ring_lies_as_published() {
        let features = generate(&Scenario::named("esde").unwrap());
        assert_eq!(features.len(), 15);
        assert!(features.iter().all(|(_, p)| ((p - Vector2::new(0.1251, 3.3318)).norm() - 4.333).abs() < 1e-12));
        let gap = (features[1].1 - features[0].1).norm();
        assert!(features.windows(2).all(|pair| ((pair[1].1 - pair[0].1).norm() - gap).abs() < 1e-12));
    }

    #[test]
    fn a_grid_has_rows_and_columns_and_is_off_by_its_jitter_at_most() {
        let world = WorldConfig {
            layout: WorldKind::Grid,
            grid_rows: 3,
            grid_columns: 200,
            grid_step_m: 2.0,
            grid_spacing_m: 4.0,
            grid_jitter_m: 0.3,
            grid_x_m: -1.0,
            grid_y_m: 5.0,
            ..WorldConfig::default()
        };
        let mut scenario = Scenario { world, ..Scenario::default() };
        let features = generate(&scenario);
        assert_eq!(features.len(), 600);
        let off = |&(id, p): &(u32, Vector2<f64>)| {
            p - Vector2::new(-1.0 + 2.0 * f64::from(id % 200), 5.0 + 4.0 * f64::from(id / 200))
        };
        assert!(features.iter().map(off).all(|off| off.amax() <= 0.3));
        // Uniform over 0.6 m: a variance of 0.03 m² with a standard deviation of the mean of 1,200 squares of 0.0008.
        let variance = features.iter().map(|feature| off(feature).norm_squared()).sum::<f64>() / 1200.0;
        assert!((variance - 0.03).abs() < 0.0025, "{variance}");
        scenario.world.grid_rows = 100_000;
        let trajectory = Trajectory::new(&scenario.trajectory).unwrap();
        let text = landmarks(&scenario, &trajectory).unwrap_err().to_string();
        assert!(text.contains("world.grid_rows") && text.contains("at most 5000 here"), "{text}");
    }

    #[test]
    fn listed_features_stay_where_they_are_and_too_many_are_refused() {
        let mut scenario = Scenario::default();
        scenario.world.layout = WorldKind::Listed;
        (scenario.world.features_x_m, scenario.world.features_y_m) = (vec![1.0, 2.0], vec![3.0, 4.0]);
        assert_eq!(generate(&scenario), [(0, Vector2::new(1.0, 3.0)), (1, Vector2::new(2.0, 4.0))]);
        scenario.world = WorldConfig { density_per_m2: 1000.0, margin_m: 100.0, ..WorldConfig::default() };
        let trajectory = Trajectory::new(&scenario.trajectory).unwrap();
        let text = landmarks(&scenario, &trajectory).unwrap_err().to_string();
        assert!(text.contains("world.density_per_m2") && text.contains("at most"), "{text}");
        scenario.trajectory.radius_m = 1e5;
        let trajectory = Trajectory::new(&scenario.trajectory).unwrap();
        assert!(landmarks(&scenario, &trajectory).unwrap_err().to_string().contains("world.layout"));
    }
}
