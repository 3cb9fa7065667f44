//! Tags with an inertial sensor: a robot that rocks by 2° in the hall, and sees nothing for 2 s at a time.

use super::hall::{NOISE_PX, SIZE_M, cameras, corners, normal, slam, stamp, tag_config, tags};
use crate::tags::{BodyTwist, TagFrame, TagSeen, TagSlam3d};
use crate::{Config, ImuSample, MapMode, Quality, Step};
use lienav_inertial::imu::{GRAVITY, Imu};
use lienav_lie::{LieGroup, Se3, So3};
use nalgebra::{Vector2, Vector3, Vector6};

/// Images, odometry and samples a second, Hz.
const RATES_HZ: [f64; 3] = [20.0, 50.0, 200.0];
/// At rest until then, s.
const REST_S: f64 = 1.5;
/// Densities of the sensor, as the settings have them: rad/s/√Hz and m/s²/√Hz.
const DENSITY: [f64; 2] = [1e-3, 1e-2];

/// A circle of 2 m radius, rocking.
fn truth(t: f64) -> Se3 {
    let since = (t - REST_S).max(0.0);
    let ramp = since.min(1.0);
    let angle = 0.3 * (ramp.powi(3) - 0.5 * ramp.powi(4) + (since - 1.0).max(0.0));
    let smooth = ramp * ramp * (3.0 - 2.0 * ramp);
    let rock = 2.0_f64.to_radians() * smooth;
    let place = Vector3::new(2.0 * angle.sin(), 2.0 * (1.0 - angle.cos()), 0.02 * smooth * (1.1 * since).sin());
    let tilt =
        So3::exp(&(Vector3::y() * rock * (2.3 * since).sin())) * So3::exp(&(Vector3::x() * rock * (1.7 * since).sin()));
    Se3::new(So3::exp(&(Vector3::z() * angle)) * tilt, place)
}

/// Rate and velocity in the axes of the body, and its acceleration in those of the map, by differences.
fn motion(t: f64) -> [Vector3<f64>; 3] {
    const STEP: f64 = 1e-3;
    let [before, now, after] = [t - STEP, t, t + STEP].map(truth);
    let rate = (before.rotation.inverse() * after.rotation).log() / (2.0 * STEP);
    let velocity = (after.translation - before.translation) / (2.0 * STEP);
    let acceleration = (after.translation + before.translation - 2.0 * now.translation) / (STEP * STEP);
    [rate, now.rotation.rotate_back(&velocity), acceleration]
}

#[derive(Clone)]
enum Input {
    Frame(TagFrame),
    Twist(BodyTwist),
    Imu(ImuSample),
}

impl Input {
    fn stamp(&self) -> lienav_base::stamp::Stamp {
        match self {
            Self::Frame(frame) => frame.stamp,
            Self::Twist(twist) => twist.stamp,
            Self::Imu(sample) => sample.stamp,
        }
    }
}

