//! Runs over small made-up recordings, and over those of `../shared/data3d` where they are.

use super::errors::Errors;
use super::figures::Subject;
use super::report::{Report, to_json, to_text};
use super::run::{Options, RunError, SpaceRun, run};
use super::settings::Settings;
use super::truth::{Truth, levelling};
use super::{folder, page};
use lienav_base::stamp::Stamp;
use lienav_io::space::data::{Camera, Frame, Image, InertialSample, Layout, Seen, SpaceRecording, TruePose, Twist};
use lienav_io::space::open;
use lienav_lie::{LieGroup, Se3, So3};
use lienav_space::PixelNoise;
use nalgebra::{Vector2, Vector3, Vector4};
use std::path::Path;

const FILTERS: [&str; 5] = ["default", "reduced", "ekf", "fe-ekf", "oc-ekf"];

/// A body that goes round in a circle of 1 m once in 12 s, and sees six points around a pair of cameras on it.
fn made_up(layout: Layout) -> SpaceRecording {
    const HZ: f64 = 100.0;
    let rate = std::f64::consts::TAU / 12.0;
    let pose_at = |t: f64| {
        let rotation = So3::exp(&(Vector3::z() * (rate * t)));
        Se3::new(rotation, rotation * Vector3::new(0.0, -1.0, 0.0))
    };
    let camera = Camera {
        focal: Vector2::repeat(400.0),
        centre: Vector2::new(320.0, 240.0),
        baseline_m: 0.2,
        on_body: Se3::new(
            So3::from_matrix_unchecked(nalgebra::Matrix3::new(0.0, 0.0, 1.0, -1.0, 0.0, 0.0, 0.0, -1.0, 0.0)),
            Vector3::new(0.1, 0.0, 0.0),
        ),
    };
    let mut recording = SpaceRecording { name: "made up".to_owned(), layout, camera, ..SpaceRecording::default() };
    for id in 0..12_u64 {
        let angle = id as f64 * std::f64::consts::TAU / 12.0;
        let place = Vector3::new(4.0 * angle.cos(), 4.0 * angle.sin(), 0.3 * (2.0 * angle).sin());
        recording.landmarks.insert(id, place);
    }
    for k in 0..1200 {
        let (t, stamp) = (f64::from(k) / HZ, Stamp::from_secs(f64::from(k) / HZ));
        let pose = pose_at(t);
        // Forward at r ω, with the centre of the circle on the left.
        let (turn, velocity) = (Vector3::z() * rate, Vector3::new(rate, 0.0, 0.0));
        let force = Vector3::new(0.0, rate * rate, 9.81);
        match layout {
            Layout::Starry => recording.twists.push(Twist { stamp, velocity, rate: turn }),
            _ => recording.inertial.push(InertialSample { stamp, rate: turn, force }),
        }
        recording.truth.push(TruePose { stamp, pose, velocity: None, force_bias: None });
        if k % 10 == 5 {
            recording.frames.push(Frame { stamp, seen: see(&recording, &pose) });
        }
    }
    recording
}

fn see(recording: &SpaceRecording, pose: &Se3) -> Vec<Seen> {
    let camera = &recording.camera;
    let seen = |(id, place): (&u64, &Vector3<f64>)| {
        let x = (*pose * camera.on_body).inverse().transform(place);
        let at = match recording.layout {
            Layout::EurocTracks => Image::Normalized(x.xy() / x.z),
            _ => {
                let [u, v] = [0, 1].map(|k| camera.focal[k] * x[k] / x.z + camera.centre[k]);
                Image::Stereo(Vector4::new(u, v, u - camera.focal.x * camera.baseline_m / x.z, v))
            }
        };
        (x.z > 0.5 && (x.x / x.z).abs() < 0.8).then_some(Seen { id: *id, at })
    };
    recording.landmarks.iter().filter_map(seen).collect()
}

fn judged(recording: &SpaceRecording, name: &str, options: &Options) -> (SpaceRun, Errors) {
    let truth = Truth::of(recording);
    let run = run(recording, &truth, name, options).unwrap();
    let errors = Errors::new(&run, &truth, Settings::of(recording).truth_sigma);
    (run, errors)
}

#[test]
fn every_filter_runs_every_layout_with_and_without_a_map() {
    for layout in [Layout::EurocTracks, Layout::Starloc, Layout::Starry] {
        let recording = made_up(layout);
        for name in FILTERS {
            for has_map in [false, true] {
                let (run, errors) = judged(&recording, name, &Options { has_map, ..Options::default() });
                let (rmse, nees) = (errors.position_rmse().unwrap(), errors.nees_mean(2).unwrap());
                assert!(rmse < 0.1 && nees < 6.0, "{layout:?} {name} {has_map}: {rmse} {nees}");
                assert!(run.warnings.iter().all(|warning| warning.contains("steps")), "{:?}", run.warnings);
            }
        }
    }
}

