//! The command line as a user meets it: exit codes, one-line errors, reports, files.

mod judge;
mod kills;
mod maps;
mod self_test;
mod shards;

use serde_json::Value;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn lienav(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lienav"));
    command.args(words).env_remove("RUST_LOG");
    command
}

/// Standard output of a call that must succeed and say nothing on standard error: no progress in a pipe, no warnings.
fn output(words: &[&str]) -> String {
    let done = lienav(words).output().unwrap();
    let said = String::from_utf8(done.stderr).unwrap();
    assert!(done.status.success(), "{words:?}: {said}");
    assert_eq!(said, "", "{words:?}");
    String::from_utf8(done.stdout).unwrap()
}

/// The one line that a call says on standard error when it fails with this code.
fn complaint(words: &[&str], code: i32) -> String {
    let done = lienav(words).output().unwrap();
    let said = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(code), "{words:?}: {said}");
    assert_eq!((said.lines().count(), done.stdout.len()), (1, 0), "{words:?}: {said}");
    assert!(said.starts_with("lienav: "), "{said}");
    said
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// A short simulated run as a bag.
fn bag(folder: &Path) -> String {
    let bag = folder.join("circle").to_str().unwrap().to_owned();
    output(&["simulate", "--seed", "3", "--set", "trajectory.laps=0.5", "--out", &bag]);
    bag
}

const KEYS: [&str; 10] = [
    "filter",
    "steps",
    "position_rmse_m",
    "aligned_position_rmse_m",
    "position_max_m",
    "yaw_rmse_rad",
    "landmark_rmse_m",
    "nees_mean",
    "step_us",
    "dropped",
];

#[test]
fn a_wrong_call_exits_with_2_and_names_what_is_wrong_and_where_to_look() {
    let calls: [(&[&str], &str); 35] = [
        (&[], "subcommand"),
        (&["evalute"], "'evaluate'"),
        (&["evaluate"], "<SOURCE>"),
        (&["evaluate", "bag", "--filtr", "ekf"], "'--filter'"),
        (&["evaluate", "bag", "--filter", "kalman"], "thesis-reduced"),
        (&["evaluate", "bag", "--filter", "ekf", "--filter", "ekf"], "twice"),
        (&["evaluate", "bag", "--max-truth-gap", "-1"], "--max-truth-gap"),
        (&["evaluate", "mrclam:somewhere"], "mrclam:FOLDER:ROBOT"),
        (&["evaluate", "bag", "--live"], "--live"),
        (&["evaluate", "--live", "--pose", "a/b=pose"], "NAME=TOPIC"),
        (&["convert", "bag"], "<OUT>"),
        (&["play", "bag", "--rate", "0"], "--rate"),
        (&["simulate", "--out", "x", "--scenario", "thesis-square"], "thesis-circle-10hz-low-q1"),
        (&["simulate", "--out", "x", "--set", "trajectory.laps=-1"], "trajectory.laps"),
        (
            &["simulate", "--out", "x", "--set", "trajectory.path=line", "--set", "trajectory.laps=2"],
            "trajectory.laps has no effect on path 'line', only on 'circle'",
        ),
        (&["monte-carlo", "esde", "--rnus", "3"], "see `lienav monte-carlo --help`"),
        (&["parameters", "--markdown", "--yaml"], "--yaml"),
        (&["monte-carlo"], "<SCENARIO>"),
        (&["reproduce"], "<EXPERIMENT>"),
        (&["reproduce", "thesis-6"], "thesis-5"),
        (&["reproduce", "thesis-5", "--tables", "5.7"], "5.7"),
        (&["reproduce", "thesis-5", "--quick"], "--quick"),
        (&["reproduce", "thesis-2", "--runs", "3"], "--runs"),
        (&["reproduce", "thesis-5", "--recording", "imu.csv"], "--recording"),
        (&["observability", "thesis-line-10hz-low-q1", "--filters", "kalman"], "thesis-fe-ekf"),
        (&["observability", "woods:nowhere", "--set", "seed=2"], "--set seed"),
        (&["reproduce", "thesis-2", "--tables", "5.1"], "--tables"),
        (&["monte-carlo", "thesis-square"], "thesis-circle-10hz-low-q1"),
        (&["monte-carlo", "esde", "--runs", "0"], "--runs"),
        (&["monte-carlo", "esde", "--threads", "0"], "--threads"),
        (&["monte-carlo", "esde", "--threads", "1000000"], "1..=1024"),
        (&["monte-carlo", "esde", "--filters", "kalman"], "kalman"),
        (&["monte-carlo", "esde", "--filters", "ekf,ekf"], "twice"),
        (&["monte-carlo", "esde", "--set", "sensor.first_s=500"], "sensor.first_s"),
        (&["monte-carlo", "esde", "--filter-set", "choices.without=slip"], "gaussian_sum"),
    ];
    for (words, part) in calls {
        let line = complaint(words, 2);
        assert!(line.contains(part), "{words:?}: {line}");
    }
}

