//! A folder with what the commands of the documents speak of.

use lienav_io::bag::{BagReader, Record};
use rusqlite::Connection;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

/// Data sets, where `../shared/data` is there: the name in the documents, the folder or file.
const DATA: [(&str, &str); 16] = [
    ("lost_in_the_woods", "lost_in_the_woods"),
    ("Lost_in_the_Woods", "lost_in_the_woods"),
    ("victoria_park", "victoria_park"),
    ("MRCLAM_Dataset6", "mrclam/MRCLAM_Dataset6"),
    ("run_0.graph.gz", "city_trees/run_0.graph.gz"),
    ("truth.graph.gz", "city_trees/truth.graph.gz"),
    ("imu.csv", "euroc_mh01/imu.csv"),
    ("FSG23.yaml", "cone_tracks/FSG23.yaml"),
    ("MH_01_easy", "euroc_mh01"),
    ("plaza_1", "plaza"),
    ("01_undisturbed_slow_rotation_A.csv.gz", "broad/01_undisturbed_slow_rotation_A.csv.gz"),
    ("eight_s2", "../data3d/starloc/eight_s2"),
    ("V1_01", "../data3d/euroc_v101_30s"),
    ("dataset3", "../data3d/starry_night/dataset3"),
    ("test_5", "../data3d/tagslam/test_5"),
    ("FRC_20241012_053443", "../data3d/frc/FRC_20241012_053443"),
];

/// Files that are there in more than one copy: the name in the documents, and of what it is a copy.
const COPIES: [(&str, &str); 5] = [
    ("monday.yaml", "hall.yaml"),
    ("tuesday.yaml", "hall.yaml"),
    ("north.yaml", "hall.yaml"),
    ("south.yaml", "hall.yaml"),
    ("east.yaml", "hall.yaml"),
];

/// Whether a command reads a published data set.
pub fn wants_data(command: &str) -> bool {
    DATA.iter().any(|(name, _)| command.contains(name))
}

/// A command as a reader gives it, with this `lienav` before all others.
pub fn shell(command: &str, folder: &Path) -> Command {
    let mut shell = Command::new("sh");
    let own = Path::new(env!("CARGO_BIN_EXE_lienav")).parent().unwrap().to_path_buf();
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let paths = std::env::join_paths([own].into_iter().chain(std::env::split_paths(&paths))).unwrap();
    shell.args(["-euc", command]).current_dir(folder).env("PATH", paths).env_remove("RUST_LOG");
    shell
}

/// A map of tags in space.
const TAGS: &str = "known_tags:\n  3:\n    t_m: [1.7, 3.0, 1.1]\n    q_xyzw: [0.5, 0.5, 0.5, 0.5]\n    \
                    t_sigma_m: [0.003, 0.003, 0.003]\n    rot_sigma_rad: [0.01, 0.01, 0.01]\n";

/// Makes the folder; whether the data sets are there.
pub fn prepare(folder: &Path) -> bool {
    let root = super::root();
    let scenario =
        "--scenario range-bearing --set imu.rate_hz=10 --set imu.gyro_std_rad_s=0.01 --set trajectory.laps=0.3";
    for command in [
        &format!("lienav simulate --seed 3 {scenario} --out my_bag")[..],
        "lienav evaluate my_bag --save-map hall.yaml",
        "lienav simulate space:rest-stereo-industrial --out drone_1 && rm drone_1/space.json",
        "lienav map convert hall.yaml survey.csv",
        "mkdir maps && lienav map convert survey.csv maps/hall.yaml",
        "lienav map convert hall.yaml tags.yaml --to apriltag --tag-size-m 0.16",
    ] {
        let done = shell(command, folder).output().unwrap();
        assert!(done.status.success(), "{command}: {}", String::from_utf8_lossy(&done.stderr));
    }
    for (copy, of) in COPIES {
        fs::copy(folder.join(of), folder.join(copy)).unwrap();
    }
    fs::copy(root.join("examples/ci/expectations.yaml"), folder.join("expectations.yaml")).unwrap();
    fs::copy(root.join("examples/ci/judge.yaml"), folder.join("judge.yaml")).unwrap();
    fs::copy(root.join("config/slam3d.yaml"), folder.join("slam3d.yaml")).unwrap();
    fs::write(folder.join("tags3d.yaml"), TAGS).unwrap();
    estimates_of_others(folder);
    // The scenario that the page about scenarios shows.
    let page = fs::read_to_string(root.join("docs/scenarios.md")).unwrap();
    let shown = page.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    fs::write(folder.join("my_scenario.yaml"), shown).unwrap();
    sqlite_copy(&folder.join("my_bag"), &folder.join("old.db3"));
    symlink(root.join("config"), folder.join("config")).unwrap();
    let data = root.join("../shared/data");
    if data.exists() {
        for (name, place) in DATA {
            symlink(data.join(place), folder.join(name)).unwrap();
        }
    }
    data.exists()
}

