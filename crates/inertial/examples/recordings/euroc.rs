//! Tracks of one camera and an inertial sensor of a drone: the first 30 s of EuRoC V1_01.
//!
//! `cargo run --release -p lienav-inertial --example recordings -- euroc FOLDER [sigma=2] [filter=default] [prior=3,0.7] …`
//!
//! FOLDER has `imu.csv.gz`, `tracks.csv.gz` and `truth.csv`. Positions are compared after a turn about the vertical and
//! a shift, and as they are; every estimate is taken at its own instant.

use crate::comparison::{Comparison, Estimate, levelling, rotation, table};
use lienav_base::stamp::Stamp;
use lienav_inertial::chart::{Centre, Chart};
use lienav_inertial::delayed::{Delay, Delayed};
use lienav_inertial::filter::Filter;
use lienav_inertial::imu::{Imu, ImuNoise, ImuSample};
use lienav_inertial::measurement::pixel::{Pinhole, Pixel};
use lienav_inertial::measurement::point::{Mount, Target};
use lienav_inertial::measurement::rest::Rest;
use lienav_inertial::measurement::{Measurement, RangePrior};
use lienav_inertial::preintegration::integrator::Integrator;
use lienav_inertial::preintegration::samples::Interpolation;
use lienav_inertial::start::{Prior, RestSamples};
use lienav_inertial::state::nav::Nav;
use lienav_inertial::step::Step;
use lienav_lie::Se3;
use nalgebra::{Vector2, Vector3};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

/// Gravity in the frame of the truth, m/s², as its folder states it: the room is not level.
const GRAVITY_OF_TRUTH: [f64; 3] = [-0.0407, 0.0018, -9.807];
/// x_body = R x_camera + t, as the folder states it.
const CAMERA: ([f64; 4], [f64; 3]) = (
    [-0.007_707_179_755_537_427, 0.010_499_323_370_587_278, 0.701_752_800_292_000_2, 0.712_301_460_668_953_8],
    [-0.021_640_145_497_5, -0.064_676_986_768, 0.009_810_730_589_49],
);
/// The tracks are normalized; errors are in pixels of this focal length.
const FOCAL: f64 = 458.0;

/// Settings by name, with their defaults.
struct Settings(BTreeMap<String, String>);

impl Settings {
    fn number(&self, name: &str, default: f64) -> f64 {
        self.0.get(name).map_or(default, |text| text.parse().expect("a number"))
    }
    fn pair(&self, name: &str, default: (f64, f64)) -> (f64, f64) {
        let Some(text) = self.0.get(name) else { return default };
        let (first, second) = text.split_once(',').expect("two numbers");
        (first.parse().expect("a number"), second.parse().expect("a number"))
    }
    fn filter(&self) -> Filter {
        let name = self.0.get("filter").map_or("default", String::as_str);
        let mut filter = Filter::ALL.iter().find(|(own, _)| *own == name).expect("a filter").1;
        filter.gate = self.number("gate", filter.gate);
        match self.0.get("chart").map(String::as_str) {
            Some("log") => filter.chart = Chart::LogRange,
            Some("inverse") => filter.chart = Chart::InverseRange,
            _ => {}
        }
        match self.0.get("centre").map(String::as_str) {
            Some("sensor") => filter.centre = Centre::Sensor,
            Some("first") => filter.centre = Centre::FirstSight,
            _ => {}
        }
        filter
    }
}

type Tracks = Vec<(Stamp, Vec<(u64, Vector2<f64>)>)>;

/// Frames with what was tracked in them.
fn tracks(folder: &Path) -> Tracks {
    let mut frames: Tracks = Vec::new();
    for row in table(&folder.join("tracks.csv.gz")) {
        let (stamp, seen) = (row.stamp, (row.numbers[2] as u64, Vector2::new(row.numbers[3], row.numbers[4])));
        match frames.last_mut() {
            Some((last, all)) if *last == stamp => all.push(seen),
            _ => frames.push((stamp, vec![seen])),
        }
    }
    frames
}

fn samples(folder: &Path) -> Vec<ImuSample> {
    let vector = |n: &[f64]| Vector3::new(n[0], n[1], n[2]);
    let sample = |row: crate::comparison::Row| ImuSample {
        stamp: row.stamp,
        value: Imu::new(vector(&row.numbers[1..]), vector(&row.numbers[4..])),
    };
    table(&folder.join("imu.csv.gz")).into_iter().map(sample).collect()
}

/// Poses of the truth, levelled.
fn truth(folder: &Path) -> Vec<(Stamp, Nav)> {
    let level = levelling(&Vector3::from(GRAVITY_OF_TRUTH));
    let pose = |row: crate::comparison::Row| {
        let n = &row.numbers;
        let nav = Nav {
            rotation: level * rotation(&n[4..8]),
            position: level * Vector3::new(n[1], n[2], n[3]),
            velocity: level * Vector3::new(n[8], n[9], n[10]),
            ..Nav::default()
        };
        (row.stamp, nav)
    };
    table(&folder.join("truth.csv")).into_iter().map(pose).collect()
}

/// Whether the picture stands still: the median of what moved since some frames ago, in pixels.
fn is_still(frames: &Tracks, k: usize, pixels: f64) -> bool {
    const AGO: usize = 5;
    let Some(before) = k.checked_sub(AGO) else { return true };
    let old: BTreeMap<u64, Vector2<f64>> = frames[before].1.iter().copied().collect();
    let moved = frames[k].1.iter().filter_map(|(id, now)| old.get(id).map(|then| (now - then).norm() * FOCAL));
    let mut moved: Vec<f64> = moved.collect();
    moved.sort_by(f64::total_cmp);
    !moved.is_empty() && moved[moved.len() / 2] < pixels
}

