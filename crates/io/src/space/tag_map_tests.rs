//! Maps of tags, and damaged files of recordings of tags.

use super::*;
use crate::space::open as open_source;
use lienav_lie::LieGroup;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

#[test]
fn a_map_of_tags_comes_back_from_its_text() {
    let pose = |k: u64| {
        let turn = So3::exp(&(Vector3::new(0.3, -1.0, 2.0) * k as f64));
        Se3::new(turn, Vector3::new(k as f64, -0.5, 1e-7))
    };
    let known = (0..5).map(|k| (k, StatedTag { pose: pose(k), sigma: (1e-3 * (k + 1) as f64, 2e-3) })).collect();
    let map = TagMap { known, sizes_m: [(3, 0.1)].into(), usual_size_m: Some(0.16), ..TagMap::default() };
    let read = TagMap::of_yaml(&map.to_yaml()).unwrap();
    assert_eq!((&read.sizes_m, read.usual_size_m, read.refused), (&map.sizes_m, Some(0.16), 0));
    assert!(!read.is_by_hand && read.known.len() == 5);
    for (id, tag) in &read.known {
        let off = tag.pose.inverse() * map.known[id].pose;
        assert!(off.log().norm() < 1e-12 && tag.sigma == map.known[id].sigma, "{id}");
    }
    assert!(TagMap::of_yaml(&TagMap::default().to_yaml()).unwrap().known.is_empty());
}

/// Tag 1 stands on the wall x = 0 of the field and faces along +x.
#[test]
fn the_layout_of_a_field_is_read_with_z_out_of_the_faces() {
    let text = r#"{"tags": [
        {"ID": 1, "pose": {"translation": {"x": 0.0, "y": 2.0, "z": 1.0},
         "rotation": {"quaternion": {"W": 1.0, "X": 0.0, "Y": 0.0, "Z": 0.0}}}},
        {"ID": 2, "pose": {"translation": {"x": 0.0, "y": 2.0, "z": 1.0},
         "rotation": {"quaternion": {"W": 0.0, "X": 0.0, "Y": 0.0, "Z": 0.0}}}}],
        "field": {"length": 16.5, "width": 8.2}}"#;
    let map = TagMap::of_field(text).unwrap();
    assert_eq!((map.known.len(), map.refused, map.is_by_hand), (1, 1, true));
    let tag = map.known[&1].pose;
    assert!((tag.rotation * Vector3::z() - Vector3::x()).norm() < 1e-12, "out of the face");
    assert!((tag.rotation * Vector3::y() - Vector3::z()).norm() < 1e-12, "up");
    assert!((tag.rotation * Vector3::x() - Vector3::y()).norm() < 1e-12, "to the right of who faces it");
    let (line, problem) = TagMap::of_field("{\"tags\": [\n{}]}").unwrap_err();
    assert!(line == 2 && problem.contains("ID"), "{line}: {problem}");
}

#[test]
fn what_a_file_states_beside_the_tags_is_kept() {
    let text = "default_sizes_m: {hall: 0.2}\nignore_tags: [9]\nmax_hamming_distance: 1\nknown_tags:\n  \
                3: {size_m: 0.1, t_m: [1, 2, 3], q_xyzw: [0, 0, 0, 1], t_sigma_m: [0.001, 0.002, 0.001], \
                rot_sigma_rad: [0.01, 0.01, 0.01]}\n  \
                4: {t_m: [1, 2, 3], q_xyzw: [0, 0, 0, 0], t_sigma_m: [1, 1, 1], rot_sigma_rad: [1, 1, 1]}\n";
    let map = TagMap::of_yaml(text).unwrap();
    assert_eq!((map.usual_size_m, map.sizes_m.get(&3), map.refused), (Some(0.2), Some(&0.1), 1));
    assert_eq!((map.ignored.contains(&9), map.max_hamming, map.is_by_hand), (true, Some(1), true));
    assert_eq!(map.known[&3].sigma, (0.01, 0.002));
    assert!(TagMap::of_yaml("known_tags: [1, 2]").is_err());
    let missing = TagMap::read(Path::new("/no/such/tags.yaml")).unwrap_err().to_string();
    assert!(missing.contains("/no/such/tags.yaml"), "{missing}");
}

const TAGS: &str = "default_sizes_m: {hall: 0.2}\nknown_tags:\n  3: {t_m: [1, 2, 3], q_xyzw: [0, 0, 0, 1], \
                    t_sigma_m: [0.001, 0.002, 0.001], rot_sigma_rad: [0.01, 0.01, 0.01]}\nboards:\n  b: {tag_start_id: 50, \
                    tag_size: 0.1, tag_rows: 2, tag_columns: 3, tag_spacing: 0.25}\n";
const CAMERAS: &str = "cam0:\n  distortion_model: radtan\n  intrinsics_fx_fy_cx_cy_px: [600, 600, 320, 240]\n  \
                       distortion_coeffs: [0.1, 0, 0, 0]\n  T_body_cam_given: {t_m: [0, 0, 0], q_xyzw: [0, 0, 0, 1]}\n";
const CORNERS: &str = "t_s,camera,tag_id,hamming,u0_px,v0_px,u1_px,v1_px,u2_px,v2_px,u3_px,v3_px\n\
                       1.5,cam0,3,0,300,260,340,260,340,220,300,220\n1.6,cam0,50,0,300,260,340,260,340,220,300,220\n";
