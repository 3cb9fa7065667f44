//! What readers bear: either storage, split bags, packed files, and damage of every kind.

use super::metadata::{FILE_NAME, Qos};
use super::random_tests::Random;
use super::*;
use lienav_base::stamp::Stamp;
use lienav_files::files::folder_of;
use lienav_intake::messages::{Clock, Odometry, Time};
use rusqlite::Connection;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const COUNT: i32 = 600;

fn stamp(i: i32) -> Stamp {
    Stamp::from_nanos(1_000_000_000 + i64::from(i) * 10_000_000)
}

/// Clock messages, one each 10 ms, and odometry on every third.
fn write_bag(folder: &Path) {
    let mut bag = BagWriter::create(folder, Existing::Refuse).unwrap();
    let clock = bag.add_topic::<Clock>("/clock", Qos::RELIABLE).unwrap();
    let odom = bag.add_topic::<Odometry>("/odom", Qos::RELIABLE).unwrap();
    for i in 0..COUNT {
        bag.write(clock, stamp(i), &Clock { clock: Time { sec: i, nanosec: 7 } }).unwrap();
        if i % 3 == 0 {
            let mut odometry = Odometry::default();
            // Noise that does not compress, so that damage hits something.
            odometry
                .twist
                .covariance
                .0
                .iter_mut()
                .enumerate()
                .for_each(|(k, x)| *x = f64::from(i * 37 + k as i32).sin());
            bag.write(odom, stamp(i), &odometry).unwrap();
        }
    }
    bag.finish().unwrap();
}

struct Written {
    _folder: TempDir,
    bag: PathBuf,
    mcap: PathBuf,
    records: Vec<Record>,
}

fn written() -> Written {
    let folder = tempfile::tempdir().unwrap();
    let bag = folder.path().join("bag");
    write_bag(&bag);
    let records = BagReader::open(&bag).unwrap().collect();
    Written { mcap: bag.join("bag_0.mcap"), _folder: folder, bag, records }
}

/// An MCAP file of small chunks, without a summary if `plain`, of `/clock` only.
fn small_chunks(path: &Path, plain: bool, chunked: bool, compression: Option<mcap::Compression>) {
    let options = mcap::WriteOptions::new()
        .profile("ros2")
        .compression(compression)
        .compression_threads(0)
        .use_chunks(chunked)
        .chunk_size(Some(400))
        .emit_summary_records(!plain)
        .emit_message_indexes(!plain);
    let mut writer = options.create(std::io::BufWriter::new(fs::File::create(path).unwrap())).unwrap();
    let schema = writer.add_schema("rosgraph_msgs/msg/Clock", "ros2msg", b"builtin_interfaces/Time clock\n").unwrap();
    let channel = writer.add_channel(schema, "/clock", "cdr", &Default::default()).unwrap();
    for i in 0..COUNT {
        let i = nth_written(i);
        let time = stamp(i).nanos() as u64;
        let header =
            mcap::records::MessageHeader { channel_id: channel, sequence: 0, log_time: time, publish_time: time - 5 };
        let bytes = cdr::encode(&Clock { clock: Time { sec: i, nanosec: 7 } }).unwrap();
        writer.write_to_known_channel(&header, &bytes).unwrap();
    }
    writer.finish().unwrap();
}

/// Every other pair is written in the wrong order, as recorders do.
fn nth_written(i: i32) -> i32 {
    if i % 4 < 2 { i ^ 1 } else { i }
}

fn seconds(bag: &mut BagReader) -> Vec<i32> {
    bag.map(|record| cdr::decode::<Clock>(&record.data).unwrap().clock.sec).collect()
}

