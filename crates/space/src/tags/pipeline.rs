//! The pipeline of tags: stamped input in, in whatever order it arrives; steps out, in the order of their stamps.

use super::inbox::{Inbox, MOST_CAMERAS, What};
use super::inertial::Inertial;
use super::input::{BodyTwist, Camera, OnBoard, TagFrame, TagPose, TagSeen};
use super::map;
use super::motion::Motion;
use super::running::{LOST_SIGMA, Running};
use super::search::Search;
use super::settings::{SPECS, TagConfig};
use super::sizes::Sizes;
use super::start;
use crate::check::{check_pose, is_definite};
use crate::config::{Config, MapMode};
use crate::input::{ImuSample, Pose};
use crate::output::{Counts, DropReason, PoseEstimate, Quality, Step};
use lienav_base::clock::{ClockGuard, Limits, Verdict};
use lienav_base::settings::{OutOfRange, check};
use lienav_base::stamp::Stamp;
use lienav_inertial::filter::Filter;
use lienav_inertial::state::State;
use lienav_inertial::tag::filter::{TagFilter, TagOptions};
use lienav_inertial::tag::landmark::KnownTag;
use lienav_lie::{LieGroup, Se3, So3};
use nalgebra::{Matrix6, Vector3};
use std::collections::BTreeMap;
use std::f64::consts::PI;

/// A stamp behind the newest by more than this is a jump back of time, s.
const JUMP_BACK_S: f64 = 2.0;
/// An image of more tags is no image.
const MOST_SEEN: usize = 300;
/// A position that is known less well than this is lost, m.
const LOST_M: f64 = 10.0;
/// Without a tag for so long, the pose is that of the odometry, s.
const SILENCE_S: f64 = 1.0;
/// Rates, rad/s, and forces, m/s², beyond this are not those of a sensor on a robot.
const MOST_IMU: (f64, f64) = (100.0, 1000.0);
/// All cameras.
const ALL: u32 = (1 << MOST_CAMERAS) - 1;

/// The whole pipeline of tags. The node, the offline evaluation and the tests all run this and nothing else, so the same
/// input gives the same estimates to the last bit. See [the module](super) for an example.
pub struct TagSlam3d {
    config: Config,
    own: TagConfig,
    cameras: [Option<Camera>; MOST_CAMERAS],
    known: BTreeMap<u64, KnownTag>,
    on_board: BTreeMap<u64, OnBoard>,
    lost_sigma: [f64; 3],
    inbox: Inbox,
    motion: Motion,
    guard: ClockGuard,
    running: Option<Running>,
    /// A pose that was given before the start.
    given: Option<(Se3, Matrix6<f64>)>,
    search: Search,
    sizes: Sizes,
    counts: Counts,
    time_jumps: u64,
    widened: u64,
    enabled: bool,
}

impl TagSlam3d {
    /// A filter that waits for its first images. Of `config`, `start`, `timing` and `map.mode` count, and `imu` where that
    /// is used.
    ///
    /// # Errors
    /// A setting that is out of range.
    pub fn new(config: Config, own: TagConfig) -> Result<Self, OutOfRange> {
        config.validate()?;
        check(&own, SPECS)?;
        let (mut motion, mut inbox) = (Motion::new(&own.tags), Inbox::default());
        if own.tags.use_imu {
            motion.inertial = Some(Inertial::new(config.noise(), config.interpolation(), config.imu.gravity));
            inbox.expect_inertial();
        }
        Ok(Self {
            motion,
            config,
            own,
            cameras: [None; MOST_CAMERAS],
            known: BTreeMap::new(),
            on_board: BTreeMap::new(),
            lost_sigma: LOST_SIGMA,
            inbox,
            guard: ClockGuard::default(),
            running: None,
            given: None,
            search: Search::default(),
            sizes: Sizes::default(),
            counts: Counts::default(),
            time_jumps: 0,
            widened: 0,
            enabled: true,
        })
    }

