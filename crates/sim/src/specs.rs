//! The table of everything that can be set about a simulation, and the checks that concern more than one value.

use super::scenario::{Scenario, WorldKind};
use lienav_base::settings::{Allowed, OutOfRange, Spec, fixed as spec};
use std::f64::consts::TAU;

/// A simulation of more odometry samples than this is a mistake.
const MAX_SAMPLES: f64 = 1e8;

/// Every setting of [`Scenario`], in the order of its fields. None may change while running.
pub const SPECS: &[Spec] = {
    use Allowed::{Any, Range, Words};
    const LENGTH: Allowed = Range(1e-3, 1e5);
    const DISTANCE: Allowed = Range(0.0, 1e5);
    const COORDINATE: Allowed = Range(-1e6, 1e6);
    const OFFSET: Allowed = Range(-100.0, 100.0);
    const ANGLE: Allowed = Range(-TAU, TAU);
    const SECONDS: Allowed = Range(1e-3, 1e6);
    const RATE: Allowed = Range(1e-3, 1e4);
    const STD: Allowed = Range(0.0, 100.0);
    &[
        spec("name", Any, "What the scenario is called in reports."),
        spec("seed", Range(0.0, 9_007_199_254_740_991.0), "All random numbers come from this."),
        spec("truth", Words(&["exact", "euler"]), "Whether the true pose is the trajectory, or its Euler sum."),
        spec("trajectory.path", Words(&["line", "circle", "arc", "static", "general"]), "The shape of the trajectory."),
        spec("trajectory.start_x_m", COORDINATE, "Where the frame of the path lies in the map, m."),
        spec("trajectory.start_y_m", COORDINATE, "Where the frame of the path lies in the map, m."),
        spec("trajectory.start_yaw_rad", ANGLE, "How the frame of the path is turned against the map, rad."),
        spec("trajectory.speed_m_s", Range(1e-3, 100.0), "Speed of line and arc, m/s."),
        spec("trajectory.yaw_rate_rad_s", Range(-50.0, 50.0), "Yaw rate of the arc, rad/s."),
        spec("trajectory.duration_s", SECONDS, "Duration of arc and standstill, s."),
        spec("trajectory.length_m", LENGTH, "Length of the line, m."),
        spec("trajectory.radius_m", LENGTH, "Radius of the circle, m."),
        spec("trajectory.lap_s", SECONDS, "Duration of a lap of the circle, s."),
        spec("trajectory.laps", Range(1e-3, 1e5), "Laps of the circle."),
        spec("trajectory.waypoints_x_m", Any, "Waypoints of the general path, m."),
        spec("trajectory.waypoints_y_m", Any, "Waypoints of the general path, m."),
        spec("trajectory.knot_interval_s", SECONDS, "Time from one waypoint to the next, where nothing limits it, s."),
        spec("trajectory.max_speed_m_s", STD, "Limit of the speed on the general path, m/s; 0 for none."),
        spec("trajectory.max_yaw_rate_rad_s", STD, "Limit of the yaw rate on the general path, rad/s; 0 for none."),
        spec("world.layout", Words(&["scattered", "ring", "listed"]), "How the features are laid out."),
        spec("world.density_per_m2", Range(0.0, 1e3), "Scattered features for each square metre."),
        spec("world.margin_m", Range(0.01, 1e3), "Scattered features lie at most this far from the path, m."),
        spec("world.clearance_m", Range(0.0, 1e3), "Scattered features lie at least this far from the path, m."),
        spec("world.ring_count", Range(0.0, 1e5), "Features on the ring."),
        spec("world.ring_radius_m", LENGTH, "Radius of the ring, m."),
        spec("world.ring_x_m", COORDINATE, "Centre of the ring, m."),
        spec("world.ring_y_m", COORDINATE, "Centre of the ring, m."),
        spec("world.features_x_m", Any, "Listed features, m."),
        spec("world.features_y_m", Any, "Listed features, m."),
        spec("odometry.rate_hz", RATE, "Odometry samples a second."),
        spec(
            "odometry.twist",
            Words(&["exponential", "euler", "instant"]),
            "Whether a sample stands for a constant twist, for an Euler step, or for its instant alone.",
        ),
        spec("odometry.velocity_x_std", STD, "Noise of the forward velocity, m/s (or m/sqrt(s), see odometry.noise)."),
        spec("odometry.velocity_y_std", STD, "Noise of the leftward velocity; same unit."),
        spec("odometry.yaw_rate_std", STD, "Noise of the yaw rate, rad/s (or rad/sqrt(s))."),
        spec(
            "odometry.noise",
            Words(&["per_sample", "spectral_density"]),
            "Whether these three are of one sample or the root of a spectral density.",
        ),
        spec("odometry.velocity_scale", Range(0.01, 100.0), "Measured velocities are the true ones times this."),
        spec("odometry.yaw_rate_scale", Range(0.01, 100.0), "The measured yaw rate is the true one times this."),
        spec("odometry.yaw_rate_bias_rad_s", Range(-10.0, 10.0), "Offset of the measured yaw rate, rad/s."),
        spec("odometry.report_covariance", Any, "Whether each sample carries its covariance."),
        spec(
            "sensor.kind",
            Words(&["relative_position", "range_bearing", "stereo_bearings"]),
            "What the feature sensor measures.",
        ),
        spec("sensor.rate_hz", RATE, "Clouds of features a second; no more than odometry samples."),
        spec("sensor.first_s", Range(0.0, 1e6), "When the first cloud of features falls due, s."),
        spec("sensor.x_m", OFFSET, "Position of the sensor in the base frame, forward, m."),
        spec("sensor.y_m", OFFSET, "Position of the sensor in the base frame, left, m."),
        spec("sensor.yaw_rad", ANGLE, "Heading of the sensor in the base frame, rad."),
        spec("sensor.baseline_m", Range(1e-3, 10.0), "Distance between the cameras of a stereo pair, m."),
        spec("sensor.field_of_view_rad", Range(1e-3, TAU), "Full angle of view, of each camera of a pair, rad."),
        spec("sensor.min_range_m", DISTANCE, "Features nearer to the sensor than this are not seen, m."),
        spec("sensor.max_range_m", DISTANCE, "Features farther from the sensor than this are not seen, m."),
        spec("sensor.position_std_m", STD, "Noise of either coordinate of a relative position, m."),
        spec("sensor.range_std_m", STD, "Noise of a range, m."),
        spec("sensor.bearing_std_rad", STD, "Noise of a bearing, also of each camera of a pair, rad."),
        spec("sensor.range_bias_m", OFFSET, "Offset of measured ranges, m."),
        spec("sensor.bearing_bias_rad", ANGLE, "Offset of measured bearings, rad."),
        spec("sensor.misread_probability", Range(0.0, 1.0), "Probability that an observation is of a random place."),
        spec("sensor.identified", Any, "Whether observations say which feature they are of."),
        spec("imu.rate_hz", Range(0.0, 1e4), "Inertial readings a second, no more than odometry samples; 0 for none."),
        spec("imu.gyro_std_rad_s", STD, "Noise of a yaw rate of the gyroscope, rad/s."),
        spec("imu.gyro_bias_rad_s", Range(-10.0, 10.0), "Offset of the gyroscope, rad/s."),
        spec("imu.accel_std_m_s2", STD, "Noise of either component of the acceleration, m/s^2."),
        spec("imu.accel_bias_x_m_s2", OFFSET, "Offset of the forward acceleration, m/s^2."),
        spec("imu.accel_bias_y_m_s2", OFFSET, "Offset of the leftward acceleration, m/s^2."),
        spec("initial.position_std_m", STD, "Standard deviation of either coordinate the filter starts with, m."),
        spec("initial.yaw_std_rad", STD, "Standard deviation of the heading the filter starts with, rad."),
        spec("forget_after_s", Range(0.0, 1e9), "The filter drops features not seen for this long, s; 0 keeps them."),
    ]
};