#[test]
fn records_come_in_the_order_of_time_and_bags_can_be_sought() {
    let written = written();
    let (bag, records) = (&written.bag, &written.records);
    assert_eq!(records.len() as i32, COUNT + COUNT / 3);
    assert!(records.is_sorted_by_key(|record| record.log_time));
    let mut reader = BagReader::open(bag).unwrap();
    assert_eq!(reader.message_count(), records.len() as u64);
    assert_eq!(reader.bounds(), Some((stamp(0), stamp(COUNT - 1))));
    let names: Vec<(&str, &str)> = reader.topics().iter().map(|t| (&*t.name, &*t.type_name)).collect();
    assert_eq!(names, [("/clock", "rosgraph_msgs/msg/Clock"), ("/odom", "nav_msgs/msg/Odometry")]);
    assert!(reader.topics()[0].qos.contains("reliability: reliable"));
    reader.seek(stamp(300));
    assert_eq!(reader.next().map(|record| record.log_time), Some(stamp(300)));
    reader.seek(Stamp::MIN);
    assert_eq!(reader.by_ref().collect::<Vec<_>>(), *records);
    assert!(reader.warnings().is_empty());
}

#[test]
fn every_way_to_write_mcap_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.mcap");
    for plain in [false, true] {
        for chunked in [false, true] {
            for compression in [None, Some(mcap::Compression::Zstd), Some(mcap::Compression::Lz4)] {
                small_chunks(&path, plain, chunked, compression);
                let mut bag = BagReader::open(&path).unwrap();
                let case = format!("plain {plain}, chunked {chunked}, {compression:?}");
                assert_eq!(bag.message_count(), COUNT as u64, "{case}");
                assert_eq!(bag.bounds(), Some((stamp(0), stamp(COUNT - 1))), "{case}");
                assert_eq!(seconds(&mut bag), (0..COUNT).collect::<Vec<_>>(), "{case}");
                assert!(bag.warnings().is_empty(), "{case}: {:?}", bag.warnings());
            }
        }
    }
}

/// Messages of two topics, `/clock` and `/time`, in small chunks; each chunk begins with what it needs.
fn two_topics(options: mcap::WriteOptions) -> Vec<u8> {
    let options = options.profile("ros2").compression(None).chunk_size(Some(400));
    let mut writer = options.create(std::io::Cursor::new(Vec::new())).unwrap();
    let channels = ["/clock", "/time"].map(|topic| {
        let schema = writer.add_schema(&format!("test/msg/{}", &topic[1..]), "ros2msg", b"").unwrap();
        writer.add_channel(schema, topic, "cdr", &Default::default()).unwrap()
    });
    for i in 0..COUNT {
        // The second topic begins late and is rare, so that there are chunks without it.
        let channel_id = channels[usize::from(i > COUNT / 2 && i % 50 == 0)];
        let time = stamp(i).nanos() as u64;
        let header = mcap::records::MessageHeader { channel_id, sequence: 0, log_time: time, publish_time: time };
        let bytes = cdr::encode(&Clock { clock: Time { sec: i, nanosec: 7 } }).unwrap();
        writer.write_to_known_channel(&header, &bytes).unwrap();
    }
    writer.finish().unwrap();
    writer.into_inner().into_inner()
}

/// A record of an MCAP file: opcode and content.
type RawRecord = (u8, Vec<u8>);

/// The same file with another summary, and behind its last chunk the records of `behind`.
fn with_summary(bytes: &[u8], behind: &[RawRecord], change: impl Fn(Vec<RawRecord>) -> Vec<RawRecord>) -> Vec<u8> {
    use mcap::records::op;
    let raw = |(opcode, body): &RawRecord| [&[*opcode][..], &(body.len() as u64).to_le_bytes(), body].concat();
    let mut records = super::mcap_parts::records_of(&bytes[mcap::MAGIC.len()..]).map(|(op, body)| (op, body.to_vec()));
    let mut data: Vec<RawRecord> = records.by_ref().take_while(|(opcode, _)| *opcode != op::DATA_END).collect();
    data.extend_from_slice(behind);
    data.push((op::DATA_END, vec![0; 4]));
    let mut out = mcap::MAGIC.to_vec();
    out.extend(data.iter().flat_map(raw));
    let start = out.len() as u64;
    let summary = change(records.take_while(|(opcode, _)| *opcode != op::FOOTER).collect());
    out.extend(summary.iter().flat_map(raw));
    let start = if summary.is_empty() { 0 } else { start };
    // No offsets, and 0 for a checksum that was not computed.
    out.extend(raw(&(op::FOOTER, [start.to_le_bytes(), [0; 8]].concat().into_iter().chain([0; 4]).collect())));
    out.extend(mcap::MAGIC);
    out
}

