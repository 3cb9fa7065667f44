//! What `slam_node` says about itself on `/diagnostics`, once a second: a pure function of two reports.
//!
//! | level | when, since the last report |
//! |---|---|
//! | ERROR | odometry came and none of it could be used; or clouds came and none could |
//! | ERROR | the position's standard deviation is beyond [`MAX_POSITION_STD_M`], or is no number |
//! | ERROR | the covariance of the filter was invalid, and it was reinitialized |
//! | ERROR | the robot is searched for, and what is seen is not in the map |
//! | ERROR | somebody else publishes a transform to the odometry frame, as this node does |
//! | WARN | the robot is searched for in the known map, or may be at several poses that nothing tells apart |
//! | WARN | the filter is switched off |
//! | WARN | no odometry yet, or none for more than a second |
//! | WARN | input was dropped for a reason that is not [`ORDINARY`] |
//! | WARN | more than half of at least [`FEW`] measurements were left out |
//! | WARN | the gate was opened: it had left out most of what was seen for too long |
//! | WARN | time was set back, in the last [`RECENT`] |
//! | WARN | the map was full: new features were left out |
//! | WARN | the map could not be read from its file, or not be saved |
//! | WARN | messages of a second clock were dropped |
//! | WARN | overload: clouds were skipped, the queue was full, or the output was older than `max_latency_s` |
//! | ERROR | overload, and the output was older than [`LATE_S`] |
//! | WARN | odometry comes from one of `odometry.fallbacks`, since a better source is silent |
//! | WARN | odometry is older than [`OLD_S`] by the clock of ROS when it arrives, and not by hours |
//! | WARN | a sensor or a receiver is starved beside one that is used, by the table of [`super::health`] |
//! | WARN | a source contradicts itself, or its clock that of the odometry ([`lienav_io::statements`]) |
//! | WARN | `use_imu` is set, and odometry came but nothing on `imu` |
//! | OK | otherwise |
//!
//! Every reason is listed with its count since the start, whether it happened or not: `dropped.<reason>`.

use super::health::{self, Source};
use super::topic::Topic;
use crate::ros::diagnostics::{Dropped, Findings, Level, Percentiles, Received, SILENCE, Values, listed};
use crate::ros::queue::Load;
use lienav_io::bag::UNREADABLE;
use lienav_io::convert::Refusal;
use lienav_io::intake::STANDBY;
use lienav_slam::{AssociationTally, CalibrationEstimate, Counts, DropReason, GlobalLocalization, Verdict};
use lienav_submaps::Status;
use r2r::diagnostic_msgs::msg::DiagnosticStatus;
use std::time::Duration;

/// Fewer measurements than this say nothing about the filter.
pub const FEW: u64 = 8;

/// A position that is less certain than this says nothing, m.
pub const MAX_POSITION_STD_M: f64 = 1e3;

/// So long is a jump of time warned of.
pub const RECENT: Duration = Duration::from_secs(10);

/// Reasons that a healthy robot has every day: they do not make a warning by themselves.
pub const ORDINARY: [DropReason; 4] =
    [DropReason::Gated, DropReason::OutOfRange, DropReason::Ambiguous, DropReason::Disabled];

/// Input that was lost before anybody read it.
pub const QUEUE_FULL: &str = "queue_full";

/// A cloud that was skipped because it had waited for too long and a newer one was there.
pub const STALE: &str = "stale";

/// Output that is older than this is of no use to a robot that drives, s.
pub const LATE_S: f64 = 2.0;

/// Odometry that is older than this when it arrives was delayed, or its clock is another one, s.
pub const OLD_S: f64 = 1.0;

/// Odometry that is older than this was recorded, s.
const RECORDED_S: f64 = 3600.0;

/// What is said where [`DropReason::InvalidCovariance`] was counted.
pub const REINITIALIZED: &str = "the covariance was not positive semidefinite: the filter goes on at its last valid pose \
     without the map that it had made (a known map stays); look for covariances and noise parameters that are wrong by \
     orders of magnitude, and report it with a bag";

