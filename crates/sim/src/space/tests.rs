//! Derivatives against differences, and what runs are made of.

use super::camera::Pixels;
use super::inertial::{GRAVITY, Grade};
use super::motion::Motion;
use super::run::simulate;
use super::scenario::{CameraKind, MotionKind, SpaceScenario};
use super::spline::Spline;
use lienav_lie::LieGroup;

const KINDS: [MotionKind; 6] =
    [MotionKind::Rest, MotionKind::Circle, MotionKind::Helix, MotionKind::Drone, MotionKind::Hand, MotionKind::Car];

#[test]
fn velocity_acceleration_and_rate_are_derivatives() {
    const H: f64 = 1e-4;
    for kind in KINDS {
        let motion = Motion::new(kind, 30.0, 3);
        for k in 0..200 {
            let t = 0.017 + 0.149 * f64::from(k);
            let [before, now, after] = [t - H, t, t + H].map(|t| motion.at(t));
            let velocity = (after.pose.translation - before.pose.translation) / (2.0 * H);
            let acceleration = (after.velocity - before.velocity) / (2.0 * H);
            let turn = (before.pose.rotation.inverse() * after.pose.rotation).log() / (2.0 * H);
            assert!((velocity - now.velocity).norm() < 1e-5, "{kind:?} {t}");
            // The third derivative of a spline jumps at its knots.
            assert!((acceleration - now.acceleration).norm() < 1e-2, "{kind:?} {t}");
            assert!((turn - now.rate).norm() < 1e-4, "{kind:?} {t}: {turn} {}", now.rate);
            assert!(now.pose.rotation.orthogonality_error() < 1e-12);
        }
    }
}

#[test]
fn a_spline_is_smooth_at_its_knots() {
    let spline = Spline::new(0.8, vec![0.0, 0.7, -0.3, 0.2, 0.9, 0.1]);
    for k in 1..5_u32 {
        let t = 0.8 * f64::from(k);
        let [before, at, after] = [t - 1e-7, t, t + 1e-7].map(|t| spline.at(t));
        for order in 0..3 {
            assert!((at[order] - before[order]).abs() < 1e-4 && (at[order] - after[order]).abs() < 1e-4, "{t} {order}");
        }
    }
    // Times of samples, most of which are not knots to the last bit.
    let largest = (0..800).map(|k| f64::from(k) * 0.005).map(|t| (spline.at(t + 0.005)[2] - spline.at(t)[2]).abs());
    assert!(largest.fold(0.0, f64::max) < 0.2);
}

#[test]
fn a_seed_gives_the_same_run_and_another_one_another() {
    let scenario = SpaceScenario { duration_s: 2.0, ..SpaceScenario::named("hand-several-consumer").unwrap() };
    let run = simulate(&scenario, 5).unwrap();
    assert_eq!(run, simulate(&scenario, 5).unwrap());
    let other = simulate(&scenario, 6).unwrap();
    assert!(other.samples[0] != run.samples[0] && other.landmarks[&0] != run.landmarks[&0]);
    assert!(other.truth[0].1 != run.truth[0].1 && other.start != run.start);
}

#[test]
fn the_sensor_measures_rate_and_force_with_the_noise_that_is_stated() {
    let scenario = SpaceScenario { duration_s: 60.0, ..SpaceScenario::named("rest-mono-industrial").unwrap() };
    let run = simulate(&scenario, 1).unwrap();
    let (mut rate, mut force, mut n) = (0.0, 0.0, 0.0);
    for (sample, (_, truth, bias)) in run.samples.iter().zip(&run.truth) {
        rate += (sample.rate - truth.rate - bias.rate).norm_squared() / 3.0;
        force += (sample.force - truth.force(GRAVITY) - bias.force).norm_squared() / 3.0;
        n += 1.0;
    }
    let density = |square: f64| (square / n / scenario.imu.rate_hz).sqrt();
    assert!((density(rate) / scenario.imu.gyro_noise - 1.0).abs() < 0.03, "{}", density(rate));
    assert!((density(force) / scenario.imu.force_noise - 1.0).abs() < 0.03, "{}", density(force));
}

#[test]
fn every_camera_sees_landmarks_where_they_are() {
    for name in ["circle-mono-tactical", "helix-stereo-tactical", "car-several-tactical", "drone-mono-tactical"] {
        let run = simulate(&SpaceScenario::named(name).unwrap(), 2).unwrap();
        let (mut seen_in, mut square, mut count) = ([0_u32; 3], 0.0, 0.0);
        for frame in &run.frames {
            for seen in &frame.seen {
                let camera = &run.cameras[seen.camera];
                let x = (frame.truth.pose * camera.on_body).inverse().transform(&run.landmarks[&seen.id]);
                let expected = x.xy() * (camera.focal / x.z) + camera.centre;
                let at = match seen.at {
                    Pixels::One(at) => at,
                    Pixels::Pair(z) => {
                        let disparity = camera.focal * camera.baseline_m / x.z;
                        assert!((z.x - z.z - disparity).abs() < 8.0 && (z.y - z.w).abs() < 8.0);
                        z.xy()
                    }
                };
                square += (at - expected).norm_squared();
                count += 2.0;
                seen_in[seen.camera] += 1;
            }
        }
        let in_view = f64::from(seen_in.iter().sum::<u32>()) / run.frames.len() as f64;
        println!("{name}: {in_view:.1} in view, by camera {seen_in:?}");
        assert!((f64::sqrt(square / count) - 1.0).abs() < 0.05 && (12.0..=20.0).contains(&in_view), "{name} {in_view}");
        assert!(seen_in[..run.cameras.len()].iter().all(|n| *n > 0));
    }
}

