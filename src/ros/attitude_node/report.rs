//! What `attitude_node` says about itself on `/diagnostics`, once a second: a pure function of two reports.
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
//! | WARN | force and gravity, or rates and the turning of gravity, contradict each other |
//! | OK | otherwise |

use crate::ros::diagnostics::{Dropped, Findings, Level, Percentiles, Received, Values, listed};
use lienav_attitude::{Attitude, Counts, DropReason, Estimate};
use lienav_io::bag::UNREADABLE;
use lienav_io::convert::Refusal;
use r2r::diagnostic_msgs::msg::DiagnosticStatus;
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
    /// What the sensor states twice, and differently: one sentence each, with both numbers.
    pub contradictions: Vec<String>,
    /// From the arrival of a message to the end of its publication, µs, since the last report.
    pub step_us: Percentiles,
}

/// What the node has counted, with what the filter has: every reason there is, whether it happened or not.
fn all_dropped(node: &Dropped, filter: &Counts) -> Dropped {
    let of_filter = DropReason::ALL.iter().map(|&reason| (reason.word(), filter.get(reason)));
    let of_node = Refusal::WORDS.into_iter().chain([NOT_INTEGRATED, UNREADABLE]).map(|word| (word, 0));
    node.with(of_filter.chain(of_node))
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
            dropped: all_dropped(&self.dropped, attitude.counts()),
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
    let mut findings = Findings::default();
    let dropped = now.dropped.since(&before.dropped);
    let (received, used) = now.input.since(before.input);
    if now.enabled && received > 0 && used == 0 {
        findings.error(format!("none of {received} messages could be used: {}", listed(&dropped)));
    } else if dropped.iter().any(|(word, _)| !is_ordinary(word)) {
        findings.warn(format!("dropped: {}", listed(&dropped)));
    }
    if !now.enabled {
        findings.warn("switched off");
    }
    findings.silence("input", now.silence);
    if now.gaps > before.gaps {
        findings.warn(format!("{} gaps in the input", now.gaps - before.gaps));
    }
    if now.time_jumps > before.time_jumps {
        findings.warn("time was set back");
    }
    if now.levellings > before.levellings {
        findings.warn("the estimated vertical contradicted gravity: orientation and biases were initialized again");
    }
    now.contradictions.iter().for_each(|sentence| findings.warn(sentence.as_str()));
    findings.verdict(|| if now.estimate.is_some_and(|e| e.at_rest) { "at rest" } else { "running" }.into())
}

/// The message for the time between two reports. `name` is that of the node.
pub fn status(name: &str, before: &Report, now: &Report) -> DiagnosticStatus {
    let mut values = Values::default();
    values.say("enabled", now.enabled);
    values.received("input", now.input);
    values.received("mag", now.field);
    values.say("gaps", now.gaps);
    values.say("time_jumps", now.time_jumps);
    values.say("levellings", now.levellings);
    if let Some(estimate) = &now.estimate {
        let variances = estimate.orientation_covariance.diagonal();
        let [roll, pitch, yaw] = <[f64; 3]>::from(variances).map(|variance| variance.max(0.0).sqrt());
        values.say("at_rest", estimate.at_rest);
        values.say("tilt_std_rad", format_args!("{:.6}", roll.hypot(pitch)));
        values.say("yaw_std_rad", format_args!("{yaw:.6}"));
        values.say("reach_std_m", format_args!("{:.4}", estimate.reach_std));
        for (axis, bias) in ["x", "y", "z"].into_iter().zip(estimate.gyro_bias.iter()) {
            values.say(&format!("gyro_bias.{axis}"), format_args!("{bias:.6}"));
        }
    }
    values.percentiles("step_us", now.step_us);
    values.dropped(&now.dropped);
    values.status(format!("{name}: attitude"), judge(before, now))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn running() -> Report {
        Report {
            enabled: true,
            silence: Some(Duration::from_millis(1)),
            dropped: all_dropped(&Dropped::default(), &Counts::default()),
            ..Report::default()
        }
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
        assert_eq!(level(&|r| r.dropped.add("not_at_rest")).0, Level::Ok);
        assert_eq!(level(&|r| r.gaps = 1).0, Level::Warn);
        assert_eq!(level(&|r| r.time_jumps = 1).0, Level::Warn);
        assert_eq!(level(&|r| r.levellings = 1).0, Level::Warn);
        let said = "at rest the force of imu is 1.00 m/s²";
        assert_eq!(level(&|r| r.contradictions.push(said.into())), (Level::Warn, said.to_owned()));
    }

    #[test]
    fn every_reason_is_listed_whether_it_happened_or_not() {
        let status = status("robot/attitude_node", &running(), &running());
        assert_eq!(status.name, "robot/attitude_node: attitude");
        for word in DropReason::ALL.iter().map(|r| r.word()).chain(Refusal::WORDS).chain([UNREADABLE]) {
            let key = format!("dropped.{word}");
            assert!(status.values.iter().any(|v| v.key == key && v.value == "0"), "{key}");
        }
    }
}