#[test]
fn whatever_a_summary_leaves_out_every_message_comes() {
    use mcap::records::op;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.mcap");
    let check = |case: &str, bytes: &[u8], count: i32| {
        fs::write(&path, bytes).unwrap();
        let mut bag = BagReader::open(&path).unwrap();
        assert_eq!(bag.message_count(), count as u64, "{case}");
        let names: Vec<(&str, &str)> = bag.topics().iter().map(|t| (&*t.name, &*t.type_name)).collect();
        assert_eq!(names, [("/clock", "test/msg/clock"), ("/time", "test/msg/time")], "{case}");
        assert_eq!(seconds(&mut bag), (0..count).collect::<Vec<_>>(), "{case}");
        assert!(bag.warnings().is_empty(), "{case}: {:?}", bag.warnings());
        let rare = bag.topics().iter().position(|topic| topic.name == "/time").unwrap();
        bag.select(&[0, 1].map(|topic| topic == rare));
        assert_eq!(bag.count(), 5, "{case}: of the rare topic alone");
    };
    type Options = fn(mcap::WriteOptions) -> mcap::WriteOptions;
    let options: [(&str, Options); 10] = [
        ("all", |o| o),
        ("no channels", |o| o.repeat_channels(false)),
        ("no schemas", |o| o.repeat_schemas(false)),
        ("no channels, no schemas", |o| o.repeat_channels(false).repeat_schemas(false)),
        ("no statistics", |o| o.emit_statistics(false)),
        ("no chunk indexes", |o| o.emit_chunk_indexes(false)),
        ("no offsets, no checksums", |o| o.emit_summary_offsets(false).calculate_summary_section_crc(false)),
        ("no message indexes", |o| o.emit_message_indexes(false)),
        ("no message indexes, no channels", |o| o.emit_message_indexes(false).repeat_channels(false)),
        ("no chunks, no channels", |o| o.use_chunks(false).repeat_channels(false).repeat_schemas(false)),
    ];
    for (case, options) in options {
        check(case, &two_topics(options(mcap::WriteOptions::new())), COUNT);
    }

    let whole = two_topics(mcap::WriteOptions::new());
    let bare = two_topics(mcap::WriteOptions::new().emit_message_indexes(false));
    let number = |body: &[u8]| u16::from_le_bytes(body[..2].try_into().unwrap());
    let without = |bytes: &[u8], opcode: u8, which: u16| {
        with_summary(bytes, &[], |summary| {
            let mut summary = summary;
            summary.retain(|(op, body)| *op != opcode || number(body) != which);
            summary
        })
    };
    let ids = |opcode: u8| {
        let records = super::mcap_parts::records_of(&whole[mcap::MAGIC.len()..]);
        let mut ids: Vec<u16> = records.filter(|record| record.0 == opcode).map(|record| number(record.1)).collect();
        ids.dedup();
        ids
    };
    assert_eq!((ids(op::SCHEMA).len(), ids(op::CHANNEL).len()), (2, 2));
    for id in ids(op::CHANNEL) {
        check("one channel is missing", &without(&whole, op::CHANNEL, id), COUNT);
        check("one channel and the message indexes are missing", &without(&bare, op::CHANNEL, id), COUNT);
    }
    for id in ids(op::SCHEMA) {
        check("one schema is missing", &without(&whole, op::SCHEMA, id), COUNT);
    }
    check("no summary", &with_summary(&whole, &[], |_| Vec::new()), COUNT);
    // The counts by channel, the last field of the statistics, may be left out; so may the index of one channel.
    let emptied = |bytes: &[u8], opcode: u8, at: usize, without: u16, also: u8| {
        with_summary(bytes, &[], |summary| {
            let changed = summary.into_iter().filter(|(op, _)| *op != also).map(|(op, mut body)| {
                if op == opcode {
                    let size = u32::from_le_bytes(body[at..at + 4].try_into().unwrap()) as usize;
                    let rest = body.split_off(at + 4 + size);
                    let entries = body.split_off(at + 4);
                    let kept: Vec<u8> =
                        entries.chunks(10).filter(|e| number(e) != without).flatten().copied().collect();
                    body[at..].copy_from_slice(&(kept.len() as u32).to_le_bytes());
                    body.extend(kept.into_iter().chain(rest));
                }
                (op, body)
            });
            changed.collect()
        })
    };
    for id in ids(op::CHANNEL) {
        let counts = 8 + 2 + 4 * 4 + 8 + 8;
        check("a channel is not counted", &emptied(&bare, op::STATISTICS, counts, id, op::CHANNEL), COUNT);
        check("a channel is in no chunk index", &emptied(&whole, op::CHUNK_INDEX, 4 * 8, id, op::SCHEMA), COUNT);
        check("a channel is in no chunk index", &emptied(&whole, op::CHUNK_INDEX, 4 * 8, id, 0), COUNT);
    }

    // One more message behind the last chunk.
    let time = stamp(COUNT).nanos().to_le_bytes();
    let mut message = [&ids(op::CHANNEL)[0].to_le_bytes()[..], &[0; 4], &time, &time].concat();
    message.extend(cdr::encode(&Clock { clock: Time { sec: COUNT, nanosec: 7 } }).unwrap());
    check("a message outside of chunks", &with_summary(&whole, &[(op::MESSAGE, message)], |all| all), COUNT + 1);
}

