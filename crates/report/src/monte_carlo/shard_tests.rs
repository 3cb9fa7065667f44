//! Experiments that are made in parts.

use super::*;
use lienav_sim::Scenario;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

fn experiment(runs: usize) -> Experiment {
    let mut scenario = Scenario { name: "short".into(), ..Scenario::default() };
    scenario.trajectory.laps = 2.0 / scenario.trajectory.lap_s;
    let filters = ["default", "ekf"].map(str::to_owned).into();
    Experiment { scenario, filters, settings: Vec::new(), sensors: Vec::new(), runs, seed: 9 }
}

/// Of everything that is the same every time.
fn bytes(outcome: &Outcome) -> (String, String, Vec<FilterOutcome>) {
    let report = Report::new(outcome).without_times();
    let mut filters = outcome.filters.clone();
    for filter in &mut filters {
        filter.step_us_mean = 0.0;
        filter.associations.iter_mut().for_each(|run| run.step_us_p99 = 0.0);
    }
    (report.to_json().unwrap(), to_text(&report), filters)
}

fn shards(experiment: &Experiment, of: usize, folder: &Path) -> Vec<PathBuf> {
    let one = |k| make(experiment, Shard::new(k, of).unwrap(), folder, || true).unwrap();
    (1..=of).map(|k| one(k).path).collect()
}

fn records_of(experiment: &Experiment, runs: &[usize]) -> Vec<RunRecord> {
    let records = Mutex::new(Vec::new());
    let take = |record| {
        records.lock().unwrap().push(record);
        Ok::<_, ExperimentError>(())
    };
    experiment.run_some(runs, take).unwrap();
    records.into_inner().unwrap()
}

fn refusal(paths: &[PathBuf]) -> String {
    merge(paths).unwrap_err().to_string()
}

#[test]
fn shards_in_any_order_add_up_to_the_bytes_of_one_machine() {
    let (experiment, folder) = (experiment(7), tempfile::tempdir().unwrap());
    let mut paths = shards(&experiment, 3, folder.path());
    paths.reverse();
    let (merged, whole) = (merge(&paths).unwrap(), experiment.run(|| ()).unwrap());
    assert_eq!(merged.experiment, experiment);
    assert_eq!(bytes(&merged), bytes(&whole));
    // More shards than runs: some are empty.
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(bytes(&merge(&shards(&experiment, 9, folder.path())).unwrap()), bytes(&whole));
}

#[test]
fn withheld_identities_and_numbers_that_are_not_there_survive_the_file() {
    let mut cones = experiment(2);
    cones.scenario = Scenario::named("cones").unwrap();
    cones.scenario.trajectory.waypoints_x_m.truncate(12);
    cones.scenario.trajectory.waypoints_y_m.truncate(12);
    cones.scenario.sensor.identified = false;
    let records = records_of(&cones, &[0, 1]);
    for record in &records {
        assert_eq!(RunRecord::from_line(&record.to_line().unwrap()).as_ref(), Some(record));
    }
    let merged = merge_records(&cones, records).unwrap();
    assert!(merged.filters[0].associations.len() == 2 && merged.filters[0].nees_left_out > 0);
    assert_eq!(bytes(&merged), bytes(&cones.run(|| ()).unwrap()));
}

#[test]
fn a_shard_goes_on_where_it_was_stopped_and_makes_nothing_twice() {
    let (experiment, folder) = (experiment(9), tempfile::tempdir().unwrap());
    let shard = Shard::new(1, 2).unwrap();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let count = AtomicUsize::new(0);
    let stopped = pool
        .install(|| make(&experiment, shard, folder.path(), || count.fetch_add(1, Ordering::Relaxed) < 1).unwrap_err());
    assert!(matches!(stopped, ShardError::Interrupted), "{stopped}");
    let path = folder.path().join(shard.file_name());
    let unfinished = refusal(std::slice::from_ref(&path));
    assert!(unfinished.contains("missing: shard 2") && unfinished.contains("--shard K/2"), "{unfinished}");

    // The end of the last line is cut off, as by a full disk.
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, &text[..text.len() - 7]).unwrap();
    let made = make(&experiment, shard, folder.path(), || true).unwrap();
    assert_eq!((made.runs, made.kept, made.damaged), (5, 1, 1));
    let before = fs::read(&path).unwrap();
    let made = make(&experiment, shard, folder.path(), || true).unwrap();
    assert_eq!((made.runs, made.kept, made.damaged), (5, 5, 0));
    assert_eq!(fs::read(&path).unwrap(), before);
    let second = make(&experiment, Shard::new(2, 2).unwrap(), folder.path(), || true).unwrap().path;
    assert_eq!(bytes(&merge(&[path, second]).unwrap()), bytes(&experiment.run(|| ()).unwrap()));
}