/// What a run gives: without images in 2 of each 5 s from `gaps_from` on.
fn inputs(seconds: f64, seed: u64, gaps_from: f64, has_odometry: bool) -> Vec<Input> {
    let (mut normal, tags, cameras) = (normal(seed), tags(), cameras());
    let mut all = Vec::new();
    for k in 0..(seconds * RATES_HZ[0]) as usize {
        let t = k as f64 / RATES_HZ[0];
        if t > gaps_from && (t - gaps_from) % 5.0 < 2.0 {
            continue;
        }
        for (camera, own) in cameras.iter().enumerate() {
            let mut seen = Vec::new();
            for (id, tag) in &tags {
                if let Some(exact) = corners(tag, &truth(t), own) {
                    let corners = exact.map(|p| p + Vector2::new(normal(), normal()) * NOISE_PX);
                    seen.push(TagSeen { camera, id: *id, size_m: SIZE_M, corners });
                }
            }
            all.push(Input::Frame(TagFrame { stamp: stamp(t), camera: Some(camera), seen }));
        }
    }
    for k in 0..(seconds * RATES_HZ[1]) as usize {
        let [_, velocity, _] = motion(k as f64 / RATES_HZ[1]);
        let velocity = velocity + Vector3::from_fn(|_, _| 0.02 * normal());
        let twist =
            BodyTwist { stamp: stamp(k as f64 / RATES_HZ[1]), velocity, rate: Vector3::zeros(), variances: None };
        if has_odometry {
            all.push(Input::Twist(twist));
        }
    }
    let (gyro, force_bias) = (Vector3::new(0.01, -0.02, 0.015), Vector3::new(0.05, -0.03, 0.08));
    for k in 0..(seconds * RATES_HZ[2]) as usize {
        let t = k as f64 / RATES_HZ[2];
        let [rate, _, acceleration] = motion(t);
        let mut white = |density: f64| Vector3::from_fn(|_, _| density * RATES_HZ[2].sqrt() * normal());
        let force = truth(t).rotation.rotate_back(&(acceleration + Vector3::z() * GRAVITY));
        let value = Imu::new(rate + gyro + white(DENSITY[0]), force + force_bias + white(DENSITY[1]));
        all.push(Input::Imu(ImuSample { stamp: stamp(t), value }));
    }
    all.sort_by_key(Input::stamp);
    all
}

fn made(has_imu: bool, sigma: Option<f64>) -> TagSlam3d {
    let (mut config, mut own) = (Config::default(), tag_config());
    // Stamps are exact.
    (own.tags.use_imu, own.tags.stamp_std_s) = (has_imu, 0.0);
    if sigma.is_some() {
        config.map.mode = MapMode::Localization;
    }
    slam(config, own, sigma)
}

fn play(slam: &mut TagSlam3d, inputs: &[Input]) -> Vec<Step> {
    let mut steps = Vec::new();
    for input in inputs {
        let outcome = match input {
            Input::Frame(frame) => slam.push_frame(frame),
            Input::Twist(twist) => slam.push_twist(twist),
            Input::Imu(sample) => slam.push_imu(sample),
        };
        assert!(outcome.is_ok() || !slam.tag_config().tags.use_imu, "{outcome:?}");
        steps.extend(std::iter::from_fn(|| slam.poll()));
    }
    steps
}

/// Errors of a step: position, m, roll and pitch, rad, and NEES of the pose.
fn error(step: &Step) -> [f64; 3] {
    let (estimate, truth) = (&step.estimate, truth(step.estimate.stamp.secs() - 100.0));
    let apart = estimate.pose.translation - truth.translation;
    let turn = (estimate.pose.rotation * truth.rotation.inverse()).log();
    let off = Vector6::new(apart.x, apart.y, apart.z, turn.x, turn.y, turn.z);
    let covariance = estimate.covariance + nalgebra::Matrix6::identity() * 1e-12;
    let nees = covariance.cholesky().map_or(f64::INFINITY, |c| off.dot(&c.solve(&off)));
    [apart.norm(), turn.xy().norm(), nees]
}

fn mean(steps: &[Step], which: usize) -> f64 {
    steps.iter().map(|step| error(step)[which]).sum::<f64>() / steps.len() as f64
}

fn rmse(steps: &[Step], which: usize) -> f64 {
    (steps.iter().map(|step| error(step)[which].powi(2)).sum::<f64>() / steps.len() as f64).sqrt()
}

