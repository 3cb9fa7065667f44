use super::*;

fn load(dropped: u64, superseded: u64) -> Load<{ Topic::COUNT }> {
    Load { dropped, superseded, oldest: None, heard: [None; Topic::COUNT] }
}

fn healthy() -> (Report, Report) {
    let before = Report {
        enabled: true,
        dropped: all_dropped(&Dropped::default(), &Counts::default(), &load(0, 0)),
        max_latency_s: 0.5,
        ..Default::default()
    };
    let now = Report {
        odometry: Received { received: 200, used: 200 },
        features: Received { received: 20, used: 20 },
        odometry_silence: Some(Duration::from_millis(5)),
        steps: 20,
        measurements_used: 100,
        map_features: 12,
        ..before.clone()
    };
    (before, now)
}

#[test]
fn a_healthy_node_is_ok() {
    let (before, now) = healthy();
    assert_eq!(judge(&before, &now), (Level::Ok, "running, 12 features".into()));
}

#[test]
fn every_row_of_the_table_is_reached() {
    let case = |change: fn(&mut Report)| {
        let (before, mut now) = healthy();
        change(&mut now);
        judge(&before, &now)
    };
    let expect = |change: fn(&mut Report), level, part: &str| {
        let (found, sentence) = case(change);
        assert!(found == level && sentence.contains(part), "{found:?} {sentence}");
    };
    expect(|r| r.odometry.used = 0, Level::Error, "none of 200 odometry messages");
    expect(|r| r.features.used = 0, Level::Error, "none of 20 clouds");
    expect(|r| r.enabled = false, Level::Warn, "switched off");
    expect(|r| r.odometry_silence = None, Level::Warn, "no odometry yet");
    expect(|r| r.odometry_silence = Some(Duration::from_millis(2340)), Level::Warn, "no odometry for 2.3 s");
    expect(|r| r.dropped.add("bad_layout"), Level::Warn, "dropped: bad_layout 1");
    expect(|r| r.dropped.add(QUEUE_FULL), Level::Warn, "queue_full 1");
    expect(|r| r.measurements_rejected = 101, Level::Warn, "101 of 201 observations left out");
    expect(|r| r.gate_openings = 1, Level::Warn, "was the robot moved?");
    expect(|r| r.since_time_jump = Some(Duration::from_secs(9)), Level::Warn, "time was set back");
    expect(|r| r.since_time_jump = Some(Duration::from_secs(11)), Level::Ok, "running");
    expect(|r| r.dropped.add(DropReason::SecondClock.word()), Level::Warn, "two clocks on one topic");
    expect(|r| r.dropped.add(DropReason::MapFull.word()), Level::Warn, "the map is full: raise map.max_features");
    expect(|r| r.map_problem = Some("hall.yaml: line 3".into()), Level::Warn, "the file of the map: hall.yaml: line 3");
    expect(|r| r.dropped.add(DropReason::InvalidCovariance.word()), Level::Error, "goes on at its last valid pose");
    expect(|r| r.dropped.add("unreadable"), Level::Warn, "dropped: unreadable 1");
    expect(|r| r.dropped.add(DropReason::TooManyPoints.word()), Level::Warn, "dropped: too_many_points 1");
    expect(|r| r.dropped.add(STALE), Level::Warn, "overload: the output is up to 0.00 s old (max_latency_s is 0.5)");
    expect(|r| r.dropped.add(STALE), Level::Warn, "1 clouds were skipped and 0 messages lost");
    expect(|r| r.dropped.add(QUEUE_FULL), Level::Warn, "overload");
    expect(|r| r.latency_ms.max = 501.0, Level::Warn, "overload: the output is up to 0.50 s old");
    expect(|r| r.odometry_latency_ms.max = 501.0, Level::Warn, "overload");
    expect(|r| (r.waited_ms, r.step_us.max) = (6800.0, 650_000.0), Level::Error, "6.80 s old");
    expect(|r| (r.waited_ms, r.step_us.max) = (6800.0, 650_000.0), Level::Error, "a step takes up to 650 ms");
    expect(|r| r.latency_ms.max = 499.0, Level::Ok, "running");
    expect(|r| r.input_age_s = Some(3.0), Level::Warn, "odom is 3.0 s old when it arrives");
    expect(|r| r.input_age_s = Some(0.9), Level::Ok, "running");
    expect(|r| r.input_age_s = Some(1e9), Level::Ok, "running");
    expect(|r| r.use_imu = true, Level::Warn, "no message has come on imu: remap it");
    expect(|r| (r.use_imu, r.imu.received) = (true, 9), Level::Ok, "running");
    let conflict = "somebody else publishes map -> odom";
    expect(|r| r.tf_conflict = Some("somebody else publishes map -> odom".into()), Level::Error, conflict);
    let said = "the twist says -1.00 m/s";
    expect(|r| r.contradictions.push("the twist says -1.00 m/s".into()), Level::Warn, said);
    expect(|r| r.std = Some((999.0, 1.0)), Level::Ok, "running");
    for std in [4e9, f64::NAN, f64::INFINITY] {
        let (before, mut now) = healthy();
        now.std = Some((std, 1.0));
        let (level, sentence) = judge(&before, &now);
        assert!(level == Level::Error && sentence.contains("call ~/reset"), "{std} {sentence}");
    }
    expect(|r| ORDINARY.iter().for_each(|reason| r.dropped.add(reason.word())), Level::Ok, "running");
}