    /// The same with another uncertainty of a state that is lost, by axis: rotation, rad; velocity, m/s; position, m.
    #[must_use]
    pub fn with_lost_sigma(mut self, sigma: [f64; 3]) -> Self {
        self.lost_sigma = sigma;
        self
    }

    /// The settings that it shares with [`Slam3d`](crate::Slam3d).
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Its own settings.
    pub fn tag_config(&self) -> &TagConfig {
        &self.own
    }

    /// States where a camera is, and how it images. Numbers go up to 15.
    ///
    /// # Errors
    /// [`DropReason::UnknownSensor`] for a greater number, [`DropReason::Absurd`] for numbers that are not a camera's.
    pub fn set_camera(&mut self, number: usize, camera: Camera) -> Result<(), DropReason> {
        let slot = self.cameras.get_mut(number).ok_or(DropReason::UnknownSensor)?;
        if !camera.is_sane() {
            return Err(DropReason::Absurd);
        }
        *slot = Some(camera);
        Ok(())
    }

    /// States how many cameras there are and whether there is odometry: in the beginning they are waited for, so that the
    /// start does not depend on which speaks first.
    pub fn expect(&mut self, cameras: usize, odometry: bool) {
        self.inbox.expect(cameras, odometry);
    }

    /// States tags whose places are known, and those that are on boards with others. A filter that runs starts again.
    pub fn set_known(&mut self, known: BTreeMap<u64, KnownTag>, on_board: BTreeMap<u64, OnBoard>) {
        (self.known, self.on_board, self.sizes) = (known, on_board, Sizes::default());
        if self.running.is_some() {
            self.start_again();
        }
    }

    /// Tags whose places are known.
    pub fn known(&self) -> &BTreeMap<u64, KnownTag> {
        &self.known
    }

    /// Takes in the tags of an image. Call [`TagSlam3d::poll`] until it gives `None` after each input.
    ///
    /// # Errors
    /// Why the image was not used; already counted. Single tags that are left out are counted, too.
    pub fn push_frame(&mut self, frame: &TagFrame) -> Result<(), DropReason> {
        let outcome = self.take_frame(frame);
        self.count(outcome)
    }

    /// What is pushed next has arrived at `now_s`, by a clock that no message sets (monotonic), in s since anything. With
    /// it, messages that were held up and come all at once do not pass for a clock that was set back. Recordings need not
    /// state it.
    pub fn arrived(&mut self, now_s: f64) {
        self.guard.arrived(now_s);
    }

    fn take_frame(&mut self, frame: &TagFrame) -> Result<(), DropReason> {
        let cameras = match frame.camera {
            Some(k) if k < MOST_CAMERAS => 1 << k,
            Some(_) => return Err(DropReason::UnknownSensor),
            None => ALL,
        };
        self.advance_clock(frame.stamp)?;
        let was_taken = self.running.as_ref().is_some_and(|running| running.has_taken(frame.stamp, cameras));
        if was_taken || self.inbox.cameras_at(frame.stamp) & cameras != 0 {
            return Err(DropReason::DuplicateStamp);
        }
        self.inbox.note_cameras(cameras, frame.stamp);
        let mut images = self.inbox.images();
        images.cameras = cameras;
        let sigma = self.own.tags.corner_std_px;
        for (k, seen) in frame.seen.iter().enumerate() {
            let is_duplicate = |other: &TagSeen| (other.camera, other.id) == (seen.camera, seen.id);
            let camera = self.cameras.get(seen.camera).copied().flatten();
            let is_of_it = frame.camera.is_none_or(|own| own == seen.camera);
            let reason = match camera.filter(|_| is_of_it) {
                _ if k >= MOST_SEEN => Some(DropReason::TooManyPoints),
                _ if frame.seen.iter().filter(|other| is_duplicate(other)).count() > 1 => Some(DropReason::RepeatedTag),
                None => Some(DropReason::UnknownSensor),
                Some(camera) => {
                    let sight = seen.sight(&camera, self.on_board.get(&seen.id), sigma);
                    let is_valid = sight.is_valid();
                    if is_valid {
                        images.sights.push(sight);
                        images.of.push(seen.camera as u8);
                    }
                    (!is_valid).then_some(DropReason::BadCorners)
                }
            };
            reason.into_iter().for_each(|reason| self.counts.add(reason));
        }
        self.sizes.look(&images.sights, &self.known);
        // An image without tags tells the time, and nothing else.
        let is_idle = images.sights.is_empty() && frame.camera.is_some();
        let what = What::Frame(images);
        if is_idle {
            self.inbox.recycle(what);
            self.look_ahead();
            return Ok(());
        }
        self.queue(frame.stamp, what)
    }

