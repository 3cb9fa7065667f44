//! What the node says about itself on `/diagnostics`, once a second: a pure function of two reports.
//!
//! | level | when, since the last report |
//! |---|---|
//! | ERROR | input came and none of it could be used |
//! | WARN | the filter is switched off |
//! | WARN | no input yet, or none for more than a second |
//! | WARN | input was dropped |
//! | WARN | there was a gap that samples do not bridge |
//! | WARN | time was set back |
//! | WARN | the vertical was lost, and found again |
//! | OK | otherwise |

use crate::attitude::{Attitude, Counts, DropReason, Estimate};
use crate::ros::convert::Refusal;
use crate::ros::diagnostics::{Level, Percentiles, Received, SILENCE};
use r2r::diagnostic_msgs::msg::{DiagnosticStatus, KeyValue};
use std::collections::BTreeMap;
use std::time::Duration;

/// A torque under which the body turns too fast for a step.
pub const NOT_INTEGRATED: &str = "not_integrated";

/// The state of the node at one instant. Counts are since its start.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Whether it takes input.
    pub enabled: bool,
    /// Of the topic the orientation comes from.
    pub input: Received,
    /// Of `mag`.
    pub field: Received,
    /// Time since the last message of that topic; `None` before the first.
    pub silence: Option<Duration>,
    /// What was left out, by reason.
    pub dropped: Dropped,
    /// Gaps that samples did not bridge.
    pub gaps: u64,
    /// How often time was set back.
    pub time_jumps: u64,
    /// How often the vertical was lost, and found again.
    pub levellings: u64,
    /// The newest estimate of the filter.
    pub estimate: Option<Estimate>,
    /// From the arrival of a message to the end of its publication, µs, since the last report.
    pub step_us: Percentiles,
}

/// Counts by reason: the filter's and the node's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dropped(BTreeMap<&'static str, u64>);

impl Default for Dropped {
    fn default() -> Self {
        let words = DropReason::ALL.iter().map(|r| r.word()).chain(Refusal::WORDS).chain([NOT_INTEGRATED]);
        Self(words.map(|word| (word, 0)).collect())
    }
}

impl Dropped {
    /// One more of `reason`.
    pub fn add(&mut self, reason: &'static str) {
        *self.0.entry(reason).or_default() += 1;
    }

    /// These, with those of the filter.
    pub fn with(&self, filter: &Counts) -> Self {
        let mut all = self.clone();
        for reason in DropReason::ALL {
            *all.0.entry(reason.word()).or_default() += filter.get(reason);
        }
        all
    }

    fn since(&self, earlier: &Self) -> impl Iterator<Item = (&'static str, u64)> {
        let before = |word: &str| earlier.0.get(word).copied().unwrap_or_default();
        self.0.iter().map(move |(word, n)| (*word, n.saturating_sub(before(word)))).filter(|(_, n)| *n > 0)
    }
}

/// Reasons that every sensor has every day: they do not make a warning by themselves.
fn is_ordinary(word: &str) -> bool {
    let ordinary = |reason: &DropReason| !reason.is_of_input() || *reason == DropReason::Disturbed;
    word == DropReason::Disabled.word() || DropReason::ALL.iter().any(|r| ordinary(r) && r.word() == word)
}

impl Report {
    /// What the filter knows, with what the node has counted.
    pub fn with_filter(self, attitude: &Attitude) -> Self {
        Self {
            enabled: attitude.enabled(),
            dropped: self.dropped.with(attitude.counts()),
            gaps: attitude.gaps(),
            time_jumps: attitude.time_jumps(),
            levellings: attitude.levellings(),
            estimate: attitude.estimate(),
            ..self
        }
    }
}

