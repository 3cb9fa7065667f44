//! Small folders of the layouts: what is read, what is missing, and files that were not written by friends.

use super::data::{Image, Layout};
use super::*;
use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use std::fs;
use std::io::Write;
use tempfile::TempDir;

const IMU: &str = "t_s,gyr_x_radps,gyr_y_radps,gyr_z_radps,acc_x_mps2,acc_y_mps2,acc_z_mps2\n\
                   1.0,0,0,0.1,0,0,9.8\n1.01,0,0,nan,0,0,9.8\n1.02,0,0,0.1,0,0,9.8\n1.02,0,0,0.1,0,0,9.8\n";
const TRUTH: &str =
    "t_s,p_x_m,p_y_m,p_z_m,qx,qy,qz,qw,ok\n1.0,1,2,3,0,0,0,1,1\n1.1,1,2,3,0,0,0,0,1\n1.2,1,2,3,0,0,0,1,0\n";
const POSE: &str = "{\"q_xyzw\": [0, 0, 0, 1], \"t_m\": [0.1, 0.0, 0.0]}";
const STEREO: &str = "left_u_px,left_v_px,right_u_px,right_v_px\n";

fn camera_yaml(rest: &str) -> String {
    format!(
        "camera: {{fx_px: 400, fy_px: 410, fu_px: 400, fv_px: 410, cu_px: 1, cv_px: 2, baseline_m: 0.2, T_body_cam: {POSE}}}\n{rest}"
    )
}

fn files(prefix: &str) -> Vec<(&'static str, String)> {
    let json = format!(
        "{{\"intrinsics\": {{\"fu_px\": 400, \"fv_px\": 410, \"cu_px\": 1, \"cv_px\": 2, \"baseline_m\": 0.1, \"model\": \"x\"}},\n\
         \"T_cam_imu\": {POSE}, \"T_rig_imu\": {POSE}, \"gravity_in_truth_frame_mps2\": [0.1, 0.0, -9.8]}}"
    );
    match prefix {
        "euroc-tracks" => vec![
            ("imu.csv", IMU.to_owned()),
            ("tracks.csv", "t_s,frame,feature_id,x_norm,y_norm\n1.0,0,3,0.1,0.2\n1.0,0,3,0.1,0.2\n1.01,1,3,inf,0.2\n".to_owned()),
            ("sensor.yaml", camera_yaml("")),
            ("truth.csv", TRUTH.to_owned()),
        ],
        "starloc" => vec![
            ("imu.csv", IMU.to_owned()),
            ("tags.csv", format!("t_s,t_file_s,tag_id,{STEREO}1.01,9,6,100,50,90,50\n")),
            ("calib.json", json),
            ("truth.csv", TRUTH.to_owned()),
            ("landmarks.csv", "tag_id,x_m,y_m,z_m\n6,1,2,3\n".to_owned()),
        ],
        _ => vec![
            ("odometry.csv", "t_s,k,vel_x_mps,vel_y_mps,vel_z_mps,gyr_x_radps,gyr_y_radps,gyr_z_radps\n0,0,1,2,3,4,5,6\n1,1,1,2,3,4,5,6\n".to_owned()),
            ("stereo.csv", format!("t_s,k,landmark_id,{STEREO}0,0,6,100,50,90,50\n")),
            ("sensor.yaml", camera_yaml("noise_stated: {vel_mps2: [0.1, 0.2, 0.3]}")),
            ("truth.csv", TRUTH.to_owned()),
            ("landmarks.csv", "landmark_id,x_m,y_m,z_m\n6,1,2,3\n".to_owned()),
        ],
    }
}

