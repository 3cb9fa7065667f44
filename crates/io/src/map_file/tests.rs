use super::*;
use lienav_base::stamp::Stamp;
use lienav_lie::Se2;
use lienav_slam::{Config, MapLandmark, Measurement, MeasurementKind, Odometry, Slam};
use lienav_submaps::SavedSubmaps;
use nalgebra::{DMatrix, Matrix2, Matrix3, Vector2};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;
use std::fs;

fn landmark(id: u32, x: f64, y: f64, sigma: f64) -> MapLandmark {
    MapLandmark { id, class: 0, position: Vector2::new(x, y), covariance: Matrix2::identity() * (sigma * sigma) }
}

/// Landmarks that share the error of a survey's origin.
fn drawn(count: u32, seed: u64) -> LandmarkMap {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut number = |scale: f64| scale * random.random_range(-1.0..1.0);
    let rows = 2 * count as usize;
    let root = DMatrix::from_fn(rows, rows, |_, _| number(0.1));
    let joint = &root * root.transpose();
    let landmarks = (0..count).map(|k| MapLandmark {
        id: 3 * k,
        class: k % 3,
        position: Vector2::new(number(50.0), number(1e6)),
        covariance: joint.fixed_view::<2, 2>(2 * k as usize, 2 * k as usize).into_owned(),
    });
    LandmarkMap { landmarks: landmarks.collect(), joint: Some(joint), near: None }
}

fn problems(text: &str) -> Vec<String> {
    parse(text).unwrap_err().iter().map(Problem::to_string).collect()
}

#[test]
fn a_survey_by_hand_is_read() {
    let text = "# yard, 12 May, total station\nlienav_map: 1\nframe: yard\nsigma_m: 0.02\nlandmarks:\n\
                - {id: 7, x_m: 1, y_m: -3.5}\n\n# the door\n- {x_m: 4, y_m: 0.5, sigma_m: 0.05, class: 2}\n\
                - id: 9\n  x_m: 1e1\n  y_m: 2\n  covariance_m2: [0.04, 0.01, 0.09]\n- {x_m: 0, y_m: 0}\n";
    let parsed = parse(text).unwrap();
    assert_eq!((parsed.frame.as_deref(), parsed.unnamed), (Some("yard"), 2));
    let expected = [
        landmark(7, 1.0, -3.5, 0.02),
        MapLandmark { class: 2, ..landmark(OWN_IDS, 4.0, 0.5, 0.05) },
        MapLandmark { covariance: Matrix2::new(0.04, 0.01, 0.01, 0.09), ..landmark(9, 10.0, 2.0, 0.0) },
        landmark(OWN_IDS + 1, 0.0, 0.0, 0.02),
    ];
    assert_eq!(parsed.map.landmarks, expected);
    assert_eq!(parse("lienav_map: 1\nlandmarks: []").unwrap(), Parsed::default());
}

#[test]
fn every_problem_is_told_with_its_line_and_a_remedy() {
    let text = "lienav_map: 1
sigma: 3
frame: 7
count: 9
landmarks:
  - {id: 7, x_m: 1, y_m: 2, sigma_m: 0.1}
# a comment
  - {id: 7, x_m: .nan, z_m: 2, sigma_m: -1}
  - {id: -1, x_m: 2e7, y_m: 1,5}
  - id: 7
    x_m: 1
    y_m: 2
    sigma_m: 1
  - door
  - {id: 4294967295, x_m: 0, y_m: 0, covariance_m2: [1, 2, 1]}
  - {x_m: 0, y_m: 0, covariance_m2: [1, 2], class: 0.5}
  - {x_m: 0, y_m: 0, covariance_m2: [1, 0, 1], sigma_m: 1}
";
    let found = problems(text);
    let expected = [
        "there is no key 'sigma'; did you mean 'sigma_m'?",
        "line 3: frame is 7; give a name, or leave the line out",
        "line 4: count is 9, but there are 8 landmarks",
        "line 8: there is no key 'z_m'; did you mean 'x_m'?",
        "line 8: x_m is not a finite number; allowed: -10000000 … 10000000",
        "line 8: y_m is missing; give it in metres",
        "line 8: sigma_m is -1; allowed: 0 … 100000",
        "line 9: there is no key 5; a comma separates entries",
        "line 9: x_m is 20000000.0; allowed",
        "line 9: id is -1; give a whole number from 0 to 4294967294",
        "line 9: sigma_m is missing",
        "line 10: id 7 is also that of line 6; give each landmark an id of its own",
        "line 14: a landmark is 'door'; give {id: 7,",
        "line 15: id is 4294967295",
        "line 15: covariance_m2 is [1,2,1], which is not positive semidefinite",
        "line 16: class is 0.5; give a whole number",
        "line 16: covariance_m2 is [1,2]; give [xx, xy, yy]",
        "line 17: both sigma_m and covariance_m2 are given",
    ];
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.starts_with(expected), "{found}\n{expected}");
    }
}

