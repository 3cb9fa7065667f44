//! A car between two rows of cones, as in Formula Student: a track from a file, or one of our own.

use super::closed_line::{evenly, millimetres, smoothed};
use super::scenario::{
    FeatureSensorConfig, OdometryConfig, PathKind, Scenario, ScenarioError, TrajectoryConfig, WorldConfig, WorldKind,
};
use lienav_base::nesting::check_yaml;
use lienav_slam::{MeasurementKind, NoiseUnit};
use nalgebra::Vector2;
use serde::Deserialize;
use std::f64::consts::{PI, TAU};

/// Classes as they are numbered here: cones to the left, cones to the right, and others.
const LEFT: f64 = 1.0;
const RIGHT: f64 = 2.0;
const OTHER: f64 = 3.0;

/// Between two waypoints of the middle line, m.
const WAYPOINT_M: f64 = 3.0;
/// The car goes as fast where its yaw rate lets it, m/s.
const TOP_SPEED_M_S: f64 = 15.0;
/// Its yaw rate, rad/s: a radius of 5 m is taken at 5 m/s.
const MAX_YAW_RATE: f64 = 1.0;
/// How often the car goes round.
const LAPS: usize = 2;
/// The part of their distance by which cones of our own track are set unevenly.
const UNEVEN: f64 = 0.25;
/// Multiples of the golden ratio spread evenly over the unit interval.
const GOLDEN: f64 = 0.618_033_988_749_894_9;
/// A boundary of more cones is a mistake.
const MAX_CONES: usize = 10_000;

/// A closed track: the cones of either boundary in order, and others.
#[derive(Clone, Debug, PartialEq)]
pub struct ConeTrack {
    /// What it is called.
    pub name: String,
    /// Cones of the left boundary in the direction of travel, m.
    pub left: Vec<Vector2<f64>>,
    /// Cones of the right boundary in the same direction, m.
    pub right: Vec<Vector2<f64>>,
    /// Other cones, those at the start, m.
    pub others: Vec<Vector2<f64>>,
    /// Where the car starts, m; its way begins at the place of the middle line that is nearest.
    pub start: Vector2<f64>,
}

/// The file of a track, as PacSim has it; what it says besides is of no use here.
#[derive(Deserialize)]
struct File {
    track: FileTrack,
}

#[derive(Deserialize)]
struct FileTrack {
    #[serde(default)]
    start: Option<FileCone>,
    left: Vec<FileCone>,
    right: Vec<FileCone>,
    #[serde(default)]
    time_keeping: Vec<FileCone>,
    #[serde(default)]
    unknown: Vec<FileCone>,
}

#[derive(Deserialize)]
struct FileCone {
    position: Vec<f64>,
}

impl FileCone {
    fn place(&self) -> Result<Vector2<f64>, ScenarioError> {
        match self.position[..] {
            [x, y, ..] if x.abs() <= 1e6 && y.abs() <= 1e6 => Ok(Vector2::new(x, y)),
            _ => Err(ScenarioError::Track(format!(
                "a position is {:?}; expected two numbers or more, from -1e6 to 1e6",
                self.position
            ))),
        }
    }
}

impl ConeTrack {
    /// Reads a track: `track`, with the lists `left` and `right` of cones with a `position`, and `time_keeping`,
    /// `unknown` and `start` where there are such.
    ///
    /// # Errors
    /// What is wrong with the text, and a boundary of less than three cones.
    pub fn from_yaml(name: &str, text: &str) -> Result<Self, ScenarioError> {
        check_yaml(text).map_err(|error| ScenarioError::Track(error.to_string()))?;
        let file: File = serde_yaml_ng::from_str(text).map_err(|error| ScenarioError::Track(error.to_string()))?;
        let FileTrack { start, left, right, time_keeping, unknown } = file.track;
        let places = |cones: &[FileCone]| cones.iter().map(FileCone::place).collect::<Result<Vec<_>, _>>();
        let (left, right) = (places(&left)?, places(&right)?);
        for (side, cones) in [("left", &left), ("right", &right)] {
            if !(3..=MAX_CONES).contains(&cones.len()) {
                let problem = format!("'{side}' has {} cones; expected 3 … {MAX_CONES}", cones.len());
                return Err(ScenarioError::Track(problem));
            }
        }
        let others = [places(&time_keeping)?, places(&unknown)?].concat();
        let start = start.map_or(Ok(Vector2::zeros()), |start| start.place())?;
        Ok(Self { name: name.to_owned(), left, right, others, start })
    }