#[test]
fn samples_that_are_missing_make_the_covariance_grow() {
    let mut recording = made_up(Layout::Starloc);
    recording.inertial.retain(|sample| !(4.0..6.0).contains(&sample.stamp.secs()));
    recording.frames.retain(|frame| !(4.0..7.0).contains(&frame.stamp.secs()));
    let (_, errors) = judged(&recording, "default", &Options::default());
    let within = |from: f64, to: f64| {
        let pairs = errors.pairs.iter().filter(move |pair| (from..to).contains(&pair.stamp.secs()));
        pairs.map(|pair| pair.sigma.fixed_rows::<3>(0).norm()).fold(0.0, f64::max)
    };
    let (before, gap, nees) = (within(2.0, 4.0), within(5.0, 7.0), errors.nees_mean(2).unwrap());
    assert!(gap > 0.5 && gap > 3.0 * before && nees < 6.0, "{before} {gap} {nees}");
}

/// Values that no sensor gives, gaps of years, frames before and behind the samples.
#[test]
fn absurd_recordings_give_a_run_that_ends_or_a_reason_and_no_panic() {
    for layout in [Layout::EurocTracks, Layout::Starloc, Layout::Starry] {
        for damage in 0..6 {
            let mut recording = made_up(layout);
            match damage {
                0 => recording.inertial.iter_mut().step_by(50).for_each(|sample| sample.force *= 1e5),
                1 => recording.frames.iter_mut().flat_map(|frame| &mut frame.seen).for_each(|seen| seen.id = 3),
                2 => {
                    let far = Stamp::from_secs(9e8);
                    recording.inertial.last_mut().map(|sample| sample.stamp = far).unwrap_or_default();
                    recording.twists.last_mut().map(|twist| twist.stamp = far).unwrap_or_default();
                }
                3 => recording.frames.clear(),
                4 => recording.truth.clear(),
                _ => recording.frames.iter_mut().for_each(|frame| frame.stamp = frame.stamp + 1e6),
            }
            let truth = Truth::of(&recording);
            for name in ["default", "ekf"] {
                match run(&recording, &truth, name, &Options::default()) {
                    Ok(run) => assert!(run.estimates.iter().all(|e| e.pose.translation.iter().all(|x| x.is_finite()))),
                    Err(error) => assert!(!error.to_string().is_empty()),
                }
            }
        }
    }
}

#[test]
fn a_filter_map_or_interval_that_is_not_there_is_named() {
    let mut recording = made_up(Layout::Starry);
    let truth = Truth::of(&recording);
    let error = |recording: &SpaceRecording, name: &str, options: &Options| {
        run(recording, &truth, name, options).map(|_| ()).unwrap_err()
    };
    assert_eq!(error(&recording, "kalman", &Options::default()), RunError::NoFilter("kalman".to_owned()));
    let steps = Options { steps: Some(5000..=6000), ..Options::default() };
    assert_eq!(error(&recording, "default", &steps), RunError::NoSteps(5000, 6000, 1200));
    let few = Options { steps: Some(0..=99), ..Options::default() };
    assert_eq!(run(&recording, &truth, "default", &few).unwrap().estimates.len(), 99);
    recording.landmarks.clear();
    assert_eq!(error(&recording, "default", &Options { has_map: true, ..Options::default() }), RunError::NoMap);
}

#[test]
fn alignment_has_four_numbers_and_the_truth_is_levelled() {
    let recording = made_up(Layout::Starloc);
    let turned = Se3::new(So3::exp(&Vector3::new(0.0, 0.0, 0.7)), Vector3::new(3.0, -2.0, 1.0));
    let (run, errors) = judged(&recording, "default", &Options::default());
    let mut moved = run.clone();
    moved.estimates.iter_mut().for_each(|estimate| estimate.pose = turned * estimate.pose);
    let again = Errors::new(&moved, &Truth::of(&recording), (0.002, 0.002));
    assert!((again.aligned_position_rmse().unwrap() - errors.aligned_position_rmse().unwrap()).abs() < 1e-9);
    let orientations = [&again, &errors].map(|errors| errors.aligned_orientation_rmse().unwrap());
    assert!((orientations[0] - orientations[1]).abs() < 1e-3 && again.position_rmse().unwrap() > 1.0);

    // The gravity that the sensor measures on the true way, where none is stated.
    let tilt = So3::exp(&Vector3::new(0.02, -0.01, 0.0));
    let mut leaning = recording.clone();
    leaning.truth.iter_mut().for_each(|truth| truth.pose = Se3::new(tilt, Vector3::zeros()) * truth.pose);
    let level = Truth::of(&leaning).level;
    assert!((level * (tilt * Vector3::z()) - Vector3::z()).norm() < 1e-4, "{level:?}");
    for gravity in [Vector3::new(0.0, 0.0, 9.8), Vector3::new(9.8, 0.0, 0.0), Vector3::zeros()] {
        assert!(levelling(&gravity).orthogonality_error() < 1e-12);
    }
}