/// The checks that concern more than one value, and the lists.
pub(super) fn check_relations(scenario: &Scenario) -> Result<(), OutOfRange> {
    let (odometry, sensor, imu) = (&scenario.odometry, &scenario.sensor, &scenario.imu);
    let (trajectory, world) = (&scenario.trajectory, &scenario.world);
    at_most("sensor.rate_hz", sensor.rate_hz, odometry.rate_hz, "odometry.rate_hz")?;
    at_most("imu.rate_hz", imu.rate_hz, odometry.rate_hz, "odometry.rate_hz")?;
    at_most("sensor.min_range_m", sensor.min_range_m, sensor.max_range_m, "sensor.max_range_m")?;
    if world.layout == WorldKind::Scattered {
        at_most("world.clearance_m", world.clearance_m, world.margin_m, "world.margin_m")?;
    }
    check_points("trajectory.waypoints_y_m", &trajectory.waypoints_x_m, &trajectory.waypoints_y_m)?;
    check_points("world.features_y_m", &world.features_x_m, &world.features_y_m)
}

/// Refuses a run so long that nobody can mean it.
pub(super) fn check_length(duration_s: f64, rate_hz: f64) -> Result<(), OutOfRange> {
    at_most("odometry.rate_hz", rate_hz, MAX_SAMPLES / duration_s, "1e8 samples for the duration of the trajectory")
}

