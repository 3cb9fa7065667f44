//! Files: bags of either storage, their `metadata.yaml` and `params.yaml`, settings, data sets.

use lienav_base::stamp::Stamp;
use lienav_io::bag::metadata::{Metadata, Qos};
use lienav_io::bag::{BagReader, BagWriter, Existing, Topics, cdr, load, params};
use lienav_io::convert::{self, Frames};
use lienav_io::files::write_atomically;
use lienav_io::messages::{Odometry, PointCloud2, PoseStamped};
use lienav_io::recording::{Recording, open};
use lienav_io::settings_file::{overlay, sections_of_others, with};
use lienav_io::truth::{MAX_TRUTH_GAP_S, Truth};
use lienav_io::{inertial, to_bag};
use lienav_sim::Scenario;
use lienav_slam::{Config, Measurement, MeasurementKind, Scan};
use std::fs;
use std::path::Path;

/// More records than any file of this corpus could hold.
const MOST_RECORDS: usize = 2_000_000;

/// The bytes as an MCAP file: its records, from the start and from the middle, and its recording.
pub fn mcap(data: &[u8]) {
    bag("x.mcap", data);
}

/// The bytes as an SQLite file.
pub fn sqlite(data: &[u8]) {
    bag("x.db3", data);
}

fn bag(name: &str, data: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, data).unwrap();
    if let Ok(mut bag) = BagReader::open(&path) {
        let count = bag.by_ref().take(MOST_RECORDS).count();
        assert!(count < MOST_RECORDS, "{} bytes hold {count} records", data.len());
        if let Some((first, last)) = bag.bounds() {
            bag.seek(Stamp::from_nanos(first.nanos().midpoint(last.nanos())));
            let rest = bag.by_ref().take(MOST_RECORDS).count();
            assert!(rest <= count, "{rest} records from the middle on, {count} in all");
        }
        assert!(bag.warnings().len() < 100);
    }
    if let Ok(recording) = load(&path, &Topics::default()) {
        use_recording(&recording);
    }
    let _ = inertial::open(path.to_str().unwrap(), &Topics::default());
    assert_eq!(fs::read(&path).unwrap(), data, "a source was written to");
}

fn use_recording(recording: &Recording) {
    let truth = Truth::new(&recording.truth, &recording.true_landmarks, MAX_TRUTH_GAP_S);
    for (stamp, _) in recording.truth.iter().take(50) {
        let _ = truth.at(*stamp);
        let _ = truth.at(Stamp::from_nanos(stamp.nanos().saturating_add(1)));
    }
    // What was read can be written, unless its stamps lie before the epoch, and is the same then.
    if recording.inputs.len() > 2000 {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("again");
    let written = to_bag::to_bag(recording, &path, Existing::Refuse, &mut |_, _| ()).unwrap();
    if written.before_the_epoch.is_empty() {
        assert_eq!(load(&path, &Topics::default()).unwrap().inputs.len(), recording.inputs.len());
    }
}

/// The bytes as `metadata.yaml` of a bag.
pub fn metadata(data: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("x.mcap"), &mcap_corpus()[0]).unwrap();
    fs::write(folder.path().join("metadata.yaml"), data).unwrap();
    let _ = Metadata::read(folder.path());
    if let Ok(bag) = BagReader::open(folder.path()) {
        let _ = bag.count();
    }
}

/// The bytes as `params.yaml` beside a bag.
pub fn params(data: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("x.mcap"), &mcap_corpus()[0]).unwrap();
    fs::write(folder.path().join("params.yaml"), data).unwrap();
    if let Ok(recording) = open(folder.path().to_str().unwrap()) {
        recording.config.unwrap().validate().unwrap();
    }
}

