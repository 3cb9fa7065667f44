//! Tags on walls in a pair of cameras, and an inertial sensor in a hand: a sequence of STAR-loc.
//!
//! `cargo run --release -p lienav-inertial --example recordings -- starloc FOLDER [map=truth] [filter=default] [sigma=1] …`
//!
//! FOLDER has `imu.csv.gz`, `tags.csv`, `truth.csv.gz`, `landmarks_fixed.csv` or `landmarks.csv`, and `calib.json`. The
//! start is that of the truth; estimates are compared at their own instants, at the frames with tags and at 5 Hz
//! between.

use crate::comparison::{Comparison, Estimate, levelling, rotation, table};
use lienav_base::stamp::Stamp;
use lienav_inertial::covariance::NavMatrix;
use lienav_inertial::filter::Filter;
use lienav_inertial::imu::{Imu, ImuNoise, ImuSample};
use lienav_inertial::measurement::Measurement;
use lienav_inertial::measurement::pixel::Pinhole;
use lienav_inertial::measurement::point::{Mount, Target};
use lienav_inertial::measurement::stereo::StereoPixels;
use lienav_inertial::preintegration::integrator::Integrator;
use lienav_inertial::preintegration::samples::Interpolation;
use lienav_inertial::state::State;
use lienav_inertial::state::nav::Nav;
use lienav_inertial::step::{Step, append_mapped};
use lienav_lie::{LieGroup, Se3, So3};
use nalgebra::{Matrix3, Matrix4, SVector, Vector2, Vector3, Vector4};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

/// Tags with their pixels (u_l, v_l, u_r, v_r) at an instant.
type Frame = (Stamp, Vec<(u64, Vector4<f64>)>);

/// The numbers that follow a name in a JSON text, up to the first that is not one of them.
fn numbers(text: &str, name: &str, count: usize) -> Vec<f64> {
    let begin = text.find(&format!("\"{name}\"")).unwrap_or_else(|| panic!("no {name}")) + name.len() + 2;
    let is_number = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
    let words = text[begin..].split(|c: char| !is_number(c)).filter_map(|word| word.parse().ok());
    words.take(count).collect()
}

/// x_a = R x_b + t of "T_a_b".
fn transform(text: &str, name: &str) -> Se3 {
    let part = &text[text.find(&format!("\"{name}\"")).expect("a transform")..];
    let t = numbers(part, "t_m", 3);
    Se3::new(rotation(&numbers(part, "q_xyzw", 4)), Vector3::new(t[0], t[1], t[2]))
}

fn vector(n: &[f64]) -> Vector3<f64> {
    Vector3::new(n[0], n[1], n[2])
}

