//! Two measurements that lienav does not have, written in this file alone: a bearing to beacons that were surveyed, and
//! a pose of three numbers. The filter, the simulator, Monte Carlo and the batch estimate take them as they are.
//!
//! | | |
//! |---|---|
//! | state | X = (p, θ), pose of the base in the map; no landmarks are estimated here |
//! | motion | as in `01_range_bearing_slam`, with the noise of the scenario `range-bearing` |
//! | bearing | y = ∠(T⁻¹ b_k) + n, b_k a beacon at a known place, T = X·M the sensor's pose; n ~ N(0, (0.01 rad)²), 5 Hz, to 40 m |
//! | ∂y/∂(x, y, θ) of T | (Δ_y, −Δ_x, −r²)/r², Δ = b_k − p_T, r = ‖Δ‖ |
//! | pose | y = (x, y, θ) of T + n, n ~ N(0, diag(0.3 m, 0.3 m, 0.1 rad)²), 0.7 Hz |
//! | ∂y/∂(x, y, θ) of T | I |
//!
//!     cargo run --no-default-features --example 03_a_sensor_of_your_own

use lienav_eval::monte_carlo::{Experiment, Report, to_text};
use lienav_sim::Scenario;
use lienav_slam::{Component, PoseMeasurement, Se2, Sensor};
use nalgebra::{Matrix1, Matrix1x3, Matrix3, Vector1, Vector2, Vector3};
use std::error::Error;

/// The bearing of a beacon whose place is known, rad: a measurement of one number.
#[derive(Debug)]
struct BearingToBeacon {
    beacons: Vec<(u32, Vector2<f64>)>,
    std_rad: f64,
    largest_range_m: f64,
}

impl BearingToBeacon {
    fn place(&self, id: Option<u32>) -> Option<Vector2<f64>> {
        self.beacons.iter().find(|(known, _)| Some(*known) == id).map(|(_, place)| *place)
    }
}

impl PoseMeasurement<1> for BearingToBeacon {
    fn components(&self) -> [Component; 1] {
        [Component::Bearing]
    }

    fn noise(&self) -> Matrix1<f64> {
        Matrix1::new(self.std_rad * self.std_rad)
    }

    fn predict(&self, sensor: &Se2, id: Option<u32>) -> Option<Vector1<f64>> {
        let z = sensor.transform_back(&self.place(id)?);
        Some(Vector1::new(z.y.atan2(z.x)))
    }

    fn jacobian(&self, sensor: &Se2, id: Option<u32>) -> Option<Matrix1x3<f64>> {
        let delta = self.place(id)? - sensor.p;
        let square = delta.norm_squared();
        (square > 1e-12).then(|| Matrix1x3::new(delta.y, -delta.x, -square) / square)
    }

    fn measurements(&self, sensor: &Se2) -> Vec<Option<u32>> {
        let is_near = |place: &Vector2<f64>| (place - sensor.p).norm() < self.largest_range_m;
        self.beacons.iter().filter(|(_, place)| is_near(place)).map(|(id, _)| Some(*id)).collect()
    }
}

/// The whole pose, as a motion capture or a matcher of scans gives it: a measurement of three numbers.
#[derive(Debug)]
struct WholePose {
    std: Vector3<f64>,
}

impl PoseMeasurement<3> for WholePose {
    fn components(&self) -> [Component; 3] {
        [Component::Linear, Component::Linear, Component::Angle]
    }

    fn noise(&self) -> Matrix3<f64> {
        Matrix3::from_diagonal(&self.std.component_mul(&self.std))
    }

    fn predict(&self, sensor: &Se2, _: Option<u32>) -> Option<Vector3<f64>> {
        Some(Vector3::new(sensor.p.x, sensor.p.y, sensor.theta))
    }

    fn jacobian(&self, _: &Se2, _: Option<u32>) -> Option<Matrix3<f64>> {
        Some(Matrix3::identity())
    }
}

/// Runs the example; an error, or a panic, where it does not find what it is about.
pub fn main() -> Result<(), Box<dyn Error>> {
    let beacons = [(-14.0, -9.0), (15.0, -8.0), (14.0, 24.0), (-15.0, 22.0)];
    let beacons = (0..).zip(beacons.map(|(x, y)| Vector2::new(x, y))).collect();
    let mount = Se2::new(0.2, 0.0, 0.1);
    let bearing = Sensor::of_pose(BearingToBeacon { beacons, std_rad: 0.01, largest_range_m: 40.0 }, mount);
    let pose = Sensor::of_pose(WholePose { std: Vector3::new(0.3, 0.3, 0.1) }, Se2::identity());

    // The scenario's own sensor is off: all that is known comes from the two.
    let mut scenario = Scenario::named("range-bearing")?;
    scenario.sensor.first_s = 1e4;
    scenario.initial.position_std_m = 0.1;
    scenario.initial.yaw_std_rad = 0.05;
    let experiment = Experiment {
        scenario,
        filters: ["default", "ekf", "batch"].map(str::to_owned).to_vec(),
        settings: Vec::new(),
        sensors: vec![(bearing, 5.0), (pose, 0.7)],
        runs: 20,
        seed: 1,
    };
    let report = Report::new(&experiment.run(|| ())?).without_times();
    println!("{}", to_text(&report));

    for filter in &report.filters {
        let nees = filter.get("nees_mean").and_then(|value| value.value).unwrap_or(f64::NAN);
        assert!((2.4..3.75).contains(&nees), "{}: NEES {nees}", filter.name);
    }
    Ok(())
}
