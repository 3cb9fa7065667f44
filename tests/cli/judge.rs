//! `lienav judge`: the numbers of `evaluate` from its own files, bounds, and what a wrong call hears.

use super::{bag, complaint, json, lienav, output};
use std::fs;
use std::path::{Path, PathBuf};

/// A run of the default filter: its folder, and the truth beside it under another name.
fn evaluated(folder: &Path) -> (PathBuf, String, String) {
    let bag = bag(folder);
    let results = folder.join("results");
    output(&["evaluate", &bag, "--out", results.to_str().unwrap()]);
    let path = |name: &str| results.join(name).to_str().unwrap().to_owned();
    (results.clone(), path("errors.csv"), path("truth.tum"))
}

#[test]
fn what_evaluate_has_written_is_judged_with_the_same_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let (results, errors, truth) = evaluated(folder.path());
    let theirs = json(&fs::read_to_string(results.join("report.json")).unwrap());
    let ours = json(&output(&["judge", &errors, "--truth", &truth, "--json"]));
    for key in ["position_rmse_m", "aligned_position_rmse_m", "position_max_m", "nees_mean"] {
        let (a, b) = (theirs[key].as_f64().unwrap(), ours[key].as_f64().unwrap());
        assert!((a - b).abs() < 1e-9 * a.max(1.0), "{key}: {a} {b}");
    }
    assert_eq!(ours["space"], "planar");
    // The topic of the bag is the same truth, between whose poses it is taken.
    let source = format!("{}:/ground_truth/pose", folder.path().join("circle").display());
    let of_bag = json(&output(&["judge", &errors, "--truth", &source, "--json"]));
    let (a, b) = (ours["position_rmse_m"].as_f64().unwrap(), of_bag["position_rmse_m"].as_f64().unwrap());
    assert!((a - b).abs() < 1e-6, "{a} {b}");
    let table = output(&["judge", &errors, "--truth", &truth]);
    assert!(table.contains("NEES of the pose") && table.contains("(3 is right)"), "{table}");
}

#[test]
fn several_stand_side_by_side_with_a_page_and_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let (_, errors, truth) = evaluated(folder.path());
    let out = folder.path().join("judged").to_str().unwrap().to_owned();
    let named = format!("other={errors}");
    let both = json(&output(&["judge", &errors, &named, "--truth", &truth, "--json", "--out", &out]));
    assert_eq!((both[0]["filter"].as_str(), both[1]["filter"].as_str()), (Some("errors"), Some("other")));
    let page = fs::read_to_string(folder.path().join("judged/report.html")).unwrap();
    assert!(page.contains("\"other\"") && !page.contains("{{"), "{}", page.len());
    for name in ["report.json", "report.txt", "other/estimate.tum", "other/truth.tum", "other/errors.csv"] {
        assert!(folder.path().join("judged").join(name).exists(), "{name}");
    }
    let compared = output(&["compare", &out, &out]);
    assert!(compared.contains("no difference is seen"), "{compared}");
    let said = output(&["judge", &errors, &named]);
    assert!(said.contains("share errors"), "{said}");
    assert_eq!(json(&output(&["judge", &errors, &named, "--json"]))["agreements"][0]["position_rms_m"], 0.0);
}

#[test]
fn expectations_hold_or_fail_and_wrong_calls_say_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let (_, errors, truth) = evaluated(folder.path());
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let bounds = at("bounds.yaml");
    let junit = at("junit.xml");
    let words = ["judge", &errors, "--truth", &truth, "--expect", &bounds, "--junit", &junit];
    fs::write(&bounds, "every_estimate: {consistency.pose.sigma_factor: {max: 100}, dropped.not_finite: {max: 0}}")
        .unwrap();
    output(&words);
    assert!(fs::read_to_string(&junit).unwrap().contains("failures=\"0\""));
    fs::write(&bounds, "estimates: {errors: {position_rmse_m: {max: 1e-9}}}").unwrap();
    let done = lienav(&words).output().unwrap();
    assert_eq!(done.status.code(), Some(3));
    assert!(String::from_utf8(done.stderr).unwrap().contains("position_rmse_m is"));
    let late = at("late.tum");
    let moved: String = fs::read_to_string(&truth).unwrap().lines().map(|line| format!("9{line}\n")).collect();
    fs::write(&late, moved).unwrap();
    assert!(complaint(&["judge", &errors, "--truth", &late], 1).contains("--time-offset"));
    assert!(complaint(&["judge", &errors], 2).contains("--innovations"));
    assert!(complaint(&["judge", &errors, "--truth", &at("nowhere")], 1).contains("no such file"));
    assert!(complaint(&["judge", &errors, "--truth", &truth, "--truth-std-m", "-1"], 2).contains("--truth-std-m"));
    assert!(complaint(&["judge", &errors, "--truth", &truth, "--align", "best"], 2).contains("sim3"));
    assert!(complaint(&["judge", &errors, "--expect", &bounds], 2).contains("give --truth"));
    assert!(complaint(&["judge", "--truth", &truth], 2).contains("ESTIMATE"));
    fs::write(at("t.tum"), "1 2 3\n").unwrap();
    assert!(complaint(&["judge", &at("t.tum"), "--truth", &truth], 1).contains("3 columns"));
}

