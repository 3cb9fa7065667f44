//! What `slam_node` counts and times, for `/diagnostics` and the log.

use super::health::Source;
use super::inputs::Inputs;
use super::report::{self, Report, Search};
use super::topic::Topic;
use crate::ros::diagnostics::{Dropped, Percentiles, Received};
use crate::ros::queue::Load;
use lienav_base::stamp::Stamp;
use lienav_slam::{PoseEstimate, Slam, Step};
use lienav_submaps::Submaps;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Clouds whose arrival is remembered until their pose is published; the filter lets fewer wait.
const WAITING: usize = 64;
/// Times kept for percentiles between two reports.
const SAMPLES: usize = 10_000;

/// Counts since the start, and times since the last report.
#[derive(Debug, Default)]
pub struct Tally {
    /// Of `odom`.
    pub odometry: Received,
    /// Of `features`.
    pub features: Received,
    /// Of `imu`.
    pub imu: Received,
    /// What the node itself dropped, by reason.
    pub dropped: Dropped,
    /// Times the clock was set back that the output has already followed.
    pub time_jumps_seen: u64,
    /// Maps saved.
    pub map_saves: u64,
    /// What is wrong with the file of the map.
    pub map_problem: Option<String>,
    /// Who else publishes map → odom, for the next report.
    pub tf_conflict: Option<String>,
    /// What became of the measurements of each source, for the next report.
    pub sources: Vec<Source>,
    /// What sources state twice, and differently: one sentence each.
    pub contradictions: Vec<String>,
    /// Whether `imu` is to be used.
    use_imu: bool,
    last_time_jump: Option<Instant>,
    steps: u64,
    measurements_used: u64,
    measurements_rejected: u64,
    nis: (f64, u64),
    waiting: VecDeque<(Stamp, Instant)>,
    latency_ms: Vec<f64>,
    odometry_latency_ms: Vec<f64>,
    step_us: Vec<f64>,
    last_step: Duration,
    input_age_s: Option<f64>,
    last_report: Report,
}

impl Tally {
    /// Of a node that uses `imu`, or does not.
    pub fn new(use_imu: bool) -> Self {
        Self { use_imu, ..Self::default() }
    }

    /// What belongs to an odometry message that arrived at `received`, `age_s` after its stamp by the clock of ROS, has
    /// been published.
    pub fn odometry_answered(&mut self, received: Instant, age_s: f64) {
        keep(&mut self.odometry_latency_ms, received.elapsed().as_secs_f64() * 1e3);
        self.input_age_s = Some(age_s);
    }

    /// Clouds processed.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// How long the last step took.
    pub fn last_step(&self) -> Duration {
        self.last_step
    }

    /// A cloud went into the filter for which it went back: no pose of it is to come.
    pub fn cloud_was_late(&mut self) {
        self.features.used += 1;
    }

    /// A cloud went into the filter that arrived at `received`.
    pub fn cloud_waits(&mut self, stamp: Stamp, received: Instant) {
        self.features.used += 1;
        if self.waiting.len() >= WAITING {
            self.waiting.pop_front();
        }
        self.waiting.push_back((stamp, received));
    }

    /// A cloud was processed within `took`.
    pub fn step(&mut self, step: &Step, took: Duration) {
        self.steps += 1;
        self.measurements_used += (step.accepted + step.added) as u64;
        self.measurements_rejected += step.rejected as u64;
        self.nis = (self.nis.0 + step.nis, self.nis.1 + step.dof as u64);
        self.last_step = took;
        keep(&mut self.step_us, took.as_secs_f64() * 1e6);
    }

    /// The pose of the cloud stamped `stamp` was published.
    pub fn published(&mut self, stamp: Stamp, at: Instant) {
        let waiting = self.waiting.iter().position(|(s, _)| *s == stamp);
        if let Some((_, received)) = waiting.and_then(|i| self.waiting.remove(i)) {
            keep(&mut self.latency_ms, at.saturating_duration_since(received).as_secs_f64() * 1e3);
        }
    }

    /// The message for `/diagnostics`; the times start anew.
    pub fn status(
        &mut self,
        name: &str,
        now: Instant,
        (slam, parts, predicted): (&Slam, Option<&Submaps>, Option<PoseEstimate>),
        inputs: &Inputs,
        load: &Load<{ Topic::COUNT }>,
        max_latency_s: f64,
    ) -> r2r::diagnostic_msgs::msg::DiagnosticStatus {
        if slam.time_jumps() > self.last_report.time_jumps {
            self.last_time_jump = Some(now);
        }
        let report = Report {
            enabled: slam.enabled(),
            odometry: self.odometry,
            features: self.features,
            imu: self.imu,
            odometry_silence: Topic::of_odometry()
                .filter_map(|topic| load.heard_on(topic.index()))
                .max()
                .map(|at| now.saturating_duration_since(at)),
            steps: self.steps,
            measurements_used: self.measurements_used,
            measurements_rejected: self.measurements_rejected,
            nis: self.nis,
            dropped: report::all_dropped(&self.dropped, slam.counts(), load),
            gate_openings: slam.gate_openings(),
            late_scans: slam.late_scans(),
            refilters: slam.refilters(),
            reinitialized: slam.reinitialized_landmarks(),
            hypotheses: slam.hypotheses(),
            calibration: parts.map_or_else(|| slam.calibration().collect(), |parts| parts.calibration(slam)),
            map_features: parts.map_or_else(|| slam.landmarks().count(), |parts| parts.count(slam)),
            parts: parts.map(|parts| parts.status().clone()),
            association: slam.association(),
            search: slam.search().map(Search::of),
            map_saves: self.map_saves,
            map_problem: self.map_problem.clone(),
            time_jumps: slam.time_jumps(),
            since_time_jump: self.last_time_jump.map(|at| now.saturating_duration_since(at)),
            tf_conflict: self.tf_conflict.clone(),
            sources: self.sources.clone(),
            contradictions: self.contradictions.clone(),
            use_imu: self.use_imu,
            standing_in: inputs.standing_in().map(str::to_owned),
            std: predicted.map(|e| (std(e.covariance.m11 + e.covariance.m22), std(e.covariance.m33))),
            latency_ms: Percentiles::of(&mut self.latency_ms),
            odometry_latency_ms: Percentiles::of(&mut self.odometry_latency_ms),
            waited_ms: load.oldest.map_or(0.0, |at| now.saturating_duration_since(at).as_secs_f64() * 1e3),
            max_latency_s,
            input_age_s: self.input_age_s.take(),
            step_us: Percentiles::of(&mut self.step_us),
        };
        self.latency_ms.clear();
        self.odometry_latency_ms.clear();
        self.step_us.clear();
        let status = report::status(name, &self.last_report, &report, |values| inputs.say(values));
        self.last_report = report;
        status
    }
}

/// Rounding may leave less than nothing; a variance that is clearly negative has no root, and that is to be seen.
fn std(variance: f64) -> f64 {
    if variance.abs() < 1e-12 { variance.max(0.0).sqrt() } else { variance.sqrt() }
}

fn keep(samples: &mut Vec<f64>, value: f64) {
    if samples.len() < SAMPLES {
        samples.push(value);
    }
}
