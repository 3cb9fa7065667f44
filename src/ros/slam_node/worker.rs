//! The thread that computes: receive, convert, check, step, publish.

mod feed;
mod joined;
mod managed;
mod maps;

use super::display::Display;
use super::health::Health;
use super::input::{Message, Request};
use super::inputs;
use super::local::Local;
use super::map::MapStore;
use super::output::Outputs;
use super::pause::At;
use super::quality::{Quality, Window};
use super::report::{NO_ODOM_POSE, STALE};
use super::statements::Statements;
use super::tally::Tally;
use super::topic::Topic;
use super::tree::{Publishers, Tree};
use super::{SPECS, Settings};
use crate::ros::clock::RosClock;
use crate::ros::diagnostics::Diagnostics;
use crate::ros::lifecycle::Lifecycle;
use crate::ros::log::Log;
use crate::ros::parameters::{Events, Parameters, use_sim_time};
use crate::ros::qos;
use crate::ros::qos_overrides::publisher;
use crate::ros::queue::{Next, Queue};
use crate::ros::stop::Stop;
pub use joined::filter_of;
use lienav_base::stamp::Stamp;
use lienav_io::convert::{self, Refusal};
use lienav_io::geodesy::Datum;
use lienav_io::messages;
use lienav_lie::Se2;
use lienav_slam::{Config, DropReason, MapMode, PoseEstimate, Slam, Step, TimeJump, valid_covariance};
use lienav_submaps::Submaps;
use r2r::diagnostic_msgs::msg::DiagnosticStatus;
use r2r::geometry_msgs::msg::{Transform, TransformStamped};
use r2r::std_srvs::srv::{SetBool, Trigger};
use r2r::{Node, Publisher};
use std::time::{Duration, Instant};

/// The longest the thread waits for input before it looks after displays, diagnostics and the end.
const TURN: Duration = Duration::from_millis(20);

/// What waits for the worker.
pub type Inputs = Queue<Request, Message, { Topic::COUNT }>;

/// The filter with all that surrounds it.
pub struct Worker {
    slam: Slam,
    /// What joins the parts of the map, where it is made in parts.
    parts: Option<Submaps>,
    inputs: inputs::Inputs,
    parameters: Parameters,
    settings: Settings,
    outputs: Outputs,
    local: Option<Local>,
    display: Display,
    diagnostics: Diagnostics,
    tally: Tally,
    /// Who publishes map → odom.
    tree: Tree,
    /// What became of the measurements of each source.
    health: Health,
    /// What sources state twice.
    statements: Statements,
    /// The origin of the world, where a satellite receiver has told one.
    datum: Option<Datum>,
    events: Events,
    clock: RosClock,
    newest: Option<Arrival>,
    /// The newest odometry of the main source that the filter knows the pose at.
    known: Option<At>,
    /// Whether the filter was switched on again, and has had no odometry since.
    is_resuming: bool,
    /// When odometry last came.
    odometry_came: Option<Instant>,
    /// From here on, the arrival of messages is counted.
    started: Instant,
    /// Asked where something takes long.
    stop: Stop,
    map_store: MapStore,
    quality: Window,
    quality_says: Publisher<DiagnosticStatus>,
    /// The clouds that the quality was judged after.
    judged_steps: u64,
    lifecycle: Lifecycle,
    /// Whether the node begins to work by itself.
    autostart: bool,
    /// What `~/set_enabled` has said last.
    is_switched_on: bool,
    log: Log,
}

/// The newest stamp of all input, and when it came by either clock.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    stamp: Stamp,
    ros_time: Stamp,
    instant: Instant,
}

