//! The checks of a scenario, also those that concern more than one value.

use super::scenario::{PathKind, SPECS, Scenario, WorldKind};
use lienav_base::settings::{OutOfRange, check};

/// A simulation of more odometry samples than this is a mistake.
const MAX_SAMPLES: f64 = 1e8;

/// No world has more classes.
const MAX_CLASS: f64 = 255.0;

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
    check_points("world.features_y_m", &world.features_x_m, &world.features_y_m)?;
    check_classes(&world.features_class, world.features_x_m.len())
}

/// The settings of the trajectory that only some paths use.
const USED_BY: [(&str, &[PathKind]); 12] = [
    ("trajectory.length_m", &[PathKind::Line]),
    ("trajectory.speed_m_s", &[PathKind::Line, PathKind::Arc]),
    ("trajectory.radius_m", &[PathKind::Circle]),
    ("trajectory.lap_s", &[PathKind::Circle]),
    ("trajectory.laps", &[PathKind::Circle]),
    ("trajectory.yaw_rate_rad_s", &[PathKind::Arc]),
    ("trajectory.duration_s", &[PathKind::Arc, PathKind::Static]),
    ("trajectory.waypoints_x_m", &[PathKind::General]),
    ("trajectory.waypoints_y_m", &[PathKind::General]),
    ("trajectory.knot_interval_s", &[PathKind::General]),
    ("trajectory.max_speed_m_s", &[PathKind::General]),
    ("trajectory.max_yaw_rate_rad_s", &[PathKind::General]),
];

impl Scenario {
    /// Checks every value by itself, and those that must fit each other.
    ///
    /// # Errors
    /// The first value that is out of range, with name, value and what is allowed.
    pub fn validate(&self) -> Result<(), OutOfRange> {
        check(self, SPECS)?;
        check_relations(self)
    }

    /// Checks that a setting that was named on purpose is one that this scenario's path uses. A whole scenario holds
    /// all settings, used or not, so [`Scenario::validate`] cannot know.
    ///
    /// # Errors
    /// The sentence to show the user: the setting has no effect on this path.
    pub fn check_effect(&self, name: &str) -> Result<(), String> {
        let path = self.trajectory.path;
        match USED_BY.iter().find(|(setting, _)| *setting == name) {
            Some((_, paths)) if !paths.contains(&path) => {
                let others: Vec<String> = paths.iter().map(|path| format!("'{}'", word(*path))).collect();
                Err(format!("{name} has no effect on path '{}', only on {}", word(path), others.join(" and ")))
            }
            _ => Ok(()),
        }
    }
}

/// How a path is called in settings; the words stand in the order of the values.
fn word(path: PathKind) -> &'static str {
    PathKind::WORDS[path as usize]
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

/// A class for each listed feature, or for none.
fn check_classes(classes: &[f64], features: usize) -> Result<(), OutOfRange> {
    let error = |value: String, allowed: String| Err(OutOfRange { name: "world.features_class", value, allowed });
    if !classes.is_empty() && classes.len() != features {
        return error(format!("a list of {}", classes.len()), format!("as many as listed features, {features}"));
    }
    match classes.iter().find(|class| class.fract() != 0.0 || !(1.0..=MAX_CLASS).contains(*class)) {
        Some(class) => error(format!("a list with {class}"), format!("whole numbers, 1 … {MAX_CLASS}")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let text = refusal(|s| s.world.features_class = vec![1.0]);
        assert!(
            text.contains("'world.features_class' is a list of 1; allowed: as many as listed features, 0"),
            "{text}"
        );
        let text = refusal(|s| {
            (s.world.features_x_m, s.world.features_y_m) = (vec![1.0], vec![2.0]);
            s.world.features_class = vec![1.5];
        });
        assert!(text.contains("a list with 1.5; allowed: whole numbers, 1 … 255"), "{text}");
        let text = refusal(|s| s.trajectory.waypoints_x_m[3] = f64::NAN);
        assert!(text.contains("a list with NaN"), "{text}");
        assert!(refusal(|s| s.forget_after_s = f64::INFINITY).contains("not a number"));
    }

    #[test]
    fn a_setting_of_another_path_has_no_effect() {
        let mut scenario = Scenario::default();
        assert_eq!(scenario.check_effect("trajectory.laps"), Ok(()));
        scenario.trajectory.path = PathKind::Line;
        let refused = "trajectory.laps has no effect on path 'line', only on 'circle'";
        assert_eq!(scenario.check_effect("trajectory.laps"), Err(refused.to_owned()));
        for name in ["trajectory.length_m", "trajectory.start_x_m", "sensor.rate_hz"] {
            assert_eq!(scenario.check_effect(name), Ok(()));
        }
        for (name, _) in USED_BY {
            assert!(crate::SPECS.iter().any(|spec| spec.name == name), "{name}");
        }
    }

    #[test]
    fn of_a_file_that_is_not_a_scenario_nothing_is_repeated() {
        for text in ["root:x:0:0:secret\ndaemon:x:1:1:secret\n", "- secret\n", "a: b\n  secret: [\n"] {
            let error = Scenario::from_yaml(text).unwrap_err().to_string();
            let says = error.contains("not a scenario: line ") && error.contains("YAML mapping of settings");
            assert!(says && !error.contains("secret"), "{error}");
        }
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