#[test]
fn an_inertial_sensor_bridges_what_cameras_do_not_see() {
    // The first images after each gap show what the pose was worth there.
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for seed in 1..=6 {
        let run = inputs(18.0, seed, 4.0, false);
        for (has_imu, all) in [(true, &mut with), (false, &mut without)] {
            let mut slam = made(has_imu, Some(1e-4));
            let steps = play(&mut slam, &run);
            assert!(steps.len() > 200 && slam.quality() == Quality::Ok, "{} {:?}", steps.len(), slam.quality());
            all.extend(steps);
        }
    }
    let [with_m, without_m] = [&with, &without].map(|steps| rmse(steps, 0));
    let [own, other] = [&with, &without].map(|steps| mean(steps, 2));
    println!("with {with_m:.4} m, NEES {own:.2}; cameras alone {without_m:.4} m, NEES {other:.2}");
    println!("tilt {:.5} rad, cameras alone {:.5} rad", rmse(&with, 1), rmse(&without, 1));
    assert!(with_m < 0.8 * without_m && (5.0..7.0).contains(&own), "{with_m} {without_m} {own}");
}

#[test]
fn roll_and_pitch_are_known_without_a_map() {
    let (mut off, mut claimed, mut nees) = (0.0, 0.0, 0.0);
    for seed in 1..=6 {
        let mut slam = made(true, None);
        let steps = play(&mut slam, &inputs(20.0, seed, 100.0, false));
        let last = steps.last().unwrap();
        off += error(last)[1].powi(2);
        claimed += last.estimate.covariance[(3, 3)] + last.estimate.covariance[(4, 4)];
        nees += mean(&steps, 2);
    }
    let [off, claimed] = [off, claimed].map(|sum: f64| (sum / 6.0).sqrt());
    println!("tilt off by {off:.5} rad, claimed {claimed:.5} rad, NEES {:.2}", nees / 6.0);
    assert!(off < 0.02 && claimed < 0.02 && nees / 6.0 < 12.0);
}

#[test]
fn the_order_of_arrival_changes_nothing_with_an_inertial_sensor() {
    let run = inputs(6.0, 3, 3.0, true);
    let expected = play(&mut made(true, Some(1e-3)), &run);
    let mut late: Vec<(f64, Input)> = run
        .iter()
        .map(|input| (input.stamp().secs() + if matches!(input, Input::Imu(_)) { 0.0 } else { 0.06 }, input.clone()))
        .collect();
    late.sort_by(|a, b| a.0.total_cmp(&b.0));
    let arrived: Vec<Input> = late.into_iter().map(|(_, input)| input).collect();
    let found = play(&mut made(true, Some(1e-3)), &arrived);
    assert!(found.len() >= expected.len() && expected.len() > 100);
    assert!(found.iter().zip(&expected).all(|(one, other)| one == other));
}

#[test]
fn wheels_are_a_measurement_beside_an_inertial_sensor() {
    let rmse_of = |has_odometry| {
        let mut slam = made(true, Some(1e-4));
        let mut steps = play(&mut slam, &inputs(20.0, 5, 4.0, has_odometry));
        steps.retain(|step| step.has_frame);
        (rmse(&steps, 0), mean(&steps, 2))
    };
    let [(with, nees), (without, _)] = [true, false].map(rmse_of);
    println!("wheels: {with:.4} m, NEES {nees:.2}; without {without:.4} m");
    assert!(with < 1.1 * without && nees < 9.0, "{with} {without} {nees}");
}

#[test]
fn samples_of_an_inertial_sensor_that_is_not_wanted_are_refused() {
    let sample = ImuSample { stamp: stamp(0.0), value: Imu::new(Vector3::zeros(), Vector3::z() * GRAVITY) };
    assert_eq!(made(false, None).push_imu(&sample), Err(crate::DropReason::UnknownSensor));
    let mut slam = made(true, None);
    assert_eq!(slam.push_imu(&sample), Ok(()));
    assert_eq!(slam.push_imu(&sample), Err(crate::DropReason::DuplicateStamp));
    let nan = ImuSample { value: Imu::new(Vector3::repeat(f64::NAN), Vector3::zeros()), ..sample };
    assert_eq!(slam.push_imu(&nan), Err(crate::DropReason::NotFinite));
    assert_eq!(slam.counts().total(), 2);
}
