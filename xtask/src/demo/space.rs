//! The third act: a body in space with an inertial sensor and a pair of cameras, its node, and a bag of what it heard, which
//! is judged afterwards by the same filter.

use super::{Cast, PATIENCE, SETTLING, ros_arguments};
use crate::steps;
use anyhow::{Context, Result};
use std::fs;
use std::sync::atomic::AtomicBool;

/// A circle of 30 s, after two seconds in which the body stands.
const SCENARIO: &str = "space:circle-stereo-industrial-standing-30s";
/// Simulated seconds in a second.
const RATE: &str = "3.0";
/// What `slam3d_node` hears and says, and the truth.
const TOPICS: [&str; 7] =
    ["/imu", "/features", "/camera_info", "/tf_static", "/initialpose", "/ground_truth/pose", "/pose"];
/// Noise and cameras as the simulator makes them.
const PARAMETERS: &str = "slam3d_node:
  ros__parameters:
    imu: {gyro_noise: 0.00017, accelerometer_noise: 0.002, gyro_walk: 0.000019, accelerometer_walk: 0.003}
    imu.interpolation: cubic
    sensor.baseline_m: 0.12
";

/// Flies, records, and judges the bag.
pub fn act(cast: &mut Cast<'_>, seed: u64, interrupted: &AtomicBool) -> Result<()> {
    let folder = cast.out.join("space");
    fs::create_dir_all(&folder).with_context(|| format!("could not make {}", folder.display()))?;
    let parameters = folder.join("slam3d.yaml");
    fs::write(&parameters, PARAMETERS).with_context(|| format!("could not write {}", parameters.display()))?;
    let (bag, parameters) = (folder.join("bag").display().to_string(), parameters.display().to_string());
    steps::quiet("a body in space: an inertial sensor, a pair of cameras, slam3d_node, and a bag", || {
        let record = [&["record", &bag, "--topics"][..], &TOPICS].concat();
        cast.start("record", "lienav", &record.into_iter().map(str::to_owned).collect::<Vec<_>>())?;
        let node = ros_arguments(&["--params-file", &parameters, "-p", "publish_tf:=false"]);
        cast.start("slam3d_node", "slam3d_node", &node)?;
        let [scenario, rate, seed] =
            [format!("scenario:={SCENARIO}"), format!("rate:={RATE}"), format!("seed:={seed}")];
        let settings = [&scenario, &rate, &seed, "wait_for_subscribers:=2", "exit_at_end:=true", "publish_tf:=false"];
        let arguments: Vec<&str> = settings.into_iter().flat_map(|setting| ["-p", setting]).collect();
        cast.start("simulator_node", "simulator_node", &ros_arguments(&arguments))?;
        cast.running.wait_for("simulator_node", PATIENCE, interrupted)?;
        std::thread::sleep(SETTLING);
        cast.running.interrupt("slam3d_node")?;
        cast.running.wait_for("slam3d_node", PATIENCE, interrupted)?;
        cast.running.interrupt("record")?;
        cast.running.wait_for("record", PATIENCE, interrupted)
    })?;
    let out = folder.display().to_string();
    let judge = ["evaluate", &bag, "--config", &parameters, "--out", &out];
    cast.start("evaluate-space", "lienav", &judge.map(str::to_owned))?;
    cast.running.wait_for("evaluate-space", PATIENCE, interrupted)
}
