//! Files that want to take the machine: small ones that unpack to much, that name one piece a thousand times, that run
//! programs, that never end, that lead elsewhere. Each is given to the command line under a bound on memory and time.

use lienav_io::bag::cdr;
use lienav_io::bag::metadata::Qos;
use lienav_io::bag::{BagWriter, Existing};
use lienav_io::convert::header;
use lienav_io::messages::{Odometry, PointCloud2, PointField};
use rusqlite::Connection;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Address space that a call may take, kB. The processes' threads reserve some of it without using it.
const MEMORY_KB: u64 = 1_000_000;
const TIME: Duration = Duration::from_secs(100);

/// Runs `lienav WORDS` under the bounds.
fn bounded(words: &[&str]) -> Output {
    let mut child = Command::new("sh")
        .args(["-c", &format!("ulimit -v {MEMORY_KB}; exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_lienav")])
        .args(words)
        .env("MALLOC_ARENA_MAX", "2")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let end = Instant::now() + TIME;
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > end {
            child.kill().unwrap();
            panic!("{words:?} took longer than {TIME:?}");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.wait_with_output().unwrap()
}

/// What `lienav info` says of a source that can be read in part.
fn told(source: &Path) -> String {
    let done = bounded(&["info", source.to_str().unwrap()]);
    let (out, error) = (String::from_utf8(done.stdout).unwrap(), String::from_utf8(done.stderr).unwrap());
    assert_eq!(done.status.code(), Some(0), "{source:?}: {error}");
    out
}

/// The sentence with which `lienav info` refuses a source.
fn refused(source: &Path) -> String {
    let done = bounded(&["info", source.to_str().unwrap()]);
    let error = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(1), "{source:?}: {error}");
    error
}

fn record(opcode: u8, body: &[u8]) -> Vec<u8> {
    [&[opcode][..], &(body.len() as u64).to_le_bytes(), body].concat()
}

fn text(text: &str) -> Vec<u8> {
    [&(text.len() as u32).to_le_bytes()[..], text.as_bytes()].concat()
}

fn message(time: u64, data: &[u8]) -> Vec<u8> {
    record(5, &[&[1, 0, 0, 0, 0, 0][..], &time.to_le_bytes(), &time.to_le_bytes(), data].concat())
}

fn description(topic: &str, kind: &str) -> Vec<u8> {
    let schema = record(3, &[&[1, 0][..], &text(kind), &text("ros2msg"), &text("")].concat());
    let channel = record(4, &[&[1, 0, 1, 0][..], &text(topic), &text("cdr"), &[0; 4]].concat());
    [schema, channel].concat()
}

fn chunk(records: &[u8], unpacked: u64) -> Vec<u8> {
    let packed = zstd::encode_all(records, 1).unwrap();
    let times = [0_u64.to_le_bytes(), 1000_u64.to_le_bytes()].concat();
    let sizes = [&unpacked.to_le_bytes()[..], &[0; 4], &text("zstd"), &(packed.len() as u64).to_le_bytes()].concat();
    record(6, &[times, sizes, packed].concat())
}

const MAGIC: &[u8] = b"\x89MCAP0\r\n";

/// A file without a summary.
fn plain_file(parts: &[Vec<u8>]) -> Vec<u8> {
    let start = record(1, &[text("ros2"), text("")].concat());
    let end = [record(15, &[0; 4]), record(2, &[0; 20])].concat();
    [MAGIC, &start, &parts.concat(), &end, MAGIC].concat()
}

fn written(name: &str, content: &[u8]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, content).unwrap();
    (folder, path)
}

fn odometry(seconds: u64) -> Vec<u8> {
    let stamp = lienav_base::stamp::Stamp::from_secs(seconds as f64);
    let message = Odometry { header: header(stamp, "odom"), child_frame_id: "base".into(), ..Odometry::default() };
    cdr::encode(&message).unwrap()
}

