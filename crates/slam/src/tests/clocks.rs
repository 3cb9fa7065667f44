//! Stamps of other clocks: one that is wrong costs nothing, two that interleave neither, and a clock that was really
//! set is followed.

use super::*;
use crate::{DropReason, Imu, Landmark, PoseEstimate, TimeJump};
use lienav_base::clock::CONFIRMATIONS;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// A message of any topic.
#[derive(Clone, Debug)]
enum Message {
    Odometry(Odometry),
    Scan(Stamp, Vec<Measurement>),
    Imu(Imu),
}

impl Message {
    fn at(&self, stamp: Stamp) -> Self {
        match self.clone() {
            Self::Odometry(odometry) => Self::Odometry(Odometry { stamp, ..odometry }),
            Self::Scan(_, seen) => Self::Scan(stamp, seen),
            Self::Imu(imu) => Self::Imu(Imu { stamp, ..imu }),
        }
    }

    fn stamp(&self) -> Stamp {
        match self {
            Self::Odometry(odometry) => odometry.stamp,
            Self::Scan(stamp, _) => *stamp,
            Self::Imu(imu) => imu.stamp,
        }
    }
}

/// The recording as it arrives, with an inertial sample before each odometry message, beginning at `start`.
fn messages(instants: &[Instant], start: f64) -> Vec<Message> {
    let start = Stamp::from_secs(start);
    let mut all = Vec::new();
    for i in instants {
        let stamp = start + i.odometry.stamp.secs();
        all.push(Message::Imu(Imu { stamp: stamp - 0.01, yaw_rate: i.odometry.yaw_rate, tilt: None }));
        all.push(Message::Odometry(Odometry { stamp, ..i.odometry }));
        all.push(Message::Scan(stamp, i.seen.clone()));
    }
    all
}

fn give(slam: &mut Slam, message: &Message) -> (Result<(), DropReason>, Vec<Step>) {
    let outcome = match message {
        Message::Odometry(odometry) => slam.odometry(odometry),
        Message::Scan(stamp, seen) => slam.features(*stamp, MeasurementKind::RelativePosition, seen),
        Message::Imu(imu) => slam.imu(imu),
    };
    (outcome, drain(slam))
}

/// All that a filter says of itself but its counts.
type Estimates = (Vec<Step>, Option<PoseEstimate>, Vec<Landmark>);

fn play<'a>(slam: &mut Slam, all: impl IntoIterator<Item = &'a Message>) -> Estimates {
    let steps = all.into_iter().flat_map(|message| give(slam, message).1).collect();
    (steps, slam.predicted(), slam.landmarks().collect())
}

fn filter(on_jump_back: TimeJump) -> Slam {
    let mut config = config("default");
    config.timing.on_jump_back = on_jump_back;
    Slam::new(config).unwrap()
}

const START_S: f64 = 1000.0;

/// How wrong a stamp may be, s: by years, to zero, a bit late, a bit early.
fn offset() -> impl Strategy<Value = f64> {
    prop_oneof![Just(-START_S), -1e9..-2.2f64, -3.5..-2.2f64, 2.2..5.0f64, 2.2..1e9f64]
}

fn seeded(cases: u32) -> ProptestConfig {
    ProptestConfig { rng_seed: RngSeed::Fixed(3), ..ProptestConfig::with_cases(cases) }
}

