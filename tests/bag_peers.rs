//! Bags against the official Python readers: they read what is written here, and what they write is read here.

use lienav_base::stamp::Stamp;
use lienav_io::bag::Existing;
use lienav_io::recording::{Input, Recording, open};
use lienav_io::to_bag::to_bag;
use lienav_lie::Se2;
use lienav_slam::{Imu, Measurement, MeasurementKind, Odometry, Scan};
use nalgebra::Vector2;
use std::path::Path;
use std::process::Command;

fn recording() -> Recording {
    let mut recording = Recording { name: "peers".into(), ..Recording::default() };
    for i in 0..500 {
        let x = f64::from(i) / 7.0;
        let stamp = Stamp::from_nanos(1_700_000_000_000_000_000 + 10_000_000 * i64::from(i));
        let odometry = Odometry { stamp, velocity: Vector2::new(x, 0.0), yaw_rate: x.sin(), covariance: None };
        recording.inputs.push(Input::Odometry(odometry));
        recording.inputs.push(Input::Imu(Imu { stamp, yaw_rate: x.cos(), tilt: None }));
        let seen = |k| Measurement::new(Some(k), [x, 0.1]);
        let features =
            Scan { stamp, kind: MeasurementKind::RangeBearing, measurements: (0..i as u32 % 4).map(seen).collect() };
        recording.inputs.push(Input::Scan(features));
        recording.truth.push((stamp, Se2::new(x, -x, x.sin())));
    }
    recording.true_landmarks = vec![(3, Vector2::new(1.0, 2.0))];
    recording
}

#[test]
fn the_official_readers_and_writers_agree() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    to_bag(&recording(), &path("bag"), Existing::Refuse, &mut |_, _| ()).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bag_peers.py");
    let python = std::env::var("LIENAV_PYTHON").unwrap_or_else(|_| "python3".into());
    let output = match Command::new(python).arg(script).args(["bag", "db3", "mcap"].map(path)).output() {
        Ok(output) if output.status.code() == Some(77) => {
            println!("skipped: {}", String::from_utf8_lossy(&output.stdout));
            return;
        }
        Ok(output) => output,
        Err(error) => {
            println!("skipped: python3: {error}");
            return;
        }
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for name in ["db3", "mcap"] {
        let read = open(path(name).to_str().unwrap()).unwrap();
        // The peers copy messages, and not the parameters beside them.
        let is_of_mount = |warning: &String| warning.contains("is taken to sit at the base");
        assert!(read.warnings.iter().all(is_of_mount), "{:?}", read.warnings);
        assert_eq!((read.inputs, read.truth, read.true_landmarks), {
            let Recording { inputs, truth, true_landmarks, .. } = recording();
            (inputs, truth, true_landmarks)
        });
    }
}
