//! Readers of recordings of tags: small folders, whole and damaged.

use super::data::SpaceRecording;
use super::jumps::{keep_longest_run, leave_out_jumps};
use super::open;
use crate::space::data::TruePose;
use lienav_base::stamp::Stamp;
use lienav_lie::{Se3, So3};
use nalgebra::Vector3;
use std::fs;

const POSE: &str = "{q_xyzw: [0, 0, 0, 1], t_m: [0, 0, 0]}";

fn tagslam() -> Vec<(&'static str, String)> {
    let square = "100,100,200,100,200,200,100,200";
    vec![
        (
            "corners.csv",
            format!(
                "t_s,camera,tag_id,hamming,u0_px,v0_px,u1_px,v1_px,u2_px,v2_px,u3_px,v3_px\n\
                 1.0,a,7,0,{square}\n1.0,b,7,0,{square}\n1.0,a,8,0,{square}\n1.0,a,8,0,{square}\n\
                 1.1,a,7,0,100,100,200,200,200,100,100,200\n1.1,a,9,0,{square}\n1.1,c,7,0,{square}\n\
                 1.1,a,7,5,{square}\n1.2,a,6,0,{square}\n1.2,a,7,0,inf,100,200,100,200,200,100,200\n"
            ),
        ),
        (
            "cameras.yaml",
            format!(
                "a: {{distortion_model: equidistant, intrinsics_fx_fy_cx_cy_px: [400, 400, 320, 240], \
                 distortion_coeffs: [0.1, 0, 0, 0], T_body_cam_given: {POSE}, T_body_cam_reference: null}}\n\
                 b: {{distortion_model: radtan, intrinsics_fx_fy_cx_cy_px: [400, 400, 320, 240], \
                 distortion_coeffs: [], T_body_cam_given: null, T_body_cam_reference: {POSE}}}\n"
            ),
        ),
        (
            "tags.yaml",
            "default_sizes_m: {wall: 0.2}\nignore_tags: [9]\nmax_hamming_distance: 2\nsizes_m: {7: 0.15}\n\
             known_tags:\n  7: {size_m: 0.15, q_xyzw: [0, 0, 0, 1], t_m: [1, 2, 3], t_sigma_m: [0.1, 0.2, 0.1], \
             rot_sigma_rad: [0.01, 0.01, 0.01]}\n\
             tag_id_remap:\n- id: 6\n  remaps:\n  - {remap_id: 66, start_time: 1.1, end_time: 1.3}\n"
                .to_owned(),
        ),
        ("odometry.csv", "t_s,p_x_m,p_y_m,p_z_m,qx,qy,qz,qw\n1,0,0,0,0,0,0,1\n1.5,1,0,0,0,0,0,1\n".to_owned()),
    ]
}

fn read(prefix: &str, files: &[(&str, String)]) -> Result<SpaceRecording, String> {
    let folder = tempfile::tempdir().unwrap();
    files.iter().for_each(|(name, text)| fs::write(folder.path().join(name), text).unwrap());
    open(&format!("{prefix}:{}", folder.path().display())).map_err(|error| error.to_string())
}

#[test]
fn what_is_no_tag_is_left_out_and_counted() {
    let recording = read("tagslam", &tagslam()).unwrap();
    let dropped = |reason: &str| recording.dropped.get(reason).copied().unwrap_or(0);
    let reasons = ["repeated_tag", "bad_corners", "ignored_tag", "unknown_camera", "too_many_wrong_bits"];
    assert_eq!(reasons.map(dropped), [2, 2, 1, 1, 1]);
    let tags = &recording.tags;
    let seen: Vec<(usize, u64, f64)> =
        tags.frames.iter().flat_map(|frame| &frame.seen).map(|seen| (seen.camera, seen.id, seen.size_m)).collect();
    assert_eq!(seen, [(0, 7, 0.15), (1, 7, 0.15), (0, 66, 0.2)]);
    assert_eq!((tags.known[&7].sigma, tags.known[&7].pose.translation.y), ((0.01, 0.2), 2.0));
    assert!((recording.twists[0].velocity.x - 2.0).abs() < 1e-12);
    assert_eq!(recording.warnings.len(), 1, "{:?}", recording.warnings);
}