proptest! {
    #![proptest_config(seeded(60))]

    #[test]
    fn a_wrong_stamp_changes_no_estimate(
        wrong in prop::collection::vec((3..170usize, offset()), 1..4),
        jump in prop::sample::select(vec![TimeJump::Reset, TimeJump::Rewind]),
    ) {
        let all = messages(&recording(60, 1), START_S);
        let mut damaged = all.clone();
        for (place, offset) in &wrong {
            // A copy of a message, with another stamp.
            damaged.insert(*place, all[*place].at(all[*place].stamp() + *offset));
        }
        let (mut with, mut without) = (filter(jump), filter(jump));
        prop_assert_eq!(play(&mut with, &damaged), play(&mut without, &all));
        prop_assert_eq!(with.time_jumps(), 0);
        let foreign = [DropReason::FromTheFuture, DropReason::UnconfirmedJump, DropReason::SecondClock];
        let counted: u64 = foreign.iter().map(|&reason| with.counts().get(reason)).sum();
        prop_assert_eq!(counted, wrong.len() as u64);
    }

    #[test]
    fn a_second_publisher_with_another_clock_changes_no_estimate(
        offset in offset(),
        late in prop::collection::vec(0..9usize, 600),
        jump in prop::sample::select(vec![TimeJump::Reset, TimeJump::Rewind]),
    ) {
        let all = messages(&recording(200, 2), START_S);
        // Each message of the second publisher arrives up to three periods after that of the first.
        let mut both: Vec<(usize, Message)> = all.iter().cloned().enumerate().map(|(k, m)| (10 * k, m)).collect();
        both.extend(all.iter().zip(&late).enumerate().map(|(k, (m, late))| (10 * (k + late) + 5, m.at(m.stamp() + offset))));
        both.sort_by_key(|(arrival, _)| *arrival);
        let (mut with, mut without) = (filter(jump), filter(jump));
        let (with_both, alone) = (play(&mut with, both.iter().map(|(_, m)| m)), play(&mut without, &all));
        prop_assert_eq!(with.time_jumps(), 0);
        prop_assert_eq!(with_both, alone);
        prop_assert!(with.counts().get(DropReason::SecondClock) > 300, "{:?}", with.counts());
    }

    #[test]
    fn a_clock_that_was_set_back_is_followed_with_the_last_confirmation(
        back in prop_oneof![Just(START_S + 6.0), 10.0..1e9f64],
        jump in prop::sample::select(vec![TimeJump::Reset, TimeJump::Rewind]),
        strays in prop::collection::vec(-1e9..-10.0f64, 0..3),
    ) {
        let instants = recording(120, 3);
        let mut slam = filter(jump);
        play(&mut slam, &messages(&instants[..60], START_S));
        for stray in strays {
            let _ = give(&mut slam, &messages(&instants[59..60], START_S + stray)[1]);
        }
        play(&mut slam, &messages(&instants[60..], START_S));
        let (before, pose) = (slam.landmarks().count(), slam.predicted().unwrap().pose);
        prop_assert!(before == 8 && slam.time_jumps() == 0);
        // The same drive again, as a bag that is looped gives it; or the robot goes on where it is.
        let again = messages(&instants, START_S - back);
        let used = 3 * CONFIRMATIONS - 1;
        let first: Vec<_> = again[..used].iter().map(|m| give(&mut slam, m).0).collect();
        prop_assert!(first[..used - 1].iter().all(Result::is_err), "{first:?}");
        prop_assert_eq!((first[used - 1], slam.time_jumps()), (Ok(()), 1));
        if jump == TimeJump::Reset {
            // As from the beginning, but for the scans that came before the confirmation: no odometry is lost.
            let mut fresh = filter(jump);
            let odometry = again[..used].iter().filter(|m| matches!(m, Message::Odometry(_)));
            play(&mut fresh, odometry);
            prop_assert_eq!(play(&mut slam, &again[used..]), play(&mut fresh, &again[used..]));
        } else {
            prop_assert_eq!(slam.landmarks().count(), before);
            prop_assert!((slam.predicted().unwrap().pose.p - pose.p).norm() < 1.0);
        }
        prop_assert_eq!(slam.time_jumps(), 1);
        prop_assert_eq!(slam.counts().get(DropReason::Singular), 0);
    }
}

/// A robot on its circle for `seconds`: goes on from `k` to `k + 10 seconds` by the clock that was set by `offset`.
fn drive_on(slam: &mut Slam, instants: &[Instant], offset: f64) -> Vec<Step> {
    play(slam, &messages(instants, START_S + offset)).0
}