#[test]
fn a_file_that_was_cut_off_is_read_up_to_there_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.mcap");
    small_chunks(&path, false, true, Some(mcap::Compression::Zstd));
    let whole = fs::read(&path).unwrap();
    let mut found = Vec::new();
    for percent in [0, 1, 10, 50, 90, 99] {
        let cut = whole.len() * percent / 100;
        fs::write(&path, &whole[..cut]).unwrap();
        match BagReader::open(&path) {
            Ok(mut bag) => {
                let seconds = seconds(&mut bag);
                let mut expected: Vec<i32> = (0..seconds.len() as i32).map(nth_written).collect();
                expected.sort_unstable();
                assert_eq!(seconds, expected);
                let warning = bag.warnings().join("\n");
                assert!(warning.contains(&format!("of {cut}")), "{percent} %: {warning}");
                if let Some(last) = seconds.last() {
                    assert!(warning.contains(&format!("up to stamp {}", stamp(*last))), "{percent} %: {warning}");
                }
                found.push(seconds.len());
            }
            Err(error) => assert!(percent == 0 && error.to_string().contains("x.mcap"), "{error}"),
        }
        assert_eq!(fs::read(&path).unwrap(), &whole[..cut]);
    }
    assert!(found.is_sorted() && found[2] > 100, "{found:?}");
}

#[test]
fn one_damaged_chunk_costs_one_chunk() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.mcap");
    small_chunks(&path, false, true, None);
    let mut bytes = fs::read(&path).unwrap();
    let length = |at: usize| u64::from_le_bytes(bytes[at + 1..at + 9].try_into().unwrap()) as usize;
    let mut records = std::iter::successors(Some(mcap::MAGIC.len()), |&at| Some(at + 9 + length(at)));
    let chunk = records.by_ref().filter(|&at| bytes[at] == mcap::records::op::CHUNK).nth(20).unwrap();
    bytes[chunk + 100..chunk + 108].fill(0xa5);
    fs::write(&path, bytes).unwrap();
    let mut bag = BagReader::open(&path).unwrap();
    let read = seconds(&mut bag).len() as i32;
    assert!((COUNT - 20..COUNT).contains(&read), "{read}");
    assert!(bag.warnings().iter().any(|w| w.contains("left out")), "{:?}", bag.warnings());
}

/// As many files are damaged.
const CASES: usize = 64;

#[test]
fn no_damage_to_mcap_makes_it_panic() {
    let mut random = Random(2);
    for case in 0..CASES {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.mcap");
        let compression = [None, Some(mcap::Compression::Zstd), Some(mcap::Compression::Lz4)][case % 3];
        small_chunks(&path, random.below(2) == 0, random.below(2) == 0, compression);
        let mut bytes = fs::read(&path).unwrap();
        random.damage(&mut bytes, 6);
        let kept = 0.3 + 1.2 * random.part();
        bytes.truncate((kept.min(1.0) * bytes.len() as f64) as usize);
        fs::write(&path, bytes).unwrap();
        if let Ok(bag) = BagReader::open(&path) {
            assert!(bag.count() as i32 <= COUNT, "case {case}");
        }
    }
}

