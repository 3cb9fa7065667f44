//! Maps of landmarks, and the states beside them.

use lienav_base::stamp::Stamp;
use lienav_io::map_file::foreign::{self, Format, Options};
use lienav_io::map_file::{MapFile, parse, state_from_text, to_text};
use lienav_slam::{Config, LandmarkMap, MapLandmark, Measurement, MeasurementKind, Odometry, SavedState, Slam};
use nalgebra::{DMatrix, Matrix2, Vector2};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;
use std::fs;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// States that a filter went on from, so far.
pub static RESUMED: AtomicU64 = AtomicU64::new(0);

/// The bytes as a map, and as the map of another package.
pub fn map_file(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    for (_, format) in Format::TABLE {
        if let Ok(read) = foreign::read(&text, format, &Options { sigma_m: Some(0.1), ..Options::default() }) {
            read.content.check().unwrap();
        }
    }
    match parse(&text) {
        Ok(parsed) => {
            parsed.map.check().unwrap();
            let again = parse(&to_text(&parsed.map, parsed.frame.as_deref(), parsed.state.as_ref())).unwrap();
            assert_eq!((again.map, again.frame, again.state), (parsed.map, parsed.frame, parsed.state));
        }
        Err(problems) => assert!(!problems.is_empty()),
    }
}

/// The bytes as the state of a map, as if its checksum were right; and as instructions what to change in a state that
/// is whole, since few changes of a text leave it JSON.
pub fn map_state(data: &[u8]) {
    let map = map();
    go_on_from(data, &map);
    let [whole] = &map_state_corpus()[..] else { return };
    let Ok(mut tree) = serde_json::from_slice::<Value>(whole) else { return };
    let seed = data
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3));
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    for _ in 0..random.random_range(1..4) {
        if let Some(filter) = tree.get_mut("filter") {
            put(filter, &mut random);
        }
    }
    go_on_from(tree.to_string().as_bytes(), &map);
}

/// Changes one value to another of its type, or rarely to none.
fn put(at: &mut Value, random: &mut ChaCha8Rng) {
    let stops = random.random_range(0..12) == 0;
    match at {
        Value::Object(entries) if !entries.is_empty() => {
            let which = random.random_range(0..entries.len());
            entries.values_mut().skip(which).take(1).for_each(|child| put(child, random));
        }
        Value::Array(items) if stops => {
            items.pop();
        }
        Value::Array(items) if !items.is_empty() => {
            let which = random.random_range(0..items.len());
            put(&mut items[which], random);
        }
        Value::Number(_) if stops => *at = [u64::MAX, 1 << 62][random.random_range(0..2)].into(),
        Value::Number(number) if number.is_f64() => {
            *at = [-1.0, 1e300, 0.0, 1e-300, 3.0, 1e9][random.random_range(0..6)].into();
        }
        Value::Number(_) => *at = [0_u64, 1, 2, 3, 7, 1000][random.random_range(0..6)].into(),
        Value::String(text) if text.len() >= 16 => {
            let place = 16 * random.random_range(0..text.len() / 16);
            text.replace_range(place..place + 16, ["7e37e43c8800759c", "0000000000000000"][random.random_range(0..2)]);
        }
        Value::Bool(flag) => *flag = !*flag,
        Value::Null => *at = 0.into(),
        Value::String(_) | Value::Array(_) | Value::Object(_) => *at = Value::Null,
    }
}

fn go_on_from(data: &[u8], map: &LandmarkMap) {
    let Ok(state) = state_from_text(data, map) else { return };
    LandmarkMap { joint: state.joint, ..map.clone() }.check().unwrap();
    let Some(saved) = state.filter else { return };
    let mut slam = Slam::new(Config::default()).unwrap();
    if slam.restore(saved).is_err() {
        return;
    }
    RESUMED.fetch_add(1, Ordering::Relaxed);
    let from = slam.predicted().map_or(Stamp::default(), |estimate| estimate.stamp);
    for k in 1..30 {
        drive(&mut slam, Stamp::from_nanos(from.nanos().saturating_add(100_000_000 * k)));
    }
    let _ = slam.map();
}

/// Odometry, and two posts.
fn drive(slam: &mut Slam, stamp: Stamp) {
    let _ = slam.odometry(&Odometry { stamp, velocity: Vector2::new(0.5, 0.0), yaw_rate: 0.1, covariance: None });
    let post = |id: u32| Measurement::new(Some(id), [3.0, 0.1 * f64::from(id)]);
    let _ = slam.features(stamp, MeasurementKind::RangeBearing, &[post(1), post(2)]);
    while slam.poll().is_some() {}
}

/// A run of some clouds, whose ranges are vague: the fixed lag keeps them.
fn run() -> SavedState {
    let mut config = Config::default();
    config.sensor.range_std_m = 0.5;
    let mut slam = Slam::new(config).unwrap();
    (0..4).for_each(|k| drive(&mut slam, Stamp::from_nanos(100_000_000 * k)));
    slam.save()
}

fn map() -> LandmarkMap {
    run().map()
}

fn survey() -> LandmarkMap {
    let joint = DMatrix::from_fn(4, 4, |i, j| if i == j { 0.5 } else { 0.25 / (1.0 + (i + j) as f64) });
    let landmarks = (0..2_u32).map(|id| {
        let own = 2 * id as usize;
        let covariance: Matrix2<f64> = joint.fixed_view::<2, 2>(own, own).into_owned();
        MapLandmark { id, class: id, position: Vector2::new(f64::from(id), -1.5), covariance }
    });
    LandmarkMap { landmarks: landmarks.collect(), joint: Some(joint), near: None }
}

pub fn map_file_corpus() -> Vec<Vec<u8>> {
    let by_hand = "# yard\nlienav_map: 1\nframe: yard\nsigma_m: 0.02\nlandmarks:\n- {id: 7, x_m: 1, y_m: -3.5}\n\
                  - {x_m: 4, y_m: 0.5, sigma_m: 0.05, class: 2}\n- id: 9\n  x_m: 1e1\n  y_m: 2\n  \
                  covariance_m2: [0.04, 0.01, 0.09]\n";
    let mut corpus = vec![by_hand.as_bytes().to_vec(), to_text(&survey(), Some("map"), None).into_bytes()];
    corpus.extend(
        Format::TABLE.map(|(_, format)| foreign::to_text(&survey(), format, &Options::default()).content.into_bytes()),
    );
    corpus.extend(saved().into_iter().map(|(_, bytes)| bytes));
    corpus
}

pub fn map_state_corpus() -> Vec<Vec<u8>> {
    static ONCE: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    ONCE.get_or_init(|| {
        saved().into_iter().filter(|(name, _)| name.ends_with(".state")).map(|(_, bytes)| bytes).collect()
    })
    .clone()
}

/// The files of a map that was saved.
fn saved() -> Vec<(String, Vec<u8>)> {
    let folder = tempfile::tempdir().unwrap();
    MapFile::from(run()).write(&folder.path().join("m.yaml")).unwrap();
    let mut paths: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(|path| (path.to_string_lossy().into_owned(), fs::read(path).unwrap())).collect()
}
