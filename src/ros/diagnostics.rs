//! What nodes say about themselves on `/diagnostics`: what their reports have in common.

use super::clock::{RosClock, to_time};
use super::qos;
use super::qos_overrides::publisher;
use r2r::diagnostic_msgs::msg::{DiagnosticArray, DiagnosticStatus, KeyValue};
use r2r::{Node, Publisher};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::time::{Duration, Instant};

/// How often `/diagnostics` is published.
const PERIOD: Duration = Duration::from_secs(1);

/// Input that is not there for this long is missed.
pub const SILENCE: Duration = Duration::from_secs(1);

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

impl Received {
    /// How many came and were used since `earlier`.
    pub fn since(self, earlier: Self) -> (u64, u64) {
        (self.received - earlier.received, self.used - earlier.used)
    }
}

/// Counts of what was left out, by reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dropped(BTreeMap<&'static str, u64>);

impl Dropped {
    /// One more of `reason`.
    pub fn add(&mut self, reason: &'static str) {
        *self.0.entry(reason).or_default() += 1;
    }

    /// How many of `reason`.
    pub fn get(&self, reason: &str) -> u64 {
        self.0.get(reason).copied().unwrap_or_default()
    }

    /// These, and others that were counted elsewhere; what is there with 0 is listed all the same.
    pub fn with(&self, others: impl IntoIterator<Item = (&'static str, u64)>) -> Self {
        let mut all = self.clone();
        for (reason, count) in others {
            *all.0.entry(reason).or_default() += count;
        }
        all
    }

    /// What has come to these since they were `earlier`.
    pub fn since(&self, earlier: &Self) -> Vec<(&'static str, u64)> {
        let come = self.0.iter().map(|(reason, n)| (*reason, n.saturating_sub(earlier.get(reason))));
        come.filter(|(_, n)| *n > 0).collect()
    }
}

/// Reasons and how often, for a sentence.
pub fn listed(dropped: &[(&str, u64)]) -> String {
    dropped.iter().map(|(reason, n)| format!("{reason} {n}")).collect::<Vec<_>>().join(", ")
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
        let n = values.len();
        let at = |q: f64| {
            let place = ((n as f64 * q).ceil() as usize).min(n).saturating_sub(1);
            values.get(place).copied().unwrap_or(0.0)
        };
        Self { p50: at(0.5), p99: at(0.99), max: at(1.0) }
    }
}

/// What somebody should know, each with its level.
#[derive(Debug, Default)]
pub struct Findings(Vec<(Level, String)>);

impl Findings {
    /// The node cannot do its work.
    pub fn error(&mut self, sentence: impl Into<String>) {
        self.0.push((Level::Error, sentence.into()));
    }

    /// Somebody should look.
    pub fn warn(&mut self, sentence: impl Into<String>) {
        self.0.push((Level::Warn, sentence.into()));
    }

    /// Warns where `what` has not come for a second; `silence` is the time since it did, `None` if it never has.
    pub fn silence(&mut self, what: &str, silence: Option<Duration>) {
        match silence {
            None => self.warn(format!("no {what} yet")),
            Some(silence) if silence > SILENCE => self.warn(format!("no {what} for {:.1} s", silence.as_secs_f64())),
            Some(_) => (),
        }
    }

    /// The worst level, and all sentences; `healthy` where nothing was found.
    pub fn verdict(self, healthy: impl FnOnce() -> String) -> (Level, String) {
        match self.0.iter().map(|(level, _)| *level).max() {
            None => (Level::Ok, healthy()),
            Some(level) => (level, self.0.into_iter().map(|(_, sentence)| sentence).collect::<Vec<_>>().join("; ")),
        }
    }
}

/// The values of a status, in the order they are said in.
#[derive(Debug, Default)]
pub struct Values(Vec<KeyValue>);

impl Values {
    /// One value.
    pub fn say(&mut self, key: &str, value: impl Display) {
        self.0.push(KeyValue { key: key.to_owned(), value: value.to_string() });
    }