#[test]
fn no_damage_to_sqlite_makes_it_panic() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db3");
    write_sqlite(Connection::open(&path).unwrap(), &written().records, true);
    let (whole, mut random) = (fs::read(&path).unwrap(), Random(3));
    for case in 0..CASES {
        let kept = 0.2 + 1.3 * random.part();
        let mut bytes = whole[..(kept.min(1.0) * whole.len() as f64) as usize].to_vec();
        random.damage(&mut bytes, 20);
        fs::write(&path, &bytes).unwrap();
        if let Ok(bag) = BagReader::open(&path) {
            let _ = bag.count();
        }
        assert_eq!(fs::read(&path).unwrap(), bytes, "case {case}");
    }
}

/// As rosbag2 lays out its databases: without QoS in Dashing's, with them since.
fn write_sqlite(mut connection: Connection, records: &[Record], with_qos: bool) -> Connection {
    let qos = if with_qos { ", offered_qos_profiles TEXT NOT NULL DEFAULT ''" } else { "" };
    connection
        .execute_batch(&format!(
            "CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT NULL,
                serialization_format TEXT NOT NULL{qos});
             CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER NOT NULL, timestamp INTEGER NOT NULL,
                data BLOB NOT NULL);
             CREATE INDEX timestamp_idx ON messages (timestamp ASC);
             INSERT INTO topics(id, name, type, serialization_format) VALUES
                (1, '/clock', 'rosgraph_msgs/msg/Clock', 'cdr'), (2, '/odom', 'nav_msgs/msg/Odometry', 'cdr');"
        ))
        .unwrap();
    let transaction = connection.transaction().unwrap();
    for record in records {
        let values = (record.topic as i64 + 1, record.log_time.nanos(), &record.data);
        transaction.execute("INSERT INTO messages(topic_id, timestamp, data) VALUES (?1, ?2, ?3)", values).unwrap();
    }
    transaction.commit().unwrap();
    connection
}

fn files(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn both_layouts_of_sqlite_are_read_and_nothing_is_written() {
    let written = written();
    let records = &written.records;
    for with_qos in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        // A name that a URI would misread.
        let path = folder.path().join("100% x?#.db3");
        write_sqlite(Connection::open(&path).unwrap(), records, with_qos);
        let before = (fs::read(&path).unwrap(), fs::metadata(&path).unwrap().modified().unwrap());
        let mut bag = BagReader::open(&path).unwrap();
        assert_eq!(bag.by_ref().collect::<Vec<_>>(), *records);
        bag.seek(stamp(300));
        assert_eq!(bag.next().map(|record| record.log_time), Some(stamp(300)));
        assert!(bag.warnings().is_empty());
        assert_eq!((fs::read(&path).unwrap(), fs::metadata(&path).unwrap().modified().unwrap()), before);
        assert_eq!(files(folder.path()), ["100% x?#.db3"]);
    }
}

#[test]
fn what_a_killed_recorder_left_in_the_log_is_read_from_a_copy() {
    let written = written();
    let records = &written.records;
    let live = tempfile::tempdir().unwrap();
    let path = live.path().join("x.db3");
    let connection = Connection::open(&path).unwrap();
    connection.query_row("PRAGMA journal_mode=WAL", [], |_| Ok(())).unwrap();
    let _still_open = write_sqlite(connection, records, true);
    let killed = tempfile::tempdir().unwrap();
    for name in ["x.db3", "x.db3-wal"] {
        fs::copy(live.path().join(name), killed.path().join(name)).unwrap();
    }
    let before = fs::read(killed.path().join("x.db3-wal")).unwrap();
    assert!(!before.is_empty());
    assert_eq!(BagReader::open(&killed.path().join("x.db3")).unwrap().collect::<Vec<_>>(), *records);
    assert_eq!(files(killed.path()), ["x.db3", "x.db3-wal"]);
    assert_eq!(fs::read(killed.path().join("x.db3-wal")).unwrap(), before);
}