    /// A track of our own, about 300 m long: cones every 3 to 6 m, in rows that are 3 to 5 m apart.
    pub fn generated() -> Self {
        // A circle with three waves, whose sharpest turn has a radius of 9 m.
        let middle = |phase: f64| {
            let radius = 46.5 + 5.0 * (2.0 * phase).sin() + 3.5 * (3.0 * phase + 1.0).cos();
            radius * Vector2::new(phase.cos(), phase.sin())
        };
        let side = |sign: f64, count: usize, shift: f64| -> Vec<Vector2<f64>> {
            let cone = |k: usize| {
                // Whoever sets cones up does not measure: up to half a metre along the way, evenly spread.
                let off = UNEVEN * ((k as f64 * GOLDEN).fract() - 0.5);
                let phase = TAU * (k as f64 + shift + off) / count as f64;
                let ahead = (middle(phase + 1e-4) - middle(phase - 1e-4)).normalize();
                let half_width = 2.0 + 0.5 * (5.0 * phase).sin();
                middle(phase) + sign * half_width * Vector2::new(-ahead.y, ahead.x)
            };
            (0..count).map(cone).collect()
        };
        let (left, right) = (side(1.0, 64, 0.0), side(-1.0, 68, 0.3));
        Self { name: "cones".into(), left, right, others: Vec::new(), start: middle(0.0) }
    }

    /// Waypoints in the middle between the boundaries, [`WAYPOINT_M`] apart, once round from the start, the last one
    /// short of the first.
    fn middle_line(&self) -> Vec<Vector2<f64>> {
        // From every cone to the nearest place of the other boundary, in the order of the left one.
        let mut middles: Vec<(f64, Vector2<f64>)> = Vec::new();
        for (k, cone) in self.left.iter().enumerate() {
            let (_, nearest) = nearest_on(&self.right, cone);
            middles.push((k as f64, 0.5 * (cone + nearest)));
        }
        for cone in &self.right {
            let (at, nearest) = nearest_on(&self.left, cone);
            middles.push((at, 0.5 * (cone + nearest)));
        }
        middles.sort_by(|a, b| a.0.total_cmp(&b.0));
        let places: Vec<Vector2<f64>> = middles.into_iter().map(|(_, place)| place).collect();
        let mut line = evenly(&places, 1.0);
        // What jumps from one cone to the next is rounded off over some metres.
        for _ in 0..4 {
            line = smoothed(&line, 2);
        }
        let mut line = evenly(&line, WAYPOINT_M);
        let distance = |p: &Vector2<f64>| (p - self.start).norm_squared();
        let first = (0..line.len()).min_by(|&a, &b| distance(&line[a]).total_cmp(&distance(&line[b]))).unwrap_or(0);
        line.rotate_left(first);
        line
    }

    /// The scenario of a car that goes round twice: the second time it has to know every cone again.
    pub fn scenario(&self) -> Scenario {
        let lap = self.middle_line();
        let way: Vec<Vector2<f64>> = lap.iter().cycle().take(LAPS * lap.len() + 1).copied().collect();
        let sides = [(&self.left, LEFT), (&self.right, RIGHT), (&self.others, OTHER)];
        let cones = || sides.iter().flat_map(|(cones, class)| cones.iter().map(move |cone| (cone, *class)));
        Scenario {
            name: self.name.clone(),
            trajectory: TrajectoryConfig {
                path: PathKind::General,
                waypoints_x_m: way.iter().map(|p| millimetres(p.x)).collect(),
                waypoints_y_m: way.iter().map(|p| millimetres(p.y)).collect(),
                knot_interval_s: WAYPOINT_M / TOP_SPEED_M_S,
                max_speed_m_s: TOP_SPEED_M_S,
                max_yaw_rate_rad_s: MAX_YAW_RATE,
                ..TrajectoryConfig::default()
            },
            world: WorldConfig {
                layout: WorldKind::Listed,
                features_x_m: cones().map(|(cone, _)| millimetres(cone.x)).collect(),
                features_y_m: cones().map(|(cone, _)| millimetres(cone.y)).collect(),
                features_class: cones().map(|(_, class)| class).collect(),
                ..WorldConfig::default()
            },
            odometry: OdometryConfig {
                rate_hz: 50.0,
                velocity_x_std: 0.0,
                velocity_y_std: 0.0,
                yaw_rate_std: 0.0,
                noise: NoiseUnit::PerSample,
                travel_std: 0.02,
                travel_yaw_std: millidegrees(500.0),
                report_covariance: true,
                ..OdometryConfig::default()
            },
            sensor: FeatureSensorConfig {
                kind: MeasurementKind::RangeBearing,
                rate_hz: 10.0,
                field_of_view_rad: PI,
                min_range_m: 0.5,
                max_range_m: 20.0,
                range_std_m: 0.1,
                bearing_std_rad: 0.02,
                detection_probability: 0.9,
                clutter: 0.05,
                classified: true,
                class_confusion: 0.1,
                identified: false,
                ..FeatureSensorConfig::default()
            },
            forget_after_s: 0.0,
            ..Scenario::default()
        }
    }
}

