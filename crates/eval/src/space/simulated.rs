//! Runs of scenarios in space as recordings.

use lienav_io::space::data::{
    Camera, Frame, GivenStart, Image, InertialSample, Layout, Seen, SpaceRecording, StatedNoise, TruePose,
};
use lienav_sim::space::camera::Pixels;
use lienav_sim::space::inertial::GRAVITY;
use lienav_sim::space::run::{SpaceRun, simulate};
use lienav_sim::space::scenario::{SpaceScenario, SpaceScenarioError};
use nalgebra::{Vector2, Vector3, Vector4};

/// What the names of scenarios in space begin with, as sources.
pub const PREFIX: &str = "space:";

/// What is behind [`PREFIX`], NAME or NAME:SEED, in its two parts.
///
/// # Errors
/// A sentence about a seed that is not a whole number.
pub fn name_and_seed(name: &str) -> Result<(&str, Option<u64>), String> {
    let Some((name, seed)) = name.rsplit_once(':') else { return Ok((name, None)) };
    let seed = seed.parse().map_err(|_| format!("'{seed}' is not a seed, as in {PREFIX}{name}:7"))?;
    Ok((name, Some(seed)))
}

/// A run of a scenario, as a recording that states its noise and its start.
///
/// # Errors
/// A scenario that cannot be simulated.
pub fn recording(scenario: &SpaceScenario, seed: u64) -> Result<SpaceRecording, SpaceScenarioError> {
    let run = simulate(scenario, seed)?;
    let (imu, variance) = (&scenario.imu, scenario.camera.pixel_std.powi(2));
    let mut cameras = run.cameras.iter().map(|camera| Camera {
        focal: Vector2::repeat(camera.focal),
        centre: camera.centre,
        baseline_m: camera.baseline_m,
        on_body: camera.on_body,
    });
    Ok(SpaceRecording {
        name: format!("{PREFIX}{}:{seed}", scenario.name),
        layout: Layout::Simulated,
        inertial: run.samples.iter().map(|s| InertialSample { stamp: s.stamp, rate: s.rate, force: s.force }).collect(),
        frames: frames(&run),
        camera: cameras.next().unwrap_or_default(),
        further_cameras: cameras.collect(),
        stated: StatedNoise {
            pixels: Some(Vector4::repeat(variance)),
            inertial: Some([imu.gyro_noise, imu.force_noise, imu.gyro_walk, imu.force_walk]),
            ..StatedNoise::default()
        },
        start: Some(GivenStart {
            stamp: run.start.stamp,
            pose: run.start.pose,
            velocity: run.start.velocity,
            std: run.start.std,
        }),
        truth: truth(&run),
        gravity: Some(Vector3::new(0.0, 0.0, -GRAVITY)),
        landmarks: run.landmarks,
        tracks_end: scenario.camera.end_probability > 0.0,
        ..SpaceRecording::default()
    })
}

fn frames(run: &SpaceRun) -> Vec<Frame> {
    let image = |seen: &lienav_sim::space::camera::Seen| {
        let camera = &run.cameras[seen.camera];
        let at = match seen.at {
            Pixels::Pair(z) => Image::Stereo(z),
            Pixels::One(at) => {
                let at = (at - camera.centre) / camera.focal;
                seen.camera.checked_sub(1).map_or(Image::Normalized(at), |k| Image::Further(k, at))
            }
        };
        Seen { id: seen.id, at }
    };
    let frame = |frame: &lienav_sim::space::run::Frame| Frame {
        stamp: frame.stamp,
        seen: frame.seen.iter().map(image).collect(),
    };
    run.frames.iter().map(frame).collect()
}

/// The truth at samples and frames.
fn truth(run: &SpaceRun) -> Vec<TruePose> {
    let at_samples = run.truth.iter().map(|(stamp, truth, bias)| (*stamp, truth, Some(bias.force)));
    let at_frames = run.frames.iter().map(|frame| (frame.stamp, &frame.truth, None));
    let mut all: Vec<_> = at_samples.chain(at_frames).collect();
    // Samples come before frames of the same stamp, which are left out.
    all.sort_by_key(|(stamp, ..)| *stamp);
    all.dedup_by_key(|(stamp, ..)| *stamp);
    all.iter()
        .map(|(stamp, truth, bias)| TruePose {
            stamp: *stamp,
            pose: truth.pose,
            velocity: Some(truth.velocity),
            force_bias: *bias,
        })
        .collect()
}