/// Runs the filter on a folder, with settings as name=value.
pub fn run(mut arguments: impl Iterator<Item = String>) {
    let folder = arguments.next().unwrap_or_else(|| "../shared/data3d/starloc/eight_s2".to_owned());
    let folder = Path::new(&folder);
    let split = |text: String| text.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
    let settings: BTreeMap<String, String> = arguments.filter_map(split).collect();
    let number = |name: &str, default: f64| settings.get(name).map_or(default, |text| text.parse().expect("a number"));
    let is_known = settings.get("map").is_some_and(|map| map == "truth");
    let name = settings.get("filter").map_or("default", String::as_str);
    let filter = Filter::ALL.iter().find(|(own, _)| *own == name).expect("a filter").1;

    let calibration = std::fs::read_to_string(folder.join("calib.json")).expect("calib.json");
    let value = |name: &str| numbers(&calibration, name, 1)[0];
    let camera = Pinhole {
        focal: Vector2::new(value("fu_px"), value("fv_px")),
        centre: Vector2::new(value("cu_px"), value("cv_px")),
    };
    let mount = Mount::Fixed(transform(&calibration, "T_cam_imu").inverse());
    let imu_on_rig = transform(&calibration, "T_rig_imu");
    let level = levelling(&vector(&numbers(&calibration, "gravity_in_truth_frame_mps2", 3)));

    let samples: Vec<ImuSample> = table(&folder.join("imu.csv.gz"))
        .into_iter()
        .map(|row| ImuSample {
            stamp: row.stamp,
            value: Imu::new(vector(&row.numbers[1..]), vector(&row.numbers[4..])),
        })
        .collect();
    let pose = |row: &crate::comparison::Row| {
        let n = &row.numbers;
        let rig = Se3::new(level, Vector3::zeros()) * Se3::new(rotation(&n[4..8]), vector(&n[1..]));
        let imu = rig * imu_on_rig;
        Nav { rotation: imu.rotation, position: imu.translation, ..Nav::default() }
    };
    let truth: Vec<(Stamp, Nav)> = table(&folder.join("truth.csv.gz"))
        .iter()
        .filter(|row| row.numbers[8] == 1.0)
        .map(|row| (row.stamp, pose(row)))
        .collect();
    let map: BTreeMap<u64, Vector3<f64>> = ["landmarks_fixed.csv", "landmarks.csv"]
        .iter()
        .map(|name| folder.join(name))
        .find(|path| path.exists())
        .map(|path| table(&path))
        .unwrap_or_default()
        .into_iter()
        .map(|row| (row.numbers[0] as u64, level * vector(&row.numbers[1..])))
        .collect();
    let mut frames: Vec<Frame> = Vec::new();
    for row in table(&folder.join("tags.csv")) {
        let n = &row.numbers;
        let seen = (n[2] as u64, Vector4::new(n[3], n[4], n[5], n[6]));
        match frames.last_mut() {
            Some((stamp, all)) if *stamp == row.stamp => all.push(seen),
            _ => frames.push((row.stamp, vec![seen])),
        }
    }

    let noise = ImuNoise {
        gyro: number("gyro", 2e-3),
        accelerometer: number("acc", 2e-2),
        gyro_walk: number("gyro_walk", 1e-5),
        accelerometer_walk: number("acc_walk", 1e-4),
    };
    let mut comparison = Comparison::new(truth, (0.002, 0.15_f64.to_radians()));
    // The first frame at which the truth is known for 0.1 s before and after.
    let first = frames.iter().map(|frame| frame.0).find(|stamp| {
        samples[0].stamp <= *stamp && [-0.1, 0.0, 0.1].iter().all(|dt| comparison.truth_at(*stamp + *dt).is_some())
    });
    let first = first.expect("truth at a frame");
    let mut start = comparison.truth_at(first).expect("truth");
    let [before, after] = [-0.1, 0.1].map(|dt| comparison.truth_at(first + dt).expect("truth").position);
    start.velocity = (after - before) / 0.2;
    let sigma = [0.005, 0.05, 0.003, 0.003, 0.1];
    let covariance = NavMatrix::from_diagonal(&SVector::from_fn(|i, _| f64::powi(sigma[i / 3], 2)));
    let mut state = State::new(start, &covariance, 60, &filter);
    state.gravity = number("gravity", 9.81);
    if is_known {
        let covariance = Matrix3::identity() * number("map_sigma", 0.05).powi(2);
        map.iter().for_each(|(id, place)| append_mapped(&mut state, *id, *place, &covariance, &filter));
    }
    let mut step = Step::new(filter);
    let mut integrator = Integrator::new(state.nav.biases, noise, Interpolation::Linear);
    let pixel = number("sigma", 0.7);
    let common = number("common", 4.0);

    // Frames with tags, and a grid of 5 Hz between them.
    let last = samples.last().expect("samples").stamp;
    let mut instants: Vec<(Stamp, Option<usize>)> =
        frames.iter().enumerate().map(|(k, frame)| (frame.0, Some(k))).collect();
    let steps = (last.since(first) / 0.2) as usize;
    instants.extend((0..steps).map(|k| (first + 0.2 * k as f64, None)));
    instants.retain(|(stamp, _)| *stamp >= first && *stamp <= last);
    instants.sort();
    let mut instants = instants.into_iter().peekable();
    let (mut spent, mut count, mut gated, mut used) = (0.0, 0, 0, 0);
    for sample in &samples {
        integrator.push(*sample).expect("in order");
        while let Some((stamp, frame)) = instants.next_if(|(stamp, _)| *stamp <= sample.stamp) {
            let begin = Instant::now();
            let increment = integrator.take(stamp).expect("between samples");
            if stamp == first && count == 0 {
                // What lies before the start.
                integrator.set_biases(state.nav.biases);
            } else {
                step.predict(&mut state, &increment);
            }
            if let Some(k) = frame {
                let tags: Vec<StereoPixels> = frames[k]
                    .1
                    .iter()
                    .filter_map(|(id, pixels)| {
                        let target = Target::Landmark(*id);
                        if is_known && !map.contains_key(id) {
                            return None;
                        }
                        // Errors of both cameras have a part in common, of the map and of the detector.
                        let mut covariance = Matrix4::from_diagonal_element(pixel * pixel + common * common);
                        for (i, j) in [(0, 2), (2, 0), (1, 3), (3, 1)] {
                            covariance[(i, j)] = common * common;
                        }
                        Some(StereoPixels {
                            target,
                            mount,
                            camera,
                            baseline_m: value("baseline_m"),
                            pixels: *pixels,
                            covariance,
                        })
                    })
                    .collect();
                let all: Vec<&dyn Measurement> = tags.iter().map(|one| one as &dyn Measurement).collect();
                let corrected = step.correct(&mut state, &all).expect("positive definite");
                gated += corrected.gated;
                used += corrected.used;
                integrator.set_biases(state.nav.biases);
            }
            spent += begin.elapsed().as_secs_f64();
            count += 1;
            comparison.add(&Estimate::of(stamp, &state, &filter));
        }
    }
    println!("{}", comparison.report());
    println!(
        "{count} instants, {used} measurements, {gated} beyond the gate, {} landmarks, {:.0} µs an instant; biases {:.4?} {:.4?}",
        state.landmarks.len(),
        spent / f64::from(count) * 1e6,
        state.nav.biases.gyro.as_slice(),
        state.nav.biases.accelerometer.as_slice()
    );
    let _ = So3::identity();
}
