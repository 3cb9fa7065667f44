//! A filter that is saved and continued, and what it says of each measurement.

use super::{config, play_range, run, slam};
use crate::estimator::Decision;
use crate::{Config, DropReason, ResumeError, SavedState};

fn as_text(saved: &SavedState) -> String {
    serde_json::to_string(saved).unwrap()
}

#[test]
fn a_filter_that_was_saved_continues_to_the_last_bit() {
    for (by_pixels, at, name) in
        [(false, 0.3, "default"), (false, 6.013, "default"), (true, 6.0, "default"), (true, 6.1, "window")]
    {
        let run = run(9.0, 7, by_pixels);
        let config = || Config { filter: name.to_owned(), ..config() };
        let mut filter = slam(config());
        play_range(&mut filter, &run, 0.0, at);
        let text = as_text(&filter.save());
        let mut again = slam(config());
        again.restore(serde_json::from_str(&text).unwrap()).unwrap();
        assert_eq!(as_text(&again.save()), text);
        assert_eq!(again.pose(), filter.pose());
        let (ours, theirs) = (play_range(&mut again, &run, at, 9.0), play_range(&mut filter, &run, at, 9.0));
        assert!(ours.len() > 50 && ours == theirs, "{} steps", ours.len());
        assert_eq!(again.landmarks(), filter.landmarks());
    }
}

#[test]
fn other_settings_and_damaged_states_are_refused() {
    let run = run(3.0, 8, false);
    let mut filter = slam(config());
    play_range(&mut filter, &run, 0.0, 3.0);
    let mut other = config();
    other.imu.gyro_noise = 3e-4;
    let refused = slam(other).restore(filter.save()).unwrap_err();
    let sentence =
        "the state was saved with imu.gyro_noise 0.0002, and it is 0.0003: continue with the settings of then";
    assert_eq!(refused.to_string(), sentence);
    let mut saved = filter.save();
    saved.running.as_mut().unwrap().filter.state.landmarks.pop();
    assert!(matches!(slam(config()).restore(saved), Err(ResumeError::Damaged(_))));
    let text = as_text(&filter.save());
    assert!(serde_json::from_str::<SavedState>(&text.replacen("\"landmarks\":", "\"landmarks\":1", 2)).is_err());
}

#[test]
fn a_frame_says_what_became_of_each_measurement() {
    let run = run(4.0, 9, false);
    let mut config = config();
    config.map.max_landmarks = 12;
    let mut filter = slam(config);
    let mut words = std::collections::BTreeMap::<&str, usize>::new();
    let mut frames = run.frames.iter().peekable();
    for (k, sample) in run.samples.iter().enumerate() {
        while let Some((_, frame)) = frames.next_if(|(at, _)| *at <= k) {
            let mut frame = frame.clone();
            // One landmark is seen beside its place in one frame.
            if k == 600
                && let Some(seen) = frame.seen.first_mut()
                && let crate::Value::Position(place, _) = &mut seen.value
            {
                place.x += 3.0;
            }
            filter.push_frame(&frame).unwrap();
            filter.push_imu(sample).unwrap();
            while let Some(step) = filter.poll() {
                let all = filter.decisions();
                if step.estimate.stamp == frame.stamp {
                    assert!(all.iter().map(|one| one.id).eq(frame.seen.iter().map(|seen| seen.id)));
                }
                all.iter().for_each(|one| *words.entry(one.word()).or_default() += 1);
                let used = |one: &&Decision| one.word() == "used";
                // Rest is a measurement, too, and can be beyond the gate.
                let rest = step.accepted - all.iter().filter(used).count();
                assert!(rest <= usize::from(step.is_at_rest));
                let in_gate = |one: &Decision| one.outcome.is_ok_and(|o| o.distance.is_some_and(|d| d < 30.0));
                assert!(all.iter().filter(used).all(in_gate));
            }
        }
        let _ = filter.push_imu(sample);
    }
    // The one beside its place, and a hundredth of the others.
    let gated = words.get("gated").copied().unwrap_or_default();
    assert!((1..15).contains(&gated) && gated as u64 <= filter.counts().get(DropReason::Gated), "{words:?}");
    assert_eq!(words.get("initialized"), Some(&12), "{words:?}");
    assert_eq!(words.get("map_full").map(|n| *n as u64), Some(filter.counts().get(DropReason::MapFull)), "{words:?}");
}