#[test]
fn what_cannot_be_done_exits_with_1_and_names_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing").to_str().unwrap().to_owned();
    for words in [
        vec!["evaluate", &missing],
        vec!["info", &missing],
        vec!["evaluate", &format!("woods:{missing}")],
        vec!["convert", &format!("mrclam:{missing}:1"), "out"],
    ] {
        let line = complaint(&words, 1);
        assert!(line.contains(&missing), "{line}");
    }
    let bag = bag(folder.path());
    let line = complaint(&["evaluate", &bag, "--config", &missing], 1);
    assert!(line.contains(&missing), "{line}");
    let line = complaint(&["simulate", "--out", &bag], 1);
    assert!(line.contains(&bag) && line.contains("--force"), "{line}");
    // Before the work, which for a whole reproduction takes long, and not after it.
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let below = file.join("below").to_str().unwrap().to_owned();
    for words in [["reproduce", "thesis-5"], ["monte-carlo", "esde"]] {
        let line = complaint(&[words[0], words[1], "--out", &below], 1);
        assert!(line.contains(&below) && line.contains("--out"), "{line}");
    }
}

#[test]
fn a_failure_names_the_file_what_happened_and_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let write = |name: &str, text: &str| {
        fs::create_dir_all(folder.path().join(name).parent().unwrap()).unwrap();
        fs::write(folder.path().join(name), text).unwrap();
        path(name)
    };
    let says = |words: &[&str], parts: &[&str]| {
        let line = complaint(words, 1);
        assert!(parts.iter().all(|part| line.contains(part)), "{line}");
        line
    };
    write("victoria_park/notes.txt", "");
    let no_bag =
        "not a rosbag2 bag: it has no metadata.yaml; a data set is given as woods:FOLDER or mrclam:FOLDER:ROBOT";
    says(&["evaluate", &path("victoria_park")], &[&path("victoria_park"), no_bag]);
    let not_replaced = "it is a file, not the folder of a bag; choose another folder";
    says(&["simulate", "--force", "--out", &write("file", "")], &[&path("file"), not_replaced]);
    let passwd = write("passwd", "root:x:0:0:secret\nbin:x:1:1:secret\n");
    let line =
        says(&["simulate", "--out", "x", "--scenario", &passwd], &[&passwd, "not a scenario: line 1: expected a"]);
    assert!(!line.contains("secret"), "{line}");
    write("woods/groundtruth.csv", "");
    write("woods/landmarks.csv", "");
    write("woods/measurements.csv", "");
    let woods = format!("woods:{}", path("woods"));
    let odometry = write("woods/odometry.csv", "t_s,v_mps,omega_radps\n");
    says(&["evaluate", &woods], &[&odometry, "no rows of odometry; expected rows of t_s,v_mps,omega_radps"]);
    write("woods/odometry.csv", "t_s,1,v_mps,omega_radps\n0,0,0,0\n");
    let header = "odometry.csv:1: the header is 't_s,1,v_mps,omega_radps'; expected 't_s,v_mps,omega_radps'";
    says(&["evaluate", &woods], &[header]);
}

