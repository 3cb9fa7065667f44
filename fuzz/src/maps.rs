//! Maps of landmarks, and the states beside them.

use lienav_io::map_file::{MapFile, parse, state_from_text, to_text};
use lienav_slam::{LandmarkMap, MapLandmark};
use nalgebra::{DMatrix, Matrix2, Vector2};
use std::fs;

/// The bytes as a map.
pub fn map_file(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    match parse(&text) {
        Ok(parsed) => {
            parsed.map.check().unwrap();
            let again = parse(&to_text(&parsed.map, parsed.frame.as_deref(), parsed.state.as_ref())).unwrap();
            assert_eq!((again.map, again.frame, again.state), (parsed.map, parsed.frame, parsed.state));
        }
        Err(problems) => assert!(!problems.is_empty()),
    }
}

/// The bytes as the state of a map, as if its checksum were right.
pub fn map_state(data: &[u8]) {
    let map = map();
    if let Ok(state) = state_from_text(data, &map)
        && let Some(joint) = state.joint
    {
        LandmarkMap { joint: Some(joint), ..map }.check().unwrap();
    }
}

fn map() -> LandmarkMap {
    let joint = DMatrix::from_fn(4, 4, |i, j| if i == j { 0.5 } else { 0.25 / (1.0 + (i + j) as f64) });
    let landmarks = (0..2_u32).map(|id| {
        let own = 2 * id as usize;
        let covariance: Matrix2<f64> = joint.fixed_view::<2, 2>(own, own).into_owned();
        MapLandmark { id, class: id, position: Vector2::new(f64::from(id), -1.5), covariance }
    });
    LandmarkMap { landmarks: landmarks.collect(), joint: Some(joint) }
}

pub fn map_file_corpus() -> Vec<Vec<u8>> {
    let survey = "# yard\nlienav_map: 1\nframe: yard\nsigma_m: 0.02\nlandmarks:\n- {id: 7, x_m: 1, y_m: -3.5}\n\
                  - {x_m: 4, y_m: 0.5, sigma_m: 0.05, class: 2}\n- id: 9\n  x_m: 1e1\n  y_m: 2\n  \
                  covariance_m2: [0.04, 0.01, 0.09]\n";
    let mut corpus = vec![survey.as_bytes().to_vec(), to_text(&map(), Some("map"), None).into_bytes()];
    corpus.extend(saved().into_iter().map(|(_, bytes)| bytes));
    corpus
}

pub fn map_state_corpus() -> Vec<Vec<u8>> {
    saved().into_iter().filter(|(name, _)| name.ends_with(".state")).map(|(_, bytes)| bytes).collect()
}

/// The files of a map that was saved.
fn saved() -> Vec<(String, Vec<u8>)> {
    let folder = tempfile::tempdir().unwrap();
    MapFile { map: map(), ..MapFile::default() }.write(&folder.path().join("m.yaml")).unwrap();
    let mut paths: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(|path| (path.to_string_lossy().into_owned(), fs::read(path).unwrap())).collect()
}
