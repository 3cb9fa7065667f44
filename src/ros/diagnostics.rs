//! What the node says about itself on `/diagnostics`, once a second: a pure function of two reports.
//!
//! | level | when, since the last report |
//! |---|---|
//! | ERROR | odometry came and none of it could be used; or clouds came and none could |
//! | WARN | the filter is switched off |
//! | WARN | no odometry yet, or none for more than [`SILENCE`] |
//! | WARN | input was dropped for a reason that is not [`ORDINARY`] |
//! | WARN | more than half of at least [`FEW`] observations were left out |
//! | WARN | the gate was opened: it had left out most of what was seen for too long |
//! | WARN | time was set back |
//! | OK | otherwise |
//!
//! Every reason is listed with its count since the start, whether it happened or not: `dropped.<reason>`.

use crate::filter::{CalibrationEstimate, Counts, DropReason};
use crate::ros::convert::Refusal;
use r2r::diagnostic_msgs::msg::{DiagnosticStatus, KeyValue};
use std::collections::BTreeMap;
use std::time::Duration;

/// Odometry that is not there for this long is missed.
pub const SILENCE: Duration = Duration::from_secs(1);

/// Fewer observations than this say nothing about the filter.
pub const FEW: u64 = 8;

/// Reasons that a healthy robot has every day: they do not make a warning by themselves.
pub const ORDINARY: [DropReason; 4] =
    [DropReason::Gated, DropReason::OutOfRange, DropReason::Ambiguous, DropReason::Disabled];

/// Input that was lost before anybody read it.
pub const QUEUE_FULL: &str = "queue_full";

/// An odometry message whose pose is no pose: it was used, but there is no map → odom for it.
pub const NO_ODOM_POSE: &str = "no_odom_pose";

/// OK, WARN and ERROR of `diagnostic_msgs/DiagnosticStatus`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// All is well.
    Ok = 0,
    /// Somebody should look.
    Warn = 1,
    /// The node cannot do its work.
    Error = 2,
}

/// What came and what became of it, since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// Messages that came.
    pub received: u64,
    /// Of these, those the filter took.
    pub used: u64,
}

/// The state of the node at one instant. Counts are since the start of the node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Whether the filter takes input.
    pub enabled: bool,
    /// Of `odom`.
    pub odometry: Received,
    /// Of `features`.
    pub features: Received,
    /// Of `imu`.
    pub imu: Received,
    /// Time since the last odometry message; `None` before the first.
    pub odometry_silence: Option<Duration>,
    /// Clouds processed.
    pub steps: u64,
    /// Observations that corrected the pose, or gave a new feature.
    pub observations_used: u64,
    /// Observations that were left out.
    pub observations_rejected: u64,
    /// Sum of the normalised innovations squared of all steps, and of their degrees of freedom.
    pub nis: (f64, u64),
    /// What was dropped, by reason.
    pub dropped: Dropped,
    /// How often the gate was opened because it had starved the filter.
    pub gate_openings: u64,
    /// What is calibrated while running, as known now.
    pub calibration: Vec<CalibrationEstimate>,
    /// Features in the map.
    pub map_features: usize,
    /// How often time was set back.
    pub time_jumps: u64,
    /// Standard deviations of position (m) and heading (rad); `None` before the first odometry.
    pub std: Option<(f64, f64)>,
    /// From the arrival of a cloud to the publication of its pose, ms, since the last report.
    pub latency_ms: Percentiles,
    /// Computing time of a step, µs, since the last report.
    pub step_us: Percentiles,
}

/// Counts by reason: the filter's and the node's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dropped(BTreeMap<&'static str, u64>);

impl Default for Dropped {
    fn default() -> Self {
        let words = DropReason::ALL.iter().map(|r| r.word()).chain(Refusal::WORDS).chain([QUEUE_FULL, NO_ODOM_POSE]);
        Self(words.map(|word| (word, 0)).collect())
    }
}

impl Dropped {
    /// One more of `reason`.
    pub fn add(&mut self, reason: &'static str) {
        *self.0.entry(reason).or_default() += 1;
    }

    /// How many of `reason`.
    pub fn get(&self, reason: &str) -> u64 {
        self.0.get(reason).copied().unwrap_or_default()
    }

    /// These, with those of the filter and of the queue.
    pub fn with(&self, filter: &Counts, queue_full: u64) -> Self {
        let mut all = self.clone();
        for reason in DropReason::ALL {
            *all.0.entry(reason.word()).or_default() += filter.get(reason);
        }
        *all.0.entry(QUEUE_FULL).or_default() += queue_full;
        all
    }

    fn since(&self, earlier: &Self) -> impl Iterator<Item = (&'static str, u64)> {
        self.0.iter().map(|(word, n)| (*word, n.saturating_sub(earlier.get(word)))).filter(|(_, n)| *n > 0)
    }
}

/// Median, 99th percentile and maximum of a few numbers; zeros of none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Percentiles {
    /// Half of the numbers are at most this.
    pub p50: f64,
    /// All but one in a hundred are at most this.
    pub p99: f64,
    /// The largest.
    pub max: f64,
}