#[test]
fn help_and_version_succeed_and_every_command_shows_an_example_or_its_options() {
    assert!(output(&["--version"]).starts_with("lienav 0."));
    for command in ["evaluate", "info", "convert", "play", "simulate", "monte-carlo", "reproduce", "parameters"] {
        let help = output(&[command, "--help"]);
        assert!(help.contains("Usage: lienav") && help.contains("Options:"), "{help}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_lienav"))
        .args(["parameters"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(said, "");
}

#[test]
fn json_has_the_keys_that_are_promised_and_numbers_in_them() {
    let folder = tempfile::tempdir().unwrap();
    let bag = bag(folder.path());
    let one = json(&output(&["evaluate", &bag, "--filter", "reduced", "--json"]));
    for key in KEYS {
        assert!(one.get(key).is_some_and(|value| !value.is_null()), "{key}: {one}");
    }
    assert_eq!(one["filter"], "reduced");
    for key in ["mean", "p50", "p99"] {
        assert!(one["step_us"][key].as_f64().is_some_and(|time| time > 0.0), "{one}");
    }
    let two = json(&output(&["evaluate", &bag, "--filter", "ekf", "--filter", "reduced", "--json"]));
    assert_eq!((two[0]["filter"].as_str(), two[1]["filter"].as_str()), (Some("ekf"), Some("reduced")));
    assert_eq!(two[1]["position_rmse_m"], one["position_rmse_m"]);
}

#[test]
fn an_evaluation_done_twice_gives_the_same_bytes_apart_from_the_time_of_a_step() {
    let folder = tempfile::tempdir().unwrap();
    let bag = bag(folder.path());
    let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
    for out in [&first, &second] {
        output(&["evaluate", &bag, "--filter", "reduced", "--out", out.to_str().unwrap()]);
    }
    for name in ["estimate.tum", "truth.tum", "errors.csv", "trajectory.svg", "errors.svg", "nees.svg"] {
        let read = |folder: &PathBuf| fs::read(folder.join(name)).unwrap();
        assert!(read(&first) == read(&second) && !read(&first).is_empty(), "{name}");
    }
    let report = |folder: &PathBuf| {
        let mut report = json(&fs::read_to_string(folder.join("report.json")).unwrap());
        report.as_object_mut().unwrap().remove("step_us").unwrap();
        report
    };
    assert_eq!(report(&first), report(&second));
    assert!(fs::read_to_string(first.join("report.txt")).unwrap().contains("position RMSE"));
}

#[test]
fn settings_come_from_the_bag_then_the_file_then_the_line() {
    let folder = tempfile::tempdir().unwrap();
    let bag = bag(folder.path());
    let file = folder.path().join("params.yaml");
    fs::write(&file, "/**: {ros__parameters: {use_sim_time: true, filter: ekf, map: {max_features: 3}}}").unwrap();
    let file = file.to_str().unwrap();
    let report = |more: &[&str]| json(&output(&[&["evaluate", &bag, "--json"], more].concat()));
    assert_eq!(report(&[])["filter"], "default");
    let small = report(&["--config", file]);
    assert_eq!((&small["filter"], &small["landmarks"]), (&Value::from("ekf"), &Value::from(3)));
    assert!(small["dropped"]["map_full"].as_u64().is_some_and(|n| n > 0), "{small}");
    let smaller = report(&["--config", file, "--set", "map.max_features=2", "--filter", "fe-ekf"]);
    assert_eq!((&smaller["filter"], &smaller["landmarks"]), (&Value::from("fe-ekf"), &Value::from(2)));
    let line = complaint(&["evaluate", &bag, "--set", "gate.probability=2"], 2);
    assert!(line.contains("gate.probability") && line.contains("0.5 … 1"), "{line}");
}

#[test]
fn what_info_says_of_a_simulated_bag_is_what_was_simulated() {
    let folder = tempfile::tempdir().unwrap();
    let info = json(&output(&["info", &bag(folder.path()), "--json"]));
    assert_eq!(info["odometry"]["messages"], info["features"]["messages"]);
    assert!((info["odometry"]["rate_hz"].as_f64().unwrap() - 10.0).abs() < 1e-9, "{info}");
    assert_eq!((&info["has_parameters"], &info["imu"]["messages"]), (&Value::from(true), &Value::from(0)));
    assert!(info["true_landmarks"].as_u64().is_some_and(|n| n > 0), "{info}");
}

#[test]
fn one_seed_is_one_bag_and_another_seed_another() {
    let folder = tempfile::tempdir().unwrap();
    let rmse = |seed: &str, name: &str| {
        let bag = folder.path().join(name).to_str().unwrap().to_owned();
        output(&["simulate", "--seed", seed, "--set", "trajectory.laps=0.25", "--out", &bag]);
        json(&output(&["evaluate", &bag, "--json"]))["position_rmse_m"].as_f64().unwrap()
    };
    let (a, again, other) = (rmse("5", "a"), rmse("5", "b"), rmse("6", "c"));
    assert_eq!(a, again);
    assert_ne!(a, other);
}

#[test]
fn the_parameter_file_that_is_printed_is_one_that_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("defaults.yaml");
    fs::write(&file, output(&["parameters", "--yaml"])).unwrap();
    let bag = bag(folder.path());
    let report = json(&output(&["evaluate", &bag, "--config", file.to_str().unwrap(), "--json"]));
    assert_eq!(report["filter"], "default");
    assert!(output(&["parameters"]).contains("| `gate.probability` | 0.999 |"));
}

#[cfg(not(feature = "ros"))]
#[test]
fn a_build_without_ros_says_so_in_one_line() {
    for words in [&["play", "bag"][..], &["evaluate", "--live"]] {
        assert!(complaint(words, 1).contains("no ROS"));
    }
}

#[test]
fn lost_in_the_woods_is_followed_within_the_bounds_of_the_reduced_filter() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/lost_in_the_woods");
    if !data.is_dir() {
        println!("skipped: {} is missing", data.display());
        return;
    }
    let source = format!("woods:{}", data.display());
    let report = json(&output(&["evaluate", &source, "--filter", "reduced", "--json"]));
    assert_eq!(report["steps"], 12_609);
    assert!(report["position_rmse_m"].as_f64().is_some_and(|rmse| rmse <= 0.08), "{report}");
    assert!(report["yaw_rmse_rad"].as_f64().is_some_and(|rmse| rmse <= 0.022), "{report}");
}