/// In rad, to ten digits.
fn millidegrees(angle: f64) -> f64 {
    (1e10 * (1e-3 * angle).to_radians()).round() / 1e10
}

/// The place of a closed line that is nearest to `p`, and where it is: the number of the point before it, and the part
/// of the way to the next.
fn nearest_on(line: &[Vector2<f64>], p: &Vector2<f64>) -> (f64, Vector2<f64>) {
    let mut best = (f64::INFINITY, 0.0, *p);
    for (k, a) in line.iter().enumerate() {
        let way = line[(k + 1) % line.len()] - a;
        let part = (way.dot(&(p - a)) / way.norm_squared().max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
        let place = a + part * way;
        let distance = (p - place).norm_squared();
        if distance < best.0 {
            best = (distance, k as f64 + part, place);
        }
    }
    (best.1, best.2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Simulation;

    fn lap_m(scenario: &Scenario) -> f64 {
        let way = scenario.trajectory.waypoints();
        way.windows(2).map(|pair| (pair[1] - pair[0]).norm()).sum::<f64>() / LAPS as f64
    }

    #[test]
    fn our_own_track_is_closed_three_hundred_metres_long_and_three_to_five_wide() {
        let track = ConeTrack::generated();
        let scenario = track.scenario();
        assert!((285.0..315.0).contains(&lap_m(&scenario)), "{}", lap_m(&scenario));
        for (row, other) in [(&track.left, &track.right), (&track.right, &track.left)] {
            for (k, cone) in row.iter().enumerate() {
                let width = (nearest_on(other, cone).1 - cone).norm();
                let gap = (row[(k + 1) % row.len()] - cone).norm();
                assert!((2.9..5.2).contains(&width) && (3.0..6.4).contains(&gap), "{width} {gap}");
            }
        }
    }

    #[test]
    fn the_car_keeps_between_the_cones_and_within_its_speeds() {
        let scenario = ConeTrack::generated().scenario();
        let simulation = Simulation::new(&scenario).unwrap();
        let cones = simulation.landmarks().to_vec();
        let (mut slowest, mut fastest) = (f64::INFINITY, 0.0_f64);
        for frame in simulation {
            let nearest = cones.iter().map(|(_, cone)| (cone - frame.truth.p).norm()).fold(f64::INFINITY, f64::min);
            assert!(nearest > 1.0, "{nearest} m at {}", frame.stamp);
            (slowest, fastest) = (slowest.min(frame.true_twist.x), fastest.max(frame.true_twist.x));
            assert!(frame.true_twist.z.abs() < 1.01 * MAX_YAW_RATE);
        }
        assert!(slowest >= 5.0 && (12.0..=15.1).contains(&fastest), "{slowest} … {fastest} m/s");
    }

    #[test]
    fn a_track_is_read_from_a_file_and_what_is_none_is_refused() {
        let text = "track:\n  version: 1.0\n  start: {position: [9, 0, 0], orientation: [0, 0, 0]}\n  \
                    left: [{position: [0, 2, 0], class: blue}, {position: [10, 2], class: blue}, {position: [5, 9, 0]}]\n  \
                    right: [{position: [0, -2, 0]}, {position: [10, -2, 0]}, {position: [14, 12, 0]}]\n  \
                    time_keeping: [{position: [5, 3, 0]}]\n";
        let track = ConeTrack::from_yaml("mine", text).unwrap();
        assert_eq!((track.left.len(), track.right.len(), track.others.len()), (3, 3, 1));
        let scenario = track.scenario();
        assert_eq!(scenario.world.features_class, [1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 3.0]);
        let first = scenario.trajectory.waypoints()[0];
        assert!((first - Vector2::new(9.0, 0.0)).norm() < WAYPOINT_M, "{first}");
        for (wrong, says) in [
            ("left: 3", "track"),
            ("track: {left: [], right: []}", "'left' has 0 cones"),
            ("track: {left: [{position: [1]}], right: []}", "a position is [1.0]"),
            ("track: {left: [{position: [.nan, 1]}], right: []}", "a position is"),
        ] {
            let error = ConeTrack::from_yaml("x", wrong).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
