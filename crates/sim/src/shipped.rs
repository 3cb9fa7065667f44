//! The scenarios that have a name: those of the thesis, that of the esde study, and some that ask harder questions.

use super::cones::ConeTrack;
use super::disturbed::disturbed;
use super::grids::{hall, orchard_named};
use super::scenario::{
    FeatureSensorConfig, InitialErrorConfig, OdometryConfig, PathKind, Scenario, SingleSensorConfig, TrajectoryConfig,
    TruthModel, TwistUnit, WorldConfig, WorldKind, thesis_density,
};
use lienav_slam::{MeasurementKind, NoiseUnit, WorldFrame};
use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2, TAU};

/// A scene of Shen 2019, section 5.5: `q` is Q_z in 10⁻⁴ rad².
fn thesis(path: PathKind, rate_hz: f64, high: bool, q: u32) -> Scenario {
    let shape = match path {
        PathKind::Line => "line",
        PathKind::General => "general",
        _ => "circle",
    };
    let density = if high { "high" } else { "low" };
    let mut scenario = Scenario { name: format!("thesis-{shape}-{rate_hz}hz-{density}-q{q}"), ..Scenario::default() };
    scenario.trajectory.path = path;
    scenario.world.density_per_m2 = thesis_density(path, high);
    scenario.odometry.rate_hz = rate_hz;
    scenario.sensor.rate_hz = rate_hz;
    scenario.sensor.bearing_std_rad = (f64::from(q) * 1e-4).sqrt();
    scenario.thesis_range_factor = 1.0;
    scenario
}

/// The study of Brossard, Barrau and Bonnabel (IEEE Sensors J. 2019) with σ = 0.02.
fn esde() -> Scenario {
    let sigma = 0.02;
    Scenario {
        name: "esde".into(),
        truth: TruthModel::Euler,
        trajectory: TrajectoryConfig {
            path: PathKind::Arc,
            speed_m_s: 0.25,
            yaw_rate_rad_s: 0.075,
            duration_s: 400.0,
            ..TrajectoryConfig::default()
        },
        world: WorldConfig {
            layout: WorldKind::Ring,
            ring_count: 15,
            ring_radius_m: 4.333,
            ring_x_m: 0.1251,
            ring_y_m: 3.3318,
            ..WorldConfig::default()
        },
        odometry: OdometryConfig {
            rate_hz: 1.0,
            twist: TwistUnit::Euler,
            velocity_x_std: sigma * FRAC_1_SQRT_2,
            velocity_y_std: 0.0,
            yaw_rate_std: 2.0 * SQRT_2 * sigma,
            noise: NoiseUnit::PerSample,
            ..OdometryConfig::default()
        },
        sensor: FeatureSensorConfig {
            kind: MeasurementKind::RelativePosition,
            rate_hz: 1.0,
            first_s: 1.0,
            field_of_view_rad: TAU,
            min_range_m: 0.5,
            max_range_m: 5.0,
            position_std_m: 0.1,
            ..FeatureSensorConfig::default()
        },
        forget_after_s: 0.0,
        ..Scenario::default()
    }
}

/// The same for filters that move by the exponential of SE(2): there, an Euler truth has a sideways motion that
/// odometry without sideways noise rules out.
fn esde_exponential() -> Scenario {
    let mut scenario = Scenario { name: "esde-exponential".into(), ..esde() };
    scenario.odometry.twist = TwistUnit::Exponential;
    scenario
}

/// A robot that does not move and knows it, sees the same features again 1,000 times, and must not learn its pose from
/// them (Julier and Uhlmann 2001).
fn standstill() -> Scenario {
    let mut scenario = Scenario { name: "static".into(), forget_after_s: 0.0, ..Scenario::default() };
    scenario.trajectory.path = PathKind::Static;
    scenario.trajectory.duration_s = 100.0;
    scenario.odometry.velocity_x_std = 0.0;
    scenario.odometry.velocity_y_std = 0.0;
    scenario.odometry.yaw_rate_std = 0.0;
    scenario.initial = InitialErrorConfig { position_std_m: 0.1, yaw_std_rad: 0.1 };
    scenario
}

/// 10 laps and 20,000 steps over one map that is kept.
fn long() -> Scenario {
    let mut scenario = Scenario { name: "long".into(), forget_after_s: 0.0, ..Scenario::default() };
    scenario.trajectory.laps = 10.0;
    scenario.world.density_per_m2 = 0.2;
    scenario.odometry.rate_hz = 50.0;
    scenario.sensor.rate_hz = 50.0;
    scenario
}