impl Percentiles {
    /// Of `values`, which are sorted on the way.
    pub fn of(values: &mut [f64]) -> Self {
        values.sort_unstable_by(f64::total_cmp);
        let at = |q: f64| match values.len() {
            0 => 0.0,
            n => values[((n as f64 * q).ceil() as usize).clamp(1, n) - 1],
        };
        Self { p50: at(0.5), p99: at(0.99), max: at(1.0) }
    }
}

/// Level and sentence for the time between two reports, by the table of this module.
pub fn judge(before: &Report, now: &Report) -> (Level, String) {
    let mut findings: Vec<(Level, String)> = Vec::new();
    let dropped: Vec<String> = now.dropped.since(&before.dropped).map(|(word, n)| format!("{word} {n}")).collect();
    let unusable = |what: &str, was: Received, is: Received| {
        let (received, used) = (is.received - was.received, is.used - was.used);
        (now.enabled && received > 0 && used == 0)
            .then(|| (Level::Error, format!("none of {received} {what} could be used: {}", dropped.join(", "))))
    };
    findings.extend(unusable("odometry messages", before.odometry, now.odometry));
    findings.extend(unusable("clouds", before.features, now.features));
    if !now.enabled {
        findings.push((Level::Warn, "switched off".into()));
    }
    match now.odometry_silence {
        None => findings.push((Level::Warn, "no odometry yet".into())),
        Some(silence) if silence > SILENCE => {
            findings.push((Level::Warn, format!("no odometry for {:.1} s", silence.as_secs_f64())));
        }
        Some(_) => (),
    }
    let ordinary = |word: &str| ORDINARY.iter().any(|reason| reason.word() == word);
    if now.dropped.since(&before.dropped).any(|(word, _)| !ordinary(word)) {
        findings.push((Level::Warn, format!("dropped: {}", dropped.join(", "))));
    }
    let rejected = now.observations_rejected - before.observations_rejected;
    let seen = rejected + now.observations_used - before.observations_used;
    if seen >= FEW && 2 * rejected > seen {
        let text = format!("{rejected} of {seen} observations left out: pose lost, or noise parameters too small?");
        findings.push((Level::Warn, text));
    }
    if now.gate_openings > before.gate_openings {
        findings.push((Level::Warn, "the gate had starved the filter and was opened: was the robot moved?".into()));
    }
    if now.time_jumps > before.time_jumps {
        findings.push((Level::Warn, "time was set back".into()));
    }
    let level = findings.iter().map(|(level, _)| *level).max().unwrap_or(Level::Ok);
    let sentences: Vec<String> = findings.into_iter().map(|(_, sentence)| sentence).collect();
    match level {
        Level::Ok => (level, format!("running, {} features", now.map_features)),
        _ => (level, sentences.join("; ")),
    }
}

/// The message for the time between two reports. `name` is that of the node.
pub fn status(name: &str, before: &Report, now: &Report) -> DiagnosticStatus {
    let (level, message) = judge(before, now);
    let mut values: Vec<KeyValue> = Vec::new();
    let mut say = |key: &str, value: String| values.push(KeyValue { key: key.to_owned(), value });
    say("enabled", now.enabled.to_string());
    for (topic, came) in [("odom", now.odometry), ("features", now.features), ("imu", now.imu)] {
        say(&format!("{topic}.received"), came.received.to_string());
        say(&format!("{topic}.used"), came.used.to_string());
    }
    say("steps", now.steps.to_string());
    say("observations.used", now.observations_used.to_string());
    say("observations.rejected", now.observations_rejected.to_string());
    say("map.features", now.map_features.to_string());
    say("gate.openings", now.gate_openings.to_string());
    say("time_jumps", now.time_jumps.to_string());
    if let Some((position, yaw)) = now.std {
        say("position_std_m", format!("{position:.6}"));
        say("yaw_std_rad", format!("{yaw:.6}"));
    }
    for estimate in &now.calibration {
        let word = estimate.parameter.word();
        say(&format!("calibration.{word}"), format!("{:.6}", estimate.value));
        say(&format!("calibration.{word}.std"), format!("{:.6}", estimate.std));
    }
    let dof = now.nis.1 - before.nis.1;
    if dof > 0 {
        say("nis_per_dof", format!("{:.3}", (now.nis.0 - before.nis.0) / dof as f64));
    }
    for (key, p) in [("latency_ms", now.latency_ms), ("step_us", now.step_us)] {
        for (quantile, value) in [("p50", p.p50), ("p99", p.p99), ("max", p.max)] {
            say(&format!("{key}.{quantile}"), format!("{value:.3}"));
        }
    }
    for (word, count) in &now.dropped.0 {
        say(&format!("dropped.{word}"), count.to_string());
    }
    DiagnosticStatus {
        level: level as u8,
        name: format!("{name}: filter"),
        message,
        hardware_id: String::new(),
        values,
    }
}

#[cfg(test)]
#[path = "diagnostics_tests.rs"]
mod tests;
