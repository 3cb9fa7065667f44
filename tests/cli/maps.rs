//! Maps: from surveys, of runs, and what `lienav map` does with them.

use super::{bag, complaint, json, lienav, output};
use std::fs;
use std::path::Path;

#[test]
fn a_map_goes_from_a_survey_through_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (survey, hall) = (path("survey.csv"), path("hall.yaml"));
    fs::write(&survey, "id,x,y\n7,1.25,-3.5\n8,4.0,0.75\n9,2.0,6.0\n").unwrap();
    let refused = complaint(&["map", "convert", &survey, &hall], 1);
    assert!(refused.contains("line 2: sigma_m is missing") && refused.contains("--sigma-m"), "{refused}");
    assert!(output(&["map", "convert", &survey, &hall, "--sigma-m", "0.02"]).contains("3 landmarks"));
    assert!(complaint(&["map", "convert", &survey, &hall, "--sigma-m", "0.1"], 1).contains("--force replaces it"));
    let info = json(&output(&["map", "info", &hall, "--json"]));
    assert_eq!((info["landmarks"].as_u64(), info["x_m"][0].as_f64()), (Some(3), Some(1.25)));
    assert_eq!(output(&["map", "check", &hall]), format!("{hall}: 3 landmarks\n"));

    let csv = path("again.csv");
    output(&["map", "convert", &hall, &csv]);
    output(&["map", "convert", &csv, &path("again.yaml")]);
    assert_eq!(fs::read(path("again.yaml")).unwrap(), fs::read(&hall).unwrap());
    output(&["map", "draw", &hall, "--out", &path("hall.svg")]);
    assert!(fs::read_to_string(path("hall.svg")).unwrap().starts_with("<svg"));

    // The same place, surveyed a second time: one landmark was moved.
    let moved = fs::read_to_string(&hall).unwrap().replace("x_m: 1.25", "x_m: 1.45").replace("id: 9", "id: 10");
    fs::write(path("moved.yaml"), moved).unwrap();
    let merge = ["map", "merge", &hall, &path("moved.yaml"), "--out", &path("both.yaml")];
    let done = lienav(&merge).output().unwrap();
    let said = String::from_utf8(done.stdout).unwrap();
    assert_eq!(done.status.code(), Some(1));
    assert!(said.contains("2 landmarks shared, 1 new; chi square of all differences 50.0, 4 degrees"), "{said}");
    assert!(said.contains("landmark 7 differs by (0.200, 0.000) m: chi square 50.0"), "{said}");
    assert!(!Path::new(&path("both.yaml")).exists());
    assert!(lienav(&merge).arg("--force").output().unwrap().status.success());
    assert!(fs::read_to_string(path("both.yaml")).unwrap().contains("{id: 7, x_m: 1.35, y_m: -3.5, sigma_m: 0.0141"));

    fs::write(&hall, "lienav_map: 1\nlandmarks:\n- {id: 1, x_m: 0, y_m: 0}\n- {id: 1, x_m: a, y_m: 0}\n").unwrap();
    let done = lienav(&["map", "check", &hall, &survey]).output().unwrap();
    let said = String::from_utf8(done.stdout).unwrap();
    assert_eq!((done.status.code(), said.lines().count()), (Some(1), 4), "{said}");
    assert!(said.contains(&format!("{hall}: line 4: x_m is 'a'")) && said.contains("`lienav map convert`"), "{said}");
}

#[test]
fn the_map_of_a_run_is_saved_with_all_that_another_needs() {
    let folder = tempfile::tempdir().unwrap();
    let (bag, map) = (bag(folder.path()), folder.path().join("map.yaml").to_str().unwrap().to_owned());
    let plain = json(&output(&["evaluate", &bag, "--json"]));
    let saving = json(&output(&["evaluate", &bag, "--json", "--save-map", &map]));
    assert_eq!((&plain["steps"], &plain["position_rmse_m"]), (&saving["steps"], &saving["position_rmse_m"]));
    let info = json(&output(&["map", "info", &map, "--json"]));
    assert_eq!((info["has_joint_covariance"].as_bool(), info["filter"].as_str()), (Some(true), Some("default")));
    assert!(info["landmarks"].as_u64() > Some(3), "{info}");
    let of_submaps = folder.path().join("parts.yaml").to_str().unwrap().to_owned();
    output(&["evaluate", &bag, "--set", "map.local_features=4", "--save-map", &of_submaps]);
    let parts = json(&output(&["map", "info", &of_submaps, "--json"]));
    // Parts do not forget.
    assert!(parts["landmarks"].as_u64() >= info["landmarks"].as_u64(), "{parts}");
    assert!(parts["parts"].as_u64() > Some(1) && parts["filter"].as_str() == Some("default"), "{parts}");
    assert!(output(&["map", "info", &of_submaps]).contains("known in parts: "));
    let two = ["evaluate", &bag, "--filter", "ekf", "--filter", "reduced", "--save-map", &map];
    assert!(complaint(&two, 2).contains("one filter"));
}
