//! What the node does with whatever arrives: convert, check, step, publish.

use super::input::Event;
use super::output::Outputs;
use super::report::{self, NOT_INTEGRATED, Report};
use super::{SPECS, Settings};
use crate::ros::clock::RosClock;
use crate::ros::diagnostics::{Diagnostics, Dropped, Percentiles, Received};
use crate::ros::lifecycle::Lifecycle;
use crate::ros::log::Log;
use crate::ros::parameters::{Events, Parameters, use_sim_time};
use lienav_attitude::{Attitude, Body, BodyRefusal, DropReason};
use lienav_io::bag::UNREADABLE;
use lienav_io::bag::cdr::CdrError;
use lienav_io::convert::{self, Refusal};
use lienav_io::messages::{Imu, MagneticField, WrenchStamped};
use lienav_io::statements::{InertialCheck, biases};
use r2r::Node;
use r2r::std_srvs::srv::{SetBool, Trigger};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// Times kept for percentiles between two reports.
const SAMPLES: usize = 4096;

/// The filter, or the body, with all that surrounds it.
pub struct Worker {
    pub(super) attitude: Attitude,
    pub(super) body: Body,
    parameters: Parameters,
    pub(super) settings: Settings,
    pub(super) outputs: Outputs,
    diagnostics: Diagnostics,
    input: Received,
    field: Received,
    last_input: Option<Instant>,
    dropped: Dropped,
    /// What the sensor states twice, and the words of the contradictions that the log has.
    statements: InertialCheck,
    logged: BTreeSet<&'static str>,
    step_us: Vec<f64>,
    last_report: Report,
    time_jumps_seen: u64,
    events: Events,
    pub(super) clock: RosClock,
    pub(super) lifecycle: Lifecycle,
    pub(super) log: Log,
}

impl Worker {
    /// Advertises the topics of `node`.
    ///
    /// # Errors
    /// ROS refuses one of them.
    #[allow(clippy::too_many_arguments)]
    pub fn of(
        node: &mut Node,
        attitude: Attitude,
        body: Body,
        parameters: Parameters,
        settings: Settings,
        events: Events,
        clock: RosClock,
        lifecycle: Lifecycle,
        log: Log,
    ) -> r2r::Result<Self> {
        Ok(Self {
            outputs: Outputs::of(node, &settings)?,
            diagnostics: Diagnostics::of(node)?,
            input: Received::default(),
            field: Received::default(),
            last_input: None,
            dropped: Dropped::default(),
            statements: InertialCheck::default(),
            logged: BTreeSet::new(),
            step_us: Vec::with_capacity(SAMPLES),
            last_report: Report::default(),
            time_jumps_seen: 0,
            attitude,
            body,
            parameters,
            settings,
            events,
            clock,
            lifecycle,
            log,
        })
    }

    /// All parameters.
    pub fn parameters(&mut self) -> &mut Parameters {
        &mut self.parameters
    }

    /// The longest that samples wait to be taken together; zero for each at once.
    pub fn batch(&self) -> Duration {
        Duration::from_secs_f64(self.settings.batch_s)
    }

    /// Takes whatever arrives.
    pub fn take(&mut self, event: Event) {
        let Some(event) = self.unless_idle(event) else { return };
        match event {
            Event::Imu(message) => self.imu(&message),
            Event::MagneticField(message) => self.magnetic_field(&message),
            Event::Wrench(message) => self.wrench(&message),
            Event::Unreadable(topic, error) => self.unreadable(topic, &error),
            request => self.answer(request),
        }
    }

    fn imu(&mut self, message: &Imu) {
        let begun = self.received();
        let sample = match convert::imu_sample(message, &self.settings.imu()) {
            Ok(sample) => sample,
            Err(refusal) => return self.refuse("imu", &refusal),
        };
        self.statements.add(&sample);
        if let Err(reason) = self.attitude.imu(&sample) {
            return self.drop("imu", reason);
        }
        self.input.used += 1;
        self.follow_time_jumps();
        if let Some(estimate) = self.attitude.estimate() {
            let published = self.outputs.estimate(&estimate, message, &self.settings);
            self.log.sent(published);
        }
        self.finished(begun);
    }

    fn magnetic_field(&mut self, message: &MagneticField) {
        self.field.received += 1;
        let field = match convert::magnetic_field(message, &self.settings.imu()) {
            Ok(field) => field,
            Err(refusal) => return self.refuse("mag", &refusal),
        };
        match self.attitude.magnetic_field(&field) {
            Ok(()) => self.field.used += 1,
            // A disturbed field is no fault of the input, and indoors it is what there is.
            Err(DropReason::Disturbed) => (),
            Err(reason) => self.drop("mag", reason),
        }
    }

    fn wrench(&mut self, message: &WrenchStamped) {
        let begun = self.received();
        if !self.attitude.enabled() {
            return self.count("wrench", DropReason::Disabled.word());
        }
        let torque = match convert::torque(message, &self.settings.imu()) {
            Ok(torque) => torque,
            Err(refusal) => return self.refuse("wrench", &refusal),
        };
        match self.body.torque(&torque) {
            Ok(()) => self.input.used += 1,
            Err(BodyRefusal::Dropped(reason)) => return self.count("wrench", reason.word()),
            Err(BodyRefusal::NotIntegrated(_)) => return self.count("wrench", NOT_INTEGRATED),
        }
        let published = self.outputs.body(torque.stamp, &self.body, &self.settings);
        self.log.sent(published);
        self.finished(begun);
    }

