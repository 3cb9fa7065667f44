//! Tags in a pair of cameras, seen now and then by a body that moves quickly: wide priors at most updates.

use super::simulator::{Normal, Scenario, simulate};
use crate::filter::Filter;
use crate::imu::ImuNoise;
use crate::measurement::Measurement;
use crate::measurement::pixel::Pinhole;
use crate::measurement::point::{Mount, Target};
use crate::measurement::stereo::StereoPixels;
use crate::preintegration::integrator::Integrator;
use crate::preintegration::samples::Interpolation;
use crate::state::State;
use crate::step::Step;
use lienav_lie::LieGroup;
use nalgebra::{Matrix4, Vector2, Vector3, Vector4, Vector6};

/// Frames with tags are so far apart in the mean, s, and see so many tags at most.
const APART_S: f64 = 0.55;
const MOST_SEEN: usize = 3;
const SIGMA_PX: f64 = 0.7;
const BASELINE_M: f64 = 0.12;

fn scenario(motion: &str) -> Scenario {
    let camera = Pinhole { focal: Vector2::repeat(1077.0), centre: Vector2::new(937.0, 533.0) };
    Scenario {
        noise: ImuNoise { gyro: 2e-3, accelerometer: 2e-2, gyro_walk: 1e-5, accelerometer_walk: 1e-4 },
        start: [0.005, 0.05, 0.003, 0.003, 0.1],
        imu_hz: 120,
        points: 30,
        camera,
        width: Vector2::new(1920.0, 1080.0),
        ..Scenario::new(motion)
    }
}

/// The mean NEES of the pose from the first second on, and the root mean square of the position's error.
fn run(scenario: &Scenario, seed: u64, filter: Filter) -> (f64, f64) {
    let (run, mut normal) = (simulate(scenario, seed), Normal::new(seed + 1000));
    let mut step = Step::new(filter);
    let mut state = State::new(run.start, &scenario.start_covariance(), 60, &filter);
    state.gravity = scenario.gravity;
    let mut integrator = Integrator::new(state.nav.biases, scenario.noise, Interpolation::Linear);
    let mut frames = run.frames.iter().peekable();
    let (mut next, mut nees, mut square, mut count) = (0.0, 0.0, 0.0, 0.0);
    for sample in &run.samples {
        integrator.push(*sample).unwrap();
        while let Some(frame) = frames.next_if(|frame| frame.stamp <= sample.stamp) {
            step.predict(&mut state, &integrator.take(frame.stamp).unwrap());
            let t = frame.stamp.secs();
            if t >= next {
                next = t - normal.uniform(1e-9, 1.0).ln() * APART_S;
                let seen = frame.seen.iter().take(MOST_SEEN);
                let tags: Vec<StereoPixels> =
                    seen.filter_map(|(id, place, _)| tag(scenario, *id, place, &mut normal)).collect();
                let all: Vec<&dyn Measurement> = tags.iter().map(|one| one as &dyn Measurement).collect();
                step.correct(&mut state, &all).unwrap();
            }
            integrator.set_biases(state.nav.biases);
            if t >= 1.0 {
                let position = frame.truth.position - state.nav.position;
                let turn = (frame.truth.rotation * state.nav.rotation.inverse()).log();
                let error = Vector6::new(position.x, position.y, position.z, turn.x, turn.y, turn.z);
                nees += error.dot(&state.pose_covariance(&filter).cholesky().unwrap().solve(&error));
                square += position.norm_squared();
                count += 1.0;
            }
        }
    }
    (nees / count, square / count)
}

fn tag(scenario: &Scenario, id: u64, place: &Vector3<f64>, normal: &mut Normal) -> Option<StereoPixels> {
    let (left, _) = scenario.camera.project(place)?;
    let (right, _) = scenario.camera.project(&(place - Vector3::x() * BASELINE_M))?;
    let noise = Vector4::from_fn(|_, _| SIGMA_PX * normal.one());
    Some(StereoPixels {
        target: Target::Landmark(id),
        mount: Mount::Fixed(scenario.mount),
        camera: scenario.camera,
        baseline_m: BASELINE_M,
        pixels: Vector4::new(left.x, left.y, right.x, right.y) + noise,
        covariance: Matrix4::identity() * SIGMA_PX * SIGMA_PX,
    })
}

#[test]
fn between_sparse_tags_the_covariance_is_true() {
    const RUNS: u32 = 8;
    let (mut nees, mut square) = (0.0, 0.0);
    for motion in ["circle", "drone"] {
        let scenario = scenario(motion);
        for seed in 0..RUNS {
            let (a, b) = run(&scenario, 500 + u64::from(seed), Filter::DEFAULT);
            nees += a / f64::from(2 * RUNS);
            square += b / f64::from(2 * RUNS);
        }
    }
    println!("NEES of the pose {nees:.2}, position {:.3} m", square.sqrt());
    assert!((4.8..7.5).contains(&nees) && square.sqrt() < 0.2, "{nees} {}", square.sqrt());
}