/// An odometry message whose pose is no pose: it was used, but there is no map → odom for it.
pub const NO_ODOM_POSE: &str = "no_odom_pose";

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
    /// Measurements that corrected the pose, or gave a new feature.
    pub measurements_used: u64,
    /// Measurements that were left out.
    pub measurements_rejected: u64,
    /// Sum of the normalised innovations squared of all steps, and of their degrees of freedom.
    pub nis: (f64, u64),
    /// What was dropped, by reason.
    pub dropped: Dropped,
    /// How often the gate was opened because it had starved the filter.
    pub gate_openings: u64,
    /// Clouds that were taken in by going back.
    pub late_scans: u64,
    /// How often clouds were taken in again, with the noise that they had taught.
    pub refilters: u64,
    /// Landmarks that were not where the map had them, and began anew.
    pub reinitialized: u64,
    /// Hypotheses of where the robot is in a frozen map.
    pub hypotheses: usize,
    /// What is calibrated while running, as known now.
    pub calibration: Vec<CalibrationEstimate>,
    /// Features in the map.
    pub map_features: usize,
    /// What became of the parts of the map, where it is made in parts.
    pub parts: Option<Status>,
    /// What association without identities did so far.
    pub association: AssociationTally,
    /// How far the search for the robot in the known map is; `None` if its pose is known.
    pub search: Option<Search>,
    /// Maps saved.
    pub map_saves: u64,
    /// What is wrong with the file of the map, until it is read or written as it should be.
    pub map_problem: Option<String>,
    /// How often time was set back.
    pub time_jumps: u64,
    /// Time since a report first had the last of them; `None` if there was none.
    pub since_time_jump: Option<Duration>,
    /// Who else publishes a transform to the odometry frame.
    pub tf_conflict: Option<String>,
    /// What became of the messages and measurements of each source.
    pub sources: Vec<Source>,
    /// What sources state twice, and differently: one sentence each, with both numbers.
    pub contradictions: Vec<String>,
    /// Whether `imu` is to be used.
    pub use_imu: bool,
    /// The topic that odometry comes from while `odom` is silent.
    pub standing_in: Option<String>,
    /// Standard deviations of position (m) and heading (rad), NaN for a variance that is negative or no number; `None`
    /// before the first odometry.
    pub std: Option<(f64, f64)>,
    /// From the arrival of a cloud to the publication of its pose, ms, since the last report.
    pub latency_ms: Percentiles,
    /// From the arrival of odometry to the publication of what belongs to it, ms, since the last report.
    pub odometry_latency_ms: Percentiles,
    /// So long has the message waited that is next, ms.
    pub waited_ms: f64,
    /// Older output than this, s, is overload.
    pub max_latency_s: f64,
    /// How old the newest odometry was by the clock of ROS when it had been processed, s; `None` if none came since the
    /// last report.
    pub input_age_s: Option<f64>,
    /// Computing time of a step, µs, since the last report.
    pub step_us: Percentiles,
}

/// A search for the robot in the known map.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Search {
    /// Poses that the robot may have.
    pub candidates: usize,
    /// The probability of the most probable of them.
    pub best: f64,
    /// The probability that it is at none of them.
    pub elsewhere: f64,
    /// Whether nothing that was seen tells them apart.
    pub is_ambiguous: bool,
    /// Whether what was seen is not in the map.
    pub is_refuted: bool,
}

impl Search {
    /// As it stands.
    pub fn of(search: &GlobalLocalization) -> Self {
        let (candidates, verdict) = (search.candidates(), search.verdict());
        Self {
            candidates: candidates.len(),
            best: candidates.iter().map(|candidate| candidate.probability).fold(0.0, f64::max),
            elsewhere: search.elsewhere(),
            is_ambiguous: verdict == Verdict::Ambiguous,
            is_refuted: verdict == Verdict::Nothing,
        }
    }

    fn judge(&self, findings: &mut Findings) {
        let Self { candidates, best, elsewhere, .. } = self;
        if self.is_refuted {
            findings.error("what is seen is not in this map: is it the right one, and is map_frame its frame?");
        } else if self.is_ambiguous {
            findings.warn(format!(
                "the robot is at one of {candidates} poses that nothing tells apart: drive on, or send initialpose"
            ));
        } else {
            findings.warn(format!(
                "searching for the robot: {candidates} poses, the best with probability {best:.3}, none of them with \
                 {elsewhere:.3}"
            ));
        }
    }
}

impl Report {
    /// The greatest age of what was published since the last report or is next to be, from the arrival of its input,
    /// ms.
    fn output_age_ms(&self) -> f64 {
        self.latency_ms.max.max(self.odometry_latency_ms.max).max(self.waited_ms)
    }
}

/// What the node has counted, with what the filter and the queue have: every reason there is, whether it happened or
/// not.
pub fn all_dropped(node: &Dropped, filter: &Counts, load: &Load<{ Topic::COUNT }>) -> Dropped {
    let of_filter = DropReason::ALL.iter().map(|&reason| (reason.word(), filter.get(reason)));
    let of_node = Refusal::WORDS.into_iter().chain([NO_ODOM_POSE, UNREADABLE, STANDBY]).map(|word| (word, 0));
    node.with(of_filter.chain(of_node).chain([(QUEUE_FULL, load.dropped), (STALE, load.superseded)]))
}