/// The bytes as a file of settings, of frames and of a scenario, and as single settings.
pub fn settings(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let _ = sections_of_others(&text);
    let _ = params::frames_from_yaml(&text, params::NODE);
    if let Ok(config) = params::from_yaml(&text) {
        config.validate().unwrap();
        assert_eq!(params::from_yaml(&params::to_yaml(&config)), Ok(config));
    }
    let _ = overlay(&Config::default(), &text, "slam_node");
    let _ = overlay(&Frames::default(), &text, "slam_node");
    if let Ok(scenario) = Scenario::from_yaml(&text) {
        let _ = scenario.validate();
    }
    if let Some((name, value)) = text.lines().next().and_then(|line| line.split_once(':'))
        && let Ok(config) = with(&Config::default(), name.trim(), value.trim())
    {
        let _ = config.validate();
    }
}

/// Between the files of a data set.
const NEXT_FILE: u8 = 0x1e;

const WOODS: [&str; 5] = ["odometry.csv", "measurements.csv", "groundtruth.csv", "landmarks.csv", "parameters.csv"];
const MRCLAM: [&str; 5] = [
    "Robot1_Odometry.dat",
    "Robot1_Measurement.dat",
    "Robot1_Groundtruth.dat",
    "Landmark_Groundtruth.dat",
    "Barcodes.dat",
];

const VICTORIA: [&str; 3] = ["inputs.dat", "measurements.dat", "gps.dat"];

/// The first byte says which data set; the others are its files, one behind the other.
pub fn data_sets(data: &[u8]) {
    let Some((which, rest)) = data.split_first() else { return };
    let folder = tempfile::tempdir().unwrap();
    let files = rest.split(|byte| *byte == NEXT_FILE);
    let path = folder.path().to_str().unwrap();
    let names: &[&str] = match which % 8 {
        6 => &["run.graph", "truth.graph"],
        7 => &["run.graph.gz"],
        0 => &WOODS,
        1 => &MRCLAM,
        5 => &VICTORIA,
        2 => &["01_trial.csv"],
        3 => &["01_trial.csv.gz"],
        _ => &["mav0/imu0/data.csv", "mav0/state_groundtruth_estimate0/data.csv"],
    };
    for (name, content) in names.iter().zip(files) {
        let file = folder.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, content).unwrap();
    }
    match which % 8 {
        6 => open(&format!("g2o:{path}/run.graph:{path}/truth.graph")).into_iter().for_each(|r| use_recording(&r)),
        7 => open(&format!("g2o:{path}/run.graph.gz")).into_iter().for_each(|r| use_recording(&r)),
        5 => open(&format!("victoria:{path}")).into_iter().for_each(|recording| use_recording(&recording)),
        0 => open(&format!("woods:{path}")).into_iter().for_each(|recording| use_recording(&recording)),
        1 => open(&format!("mrclam:{path}:1")).into_iter().for_each(|recording| use_recording(&recording)),
        2 | 3 => drop(inertial::open(&format!("broad:{path}/{}", names[0]), &Topics::default())),
        _ => drop(inertial::open(&format!("euroc:{path}"), &Topics::default())),
    }
}

fn stamp(k: i64) -> Stamp {
    Stamp::from_nanos(1_700_000_000_000_000_000 + 50_000_000 * k)
}

/// Serialised messages in the order of time: stamp, topic, bytes.
fn messages() -> Vec<(Stamp, usize, Vec<u8>)> {
    let mut messages = Vec::new();
    for k in 0..12 {
        let mut odometry = Odometry { header: convert::header(stamp(k), "odom"), ..Odometry::default() };
        odometry.child_frame_id = "base_link".into();
        odometry.twist.twist.linear.x = 0.5;
        messages.push((stamp(k), 0, cdr::encode(&odometry).unwrap()));
        let seen = |id: u32| Measurement::new(Some(id), [3.0, 0.1 * f64::from(id)]);
        let features =
            Scan { stamp: stamp(k), kind: MeasurementKind::RangeBearing, measurements: (0..3).map(seen).collect() };
        messages.push((stamp(k), 1, cdr::encode(&convert::features_message(&features, "laser")).unwrap()));
        let mut pose = PoseStamped { header: convert::header(stamp(k), "map"), ..PoseStamped::default() };
        pose.pose.orientation.w = 1.0;
        messages.push((stamp(k), 2, cdr::encode(&pose).unwrap()));
    }
    messages
}

