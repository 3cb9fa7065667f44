//! Robots among many equal things in rows: the reflectors of a hall, the trees of an orchard.

use super::closed_line::{evenly, millimetres, smoothed};
use super::scenario::{
    FeatureSensorConfig, OdometryConfig, PathKind, Scenario, TrajectoryConfig, WorldConfig, WorldKind,
};
use lienav_slam::{MeasurementKind, NoiseUnit};
use nalgebra::Vector2;
use std::f64::consts::TAU;

/// Between two waypoints, m.
const WAYPOINT_M: f64 = 3.0;
/// Both robots are as fast, m/s.
const SPEED_M_S: f64 = 2.0;

/// Trees of the orchard that is called so.
const TREES: u32 = 500;
/// No orchard has fewer or more trees.
const FEWEST_TREES: u32 = 20;
const MOST_TREES: u32 = 30_000;

/// 1,000 equal reflectors 3 m apart, up to 0.3 m off their places. The robot maps all of them, goes round the hall
/// outside, where it sees none for 300 m and its odometry drifts by 3 m, and comes in where it began: by a whole row
/// off, as likely as not.
pub(super) fn hall() -> Scenario {
    let lanes = [6.0, 21.0, 36.0, 51.0, 66.0];
    let mut corners = serpentine(&lanes, 3.0, 114.0);
    corners.extend([(132.0, 66.0), (132.0, 95.0), (-15.0, 95.0), (-15.0, 6.0)].map(|(x, y)| Vector2::new(x, y)));
    Scenario {
        name: "hall".into(),
        trajectory: trajectory(&corners, 60.0),
        world: WorldConfig {
            layout: WorldKind::Grid,
            grid_columns: 40,
            grid_rows: 25,
            grid_step_m: 3.0,
            grid_spacing_m: 3.0,
            grid_jitter_m: 0.3,
            ..WorldConfig::default()
        },
        odometry: odometry(0.01, 0.002),
        ..among_equals()
    }
}

/// About `trees` trees, one every 2 m in rows 4 m apart. The robot goes through all the lanes between the rows and back
/// to the start, and then through some of the first lane again.
fn orchard(trees: u32) -> Scenario {
    let rows = (0.5 * f64::from(trees)).sqrt().round().max(2.0);
    let columns = (f64::from(trees) / rows).ceil();
    let lanes: Vec<f64> = (0..rows as u32 - 1).map(|lane| 2.0 + 4.0 * f64::from(lane)).collect();
    let end = 2.0 * (columns - 1.0) + 4.0;
    let mut corners = serpentine(&lanes, -4.0, end);
    // Back along the side on which the last lane ends, below the first row and to the first lane.
    let last = corners.last().map_or(0.0, |corner| corner.x);
    let outside = if last > 0.0 { end + 4.0 } else { -12.0 };
    let top = lanes.last().map_or(2.0, |lane| *lane);
    corners.extend([(outside, top), (outside, -4.0), (-8.0, -4.0), (-8.0, 2.0)].map(|(x, y)| Vector2::new(x, y)));
    Scenario {
        name: "orchard".into(),
        trajectory: trajectory(&corners, 30.0),
        world: WorldConfig {
            layout: WorldKind::Grid,
            grid_columns: columns as u32,
            grid_rows: rows as u32,
            grid_step_m: 2.0,
            grid_spacing_m: 4.0,
            grid_jitter_m: 0.2,
            ..WorldConfig::default()
        },
        odometry: odometry(0.02, 0.004),
        ..among_equals()
    }
}

