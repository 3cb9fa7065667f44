//! A Monte Carlo in parts, on the command line: as a job array makes it, with jobs that are killed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// Short runs, and enough of them for a process to be killed in the middle.
const EXPERIMENT: [&str; 8] = [
    "monte-carlo",
    "thesis-circle-10hz-low-q1",
    "--runs",
    "24",
    "--filters",
    "default,ekf",
    "--set",
    "trajectory.laps=0.2",
];

fn lienav(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lienav"));
    command.args(words).env_remove("RUST_LOG");
    command
}

/// What a call prints, which must succeed.
fn output(words: &[&str]) -> String {
    let done = lienav(words).output().unwrap();
    assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

fn complaint(words: &[&str], code: i32) -> String {
    let done = lienav(words).output().unwrap();
    let said = String::from_utf8(done.stderr).unwrap();
    assert_eq!((done.status.code(), said.lines().count()), (Some(code), 1), "{words:?}: {said}");
    said
}

fn shard<'a>(shard: &'a str, folder: &'a str) -> Vec<&'a str> {
    EXPERIMENT.into_iter().chain(["--shard", shard, "--out", folder]).collect()
}

/// Every file of a folder, by name.
fn content(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|path| (path.file_name().unwrap().into(), fs::read(path).unwrap())).collect()
}

#[test]
fn jobs_that_are_killed_and_submitted_again_give_the_bytes_of_one_machine() {
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name).to_str().unwrap().to_owned();
    let (parts, whole, merged) = (path("parts"), path("whole"), path("merged"));
    output(&EXPERIMENT.into_iter().chain(["--no-times", "--out", &whole]).collect::<Vec<_>>());
    for k in ["1/3", "2/3", "3/3"] {
        // Killed when the first runs are written; a kill before that is a job that never began.
        let mut job = lienav(&shard(k, &parts)).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let file = Path::new(&parts).join(format!("shard-{}-of-3.jsonl", &k[..1]));
        let has_runs = || fs::metadata(&file).is_ok_and(|file| file.len() > 9000);
        while job.try_wait().unwrap().is_none() && !has_runs() {
            sleep(Duration::from_millis(1));
        }
        let _ = job.kill();
        job.wait().unwrap();
    }
    let unfinished = lienav(&["merge", &parts]).output().unwrap();
    assert!(unfinished.status.success() || !unfinished.stderr.is_empty());
    for k in ["3/3", "1/3", "2/3"] {
        let said = output(&shard(k, &parts));
        assert!(said.starts_with(&format!("shard {k}: 8 runs")), "{said}");
    }
    assert!(output(&shard("2/3", &parts)).contains("8 runs, 8 of them from before"));
    output(&["merge", &parts, "--no-times", "--out", &merged]);
    assert!(content(Path::new(&whole)) == content(Path::new(&merged)), "{whole} and {merged} differ");
    let json = output(&EXPERIMENT.into_iter().chain(["--no-times", "--json"]).collect::<Vec<_>>());
    assert_eq!(output(&["merge", &parts, "--no-times", "--json"]), json);

    let first = Path::new(&parts).join("shard-1-of-3.jsonl");
    let second = Path::new(&parts).join("shard-2-of-3.jsonl").to_str().unwrap().to_owned();
    let text = fs::read_to_string(&first).unwrap();
    fs::write(&first, &text[..text.len() / 2]).unwrap();
    let said = complaint(&["merge", &parts], 1);
    assert!(said.contains("shard-1-of-3.jsonl:") && said.contains("damaged") && said.contains("--shard 1/3"), "{said}");
    fs::remove_file(&first).unwrap();
    assert!(complaint(&["merge", &parts], 1).contains("missing: shard 1; make them with"), "a shard is missing");
    assert!(complaint(&["merge", &parts, &second], 1).contains("are both shard 2/3"), "a shard is there twice");
}

#[test]
fn a_wrong_call_is_refused_before_anything_is_run() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    assert!(complaint(&shard("4/3", out), 2).contains("as in 3/8"));
    assert!(complaint(&["monte-carlo", "esde", "--shard", "1/2"], 2).contains("--out"));
    assert!(complaint(&["merge", out], 1).contains("no shards"));
    assert!(complaint(&["merge"], 2).contains("FILE|FOLDER"));
    assert!(complaint(&["merge", "nowhere.jsonl"], 1).contains("nowhere.jsonl: No such file"));
    let mut words = shard("1/2", out);
    words.extend(["--filter-set", "gate.probability=7"]);
    assert!(complaint(&words, 2).contains("gate.probability"));
}

/// The script is run as Slurm runs it, each task by itself.
#[test]
fn the_job_array_of_the_examples_gives_the_bytes_of_one_machine() {
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name).to_str().unwrap().to_owned();
    fs::write(path("short.yaml"), "name: short\ntrajectory: {laps: 0.05}\n").unwrap();
    let folder = Path::new(env!("CARGO_BIN_EXE_lienav")).parent().unwrap();
    let programs = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default());
    for task in 1..=8 {
        let mut job = Command::new("bash");
        job.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/monte_carlo.slurm"));
        job.env("PATH", &programs).env("SLURM_ARRAY_TASK_ID", task.to_string()).env("RUNS", "12");
        job.env("SCENARIO", path("short.yaml")).env("OUT", path("parts"));
        let done = job.output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }
    let scenario = path("short.yaml");
    let whole = ["monte-carlo", &scenario, "--runs", "12", "--filters", "default,ekf", "--no-times", "--json"];
    assert_eq!(output(&["merge", &path("parts"), "--no-times", "--json"]), output(&whole));
}