#[test]
fn a_camera_without_a_model_or_a_place_is_named() {
    let with = |from: &str, to: &str| {
        let mut all = tagslam();
        all.iter_mut().for_each(|(_, text)| *text = text.replace(from, to));
        read("tagslam", &all).unwrap_err()
    };
    assert!(with("equidistant", "omni").contains("distortion_model is 'omni'"));
    assert!(with("T_body_cam_reference: {", "T_body_cam_other: {").contains("there is no T_body_cam"));
    assert!(with("[400, 400, 320, 240]", "[0, 400, 320, 240]").contains("focal"));
    let mut all = tagslam();
    all.remove(1);
    assert!(read("tagslam", &all).unwrap_err().contains("cameras.yaml"));
}

#[test]
fn a_field_is_turned_to_the_axes_of_the_corners() {
    let files = [
        (
            "camera.yaml",
            "intrinsics_fx_fy_cx_cy_px: [600, 600, 480, 360]\ntag_size_m: 0.1651\nT_robot_cam_fitted:\n  \
          t_m: [0.5, 0, 0.5]\n  q_xyzw_robot_from_optical: [0.5, -0.5, 0.5, -0.5]\n  truth_minus_capture_s: -0.012\n"
                .to_owned(),
        ),
        ("field_tags.csv", "tag_id,x_m,y_m,z_m,qx,qy,qz,qw\n3,1,2,1,0,0,0,1\n".to_owned()),
        (
            "corners.csv",
            "t_log_s,t_capture_s,frame,tag_id,u0_px,v0_px,u1_px,v1_px,u2_px,v2_px,u3_px,v3_px\n\
          1.1,1.05,1,3,1,1,9,1,9,9,1,9\n"
                .to_owned(),
        ),
        ("twist.csv", "t_s,dx_m,dy_m,dz_m,rx_rad,ry_rad,rz_rad\n1,5,5,0,0,0,0\n1.02,0.02,0,0,0,0,0.01\n".to_owned()),
        ("truth.csv", "t_s,x_m,y_m,yaw_deg\n0.9,0,0,0\n0.92,3,3,90\n0.94,3,3.01,90\n0.98,3,3.02,90\n".to_owned()),
    ];
    let recording = read("frc", &files).unwrap();
    let normal = recording.tags.known[&3].pose.rotation * Vector3::z();
    assert!((normal - Vector3::x()).norm() < 1e-12, "the face looks along x");
    assert!((recording.tags.frames[0].stamp.secs() - 1.038).abs() < 1e-9);
    assert!((recording.twists[0].velocity.x - 1.0).abs() < 1e-9, "the first row is left out");
    assert_eq!(recording.dropped.get("truth_before_or_after_a_reset"), Some(&1));
}

#[test]
fn poses_between_jumps_are_no_truth() {
    let pose = |k: usize, x: f64| TruePose {
        stamp: Stamp::from_secs(0.1 * k as f64),
        pose: Se3::new(So3::identity(), Vector3::new(x, 0.0, 0.0)),
        velocity: None,
        force_bias: None,
    };
    let x = |k: usize| if (20..24).contains(&k) { 2.0 } else { 0.0 };
    let mut truth: Vec<TruePose> = (0..50).map(|k| pose(k, x(k))).collect();
    assert_eq!(leave_out_jumps(&mut truth, 3.0), 6, "four, and their neighbours");
    assert!(truth.iter().all(|one| one.pose.translation.x == 0.0));
    let mut truth: Vec<TruePose> = (0..50).map(|k| pose(k, if k < 8 { 5.0 } else { 0.0 })).collect();
    assert_eq!(keep_longest_run(&mut truth, 3.0), 8);
    assert_eq!((leave_out_jumps(&mut Vec::new(), 3.0), keep_longest_run(&mut Vec::new(), 3.0)), (0, 0));
}
