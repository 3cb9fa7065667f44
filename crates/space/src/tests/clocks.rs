//! Clocks that jump, and stamps that are wrong.

use super::{config, play, run, slam, steps};
use crate::{DropReason, ImuSample, Quality};
use lienav_base::stamp::Stamp;

#[test]
fn one_wrong_stamp_costs_itself() {
    let run = run(6.0, 1, false);
    let expected = play(&mut slam(config()), &run);
    let mut slam = slam(config());
    let mut found = Vec::new();
    let mut frames = run.frames.iter().peekable();
    for (k, sample) in run.samples.iter().enumerate() {
        while let Some((_, frame)) = frames.next_if(|(at, _)| *at <= k) {
            slam.push_frame(frame).unwrap();
        }
        if k == 700 {
            let far = ImuSample { stamp: sample.stamp + 1e4, ..*sample };
            assert_eq!(slam.push_imu(&far), Err(DropReason::FromTheFuture));
            let old = ImuSample { stamp: Stamp::from_secs(3.0), ..*sample };
            assert_eq!(slam.push_imu(&old), Err(DropReason::UnconfirmedJump));
        }
        slam.push_imu(sample).unwrap();
        found.extend(steps(&mut slam));
    }
    assert_eq!(found, expected);
}

#[test]
fn time_that_is_set_back_starts_the_filter_again() {
    let run = run(5.0, 2, false);
    let mut slam = slam(config());
    play(&mut slam, &run);
    assert_eq!(slam.quality(), Quality::Ok);
    // The same run again: a bag that starts anew.
    let mut found = Vec::new();
    let mut frames = run.frames.iter().peekable();
    for (k, sample) in run.samples.iter().enumerate() {
        while let Some((_, frame)) = frames.next_if(|(at, _)| *at <= k) {
            let _ = slam.push_frame(frame);
        }
        let _ = slam.push_imu(sample);
        found.extend(steps(&mut slam));
    }
    assert_eq!(slam.time_jumps(), 1);
    assert!(found.len() > 60 && slam.quality() == Quality::Ok, "{}", found.len());
}

#[test]
fn a_reset_and_a_filter_that_is_switched_off_start_anew() {
    let run = run(4.0, 3, false);
    let mut slam = slam(config());
    let first = play(&mut slam, &run);
    slam.reset();
    assert_eq!(slam.quality(), Quality::Starting);
    assert_eq!(play(&mut slam, &run), first);
    slam.set_enabled(false);
    assert_eq!(slam.push_imu(&run.samples[0]), Err(DropReason::Disabled));
    slam.set_enabled(true);
    assert_eq!(play(&mut slam, &run), first);
}

#[test]
fn samples_that_were_held_up_and_come_all_at_once_do_not_start_it_again() {
    let run = run(5.0, 2, false);
    let burst = |states_arrival: bool| {
        let mut slam = slam(config());
        for (k, sample) in run.samples.iter().enumerate() {
            if states_arrival {
                slam.arrived(k as f64 * 0.005);
            }
            let _ = slam.push_imu(sample);
        }
        // A tenth of a second of it once more, three seconds late.
        for sample in &run.samples[300..320] {
            let _ = slam.push_imu(sample);
        }
        slam.time_jumps()
    };
    assert_eq!((burst(false), burst(true)), (1, 0));
}