#[test]
fn a_chunk_of_a_million_empty_messages_takes_no_memory_each() {
    let one = message(7, &[]);
    let count = 8_000_000;
    let many = one.repeat(count);
    let parts = [description("/odom", "nav_msgs/msg/Odometry"), chunk(&many, many.len() as u64)];
    let (_folder, path) = written("x.mcap", &plain_file(&parts));
    assert!(fs::metadata(&path).unwrap().len() < 200_000);
    let told = told(&path);
    assert!(told.contains("left out: ") && told.contains("× unreadable"), "{told}");
}

#[test]
fn a_chunk_that_unpacks_to_gigabytes_is_given_up() {
    let zeros = vec![0; 1 << 26];
    let mut packed = zstd::Encoder::new(Vec::new(), 1).unwrap();
    for _ in 0..40 {
        std::io::Write::write_all(&mut packed, &zeros).unwrap();
    }
    let packed = packed.finish().unwrap();
    let times = [0_u64.to_le_bytes(), 1000_u64.to_le_bytes()].concat();
    let unpacked = 40_u64 << 26;
    let sizes = [&unpacked.to_le_bytes()[..], &[0; 4], &text("zstd"), &(packed.len() as u64).to_le_bytes()].concat();
    let bomb = record(6, &[times, sizes, packed].concat());
    let (_folder, path) = written("x.mcap", &plain_file(&[description("/odom", "nav_msgs/msg/Odometry"), bomb]));
    let told = told(&path);
    assert!(told.contains("unpacks to more than") || told.contains("damaged"), "{told}");
}

