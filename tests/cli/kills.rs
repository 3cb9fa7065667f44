//! Commands that are killed at any instant leave what was there before, or what they were to make, as a whole.
//!
//! A short form; `LIENAV_KILLS=500 cargo test --release --no-default-features --test cli kills` is a long one.

use lienav_io::map_file::MapFile;
use lienav_slam::{LandmarkMap, MapLandmark};
use nalgebra::{DMatrix, Vector2};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Every file of a folder with its content, and no folder without files.
type Content = BTreeMap<PathBuf, Vec<u8>>;

fn content(folder: &Path) -> Content {
    fn add(root: &Path, folder: &Path, found: &mut Content) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                add(root, &path, found);
            } else {
                let name = path.strip_prefix(root).unwrap().to_owned();
                // The time of a step is another one each time.
                let is_report = name.file_stem().is_some_and(|stem| stem == "report");
                found.insert(name, if is_report { Vec::new() } else { fs::read(path).unwrap() });
            }
        }
    }
    let mut found = Content::new();
    add(folder, folder, &mut found);
    found
}

fn lienav(words: &[String]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lienav"));
    command.args(words).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Kills two commands that write the same place in turn; says how often the old was found, and the new.
fn kill_at_any_instant(place: &Path, commands: [Vec<String>; 2], kills: usize, random: &mut ChaCha8Rng) -> [usize; 2] {
    let mut wholes = Vec::new();
    let mut longest = Duration::ZERO;
    for words in &commands {
        let start = Instant::now();
        assert!(lienav(words).status().unwrap().success(), "{words:?}");
        longest = longest.max(start.elapsed());
        wholes.push(content(place));
    }
    assert!(wholes[0] != wholes[1] && !wholes[0].is_empty());
    let parent = place.parent().unwrap();
    let neighbours = || fs::read_dir(parent).unwrap().count();
    let alone = neighbours();
    let mut counts = [0, 0];
    let mut current = 1;
    for kill in 0..kills {
        let words = &commands[1 - current];
        let mut child = lienav(words).spawn().unwrap();
        std::thread::sleep(longest.mul_f64(random.random_range(0.0..1.1)));
        let signal = ["KILL", "TERM", "INT"][kill % 3];
        let _ =
            Command::new("kill").args([format!("-{signal}"), child.id().to_string()]).stderr(Stdio::null()).status();
        child.wait().unwrap();
        let found = content(place);
        let state = wholes.iter().position(|whole| *whole == found);
        let Some(state) = state else {
            let names = |content: &Content| content.keys().cloned().collect::<Vec<_>>();
            panic!("{words:?} killed by {signal}: neither old nor new: {:?}", names(&found));
        };
        counts[usize::from(state != current)] += 1;
        current = state;
    }
    // What was left over goes with the next run.
    assert!(lienav(&commands[1 - current]).status().unwrap().success());
    assert_eq!(content(place), wholes[1 - current]);
    assert_eq!(neighbours(), alone, "left over: {:?}", fs::read_dir(parent).unwrap().collect::<Vec<_>>());
    counts
}

/// Two maps of sixty landmarks, with the joint covariance beside them.
fn maps() -> [MapFile; 2] {
    [1.0, 2.0].map(|scale| {
        let joint =
            DMatrix::from_fn(120, 120, |i, j| scale * if i == j { 2.0 } else { 1.0 / (1 + i.abs_diff(j)) as f64 });
        let landmark = |id: u32| MapLandmark {
            id,
            class: 0,
            position: Vector2::new(scale, f64::from(id)),
            covariance: joint.fixed_view::<2, 2>(2 * id as usize, 2 * id as usize).into_owned(),
        };
        let landmarks = (0..60).map(landmark).collect();
        MapFile { map: LandmarkMap { landmarks, joint: Some(joint), near: None }, ..MapFile::default() }
    })
}

/// Where the process that is killed saves.
const SAVE_TO: &str = "LIENAV_SAVE_TO";

#[test]
#[ignore = "the process that the next test kills"]
fn a_map_is_saved_again_and_again() {
    let Some(path) = std::env::var_os(SAVE_TO) else { return };
    for map in maps().iter().cycle() {
        map.write(Path::new(&path)).unwrap();
    }
}

#[test]
fn whenever_a_map_that_is_saved_is_killed_the_next_read_finds_the_last_good_one() {
    let kills: usize = std::env::var("LIENAV_KILLS").map_or(8, |kills| kills.parse().unwrap());
    let mut random = ChaCha8Rng::seed_from_u64(2);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("map.yaml");
    let maps = maps();
    let names = || fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>();
    let (mut counts, mut interrupted) = ([0, 0], 0);
    maps[0].write(&path).unwrap();
    let (mut killed, enough) = (0, kills.div_ceil(4));
    // How many kills fall within a save is up to the machine: there are as many as it takes.
    while killed < kills || (interrupted < enough && killed < 20 * kills) {
        killed += 1;
        let mut saver = Command::new(std::env::current_exe().unwrap())
            .args(["kills::a_map_is_saved_again_and_again", "--exact", "--ignored"])
            .env(SAVE_TO, &path)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let begun = fs::read(&path).unwrap();
        // At work: the map is another one than that which it found.
        let deadline = Instant::now() + Duration::from_secs(20);
        while fs::read(&path).unwrap() == begun {
            assert!(Instant::now() < deadline, "nothing is saved");
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_micros(random.random_range(0..20_000)));
        saver.kill().unwrap();
        saver.wait().unwrap();
        interrupted += usize::from(names().len() > 2);
        let read = MapFile::read(&path).unwrap();
        assert_eq!(read.warnings, [] as [&str; 0]);
        let found = maps.iter().position(|map| map.map == read.map);
        counts[found.expect("neither of the two maps")] += 1;
    }
    println!("map: {killed} kills: {counts:?} times either map, with its state; {interrupted} times within a save");
    assert!(interrupted >= enough, "only {interrupted} of {killed} kills were within a save");
    // What was left over goes with the next save.
    maps[1].write(&path).unwrap();
    assert_eq!((MapFile::read(&path).unwrap().map, names().len()), (maps[1].map.clone(), 2), "{:?}", names());
}

#[test]
fn what_is_killed_leaves_the_old_or_the_new_as_a_whole() {
    let kills: usize = std::env::var("LIENAV_KILLS").map_or(24, |kills| kills.parse().unwrap());
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name).to_str().unwrap().to_owned();
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
    let simulate = |seed: &str, out: &str| {
        words(&["simulate", "--seed", seed, "--set", "trajectory.laps=1", "--force", "--out", out])
    };
    for name in ["simulated", "converted", "evaluated"] {
        fs::create_dir(root.path().join(name)).unwrap();
    }
    let bags = ["one", "two"].map(path);
    for (seed, bag) in bags.iter().enumerate() {
        assert!(lienav(&simulate(&seed.to_string(), bag)).status().unwrap().success());
    }
    let (simulated, converted, evaluated) = (path("simulated/bag"), path("converted/bag"), path("evaluated/out"));
    let cases = [
        (simulated.clone(), [simulate("1", &simulated), simulate("2", &simulated)]),
        (converted.clone(), [0, 1].map(|k: usize| words(&["convert", "--force", &bags[k], &converted]))),
        (
            evaluated.clone(),
            [
                words(&["evaluate", &bags[0], "--filter", "ekf", "--out", &evaluated]),
                words(&["evaluate", &bags[0], "--filter", "reduced", "--filter", "default", "--out", &evaluated]),
            ],
        ),
    ];
    for (place, commands) in cases {
        let what = commands[0][0].clone();
        let [old, new] = kill_at_any_instant(Path::new(&place), commands, kills.div_ceil(3), &mut random);
        println!("{what}: {} kills: {old} times the old, {new} times the new, as a whole", old + new);
        assert_eq!(old + new, kills.div_ceil(3));
    }
}