impl Worker {
    /// Advertises the topics of `node`.
    ///
    /// # Errors
    /// ROS refuses one of them.
    #[allow(clippy::too_many_arguments)]
    pub fn of(
        node: &mut Node,
        ((mut slam, parts), inputs): ((Slam, Option<Submaps>), inputs::Inputs),
        parameters: Parameters,
        (settings, publishers): (Settings, Publishers),
        events: Events,
        clock: RosClock,
        (lifecycle, autostart): (Lifecycle, bool),
        log: Log,
    ) -> r2r::Result<Self> {
        // Until the node is activated.
        slam.set_enabled(false);
        let mut health = Health::default();
        health.expect(inputs.expected(&settings));
        Ok(Self {
            outputs: Outputs::of(node, &settings)?,
            local: Local::of(node, &settings)?,
            display: Display::of(node, &settings)?,
            diagnostics: Diagnostics::of(node)?,
            tally: Tally::new(settings.use_imu),
            tree: Tree::new(publishers),
            health,
            statements: Statements::new(inputs.odometry_sources().iter().map(|source| source.topic.as_str())),
            datum: settings.gnss.given(),
            newest: None,
            known: None,
            is_resuming: false,
            odometry_came: None,
            started: Instant::now(),
            stop: Stop::default(),
            map_store: MapStore::new(),
            quality: Window::default(),
            quality_says: publisher(node, "~/pose_quality", qos::latched())?,
            judged_steps: 0,
            lifecycle,
            autostart,
            is_switched_on: true,
            slam,
            parts,
            inputs,
            parameters,
            settings,
            events,
            clock,
            log,
        })
    }

    /// All parameters.
    pub fn parameters(&mut self) -> &mut Parameters {
        &mut self.parameters
    }

    /// Works until `stop`.
    pub fn run(mut self, queue: &Inputs, stop: &Stop) {
        self.stop = stop.clone();
        self.begin();
        while !stop.is_requested() {
            match queue.next(Instant::now() + TURN) {
                // They come once only: what a robot looks like is learned whatever else the node does.
                Next::Message(_, Message::StaticTransforms(message)) => self.static_transforms(&message),
                Next::Message(..) | Next::Idle if !self.lifecycle.is_active() => (),
                Next::Message(received, Message::Odometry(source, message)) => {
                    self.odometry(received, source, &message)
                }
                Next::Message(received, Message::Scan(sensor, message)) => {
                    let is_newest = queue.waiting(Topic::Scan(sensor).index()) == 0;
                    self.features(received, is_newest, sensor, &message);
                }
                Next::Message(received, Message::Transforms(message)) => self.transforms(received, &message),
                Next::Message(received, Message::Imu(message)) => self.imu(received, &message),
                Next::Message(received, Message::AbsolutePose(message)) => {
                    let features = convert::absolute_pose(&message, &[]);
                    self.outside(received, features, Topic::AbsolutePose);
                }
                Next::Message(received, Message::Fix(message)) => {
                    let features = convert::nav_sat_fix(&message, &[], &mut self.datum);
                    if features.is_ok() {
                        self.statements.fix(&message);
                    }
                    self.outside(received, features, Topic::Fix);
                }
                Next::Message(_, Message::CameraInfo(sensor, message)) => self.inputs.take_camera(sensor, &message),
                Next::Message(_, Message::InitialPose(message)) => self.initial_pose(&message),
                Next::Message(_, Message::Unreadable(topic, error)) => self.unreadable(topic, &error),
                Next::Request(request) => self.answer(request),
                Next::Idle => self.release_stalled(),
            }
            self.look_after(queue);
        }
        self.save_at_the_end();
    }

    /// Whether the pose of a cloud that arrived at `received` would come out too late, if a step takes as long as the
    /// last one.
    fn would_be_late(&self, received: Instant) -> bool {
        (received.elapsed() + self.tally.last_step()).as_secs_f64() > self.settings.max_latency_s
    }

    /// Overload: work is left out where it is worth least, so that what comes out is of now.
    fn skip(&mut self, received: Instant) {
        self.tally.dropped.add(STALE);
        let (waited, step) = (received.elapsed().as_secs_f64(), self.tally.last_step().as_secs_f64());
        let limit = self.settings.max_latency_s;
        self.log.warn_of(STALE, || {
            format!(
                "features dropped as {STALE}: the cloud has waited {waited:.2} s, a step takes {step:.2} s, \
                 max_latency_s is {limit} s, and a newer cloud waits: the machine does not keep up"
            )
        });
    }

    fn imu(&mut self, received: Instant, message: &messages::Imu) {
        self.tally.imu.received += 1;
        let input = match convert::imu(message, &self.settings.imu()) {
            Ok(converted) => converted,
            Err(refusal) => return self.refuse("imu", &refusal),
        };
        self.statements.stamped("imu", input.stamp, received);
        self.statements.imu(message);
        match self.slam.imu(&input) {
            Ok(()) => self.tally.imu.used += 1,
            Err(reason) => return self.drop("imu", reason),
        }
        self.publish_steps();
    }