const TOPICS: [(&str, &str); 3] = [
    ("/odom", "nav_msgs/msg/Odometry"),
    ("/features", "sensor_msgs/msg/PointCloud2"),
    ("/ground_truth/pose", "geometry_msgs/msg/PoseStamped"),
];

/// Chunked and not, with checksums and without: damage inside of chunks passes only where there are none.
pub fn mcap_corpus() -> Vec<Vec<u8>> {
    let file = |chunks: bool, summary: bool, compression: Option<mcap::Compression>| {
        let options = mcap::WriteOptions::new()
            .profile("ros2")
            .compression(compression)
            .compression_threads(0)
            .use_chunks(chunks)
            .chunk_size(Some(3000))
            .emit_summary_records(summary)
            .calculate_chunk_crcs(false)
            .calculate_data_section_crc(false)
            .calculate_summary_section_crc(false);
        let mut writer = options.create(std::io::Cursor::new(Vec::new())).unwrap();
        let channels: Vec<u16> = TOPICS
            .iter()
            .map(|(name, kind)| {
                let schema = writer.add_schema(kind, "ros2msg", b"float64 x\n").unwrap();
                writer.add_channel(schema, name, "cdr", &Default::default()).unwrap()
            })
            .collect();
        for (stamp, topic, bytes) in messages() {
            let time = stamp.nanos() as u64;
            let channel_id = channels[topic];
            let header = mcap::records::MessageHeader { channel_id, sequence: 0, log_time: time, publish_time: time };
            writer.write_to_known_channel(&header, &bytes).unwrap();
        }
        writer.finish().unwrap();
        writer.into_inner().into_inner()
    };
    vec![
        file(true, true, None),
        file(true, false, None),
        file(false, true, None),
        file(true, true, Some(mcap::Compression::Zstd)),
        file(true, false, Some(mcap::Compression::Lz4)),
    ]
}

pub fn sqlite_corpus() -> Vec<Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db3");
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection
        .execute_batch(
            "PRAGMA page_size = 1024;
             CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT NULL,
                serialization_format TEXT NOT NULL, offered_qos_profiles TEXT NOT NULL DEFAULT '');
             CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER NOT NULL, timestamp INTEGER NOT NULL,
                data BLOB NOT NULL);
             CREATE INDEX timestamp_idx ON messages (timestamp ASC);",
        )
        .unwrap();
    for (k, (name, kind)) in TOPICS.iter().enumerate() {
        let topic = (k as i64, name, kind);
        let insert = "INSERT INTO topics(id, name, type, serialization_format) VALUES (?1, ?2, ?3, 'cdr')";
        connection.execute(insert, topic).unwrap();
    }
    for (stamp, topic, bytes) in messages() {
        let insert = "INSERT INTO messages(topic_id, timestamp, data) VALUES (?1, ?2, ?3)";
        connection.execute(insert, (topic as i64, stamp.nanos(), bytes)).unwrap();
    }
    drop(connection);
    vec![fs::read(&path).unwrap()]
}

pub fn metadata_corpus() -> Vec<Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bag");
    let mut writer = BagWriter::create(&path, Existing::Refuse).unwrap();
    writer.add_topic::<PointCloud2>("/features", Qos::RELIABLE).unwrap();
    writer.set_custom_data("lienav.name", "bag");
    writer.finish().unwrap();
    let written = fs::read_to_string(path.join("metadata.yaml")).unwrap().replace("bag_0.mcap", "x.mcap");
    let short = "rosbag2_bagfile_information:\n  version: 4\n  compression_mode: MESSAGE\n  \
                 relative_file_paths: [x.mcap, ../x.mcap, /dev/zero]\n";
    vec![written.into_bytes(), short.into()]
}

pub fn settings_corpus() -> Vec<Vec<u8>> {
    let ros = params::to_yaml(&Config::default());
    let plain = "gate.probability: 0.99\nmotion: {velocity_x_std: 0.1, hold: forward}\nmap: {max_features: 3}\n";
    let scenario = Scenario::named(&Scenario::names()[0]).unwrap().to_yaml().unwrap();
    let nodes = "/**: {ros__parameters: {odom_frame: odom}}\nslam_node: {ros__parameters: {filter: ekf}}\n";
    [ros.as_str(), plain, &scenario, nodes].map(|text| text.as_bytes().to_vec()).to_vec()
}