    /// `topic.received` and `topic.used`.
    pub fn received(&mut self, topic: &str, came: Received) {
        self.say(&format!("{topic}.received"), came.received);
        self.say(&format!("{topic}.used"), came.used);
    }

    /// `key.p50`, `key.p99` and `key.max`.
    pub fn percentiles(&mut self, key: &str, of: Percentiles) {
        for (quantile, value) in [("p50", of.p50), ("p99", of.p99), ("max", of.max)] {
            self.say(&format!("{key}.{quantile}"), format_args!("{value:.3}"));
        }
    }

    /// `dropped.<reason>` of each.
    pub fn dropped(&mut self, dropped: &Dropped) {
        for (reason, count) in &dropped.0 {
            self.say(&format!("dropped.{reason}"), count);
        }
    }

    /// The status of this name.
    pub fn status(self, name: String, (level, message): (Level, String)) -> DiagnosticStatus {
        DiagnosticStatus { level: level as u8, name, message, hardware_id: String::new(), values: self.0 }
    }
}

/// `/diagnostics`, once a second.
pub struct Diagnostics {
    publisher: Publisher<DiagnosticArray>,
    due: Instant,
    node: String,
}

impl Diagnostics {
    /// Of `node`; due for the first time in a second.
    ///
    /// # Errors
    /// ROS refuses the publisher.
    pub fn of(node: &mut Node) -> r2r::Result<Self> {
        Ok(Self {
            publisher: publisher(node, "/diagnostics", qos::reliable())?,
            due: Instant::now() + PERIOD,
            node: node.fully_qualified_name()?.trim_start_matches('/').to_owned(),
        })
    }

    /// The node's name, with its namespace.
    pub fn node(&self) -> &str {
        &self.node
    }

    /// Whether a status is due at `now`; the next one will be a second later.
    pub fn is_due(&mut self, now: Instant) -> bool {
        let is_due = now >= self.due;
        if is_due {
            self.due = (self.due + PERIOD).max(now);
        }
        is_due
    }

    /// Publishes what there is to say.
    ///
    /// # Errors
    /// ROS does not send it.
    pub fn publish(&self, clock: &RosClock, status: Vec<DiagnosticStatus>) -> r2r::Result<()> {
        let mut message = DiagnosticArray { status, ..Default::default() };
        message.header.stamp = to_time(clock.now());
        self.publisher.publish(&message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_of_few_numbers() {
        assert_eq!(Percentiles::of(&mut []), Percentiles::default());
        let mut values: Vec<f64> = (1..=200).rev().map(f64::from).collect();
        assert_eq!(Percentiles::of(&mut values), Percentiles { p50: 100.0, p99: 198.0, max: 200.0 });
    }

    #[test]
    fn the_worst_of_what_was_found_is_the_level() {
        let mut findings = Findings::default();
        findings.silence("odometry", Some(Duration::from_millis(999)));
        assert_eq!(findings.verdict(|| "running".into()), (Level::Ok, "running".into()));
        let mut findings = Findings::default();
        findings.silence("odometry", None);
        findings.error("broken");
        findings.silence("imu", Some(Duration::from_millis(1240)));
        let said = "no odometry yet; broken; no imu for 1.2 s".to_owned();
        assert_eq!(findings.verdict(String::new), (Level::Error, said));
    }

    #[test]
    fn what_was_counted_elsewhere_is_added_and_what_is_new_is_told() {
        let mut before = Dropped::default();
        before.add("absurd");
        let mut now = before.with([("too_late", 2)]);
        now.add("absurd");
        assert_eq!((now.get("absurd"), now.get("too_late"), now.get("never")), (2, 2, 0));
        assert_eq!(now.since(&before), [("absurd", 1), ("too_late", 2)]);
        assert_eq!(listed(&now.since(&before)), "absurd 1, too_late 2");
    }
}