#[test]
fn what_is_foreign_or_cut_off_is_refused_with_what_to_do() {
    for foreign in ["", "7", "tag_bundles: []", "{\"type\": \"FeatureCollection\", \"features\": []}", "- 1\n- 2\n"] {
        let found = problems(foreign);
        assert!(found.len() == 1 && found[0].contains("`lienav map convert` makes one"), "{foreign}: {found:?}");
    }
    let newer = problems("lienav_map: 2\nlandmarks: []\n");
    assert!(newer[0].starts_with("line 1: lienav_map is 2") && newer[0].contains("newer lienav"), "{newer:?}");
    let whole = to_text(&drawn(4, 1), Some("map"), None);
    // Without its last byte, the line's end, it is the same map.
    for length in 0..whole.len() - 1 {
        if whole.is_char_boundary(length) {
            let found = parse(&whole[..length]);
            assert!(found.is_err(), "{}", &whole[..length]);
        }
    }
    assert!(parse(&whole).is_ok());
    let found = problems(&format!("{whole}- {{id: 1"));
    assert!(found[0].starts_with("line 11: not YAML: "), "{found:?}");
}

#[test]
fn a_map_comes_back_from_its_files_bit_for_bit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hall.yaml");
    let names = || {
        let names = fs::read_dir(folder.path()).unwrap();
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect::<Vec<_>>()
    };
    for seed in 0..3 {
        let file = MapFile { frame: Some("hall: 1".into()), map: drawn(9, seed), ..MapFile::default() };
        file.write(&path).unwrap();
        let read = MapFile::read(&path).unwrap();
        assert_eq!((&read.map, &read.frame, read.warnings.len()), (&file.map, &file.frame, 0));
        assert_eq!(names().len(), 2, "{:?}", names());
    }
    let map = LandmarkMap { joint: None, ..drawn(9, 4) };
    MapFile { map: map.clone(), ..MapFile::default() }.write(&path).unwrap();
    assert_eq!(MapFile::read(&path).unwrap().map, map);
    assert_eq!(names(), ["hall.yaml"]);
    // What others have of a similar name, and what was killed.
    let theirs = ["hall.yaml.old", "hall.yaml.0000000g.state", "all.yaml.01234567.state", ".hall.yaml.mine.tmp"];
    let left = [".hall.yaml.abc123.tmp", ".hall.yaml.01234567.state.abc123.tmp", "hall.yaml.01234567.state"];
    theirs.iter().chain(&left).for_each(|name| fs::write(folder.path().join(name), "x").unwrap());
    MapFile { map, ..MapFile::default() }.write(&path).unwrap();
    assert!(theirs.iter().all(|name| folder.path().join(name).exists()));
    assert!(!left.iter().any(|name| folder.path().join(name).exists()), "{:?}", names());
}