#[test]
fn what_does_not_belong_together_is_refused_with_the_place_and_the_remedy() {
    let (experiment, folder) = (experiment(4), tempfile::tempdir().unwrap());
    let paths = shards(&experiment, 2, folder.path());
    assert!(refusal(&[]).contains("no shards"));
    assert!(refusal(&paths[..1]).contains("missing: shard 2"));
    let copy = folder.path().join("copy.jsonl");
    fs::copy(&paths[0], &copy).unwrap();
    let twice = refusal(&[paths[0].clone(), paths[1].clone(), copy.clone()]);
    assert!(twice.contains("are both shard 1/2") && twice.contains("copy.jsonl"), "{twice}");

    let seven = Experiment { seed: 7, ..experiment.clone() };
    let elsewhere = tempfile::tempdir().unwrap();
    let foreign = make(&seven, Shard::new(2, 2).unwrap(), elsewhere.path(), || true).unwrap().path;
    assert!(refusal(&[paths[0].clone(), foreign]).contains("their --seed differs"));
    let mixed = make(&seven, Shard::new(1, 2).unwrap(), folder.path(), || true).unwrap_err().to_string();
    assert!(mixed.contains("its --seed differs") && mixed.contains("give another folder"), "{mixed}");

    // One digit of one number, and a line that is there twice.
    let text = fs::read_to_string(&paths[0]).unwrap();
    let at = text.rfind("\"samples\":\"").unwrap() + 20;
    let digit = if text.as_bytes()[at] == b'0' { "1" } else { "0" };
    fs::write(&copy, format!("{}{digit}{}", &text[..at], &text[at + 1..])).unwrap();
    let damaged = refusal(&[copy.clone(), paths[1].clone()]);
    assert!(damaged.contains("copy.jsonl:3: damaged") && damaged.contains("--shard 1/2"), "{damaged}");
    let last = text.trim_end().rsplit('\n').next().unwrap();
    fs::write(&copy, format!("{text}{last}\n")).unwrap();
    assert!(refusal(&[copy.clone(), paths[1].clone()]).contains("copy.jsonl:4: damaged"));
    let lines: Vec<&str> = text.lines().collect();
    fs::write(&copy, lines[..2].join("\n") + "\n").unwrap();
    let unfinished = refusal(&[copy.clone(), paths[1].clone()]);
    assert!(unfinished.contains("has 1 of 2 runs") && unfinished.contains("--shard 1/2"), "{unfinished}");
    fs::write(&copy, "not a shard\n").unwrap();
    assert!(refusal(&[copy]).contains("is no shard"));
    fs::write(&paths[0], "mine\n").unwrap();
    let taken = make(&experiment, Shard::new(1, 2).unwrap(), folder.path(), || true).unwrap_err();
    assert!(matches!(taken, ShardError::NoShard(_)) && fs::read_to_string(&paths[0]).unwrap() == "mine\n");
}

#[test]
fn records_are_counted_once_and_missed_by_name() {
    let experiment = experiment(3);
    let records = records_of(&experiment, &[2, 0, 1, 99]);
    assert_eq!(bytes(&merge_records(&experiment, records.clone()).unwrap()), bytes(&experiment.run(|| ()).unwrap()));
    let say = |records: Vec<RunRecord>| merge_records(&experiment, records).unwrap_err().to_string();
    let of = |runs: &[usize]| -> Vec<RunRecord> {
        runs.iter().map(|run| records.iter().find(|record| record.run == *run).unwrap().clone()).collect()
    };
    assert!(say(of(&[0, 2])).contains("run 1 of the experiment is missing"));
    assert!(say(of(&[0, 1])).contains("run 2 of the experiment is missing"));
    assert!(say(of(&[1, 2])).contains("run 0 of the experiment is missing"));
    assert!(say(of(&[0, 1, 1, 2])).contains("run 1 of the experiment is there twice"));
    assert!(say(of(&[0, 1, 2, 2])).contains("run 2 of the experiment is there twice"));
    let mut foreign = of(&[0, 1, 2]);
    foreign[1] = RunRecord { run: 1, ..foreign[0].clone() };
    assert!(say(foreign).contains("run 1 was made by another experiment"));
}

#[test]
fn a_shard_is_k_of_n_and_its_runs_are_every_nth() {
    let shard: Shard = "2/3".parse().unwrap();
    assert_eq!(shard.runs(8).collect::<Vec<_>>(), [1, 4, 7]);
    assert_eq!((shard.to_string(), shard.file_name()), ("2/3".to_owned(), "shard-2-of-3.jsonl".to_owned()));
    assert_eq!(Shard::new(7, 100).unwrap().file_name(), "shard-007-of-100.jsonl");
    assert!(Shard::is_file_name("shard-007-of-100.jsonl") && !Shard::is_file_name("shard-x-of-3.jsonl"));
    for wrong in ["0/3", "4/3", "1/0", "3", "a/b", "1/2000000", "-1/3"] {
        assert!(wrong.parse::<Shard>().unwrap_err().contains("as in 3/8"), "{wrong}");
    }
    let mut all: Vec<usize> = (1..=5).flat_map(|k| Shard::new(k, 5).unwrap().runs(13)).collect();
    all.sort_unstable();
    assert!(all.into_iter().eq(0..13));
}