fn heading_uncertainty() -> Scenario {
    let initial = InitialErrorConfig { position_std_m: 0.5, yaw_std_rad: 0.5 };
    Scenario { name: "heading-uncertainty".into(), initial, ..Scenario::default() }
}

fn range_bearing() -> Scenario {
    let mut scenario = Scenario { name: "range-bearing".into(), ..Scenario::default() };
    scenario.sensor.kind = MeasurementKind::RangeBearing;
    scenario.sensor.bearing_std_rad = 0.02;
    scenario
}

fn relative_position() -> Scenario {
    let mut scenario = Scenario { name: "relative-position".into(), ..Scenario::default() };
    scenario.sensor.kind = MeasurementKind::RelativePosition;
    scenario
}

/// A line between features that the robot passes within half a metre.
fn close_pass() -> Scenario {
    let mut scenario = Scenario { name: "close-pass".into(), ..Scenario::default() };
    scenario.trajectory.path = PathKind::Line;
    scenario.world.density_per_m2 = 4.0;
    scenario.world.margin_m = 0.5;
    scenario
}

/// A sensor that sees all round, so that features are followed until they are behind the robot and their bearings jump
/// from π to −π.
fn features_behind() -> Scenario {
    let mut scenario = Scenario { name: "features-behind".into(), ..range_bearing() };
    scenario.world.density_per_m2 = 0.3;
    scenario.sensor.field_of_view_rad = TAU;
    scenario
}

/// The rates of a real robot: odometry at 200 Hz, features at 20 Hz.
fn robot() -> Scenario {
    let mut scenario = Scenario { name: "robot".into(), ..Scenario::default() };
    scenario.odometry.rate_hz = 200.0;
    scenario.sensor.rate_hz = 20.0;
    scenario
}

/// Radio beacons at unknown places about a winding path, with ranges alone, one in twenty too long.
fn beacons(name: &str, count: usize) -> Scenario {
    let mut scenario = Scenario { name: name.into(), forget_after_s: 0.0, ..Scenario::default() };
    scenario.trajectory.path = PathKind::General;
    scenario.trajectory.knot_interval_s = 15.0;
    let all = [
        (-22.0, -14.0),
        (24.0, -12.0),
        (20.0, 26.0),
        (-18.0, 24.0),
        (2.0, -20.0),
        (28.0, 8.0),
        (0.0, 32.0),
        (-26.0, 4.0),
    ];
    scenario.world.layout = WorldKind::Listed;
    scenario.world.features_x_m = all[..count].iter().map(|p| p.0).collect();
    scenario.world.features_y_m = all[..count].iter().map(|p| p.1).collect();
    scenario.odometry =
        OdometryConfig { velocity_x_std: 0.02, velocity_y_std: 0.02, yaw_rate_std: 0.01, ..scenario.odometry };
    let sensor = &mut scenario.sensor;
    (sensor.kind, sensor.rate_hz, sensor.max_range_m) = (MeasurementKind::Range, 2.0, 100.0);
    (sensor.field_of_view_rad, sensor.range_std_m, sensor.late_probability) = (TAU, 0.3, 0.05);
    scenario
}

/// A camera that tells bearings alone, of fifteen marks at a time.
fn bearing_only() -> Scenario {
    let mut scenario = Scenario { name: "bearing-only".into(), forget_after_s: 0.0, ..Scenario::default() };
    scenario.trajectory.laps = 2.0;
    scenario.world.density_per_m2 = 0.15;
    scenario.odometry =
        OdometryConfig { velocity_x_std: 0.05, velocity_y_std: 0.05, yaw_rate_std: 0.02, ..scenario.odometry };
    let sensor = &mut scenario.sensor;
    (sensor.kind, sensor.max_range_m, sensor.min_range_m) = (MeasurementKind::Bearing, 7.0, 0.5);
    (sensor.field_of_view_rad, sensor.bearing_std_rad) = (TAU, 0.5_f64.to_radians());
    scenario
}

/// A satellite receiver whose errors last for twenty seconds, and landmarks that are soon forgotten.
fn gnss(name: &str, outage_s: f64) -> Scenario {
    let mut scenario = Scenario { name: name.into(), ..range_bearing() };
    (scenario.trajectory.radius_m, scenario.trajectory.lap_s, scenario.trajectory.laps) = (20.0, 80.0, 3.0);
    scenario.odometry =
        OdometryConfig { velocity_x_std: 0.05, velocity_y_std: 0.05, yaw_rate_std: 0.02, ..scenario.odometry };
    scenario.initial = InitialErrorConfig { position_std_m: 1.0, yaw_std_rad: 0.1 };
    let outside = &mut scenario.outside;
    (outside.rate_hz, outside.std_m, outside.error_std_m, outside.error_time_s) = (1.0, 0.1, 0.5, 20.0);
    (outside.x_m, outside.y_m) = (0.3, -0.2);
    (outside.outage_start_s, outside.outage_s) = (100.0, outage_s);
    scenario
}