/// The orchard of this name: `orchard`, `orchard:N` with N trees, or `marked-orchard:N`, in which each tree has a mark
/// that says which one it is, and about eight are in view. `None` for another name.
pub(super) fn orchard_named(name: &str) -> Option<Scenario> {
    if name == "orchard" {
        return Some(orchard(TREES));
    }
    if let Some(trees) = name.strip_prefix("marked-") {
        let mut scenario = orchard_named(trees).filter(|_| trees != "orchard")?;
        let sensor = &mut scenario.sensor;
        (sensor.identified, sensor.rate_hz, sensor.max_range_m, sensor.clutter) = (true, 10.0, 4.5, 0.0);
        return Some(Scenario { name: name.to_owned(), ..scenario });
    }
    let trees = name.strip_prefix("orchard:")?.parse().ok().filter(|n| (FEWEST_TREES..=MOST_TREES).contains(n))?;
    Some(Scenario { name: name.to_owned(), ..orchard(trees) })
}

/// A laser that sees all round, without identities.
fn among_equals() -> Scenario {
    Scenario {
        sensor: FeatureSensorConfig {
            kind: MeasurementKind::RangeBearing,
            rate_hz: 2.0,
            field_of_view_rad: TAU,
            min_range_m: 0.5,
            max_range_m: 10.0,
            range_std_m: 0.05,
            bearing_std_rad: 0.01,
            detection_probability: 0.95,
            clutter: 0.02,
            identified: false,
            ..FeatureSensorConfig::default()
        },
        forget_after_s: 0.0,
        ..Scenario::default()
    }
}

/// Wheels whose errors grow with the way.
fn odometry(travel_std: f64, travel_yaw_std: f64) -> OdometryConfig {
    OdometryConfig {
        rate_hz: 20.0,
        velocity_x_std: 0.0,
        velocity_y_std: 0.0,
        yaw_rate_std: 0.0,
        noise: NoiseUnit::PerSample,
        travel_std,
        travel_yaw_std,
        report_covariance: true,
        ..OdometryConfig::default()
    }
}

/// The corners of a way through lanes along x at these y, there and back by turns.
fn serpentine(lanes: &[f64], from_x: f64, to_x: f64) -> Vec<Vector2<f64>> {
    let lane = |(k, &y): (usize, &f64)| {
        let [first, last] = if k.is_multiple_of(2) { [from_x, to_x] } else { [to_x, from_x] };
        [Vector2::new(first, y), Vector2::new(last, y)]
    };
    lanes.iter().enumerate().flat_map(lane).collect()
}

