//! It starts again after a silence of everything, or a clock that was set: never wrong and sure, and where it is in its
//! map as soon as it sees that.

use super::{RATE_HZ, Run, camera, config, run, slam, steps};
use crate::{Frame, ImuSample, MapMode, PixelNoise, PoseEstimate, Quality, Sensor, Slam3d, Value};
use lienav_base::stamp::Stamp;
use lienav_lie::LieGroup;
use nalgebra::{Matrix3, Vector2, Vector3, Vector4};

/// The body has been everywhere after this, s.
const LAP_S: f64 = 18.0;

/// What came of a run: for each estimate the time, s, distance from the truth, m, and the same in standard deviations
/// of the place and of the heading, the larger.
type Found = Vec<(f64, f64, f64)>;

/// How far a pose is from that of the run at this time.
fn error(run: &Run, t: f64, estimate: &PoseEstimate) -> (f64, f64, f64) {
    let truth = run.truth[(t * RATE_HZ).round() as usize];
    let apart = estimate.pose.translation - truth.translation;
    let covariance = estimate.covariance.fixed_view::<3, 3>(0, 0) + Matrix3::identity() * 1e-10;
    let square = covariance.cholesky().map_or(f64::INFINITY, |c| apart.dot(&c.solve(&apart)));
    let ahead = truth.rotation.inverse() * estimate.pose.rotation * Vector3::x();
    let heading = ahead.y.atan2(ahead.x).abs() / (estimate.covariance[(5, 5)] + 1e-8).sqrt();
    (t, apart.norm(), square.sqrt().max(heading))
}

/// Plays a run whose stamps are moved by so many seconds, or that is silent, as a function of time says.
fn play(slam: &mut Slam3d, run: &Run, (from, to): (f64, f64), shift: impl Fn(f64) -> Option<f64>) -> Found {
    let (mut found, mut frames) = (Vec::new(), run.frames.iter().peekable());
    for (k, sample) in run.samples.iter().enumerate() {
        let t = k as f64 / RATE_HZ;
        let shift = if (from..to).contains(&t) { shift(t) } else { None };
        while let Some((_, frame)) = frames.next_if(|(at, _)| *at <= k) {
            if let Some(shift) = shift {
                let _ = slam.push_frame(&Frame { stamp: frame.stamp + shift, seen: frame.seen.clone() });
            }
        }
        let Some(shift) = shift else { continue };
        let _ = slam.push_imu(&ImuSample { stamp: sample.stamp + shift, ..*sample });
        let at = |stamp: Stamp| (stamp + -shift).secs() - 100.0;
        // What was estimated before the clock was set has other stamps.
        let is_now = |estimate: &PoseEstimate| (t - 1.0..t + 0.01).contains(&at(estimate.stamp));
        let estimates = steps(slam).into_iter().map(|step| step.estimate).chain(slam.pose());
        found.extend(estimates.filter(is_now).map(|one| error(run, at(one.stamp), &one)));
    }
    found
}

/// Never wrong and sure, and right again two seconds after the fault.
fn assert_recovers(what: &str, slam: &Slam3d, found: &Found, ends_s: f64) {
    let worst = found.iter().map(|(.., sigma)| *sigma).fold(0.0, f64::max);
    let off = found.iter().filter(|(t, ..)| *t > ends_s + 2.0).map(|(_, off, _)| *off).fold(0.0, f64::max);
    let count = found.iter().filter(|(t, ..)| *t > ends_s + 2.0).count();
    println!("{what}: {worst:.1} sigma, {off:.3} m after, {count} estimates, {:?}", slam.quality());
    assert!(count > 100 && slam.quality() == Quality::Ok, "{what}: {count}, {:?}", slam.quality());
    assert!(worst < 5.0 && off < 0.3, "{what}: {worst} sigma, {off} m");
}

