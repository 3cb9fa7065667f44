//! What the sources of the node state twice, compared ([`lienav_io::statements`]): a contradiction is a warning on
//! `/diagnostics` as long as it is found, and one line in the log.

use crate::ros::log::Log;
use lienav_base::stamp::Stamp;
use lienav_io::convert;
use lienav_io::intake::OdometryOf;
use lienav_io::messages::{Imu, NavSatFix};
use lienav_io::statements::{ClockCheck, Finding, FixCheck, InertialCheck, OdometryCheck};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// Clocks are compared anew so often, so that a clock that was set right is found right.
const CLOCK_WINDOW: Duration = Duration::from_secs(60);

/// The checks of all sources.
pub struct Statements {
    /// Reception is timed by the clock of the machine that counts up from here: no setting of clocks moves it.
    begun: Instant,
    odometry: Vec<(String, OdometryCheck)>,
    fixes: FixCheck,
    inertial: InertialCheck,
    clocks: ClockCheck,
    clocks_since: Instant,
    /// What the clocks were found to be in the window before.
    clocks_before: Vec<Finding>,
    /// Contradictions that the log has: the topic, the word, and which of that word it is.
    logged: BTreeSet<(String, &'static str, usize)>,
}

impl Statements {
    /// Of the sources of odometry with these topics, the first of which has the clock that others are compared with.
    pub fn new<'a>(odometry: impl Iterator<Item = &'a str>) -> Self {
        let odometry: Vec<_> = odometry.map(|topic| (topic.to_owned(), OdometryCheck::default())).collect();
        let now = Instant::now();
        Self {
            begun: now,
            clocks: ClockCheck::new(odometry.first().map_or("odom", |(topic, _)| topic)),
            odometry,
            fixes: FixCheck::default(),
            inertial: InertialCheck::default(),
            clocks_since: now,
            clocks_before: Vec::new(),
            logged: BTreeSet::new(),
        }
    }

    /// Forgets what was stated: time, or the run, is reinitialized.
    pub fn restart(&mut self) {
        let topics: Vec<String> = self.odometry.drain(..).map(|(topic, _)| topic).collect();
        let logged = std::mem::take(&mut self.logged);
        *self = Self { logged, ..Self::new(topics.iter().map(String::as_str)) };
    }

    /// A message with this stamp came on a topic at `received`.
    pub fn stamped(&mut self, topic: &str, stamp: Stamp, received: Instant) {
        let received_s = received.saturating_duration_since(self.begun).as_secs_f64();
        self.clocks.add(topic, stamp, Stamp::from_secs(received_s));
    }

    /// Odometry of the source with this number, as it came.
    pub fn odometry(&mut self, source: u8, message: &OdometryOf) {
        if let (Some((_, check)), OdometryOf::Odometry(message)) = (self.odometry.get_mut(usize::from(source)), message)
        {
            check.add(message);
        }
    }

    /// A fix.
    pub fn fix(&mut self, message: &NavSatFix) {
        self.fixes.add(message);
    }

    /// An inertial message; one without acceleration or rate states nothing twice.
    pub fn imu(&mut self, message: &Imu) {
        if let Ok(sample) = convert::imu_sample(message, &[]) {
            self.inertial.add(&sample);
        }
    }

    /// The contradictions that are found now, one sentence each with both numbers. A new one is logged.
    pub fn contradictions(&mut self, log: &Log) -> Vec<String> {
        let mut found = self.clocks();
        for (topic, check) in &self.odometry {
            found.extend(check.findings(topic));
        }
        found.extend(self.fixes.findings("fix"));
        found.extend(self.inertial.findings("imu"));
        for (k, finding) in found.iter().enumerate() {
            let is_alike = |other: &&Finding| (&other.topic, other.word) == (&finding.topic, finding.word);
            let nth = found.iter().take(k).filter(is_alike).count();
            if self.logged.insert((finding.topic.clone(), finding.word, nth)) {
                log.warn(&finding.sentence);
            }
        }
        found.into_iter().map(|finding| finding.sentence).collect()
    }

    /// What the clocks of the topics are found to be, in this window or else in the last one.
    fn clocks(&mut self) -> Vec<Finding> {
        let found = self.clocks.findings();
        if self.clocks_since.elapsed() < CLOCK_WINDOW {
            return if found.is_empty() { self.clocks_before.clone() } else { found };
        }
        let reference = self.odometry.first().map_or("odom", |(topic, _)| topic);
        (self.clocks, self.clocks_since) = (ClockCheck::new(reference), Instant::now());
        self.clocks_before.clone_from(&found);
        found
    }
}