#[test]
fn a_state_that_does_not_belong_to_the_map_is_ignored_with_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hall.yaml");
    let file = MapFile { map: drawn(5, 1), ..MapFile::default() };
    file.write(&path).unwrap();
    let contents: BTreeMap<_, _> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|p| (p.clone(), fs::read(p).unwrap()))
        .collect();
    let state = contents.keys().find(|name| **name != path).unwrap().clone();
    let text = String::from_utf8(contents[&path].clone()).unwrap();
    let warned = |why: &str| {
        let read = MapFile::read(&path).unwrap();
        assert!(read.warnings.len() == 1 && read.warnings[0].contains(why), "{why}: {:?}", read.warnings);
        assert!(read.map.joint.is_none() && read.map.landmarks.len() == 5);
        contents.iter().for_each(|(path, content)| fs::write(path, content).unwrap());
        assert_eq!(MapFile::read(&path).unwrap().map, file.map);
    };
    // Comments and blanks are nobody's business; a landmark that was moved is.
    fs::write(&path, format!("# mine\n\n{text}")).unwrap();
    assert_eq!(MapFile::read(&path).unwrap().map, file.map);
    fs::write(&path, text.replacen("x_m: ", "x_m: 1", 1).replacen("x_m: 1-", "x_m: -1", 1)).unwrap();
    warned("of other landmarks");
    fs::remove_file(&state).unwrap();
    warned("No such file");
    let mut damaged = contents[&state].clone();
    damaged[100] ^= 1;
    fs::write(&state, &damaged).unwrap();
    warned("damaged");
    fs::write(&state, &contents[&state][..200]).unwrap();
    warned("damaged");
    fs::remove_file(&state).unwrap();
    fs::create_dir(&state).unwrap();
    let read = MapFile::read(&path).unwrap();
    assert!(read.warnings[0].contains("it is a folder"), "{:?}", read.warnings);
}

#[test]
fn a_state_with_a_covariance_that_is_none_is_refused() {
    let map = drawn(3, 2);
    let bytes = |joint: DMatrix<f64>| {
        let file = MapFile { map: LandmarkMap { joint: Some(joint), ..map.clone() }, ..MapFile::default() };
        let folder = tempfile::tempdir().unwrap();
        let companion = state::write(&folder.path().join("m"), &file).unwrap().unwrap();
        fs::read(folder.path().join(companion.file)).unwrap()
    };
    let joint = map.joint.clone().unwrap();
    assert_eq!(state_from_text(&bytes(joint.clone()), &map).unwrap().joint, Some(joint.clone()));
    let changed = |i: usize, j: usize, value: f64| {
        let mut joint = joint.clone();
        (joint[(i, j)], joint[(j, i)]) = (value, value);
        state_from_text(&bytes(joint), &map).unwrap_err()
    };
    assert!(changed(4, 1, f64::NAN).contains("not finite"));
    assert!(changed(4, 1, 100.0).contains("not positive semidefinite at landmark 6"));
    assert!(changed(4, 4, 100.0).contains("differs from that of landmark 6"));
    assert!(state_from_text(&bytes(DMatrix::zeros(4, 4)), &map).unwrap_err().contains("not of 3 landmarks"));
    assert!(state_from_text(b"{\"lienav_state\":2,\"landmarks_crc32\":0}", &map).unwrap_err().contains("version 2"));
}

/// A filter that has seen three posts.
fn seen() -> SavedState {
    let mut slam = Slam::new(Config::default()).unwrap();
    let stamp = Stamp::from_nanos(5);
    slam.odometry(&Odometry { stamp, velocity: Vector2::new(0.5, 0.0), yaw_rate: 0.1, covariance: None }).unwrap();
    let post = |id: u32| Measurement::new(Some(id), [3.0 + f64::from(id) / 3.0, 0.1]);
    slam.features(stamp, MeasurementKind::RangeBearing, &[post(1), post(2), post(3)]).unwrap();
    slam.poll().unwrap();
    slam.save()
}

#[test]
fn a_run_comes_back_from_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.yaml");
    let saved = seen();
    MapFile::from(saved.clone()).write(&path).unwrap();
    let read = MapFile::read(&path).unwrap();
    assert_eq!((&read.map, read.warnings.len()), (&saved.map(), 0));
    let text = |saved: &SavedState| serde_json::to_string(saved).unwrap();
    assert_eq!(text(read.filter.as_ref().unwrap()), text(&saved));
    let resumed = Slam::resume(Config::default(), read.filter.unwrap()).unwrap();
    assert_eq!(resumed.map(), saved.map());
}