#[test]
fn a_silence_of_everything_ends_where_the_map_says() {
    for (seed, silent_s) in [(1, 2.5), (2, 2.5), (3, 5.0), (4, 15.0), (5, 40.0)] {
        let ends_s = LAP_S + silent_s;
        let run = run(ends_s + 5.0, seed, false);
        let mut slam = slam(config());
        let is_silent = |t: f64| (LAP_S..ends_s).contains(&t);
        let found = play(&mut slam, &run, (0.0, 1e3), |t| if is_silent(t) { None } else { Some(0.0) });
        assert_eq!(slam.time_jumps(), 1);
        assert_recovers(&format!("{silent_s} s"), &slam, &found, ends_s);
    }
}

/// Only frames are silent: the inertial sensor goes on, and the pose becomes as wide as a hall.
#[test]
fn a_silence_of_frames_ends_where_the_map_says() {
    for (seed, silent_s) in (1..=3).flat_map(|seed| [5.0, 10.0, 20.0, 30.0, 60.0].map(|silent_s| (seed, silent_s))) {
        let ends_s = LAP_S + silent_s;
        let mut run = run(ends_s + 5.0, seed, false);
        let is_silent = |k: usize| (LAP_S..ends_s).contains(&(k as f64 / RATE_HZ));
        run.frames.retain(|(k, _)| !is_silent(*k));
        let mut slam = slam(config());
        let found = play(&mut slam, &run, (0.0, 1e3), |_| Some(0.0));
        assert_eq!(slam.time_jumps(), 0);
        assert_recovers(&format!("{silent_s} s of frames, {seed}"), &slam, &found, ends_s);
    }
}

/// The same of pairs of pixels, which are far from linear at a wide pose.
#[test]
fn pairs_of_pixels_after_a_silence_of_frames_do_not_make_it_wrong_and_sure() {
    const BASELINE_M: f64 = 0.12;
    let pair = |x: &Vector3<f64>| {
        let (u, v) = (400.0 * x.x / x.z, 400.0 * x.y / x.z);
        Value::Stereo(Vector4::new(u, v, u - 400.0 * BASELINE_M / x.z, v))
    };
    for seed in 1..=6 {
        let ends_s = LAP_S + 60.0;
        let mut run = run(ends_s + 5.0, seed, false);
        run.frames.retain(|(k, _)| !(LAP_S..ends_s).contains(&(*k as f64 / RATE_HZ)));
        for seen in run.frames.iter_mut().flat_map(|(_, frame)| &mut frame.seen) {
            if let Value::Position(x, _) = seen.value {
                seen.value = pair(&x);
            }
        }
        let mut slam = slam(config());
        let pixels = PixelNoise { own: [4.0; 2], common: [0.0; 2] };
        let sensor = Sensor {
            mount: camera(),
            focal: Vector2::repeat(400.0),
            baseline_m: BASELINE_M,
            pixels,
            ..Sensor::default()
        };
        slam.set_sensor(0, sensor).unwrap();
        let found = play(&mut slam, &run, (0.0, 1e3), |_| Some(0.0));
        let worst = found.iter().map(|(.., sigma)| *sigma).fold(0.0, f64::max);
        println!("pairs of pixels, {seed}: {worst:.1} sigma, {:.3} m in the end", found.last().unwrap().1);
        // Without leaving the map: 3,277.
        assert!(worst < 6.0, "{seed}: {worst}");
    }
}

/// Body and landmarks share the error of the start, which no landmark shows: the map is not left, and nothing learned.
#[test]
fn an_uncertain_start_is_no_reason_to_leave_the_map() {
    let mut config = config();
    config.start.position_std_m = 4.0;
    let (mut slam, run) = (slam(config), run(10.0, 3, false));
    let found = play(&mut slam, &run, (0.0, 1e3), |_| Some(0.0));
    let sigma = slam.pose().unwrap().covariance.fixed_view::<3, 3>(0, 0).trace().sqrt();
    println!("{sigma:.2} m, {:?}, {} estimates", slam.quality(), found.len());
    assert!(found.len() > 1000 && slam.quality() == Quality::Ok && (6.5..7.5).contains(&sigma), "{sigma}");
}

