//! What the node does with whatever arrives: convert, check, step, publish.

use super::display::Display;
use super::input::Event;
use super::output::{BaseEstimate, Outputs};
use super::report::{self, NO_IDENTITY, Report};
use crate::ros::clock::RosClock;
use crate::ros::diagnostics::{Diagnostics, Dropped, Percentiles, Received};
use crate::ros::lifecycle::Lifecycle;
use crate::ros::log::Log;
use crate::ros::parameters::{Events, Parameters, use_sim_time};
use crate::ros::qos;
use crate::ros::qos_overrides::publisher;
use lienav_base::settings::check_change;
use lienav_base::stamp::Stamp;
use lienav_io::bag::UNREADABLE;
use lienav_io::convert::Refusal;
use lienav_io::messages::{self, AprilTagDetectionArray, Imu, PointCloud2, PoseWithCovarianceStamped, TfMessage};
use lienav_io::space::robot::filter::{Filter, Unused};
use lienav_io::space::robot::map;
use lienav_io::space::robot::settings::{SPECS, Settings};
use lienav_lie::Se3;
use lienav_space::tags::TagConfig;
use lienav_space::tags::settings::SPECS as TAG_SPECS;
use lienav_space::{Config, PoseEstimate, Quality};
use r2r::diagnostic_msgs::msg::DiagnosticStatus;
use r2r::std_srvs::srv::{SetBool, Trigger};
use r2r::{Node, Publisher};
use std::path::Path;
use std::time::{Duration, Instant};

/// Times kept for percentiles between two reports.
const SAMPLES: usize = 4096;

