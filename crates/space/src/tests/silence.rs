//! Sensors that fall silent: the pose becomes wide, is never wrong and sure, and is right again soon.

use super::{RATE_HZ, Run, config, error, run, slam, steps};
use crate::Quality;

/// Plays a run without the samples and frames of an interval; the deviations of all steps, and the errors behind it.
fn with_gap(seconds: f64, gap: (f64, f64), imu: bool, frames_too: bool, seed: u64) -> (Vec<f64>, Vec<(f64, f64, f64)>) {
    with_gap_in(run(seconds, seed, false), gap, imu, frames_too)
}

fn with_gap_in(run: Run, gap: (f64, f64), imu: bool, frames_too: bool) -> (Vec<f64>, Vec<(f64, f64, f64)>) {
    let mut slam = slam(config());
    let mut frames = run.frames.iter().peekable();
    let (mut all, mut ahead) = (Vec::new(), Vec::new());
    for (k, sample) in run.samples.iter().enumerate() {
        let t = k as f64 / RATE_HZ;
        let is_silent = (gap.0..gap.1).contains(&t);
        while let Some((_, frame)) = frames.next_if(|(at, _)| *at <= k) {
            if !(is_silent && frames_too) {
                let _ = slam.push_frame(frame);
            }
        }
        if !(is_silent && imu) {
            let _ = slam.push_imu(sample);
        }
        for step in steps(&mut slam) {
            all.push(error(&run, &step.estimate).1);
        }
        if let Some(pose) = slam.pose() {
            let (off, deviations) = error(&run, &pose);
            ahead.push((pose.stamp.secs() - 100.0, off, deviations));
        }
        if is_silent && !imu && t > gap.0 + 1.1 {
            assert!(slam.quality() >= Quality::Wide);
        }
    }
    assert_eq!(slam.quality(), Quality::Ok);
    (all, ahead)
}

#[test]
fn an_inertial_sensor_that_is_silent_is_bridged() {
    for (silent_s, frames_too) in [(0.5, false), (2.0, false), (10.0, false), (0.5, true), (2.0, true)] {
        let (all, ahead) = with_gap(28.0, (8.0, 8.0 + silent_s), true, frames_too, 1);
        let worst = all.iter().copied().fold(0.0, f64::max);
        let behind = ahead.iter().filter(|(t, ..)| *t > 10.0 + silent_s).map(|(_, off, _)| *off);
        let behind = behind.fold(0.0, f64::max);
        println!("{silent_s} s, frames too {frames_too}: {worst} sigma, {behind} m");
        assert!(worst < 5.0, "{silent_s} s, frames too {frames_too}: {worst} sigma");
        assert!(behind < 0.3, "{silent_s} s, frames too {frames_too}: {behind} m");
    }
}

/// Where frames go on for ten seconds, they wait for the samples behind the silence, and none is from the future: without
/// the last five seconds of them, a single camera does not find back.
#[test]
fn a_camera_bridges_an_inertial_sensor_that_is_silent() {
    for seed in 1..=8 {
        let (all, ahead) = with_gap_in(run(28.0, seed, true), (8.0, 18.0), true, false);
        let worst = all.iter().copied().fold(0.0, f64::max);
        let behind = ahead.iter().filter(|(t, ..)| *t > 20.0).map(|(_, off, _)| *off).fold(0.0, f64::max);
        println!("{seed}: {worst} sigma, {behind} m");
        // Of six numbers, the largest of 560 frames.
        assert!(worst < 6.5, "{seed}: {worst} sigma");
        assert!(behind < 0.1, "{seed}: {behind} m");
    }
}

#[test]
fn frames_that_are_silent_for_a_minute_make_the_pose_wide() {
    let (all, ahead) = with_gap(76.0, (8.0, 68.0), false, true, 2);
    let worst = all.iter().copied().fold(0.0, f64::max);
    let in_silence = ahead.iter().map(|(.., deviations)| *deviations).fold(0.0, f64::max);
    let behind = ahead.iter().filter(|(t, ..)| *t > 70.0).map(|(_, off, _)| *off).fold(0.0, f64::max);
    println!("{worst} sigma in steps, {in_silence} ahead, {behind} m behind");
    assert!(worst < 5.0 && in_silence < 5.0, "{worst} {in_silence}");
    assert!(behind < 0.3, "{behind} m");
}

#[test]
fn a_body_that_stands_without_frames_stays_where_it_is_and_learns_nothing_of_its_heading() {
    let mut config = config();
    config.start.yaw_std_rad = 0.2;
    config.start.position_std_m = 0.5;
    let mut slam = slam(config);
    let still = run(1.9, 3, false).samples;
    let mut stamp = still[0].stamp;
    let at = |slam: &mut crate::Slam3d| {
        steps(slam);
        slam.pose().unwrap()
    };
    let mut first = None;
    for k in 0..24_000 {
        slam.push_imu(&crate::ImuSample { stamp, ..still[k % still.len()] }).unwrap();
        stamp = stamp + 0.005;
        steps(&mut slam);
        if k == 1_000 {
            first = Some(at(&mut slam));
        }
    }
    let (first, last) = (first.unwrap(), at(&mut slam));
    let moved = (last.pose.translation - first.pose.translation).norm();
    let (before, after) = (first.covariance.diagonal(), last.covariance.diagonal());
    println!("moved {moved} m in two minutes; variances {before} {after}");
    assert!(moved < 0.05, "{moved} m");
    assert!((0..3).all(|axis| after[axis] > 0.25 * (1.0 - 1e-9) && after[axis] < 0.27), "{after}");
    assert!(after[5] > 0.04 * (1.0 - 1e-9), "{after}");
}