/// Level and sentence for the time between two reports, by the table of this module.
pub fn judge(before: &Report, now: &Report) -> (Level, String) {
    let mut findings: Vec<(Level, String)> = Vec::new();
    let dropped: Vec<(&str, u64)> = now.dropped.since(&before.dropped).collect();
    let listed = || dropped.iter().map(|(word, n)| format!("{word} {n}")).collect::<Vec<_>>().join(", ");
    let (received, used) = (now.input.received - before.input.received, now.input.used - before.input.used);
    if now.enabled && received > 0 && used == 0 {
        findings.push((Level::Error, format!("none of {received} messages could be used: {}", listed())));
    } else if dropped.iter().any(|(word, _)| !is_ordinary(word)) {
        findings.push((Level::Warn, format!("dropped: {}", listed())));
    }
    if !now.enabled {
        findings.push((Level::Warn, "switched off".into()));
    }
    match now.silence {
        None => findings.push((Level::Warn, "no input yet".into())),
        Some(silence) if silence > SILENCE => {
            findings.push((Level::Warn, format!("no input for {:.1} s", silence.as_secs_f64())));
        }
        Some(_) => (),
    }
    if now.gaps > before.gaps {
        findings.push((Level::Warn, format!("{} gaps in the input", now.gaps - before.gaps)));
    }
    if now.time_jumps > before.time_jumps {
        findings.push((Level::Warn, "time was set back".into()));
    }
    if now.levellings > before.levellings {
        findings.push((Level::Warn, "the vertical was far off: orientation and biases start anew".into()));
    }
    let level = findings.iter().map(|(level, _)| *level).max().unwrap_or(Level::Ok);
    let sentences: Vec<String> = findings.into_iter().map(|(_, sentence)| sentence).collect();
    match level {
        Level::Ok => (level, if now.estimate.is_some_and(|e| e.at_rest) { "at rest" } else { "running" }.to_owned()),
        _ => (level, sentences.join("; ")),
    }
}

/// The message for the time between two reports. `name` is that of the node.
pub fn status(name: &str, before: &Report, now: &Report) -> DiagnosticStatus {
    let (level, message) = judge(before, now);
    let mut values: Vec<KeyValue> = Vec::new();
    let mut say = |key: &str, value: String| values.push(KeyValue { key: key.to_owned(), value });
    say("enabled", now.enabled.to_string());
    for (topic, came) in [("input", now.input), ("mag", now.field)] {
        say(&format!("{topic}.received"), came.received.to_string());
        say(&format!("{topic}.used"), came.used.to_string());
    }
    say("gaps", now.gaps.to_string());
    say("time_jumps", now.time_jumps.to_string());
    say("levellings", now.levellings.to_string());
    if let Some(estimate) = &now.estimate {
        let std = |i: usize| estimate.orientation_covariance[(i, i)].max(0.0).sqrt();
        say("at_rest", estimate.at_rest.to_string());
        say("tilt_std_rad", format!("{:.6}", std(0).hypot(std(1))));
        say("yaw_std_rad", format!("{:.6}", std(2)));
        say("speed_std_mps", format!("{:.4}", estimate.speed_std));
        for (axis, bias) in ["x", "y", "z"].into_iter().zip(estimate.gyro_bias.iter()) {
            say(&format!("gyro_bias.{axis}"), format!("{bias:.6}"));
        }
    }
    for (quantile, value) in [("p50", now.step_us.p50), ("p99", now.step_us.p99), ("max", now.step_us.max)] {
        say(&format!("step_us.{quantile}"), format!("{value:.3}"));
    }
    for (word, count) in &now.dropped.0 {
        say(&format!("dropped.{word}"), count.to_string());
    }
    DiagnosticStatus {
        level: level as u8,
        name: format!("{name}: attitude"),
        message,
        hardware_id: String::new(),
        values,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn running() -> Report {
        Report { enabled: true, silence: Some(Duration::from_millis(1)), ..Report::default() }
    }

    #[test]
    fn each_row_of_the_table_has_its_level() {
        let level = |change: &dyn Fn(&mut Report)| {
            let mut now = running();
            now.input = Received { received: 10, used: 10 };
            change(&mut now);
            judge(&running(), &now)
        };
        assert_eq!(level(&|_| ()), (Level::Ok, "running".to_owned()));
        assert_eq!(level(&|r| r.input.used = 0).0, Level::Error);
        assert_eq!(level(&|r| r.enabled = false).0, Level::Warn);
        assert_eq!(level(&|r| r.silence = None).0, Level::Warn);
        assert_eq!(level(&|r| r.silence = Some(Duration::from_secs(2))).0, Level::Warn);
        assert_eq!(level(&|r| r.dropped.add("too_late")), (Level::Warn, "dropped: too_late 1".to_owned()));
        assert_eq!(level(&|r| r.dropped.add("not_just_gravity")).0, Level::Ok);
        assert_eq!(level(&|r| r.gaps = 1).0, Level::Warn);
        assert_eq!(level(&|r| r.time_jumps = 1).0, Level::Warn);
        assert_eq!(level(&|r| r.levellings = 1).0, Level::Warn);
    }

    #[test]
    fn every_reason_is_listed_whether_it_happened_or_not() {
        let status = status("robot/attitude_node", &running(), &running());
        assert_eq!(status.name, "robot/attitude_node: attitude");
        for word in DropReason::ALL.iter().map(|r| r.word()).chain(Refusal::WORDS) {
            let key = format!("dropped.{word}");
            assert!(status.values.iter().any(|v| v.key == key && v.value == "0"), "{key}");
        }
    }
}
