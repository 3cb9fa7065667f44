//! Tags in the files of other programs.

use super::*;
use crate::space::tag_map::TagMap;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const BUNDLES: &str = "standalone_tags:\n  [\n    {id: 0, size: 0.05},\n    {id: 1, size: 0.10, name: 'door'},\n  ]\n\
                       tag_bundles:\n  [\n    {\n      name: 'cart',\n      layout:\n        [\n          \
                       {id: 5, size: 0.05, x: 0.1, y: 0.2, z: 0.0, qw: 1.0, qx: 0.0, qy: 0.0, qz: 0.0},\n          \
                       {id: 6, size: 0.08, x: 0.4, y: 0.2},\n          \
                       {id: 7, size: 0.0, x: 0.4, y: 0.2}\n        ]\n    }\n  ]\n";
const FIDUCIALS: &str = "7 1.0 2.0 0.5 90.0 0.0 -90.0 0.0004 12 8 9\n8 0.0 0.0 1.0 0.0 0.0 0.0 0.0 1\n";
const PRIORS: &str = "\"1 1.0 2.0 0.5 1.5707963 0 0|2 0 0 1 0 0 0\"\n";
const SURVEY: &str = "# the hall\nid,x_m,y_m,z_m,yaw_deg,tilt_deg,size_m,std_m\n3,4.0,0.0,1.2,180,,0.2,0.005\n\
                      4,0,3,2.5,-90,-30,,\n";

fn close(a: Vector3<f64>, b: [f64; 3]) {
    assert!((a - Vector3::from(b)).norm() < 1e-6, "{a} {b:?}");
}

#[test]
fn bundles_are_boards_whose_frame_is_that_of_their_first_tag() {
    assert!(has_bundles(BUNDLES) && !has_bundles("known_tags: {}"));
    let stated = of_bundles(BUNDLES).unwrap();
    assert_eq!(stated.sizes_m, [(0, 0.05), (1, 0.10), (5, 0.05), (6, 0.08)]);
    assert_eq!((stated.on_board.len(), stated.refused), (2, 1));
    let (id, second) = stated.on_board[1];
    assert_eq!((id, second.board), (6, 5));
    close(second.pose.translation, [0.3, 0.0, 0.0]);
    let map = TagMap::of_text(BUNDLES, "tags.yaml").unwrap();
    assert!(map.is_by_hand && map.on_board.len() == 2 && map.sizes_m[&1] == 0.10 && map.refused == 1);
}

#[test]
fn maps_of_fiducial_slam_and_rtabmap_come_back_from_their_text() {
    let map = TagMap::of_text(FIDUCIALS, "map.txt").unwrap();
    let tag = map.known[&7];
    assert!((tag.sigma.0 - 0.02).abs() < 1e-12 && map.known[&8].sigma.1 == LEAST_SIGMA);
    // Upright, and its face looks along −x.
    close(tag.pose.rotation * Vector3::y(), [0.0, 0.0, 1.0]);
    close(tag.pose.rotation * Vector3::z(), [-1.0, 0.0, 0.0]);
    let again = of_fiducials(&to_fiducials(map.known.iter().map(|(id, tag)| (*id, tag)))).unwrap();
    let priors = TagMap::of_text(PRIORS, "priors.txt").unwrap();
    close(priors.known[&1].pose.rotation * Vector3::z(), [0.0, -1.0, 0.0]);
    let second = of_priors(&to_priors(priors.known.iter().map(|(id, tag)| (*id, tag)))).unwrap();
    for (found, expected) in [(again, &map), (second, &priors)] {
        assert_eq!(found.known.len(), expected.known.len());
        for (id, tag) in &found.known {
            let off = tag.pose.inverse() * expected.known[id].pose;
            assert!(off.log().norm() < 1e-9 && (tag.sigma.0 / expected.known[id].sigma.0 - 1.0).abs() < 1e-9);
        }
    }
}