#[test]
fn of_a_filter_that_cannot_be_read_the_joint_covariance_is_left() {
    let file = MapFile::from(seen());
    let folder = tempfile::tempdir().unwrap();
    let companion = state::write(&folder.path().join("m"), &file).unwrap().unwrap();
    let text = fs::read_to_string(folder.path().join(companion.file)).unwrap();
    let later = text.replacen("\"next_id\"", "\"first_id\"", 1);
    assert_ne!(text, later);
    let state = state_from_text(later.as_bytes(), &file.map).unwrap();
    assert_eq!((state.joint, state.filter.is_none()), (file.map.joint, true));
    assert!(state.warnings[0].contains("another version of lienav"), "{:?}", state.warnings);
}

#[test]
fn a_map_in_parts_comes_back_from_its_files() {
    let map = LandmarkMap { joint: None, ..drawn(7, 3) };
    let parts = SavedSubmaps::of_map(&map, (Se2::new(1.0, 2.0, 0.5), &Matrix3::identity()), 3).unwrap();
    let file = MapFile { map, parts: Some(parts.clone()), ..MapFile::from(seen()) };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("yard.yaml");
    file.write(&path).unwrap();
    let read = MapFile::read(&path).unwrap();
    let text = |parts: &SavedSubmaps| serde_json::to_string(parts).unwrap();
    assert_eq!((&read.map, read.warnings.len(), read.filter.is_some()), (&file.map, 0, true));
    assert_eq!(text(&read.parts.unwrap()), text(&parts));
    // Of another version, the filter and the landmarks are left.
    let companion = state::write(&path, &file).unwrap().unwrap();
    let later = fs::read_to_string(folder.path().join(companion.file)).unwrap().replacen("\"bases\"", "\"poses\"", 1);
    let state = state_from_text(later.as_bytes(), &file.map).unwrap();
    assert!(state.filter.is_some() && state.parts.is_none());
    assert!(state.warnings[0].contains("the map in parts cannot be read"), "{:?}", state.warnings);
}

/// Zeros that pass every check but the one of their length, which comes before any of them is read.
#[test]
fn a_state_is_no_longer_than_its_landmarks_need() {
    let file = MapFile::from(seen());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.yaml");
    file.write(&path).unwrap();
    assert!(MapFile::read(&path).unwrap().filter.is_some());
    let text = fs::read_to_string(&path).unwrap();
    let of = |key: &str| text.split(&format!("{key}: ")).nth(1).unwrap().split([',', '}']).next().unwrap().to_owned();
    fs::File::create(folder.path().join(of("file").trim_matches('"'))).unwrap().set_len(1 << 29).unwrap();
    fs::write(&path, text.replacen(&format!("bytes: {}", of("bytes")), &format!("bytes: {}", 1 << 29), 1)).unwrap();
    let read = MapFile::read(&path).unwrap();
    assert_eq!((&read.map.landmarks, read.filter.is_none()), (&file.map.landmarks, true));
    assert!(read.warnings[0].contains("it is of 536 MB, and that of"), "{:?}", read.warnings);
}

#[test]
fn numbers_have_a_point_for_every_yaml() {
    for (x, shown) in [(1.0, "1.0"), (1e-7, "1.0e-7"), (1.5e-9, "1.5e-9"), (-0.1, "-0.1"), (1e7, "10000000.0")] {
        assert_eq!(number(x), shown);
    }
}

#[test]
fn the_example_of_the_documentation_is_read() {
    let source = include_str!("mod.rs");
    let example = source.split("//! ```yaml\n").nth(1).and_then(|rest| rest.split("//! ```").next()).unwrap();
    let example = example.replace("//! ", "");
    assert_eq!(parse(&example).unwrap().map.landmarks.len(), 3);
}