/// Trajectories with covariances, as other programs write them, and the truth beside them.
fn estimates_of_others(folder: &Path) {
    let done = shell("lienav evaluate my_bag --out evaluated", folder).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let evaluated = folder.join("evaluated");
    for (name, of) in [
        ("truth.tum", "truth.tum"),
        ("estimate.tum", "estimate.tum"),
        ("ekf.csv", "errors.csv"),
        ("ukf.csv", "errors.csv"),
        ("poses.csv", "errors.csv"),
    ] {
        fs::copy(evaluated.join(of), folder.join(name)).unwrap();
    }
    let truth = fs::read_to_string(evaluated.join("truth.tum")).unwrap();
    let rows = truth.lines().map(|line| format!("{line} 1e-4 0 0 1e-4 0 1e-4 1e-2 0 0 1e-2 0 1e-2\n"));
    fs::write(folder.join("ov_estimate.txt"), rows.collect::<String>()).unwrap();
    let rows = (0..200).map(|k| format!("{k},{},0.1\n", 0.1 * (1.7 * f64::from(k)).sin()));
    fs::write(folder.join("innovations.csv"), format!("stamp_s,innovation,std\n{}", rows.collect::<String>())).unwrap();
    fs::remove_dir_all(evaluated).unwrap();
}

/// Gives a text a folder of its own: files as copies, which a command may replace, folders and data as links.
pub fn link(shared: &Path, folder: &Path) {
    for entry in fs::read_dir(shared).unwrap().map(|entry| entry.unwrap()) {
        let (from, to) = (entry.path(), folder.join(entry.file_name()));
        if entry.file_type().unwrap().is_file() {
            fs::copy(from, to).unwrap();
        } else {
            symlink(from, to).unwrap();
        }
    }
}

/// Takes away a file that the command is to make: nothing is overwritten unless `--force` says so.
pub fn make_room(command: &str, folder: &Path) {
    let words: Vec<&str> = command.split(' ').collect();
    let after_out = words.iter().position(|word| *word == "--out").and_then(|at| words.get(at + 1));
    let target = if command.starts_with("lienav map convert ") { words.get(4) } else { after_out };
    if let Some(file) = target.map(|name| folder.join(name)).filter(|path| path.is_file()) {
        fs::remove_file(file).unwrap();
    }
}

/// The bag as rosbag2 wrote bags by default before Iron.
fn sqlite_copy(bag: &Path, file: &Path) {
    let connection = Connection::open(file).unwrap();
    connection
        .execute_batch(
            "CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT NULL,
                                 serialization_format TEXT NOT NULL, offered_qos_profiles TEXT NOT NULL);
             CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER NOT NULL, timestamp INTEGER NOT NULL,
                                   data BLOB NOT NULL);
             BEGIN;",
        )
        .unwrap();
    let reader = BagReader::open(bag).unwrap();
    for (id, topic) in reader.topics().iter().enumerate() {
        let row = (id as i64, &topic.name, &topic.type_name);
        connection.execute("INSERT INTO topics VALUES (?1, ?2, ?3, 'cdr', '')", row).unwrap();
    }
    for Record { topic, log_time, data, .. } in reader {
        let row = (topic as i64, log_time.nanos(), data);
        connection.execute("INSERT INTO messages(topic_id, timestamp, data) VALUES (?1, ?2, ?3)", row).unwrap();
    }
    connection.execute_batch("COMMIT").unwrap();
}