#[test]
fn a_cut_database_gives_what_is_left() {
    let written = written();
    let (records, bag) = (&written.records, &written.bag);
    let path = bag.join("x.db3");
    write_sqlite(Connection::open(&path).unwrap(), records, true);
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    let mut bag = BagReader::open(&path).unwrap();
    let read: Vec<Record> = bag.by_ref().collect();
    assert!(read.len() > 100 && read[..] == records[..read.len()], "{}", read.len());
    assert!(bag.warnings().iter().any(|w| w.contains("damaged") && w.contains("up to stamp")), "{:?}", bag.warnings());
}

#[test]
fn split_packed_and_differently_stored_files_make_one_bag() {
    let written = written();
    let (records, bag, mcap) = (&written.records, &written.bag, &written.mcap);
    let half = records.len() / 2;
    fs::remove_file(mcap).unwrap();
    write_sqlite(Connection::open(bag.join("a_0.db3")).unwrap(), &records[..half], true);
    write_sqlite(Connection::open(bag.join("a_1.db3")).unwrap(), &records[half..], true);
    for name in ["a_0.db3", "a_1.db3"] {
        let packed = zstd::encode_all(fs::File::open(bag.join(name)).unwrap(), 0).unwrap();
        fs::write(bag.join(format!("{name}.zstd")), packed).unwrap();
    }
    let metadata = |first: &str, second: &str| {
        let text = format!(
            "rosbag2_bagfile_information:\n  version: 3\n  storage_identifier: sqlite3\n  \
             relative_file_paths: [old_name/{first}, {second}]\n  topics_with_message_count:\n    - topic_metadata:\n        \
             name: /odom\n        offered_qos_profiles: '- history: 3'\n"
        );
        fs::write(bag.join(FILE_NAME), text).unwrap();
    };
    for (first, second) in [("a_0.db3", "a_1.db3"), ("a_1.db3.zstd", "a_0.db3.zstd")] {
        metadata(first, second);
        let mut reader = BagReader::open(bag).unwrap();
        assert_eq!(reader.topics().len(), 2);
        assert_eq!(reader.by_ref().collect::<Vec<_>>(), *records);
        assert!(reader.warnings().is_empty(), "{:?}", reader.warnings());
    }
    metadata("a_0.db3", "a_7.db3");
    let mut reader = BagReader::open(bag).unwrap();
    assert_eq!(reader.by_ref().count(), half);
    assert!(reader.warnings()[0].contains("a_7.db3"), "{:?}", reader.warnings());
}

#[test]
fn a_pointer_of_git_lfs_is_named_as_one() {
    let folder = tempfile::tempdir().unwrap();
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n";
    for name in ["run.mcap", "run.db3", "run.mcap.zstd", "Odometry.dat"] {
        let path = folder.path().join(name);
        fs::write(&path, pointer).unwrap();
        let error = BagReader::open(&path).err().unwrap().to_string();
        assert!(
            error.contains(name) && error.contains("a pointer of Git LFS") && error.contains("git lfs pull"),
            "{error}"
        );
    }
}

#[test]
fn a_bag_that_is_still_written_is_named_as_one() {
    let folder = tempfile::tempdir().unwrap();
    let bag = folder.path().join("bag");
    fs::create_dir(&bag).unwrap();
    // What a recorder has on the disk before its first chunk.
    fs::write(bag.join("bag_0.mcap"), mcap::MAGIC).unwrap();
    let error = load(&bag, &Topics::default()).unwrap_err().to_string();
    assert!(error.contains("still being recorded") && error.contains("no message"), "{error}");
}

#[test]
fn a_bag_without_metadata_is_read_with_a_warning() {
    let written = written();
    let (records, bag) = (&written.records, &written.bag);
    fs::remove_file(bag.join(FILE_NAME)).unwrap();
    let mut reader = BagReader::open(bag).unwrap();
    assert_eq!(reader.by_ref().collect::<Vec<_>>(), *records);
    assert!(reader.warnings()[0].contains(FILE_NAME), "{:?}", reader.warnings());
    assert!(reader.warnings()[0].contains("still being recorded"), "{:?}", reader.warnings());
    let empty = tempfile::tempdir().unwrap();
    let error = BagReader::open(empty.path()).err().unwrap().to_string();
    assert!(error.contains("metadata.yaml"), "{error}");
}