#[test]
fn troubles_are_in_the_run_and_nowhere_else() {
    let run = |name: &str| simulate(&SpaceScenario::named(name).unwrap(), 4).unwrap();
    let plain = run("hand-mono-consumer");
    let gap = run("hand-mono-consumer-gap");
    assert_eq!(plain.samples.len() - gap.samples.len(), 300);
    assert_eq!((&plain.frames, plain.truth.len()), (&gap.frames, gap.truth.len()));
    let share = |name: &str| {
        let all: Vec<bool> = run(name).frames.iter().flat_map(|frame| &frame.seen).map(|one| one.is_outlier).collect();
        all.iter().filter(|is_outlier| **is_outlier).count() as f64 / all.len() as f64
    };
    assert!((share("hand-mono-consumer-outliers") - 0.15).abs() < 0.02 && share("hand-mono-consumer") == 0.0);
    let late = run("hand-mono-consumer-late");
    assert!((late.frames[3].stamp.since(plain.frames[3].stamp) - 0.05).abs() < 1e-9);
    assert_eq!(late.frames[3].seen, plain.frames[3].seen);
    let seen = |name: &str| run(name).frames.iter().map(|frame| frame.seen.len()).sum::<usize>() as f64;
    let share = seen("hand-mono-consumer-misses") / seen("hand-mono-consumer");
    assert!((share - 0.7).abs() < 0.03, "{share}");
    assert_eq!(seen("hand-mono-consumer-false") - seen("hand-mono-consumer"), 3.0 * 601.0);
    let shaken = run("hand-mono-consumer-vibration");
    let apart = shaken.samples.iter().zip(&plain.samples).map(|(a, b)| (a.force - b.force).z.abs()).fold(0.0, f64::max);
    assert!((apart - 5.0).abs() < 0.01, "{apart}");
}

/// With `-tracks150`, a frame has up to 150 points, each is followed for ten frames on average, and no identity comes back
/// once it was lost; the run says of which landmark each track is.
#[test]
fn tracks_end_and_do_not_come_back() {
    let run = simulate(&SpaceScenario::named("drone-mono-industrial-tracks150").unwrap(), 5).unwrap();
    let mut frames_of = std::collections::BTreeMap::<u64, Vec<usize>>::new();
    for (k, frame) in run.frames.iter().enumerate() {
        assert!(frame.seen.len() <= 150, "{}", frame.seen.len());
        frame.seen.iter().for_each(|seen| frames_of.entry(seen.id).or_default().push(k));
    }
    let views: usize = frames_of.values().map(Vec::len).sum();
    assert!(views as f64 > 100.0 * run.frames.len() as f64, "{views}");
    let length = views as f64 / frames_of.len() as f64;
    assert!((9.0..11.0).contains(&length), "{length} frames");
    for (id, frames) in &frames_of {
        assert!(frames.windows(2).all(|pair| pair[1] == pair[0] + 1), "{id}: {frames:?}");
        assert!(run.landmarks.contains_key(id), "{id}");
    }
    // Points, as without tracks, by identities of their own.
    let seen = &run.frames[100].seen[0];
    let Pixels::One(at) = seen.at else { panic!("one camera") };
    let x = (run.frames[100].truth.pose * run.cameras[0].on_body).inverse().transform(&run.landmarks[&seen.id]);
    let camera = &run.cameras[0];
    assert!((x.xy() / x.z * camera.focal + camera.centre - at).norm() < 6.0, "{at}");
}

#[test]
fn a_run_is_as_long_as_its_name_says() {
    let scenario = SpaceScenario::named("circle-stereo-industrial-standing-120s").unwrap();
    assert_eq!((scenario.duration_s, scenario.start.rest_s), (120.0, 2.0));
}

#[test]
fn saturation_cuts_what_is_measured() {
    let mut scenario = SpaceScenario::named("drone-mono-tactical").unwrap();
    scenario.imu.force_limit = 9.0;
    let run = simulate(&scenario, 1).unwrap();
    assert!(run.samples.iter().all(|sample| sample.force.amax() <= 9.0));
}

#[test]
fn names_are_scenarios_and_what_is_not_one_is_named() {
    for name in SpaceScenario::names() {
        let scenario = SpaceScenario::named(&name).unwrap();
        scenario.validate().unwrap();
        assert_eq!(SpaceScenario::from_yaml(&serde_yaml_ng::to_string(&scenario).unwrap()).unwrap(), scenario);
    }
    for wrong in
        ["", "drone", "drone-mono", "drone-mono-industrial-fog", "x-mono-industrial", "drone-mono-industrial-0s"]
    {
        assert!(SpaceScenario::named(wrong).unwrap_err().to_string().contains("MOTION-CAMERA-GRADE"), "{wrong}");
    }
    assert!(SpaceScenario::from_yaml("imu: {gap_s: -1}").unwrap_err().to_string().contains("imu.gap_s"));
    let all = [CameraKind::Mono, CameraKind::Stereo, CameraKind::Several];
    assert_eq!(all.map(|kind| CameraKind::WORDS[kind as usize]), ["mono", "stereo", "several"]);
    assert_eq!(Grade::ALL.len() * KINDS.len() * all.len(), SpaceScenario::names().len());
}