#[test]
fn a_clock_that_is_set_ends_where_the_map_says() {
    for (seed, shift_s) in [(1, 3600.0), (2, 4.0), (3, -60.0), (4, -5.0), (5, -3600.0)] {
        let run = run(16.0, seed, false);
        let mut slam = slam(config());
        let found = play(&mut slam, &run, (0.0, 1e3), |t| Some(if t < 10.0 { 0.0 } else { shift_s }));
        assert_eq!(slam.time_jumps(), 1);
        assert_recovers(&format!("{shift_s} s"), &slam, &found, 10.0);
    }
}

/// How messages come: those of the inertial sensor and frames so late, s, each time all of so long, s, frames first or last.
struct Arrival {
    late_s: (f64, f64),
    batch_s: f64,
    frames_first: bool,
}

/// Plays a run whose clock is set by so many seconds at a time, and whose messages come as stated. With `silent_s`,
/// nothing is sent for so long from then on.
fn play_arriving(slam: &mut Slam3d, run: &Run, (at_s, shift_s, silent_s): (f64, f64, f64), how: &Arrival) -> Found {
    let sent = |t: f64| !(at_s..at_s + silent_s).contains(&t);
    let shift = |t: f64| if t < at_s { 0.0 } else { shift_s };
    let arrives = |t: f64, late_s: f64| ((t + late_s) / how.batch_s).ceil() * how.batch_s;
    let samples = (0..run.samples.len()).map(|k| (k as f64 / RATE_HZ, None));
    let frames = run.frames.iter().enumerate().map(|(i, (k, _))| (*k as f64 / RATE_HZ, Some(i)));
    let mut events: Vec<_> = samples
        .chain(frames)
        .filter(|(t, _)| sent(*t))
        .map(|(t, frame)| (arrives(t, if frame.is_some() { how.late_s.1 } else { how.late_s.0 }), t, frame))
        .collect();
    events.sort_by(|a, b| {
        let order = |frame: &Option<usize>| frame.is_some() != how.frames_first;
        a.0.total_cmp(&b.0).then(order(&a.2).cmp(&order(&b.2))).then(a.1.total_cmp(&b.1))
    });
    let mut found = Vec::new();
    for (arrival, t, frame) in events {
        slam.arrived(arrival);
        if let Some(i) = frame {
            let frame = &run.frames[i].1;
            let _ = slam.push_frame(&Frame { stamp: frame.stamp + shift(t), seen: frame.seen.clone() });
        } else {
            let sample = run.samples[(t * RATE_HZ).round() as usize];
            let _ = slam.push_imu(&ImuSample { stamp: sample.stamp + shift(t), ..sample });
        }
        let estimates: Vec<_> = steps(slam).into_iter().map(|step| step.estimate).chain(slam.pose()).collect();
        for one in estimates {
            let (old, new) = (one.stamp.secs() - 100.0, (one.stamp + -shift_s).secs() - 100.0);
            let t = if shift_s == 0.0 || old < at_s && old >= 0.0 { old } else { new };
            found.push(error(run, t, &one));
        }
    }
    found
}

/// Under load, messages of one topic come later than those of the other, and many at once.
#[test]
fn it_is_found_again_in_whatever_order_a_loaded_computer_delivers() {
    for (late_s, batch_s) in
        [((0.0, 0.0), 0.2), ((0.0, 0.15), 0.05), ((0.3, 0.0), 0.05), ((1.5, 0.0), 0.3), ((2.6, 0.0), 0.1)]
    {
        for frames_first in [false, true] {
            for fault in [(10.0, -60.0, 0.0), (10.0, 3600.0, 0.0), (10.0, 0.0, 3.0)] {
                let what = format!("{fault:?}, {late_s:?} late, all {batch_s} s, frames first {frames_first}");
                let run = run(20.0, 1, false);
                let mut slam = slam(config());
                let found = play_arriving(&mut slam, &run, fault, &Arrival { late_s, batch_s, frames_first });
                assert_eq!(slam.time_jumps(), 1, "{what}");
                assert_recovers(&what, &slam, &found, 14.0);
            }
        }
    }
}