/// Once round a closed line, whose corners are rounded, and `further_m` again.
fn trajectory(corners: &[Vector2<f64>], further_m: f64) -> TrajectoryConfig {
    let mut line = evenly(corners, 0.5);
    for _ in 0..2 {
        line = smoothed(&line, 3);
    }
    let line = evenly(&line, WAYPOINT_M);
    let count = line.len() + (further_m / WAYPOINT_M) as usize;
    let way = || line.iter().cycle().take(count);
    TrajectoryConfig {
        path: PathKind::General,
        waypoints_x_m: way().map(|p| millimetres(p.x)).collect(),
        waypoints_y_m: way().map(|p| millimetres(p.y)).collect(),
        knot_interval_s: WAYPOINT_M / SPEED_M_S,
        ..TrajectoryConfig::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Frame, Simulation};

    /// Stamps, s, and what is in view.
    fn seen(scenario: &Scenario) -> Vec<(f64, Vec<u32>)> {
        let of = |frame: Frame| {
            frame.features.as_ref()?;
            Some((frame.stamp.secs(), frame.identities.into_iter().flatten().collect()))
        };
        Simulation::new(scenario).unwrap().filter_map(of).collect()
    }

    /// The last scan with a reflector before the way outside, and the last one without.
    fn outside(scans: &[(f64, Vec<u32>)]) -> (usize, usize) {
        let blind = scans.iter().rposition(|(_, ids)| ids.is_empty()).unwrap();
        (scans[..blind].iter().rposition(|(_, ids)| !ids.is_empty()).unwrap(), blind)
    }

    #[test]
    fn the_hall_is_seen_whole_then_not_at_all_and_then_from_its_beginning() {
        let scenario = hall();
        let scans = seen(&scenario);
        let (out, blind) = outside(&scans);
        let blind_m = (scans[blind].0 - scans[out].0) * SPEED_M_S;
        assert!((250.0..330.0).contains(&blind_m), "{blind_m} m without reflectors");
        let mut mapped: Vec<u32> = scans[..out].iter().flat_map(|(_, ids)| ids.clone()).collect();
        mapped.sort_unstable();
        mapped.dedup();
        assert!(mapped.len() > 980, "{} of 1,000 were seen", mapped.len());
        assert!(scans[blind..].iter().flat_map(|(_, ids)| ids).all(|id| mapped.contains(id)));
        assert!(scans[blind..].iter().filter(|(_, ids)| ids.len() > 10).count() > 20);
    }

    /// On whichever side of the orchard the last lane ends: where the way turned back on itself, the robot would turn
    /// round within a sample of its odometry.
    #[test]
    fn no_orchard_makes_the_robot_turn_on_the_spot() {
        for trees in [40, 60, 84, 112, 144] {
            let frames = Simulation::new(&orchard(trees)).unwrap();
            let fastest = frames.map(|frame| frame.true_twist.z.abs()).fold(0.0, f64::max);
            assert!(fastest < 3.0, "{trees} trees: {fastest} rad/s");
        }
    }

    #[test]
    fn odometry_in_the_hall_drifts_by_three_metres_outside() {
        let scans = seen(&hall());
        let (out, blind) = outside(&scans);
        let blind_s = scans[out].0..scans[blind].0;
        let mut squares = 0.0;
        for seed in 0..40 {
            let mut pose: Option<lienav_lie::Se2> = None;
            let (mut t, mut error) = (0.0, 0.0);
            for frame in Simulation::new(&Scenario { seed, ..hall() }).unwrap() {
                let now = frame.stamp.secs();
                // From the last reflector on, as if its place were known then.
                if blind_s.contains(&now) {
                    let before = pose.unwrap_or(frame.truth);
                    let twist = if pose.is_some() { (now - t) * frame.odometry.twist() } else { Default::default() };
                    let after = before * lienav_lie::Se2::exp(&twist);
                    error = (after.p - frame.truth.p).norm();
                    pose = Some(after);
                }
                t = now;
            }
            squares += error * error;
        }
        let drift_m = (squares / 40.0_f64).sqrt();
        assert!((2.0..4.0).contains(&drift_m), "{drift_m} m");
    }

    #[test]
    fn an_orchard_has_as_many_trees_as_asked_for_and_the_robot_sees_all_and_returns() {
        for (name, least) in [("orchard", 500), ("orchard:60", 60), ("orchard:133", 133)] {
            let scenario = orchard_named(name).unwrap();
            assert_eq!((scenario.name.as_str(), scenario.validate()), (name, Ok(())));
            let scans = seen(&scenario);
            let mut ids: Vec<u32> = scans.iter().flat_map(|(_, ids)| ids.clone()).collect();
            ids.sort_unstable();
            ids.dedup();
            let trees = Simulation::new(&scenario).unwrap().landmarks().len();
            assert!((least..least + least / 10 + 8).contains(&trees), "{name}: {trees}");
            assert_eq!(ids.len(), trees, "{name}");
            let (first, last) = (&scans[2].1, &scans.last().unwrap().1);
            assert!(
                first.iter().any(|id| scans[scans.len() - 20..].iter().any(|(_, ids)| ids.contains(id))),
                "{last:?}"
            );
        }
        for name in ["orchard:19", "orchard:30001", "orchard:x", "orchards", "marked-orchard", "marked-orchard:3"] {
            assert_eq!(orchard_named(name), None, "{name}");
        }
        assert!(Simulation::new(&orchard_named("orchard:30000").unwrap()).unwrap().landmarks().len() >= 30_000);
    }
}