const ODOMETRY: &str = "t_s,p_x_m,p_y_m,p_z_m,qx,qy,qz,qw\n1.4,0,0,0,0,0,0,1\n1.7,0.1,0,0,0,0,0,1\n";
const CAMERA: &str = "intrinsics_fx_fy_cx_cy_px: [600, 600, 320, 240]\ntag_size_m: 0.16\nT_robot_cam_fitted:\n  \
                      t_m: [0.1, 0, 0.5]\n  q_xyzw_robot_from_optical: [-0.5, 0.5, -0.5, 0.5]\n";
const FIELD: &str = "tag_id,x_m,y_m,z_m,qx,qy,qz,qw\n3,4,0,1,0,0,1,0\n";
const FRC_CORNERS: &str = "t_capture_s,tag_id,u0_px,v0_px,u1_px,v1_px,u2_px,v2_px,u3_px,v3_px\n\
                           1.5,3,300,260,340,260,340,220,300,220\n";
const TWISTS: &str = "t_s,dx_m,dy_m,dz_m,rx_rad,ry_rad,rz_rad\n1.40,0.01,0,0,0,0,0.001\n1.42,0.01,0,0,0,0,0.001\n";

/// Flips, cuts, repeats and inserts.
fn damaged(text: &str, rng: &mut ChaCha8Rng) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..rng.random_range(1..6) {
        let at = rng.random_range(0..bytes.len().max(1)).min(bytes.len());
        match rng.random_range(0..5) {
            0 if at < bytes.len() => bytes[at] = rng.random(),
            1 => bytes.truncate(at),
            2 => bytes.extend_from_within(at..),
            3 => drop(bytes.splice(at..at, b"-1e309,nan,[[{".iter().copied())),
            _ => drop(bytes.splice(at..at, b"999999999999999999999".iter().copied())),
        }
    }
    bytes
}

#[test]
fn folders_with_damaged_files_are_read_or_refused_and_never_panic() {
    let folders: [(&str, &[(&str, &str)]); 2] = [
        (
            "tagslam",
            &[("tags.yaml", TAGS), ("cameras.yaml", CAMERAS), ("corners.csv", CORNERS), ("odometry.csv", ODOMETRY)],
        ),
        (
            "frc",
            &[("camera.yaml", CAMERA), ("field_tags.csv", FIELD), ("corners.csv", FRC_CORNERS), ("twist.csv", TWISTS)],
        ),
    ];
    let mut rng = ChaCha8Rng::seed_from_u64(20);
    for (prefix, files) in folders {
        let folder = tempfile::tempdir().unwrap();
        let source = format!("{prefix}:{}", folder.path().display());
        let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
        files.iter().for_each(|(name, text)| write(name, text.as_bytes()));
        let good = open_source(&source).unwrap();
        assert!(!good.tags.frames.is_empty() && !good.twists.is_empty() && good.tags.known.len() == 1, "{prefix}");
        let (mut read, mut refused) = (0, 0);
        for _ in 0..1500 {
            let (name, text) = files[rng.random_range(0..files.len())];
            write(name, &damaged(text, &mut rng));
            match open_source(&source) {
                Ok(_) => read += 1,
                Err(error) => {
                    assert!(!error.to_string().is_empty());
                    refused += 1;
                }
            }
            write(name, text.as_bytes());
        }
        println!("{prefix}: {read} read, {refused} refused");
        assert!(read > 10 && refused > 10, "{read} {refused}");
    }
}

#[test]
fn damaged_maps_are_read_or_refused_and_never_panic() {
    let mut rng = ChaCha8Rng::seed_from_u64(21);
    let field = r#"{"tags":[{"ID":1,"pose":{"translation":{"x":0,"y":2,"z":1},"rotation":{"quaternion":{"W":1,"X":0,"Y":0,"Z":0}}}}]}"#;
    for _ in 0..3000 {
        let _ = TagMap::of_field(&String::from_utf8_lossy(&damaged(field, &mut rng)));
        let map = TagMap::of_yaml(&String::from_utf8_lossy(&damaged(TAGS, &mut rng)));
        for tag in map.iter().flat_map(|map| map.known.values()) {
            assert!(tag.pose.translation.iter().all(|x| x.is_finite()) && tag.sigma.0 > 0.0 && tag.sigma.1 > 0.0);
        }
    }
}

#[test]
fn what_tags_have_in_common_comes_back_from_the_file_and_damage_is_left_out() {
    let known = |id: u64| (id, StatedTag { pose: Se3::identity(), sigma: (0.01, 0.02) });
    let covariance = DMatrix::from_fn(12, 12, |i, j| if i == j { 2.0 } else { 0.01 * (i + j) as f64 });
    let joint = TagsTogether::of(&[3, 9], &covariance);
    let map = TagMap { known: [known(3), known(9)].into(), joint, ..TagMap::default() };
    let again = TagMap::of_yaml(&map.to_yaml()).unwrap();
    assert!(!again.is_by_hand && again.joint == map.joint);
    assert!((again.joint.unwrap().matrix() - covariance).abs().max() < 1e-6);
    for (from, to) in [("tags: [3, 9]", "tags: [3, 3]"), ("upper: [", "upper: [1.0, "), ("2.000000e0", ".nan")] {
        let text = map.to_yaml().replace(from, to);
        assert_ne!(text, map.to_yaml(), "{from}");
        assert_eq!(TagMap::of_yaml(&text).unwrap().joint, None, "{from}");
    }
    assert_eq!(TagsTogether::of(&[3], &DMatrix::zeros(6, 6)), None);
}