const MONTE_CARLO_KEYS: [&str; 9] = [
    "position_error_mean_m",
    "yaw_error_mean_rad",
    "position_rmse_m",
    "yaw_rmse_rad",
    "final_position_rmse_m",
    "final_yaw_rmse_rad",
    "nees_mean",
    "nees_in_band_fraction",
    "step_us_mean",
];

#[test]
fn observability_finds_the_null_space_of_each_filter() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("observability");
    let call =
        ["observability", "thesis-line-10hz-low-q1", "--set", "trajectory.length_m=3", "--clouds", "5", "--json"];
    let more = ["--filters", "thesis-ekf,thesis-reduced", "--out", out.to_str().unwrap()];
    let report = json(&output(&[&call[..], &more].concat()));
    for (filter, nullity, invents) in [(0, "2", true), (1, "3", false)] {
        let filter = &report["filters"][filter];
        assert_eq!(filter["nullities"].as_object().unwrap().keys().collect::<Vec<_>>(), [nullity], "{filter}");
        assert_eq!(filter["invented"]["heading_information"].as_f64().unwrap() > 0.0, invents, "{filter}");
    }
    assert!(fs::read_to_string(out.join("heading.svg")).unwrap().contains("thesis-reduced (nothing)"));
    let told = complaint(&["observability", "thesis-line-10hz-low-q1", "--clouds", "100000"], 1);
    assert!(told.contains("--clouds"), "{told}");
}

#[test]
fn monte_carlo_has_the_promised_keys_and_the_same_bytes_on_one_thread_and_two() {
    let folder = tempfile::tempdir().unwrap();
    let run = |threads: &str| {
        let out = folder.path().join(threads);
        let call = ["monte-carlo", "thesis-line-10hz-low-q4", "--runs", "3", "--seed", "4"];
        let more = ["--set", "trajectory.length_m=2", "--filters", "reduced,default", "--threads", threads, "--json"];
        let mut report = json(&output(&[&call[..], &more, &["--out", out.to_str().unwrap()]].concat()));
        for filter in ["reduced", "default"] {
            let filter = report["filters"][filter].as_object_mut().unwrap();
            assert!(MONTE_CARLO_KEYS.iter().all(|key| filter[*key].is_f64()), "{filter:?}");
            filter.remove("step_us_mean").unwrap();
        }
        let files = ["steps.csv", "runs.csv", "scenario.yaml", "error_growth.svg", "nees.svg"];
        let bytes = files.map(|name| fs::read(out.join(name)).unwrap());
        assert!(bytes.iter().all(|bytes| !bytes.is_empty()));
        assert!(fs::read_to_string(out.join("report.txt")).unwrap().contains("reduced"));
        (report, bytes)
    };
    let (one, two) = (run("1"), run("2"));
    assert!(one == two);
    assert_eq!((&one.0["runs"], &one.0["seed"]), (&Value::from(3), &Value::from(4)));
    assert_eq!(one.0["scenario"], "thesis-line-10hz-low-q4");
    assert!(one.0["filters"]["default"]["differences"]["nees_mean"]["interval"].is_array());
}

#[test]
fn a_scenario_is_a_name_or_a_file_and_the_shipped_ones_are_listed() {
    let names = output(&["monte-carlo", "--list"]);
    assert!(names.lines().any(|name| name == "esde") && names.lines().count() >= 46);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.yaml");
    fs::write(&file, "name: mine\ntrajectory: {laps: 0.02}\n").unwrap();
    let report = json(&output(&["monte-carlo", file.to_str().unwrap(), "--runs", "1", "--json"]));
    assert_eq!((&report["scenario"], &report["steps"]), (&Value::from("mine"), &Value::from(9)));
    let missing = folder.path().join("missing.yaml");
    let line = complaint(&["monte-carlo", missing.to_str().unwrap()], 1);
    assert!(line.contains("missing.yaml"), "{line}");
}