#[test]
fn what_both_images_have_in_common_is_their_correlation() {
    let covariance = PixelNoise { own: [1.0, 2.0], common: [3.0, 0.0] }.covariance();
    assert_eq!((covariance[(0, 0)], covariance[(0, 2)], covariance[(1, 3)], covariance[(1, 1)]), (10.0, 9.0, 0.0, 4.0));
}

#[test]
fn reports_are_an_object_or_an_array_and_a_folder_has_all_files() {
    let recording = made_up(Layout::Starloc);
    let all: Vec<(SpaceRun, Errors)> =
        ["default", "ekf"].iter().map(|name| judged(&recording, name, &Options::default())).collect();
    let reports: Vec<Report> = all.iter().map(|(run, errors)| Report::new(run, errors, &recording.dropped)).collect();
    let subjects: Vec<Subject> = all.iter().map(|(run, errors)| Subject { run, errors }).collect();
    let one: serde_json::Value = serde_json::from_str(&to_json(&reports[..1]).unwrap()).unwrap();
    for key in [
        "position_rmse_m",
        "aligned_position_rmse_m",
        "orientation_rmse_deg",
        "aligned_orientation_rmse_deg",
        "position_max_m",
        "nees_position_mean",
        "nees_orientation_mean",
        "nees_mean",
    ] {
        assert!(one[key].is_f64(), "{key}");
    }
    assert!(one["step_us"]["mean"].is_f64());
    let two: serde_json::Value = serde_json::from_str(&to_json(&reports).unwrap()).unwrap();
    assert_eq!(two[1]["filter"], "ekf");
    assert!(to_text(&reports).contains("NEES of the pose"));
    let root = tempfile::tempdir().unwrap();
    folder::write(&root.path().join("one"), &subjects[..1], &reports[..1]).unwrap();
    folder::write(&root.path().join("two"), &subjects, &reports).unwrap();
    for name in ["report.json", "report.html", "above.svg", "side.svg", "attitude.svg", "estimate.tum", "errors.csv"] {
        assert!(root.path().join("one").join(name).is_file(), "{name}");
    }
    assert!(root.path().join("two/ekf/truth.tum").is_file());
    let mut hostile = reports[0].clone();
    hostile.source = "<script>alert(1)</script>".to_owned();
    let text = page::html(&subjects[..1], &[hostile]).unwrap();
    assert!(!text.contains("<script") && !text.contains("http://") | text.contains("http://www.w3.org/2000/svg"));
}

/// What must come out on the recordings of others, where they are: position after alignment, m, and bounds of NEES.
#[test]
fn recordings_of_others_are_as_exact_as_a_smoother_and_the_covariance_is_true() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data3d");
    if !root.is_dir() {
        println!("skipped: there are no recordings in {}", root.display());
        return;
    }
    let cases: [(&str, &str, bool, f64, f64); 9] = [
        ("euroc-tracks", "euroc_v101_30s", false, 0.025, 12.0),
        ("starloc", "starloc/eight_s2", false, 0.094, 9.0),
        ("starloc", "starloc/loop-2d-fast_s1", false, 0.281, 9.0),
        ("starloc", "starloc/loop-3d_s5", false, 0.367, 9.0),
        ("starloc", "starloc/eight_s2", true, 0.091, 9.0),
        ("starloc", "starloc/loop-2d-fast_s1", true, 0.236, 9.0),
        ("starloc", "starloc/loop-3d_s5", true, 0.136, 9.0),
        ("starry", "starry_night/dataset3", false, 0.047, 10.0),
        ("starry", "starry_night/dataset3_fresh_40noisy", false, 0.039, 10.0),
    ];
    for (prefix, path, has_map, metres, nees) in cases {
        let folder = root.join(path);
        if !folder.is_dir() {
            println!("skipped: {} is missing", folder.display());
            continue;
        }
        let recording = open(&format!("{prefix}:{}", folder.display())).unwrap();
        let options = Options { has_map, ..Options::default() };
        let (_, errors) = judged(&recording, "default", &options);
        let found = (errors.aligned_position_rmse().unwrap(), errors.nees_mean(2).unwrap());
        println!("{path} {has_map}: {found:?}");
        assert!(found.0 <= metres && found.1 < nees, "{path} {has_map}: {found:?}");
    }
}
