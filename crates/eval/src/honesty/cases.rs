//! The simulated cases: what the filter is told, and what is so.

use lienav_sim::{Scenario, Simulation};
use lienav_slam::{Config, MeasurementKind};

/// Factors by which the standard deviations that a filter is told differ from what they are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClaimedNoise {
    /// Of measurements.
    pub sensor: f64,
    /// Of odometry.
    pub odometry: f64,
}

/// The factors that are tried, alone and together.
const FACTORS: [f64; 4] = [0.25, 0.5, 2.0, 4.0];

/// A scenario, and ways to run the default filter in it; the first is the one the others are compared with.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// What is wrong in it.
    pub name: String,
    /// As [`Scenario::named`] knows it.
    pub scenario: String,
    /// Names of ways, and the settings of each over those that the scenario gives.
    pub methods: Vec<(&'static str, Vec<(String, String)>)>,
}

/// All of them.
pub fn cases() -> Vec<Case> {
    let mut all = vec![wrong_claim(ClaimedNoise { sensor: 1.0, odometry: 1.0 })];
    all.extend(FACTORS.map(|sensor| wrong_claim(ClaimedNoise { sensor, odometry: 1.0 })));
    all.extend(FACTORS.map(|odometry| wrong_claim(ClaimedNoise { sensor: 1.0, odometry })));
    let both = [(0.25, 0.25), (4.0, 4.0), (0.25, 4.0), (4.0, 0.25)];
    all.extend(both.map(|(sensor, odometry)| wrong_claim(ClaimedNoise { sensor, odometry })));
    for (scenario, seconds) in [("alike-0.5s", "0.5"), ("alike-2s", "2"), ("alike-5s", "5")] {
        let name = format!("errors of readings stay alike for {seconds} s");
        all.push(disturbed(&name, scenario, vec![set("sensor.correlation_s", seconds)]));
    }
    // A mixture of 19 measurements with σ and one with 5 σ has the variance (19 + 25)/20 σ².
    all.push(disturbed(
        "one reading in twenty with 5 σ",
        "heavy-tails",
        sensor_by("heavy-tails", (44.0_f64 / 20.0).sqrt()),
    ));
    all.push(disturbed("noise tripled in the middle", "noise-tripled", sensor_by("noise-tripled", 3.0)));
    let calibrated = ["calibration.scale_v.sigma", "calibration.scale_w.sigma"].map(|name| set(name, "0.05")).to_vec();
    let mut scales = disturbed("speeds 3 % too large, yaw rates 3 % too small", "scales-off", calibrated.clone());
    scales.methods[2].1.extend(calibrated);
    all.push(scales);
    let unchanged =
        ["thesis-line-10hz-low-q1", "thesis-circle-10hz-low-q1", "thesis-general-10hz-low-q1", "esde", "static"];
    all.extend(unchanged.map(|scenario| {
        let methods = vec![("truth", Vec::new()), ("learns", vec![learning()])];
        Case { name: format!("{scenario}, noise as told"), scenario: scenario.into(), methods }
    }));
    all
}

fn set(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

fn learning() -> (String, String) {
    set("learning.enabled", "true")
}

fn wrong_claim(claimed: ClaimedNoise) -> Case {
    let scenario = "range-bearing";
    let mut wrong = sensor_by(scenario, claimed.sensor);
    wrong.extend(odometry_by(scenario, claimed.odometry));
    let name = format!("{scenario}, told σ of sensor × {}, odometry × {}", claimed.sensor, claimed.odometry);
    let learns = wrong.iter().cloned().chain([learning()]).collect();
    Case { name, scenario: scenario.into(), methods: vec![("truth", Vec::new()), ("told", wrong), ("learns", learns)] }
}

/// A scenario whose noise is another than stated, beside a filter with the settings `truth`.
fn disturbed(name: &str, scenario: &str, truth: Vec<(String, String)>) -> Case {
    let methods = vec![("truth", truth), ("told", Vec::new()), ("learns", vec![learning()])];
    Case { name: name.into(), scenario: scenario.into(), methods }
}

/// What the scenario tells a filter.
fn config(scenario: &str) -> Config {
    // Shipped scenarios can be simulated; a test runs over all cases.
    let simulation = Scenario::named(scenario).ok().and_then(|scenario| Simulation::new(&scenario).ok());
    simulation.map_or_else(Config::default, |simulation| simulation.filter_config("default"))
}

fn sensor_by(scenario: &str, factor: f64) -> Vec<(String, String)> {
    let sensor = config(scenario).sensor;
    let by = |name: &str, value: f64| set(name, &(value * factor).to_string());
    match sensor.kind {
        MeasurementKind::RelativePosition => vec![by("sensor.position_std_m", sensor.position_std_m)],
        MeasurementKind::RangeBearing => {
            vec![by("sensor.range_std_m", sensor.range_std_m), by("sensor.bearing_std_rad", sensor.bearing_std_rad)]
        }
        _ => vec![by("sensor.bearing_std_rad", sensor.bearing_std_rad)],
    }
}

fn odometry_by(scenario: &str, factor: f64) -> Vec<(String, String)> {
    let motion = config(scenario).motion;
    let by = |name: &str, value: f64| set(name, &(value * factor).to_string());
    vec![
        by("motion.velocity_x_std", motion.velocity_x_std),
        by("motion.velocity_y_std", motion.velocity_y_std),
        by("motion.yaw_rate_std", motion.yaw_rate_std),
    ]
}