/// Everything at once: posts by range and bearing, beacons by range, marks by bearing, and a receiver in a world that
/// the map is not in yet.
fn mixed() -> Scenario {
    let mut scenario = Scenario { name: "mixed".into(), forget_after_s: 0.0, ..gnss("mixed", 30.0) };
    scenario.initial = InitialErrorConfig::default();
    scenario.world.density_per_m2 = 0.06;
    scenario.world.margin_m = 8.0;
    (scenario.sensor.max_range_m, scenario.sensor.rate_hz) = (8.0, 5.0);
    scenario.ranges = SingleSensorConfig { rate_hz: 2.0, std: 0.2, max_range_m: 15.0, every: 5, alone: true };
    scenario.bearings = SingleSensorConfig { rate_hz: 5.0, std: 0.01, max_range_m: 8.0, every: 3, alone: true };
    let outside = &mut scenario.outside;
    outside.frame = WorldFrame::Estimated;
    (outside.world_x_m, outside.world_y_m, outside.world_yaw_rad) = (500.0, -300.0, 2.0);
    scenario
}

/// Every scenario that has a name.
fn all() -> Vec<Scenario> {
    let mut scenarios = Vec::new();
    for path in [PathKind::Line, PathKind::Circle, PathKind::General] {
        for rate_hz in [10.0, 20.0] {
            for high in [false, true] {
                scenarios.extend([1, 2, 4].map(|q| thesis(path, rate_hz, high, q)));
            }
        }
    }
    scenarios.extend([
        esde(),
        esde_exponential(),
        standstill(),
        long(),
        heading_uncertainty(),
        range_bearing(),
        relative_position(),
        close_pass(),
        features_behind(),
        robot(),
        ConeTrack::generated().scenario(),
        hall(),
        beacons("beacons", 4),
        beacons("beacons-8", 8),
        bearing_only(),
        gnss("gnss", 0.0),
        gnss("gnss-outage", 60.0),
        mixed(),
    ]);
    scenarios.extend(disturbed(&range_bearing()));
    scenarios.extend(orchard_named("orchard"));
    scenarios
}

/// A name that is no scenario's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no scenario is called '{0}'; there are: {names}", names = Scenario::names().join(", "))]
pub struct UnknownScenario(pub String);

impl Scenario {
    /// The names that [`Scenario::named`] knows.
    pub fn names() -> Vec<String> {
        all().into_iter().map(|scenario| scenario.name).collect()
    }

    /// A shipped scenario, by name; `orchard:N` is an orchard of N trees, 20 to 30,000.
    ///
    /// # Errors
    /// [`UnknownScenario`], which lists the names there are.
    pub fn named(name: &str) -> Result<Self, UnknownScenario> {
        let shipped = || all().into_iter().find(|scenario| scenario.name == name);
        shipped().or_else(|| orchard_named(name)).ok_or_else(|| UnknownScenario(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_shipped_scenarios_are_valid_and_have_names_of_their_own() {
        let names = Scenario::names();
        assert_eq!(names.len(), 36 + 26);
        for name in &names {
            assert_eq!(names.iter().filter(|other| *other == name).count(), 1);
            assert_eq!(Scenario::named(name).unwrap().validate(), Ok(()), "{name}");
        }
    }

    #[test]
    fn the_default_is_the_thesis_circle_with_a_wider_limit_of_range() {
        let thesis = Scenario { thesis_range_factor: 1.0, ..Scenario::default() };
        assert_eq!(Scenario::named("thesis-circle-10hz-low-q1"), Ok(thesis));
    }

    #[test]
    fn the_numbers_of_the_thesis_are_in_its_scenes() {
        let scenario = Scenario::named("thesis-line-20hz-high-q4").unwrap();
        assert_eq!((scenario.odometry.rate_hz, scenario.sensor.rate_hz), (20.0, 20.0));
        assert_eq!(scenario.sensor.bearing_std_rad, 0.02);
        assert_eq!(scenario.world.density_per_m2, 1.8);
        assert_eq!(scenario.odometry.yaw_rate_std.powi(2), 0.1 * 0.1);
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let text = Scenario::named("circle").unwrap_err().to_string();
        assert!(text.contains("'circle'") && text.contains("thesis-general-20hz-high-q4") && text.contains("esde"));
    }
}
