//! Order of arrival: whatever comes within the window gives the same estimates to the last bit.

use super::{config, play, run, slam, steps};
use crate::DropReason;

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
