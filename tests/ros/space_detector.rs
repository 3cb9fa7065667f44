//! From images to a pose: a real detector looks at rendered tags, and `slam3d_node` takes what it says.

use super::process::{domain, python, run_peer, start};
use super::space_tags::end;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Renders and detects with `tests/tags/scenario.py`; `false` where there is no detector.
fn photographed(folder: &Path) -> bool {
    let Some(python) = python() else {
        println!("skipped: no Python with rclpy; set LIENAV_PYTHON to one");
        return false;
    };
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/tags/scenario.py");
    let output = Command::new(python).arg(script).arg(folder).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    print!("{out}{err}");
    assert!(output.status.success() || err.contains("skipped"), "scenario.py says:\n{out}\n{err}");
    output.status.success()
}

/// What the node has published, as a table that `lienav judge` reads.
fn table(answer: &Path) -> String {
    let rows: Vec<(i64, Vec<f64>)> = serde_json::from_str(&std::fs::read_to_string(answer).unwrap()).unwrap();
    let mut text = "stamp_ns,x_m,y_m,z_m,qx,qy,qz,qw".to_owned();
    (0..36).for_each(|k| text += &format!(",c{}{}", 1 + k / 6, 1 + k % 6));
    for (ns, numbers) in rows {
        text += &format!("\n{ns}");
        numbers.iter().for_each(|x| text += &format!(",{x:e}"));
    }
    text + "\n"
}

#[test]
fn a_robot_is_localized_by_what_a_real_detector_sees_in_images() {
    /// Bars of the root mean square of the position, m, and of the NEES, of which 6 is right.
    const BARS: (f64, f64) = (0.02, 9.0);
    if !cfg!(feature = "apriltag_msgs") {
        println!("skipped: built without apriltag_msgs");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let [input, output, map, truth, estimate] =
        ["stream.json", "output.json", "tags.yaml", "truth.tum", "pose.csv"].map(|name| folder.path().join(name));
    if !photographed(folder.path()) {
        return;
    }
    let parameters = [
        "tags.detections:=[front/detections]",
        "tags.size_m:=0.2",
        "tags.corner_std_px:=0.3",
        "odom_frame:=odom",
        &format!("map.file:={}", map.display()),
        "map.mode:=localization",
        "qos_overrides./front/detections.subscription.reliability:=reliable",
        "qos_overrides./odom.subscription.reliability:=reliable",
        "qos_overrides./pose.publisher.depth:=1000",
    ];
    let arguments: Vec<&str> = ["--ros-args"].into_iter().chain(parameters.iter().flat_map(|p| ["-p", *p])).collect();
    let domain = domain();
    let node = start(env!("CARGO_BIN_EXE_slam3d_node"), &domain, &arguments);
    let stream: Value = serde_json::from_str(&std::fs::read_to_string(&input).unwrap()).unwrap();
    let mut images = stream["messages"].as_array().unwrap().iter().filter(|message| message.get("tags").is_some());
    // An image without tags is no step.
    let last = images.rfind(|image| !image["tags"].as_array().unwrap().is_empty()).unwrap();
    let last = last["ns"].to_string();
    let arguments = [input.to_str().unwrap(), output.to_str().unwrap(), &last, "plain"];
    let said = run_peer("space_tags.py", &domain, &arguments).unwrap();
    end(node);
    std::fs::write(&estimate, table(&output)).unwrap();
    let arguments = ["judge", estimate.to_str().unwrap(), "--truth", truth.to_str().unwrap(), "--json"];
    let judged = Command::new(env!("CARGO_BIN_EXE_lienav")).args(arguments).output().unwrap();
    let report = String::from_utf8_lossy(&judged.stdout).into_owned();
    assert!(judged.status.success(), "{}", String::from_utf8_lossy(&judged.stderr));
    let found: Value = serde_json::from_str(&report).unwrap();
    let (position_m, nees) = figures(&found);
    println!("{said}position {position_m:.4} m, NEES of the pose {nees:.2}");
    assert!(position_m <= BARS.0 && nees <= BARS.1, "{position_m} {nees}");
}

fn figures(report: &Value) -> (f64, f64) {
    (report["position_rmse_m"].as_f64().unwrap(), report["nees_mean"].as_f64().unwrap())
}