#[test]
fn a_chunk_that_is_listed_two_thousand_times_is_read_once() {
    let messages: Vec<u8> = (0..2000).flat_map(|k| message(k, &odometry(k))).collect();
    let head = [MAGIC, &record(1, &[text("ros2"), text("")].concat())].concat();
    let topic = description("/odom", "nav_msgs/msg/Odometry");
    let chunk = chunk(&[topic.clone(), messages.clone()].concat(), (topic.len() + messages.len()) as u64);
    let data = [head.clone(), chunk.clone(), record(15, &[0; 4])].concat();
    let mut index = [0_u64.to_le_bytes(), 2000_u64.to_le_bytes(), (head.len() as u64).to_le_bytes()].concat();
    index.extend((chunk.len() as u64).to_le_bytes());
    index.extend([0; 4 + 8]);
    index.extend(text("zstd"));
    index.extend([0; 16]);
    let mut statistics = 4_000_000_u64.to_le_bytes().to_vec();
    statistics.extend([1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    statistics.extend(2000_u32.to_le_bytes());
    statistics.extend([0_u64.to_le_bytes(), 2000_u64.to_le_bytes()].concat());
    statistics.extend([0; 4]);
    let summary = [topic, record(8, &index).repeat(2000), record(11, &statistics)].concat();
    let footer = record(2, &[&(data.len() as u64).to_le_bytes()[..], &[0; 12]].concat());
    let (_folder, path) = written("x.mcap", &[data, summary, footer, MAGIC.to_vec()].concat());
    let told = told(&path);
    let row = told.lines().find(|line| line.starts_with("odometry")).unwrap();
    assert!(row.split_whitespace().nth(1) == Some("2000"), "{told}");
}

#[test]
fn chunks_that_all_span_the_whole_time_are_read_in_several_passes_and_lose_nothing() {
    // 60 MB of odometry in chunks that each hold every 60th second: more than may wait at once.
    let chunk_of = |k: u64| {
        let messages: Vec<u8> = (0..1400).flat_map(|n| message(60 * n + k, &odometry(60 * n + k))).collect();
        chunk(&messages, messages.len() as u64)
    };
    let parts: Vec<Vec<u8>> =
        std::iter::once(description("/odom", "nav_msgs/msg/Odometry")).chain((0..60).map(chunk_of)).collect();
    let (_folder, path) = written("x.mcap", &plain_file(&parts));
    let recording = lienav_io::recording::open(path.to_str().unwrap()).unwrap();
    let stamps: Vec<_> = recording.inputs.iter().map(|input| input.stamp()).collect();
    assert_eq!(stamps.len(), 60 * 1400, "{:?}", recording.warnings);
    assert!(stamps.is_sorted_by(|a, b| a < b));
    assert!(recording.warnings.iter().all(|warning| !warning.contains("left out")), "{:?}", recording.warnings);
}

#[test]
fn lengths_that_lie_allocate_nothing() {
    let topic = description("/odom", "nav_msgs/msg/Odometry");
    for length in [1_u64 << 30, 1 << 40, u64::MAX - 8, u64::MAX] {
        let mut lying = message(1, &odometry(1));
        lying[1..9].copy_from_slice(&length.to_le_bytes());
        let (_folder, path) = written("x.mcap", &plain_file(&[topic.clone(), message(0, &odometry(0)), lying.clone()]));
        assert!(told(&path).contains("cut off"));
        let inside = chunk(&[message(0, &odometry(0)), lying].concat(), length);
        let (_folder, path) = written("x.mcap", &plain_file(&[topic.clone(), inside]));
        assert!(told(&path).contains("damaged"));
        let mut channel = topic.clone();
        let place = channel.len() - 4;
        channel[place..].copy_from_slice(&(length as u32).to_le_bytes());
        let (_folder, path) = written("x.mcap", &plain_file(&[channel]));
        // Of the second length, these four bytes are 0: a topic without metadata.
        match length as u32 {
            0 => _ = told(&path),
            _ => assert!(refused(&path).contains("damaged description of a topic")),
        }
    }
}

#[test]
fn compressed_messages_unpack_to_what_a_filter_is_fed_with_and_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let bag = folder.path().join("bag");
    let mut writer = BagWriter::create(&bag, Existing::Refuse).unwrap();
    let topic = writer.add_topic::<PointCloud2>("/features", Qos::RELIABLE).unwrap();
    let zeros = zstd::encode_all(&vec![0; 1 << 28][..], 1).unwrap();
    let mut cloud = PointCloud2 { width: 12 << 20, height: 1, point_step: 4, row_step: 48 << 20, ..Default::default() };
    let field = |name: &str| PointField { name: name.into(), offset: 0, datatype: 7, count: 1 };
    cloud.fields = vec![field("x"), field("y")];
    cloud.data.0 = vec![0; 48 << 20];
    let cloud = zstd::encode_all(&cdr::encode(&cloud).unwrap()[..], 1).unwrap();
    for (k, packed) in [&zeros, &cloud, &zeros, &cloud].into_iter().enumerate() {
        let stamp = lienav_base::stamp::Stamp::from_secs(k as f64);
        writer.write_serialized(topic, stamp, stamp, packed).unwrap();
    }
    writer.finish().unwrap();
    let metadata = bag.join("metadata.yaml");
    let text = fs::read_to_string(&metadata).unwrap();
    let text = text.replace("compression_mode: ''", "compression_mode: MESSAGE");
    fs::write(&metadata, text.replace("compression_format: ''", "compression_format: zstd")).unwrap();
    let told = told(&bag);
    assert!(told.contains("it is longer than 67 MB") && told.contains("12582912 points"), "{told}");
}

#[test]
fn a_packed_file_is_not_unpacked_without_limit() {
    let mut packed = zstd::Encoder::new(Vec::new(), 1).unwrap();
    std::io::Write::write_all(&mut packed, MAGIC).unwrap();
    for _ in 0..10 {
        std::io::Write::write_all(&mut packed, &vec![0; 1 << 26]).unwrap();
    }
    let (folder, path) = written("x.mcap.zstd", &packed.finish().unwrap());
    assert!(refused(&path).contains("unpacks to more than"));
    // Without room, that is said; the bag is not called cut off.
    let small = zstd::encode_all(&plain_file(&[])[..], 1).unwrap();
    fs::write(&path, small).unwrap();
    let nowhere = folder.path().join("nowhere");
    let done =
        Command::new(env!("CARGO_BIN_EXE_lienav")).arg("info").arg(&path).env("TMPDIR", &nowhere).output().unwrap();
    let error = String::from_utf8(done.stderr).unwrap();
    assert!(done.status.code() == Some(1) && error.contains("set TMPDIR"), "{error}");
}

#[test]
fn a_database_runs_nothing() {
    let rosbag = "CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT, type TEXT, serialization_format TEXT,
                  offered_qos_profiles TEXT);
                  INSERT INTO topics VALUES (1, '/odom', 'nav_msgs/msg/Odometry', 'cdr', '');";
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)";
    let cases = [
        (
            format!(
                "CREATE VIEW messages AS {endless} SELECT i AS id, 1 AS topic_id, i AS timestamp, x'00' AS data FROM n;"
            ),
            "view",
        ),
        ("CREATE VIRTUAL TABLE messages USING fts5(id, topic_id, timestamp, data);".to_owned(), "virtual table"),
        (
            "CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id, timestamp,
             data AS (zeroblob(900000000))); INSERT INTO messages(topic_id, timestamp) VALUES (1, 1);"
                .to_owned(),
            "computed",
        ),
    ];
    for (sql, cause) in cases {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.db3");
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch(rosbag).unwrap();
        if connection.execute_batch(&sql).is_err() {
            println!("skipped: this SQLite has no {cause}");
            continue;
        }
        drop(connection);
        let refusal = refused(&path);
        assert!(refusal.contains(cause), "{refusal}");
    }
}