    /// Takes in a velocity of the body, which holds until the next.
    ///
    /// # Errors
    /// Why it was not used; already counted.
    pub fn push_twist(&mut self, twist: &BodyTwist) -> Result<(), DropReason> {
        let outcome = self.take_twist(twist);
        self.count(outcome)
    }

    fn take_twist(&mut self, twist: &BodyTwist) -> Result<(), DropReason> {
        if !twist.is_finite() {
            return Err(DropReason::NotFinite);
        }
        if !twist.is_sane() {
            return Err(DropReason::Absurd);
        }
        if self.own.tags.use_imu {
            self.queue_at(twist.stamp, What::Velocity(*twist))?;
            self.inbox.note_odometry(twist.stamp);
            return Ok(());
        }
        self.advance_clock(twist.stamp)?;
        match self.motion.newest().map(|newest| newest.stamp) {
            Some(newest) if twist.stamp == newest => return Err(DropReason::DuplicateStamp),
            Some(newest) if twist.stamp < newest => return Err(DropReason::TooLate),
            _ => {}
        }
        self.motion.push(*twist);
        self.inbox.note_odometry(twist.stamp);
        self.look_ahead();
        Ok(())
    }

    /// Takes in a sample of the inertial sensor, in the axes of the body.
    ///
    /// # Errors
    /// Why it was not used; already counted.
    pub fn push_imu(&mut self, sample: &ImuSample) -> Result<(), DropReason> {
        let outcome = self.take_imu(sample);
        self.count(outcome)
    }

    fn take_imu(&mut self, sample: &ImuSample) -> Result<(), DropReason> {
        if !sample.value.is_finite() {
            return Err(DropReason::NotFinite);
        }
        if sample.value.rate.norm() > MOST_IMU.0 || sample.value.force.norm() > MOST_IMU.1 {
            return Err(DropReason::Absurd);
        }
        self.advance_clock(sample.stamp)?;
        let Some(inertial) = &mut self.motion.inertial else { return Err(DropReason::UnknownSensor) };
        match inertial.newest() {
            Some(newest) if sample.stamp == newest => return Err(DropReason::DuplicateStamp),
            Some(newest) if sample.stamp < newest => return Err(DropReason::TooLate),
            _ => {}
        }
        inertial.push(*sample);
        self.inbox.note_inertial(sample.stamp);
        self.look_ahead();
        Ok(())
    }

    /// Takes in a pose that another source measures, without a gate.
    ///
    /// # Errors
    /// Why it was not used; already counted.
    pub fn push_pose(&mut self, pose: &Pose) -> Result<(), DropReason> {
        let outcome = check_pose(&pose.pose, &pose.covariance)
            .and_then(|()| if is_definite(&pose.covariance) { Ok(()) } else { Err(DropReason::BadCovariance) })
            .and_then(|()| self.queue_at(pose.stamp, What::Pose(*pose)));
        self.count(outcome)
    }

