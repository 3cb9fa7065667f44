//! Order of arrival: whatever comes within the window gives the same estimates to the last bit.

use super::{Run, camera, config, play, run, slam, steps};
use crate::{DropReason, Sensor, Slam3d};

#[test]
fn late_frames_give_the_same_to_the_last_bit() {
    let run = run(8.0, 1, false);
    let expected = play(&mut slam(config()), &run);
    for late in [1, 7, 25, 39] {
        let mut slam = slam(config());
        let mut found = Vec::new();
        let mut frames = run.frames.iter().peekable();
        for (k, sample) in run.samples.iter().enumerate() {
            slam.push_imu(sample).unwrap();
            found.extend(steps(&mut slam));
            while let Some((_, frame)) = frames.next_if(|(at, _)| at + late <= k) {
                // Before the start is known, frames from before it wait.
                let _ = slam.push_frame(frame);
                found.extend(steps(&mut slam));
            }
        }
        let both = expected.iter().filter(|step| found.iter().any(|f| f.estimate.stamp == step.estimate.stamp));
        let first = found[0].estimate.stamp;
        assert!(first.since(expected[0].estimate.stamp) < 1e-9, "late by {late}");
        assert!(both.clone().count() > 130, "late by {late}: {}", both.count());
        for (one, other) in both.zip(&found) {
            assert_eq!(one, other, "late by {late}");
        }
    }
}

/// The same run with every second frame of another camera, at the same place.
fn of_two_cameras(seconds: f64) -> (Run, Slam3d) {
    let mut run = run(seconds, 4, false);
    for (_, frame) in run.frames.iter_mut().skip(1).step_by(2) {
        frame.seen.iter_mut().for_each(|seen| seen.sensor = 1);
    }
    let mut slam = slam(config());
    slam.set_sensor(1, Sensor { mount: camera(), ..Sensor::default() }).unwrap();
    (run, slam)
}

/// One camera is behind the other by 10 to 35 samples, so that its frames come after later ones of the other: they are
/// taken in by their stamps, and estimates are those of a run in order.
#[test]
fn frames_of_a_slower_camera_are_waited_for() {
    let (run, mut in_order) = of_two_cameras(8.0);
    let expected = play(&mut in_order, &run);
    for late in [10, 23, 35] {
        let (_, mut slam) = of_two_cameras(0.0);
        let mut found = Vec::new();
        for (k, sample) in run.samples.iter().enumerate() {
            for (at, frame) in &run.frames {
                let behind = if frame.seen[0].sensor == 1 { late } else { 0 };
                if at + behind == k {
                    // Frames of before the start may come after it.
                    let _ = slam.push_frame(frame);
                    found.extend(steps(&mut slam));
                }
            }
            slam.push_imu(sample).unwrap();
            found.extend(steps(&mut slam));
        }
        assert!(expected.len() > 140 && found.len() + 5 > expected.len(), "{} of {}", found.len(), expected.len());
        assert_eq!(found[..], expected[..found.len()], "late by {late}");
        assert!(slam.counts().get(DropReason::TooLate) < 5, "late by {late}");
    }
}

/// A camera that falls silent holds frames of the other up for no longer than the window, and for a second.
#[test]
fn a_silent_camera_is_not_waited_for() {
    let (run, mut slam) = of_two_cameras(8.0);
    let mut latest = 0.0_f64;
    let mut frames = run.frames.iter().peekable();
    for (k, sample) in run.samples.iter().enumerate() {
        while let Some((at, frame)) = frames.next_if(|(at, _)| *at <= k) {
            if *at < 1000 || frame.seen[0].sensor == 0 {
                slam.push_frame(frame).unwrap();
            }
        }
        slam.push_imu(sample).unwrap();
        for step in steps(&mut slam) {
            latest = latest.max(sample.stamp.since(step.estimate.stamp));
        }
        if k == 990 || k == 1200 {
            latest = 0.0;
        }
        // At 5 s, the other camera falls silent.
        if k == 1199 {
            assert!((0.19..0.21).contains(&latest), "{latest} s");
        }
    }
    assert!(latest < 1e-9, "{latest} s");
}

#[test]
fn frames_that_come_twice_or_too_late_are_dropped() {
    let run = run(4.0, 2, false);
    let mut slam = slam(config());
    play(&mut slam, &run);
    let frames = &run.frames;
    let [.., (_, old), (_, last)] = &frames[..] else { panic!("no frames") };
    assert_eq!(slam.push_frame(last), Err(DropReason::DuplicateStamp));
    assert_eq!(slam.push_frame(old), Err(DropReason::TooLate));
    assert_eq!(slam.push_imu(run.samples.last().unwrap()), Err(DropReason::DuplicateStamp));
    assert_eq!(slam.push_imu(&run.samples[run.samples.len() - 3]), Err(DropReason::TooLate));
    assert_eq!(slam.counts().get(DropReason::TooLate), 2);
}

#[test]
fn the_queue_of_frames_is_bounded() {
    let run = run(3.0, 3, false);
    let mut slam = slam(config());
    play(&mut slam, &run);
    let (_, frame) = run.frames.last().unwrap();
    let mut refused = 0;
    for k in 1..1000 {
        let frame = crate::Frame { stamp: frame.stamp + 0.001 * f64::from(k), ..frame.clone() };
        refused += u64::from(slam.push_frame(&frame).is_err());
    }
    assert_eq!(refused, 999 - 256);
    assert_eq!(slam.counts().get(DropReason::BufferFull), refused);
}