#[test]
fn every_reproduction_is_listed() {
    let list = output(&["reproduce", "list"]);
    for name in ["thesis-1 ", "thesis-2 ", "two-spheres ", "thesis-5 ", "all "] {
        assert!(list.lines().any(|line| line.starts_with(name)), "{list}");
    }
}

#[cfg(not(feature = "lab"))]
#[test]
fn a_build_without_the_laboratory_says_how_to_get_it() {
    let line = complaint(&["reproduce", "thesis-2"], 2);
    assert!(line.contains("thesis-2") && line.contains("--features lab"), "{line}");
}

#[cfg(feature = "lab")]
#[test]
fn a_quick_reproduction_gives_json_and_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("chapter");
    let report = json(&output(&["reproduce", "thesis-2", "--quick", "--json", "--out", out.to_str().unwrap()]));
    assert!((report["nls-small"]["DISEX"]["order_observed"].as_f64().unwrap() - 5.0).abs() < 0.2);
    for name in ["report.json", "report.txt", "figure-2.1.svg", "figure-2.1.csv", "figure-2.8.svg"] {
        assert!(fs::metadata(out.join(name)).is_ok_and(|file| file.len() > 0), "{name}");
    }
    assert_eq!(json(&fs::read_to_string(out.join("report.json")).unwrap()), report);
}

/// A recording with config/robot.yaml, through each filter and the batch estimate.
#[test]
fn honesty_of_a_recording_is_told_beside_batch() {
    let scratch = tempfile::tempdir().unwrap();
    let (bag, out) = (scratch.path().join("bag"), scratch.path().join("honesty"));
    let (bag, out) = (bag.to_str().unwrap(), out.to_str().unwrap());
    output(&["simulate", "--scenario", "range-bearing", "--set", "trajectory.laps=0.2", "--out", bag]);
    let told = output(&["reproduce", "honesty", "--source", bag, "--recordings-only", "--out", out, "--json"]);
    let rows = json(&told)["recordings"].as_array().unwrap().clone();
    let names: Vec<_> = rows.iter().map(|row| row["filter"].as_str().unwrap().to_owned()).collect();
    assert_eq!(names, ["default", "ekf", "reduced", "batch"]);
    for row in &rows {
        let [position, nees] = ["position_rmse_m", "nees_mean"].map(|key| row[key].as_f64().unwrap());
        assert!(position < 1.0 && nees > 0.0, "{row}");
    }
    assert!(fs::read_to_string(Path::new(out).join("report.txt")).unwrap().contains("| `batch` |"));
    assert!(complaint(&["reproduce", "honesty", "--recordings-only"], 2).contains("--source"));
    assert!(complaint(&["reproduce", "thesis-5", "--source", bag], 2).contains("--source"));
}

/// Killed after its second part, `reproduce all` keeps what it had and goes on behind it.
#[cfg(feature = "lab")]
#[test]
fn all_reproductions_go_on_where_they_were_killed() {
    use std::time::{Duration, Instant};
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("everything");
    let part = |number: u32| out.join(format!("thesis-1/part-{number:02}.json"));
    let until = |number: u32| {
        let mut child = Command::new(env!("CARGO_BIN_EXE_lienav"))
            .args(["reproduce", "all", "--quick", "--out", out.to_str().unwrap()])
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let begun = Instant::now();
        while !part(number).exists() && begun.elapsed() < Duration::from_secs(120) {
            std::thread::sleep(Duration::from_millis(5));
        }
        child.kill().unwrap();
        child.wait().unwrap();
    };
    until(2);
    assert!(part(2).exists() && !part(6).exists());
    let first = fs::read(part(1)).unwrap();
    let written = fs::metadata(part(1)).unwrap().modified().unwrap();
    until(4);
    assert_eq!((fs::read(part(1)).unwrap(), fs::metadata(part(1)).unwrap().modified().unwrap()), (first, written));
    let kept: serde_json::Value = serde_json::from_slice(&fs::read(part(4)).unwrap()).unwrap();
    for picture in kept["pictures"].as_array().unwrap() {
        assert!(out.join(format!("thesis-1/{}.svg", picture["file"].as_str().unwrap())).exists());
    }
    assert!(complaint(&["reproduce", "all"], 2).contains("--out"));
    assert!(complaint(&["reproduce", "all", "--out", out.to_str().unwrap(), "--json"], 2).contains("--json"));
}