    /// States an error that all poses up to this instant have in common: position, m, and rotation about the axes of the
    /// map, rad. Without it, many poses with the same error are taken for as many independent ones.
    ///
    /// # Errors
    /// Why it was not used; already counted.
    pub fn push_common_error(&mut self, stamp: Stamp, covariance: &Matrix6<f64>) -> Result<(), DropReason> {
        let outcome =
            check_pose(&Se3::identity(), covariance).and_then(|()| self.queue_at(stamp, What::Common(*covariance)));
        self.count(outcome)
    }

    /// Asks for a step at an instant.
    ///
    /// # Errors
    /// Why there will be none; already counted.
    pub fn push_instant(&mut self, stamp: Stamp) -> Result<(), DropReason> {
        let outcome = self.queue_at(stamp, What::Instant);
        self.count(outcome)
    }

    /// Time has come to this stamp, without anything that was measured.
    ///
    /// # Errors
    /// Why it is not believed; already counted.
    pub fn push_time(&mut self, stamp: Stamp) -> Result<(), DropReason> {
        let outcome = self.advance_clock(stamp);
        self.count(outcome)
    }

    /// Nothing more is expected to come: what waits is due.
    pub fn flush(&mut self) {
        self.inbox.is_flushed = true;
    }

    fn queue_at(&mut self, stamp: Stamp, what: What) -> Result<(), DropReason> {
        self.advance_clock(stamp)?;
        if self.inbox.has(stamp, &what) {
            return Err(DropReason::DuplicateStamp);
        }
        self.queue(stamp, what)
    }

    fn queue(&mut self, stamp: Stamp, what: What) -> Result<(), DropReason> {
        let is_late = self.running.as_ref().is_some_and(|running| stamp < running.at());
        if is_late {
            self.inbox.recycle(what);
            return Err(DropReason::TooLate);
        }
        if self.inbox.is_full() {
            if self.running.is_some() {
                self.inbox.recycle(what);
                return Err(DropReason::BufferFull);
            }
            // A start that takes long has no use for the oldest.
            if let Some(item) = self.inbox.pop() {
                self.inbox.recycle(item.what);
                self.counts.add(DropReason::NotStarted);
            }
        }
        self.inbox.push(stamp, what);
        self.look_ahead();
        Ok(())
    }

    /// Judges a stamp by the clock, of which every source is a part.
    fn advance_clock(&mut self, stamp: Stamp) -> Result<(), DropReason> {
        if !self.enabled {
            return Err(DropReason::Disabled);
        }
        let limits = Limits { max_ahead_s: self.config.timing.max_ahead_s, jump_back_s: JUMP_BACK_S };
        match self.guard.judge(stamp, &limits) {
            Verdict::InForce | Verdict::JumpedAhead => {}
            Verdict::JumpedBack => {
                self.time_jumps += 1;
                self.start_again();
                self.motion.clear();
                self.inbox.clear();
            }
            Verdict::Unconfirmed { is_ahead, .. } | Verdict::Stray { is_ahead } => {
                return Err(if is_ahead { DropReason::FromTheFuture } else { DropReason::UnconfirmedJump });
            }
            Verdict::SecondClock => return Err(DropReason::SecondClock),
        }
        self.inbox.note(stamp);
        Ok(())
    }

    fn count(&mut self, outcome: Result<(), DropReason>) -> Result<(), DropReason> {
        if let Err(reason) = outcome {
            self.counts.add(reason);
        }
        outcome
    }

    /// How far the pose is ahead: up to the newest odometry, where that speaks, so that its own pose is of the same
    /// instant.
    fn newest(&self) -> Option<Stamp> {
        let newest = self.inbox.newest?;
        if let Some(inertial) = &self.motion.inertial {
            return inertial.newest();
        }
        let of_odometry = self.motion.newest().map(|twist| twist.stamp);
        Some(of_odometry.filter(|at| newest.since(*at) < self.own.tags.odometry_hold_s).unwrap_or(newest))
    }

    fn look_ahead(&mut self) {
        if let (Some(newest), Some(running)) = (self.newest(), &mut self.running) {
            running.look_ahead(&self.motion, newest);
        }
    }