#[test]
fn a_bag_names_only_files_of_its_own_folder() {
    let folder = tempfile::tempdir().unwrap();
    let outside = folder.path().join("outside.mcap");
    fs::write(&outside, plain_file(&[description("/odom", "nav_msgs/msg/Odometry"), message(0, &odometry(0))]))
        .unwrap();
    let bag = folder.path().join("bag");
    fs::create_dir(&bag).unwrap();
    let names = |names: &str| {
        let text = format!("rosbag2_bagfile_information:\n  version: 5\n  relative_file_paths: [{names}]\n");
        fs::write(bag.join("metadata.yaml"), text).unwrap();
    };
    let fifo = bag.join("fifo.mcap");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    std::os::unix::fs::symlink(&outside, bag.join("link.mcap")).unwrap();
    let cases = [
        ("fifo.mcap", "a pipe, a socket or a device"),
        ("/dev/zero", "leads out of the bag's folder"),
        ("../outside.mcap", "leads out of the bag's folder"),
        ("link.mcap", "leads out of the bag's folder"),
        ("no.mcap", "No such file"),
    ];
    for (name, cause) in cases {
        names(name);
        let refusal = refused(&bag);
        assert!(refusal.contains(cause), "{name}: {refusal}");
    }
    // Given by the user himself, a link is followed.
    assert!(told(&bag.join("link.mcap")).contains("odometry               1"), "{}", told(&bag.join("link.mcap")));
    for name in ["metadata.yaml", "params.yaml"] {
        fs::write(bag.join("x.mcap"), plain_file(&[])).unwrap();
        names("x.mcap");
        let _ = fs::remove_file(bag.join(name));
        assert!(Command::new("mkfifo").arg(bag.join(name)).status().unwrap().success());
        let done = bounded(&["info", bag.to_str().unwrap()]);
        let said = [done.stdout, done.stderr].concat();
        assert!(String::from_utf8(said).unwrap().contains("a pipe, a socket or a device"), "{name}");
        fs::remove_file(bag.join(name)).unwrap();
    }
    assert!(refused(Path::new("/dev/zero")).contains("a pipe, a socket or a device"));
    let config = bounded(&["evaluate", bag.to_str().unwrap(), "--config", "/dev/zero"]);
    assert!(String::from_utf8(config.stderr).unwrap().contains("a pipe, a socket or a device"));
}

#[test]
fn names_of_topics_do_not_reach_the_terminal_raw() {
    let topic = description("/odom\u{1b}]0;x\u{7}\u{1b}[31m", "nav_msgs/msg/Odometry\u{9b}1m");
    let (_folder, path) = written("x.mcap", &plain_file(&[topic, message(0, &odometry(0))]));
    for words in [vec!["info"], vec!["info", "--json"], vec!["info", "--odom-topic", "no\u{1b}[2Jtopic"]] {
        let done = bounded(&[&words[..1], &[path.to_str().unwrap()], &words[1..]].concat());
        let said = String::from_utf8([done.stdout, done.stderr].concat()).unwrap();
        assert!(said.contains("/odom") && !said.contains(['\u{1b}', '\u{7}', '\u{9b}']), "{said:?}");
    }
}