#[test]
fn a_clock_that_is_set_ahead_by_years_keeps_the_map_and_a_covariance_that_can_be_used() {
    let instants = recording(300, 4);
    let mut slam = filter(TimeJump::Reset);
    drive_on(&mut slam, &instants[..100], 0.0);
    let steps = drive_on(&mut slam, &instants[100..], 1.7e9);
    assert_eq!((slam.time_jumps(), slam.landmarks().count()), (0, 8));
    assert!(slam.counts().get(DropReason::Singular) == 0, "{:?}", slam.counts());
    for (step, instant) in steps.iter().rev().zip(instants.iter().rev()).take(100) {
        let (found, std) = (step.estimate.pose, step.estimate.covariance[(0, 0)].sqrt());
        assert!((found.p - instant.truth.p).norm() < 0.5 && std < 1.0, "{found:?} {std}");
    }
}

#[test]
fn odometry_that_was_silent_while_scans_came_is_used_again_at_once() {
    for silent in [25, 45, 120] {
        let instants = recording(300, 5);
        let mut slam = filter(TimeJump::Reset);
        drive_on(&mut slam, &instants[..100], 0.0);
        for scan in messages(&instants[100..100 + silent], START_S).iter().skip(2).step_by(3) {
            let _some_are_too_far_ahead = give(&mut slam, scan);
        }
        let lost = slam.counts().get(DropReason::SecondClock) + slam.counts().get(DropReason::UnconfirmedJump);
        let steps = drive_on(&mut slam, &instants[100 + silent..], 0.0);
        assert_eq!((slam.time_jumps(), lost, slam.counts().get(DropReason::SecondClock)), (0, 0, 0), "{silent}");
        assert!(steps.len() >= 199 - silent, "{silent}: {} steps", steps.len());
        if silent < 50 {
            let (step, truth) = (steps.last().unwrap(), instants.last().unwrap().truth);
            assert!((step.estimate.pose.p - truth.p).norm() < 0.3, "{silent}: {:?}", step.estimate.pose);
        }
    }
}

#[test]
fn a_first_message_with_a_wrong_stamp_costs_a_few_messages() {
    for first in [0.0, START_S + 1e6] {
        let instants = recording(100, 5);
        let mut slam = filter(TimeJump::Reset);
        give(&mut slam, &messages(&instants[..1], first)[1]).0.unwrap();
        let steps = drive_on(&mut slam, &instants, 0.0);
        let last = steps.last().unwrap().estimate;
        assert!(steps.len() > 90 && (last.pose.p - instants[99].truth.p).norm() < 0.3, "{first}: {last:?}");
        assert!(last.covariance[(0, 0)] < 0.1, "{first}: {}", last.covariance);
    }
}

#[test]
fn a_scan_of_another_clock_before_the_first_odometry_does_not_release_others_early() {
    let instants = recording(60, 6);
    let (mut with, mut without) = (filter(TimeJump::Reset), filter(TimeJump::Reset));
    with.features(Stamp::from_secs(1e9), MeasurementKind::RelativePosition, &instants[0].seen).unwrap();
    let all = messages(&instants, START_S);
    assert_eq!(play(&mut with, &all), play(&mut without, &all));
    assert_eq!(with.counts().get(DropReason::NotStarted), 1);
}

/// What issue 14 found: after one stamp 0 with `rewind`, the true stamps were a gap of decades, and every measurement
/// was `singular` beside its noise.
#[test]
fn one_stamp_of_zero_with_rewind_leaves_the_measurements_as_good_as_they_were() {
    let instants = recording(200, 7);
    let mut slam = filter(TimeJump::Rewind);
    drive_on(&mut slam, &instants[..100], 1.7e9);
    slam.odometry(&Odometry { stamp: Stamp::from_nanos(0), ..instants[99].odometry }).unwrap_err();
    let steps = drive_on(&mut slam, &instants[100..], 1.7e9);
    assert!(steps.iter().all(|step| step.accepted >= 6), "{:?}", slam.counts());
    assert_eq!(slam.counts().get(DropReason::Singular), 0);
}