/// Level and sentence for the time between two reports, by the table of this module.
pub fn judge(before: &Report, now: &Report) -> (Level, String) {
    let mut findings = Findings::default();
    let mut dropped = now.dropped.since(&before.dropped);
    if now.odometry_silence.is_none_or(|silence| silence > SILENCE) {
        // All others run ahead of odometry that is missing: it is what is missing.
        dropped.retain(|(word, _)| *word != DropReason::FromTheFuture.word());
    }
    for (what, was, is) in
        [("odometry messages", before.odometry, now.odometry), ("clouds", before.features, now.features)]
    {
        let (received, used) = is.since(was);
        if now.enabled && received > 0 && used == 0 {
            let why = if dropped.is_empty() { "they wait for odometry".to_owned() } else { listed(&dropped) };
            findings.error(format!("none of {received} {what} could be used: {why}"));
        }
    }
    if let Some((position, _)) = now.std
        && (position.is_nan() || position > MAX_POSITION_STD_M)
    {
        findings.error(format!(
            "the position has a standard deviation of {position:.1e} m: the estimate is unusable; send initialpose or \
            call ~/reset"
        ));
    }
    let invalid = DropReason::InvalidCovariance.word();
    if dropped.iter().any(|(word, _)| *word == invalid) {
        findings.error(REINITIALIZED);
    }
    if let Some(conflict) = &now.tf_conflict {
        findings.error(conflict.as_str());
    }
    overload(&mut findings, before, now);
    if let Some(search) = &now.search {
        search.judge(&mut findings);
    }
    if !now.enabled {
        findings.warn("switched off");
    }
    let came = |is: Received, was: Received| is.since(was).0 > 0;
    if now.use_imu && came(now.odometry, before.odometry) && !came(now.imu, before.imu) {
        let ever = if now.imu.received == 0 { "has come" } else { "comes any more" };
        findings.warn(format!("use_imu is true, but no message {ever} on imu: remap it, or set use_imu to false"));
    }
    findings.silence("odometry", now.odometry_silence);
    health::judge(&mut findings, &now.sources);
    now.contradictions.iter().for_each(|sentence| findings.warn(sentence.as_str()));
    if let Some(topic) = &now.standing_in {
        findings.warn(format!("odometry comes from {topic}, since a better source is silent"));
    }
    if let Some(age) = now.input_age_s.filter(|age| (OLD_S..RECORDED_S).contains(age)) {
        findings.warn(format!(
            "odom is {age:.1} s old when it arrives: the clock of its publisher differs, or messages are delayed on \
            the way"
        ));
    }
    let ordinary = |word: &str| word == STANDBY || ORDINARY.iter().any(|reason| reason.word() == word);
    if dropped.iter().any(|(word, _)| !ordinary(word)) {
        findings.warn(format!("dropped: {}", listed(&dropped)));
    }
    let rejected = now.measurements_rejected - before.measurements_rejected;
    let seen = rejected + now.measurements_used - before.measurements_used;
    if seen >= FEW && 2 * rejected > seen {
        findings.warn(format!("{rejected} of {seen} observations left out: pose lost, or noise parameters too small?"));
    }
    if now.gate_openings > before.gate_openings {
        findings.warn("track loss: the gate rejected most observations and was opened: was the robot moved?");
    }
    if now.since_time_jump.is_some_and(|since| since <= RECENT) {
        findings.warn("time was set back");
    }
    let full = DropReason::MapFull.word();
    if dropped.iter().any(|(word, _)| *word == full) {
        findings.warn(
            "the map is full: raise map.max_features, set map.forget_after_s, or set map.when_full to submaps or \
             drop_oldest",
        );
    }
    if let (Some(parts), Some(was)) = (&now.parts, &before.parts) {
        if let Some(error) = parts.failure.filter(|_| parts.failed > was.failed) {
            findings.warn(format!("the parts of the map were not joined, the last map stays in force: {error}"));
        }
        let without_room = parts.without_room.saturating_sub(was.without_room);
        if without_room > 0 {
            findings.warn(format!("the map has no room for {without_room} landmarks: raise map.max_features"));
        }
    }
    if let Some(problem) = &now.map_problem {
        findings.warn(format!("the file of the map: {problem}"));
    }
    let second_clock = DropReason::SecondClock.word();
    if dropped.iter().any(|(word, _)| *word == second_clock) {
        findings
            .warn("two clocks on one topic, the second is dropped: look for another publisher (ros2 topic info -v)");
    }
    findings.verdict(|| format!("running, {} features", now.map_features))
}