#[test]
fn where_odometry_is_gone_others_are_not_said_to_be_from_the_future() {
    let (before, mut now) = healthy();
    now.features.used = 0;
    (0..20).for_each(|_| now.dropped.add(DropReason::FromTheFuture.word()));
    assert!(judge(&before, &now).1.contains("from_the_future 20"));
    now.odometry_silence = Some(Duration::from_secs(7));
    let (level, sentence) = judge(&before, &now);
    assert_eq!(level, Level::Error);
    assert_eq!(sentence, "none of 20 clouds could be used: they wait for odometry; no odometry for 7.0 s");
}

#[test]
fn an_imu_that_has_stopped_is_told_from_one_that_never_came() {
    let (mut before, mut now) = healthy();
    now.use_imu = true;
    (before.imu.received, now.imu.received) = (9, 9);
    assert!(judge(&before, &now).1.contains("no message comes any more on imu"));
}

#[test]
fn what_was_dropped_before_the_last_report_is_listed_but_no_longer_warned_of() {
    let (mut before, mut now) = healthy();
    before.dropped.add("absurd");
    now.dropped.add("absurd");
    assert_eq!(judge(&before, &now).0, Level::Ok);
    let status = status("slam_node", &before, &now, |_| ());
    let value = |key: &str| status.values.iter().find(|v| v.key == key).map(|v| v.value.as_str());
    assert_eq!(value("dropped.absurd"), Some("1"));
}

#[test]
fn every_reason_is_listed_also_where_it_never_happened() {
    let (before, now) = healthy();
    let status = status("slam_node", &before, &now, |_| ());
    assert_eq!((status.level, status.name.as_str()), (0, "slam_node: filter"));
    let reasons = DropReason::ALL.iter().map(|r| r.word()).chain(Refusal::WORDS).chain([
        QUEUE_FULL,
        STALE,
        NO_ODOM_POSE,
        UNREADABLE,
    ]);
    for word in reasons {
        let listed = status.values.iter().filter(|v| v.key == format!("dropped.{word}") && v.value == "0").count();
        assert_eq!(listed, 1, "{word}");
    }
}

#[test]
fn the_counts_of_filter_queue_and_node_are_added() {
    let mut filter = Counts::default();
    filter.add(DropReason::Gated);
    let mut own = Dropped::default();
    own.add("bad_layout");
    own.add(STALE);
    let all = all_dropped(&own, &filter, &load(3, 4));
    assert_eq!((all.get("gated"), all.get("bad_layout"), all.get(QUEUE_FULL), all.get(STALE)), (1, 1, 3, 5));
}