fn folder(files: &[(&str, String)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    files.iter().for_each(|(name, text)| fs::write(folder.path().join(name), text).unwrap());
    folder
}

fn read(prefix: &str, folder: &TempDir) -> Result<SpaceRecording, String> {
    open(&format!("{prefix}:{}", folder.path().display())).map_err(|error| error.to_string())
}

const PREFIXES: [&str; 3] = ["euroc-tracks", "starloc", "starry"];

#[test]
fn each_layout_is_read_and_what_is_left_out_is_counted() {
    let all = PREFIXES.map(|prefix| read(prefix, &folder(&files(prefix))).unwrap());
    assert_eq!(all.each_ref().map(|one| one.layout), [Layout::EurocTracks, Layout::Starloc, Layout::Starry]);
    let [euroc, starloc, starry] = &all;
    assert_eq!((euroc.inertial.len(), starry.twists.len(), starloc.landmarks.len()), (2, 2, 1));
    assert_eq!(euroc.frames.len(), 1);
    assert!(matches!(starloc.frames[0].seen[0].at, Image::Stereo(z) if z.x == 100.0));
    let dropped = |name: &str| euroc.dropped.get(name).copied().unwrap_or(0);
    let counted = ["bad_value", "duplicate_stamp", "repeated_row", "bad_truth", "truth_not_ok"].map(dropped);
    assert_eq!(counted, [2, 1, 1, 1, 1]);
    assert!((starloc.truth[0].pose.translation.x - 1.1).abs() < 1e-12, "of the inertial sensor, not of the rig");
    assert!((starloc.camera.on_body.translation.x + 0.1).abs() < 1e-12);
    assert_eq!(starloc.gravity.map(|g| g.z), Some(-9.8));
    assert_eq!(starry.stated.velocity.map(|v| v.y), Some(0.2));
}

#[test]
fn tables_may_be_compressed_and_truth_and_landmarks_may_be_missing() {
    for prefix in PREFIXES {
        let plain = folder(&files(prefix));
        let packed = tempfile::tempdir().unwrap();
        for (name, text) in files(prefix).iter().filter(|(name, _)| !name.starts_with("landmarks")) {
            if !name.ends_with(".csv") || *name == "truth.csv" {
                if *name != "truth.csv" {
                    fs::write(packed.path().join(name), text).unwrap();
                }
                continue;
            }
            let mut out = GzEncoder::new(Vec::new(), Compression::fast());
            out.write_all(text.as_bytes()).unwrap();
            fs::write(packed.path().join(format!("{name}.gz")), out.finish().unwrap()).unwrap();
        }
        let (a, b) = (read(prefix, &plain).unwrap(), read(prefix, &packed).unwrap());
        assert_eq!((&a.inertial, &a.twists, &a.frames), (&b.inertial, &b.twists, &b.frames));
        assert!(b.truth.is_empty() && b.landmarks.is_empty() && b.warnings.len() == 1, "{:?}", b.warnings);
    }
}

#[test]
fn what_is_wrong_is_named_with_file_line_and_column() {
    let with = |prefix: &str, name: &str, from: &str, to: &str| {
        let mut all = files(prefix);
        for (own, text) in &mut all {
            if *own == name {
                *text = text.replace(from, to);
            }
        }
        read(prefix, &folder(&all)).unwrap_err()
    };
    let error = with("starloc", "imu.csv", "1.02,0", "1.02,abc");
    assert!(error.ends_with("imu.csv:4: gyr_x_radps is 'abc'; expected a number"), "{error}");
    let error = with("starloc", "tags.csv", "tag_id", "name");
    assert!(error.contains("tags.csv:1: there is no column tag_id"), "{error}");
    let error = with("starloc", "calib.json", "\"fu_px\": 400", "\"fu_px\": -1");
    assert!(error.contains("calib.json:1: intrinsics"), "{error}");
    let error = with("starloc", "calib.json", "\"T_rig_imu\"", "\"T_rig_imu");
    assert!(error.contains("calib.json:2: column"), "{error}");
    let error = with("starry", "sensor.yaml", "0.2, 0.3", "-1, 0.3");
    assert!(error.contains("sensor.yaml") && error.contains("vel_mps2"), "{error}");
    let error = with("euroc-tracks", "sensor.yaml", "0, 0, 0, 1", "0, 0, 0, 0");
    assert!(error.contains("T_body_cam is not a pose"), "{error}");
    let empty = tempfile::tempdir().unwrap();
    assert!(read("starry", &empty).unwrap_err().contains("sensor.yaml"));
    assert!(open("woods:x").unwrap_err().to_string().contains("no recording in space"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Bytes that replace, cut or repeat parts of each file: an error or a recording, never a panic.
    #[test]
    fn no_damage_makes_a_reader_panic(
        prefix in 0..3_usize,
        file in 0..5_usize,
        cut in 0.0..1.0_f64,
        noise in "[-+0-9.eE,\n:{}\\[\\]\"a-z#%]{0,24}",
    ) {
        let prefix = PREFIXES[prefix];
        let mut all = files(prefix);
        let file = file % all.len();
        let text = &mut all[file].1;
        let mut at = (cut * text.len() as f64) as usize;
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        text.insert_str(at, &noise);
        let _ = read(prefix, &folder(&all));
        all[file].1.truncate(at);
        let _ = read(prefix, &folder(&all));
    }
}