    fn initial_pose(&mut self, message: &messages::PoseWithCovarianceStamped) {
        let (pose, covariance) = match convert::initial_pose(message, &[self.settings.map()]) {
            Ok(converted) => converted,
            Err(refusal) => return self.refuse("initialpose", &refusal),
        };
        let outcome = match &mut self.parts {
            Some(parts) => parts.set_pose(&mut self.slam, pose, &covariance),
            None => self.slam.set_pose(pose, &covariance),
        };
        match outcome {
            Ok(()) => self.log.info(&format!("set to x {:.3} y {:.3} yaw {:.3}", pose.p.x, pose.p.y, pose.theta)),
            Err(reason) => self.drop("initialpose", reason),
        }
    }

    /// Every cloud that can be processed, processed and published.
    fn publish_steps(&mut self) {
        self.follow_time_jumps();
        loop {
            let was_searching = self.slam.search().is_some();
            let begun = Instant::now();
            let Some(step) = self.polled() else { return };
            let ended = Instant::now();
            self.tally.step(&step, ended - begun);
            self.log.debug(|| describe(&step));
            if was_searching {
                let pose = step.estimate.pose;
                self.log.info(&format!("found at x {:.2} y {:.2} yaw {:.2}", pose.p.x, pose.p.y, pose.theta));
            }
            let publishable = self.publishable("pose", &step.estimate);
            let published = publishable.map_or(Ok(()), |estimate| self.outputs.corrected(&estimate));
            self.tally.published(step.estimate.stamp, Instant::now());
            self.log.sent(published);
            self.display.add(&step.estimate, &self.settings);
            self.quality.add(&step, &self.slam);
        }
    }

    /// Odometry without corrections; says where the base is in the odometry frame, by whoever publishes that.
    fn publish_local(&mut self, stamp: Stamp, base_in_odom: Option<Se2>) -> Option<Se2> {
        self.follow_time_jumps();
        let Some(local) = &mut self.local else { return base_in_odom };
        let published = local.publish(stamp, base_in_odom, &self.slam);
        let base_in_odom = local.base_in_odom().or(base_in_odom);
        match published {
            Ok(Some(refused)) => self.log.warn_of("local_covariance", || refused.to_string()),
            Ok(None) => (),
            Err(error) => self.log.sent(Err(error)),
        }
        base_in_odom
    }

    /// The estimate carried on to the odometry of `stamp`, if that is the newest.
    fn publish_prediction(&mut self, stamp: Stamp, base_in_odom: Option<Se2>, has_pose: bool) {
        let Some(estimate) = self.predicted().filter(|e| e.stamp == stamp) else { return };
        let Some(estimate) = self.publishable("odometry/filtered", &estimate) else { return };
        let published = self.outputs.predicted(&estimate);
        self.log.sent(published);
        match base_in_odom {
            Some(base_in_odom) => {
                let published = self.outputs.map_to_odom(&estimate, base_in_odom, &self.settings);
                match published {
                    Ok(Some(TransformStamped {
                        header, transform: Transform { translation: t, rotation: q }, ..
                    })) => {
                        self.tree.publish((header.stamp.sec, header.stamp.nanosec), [t.x, t.y], [q.z, q.w]);
                    }
                    Ok(None) => (),
                    Err(error) => self.log.sent(Err(error)),
                }
            }
            None if self.settings.publish_tf && has_pose => {
                self.tally.dropped.add(NO_ODOM_POSE);
                self.log.warn_of(NO_ODOM_POSE, || {
                    "odom: the pose is not finite or its quaternion is not normalized: no map -> odom transform \
                    published"
                        .into()
                });
            }
            None => (),
        }
    }

    /// The estimate with a covariance as it may be published; `None` where it is invalid, which is counted and logged.
    fn publishable(&mut self, topic: &str, estimate: &PoseEstimate) -> Option<PoseEstimate> {
        let covariance = valid_covariance(&estimate.covariance);
        if covariance.is_none() {
            let reason = DropReason::InvalidCovariance.word();
            self.tally.dropped.add(reason);
            let [x, y, yaw]: [f64; 3] = estimate.covariance.diagonal().into();
            self.log.warn_of(reason, || {
                format!(
                    "{topic} not published as {reason}: the covariance of the pose is not positive semidefinite, with \
                     variances {x:.1e} m², {y:.1e} m², {yaw:.1e} rad²"
                )
            });
        }
        Some(PoseEstimate { covariance: covariance?, ..*estimate })
    }