/// Runs the filter on a folder, with settings as name=value.
pub fn run(mut arguments: impl Iterator<Item = String>) {
    let folder = arguments.next().unwrap_or_else(|| "../shared/data3d/euroc_v101_30s".to_owned());
    let folder = Path::new(&folder);
    let split = |text: String| text.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
    let settings = Settings(arguments.filter_map(split).collect());
    let (frames, samples, truth) = (tracks(folder), samples(folder), truth(folder));

    let noise = ImuNoise {
        gyro: settings.number("gyro", 1e-3),
        accelerometer: settings.number("acc", 1.2e-2),
        gyro_walk: settings.number("gyro_walk", 2e-5),
        accelerometer_walk: settings.number("acc_walk", 1e-3),
    };
    let filter = settings.filter();
    let mut step = Step::new(filter);
    let (range_m, log_sigma) = settings.pair("prior", (3.0, 0.7));
    step.prior = RangePrior { range_m, log_sigma };
    let (frames_between, range_sigma) = settings.pair("delay", (2.0, 0.1));
    let gate = settings.number("view_gate", 0.99);
    step.delayed = Delayed::new(Delay {
        frames: frames_between as u32,
        range_sigma,
        gate,
        spends: settings.number("spend", 1.0) > 0.0,
    });
    step.wander = settings.number("wander", 0.0) / FOCAL;
    let sigma = settings.number("sigma", 2.0);
    let still_pixels = settings.number("still", 1.0);
    let camera = Pinhole { focal: Vector2::repeat(FOCAL), centre: Vector2::zeros() };
    let mount = Mount::Fixed(Se3::new(rotation(&CAMERA.0), Vector3::from(CAMERA.1)));

    let seconds = settings.number("rest", 0.5);
    let mut rest = RestSamples::default();
    let first = samples[0].stamp;
    samples.iter().take_while(|sample| sample.stamp.since(first) <= seconds).for_each(|sample| rest.add(&sample.value));
    let start = truth.iter().find(|(stamp, _)| stamp.since(first) >= seconds).expect("truth").1;
    let forward = start.rotation * Vector3::z();
    let mut prior = Prior {
        position: start.position,
        // The start has the errors of the truth.
        position_sigma: settings.number("start_m", 0.005),
        heading: (0.0, settings.number("start_deg", 0.23).to_radians()),
        velocity_sigma: 0.02,
        rate_sigma: settings.number("rate_sigma", 0.003),
        accelerometer_bias_sigma: settings.number("bias_sigma", 0.1),
        gravity: (9.807, 0.01),
    };
    // The heading of the truth: that with the body's z axis where it is.
    let level = rest.start(seconds, &prior, &noise, 60, &filter).expect("at rest").nav.rotation * Vector3::z();
    prior.heading.0 = forward.y.atan2(forward.x) - level.y.atan2(level.x);
    let mut state = rest.start(seconds, &prior, &noise, 60, &filter).expect("at rest");

    let mut integrator = Integrator::new(state.nav.biases, noise, Interpolation::Linear);
    let mut comparison = Comparison::new(truth, (0.005, 0.4_f64.to_radians() / 3f64.sqrt()));
    let (mut spent, mut steps, mut gated, mut used, mut still) = (0.0, 0, 0, 0, 0);
    let mut k = 0;
    for sample in &samples {
        integrator.push(*sample).expect("in order");
        while k < frames.len() && frames[k].0 <= sample.stamp {
            let (stamp, seen) = &frames[k];
            let begin = Instant::now();
            let Ok(increment) = integrator.take(*stamp) else {
                k += 1;
                continue;
            };
            if stamp.since(first) < seconds {
                k += 1;
                continue;
            }
            step.predict(&mut state, &increment);
            // A track that ended does not come back.
            for i in (0..state.landmarks.len()).rev() {
                if state.landmarks[i].is_point() && !seen.iter().any(|(id, _)| *id == state.landmarks[i].id) {
                    state.remove(i);
                }
            }
            let pixels: Vec<Pixel> = seen
                .iter()
                .map(|(id, at)| Pixel { target: Target::Landmark(*id), mount, camera, pixel: at * FOCAL, sigma })
                .collect();
            let mut all: Vec<&dyn Measurement> = pixels.iter().map(|one| one as &dyn Measurement).collect();
            let at_rest = Rest { velocity_sigma: 0.01, mean_rate: Vector3::zeros(), rate_sigma: f64::INFINITY };
            if is_still(&frames, k, still_pixels) {
                all.push(&at_rest);
                still += 1;
            }
            let corrected = step.correct(&mut state, &all).expect("positive definite");
            gated += corrected.gated;
            used += corrected.used;
            integrator.set_biases(state.nav.biases);
            spent += begin.elapsed().as_secs_f64();
            steps += 1;
            comparison.add(&Estimate::of(*stamp, &state, &filter));
            k += 1;
        }
    }
    println!("{}", comparison.report());
    println!(
        "{steps} frames, {still} at rest, {used} measurements, {gated} beyond the gate, {:.0} µs a frame; biases {:.4?} {:.4?}",
        spent / f64::from(steps) * 1e6,
        state.nav.biases.gyro.as_slice(),
        state.nav.biases.accelerometer.as_slice()
    );
}