    fn received(&mut self) -> Instant {
        let now = Instant::now();
        self.input.received += 1;
        self.last_input = Some(now);
        now
    }

    fn finished(&mut self, begun: Instant) {
        if self.step_us.len() < SAMPLES {
            self.step_us.push(begun.elapsed().as_secs_f64() * 1e6);
        }
    }

    /// Time was set back: stamps of the output start anew.
    fn follow_time_jumps(&mut self) {
        if self.attitude.time_jumps() != self.time_jumps_seen {
            self.time_jumps_seen = self.attitude.time_jumps();
            self.outputs.restart();
            self.log.warn("time jumped back: stamps of the output start anew");
        }
    }

    fn answer(&mut self, request: Event) {
        let answered = match request {
            Event::Parameters(request) => self.answer_about_parameters(request),
            Event::Lifecycle(request) => request.answer(self).map(|refused| {
                refused.inspect(|why| self.log.warn(why));
            }),
            Event::Reset(request) => {
                self.attitude.reset();
                self.body.reset();
                self.outputs.restart();
                self.statements = InertialCheck::default();
                self.log.info("reset");
                let message = "the filter was reset; it starts with the next message".to_owned();
                request.respond(Trigger::Response { success: true, message })
            }
            Event::SetEnabled(request) => {
                let enabled = request.message.data;
                self.attitude.set_enabled(enabled);
                let message = if enabled { "switched on" } else { "switched off" }.to_owned();
                self.log.info(&message);
                request.respond(SetBool::Response { success: true, message })
            }
            Event::Imu(_) | Event::MagneticField(_) | Event::Wrench(_) | Event::Unreadable(..) => Ok(()),
        };
        self.log.sent(answered);
    }

    fn answer_about_parameters(&mut self, request: crate::ros::parameters::Request) -> r2r::Result<()> {
        let before = self.parameters.clone();
        let (attitude, settings, clock) = (&mut self.attitude, &mut self.settings, &self.clock);
        request.answer(&mut self.parameters, |changed| {
            let node_settings: Settings = changed.read(SPECS).map_err(|e| e.to_string())?;
            attitude.reconfigure(changed.read(lienav_attitude::SPECS).map_err(|e| e.to_string())?)?;
            clock.simulate(use_sim_time(changed).map_err(|e| e.to_string())?);
            *settings = node_settings;
            Ok(())
        })?;
        self.events.changed(self.clock.now(), &before, &self.parameters)
    }

    /// What is due by the clock and not by input.
    pub fn look_after(&mut self) {
        let now = Instant::now();
        if !self.diagnostics.is_due(now) {
            return;
        }
        let report = Report {
            input: self.input,
            field: self.field,
            silence: self.last_input.map(|at| now.saturating_duration_since(at)),
            dropped: self.dropped.clone(),
            contradictions: self.contradictions(),
            step_us: Percentiles::of(&mut self.step_us),
            ..Report::default()
        };
        let report = report.with_filter(&self.attitude);
        self.step_us.clear();
        let status = report::status(self.diagnostics.node(), &self.last_report, &report);
        self.last_report = report;
        let published = self.diagnostics.publish(&self.clock, vec![self.lifecycle.with_state(status)]);
        self.log.sent(published);
    }

    /// What the sensor states twice, and differently. A new contradiction is logged.
    fn contradictions(&mut self) -> Vec<String> {
        let mut found = self.statements.findings("imu");
        if let Some(estimate) = self.attitude.estimate() {
            found.extend(biases("imu", self.attitude.config(), &estimate));
        }
        for finding in &found {
            if self.logged.insert(finding.word) {
                self.log.warn(&finding.sentence);
            }
        }
        found.into_iter().map(|finding| finding.sentence).collect()
    }

    /// Counted with those that came, so that a topic of nothing else is an error.
    fn unreadable(&mut self, topic: &str, error: &CdrError) {
        match topic {
            "mag" => self.field.received += 1,
            _ => self.input.received += 1,
        }
        self.dropped.add(UNREADABLE);
        self.log.warn_of(UNREADABLE, || format!("{topic} dropped as {UNREADABLE}: {error}"));
    }

    fn refuse(&mut self, topic: &str, refusal: &Refusal) {
        self.dropped.add(refusal.word());
        self.log.warn_of(refusal.word(), || format!("{topic} dropped as {}: {refusal}", refusal.word()));
    }

    /// What the node itself counts.
    fn count(&mut self, topic: &str, word: &'static str) {
        self.dropped.add(word);
        self.log.warn_of(word, || format!("{topic} dropped as {word}"));
    }

    /// What the filter has counted.
    fn drop(&mut self, topic: &str, reason: DropReason) {
        self.log.warn_of(reason.word(), || format!("{topic} dropped as {reason}"));
    }
}