    /// Time was set back: stamps of the output start anew, and after a reset so does the path.
    fn follow_time_jumps(&mut self) {
        if self.slam.time_jumps() == self.tally.time_jumps_seen {
            return;
        }
        self.tally.time_jumps_seen = self.slam.time_jumps();
        self.outputs.restart();
        self.inputs.restart();
        self.restart_local();
        self.newest = None;
        self.quality.restart();
        self.statements.restart();
        self.known = None;
        match self.slam.config().timing.on_jump_back {
            TimeJump::Reset => {
                self.restart_parts();
                self.display.clear();
                self.log.warn("time jumped back: state and map were reset (timing.on_jump_back: reset)");
            }
            TimeJump::Rewind => self.log.warn("time jumped back: pose and map are kept (timing.on_jump_back: rewind)"),
        }
    }

    /// Stamps of odometry without corrections start anew.
    fn restart_local(&mut self) {
        if let Some(local) = &mut self.local {
            local.restart();
        }
    }

    fn note_arrival(&mut self, stamp: Stamp, instant: Instant) {
        if self.newest.is_none_or(|newest| stamp > newest.stamp) {
            self.newest = Some(Arrival { stamp, ros_time: self.clock.now(), instant });
        }
    }

    /// Where input stops, the last clouds wait for odometry in vain. They are released when the reorder window has
    /// passed by both clocks: a bag that is paused stops the one, and a bag played fast outruns the other.
    fn release_stalled(&mut self) {
        let Some(newest) = self.newest else { return };
        let by_ros = self.clock.now().since(newest.ros_time);
        let waited = by_ros.min(newest.instant.elapsed().as_secs_f64());
        if waited > self.slam.config().timing.reorder_window_s {
            self.slam.now(newest.stamp + waited);
            self.publish_steps();
        }
    }

    fn answer(&mut self, request: Request) {
        let Some(request) = self.unless_idle(request) else { return };
        let answered = match request {
            Request::Parameters(request) => self.answer_about_parameters(request),
            Request::Lifecycle(request) => request.answer(self).map(|refused| {
                refused.inspect(|why| self.log.warn(why));
            }),
            Request::Reset(request) => {
                self.slam.reset();
                self.restart_parts();
                self.outputs.restart();
                self.inputs.restart();
                self.restart_local();
                self.display.clear();
                self.newest = None;
                self.quality.restart();
                self.statements.restart();
                self.known = None;
                self.log.info("reset");
                let message = match (self.slam.config().map.mode, self.slam.search()) {
                    (MapMode::Mapping, _) => "the filter was reset to the initial pose and an empty map",
                    (_, None) => "the filter was reset to the initial pose; the known map stays",
                    (_, Some(_)) => "the filter was reset; the robot is searched for in the known map",
                }
                .to_owned();
                request.respond(Trigger::Response { success: true, message })
            }
            Request::SaveMap(request) => return self.save_map(request),
            Request::LoadMap(request) => return self.load_map(request),
            Request::Relocalize(request) => {
                let outcome = match &mut self.parts {
                    Some(parts) => parts.relocalize(&mut self.slam),
                    None => self.slam.relocalize(),
                };
                let success = outcome.is_ok();
                let message = outcome.map_or_else(
                    |why| why.to_string(),
                    |()| {
                        "the robot is searched for in the known map; until it is found, no pose is published".to_owned()
                    },
                );
                if success {
                    self.log.info(&message)
                } else {
                    self.log.warn(&message)
                }
                request.respond(Trigger::Response { success, message })
            }
            Request::SetEnabled(request) => {
                let enabled = request.message.data;
                self.is_resuming |= enabled && !self.slam.enabled();
                self.slam.set_enabled(enabled);
                let message = if enabled { "switched on" } else { "switched off" }.to_owned();
                self.log.info(&message);
                request.respond(SetBool::Response { success: true, message })
            }
        };
        self.log.sent(answered);
    }