#[test]
fn innovations_are_judged_for_size_and_whiteness() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("innovations.csv");
    let path = file.to_str().unwrap();
    let rows = |of: fn(f64) -> f64| (0..400).map(|k| format!("{k},{},0.1\n", of(f64::from(k)))).collect::<String>();
    fs::write(&file, format!("stamp_s,innovation,std\n{}", rows(|k| 0.3 * (0.05 * k).sin()))).unwrap();
    let said = output(&["judge", "--innovations", path]);
    assert!(said.contains("larger than their covariance") && said.contains("not white"), "{said}");
    fs::write(&file, "stamp_s,nis,dof\n0,2.1,2\n1,nan,2\n").unwrap();
    let found = json(&output(&["judge", "--innovations", path, "--json"]));
    assert_eq!((&found["innovations"]["count"], &found["innovations"]["left_out"]), (&1.into(), &1.into()));
    fs::write(&file, "stamp_s,residual\n0,1\n").unwrap();
    assert!(complaint(&["judge", "--innovations", path], 1).contains("stamp_s,nis,dof"));
}

/// NEES beside numpy in four conventions, ATE and RPE beside evo, each where it is installed.
#[test]
fn numbers_are_those_of_numpy_and_of_evo_where_they_are_installed() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/judge_peer.py");
    let python = std::env::var("LIENAV_PEER_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let has_numpy = std::process::Command::new(&python).args(["-c", "import numpy"]).output();
    if !has_numpy.is_ok_and(|done| done.status.success()) {
        println!("skipped: there is no Python with numpy");
        return;
    }
    let done = std::process::Command::new(&python).args([script, env!("CARGO_BIN_EXE_lienav")]).output().unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    println!("{said}");
    assert!(done.status.success(), "{said}{}", String::from_utf8_lossy(&done.stderr));
    assert!(said.contains("numbers compared"), "{said}");
}

#[test]
fn the_table_of_the_referee_has_a_row_for_each_estimator_and_takes_one_of_the_user() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("referee").to_str().unwrap().to_owned();
    let words = ["reproduce", "referee", "--quick", "--seed", "3", "--out", &out, "--json"];
    // Standard error names the recordings that are missing.
    let table = |words: &[&str]| {
        let done = lienav(words).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        json(&String::from_utf8(done.stdout).unwrap())
    };
    let first = table(&words);
    let row = |table: &serde_json::Value, name: &str| {
        let rows = table["rows"].as_array().unwrap();
        rows.iter().find(|row| row["estimator"] == name).unwrap_or_else(|| panic!("{name} in {table}")).clone()
    };
    for name in ["default", "ekf", "batch"] {
        assert!(row(&first, name)["nees_mean"].as_f64().unwrap() > 0.0, "{first}");
    }
    // Without their packages, the others say why there is nothing.
    for name in ["numpy-ekf", "gtsam-isam2", "gtsam-batch"] {
        let found = row(&first, name);
        assert!(found["nees_mean"].is_f64() || found["left_out"].as_str().is_some_and(|why| why.len() > 5), "{found}");
    }
    assert!(first["missing"].as_array().unwrap().len() > 8, "{first}");
    for name in ["report.html", "report.csv", "report.tex", "report.txt", "simulated/judged/report.html"] {
        assert!(Path::new(&out).join(name).exists(), "{name}");
    }
    // The plain EKF of numpy is the EKF of lienav, but for its gate.
    if let Some(error) = row(&first, "numpy-ekf")["position_rmse_m"].as_f64() {
        let ours = row(&first, "ekf")["position_rmse_m"].as_f64().unwrap();
        assert!((error / ours - 1.0).abs() < 0.1, "{error} {ours}");
    }
    let mine = format!("simulated:mine={out}/simulated/estimates/ekf.csv");
    let second = table(&[&words[..], &["--estimate", &mine]].concat());
    assert_eq!(row(&second, "mine")["position_rmse_m"], row(&first, "ekf")["position_rmse_m"]);
    assert_eq!(row(&second, "default"), row(&first, "default"));
    let said = complaint(&["reproduce", "referee", "--estimate", "nowhere:a=b.csv"], 2);
    assert!(said.contains("there is no recording 'nowhere'"), "{said}");
    assert!(complaint(&["reproduce", "honesty", "--data", "."], 2).contains("--data does not apply to honesty"));
}