#[test]
fn a_map_comes_back_from_every_format_with_its_poses() {
    use crate::space::tag_map::TagFormat;
    let map = TagMap::of_text(SURVEY, "hall.csv").unwrap();
    let names = ["tags.yaml", "bundle.yaml", "map.txt", "priors.txt", "hall.csv", "field.json"];
    for ((word, format), name) in TagFormat::TABLE.into_iter().zip(names) {
        let (text, _) = map.to_text(format, Some(0.16));
        let again = TagMap::of_text(&text, name).unwrap();
        assert_eq!(again.refused, 0, "{word}");
        if format == TagFormat::Bundle {
            // A board, in the frame of its first tag.
            let expected = map.known[&3].pose.inverse() * map.known[&4].pose;
            assert!((again.on_board[&4].pose.inverse() * expected).log().norm() < 1e-9);
            assert_eq!((again.sizes_m[&3], again.sizes_m[&4]), (0.2, 0.16));
            continue;
        }
        assert_eq!(again.known.len(), map.known.len(), "{word}");
        for (id, tag) in &again.known {
            assert!((tag.pose.inverse() * map.known[id].pose).log().norm() < 1e-9, "{word} {id}");
        }
        if [TagFormat::Tags, TagFormat::Survey].contains(&format) {
            assert!((again.known[&3].sigma.1 - 0.005).abs() < 1e-12 && again.sizes_m[&3] == 0.2, "{word}");
        }
    }
    let empty = TagMap { sizes_m: Default::default(), ..map };
    let (_, notes) = empty.to_text(TagFormat::Bundle, None);
    assert!(notes.iter().any(|note| note.contains("2 tags have no size")), "{notes:?}");
}

#[test]
fn a_survey_by_hand_states_where_faces_look() {
    let map = TagMap::of_text(SURVEY, "hall.csv").unwrap();
    let (first, second) = (map.known[&3], map.known[&4]);
    close(first.pose.rotation * Vector3::z(), [-1.0, 0.0, 0.0]);
    close(first.pose.rotation * Vector3::y(), [0.0, 0.0, 1.0]);
    assert_eq!((first.sigma.1, map.sizes_m[&3]), (0.005, 0.2));
    // It looks down by 30°.
    let down = 30.0_f64.to_radians();
    close(second.pose.rotation * Vector3::z(), [0.0, -down.cos(), -down.sin()]);
    assert!((second.sigma.0 - 2.0_f64.to_radians()).abs() < 1e-12 && second.sigma.1 == 0.01);
    let (line, problem) = TagMap::of_text("id,x_m,y_m\n", "hall.csv").unwrap_err();
    assert!(line == 1 && problem.contains("z_m"), "{problem}");
    let (line, problem) = TagMap::of_text("id,x_m,y_m,z_m,yaw_deg\n1,0,0,high,0\n", "hall.csv").unwrap_err();
    assert!(line == 2 && problem.contains("z_m is 'high'"), "{problem}");
}

#[test]
fn damaged_files_are_refused_or_read_and_never_panic() {
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let mut read = 0;
    for (text, name) in [(BUNDLES, "a.yaml"), (FIDUCIALS, "a.txt"), (PRIORS, "b.txt"), (SURVEY, "a.csv")] {
        for _ in 0..500 {
            let mut bytes = text.as_bytes().to_vec();
            for _ in 0..rng.random_range(1..6) {
                let at = rng.random_range(0..bytes.len());
                match rng.random_range(0..3) {
                    0 => bytes[at] = rng.random_range(9..127),
                    1 => _ = bytes.remove(at),
                    _ => bytes.insert(at, b"-.|,\n:e9 ["[rng.random_range(0..10)]),
                }
            }
            let Ok(text) = String::from_utf8(bytes) else { continue };
            let Ok(map) = TagMap::of_text(&text, name) else { continue };
            read += 1;
            for tag in map.known.values() {
                assert!(tag.pose.translation.iter().all(|x| x.abs() < 1e6));
                assert!(tag.pose.rotation.orthogonality_error() < 1e-9 && tag.sigma.0 > 0.0 && tag.sigma.1 > 0.0);
            }
            assert!(map.on_board.values().all(|place| place.pose.translation.iter().all(|x| x.is_finite())));
        }
    }
    assert!(read > 200, "{read}");
}
