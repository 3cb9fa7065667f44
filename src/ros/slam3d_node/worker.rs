//! What the node does with whatever arrives: convert, check, step, publish.

use super::display::Display;
use super::input::Event;
use super::output::{BaseEstimate, Outputs};
use super::report::{self, NO_IDENTITY, Report};
use super::{SPECS, Settings};
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
use lienav_io::files;
use lienav_io::intake::SpaceIntake;
use lienav_io::messages::{self, Imu, PointCloud2, PoseWithCovarianceStamped, TfMessage};
use lienav_lie::Se3;
use lienav_space::{Config, Map3d, PoseEstimate, Quality, Slam3d};
use r2r::diagnostic_msgs::msg::DiagnosticStatus;
use r2r::std_srvs::srv::{SetBool, Trigger};
use r2r::{Node, Publisher};
use std::path::Path;
use std::time::{Duration, Instant};

/// Times kept for percentiles between two reports.
const SAMPLES: usize = 4096;
/// No map file is longer.
const LONGEST_MAP: u64 = 1 << 28;

/// The filter with all that surrounds it.
pub struct Worker {
    pub(super) slam: Slam3d,
    intake: SpaceIntake,
    parameters: Parameters,
    settings: Settings,
    outputs: Outputs,
    display: Display,
    quality_says: Publisher<DiagnosticStatus>,
    said: Option<Quality>,
    diagnostics: Diagnostics,
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
        mut slam: Slam3d,
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
            intake: SpaceIntake::new(settings.frames(slam.config())),
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
        match event {
            Event::StaticTransforms(message) => self.static_transforms(&message),
            Event::CameraInfo(message) => {
                if let Err(refusal) = self.intake.camera_info(&message) {
                    self.refuse("camera_info", &refusal);
                }
            }
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
        for refusal in self.intake.transforms(message) {
            self.refuse("/tf_static", &refusal);
        }
    }

    fn imu(&mut self, message: &Imu) {
        let begun = Instant::now();
        self.imu.received += 1;
        self.last_imu = Some(begun);
        let was_placed = self.intake.base().is_some();
        let sample = match self.intake.imu(message) {
            Ok(sample) => sample,
            Err(refusal) => return self.refuse("imu", &refusal),
        };
        if let (false, Some(base)) = (was_placed, self.intake.base()) {
            self.slam.set_base(base);
            self.log.info(&format!("imu is in '{}', and so are the axes of its noise", message.header.frame_id));
        }
        if let Err(reason) = self.slam.push_imu(&sample) {
            return self.drop("imu", reason.word());
        }
        self.imu.used += 1;
        let since = self.newest_imu.map_or(0.0, |newest| sample.stamp.since(newest));
        if since > 0.0 {
            self.interval_s = since;
        }
        self.newest_imu = Some(sample.stamp);
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
        let seen = match self.intake.features(message) {
            Ok(seen) => seen,
            Err(refusal) => return self.refuse("features", &refusal),
        };
        for _ in 0..seen.unknown {
            self.dropped.add(NO_IDENTITY);
        }
        if let Some((number, sensor)) = seen.sensor {
            if let Err(reason) = self.slam.set_sensor(number, sensor) {
                return self.drop("features", reason.word());
            }
            let t = sensor.mount.translation;
            let frame = &message.header.frame_id;
            self.log.info(&format!("'{frame}' is at x {:.3} y {:.3} z {:.3} of the frame of imu", t.x, t.y, t.z));
        }
        match self.slam.push_frame(&seen.frame) {
            Ok(()) => self.features.used += 1,
            Err(reason) => return self.drop("features", reason.word()),
        }
        self.publish_steps(begun);
    }

    fn odometry(&mut self, message: &messages::Odometry) {
        let begun = Instant::now();
        self.odometry.received += 1;
        let (odometry, base_in_odom) = match self.intake.odometry(message) {
            Ok(converted) => converted,
            Err(refusal) => return self.refuse("odom", &refusal),
        };
        self.base_in_odom = base_in_odom.or(self.base_in_odom);
        match self.slam.push_odometry(&odometry) {
            Ok(()) => self.odometry.used += 1,
            Err(reason) => return self.drop("odom", reason.word()),
        }
        self.publish_steps(begun);
    }

    fn absolute_pose(&mut self, message: &PoseWithCovarianceStamped) {
        let begun = Instant::now();
        match self.intake.pose(message) {
            Ok(pose) => match self.slam.push_pose(&pose) {
                Ok(()) => self.publish_steps(begun),
                Err(reason) => self.drop("absolute_pose", reason.word()),
            },
            Err(refusal) => self.refuse("absolute_pose", &refusal),
        }
    }

    fn initial_pose(&mut self, message: &PoseWithCovarianceStamped) {
        match self.intake.pose(message) {
            Ok(given) => match self.slam.set_pose(&given.pose, &given.covariance) {
                Ok(()) => {
                    let t = message.pose.pose.position.clone();
                    self.log.info(&format!("set to x {:.3} y {:.3} z {:.3}", t.x, t.y, t.z));
                }
                Err(reason) => self.drop("initialpose", reason.word()),
            },
            Err(refusal) => self.refuse("initialpose", &refusal),
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
        let base = self.intake.base().unwrap_or_default();
        let (pose, covariance) = self.intake.to_base(&body.pose, &body.covariance);
        let to_base = pose.rotation.matrix().transpose();
        // v + R (ω × t), in the axes of the base.
        let lever = body.pose.rotation * body.rate.cross(&base.translation);
        let noise = self.slam.config().imu.gyro_noise;
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

    /// Time was set back: stamps of the output start anew.
    fn follow_time_jumps(&mut self) {
        if self.slam.time_jumps() != self.time_jumps_seen {
            self.time_jumps_seen = self.slam.time_jumps();
            self.restart_outputs();
            self.log.warn("time jumped back: the filter starts again");
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
        self.log.info(&format!("filter '{}' in space", self.slam.config().filter));
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
        let path = Path::new(&file);
        let text = lienav_io::open::read_text(path, LONGEST_MAP);
        let text = text.map_err(|error| format!("no map was loaded: {file}: {error}{}", files::remedy(&error)))?;
        let map = Map3d::from_json(&text).map_err(|error| format!("no map was loaded: {file}: {error}"))?;
        let landmarks = map.landmarks.len();
        self.slam.load_map(map).map_err(|error| format!("no map was loaded: {file}: {error}"))?;
        Ok(format!("{file}: {landmarks} landmarks loaded"))
    }

    fn save_map(&self) -> Result<String, String> {
        let file = self.file()?;
        let map = self.slam.map();
        if map.landmarks.is_empty() {
            return Err(format!("the map has no landmarks yet: nothing was saved, and '{file}' stays as it is"));
        }
        let text = map.to_json();
        let written = files::write_atomically(Path::new(&file), |out| out.write_all(text.as_bytes()));
        written.map_err(|error| format!("{file}: {error}{}", files::remedy(&error)))?;
        Ok(format!("{file}: {} landmarks saved", map.landmarks.len()))
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
        request.answer(&mut self.parameters, |changed| {
            let new: Config = changed.read(lienav_space::SPECS).map_err(|e| e.to_string())?;
            check_change(&config, &new, lienav_space::SPECS)?;
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
            "features" => self.features.received += 1,
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

    /// What the filter has counted.
    fn drop(&mut self, topic: &str, word: &'static str) {
        self.log.warn_of(word, || format!("{topic} dropped as {word}: {}", report::remedy(word)));
    }
}