    /// The next step that is due.
    pub fn poll(&mut self) -> Option<Step> {
        self.start();
        let newest = self.newest()?;
        let window_s = self.config.timing.reorder_window_s;
        loop {
            let Self { running, inbox, motion, counts, .. } = self;
            let running = running.as_mut()?;
            let outcome = match inbox.pop_due(window_s) {
                Some(mut item) => {
                    let outcome = running.take(item.stamp, &mut item.what, newest, motion, counts);
                    inbox.recycle(item.what);
                    outcome
                }
                None => match running.pass_silence(newest - window_s, motion, counts) {
                    Ok(()) => return None,
                    Err(invalid) => Err(invalid),
                },
            };
            match outcome {
                Ok(Some(step)) => {
                    self.widened += u64::from(step.is_widened);
                    return Some(step);
                }
                Ok(None) => {}
                Err(_) => {
                    self.counts.add(DropReason::InvalidCovariance);
                    self.start_again();
                    return None;
                }
            }
        }
    }

    /// Begins where that is possible: at a pose that is given, among known tags, or with the first tag of a new map.
    fn start(&mut self) {
        if self.running.is_some() {
            return;
        }
        if let Some(inertial) = &self.motion.inertial {
            let Some(begins) = inertial.begins() else { return };
            let dropped = self.inbox.drop_before(begins);
            self.counts.add_many(DropReason::NotStarted, dropped as u64);
        }
        let is_only_known = self.config.map.mode == MapMode::Localization;
        let window_s = self.config.timing.reorder_window_s;
        let is_frame = |what: &What| matches!(what, What::Frame(images) if !images.sights.is_empty());
        let first = self.inbox.items().find(|item| is_frame(&item.what)).map(|item| item.stamp);
        let Some(first) = first.filter(|first| self.inbox.is_due(*first, window_s)) else { return };
        if let Some((pose, covariance)) = self.given {
            self.begin_at(&pose, &covariance, first, false);
        } else if self.known.is_empty() && !is_only_known {
            let at_start = &self.config.start;
            let place = Vector3::new(at_start.x_m, at_start.y_m, at_start.z_m);
            let pose = Se3::new(So3::exp(&(Vector3::z() * at_start.yaw_rad)), place);
            let mut covariance = start::by_axis([0.0, at_start.position_std_m]);
            covariance[(5, 5)] = at_start.yaw_std_rad.powi(2);
            self.begin_at(&pose, &covariance, first, true);
        } else if let Some((stamp, pose, spread)) =
            self.search.find(&self.inbox, &self.known, self.motion.is_planar, &self.config)
        {
            self.begin_at(&pose, &start::by_axis(spread), stamp, false);
        }
    }

    /// Begins at a pose; `is_level` says that its inclination is not known.
    fn begin_at(&mut self, pose: &Se3, covariance: &Matrix6<f64>, at: Stamp, is_level: bool) {
        let free = self.own.tags.free_motion();
        let motion = if self.motion.twist_at(at).is_some() { (0.0, 0.0) } else { free.unknown };
        let most = self.own.tags.max_tags;
        let state = match &self.motion.inertial {
            Some(inertial) => inertial.state_at(pose, covariance, at, is_level, most),
            None => start::state_at(pose, covariance, motion, most, &Filter::GROUP),
        };
        self.begin(state, at);
        if let Some(running) = &mut self.running {
            running.search_again();
        }
    }

    /// Begins with a state that a program has made, at a stamp. Frames from before are dropped as `not_started`.
    pub fn begin(&mut self, state: State, at: Stamp) {
        let options = TagOptions { most_tags: self.own.tags.max_tags, ..TagOptions::default() };
        let mut filter = TagFilter::new(self.known.clone(), options);
        filter.motion = self.own.tags.free_motion();
        let mut running = Running::new(state, at, filter, &self.motion, self.lost_sigma);
        running.only_known = self.config.map.mode == MapMode::Localization;
        let dropped = self.inbox.drop_before(at);
        self.counts.add_many(DropReason::NotStarted, dropped as u64);
        self.running = Some(running);
        (self.given, self.search) = (None, Search::default());
        self.look_ahead();
    }