    fn answer_about_parameters(&mut self, request: crate::ros::parameters::Request) -> r2r::Result<()> {
        let before = self.parameters.clone();
        let Self { slam, settings, clock, .. } = self;
        request.answer(&mut self.parameters, |changed| {
            let node_settings: Settings = changed.read(SPECS).map_err(|e| e.to_string())?;
            let config: Config = changed.read(lienav_slam::SPECS).map_err(|e| e.to_string())?;
            slam.reconfigure(config)?;
            clock.simulate(use_sim_time(changed).map_err(|e| e.to_string())?);
            *settings = node_settings;
            Ok(())
        })?;
        self.events.changed(self.clock.now(), &before, &self.parameters)
    }

    /// What is due by the clock and not by input.
    fn look_after(&mut self, queue: &Inputs) {
        self.keep_map();
        let now = Instant::now();
        if self.lifecycle.is_active() {
            if self.tally.steps() != self.judged_steps {
                self.judged_steps = self.tally.steps();
                self.say_quality(queue, false);
            }
            let shown = self.display.show(now, (&self.slam, self.parts.as_ref()), &self.settings);
            self.log.sent(shown);
        }
        if self.diagnostics.is_due(now) {
            let (name, limit) = (self.diagnostics.node(), self.settings.max_latency_s);
            let filter = (&self.slam, self.parts.as_ref(), self.predicted());
            self.tally.tf_conflict = self.tree.conflict(&self.settings, now);
            let learned = self.slam.learned_noise();
            self.tally.sources = self.health.report(|topic| self.inputs.name(topic).to_owned(), learned.as_ref());
            self.tally.contradictions = self.statements.contradictions(&self.log);
            let status = self.tally.status(name, now, filter, &self.inputs, &queue.load(), limit);
            let quality = self.lifecycle.is_active().then(|| self.say_quality(queue, true)).flatten();
            let said = [Some(self.lifecycle.with_state(status)), quality].into_iter().flatten().collect();
            let published = self.diagnostics.publish(&self.clock, said);
            self.log.sent(published);
        }
    }

    /// Publishes how good the pose is: each second, and at once where it is another word than before.
    fn say_quality(&mut self, queue: &Inputs, is_due: bool) -> Option<DiagnosticStatus> {
        let load = queue.load();
        let heard = Topic::of_odometry().filter_map(|topic| load.heard_on(topic.index())).max();
        let silence = heard.map(|at| at.elapsed());
        let evidence = self.quality.evidence(&self.slam, self.predicted(), silence, &self.settings.quality);
        let (quality, status) = evidence.status(self.diagnostics.node());
        let is_news = self.quality.is_news(quality);
        if is_news {
            self.log_quality(quality, evidence.reasons());
        }
        if !(is_news || is_due) {
            return None;
        }
        let published = self.quality_says.publish(&status);
        self.log.sent(published);
        Some(status)
    }

    /// Lost, found, a gate that was opened, odometry that is gone: each change of the word is one line with its
    /// reasons.
    fn log_quality(&mut self, quality: Quality, reasons: String) {
        match quality {
            Quality::Ok => self.log.info_of("pose_ok", || "pose quality: ok".into()),
            Quality::Degraded => self.log.warn_of("pose_degraded", || format!("pose quality: degraded ({reasons})")),
            Quality::Lost => self.log.warn_of("pose_lost", || format!("pose quality: lost ({reasons})")),
        }
    }

    fn refuse(&mut self, topic: &str, refusal: &Refusal) {
        self.tally.dropped.add(refusal.word());
        self.log.warn_of(refusal.word(), || format!("{topic} dropped as {}: {refusal}", refusal.word()));
    }

    fn drop(&mut self, topic: &str, reason: DropReason) {
        self.log.warn_of(reason.word(), || format!("{topic} dropped as {reason}"));
    }
}

/// What a step did, for those who want to know why.
fn describe(step: &Step) -> String {
    let Step { estimate, nis, dof, accepted, added, rejected, landmarks } = step;
    let variances = <[f64; 3]>::from(estimate.covariance.diagonal());
    let [x, y, yaw] = variances.map(|variance| variance.max(0.0).sqrt());
    format!(
        "cloud of {}: {accepted} used (NIS {nis:.1} of {dof}), {added} new, {rejected} left out, {landmarks} in the map; \
         standard deviations {x:.3} m, {y:.3} m, {yaw:.4} rad",
        estimate.stamp
    )
}
