//! Files, folders and peers that are not what they seem, given to the command line as a user gives them: it ends with a
//! sentence within seconds and within bounds of memory, and replaces nothing but regular files.

use lienav_io::bag::metadata::Qos;
use lienav_io::bag::{BagWriter, Existing};
use lienav_io::messages::{Imu, Odometry, PointCloud2};
use std::fs::{self, File};
use std::os::unix::fs::{FileTypeExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Address space that a call may take, kB. The processes' threads reserve some of it without using it.
const MEMORY_KB: u64 = 1_000_000;
/// A call ends within five seconds; a machine that does something else at the same time may take twice as long.
const TIME: Duration = Duration::from_secs(10);

const MAP: &str = "lienav_map: 1\nlandmarks:\n- {id: 7, x_m: 1.25, y_m: -3.5, sigma_m: 0.02}\n";
const EXPECTED: &str = "every_filter:\n  dropped.not_finite: {max: 0}\n";

/// What the shell line says that runs lienav as `$L`, and its exit code.
fn said(folder: &Path, line: &str) -> (Option<i32>, String) {
    let begin = Instant::now();
    let mut child = Command::new("bash")
        .args(["-c", &format!("ulimit -v {MEMORY_KB}; {line}")])
        .env("L", env!("CARGO_BIN_EXE_lienav"))
        .env("MALLOC_ARENA_MAX", "2")
        .env("RAYON_NUM_THREADS", "2")
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(File::create(folder.join("said")).unwrap())
        .stderr(File::options().append(true).create(true).open(folder.join("said")).unwrap())
        .spawn()
        .unwrap();
    while child.try_wait().unwrap().is_none() {
        if begin.elapsed() > TIME {
            child.kill().unwrap();
            panic!("{line} took longer than {TIME:?}");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let text = String::from_utf8_lossy(&fs::read(folder.join("said")).unwrap()).into_owned();
    (child.wait().unwrap().code(), text)
}

fn refused(folder: &Path, line: &str, cause: &str) {
    let (code, text) = said(folder, line);
    assert!(matches!(code, Some(1..=3)) && text.contains(cause), "{line}: {code:?}: {text}");
}

fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// A device like `/dev/null`, which only root can make; others have a link to one.
fn device(path: &Path) {
    let made = Command::new("mknod").arg(path).args(["c", "1", "3"]).stderr(Stdio::null()).status();
    if !made.is_ok_and(|status| status.success()) {
        symlink("/dev/null", path).unwrap();
    }
}

/// A folder with a map, a short run as a bag, expectations, a device and a pipe.
fn workplace() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_owned();
    fs::write(path.join("hall.yaml"), MAP).unwrap();
    fs::write(path.join("expected.yaml"), EXPECTED).unwrap();
    device(&path.join("device"));
    pipe(&path.join("pipe"));
    let (code, text) = said(&path, "$L simulate --out run");
    assert_eq!(code, Some(0), "{text}");
    (folder, path)
}

#[test]
fn devices_and_pipes_are_never_replaced() {
    let (_folder, path) = workplace();
    for (line, is_done) in [
        ("$L map draw hall.yaml --out device", true),
        ("$L map draw hall.yaml --out pipe", false),
        ("$L map convert --force hall.yaml device", false),
        ("$L map convert --force hall.yaml pipe", false),
        ("$L map convert --force hall.yaml device --to csv", true),
        ("$L evaluate run --expect expected.yaml --junit device", true),
        ("$L evaluate run --expect expected.yaml --junit pipe", false),
        ("$L evaluate run --save-map device", false),
        ("$L evaluate run --save-map pipe", false),
        ("$L evaluate run --out device", false),
        ("$L evaluate run --out pipe", false),
        ("$L simulate --out device --force", false),
        ("$L convert run device --force", false),
    ] {
        let (code, text) = said(&path, line);
        assert_eq!(code == Some(0), is_done, "{line}: {text}");
        assert!(fs::metadata(path.join("device")).unwrap().file_type().is_char_device(), "{line}");
        assert!(fs::metadata(path.join("pipe")).unwrap().file_type().is_fifo(), "{line}");
    }
    // A link is followed, and stays one.
    symlink("drawn.svg", path.join("link.svg")).unwrap();
    assert_eq!(said(&path, "$L map draw hall.yaml --out link.svg").0, Some(0));
    assert!(path.join("link.svg").is_symlink() && fs::read_to_string(path.join("drawn.svg")).unwrap().contains("<svg"));
    let (code, text) = said(&path, "$L map draw hall.yaml --out /dev/stdout");
    assert!(code == Some(0) && text.contains("<svg") && text.contains("1 landmarks"), "{text}");
    // What the shell does not allow is an error like any other.
    refused(&path, "ulimit -f 1; $L evaluate run --save-map large.yaml", "ulimit -f");
}

#[test]
fn pipes_devices_and_endless_files_are_refused_wherever_a_file_is_read() {
    let (_folder, path) = workplace();
    assert_eq!(said(&path, "$L evaluate run --out results").0, Some(0));
    File::create(path.join("sparse")).unwrap().set_len(10 << 30).unwrap();
    for file in ["pipe", "/dev/zero", "sparse"] {
        let cause = if file == "sparse" { "longer than" } else { "a pipe, a socket or a device" };
        for line in [
            "$L map check FILE",
            "$L map draw FILE --out x.svg",
            "$L map convert FILE x.yaml --from csv",
            "$L evaluate run --config FILE",
            "$L evaluate run --map FILE",
            "$L evaluate run --expect FILE",
            "$L attitude run --config FILE",
            "$L attitude broad:FILE",
            "$L simulate --scenario ./FILE --out x",
            "$L simulate --scenario cones:FILE --out x",
        ] {
            let line = if file.starts_with('/') { line.replace("./FILE", "FILE") } else { line.to_owned() };
            refused(&path, &line.replace("FILE", file), cause);
        }
        for name in ["report.json", "errors.csv"] {
            let place = path.join("results").join(name);
            let kept = fs::read(&place).unwrap();
            fs::remove_file(&place).unwrap();
            symlink(path.join(file), &place).unwrap();
            refused(&path, "$L compare results results", cause);
            fs::remove_file(&place).unwrap();
            fs::write(&place, kept).unwrap();
        }
    }
    for file in ["pipe", "/dev/zero"] {
        refused(&path, &format!("$L merge {file}"), "a pipe, a socket or a device");
        symlink(path.join(file), path.join("run/space.json")).unwrap();
        refused(&path, "$L evaluate run", "a pipe, a socket or a device");
        fs::remove_file(path.join("run/space.json")).unwrap();
        fs::create_dir(path.join("parts")).unwrap();
        symlink(path.join(file), path.join("parts/shard-1-of-2.jsonl")).unwrap();
        refused(&path, "$L merge parts", "a pipe, a socket or a device");
        let line = "$L monte-carlo thesis-circle-10hz-low-q1 --runs 2 --shard 1/2 --out parts";
        refused(&path, line, "a pipe, a socket or a device");
        fs::remove_dir_all(path.join("parts")).unwrap();
    }
    // What the shell has opened is read, but not waited for without end.
    let (code, text) = said(&path, "$L evaluate run --config <(echo 'gate.probability: 0.99')");
    assert_eq!(code, Some(0), "{text}");
    refused(&path, "$L evaluate run --config <(sleep 20)", "nothing came through the pipe");
}

#[test]
fn a_folder_that_is_gone_on_with_is_not_waited_for() {
    let (_folder, path) = workplace();
    File::create(path.join("sparse")).unwrap().set_len(10 << 30).unwrap();
    let ends: &[&str] = if cfg!(feature = "lab") { &["pipe", "/dev/zero", "sparse"] } else { &[] };
    for file in ends {
        let cause = if *file == "sparse" { "longer than" } else { "a pipe, a socket or a device" };
        refused(&path, &format!("$L reproduce inertial --quick --recording {file}"), cause);
    }
}

#[test]
fn a_result_that_cannot_be_written_is_said_before_the_work() {
    let (_folder, path) = workplace();
    for line in
        ["$L evaluate none --out device", "$L attitude none --out pipe", "$L judge none --truth none --out device"]
    {
        refused(&path, line, "it is no folder, and is not replaced");
    }
    refused(&path, "$L observability none --out hall.yaml", "it is no folder, and is not replaced");
    refused(&path, "ulimit -f 4; $L simulate --out limited", "lienav: limited/params.yaml: cannot be written");
}

#[test]
fn aliases_do_not_multiply_a_text() {
    let (_folder, path) = workplace();
    let text = format!("a: &a {}\nb: [{}]\n", "x".repeat(100_000), "*a,".repeat(200_000));
    fs::write(path.join("aliases"), text).unwrap();
    for line in [
        "$L map check aliases",
        "$L evaluate run --config aliases",
        "$L evaluate run --map aliases",
        "$L attitude run --config aliases",
        "$L simulate --scenario ./aliases --out x",
    ] {
        refused(&path, line, "aliases (`*name`) in so long a text: write out what they stand for");
    }
    fs::write(path.join("short"), "a: &a {probability: 0.9}\ngate: *a\n").unwrap();
    refused(&path, "$L evaluate run --config short", "'a.probability'");
}

#[test]
fn nested_yaml_is_refused_before_it_is_parsed() {
    let (_folder, path) = workplace();
    for (name, text) in [
        ("brackets", "[".repeat(300_000)),
        ("map", format!("lienav_map: 1\nlandmarks: {}", "[".repeat(300_000))),
        ("braces", "{a: ".repeat(100_000)),
        ("hidden", "[\"]\", ".repeat(60_000)),
    ] {
        fs::write(path.join(name), &text).unwrap();
        for line in [
            "$L map check FILE",
            "$L evaluate run --config FILE",
            "$L evaluate run --expect FILE",
            "$L attitude run --config FILE",
            "$L map convert FILE x.yaml --from apriltag",
            "$L simulate --scenario ./FILE --out x",
            "$L simulate --scenario cones:FILE --out x",
        ] {
            refused(&path, &line.replace("FILE", name), "more than 64 brackets in each other");
        }
        fs::write(path.join("run/metadata.yaml"), &text).unwrap();
        assert!(said(&path, "$L info run").1.contains("more than 64 brackets"), "{name}");
        fs::write(path.join("run/params.yaml"), &text).unwrap();
        refused(&path, "$L info run", "more than 64 brackets");
        fs::remove_file(path.join("run/params.yaml")).unwrap();
    }
}

#[test]
fn expectations_that_test_nothing_fail() {
    let (_folder, path) = workplace();
    assert_eq!(said(&path, "$L evaluate run --expect expected.yaml").0, Some(0));
    let mut bag = BagWriter::create(&path.join("empty"), Existing::Refuse).unwrap();
    bag.add_topic::<PointCloud2>("/features", Qos::RELIABLE).unwrap();
    bag.finish().unwrap();
    refused(&path, "$L evaluate empty --expect expected.yaml", "steps is 0, expected: at least 1");
    fs::write(path.join("typo.yaml"), EXPECTED.replace("finite", "finit")).unwrap();
    refused(&path, "$L evaluate run --expect typo.yaml", "'dropped.not_finit' is no reason");
}

#[test]
fn sentences_are_short_whatever_they_quote() {
    let (_folder, path) = workplace();
    fs::write(path.join("header.csv"), "[".repeat(300_000)).unwrap();
    let mut bag = BagWriter::create(&path.join("topics"), Existing::Refuse).unwrap();
    for k in 0..20_000 {
        bag.add_topic::<Odometry>(&format!("/odom_{k}"), Qos::RELIABLE).unwrap();
    }
    bag.finish().unwrap();
    for line in ["$L judge --innovations header.csv", "$L judge header.csv --truth run", "$L judge topics --truth run"]
    {
        let (code, text) = said(&path, line);
        assert!(code == Some(1) && text.len() < 20_000, "{line}: {code:?}: {} bytes", text.len());
    }
}

#[test]
fn slips_of_the_pen_are_named_with_their_remedy() {
    let (_folder, path) = workplace();
    for value in ["nan", "inf", "0", "-1"] {
        let line = format!("$L map convert hall.yaml tags.yaml --to apriltag --tag-size-m={value}");
        refused(&path, &line, "give a length in m");
    }
    fs::write(path.join("bom.yaml"), format!("\u{feff}{MAP}")).unwrap();
    assert_eq!(said(&path, "$L map check bom.yaml"), (Some(0), "bom.yaml: 1 landmarks\n".to_owned()));
    let config = |text: &str| fs::write(path.join("config.yaml"), text).unwrap();
    config("gate: {probability: 0.9}\ngate.probability: 0.8\n");
    refused(&path, "$L evaluate run --config config.yaml", "'gate.probability' is stated twice");
    for (frame, cause) in [("/odom", "set it to 'odom'"), ("odom map", "has a blank in it")] {
        config(&format!("/**: {{ros__parameters: {{odom_frame: '{frame}'}}}}"));
        refused(&path, "$L evaluate run --config config.yaml", cause);
    }
}

#[test]
fn a_bag_with_64000_topics_and_one_of_small_messages_that_unpack_to_gigabytes_are_read_in_seconds() {
    let (_folder, path) = workplace();
    let mut bag = BagWriter::create(&path.join("topics"), Existing::Refuse).unwrap();
    for k in 0..64_000 {
        bag.add_topic::<Imu>(&format!("/imu_{k}"), Qos::RELIABLE).unwrap();
    }
    bag.finish().unwrap();
    let (_, text) = said(&path, "$L info topics");
    assert!(text.contains("63950 more") && text.len() < 20_000, "{}", &text[..text.len().min(2000)]);
    #[cfg(feature = "ros")]
    refused(&path, "$L play topics", "64000 of its topics can be played, at most 1000 at a time");

    let mut bag = BagWriter::create(&path.join("zeros"), Existing::Refuse).unwrap();
    let topic = bag.add_topic::<PointCloud2>("/features", Qos::RELIABLE).unwrap();
    let zeros = zstd::encode_all(&vec![0; 1 << 28][..], 1).unwrap();
    for k in 0..60 {
        let stamp = lienav_base::stamp::Stamp::from_secs(f64::from(k));
        bag.write_serialized(topic, stamp, stamp, &zeros).unwrap();
    }
    bag.finish().unwrap();
    let metadata = path.join("zeros/metadata.yaml");
    let text = fs::read_to_string(&metadata).unwrap();
    let text = text.replace("compression_mode: ''", "compression_mode: MESSAGE");
    fs::write(&metadata, text.replace("compression_format: ''", "compression_format: zstd")).unwrap();
    let (_, text) = said(&path, "$L info zeros");
    assert!(text.contains("more than those of any recording"), "{text}");
}