    /// Puts the body at a pose that is given from outside, with its covariance: before the start, or later, when tags
    /// that are not known beforehand are forgotten.
    ///
    /// # Errors
    /// A pose that is not finite or absurd, or an invalid covariance; counted.
    pub fn set_pose(&mut self, pose: &Se3, covariance: &Matrix6<f64>) -> Result<(), DropReason> {
        self.count(check_pose(pose, covariance))?;
        match self.running.as_ref().map(Running::at) {
            Some(_) if self.own.tags.use_imu => {
                if let Some(running) = &mut self.running {
                    running.put(pose, covariance, &self.motion);
                    running.search_again();
                }
                self.look_ahead();
            }
            Some(at) => self.begin_at(pose, covariance, at, false),
            None => self.given = Some((*pose, *covariance)),
        }
        Ok(())
    }

    /// The tags of the state, each with its own covariance, and those that are known exactly.
    pub fn tags(&self) -> Vec<TagPose> {
        map::tags_of(self.state(), &self.known)
    }

    /// By which factor the edges of tags are longer than stated, where known tags show that they are not.
    pub fn size_factor(&self) -> Option<f64> {
        self.sizes.factor()
    }

    /// Known tags whose stated places contradict each other, by how much, m.
    pub fn contradictions(&self) -> Vec<([u64; 2], f64)> {
        self.running.iter().flat_map(|running| running.tags.contradictions()).collect()
    }

    /// The pose at the newest instant; `None` before the start.
    pub fn pose(&self) -> Option<PoseEstimate> {
        self.running.as_ref()?.ahead(&self.motion)
    }

    /// How good the pose is.
    pub fn quality(&self) -> Quality {
        let (Some(running), Some(pose)) = (&self.running, self.pose()) else { return Quality::Starting };
        let position = pose.covariance.fixed_view::<3, 3>(0, 0).trace();
        let is_unknown = position >= LOST_M * LOST_M || pose.covariance[(5, 5)] >= PI * PI / 3.0;
        let is_recent = |stamp: Option<Stamp>| stamp.is_some_and(|at| pose.stamp.since(at) <= SILENCE_S);
        let is_wide = running.is_contradicted() || !is_recent(running.last_used) || is_recent(running.last_widened);
        match (is_unknown, is_wide) {
            (true, _) => Quality::Lost,
            (false, true) => Quality::Wide,
            (false, false) => Quality::Ok,
        }
    }

    /// The state of the last step, for tools; `None` before the start.
    pub fn state(&self) -> Option<&State> {
        self.running.as_ref().map(|running| &running.state)
    }

    /// Forgets everything but settings, cameras, known tags and counts; the next images start anew.
    pub fn reset(&mut self) {
        self.guard.clear();
        self.start_again();
        self.motion.clear();
        self.inbox.clear();
    }

    fn start_again(&mut self) {
        self.running = None;
        (self.given, self.search) = (None, Search::default());
    }

    /// Switches the filter off (input is counted as `disabled`) or on again: it then starts anew, with the known tags.
    pub fn set_enabled(&mut self, enabled: bool) {
        if enabled != self.enabled {
            self.reset();
            self.enabled = enabled;
        }
    }

    /// Whether the filter takes input.
    pub fn enabled(&self) -> bool {
        self.enabled
    }

    /// What was left out so far, by reason.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// How often time was set back.
    pub fn time_jumps(&self) -> u64 {
        self.time_jumps
    }

    /// How often the covariance was widened, because most tags were beyond the gate.
    pub fn widened(&self) -> u64 {
        self.widened
    }
}