#[test]
fn messages_that_do_not_fit_are_counted_and_foreign_topics_named() {
    let folder = tempfile::tempdir().unwrap();
    let bag = folder.path().join("bag");
    let mut writer = BagWriter::create(&bag, Existing::Refuse).unwrap();
    let features = writer.add_topic::<lienav_intake::messages::PointCloud2>("/features", Qos::RELIABLE).unwrap();
    writer.add_topic::<Clock>("/clock", Qos::RELIABLE).unwrap();
    writer.write_serialized(features, stamp(0), stamp(0), &[0, 1, 0, 0, 1]).unwrap();
    let without_fields =
        lienav_intake::messages::PointCloud2 { data: lienav_intake::messages::Bytes(vec![0; 4]), ..Default::default() };
    writer.write(features, stamp(1), &without_fields).unwrap();
    writer.finish().unwrap();
    let recording = load(&bag, &Topics::default()).unwrap();
    let dropped: Vec<(&str, u64)> = recording.dropped.iter().map(|(reason, &n)| (&**reason, n)).collect();
    assert_eq!(dropped, [("bad_layout", 1), ("unreadable", 1)]);
    let warnings = recording.warnings.join("\n");
    for part in [
        "/clock (rosgraph_msgs/msg/Clock)",
        "no topic /odom",
        "/features at 1.010000000 dropped as bad_layout: the fields are []",
    ] {
        assert!(warnings.contains(part), "{part}: {warnings}");
    }
    assert_eq!(folder_of(Path::new("bag")), Path::new("."));
}

#[test]
fn names_of_types_as_converters_write_them_are_understood_and_messages_of_ros_1_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.mcap");
    let write = |type_name: &str, encoding: &str| {
        let mut writer = mcap::Writer::new(std::io::BufWriter::new(fs::File::create(&path).unwrap())).unwrap();
        let schema = writer.add_schema(type_name, "ros2msg", b"").unwrap();
        let channel_id = writer.add_channel(schema, "/odom", encoding, &Default::default()).unwrap();
        let header = mcap::records::MessageHeader { channel_id, sequence: 0, log_time: 5, publish_time: 5 };
        writer.write_to_known_channel(&header, &cdr::encode(&Odometry::default()).unwrap()).unwrap();
        writer.finish().unwrap();
    };
    let names = ["nav_msgs/Odometry", "nav_msgs::msg::dds_::Odometry_", "nav_msgs::msg::Odometry"];
    for name in names {
        write(name, "cdr");
        let wanted = Topics { odometry: Some("/odom".into()), ..Topics::default() };
        assert_eq!(load(&path, &wanted).unwrap().inputs.len(), 1, "{name}");
        assert_eq!(BagReader::open(&path).unwrap().topics()[0].type_name, "nav_msgs/msg/Odometry", "{name}");
    }
    write("nav_msgs/Odometry", "ros1");
    let error = load(&path, &Topics::default()).unwrap_err().to_string();
    assert!(error.contains("encoded as 'ros1'") && error.contains("rosbags-convert"), "{error}");
    assert_eq!(BagReader::open(&path).unwrap().topics()[0].type_name, "nav_msgs/Odometry");
}

#[test]
fn an_unfinished_bag_leaves_nothing_but_its_beginning_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let bag = folder.path().join("bag");
    let mut writer = BagWriter::create(&bag, Existing::Refuse).unwrap();
    let odom = writer.add_topic::<Odometry>("/odom", Qos::RELIABLE).unwrap();
    for i in 0..20_000 {
        let mut odometry = Odometry::default();
        odometry.twist.twist.linear.x = f64::from(i).sin();
        writer.write(odom, stamp(i), &odometry).unwrap();
    }
    // What a killed process leaves.
    let hidden = fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    let mut left = BagReader::open(&hidden).unwrap();
    assert!(left.by_ref().count() > 1000);
    assert!(left.warnings().iter().any(|w| w.contains("cut off")), "{:?}", left.warnings());
    drop(writer);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