/// What one camera sees after a start in motion is rarely enough for landmarks of its own.
#[test]
fn one_camera_is_never_wrong_and_sure() {
    for seed in 1..=3 {
        let ends_s = LAP_S + 3.0;
        let run = run(ends_s + 8.0, seed, true);
        let mut slam = slam(config());
        let is_silent = |t: f64| (LAP_S..ends_s).contains(&t);
        let found = play(&mut slam, &run, (0.0, 1e3), |t| if is_silent(t) { None } else { Some(0.0) });
        let worst = found.iter().map(|(.., sigma)| *sigma).fold(0.0, f64::max);
        let last = found.last().unwrap();
        println!("{seed}: {worst:.1} sigma, {:.3} m in the end, {:?}", last.1, slam.quality());
        assert!(worst < 5.0, "{seed}: {worst} sigma");
        assert!(slam.quality() != Quality::Ok || last.1 < 0.3, "{seed}: {last:?}");
    }
}

#[test]
fn it_finds_itself_in_a_known_map_and_adds_nothing_to_it() {
    let mut mapping = slam(config());
    play(&mut mapping, &run(20.0, 1, false), (0.0, 1e3), |_| Some(0.0));
    let map = mapping.map();
    let mut config = config();
    config.map.mode = MapMode::Localization;
    let (mut slam, run) = (slam(config), run(16.0, 2, false));
    slam.load_map(map.clone()).unwrap();
    let found = play(&mut slam, &run, (0.0, 1e3), |t| Some(if t < 10.0 { 0.0 } else { 3600.0 }));
    assert_recovers("known", &slam, &found, 10.0);
    assert_eq!(slam.landmarks().len(), map.landmarks.len());
}

#[test]
fn among_other_landmarks_it_stays_lost_and_keeps_its_map() {
    let mut run = run(16.0, 1, false);
    for (k, frame) in &mut run.frames {
        let is_elsewhere = *k as f64 / RATE_HZ > 10.0;
        frame.seen.iter_mut().for_each(|seen| seen.id += if is_elsewhere { 1000 } else { 0 });
    }
    let mut slam = slam(config());
    play(&mut slam, &run, (0.0, 10.0), |_| Some(0.0));
    let map = slam.map();
    let found = play(&mut slam, &run, (10.0, 1e3), |_| Some(3600.0));
    let worst = found.iter().map(|(.., sigma)| *sigma).fold(0.0, f64::max);
    assert!(found.len() > 500 && worst < 3.0 && slam.quality() == Quality::Lost, "{worst} sigma");
    assert_eq!(slam.map(), map);
    // A pose from outside puts it there.
    let truth = *run.truth.last().unwrap();
    let known = nalgebra::Matrix6::from_diagonal_element(0.01);
    slam.set_pose(&truth, &known).unwrap();
    assert!(slam.quality() < Quality::Lost);
    assert_eq!(slam.landmarks().len(), map.landmarks.len());
}

#[test]
fn what_is_found_again_continues_from_a_saved_state_to_the_last_bit() {
    let run = run(16.0, 3, false);
    let is_silent = |t: f64| (10.0..13.0).contains(&t);
    let shift = |t: f64| if is_silent(t) { None } else { Some(0.0) };
    let mut filter = slam(config());
    play(&mut filter, &run, (0.0, 13.5), shift);
    assert_eq!(filter.quality(), Quality::Starting);
    let text = serde_json::to_string(&filter.save()).unwrap();
    let mut again = slam(config());
    again.restore(serde_json::from_str(&text).unwrap()).unwrap();
    assert_eq!(play(&mut again, &run, (13.5, 16.0), shift), play(&mut filter, &run, (13.5, 16.0), shift));
    assert_eq!(again.pose(), filter.pose());
}