/// The filter with all that surrounds it.
pub struct Worker {
    pub(super) slam: Filter,
    parameters: Parameters,
    settings: Settings,
    outputs: Outputs,
    display: Display,
    quality_says: Publisher<DiagnosticStatus>,
    said: Option<Quality>,
    diagnostics: Diagnostics,
    started: Instant,
    imu: Received,
    features: Received,
    odometry: Received,
    last_imu: Option<Instant>,
    last_features: Option<Instant>,
    dropped: Dropped,
    step_us: Vec<f64>,
    sample_us: Vec<f64>,
    last_report: Report,
    time_jumps_seen: u64,
    base_in_odom: Option<Se3>,
    newest_imu: Option<Stamp>,
    interval_s: f64,
    events: Events,
    pub(super) clock: RosClock,
    pub(super) lifecycle: Lifecycle,
    /// What `~/set_enabled` has said last.
    pub(super) is_switched_on: bool,
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
        mut slam: Filter,
        parameters: Parameters,
        settings: Settings,
        events: Events,
        clock: RosClock,
        lifecycle: Lifecycle,
        log: Log,
    ) -> r2r::Result<Self> {
        // Until the node is activated.
        slam.set_enabled(false);
        Ok(Self {
            outputs: Outputs::of(node, &settings)?,
            display: Display::of(node, &settings)?,
            quality_says: publisher(node, "~/pose_quality", qos::latched())?,
            said: None,
            diagnostics: Diagnostics::of(node)?,
            imu: Received::default(),
            features: Received::default(),
            odometry: Received::default(),
            last_imu: None,
            last_features: None,
            dropped: Dropped::default(),
            step_us: Vec::with_capacity(SAMPLES),
            sample_us: Vec::with_capacity(SAMPLES),
            last_report: Report::default(),
            time_jumps_seen: 0,
            started: Instant::now(),
            base_in_odom: None,
            newest_imu: None,
            interval_s: 0.01,
            slam,
            parameters,
            settings,
            events,
            clock,
            lifecycle,
            is_switched_on: true,
            log,
        })
    }

    /// All parameters.
    pub fn parameters(&mut self) -> &mut Parameters {
        &mut self.parameters
    }

    /// Takes whatever arrives.
    pub fn take(&mut self, event: Event) {
        let Some(event) = self.unless_idle(event) else { return };
        self.slam.arrived(self.started.elapsed().as_secs_f64());
        match event {
            Event::StaticTransforms(message) => self.static_transforms(&message),
            Event::CameraInfo(number, message) => {
                if let Err(refusal) = self.slam.camera_info(number, &message) {
                    self.refuse("camera_info", &refusal);
                }
            }
            Event::Detections(number, message) => self.detections(number, &message),
            Event::Imu(message) => self.imu(&message),
            Event::Features(message) => self.features(&message),
            Event::Odometry(message) => self.odometry(&message),
            Event::AbsolutePose(message) => self.absolute_pose(&message),
            Event::InitialPose(message) => self.initial_pose(&message),
            Event::Unreadable(topic, error) => self.unreadable(topic, &error),
            request => self.answer(request),
        }
    }

    fn static_transforms(&mut self, message: &TfMessage) {
        for refusal in self.slam.transforms(message) {
            self.refuse("/tf_static", &refusal);
        }
    }

    fn imu(&mut self, message: &Imu) {
        let begun = Instant::now();
        self.imu.received += 1;
        self.last_imu = Some(begun);
        let (stamp, is_new) = match self.slam.imu(message) {
            Ok(taken) => taken,
            Err(unused) => return self.unused("imu", &unused),
        };
        if is_new {
            self.log.info(&format!("imu is in '{}', and so are the axes of its noise", message.header.frame_id));
        }
        self.imu.used += 1;
        let since = self.newest_imu.map_or(0.0, |newest| stamp.since(newest));
        if since > 0.0 {
            self.interval_s = since;
        }
        self.newest_imu = Some(stamp);
        self.publish_steps(begun);
        self.publish_pose();
        if self.sample_us.len() < SAMPLES {
            self.sample_us.push(begun.elapsed().as_secs_f64() * 1e6);
        }
    }

    fn features(&mut self, message: &PointCloud2) {
        let begun = Instant::now();
        self.features.received += 1;
        self.last_features = Some(begun);
        let (unknown, mount) = match self.slam.features(message) {
            Ok(taken) => taken,
            Err(unused) => return self.unused("features", &unused),
        };
        (0..unknown).for_each(|_| self.dropped.add(NO_IDENTITY));
        self.say_where(&message.header.frame_id, mount, "imu");
        self.features.used += 1;
        self.publish_steps(begun);
    }

    fn detections(&mut self, number: usize, message: &AprilTagDetectionArray) {
        let begun = Instant::now();
        self.features.received += 1;
        self.last_features = Some(begun);
        let (refused, outcome) = self.slam.detections(number, message);
        for word in refused {
            self.dropped.add(word);
            self.log.warn_of(word, || format!("a tag dropped as {word}: {}", report::remedy(word)));
        }
        match outcome {
            Ok(mount) => self.say_where(&message.header.frame_id, mount, "the robot"),
            Err(unused) => return self.unused("detections", &unused),
        }
        self.features.used += 1;
        self.publish_steps(begun);
        // At each sample of imu or message of odom, where there are any.
        if !self.settings.uses_odometry() && self.last_imu.is_none() {
            self.publish_pose();
        }
    }

    fn say_where(&self, frame: &str, mount: Option<Se3>, on: &str) {
        if let Some(Se3 { translation: t, .. }) = mount {
            self.log.info(&format!("'{frame}' is at x {:.3} y {:.3} z {:.3} of the frame of {on}", t.x, t.y, t.z));
        }
    }

    fn odometry(&mut self, message: &messages::Odometry) {
        let begun = Instant::now();
        self.odometry.received += 1;
        match self.slam.odometry(message) {
            Ok(base_in_odom) => self.base_in_odom = base_in_odom.or(self.base_in_odom),
            Err(unused) => return self.unused("odom", &unused),
        }
        self.odometry.used += 1;
        self.publish_steps(begun);
        if self.slam.sees_tags() && self.last_imu.is_none() {
            self.publish_pose();
        }
    }

    fn absolute_pose(&mut self, message: &PoseWithCovarianceStamped) {
        let begun = Instant::now();
        match self.slam.absolute_pose(message) {
            Ok(()) => self.publish_steps(begun),
            Err(unused) => self.unused("absolute_pose", &unused),
        }
    }

    fn initial_pose(&mut self, message: &PoseWithCovarianceStamped) {
        match self.slam.initial_pose(message) {
            Ok(()) => {
                let t = message.pose.pose.position.clone();
                self.log.info(&format!("set to x {:.3} y {:.3} z {:.3}", t.x, t.y, t.z));
            }
            Err(unused) => self.unused("initialpose", &unused),
        }
    }

    /// Every instant that can be processed, processed and published.
    fn publish_steps(&mut self, begun: Instant) {
        self.follow_time_jumps();
        while let Some(step) = self.slam.poll() {
            let estimate = self.of_base(&step.estimate);
            self.display.add(estimate.stamp, &estimate.pose);
            if step.has_frame {
                let published = self.outputs.corrected(&estimate);
                self.log.sent(published);
                if self.step_us.len() < SAMPLES {
                    self.step_us.push(begun.elapsed().as_secs_f64() * 1e6);
                }
            }
        }
    }

    fn publish_pose(&mut self) {
        let Some(estimate) = self.slam.pose() else { return };
        let estimate = self.of_base(&estimate);
        let published = self.outputs.predicted(&estimate);
        self.log.sent(published);
        let published = self.outputs.transform(&estimate, self.base_in_odom.as_ref());
        self.log.sent(published);
    }

    /// The estimate of the robot's frame.
    fn of_base(&self, body: &PoseEstimate) -> BaseEstimate {
        let base = self.slam.base().unwrap_or_default();
        let (pose, covariance) = self.slam.to_base(&body.pose, &body.covariance);
        let to_base = pose.rotation.matrix().transpose();
        // v + R (ω × t), in the axes of the base.
        let lever = body.pose.rotation * body.rate.cross(&base.translation);
        let noise = self.slam.rate_noise();
        BaseEstimate {
            stamp: body.stamp,
            pose,
            covariance,
            velocity: to_base * (body.velocity + lever),
            velocity_covariance: to_base * body.velocity_covariance * to_base.transpose(),
            rate: base.rotation.rotate_back(&body.rate),
            rate_variance: noise * noise / self.interval_s,
        }
    }

    /// The filter started again by itself: stamps of the output start anew.
    fn follow_time_jumps(&mut self) {
        if self.slam.time_jumps() != self.time_jumps_seen {
            self.time_jumps_seen = self.slam.time_jumps();
            self.restart_outputs();
            self.log.warn("time was set, or nothing came for more than 2 s: the filter starts again");
        }
    }

    fn restart_outputs(&mut self) {
        self.outputs.restart();
        self.display.clear();
        (self.base_in_odom, self.newest_imu) = (None, None);
    }

    /// Everything but parameters, transforms and the known map.
    pub(super) fn forget(&mut self) {
        self.slam.reset();
        self.restart_outputs();
    }

    /// Takes the map that is to be used.
    pub(super) fn configure(&mut self) {
        let topics = self.settings.tags.topics().join(", ");
        match self.slam.sees_tags() {
            true => self.log.info(&format!("tags in space, of {topics}")),
            false => self.log.info(&format!("filter '{}' in space", self.slam.config().filter)),
        }
        let file = self.settings.map.file.clone();
        if file.is_empty() {
            return;
        }
        if !Path::new(&file).exists() {
            return self.log.info(&format!("{file}: there is no map yet, it begins empty"));
        }
        match self.load_map() {
            Ok(sentence) => self.log.info(&sentence),
            Err(sentence) => self.log.error(&sentence),
        }
    }

    fn load_map(&mut self) -> Result<String, String> {
        let file = self.file()?;
        map::load(&mut self.slam, Path::new(&file))
            .map_err(|error| format!("no map was loaded: {file}: {error}"))
            .map(|sentence| format!("{file}: {sentence}"))
    }

    fn save_map(&self) -> Result<String, String> {
        let file = self.file()?;
        map::save(&self.slam, Path::new(&file)).map(|sentence| format!("{file}: {sentence}"))
    }

    fn file(&self) -> Result<String, String> {
        match self.settings.map.file.as_str() {
            "" => Err("parameter 'map.file' is empty: set it to the file of the map".to_owned()),
            file => Ok(file.to_owned()),
        }
    }

    fn answer(&mut self, request: Event) {
        let trigger = |outcome: Result<String, String>| {
            let success = outcome.is_ok();
            Trigger::Response { success, message: outcome.unwrap_or_else(|message| message) }
        };
        let answered = match request {
            Event::Parameters(request) => self.answer_about_parameters(request),
            Event::Lifecycle(request) => request.answer(self).map(|refused| {
                refused.inspect(|why| self.log.warn(why));
            }),
            Event::Reset(request) => {
                self.forget();
                self.log.info("reset");
                request.respond(trigger(Ok("the filter was reset; it starts with the next samples".to_owned())))
            }
            Event::SaveMap(request) => {
                let outcome = self.save_map();
                self.say(&outcome);
                request.respond(trigger(outcome))
            }
            Event::LoadMap(request) => {
                let outcome = self.load_map();
                self.say(&outcome);
                request.respond(trigger(outcome))
            }
            Event::SetEnabled(request) => {
                self.is_switched_on = request.message.data;
                self.slam.set_enabled(self.is_switched_on);
                self.restart_outputs();
                let message = if self.is_switched_on { "switched on" } else { "switched off" }.to_owned();
                self.log.info(&message);
                request.respond(SetBool::Response { success: true, message })
            }
            _ => Ok(()),
        };
        self.log.sent(answered);
    }

    fn say(&self, outcome: &Result<String, String>) {
        match outcome {
            Ok(sentence) => self.log.info(sentence),
            Err(sentence) => self.log.error(sentence),
        }
    }

    fn answer_about_parameters(&mut self, request: crate::ros::parameters::Request) -> r2r::Result<()> {
        let before = self.parameters.clone();
        let (config, settings, clock) = (self.slam.config().clone(), self.settings.clone(), &self.clock);
        let tags: TagConfig = before.read(TAG_SPECS).unwrap_or_default();
        request.answer(&mut self.parameters, |changed| {
            let new: Config = changed.read(lienav_space::SPECS).map_err(|e| e.to_string())?;
            check_change(&config, &new, lienav_space::SPECS)?;
            let new: TagConfig = changed.read(TAG_SPECS).map_err(|e| e.to_string())?;
            check_change(&tags, &new, TAG_SPECS)?;
            check_change(&settings, &changed.read::<Settings>(SPECS).map_err(|e| e.to_string())?, SPECS)?;
            clock.simulate(use_sim_time(changed).map_err(|e| e.to_string())?);
            Ok(())
        })?;
        self.events.changed(self.clock.now(), &before, &self.parameters)
    }

    /// What is due by the clock and not by input.
    pub fn look_after(&mut self) {
        let now = Instant::now();
        let shown = self.display.show(now, &self.slam);
        self.log.sent(shown);
        let quality = self.slam.quality();
        let is_due = self.diagnostics.is_due(now);
        if is_due || self.said != Some(quality) {
            self.said = Some(quality);
            let estimate = self.slam.pose();
            let status = report::pose_quality(self.diagnostics.node(), quality, estimate.as_ref());
            let published = self.quality_says.publish(&status);
            self.log.sent(published);
        }
        if !is_due {
            return;
        }
        let since = |at: Option<Instant>| -> Option<Duration> { at.map(|at| now.saturating_duration_since(at)) };
        let report = Report {
            imu: self.imu,
            features: self.features,
            odometry: self.odometry,
            sees_tags: self.slam.sees_tags(),
            uses_imu: self.slam.uses_imu(),
            silence: [since(self.last_imu), since(self.last_features)],
            dropped: self.dropped.clone(),
            step_us: Percentiles::of(&mut self.step_us),
            sample_us: Percentiles::of(&mut self.sample_us),
            ..Report::default()
        };
        let report = report.with_filter(&self.slam);
        self.step_us.clear();
        self.sample_us.clear();
        let status = report::status(self.diagnostics.node(), &self.last_report, &report);
        self.last_report = report;
        let published = self.diagnostics.publish(&self.clock, vec![self.lifecycle.with_state(status)]);
        self.log.sent(published);
    }

    /// Counted with those that came, so that a topic of nothing else is an error.
    fn unreadable(&mut self, topic: &str, error: &dyn std::fmt::Display) {
        match topic {
            "imu" => self.imu.received += 1,
            "features" | "detections" => self.features.received += 1,
            "odom" => self.odometry.received += 1,
            _ => {}
        }
        self.dropped.add(UNREADABLE);
        self.log.warn_of(UNREADABLE, || format!("{topic} dropped as {UNREADABLE}: {error}"));
    }

    fn refuse(&mut self, topic: &str, refusal: &Refusal) {
        self.dropped.add(refusal.word());
        self.log.warn_of(refusal.word(), || format!("{topic} dropped as {}: {refusal}", refusal.word()));
    }

    fn unused(&mut self, topic: &str, unused: &Unused) {
        match unused {
            Unused::Refused(refusal) => self.refuse(topic, refusal),
            Unused::Dropped(reason) => self.drop(topic, reason.word()),
            Unused::Idle => {}
        }
    }

    /// What the filter has counted.
    fn drop(&mut self, topic: &str, word: &'static str) {
        self.log.warn_of(word, || format!("{topic} dropped as {word}: {}", report::remedy(word)));
    }
}