pub fn data_sets_corpus() -> Vec<Vec<u8>> {
    let set = |which: u8, files: &[&str]| {
        let mut bytes = vec![which];
        bytes.extend(files.join(std::str::from_utf8(&[NEXT_FILE]).unwrap()).bytes());
        bytes
    };
    let broad = "t_s,gyr_x_radps,gyr_y_radps,gyr_z_radps,acc_x_mps2,acc_y_mps2,acc_z_mps2,q_w,q_x,q_y,q_z,movement\n\
                 0.000000,0.1,0.2,0.3,0.0,0.0,9.81,1.0,0.0,0.0,0.0,0\n0.0035,0.1,0.2,0.3,0,0,9.81,nan,nan,nan,nan,1\n";
    vec![
        set(
            0,
            &[
                "t_s,v_mps,omega_radps\n0.0,0.1,0.2\n0.1,0.1,0.2\n0.2,0.1,0.1\n",
                "t_s,landmark,range_m,bearing_rad\n0.0,1,2.0,0.5\n0.1,1,2.1,0.4\n",
                "t_s,x_m,y_m,theta_rad,valid\n0.0,1,2,0.5,1\n0.1,1,2,0.5,1\n0.2,1,2,0.5,0\n",
                "landmark,x_m,y_m\n1,2.0,3.0\n",
                "name,value\nv_var,0.0044\nom_var,0.0082\nr_var,0.0009\nb_var,0.0007\nd,0.219\n",
            ],
        ),
        set(
            1,
            &[
                "# Time [s] v w\n1.000 0.1 0.0\n1.010 0.1 0.1\n1.020 0.1 0.1\n",
                "# Time barcode range bearing\n1.005 72 2.5 0.1\n1.015 9 1.0 0.2\n",
                "# Time x y theta\n0.990 0 0 0\n1.010 0.1 0 0\n1.030 0.2 0 0.1\n",
                "# subject x y sx sy\n6 1.0 2.0 0.001 0.001\n",
                "# subject barcode\n1 9\n6 72\n",
            ],
        ),
        set(2, &[broad]),
        set(3, &[broad]),
        set(
            4,
            &[
                "#timestamp [ns],w,w,w,a,a,a\n1403636579758555392,0.1,0.1,0.1,9.8,0.1,0.1\n",
                "#timestamp,p,p,p,qw,qx,qy,qz\n1403636579758555392,0,0,0,1,0,0,0,0,0,0,0,0,0,0,0,0\n",
            ],
        ),
        set(
            6,
            &[
                "VERTEX_SE2 0 0 0 0\nEDGE_SE2 0 1 1 0 0.1 50 0 0 50 0 100\nEDGE2 1 2 1 0 -3.1 50 0 0 50 0 100\n\
                 LANDMARK 1 7 -2.4 2.5 10.0 0.0 10.0\nEDGE_SE2_XY 2 8 1 1 4 0 4\nEDGE2 2 0 1 0 0 1 0 0 1 0 1\n",
                "ODOMETRY 0 1 1 0 0.1 1 0 0 1 0 1\nEDGE2 1 2 1 0 -3.1 1 0 0 1 0 1\nVERTEX_XY 8 1 1\n",
            ],
        ),
        set(7, &["EDGE2 0 1 1 0 0.1 50 0 0 50 0 100\n"]),
        set(
            5,
            &[
                "0.973 0.000 -0.0035\n0.998 1.0 0.1\n1.023 2.0 -0.5\n",
                "0.998 20.46 0.88575 0.354\n0.998 29.6 1.02 0.257\n1.2 10 1.57 0.1\n",
                "0.000 -2.023 -1.923\n1.001 -2.066 -1.840\n",
            ],
        ),
    ]
}

/// Keeps an input on which a target panicked.
pub fn keep(path: &Path, input: &[u8]) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    write_atomically(path, |out| out.write_all(input))
}
