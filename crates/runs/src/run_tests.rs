use super::super::synthetic;
use super::*;

#[test]
fn there_is_an_estimate_and_a_time_for_each_scan_also_for_one_that_waits_at_the_end() {
    let recording = synthetic::recording(300, 4);
    let scans = recording.inputs.iter().filter(|input| matches!(input, Input::Scan(_))).count();
    let mut seen = 0;
    let run = run(&recording, &Config::default(), |done| seen = done).unwrap();
    assert_eq!((run.estimates.len(), run.step_us.len(), seen), (scans, scans, recording.inputs.len()));
    assert!(run.step_us.iter().all(|&time| time > 0.0));
    assert_eq!(run.landmarks.len(), recording.true_landmarks.len());
}

#[test]
fn what_the_source_dropped_and_what_the_filter_dropped_are_added_up() {
    let mut recording = synthetic::recording(50, 4);
    recording.dropped = [("gated".to_owned(), 2), ("unknown_barcode".to_owned(), 5)].into();
    recording.warnings.push("the bag ends early".into());
    let repeated = recording.inputs[0].clone();
    recording.inputs.insert(1, repeated);
    let run = run(&recording, &Config::default(), |_| ()).unwrap();
    assert_eq!(run.dropped.get("unknown_barcode"), Some(&5));
    assert_eq!(run.dropped.get("duplicate_stamp"), Some(&1));
    assert!(run.dropped["gated"] >= 2);
    assert_eq!(run.warnings, ["the bag ends early"]);
}

#[test]
fn twice_the_same_input_is_twice_the_same_run_to_the_last_bit() {
    let recording = synthetic::recording(300, 9);
    for filter in ["reduced", "ekf", "fe-ekf"] {
        let config = Config { filter: filter.into(), ..Config::default() };
        let (a, b) = (run(&recording, &config, |_| ()).unwrap(), run(&recording, &config, |_| ()).unwrap());
        assert_eq!((a.estimates, a.landmarks), (b.estimates, b.landmarks));
    }
}

#[test]
fn a_map_too_small_for_the_run_is_a_warning() {
    let mut recording = synthetic::recording(300, 4);
    // One landmark at a time, as a robot meets them that drives through a building.
    for (k, input) in recording.inputs.iter_mut().enumerate() {
        if let Input::Scan(scan) = input {
            let in_view = scan.measurements.get(k / 80).copied();
            scan.measurements = in_view.into_iter().collect();
        }
    }
    let mut config = Config::default();
    let warnings = |config: &Config| run(&recording, config, |_| ()).unwrap().warnings.join("\n");
    assert_eq!(warnings(&config), "");
    config.map.max_features = 1;
    let found = warnings(&config);
    assert!(found.contains("the map is full (1 features)") && found.contains("map.max_features"), "{found}");
}

#[test]
fn a_filter_nobody_knows_is_an_error() {
    let config = Config { filter: "kalman".into(), ..Config::default() };
    assert!(run(&synthetic::recording(2, 1), &config, |_| ()).is_err());
}

#[test]
fn that_nothing_was_used_is_the_first_sentence_with_its_cause() {
    let found = |change: &dyn Fn(&mut lienav_slam::Scan)| {
        let mut recording = synthetic::recording(300, 4);
        for input in &mut recording.inputs {
            if let Input::Scan(scan) = input {
                change(scan);
            }
        }
        run(&recording, &Config::default(), |_| ()).unwrap().contradictions.join("\n")
    };
    assert_eq!(found(&|_| ()), "");
    let ahead = found(&|scan| scan.stamp = scan.stamp + 37.0);
    assert!(ahead.contains("scans were used; most were dropped as from_the_future"), "{ahead}");
    let millimetres = found(&|scan| {
        for seen in &mut scan.measurements {
            let v = seen.value.xy();
            seen.value = [1000.0 * v.x, v.y].into();
        }
    });
    assert!(millimetres.starts_with("0 of ") && millimetres.contains("wrong unit (mm)"), "{millimetres}");
}
