//! The launch files, checked by `launch_files.py` with the Python that ROS 2 uses here.

use lienav_integrate::attitude::Method;
use lienav_sim::{PathKind, Scenario, Simulation};
use lienav_slam::Filter;
use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

#[test]
fn launch_files_start_what_they_say() {
    let python = std::env::var("LIENAV_PYTHON").unwrap_or_else(|_| "python3".into());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/launch_files.py");
    let output = match Command::new(&python).arg("-B").arg(script).output() {
        Ok(output) => output,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            println!("skipped: '{python}' is not installed; LIENAV_PYTHON names another");
            return;
        }
        Err(error) => panic!("'{python}' cannot be run: {error}"),
    };
    let report = String::from_utf8_lossy(&output.stderr);
    for line in report.lines().filter(|line| line.contains("skipped")) {
        println!("{line}");
    }
    assert!(output.status.success(), "{report}");
}

#[test]
fn the_general_path_starts_with_the_heading_that_slam_is_told() {
    let mut scenario = Scenario::default();
    scenario.trajectory.path = PathKind::General;
    let heading = Simulation::new(&scenario).unwrap().filter_config("default").initial.yaw_rad;
    let text = read("launch/simulation.launch.py");
    let told = text.split("START_YAW_RAD = {'general': ").nth(1).and_then(|rest| rest.split('}').next()).unwrap();
    assert!(
        (told.parse::<f64>().unwrap() - heading).abs() < 1e-12,
        "launch/simulation.launch.py: {told}, not {heading}"
    );
}

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

#[test]
fn launch_files_offer_every_filter() {
    for file in ["slam", "simulation", "bag"] {
        let text = read(&format!("launch/{file}.launch.py"));
        let list = text.split("FILTERS = (").nth(1).and_then(|rest| rest.split(')').next()).unwrap();
        let offered: Vec<&str> =
            list.split(|c: char| c.is_whitespace() || c == '\'').filter(|w| !w.is_empty()).collect();
        assert_eq!(offered, Filter::NAMES, "{file}.launch.py");
    }
}

#[test]
fn the_launch_file_of_attitude_offers_every_method() {
    let text = read("launch/attitude.launch.py");
    let list = text.split("METHODS = '").nth(1).and_then(|rest| rest.split('\'').next()).unwrap();
    assert_eq!(list.split(' ').collect::<Vec<_>>(), Method::NAMES);
}