/// Whether the machine keeps up with what comes.
fn overload(findings: &mut Findings, before: &Report, now: &Report) {
    let come = |word: &str| now.dropped.get(word).saturating_sub(before.dropped.get(word));
    let (skipped, lost) = (come(STALE), come(QUEUE_FULL));
    let age_s = now.output_age_ms() / 1e3;
    if skipped == 0 && lost == 0 && age_s <= now.max_latency_s {
        return;
    }
    let sentence = format!(
        "overload: the output is up to {age_s:.2} s old (max_latency_s is {}), a step takes up to {:.0} ms, \
         {skipped} clouds were skipped and {lost} messages lost: send fewer points, lower sensor.max_points or \
         map.max_features, or give the node more processor time",
        now.max_latency_s,
        now.step_us.max / 1e3,
    );
    if age_s > LATE_S { findings.error(sentence) } else { findings.warn(sentence) }
}

/// The message for the time between two reports. `name` is that of the node.
/// `others` says what is to be said of other inputs.
pub fn status(name: &str, before: &Report, now: &Report, others: impl FnOnce(&mut Values)) -> DiagnosticStatus {
    let mut values = Values::default();
    values.say("enabled", now.enabled);
    values.received("odom", now.odometry);
    values.received("features", now.features);
    values.received("imu", now.imu);
    others(&mut values);
    health::say(&now.sources, &mut values);
    values.say("steps", now.steps);
    values.say("observations.used", now.measurements_used);
    values.say("observations.rejected", now.measurements_rejected);
    values.say("map.features", now.map_features);
    if let Some(parts) = &now.parts {
        values.say("map.parts", parts.submaps);
        values.say("map.parts.kept", parts.kept);
        values.say("map.parts.joined", parts.solved_submaps);
        values.say("map.parts.age_clouds", parts.age_scans);
        values.say("map.parts.failed", parts.failed);
        values.say("map.parts.moved", parts.moved);
    }
    if now.reinitialized > 0 {
        values.say("map.begun_anew", now.reinitialized);
    }
    values.say("map.saves", now.map_saves);
    let AssociationTally { scans, confirmed, dropped, merged, loops, searched, taken_back, slips } = now.association;
    if scans > 0 {
        let counts = [confirmed, dropped, merged, loops, searched, taken_back, slips];
        let words = ["confirmed", "dropped", "merged", "loops", "searched", "taken_back", "slips"];
        for (word, count) in words.into_iter().zip(counts) {
            values.say(&format!("association.{word}"), count);
        }
    }
    if let Some(search) = &now.search {
        values.say("search.candidates", search.candidates);
        values.say("search.best", format_args!("{:.6}", search.best));
        values.say("search.elsewhere", format_args!("{:.6}", search.elsewhere));
    }
    if now.late_scans > 0 {
        values.say("features.late", now.late_scans);
    }
    if now.refilters > 0 {
        values.say("noise.second_looks", now.refilters);
    }
    if now.hypotheses > 1 {
        values.say("hypotheses", now.hypotheses);
    }
    values.say("gate.openings", now.gate_openings);
    values.say("time_jumps", now.time_jumps);
    if let Some((position, yaw)) = now.std {
        values.say("position_std_m", format_args!("{position:.6}"));
        values.say("yaw_std_rad", format_args!("{yaw:.6}"));
    }
    for estimate in &now.calibration {
        let word = estimate.parameter.word();
        values.say(&format!("calibration.{word}"), format_args!("{:.6}", estimate.value));
        values.say(&format!("calibration.{word}.std"), format_args!("{:.6}", estimate.std));
    }
    let dof = now.nis.1 - before.nis.1;
    if dof > 0 {
        values.say("nis_per_dof", format_args!("{:.3}", (now.nis.0 - before.nis.0) / dof as f64));
    }
    values.percentiles("latency_ms", now.latency_ms);
    values.percentiles("odom_latency_ms", now.odometry_latency_ms);
    values.say("queue.waited_ms", format_args!("{:.3}", now.waited_ms));
    values.say("output_age_ms", format_args!("{:.3}", now.output_age_ms()));
    if let Some(age) = now.input_age_s {
        values.say("input_age_s", format_args!("{age:.3}"));
    }
    values.percentiles("step_us", now.step_us);
    values.dropped(&now.dropped);
    values.status(format!("{name}: filter"), judge(before, now))
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