fn at_most(name: &'static str, value: f64, bound: f64, meaning: &str) -> Result<(), OutOfRange> {
    if value <= bound {
        return Ok(());
    }
    Err(OutOfRange { name, value: value.to_string(), allowed: format!("at most {bound}, which is {meaning}") })
}

/// Two lists of coordinates, equally long and finite.
fn check_points(name: &'static str, x: &[f64], y: &[f64]) -> Result<(), OutOfRange> {
    let error = |value: String, allowed: &str| Err(OutOfRange { name, value, allowed: allowed.into() });
    if x.len() != y.len() {
        return error(format!("a list of {}", y.len()), &format!("as many y as x coordinates, {}", x.len()));
    }
    match x.iter().chain(y).find(|value| !(-1e6..=1e6).contains(*value)) {
        Some(value) => error(format!("a list with {value}"), "-1000000 … 1000000, in x and y"),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lienav_base::settings::lookup;
    use serde_json::Value;

    fn leaves(prefix: &str, node: &Value, out: &mut Vec<String>) {
        match node.as_object() {
            Some(map) => map.iter().for_each(|(key, value)| {
                let name = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
                leaves(&name, value, out);
            }),
            None => out.push(prefix.to_owned()),
        }
    }

    #[test]
    fn every_setting_is_described_once() {
        let tree = serde_json::to_value(Scenario::default()).unwrap();
        let mut found = Vec::new();
        leaves("", &tree, &mut found);
        let mut described: Vec<String> = SPECS.iter().map(|s| s.name.to_owned()).collect();
        assert!(SPECS.iter().all(|s| lookup(&tree, s.name).is_some()));
        found.sort();
        described.sort();
        assert_eq!(found, described);
    }

    fn refusal(change: impl Fn(&mut Scenario)) -> String {
        let mut scenario = Scenario::default();
        change(&mut scenario);
        scenario.validate().unwrap_err().to_string()
    }

    #[test]
    fn a_refusal_names_the_parameter_its_value_and_what_is_allowed() {
        let text = refusal(|s| s.sensor.bearing_std_rad = -1.0);
        assert_eq!(text, "parameter 'sensor.bearing_std_rad' is -1.0; allowed: 0 … 100");
        let text = refusal(|s| s.sensor.rate_hz = 20.0);
        assert_eq!(text, "parameter 'sensor.rate_hz' is 20; allowed: at most 10, which is odometry.rate_hz");
        let text = refusal(|s| s.trajectory.waypoints_x_m.truncate(2));
        assert!(text.contains("'trajectory.waypoints_y_m' is a list of 13; allowed: as many y as x"), "{text}");
        let text = refusal(|s| s.trajectory.waypoints_x_m[3] = f64::NAN);
        assert!(text.contains("a list with NaN"), "{text}");
        assert!(refusal(|s| s.forget_after_s = f64::INFINITY).contains("not a number"));
    }

    #[test]
    fn a_scenario_survives_yaml_and_a_short_one_keeps_defaults() {
        for name in Scenario::names() {
            let scenario = Scenario::named(&name).unwrap();
            assert_eq!(Scenario::from_yaml(&scenario.to_yaml().unwrap()), Ok(scenario));
        }
        let short = Scenario::from_yaml("name: mine\ntrajectory: {path: line, length_m: 5}\n").unwrap();
        assert_eq!((short.trajectory.length_m, short.odometry.clone()), (5.0, Scenario::default().odometry));
        let text = Scenario::from_yaml("trajectory: {path: lane}").unwrap_err().to_string();
        assert!(text.contains("lane") && text.contains("circle"), "{text}");
        assert!(Scenario::from_yaml("sensr: {}").unwrap_err().to_string().contains("sensr"));
    }
}
