//! The pipeline of tags: stamped input in, in whatever order it arrives (`push`); steps out, in the order of their
//! stamps. `begin` says where a run begins.

mod begin;
mod push;

use super::inbox::{Inbox, MOST_CAMERAS};
use super::inertial::Inertial;
use super::input::{Camera, MovingTag, OnBoard, TagPose};
use super::map;
use super::motion::Motion;
use super::pairs::Pairs;
use super::running::{LOST_SIGMA, Running};
use super::search::Search;
use super::settings::{SPECS, TagConfig};
use crate::check::check_pose;
use crate::config::Config;
use crate::output::{Counts, DropReason, PoseEstimate, Quality, Step};
use lienav_base::clock::ClockGuard;
use lienav_base::settings::{OutOfRange, check};
use lienav_base::stamp::Stamp;
use lienav_inertial::state::State;
use lienav_lie::Se3;
use lienav_tags::known::JointMap;
use lienav_tags::landmark::KnownTag;
use lienav_tags::moving::Followed;
use nalgebra::Matrix6;
use std::collections::{BTreeMap, BTreeSet};
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

/// The whole pipeline of tags. The node, the offline evaluation and the tests all run this and nothing else, so the
/// same input gives the same estimates to the last bit. See [the module](super) for an example.
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
    pairs: Pairs,
    /// Tags that are stated to move.
    moving: BTreeSet<u64>,
    /// What known tags have in common.
    joint_map: JointMap,
    counts: Counts,
    time_jumps: u64,
    widened: u64,
    enabled: bool,
}

impl TagSlam3d {
    /// A filter that waits for its first images. Of `config`, `start`, `timing` and `map.mode` count, and `imu` where
    /// that is used.
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
            pairs: Pairs::default(),
            moving: BTreeSet::new(),
            joint_map: JointMap::default(),
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

    /// States where a camera is, and how it images. Numbers go up to 15. Where places of cameras are estimated, a camera that
    /// had another place lets a filter that runs start again.
    ///
    /// # Errors
    /// [`DropReason::UnknownSensor`] for a greater number, [`DropReason::Absurd`] for numbers that are not a camera's.
    pub fn set_camera(&mut self, number: usize, camera: Camera) -> Result<(), DropReason> {
        let slot = self.cameras.get_mut(number).ok_or(DropReason::UnknownSensor)?;
        if !camera.is_sane() {
            return Err(DropReason::Absurd);
        }
        let is_moved = slot.replace(camera).is_none_or(|before| before.on_body != camera.on_body);
        match (self.own.tags.mount_covariance(), &mut self.running) {
            (Some(_), Some(running)) if is_moved && running.mount(number).is_some() => self.start_again(),
            (Some(covariance), Some(running)) if is_moved => {
                running.estimate_mount(number, &camera.on_body, &covariance);
            }
            _ => {}
        }
        Ok(())
    }

    /// States how many cameras there are and whether there is odometry: in the beginning they are waited for, so that
    /// the start does not depend on which speaks first.
    pub fn expect(&mut self, cameras: usize, odometry: bool) {
        self.inbox.expect(cameras, odometry);
    }

    /// States tags whose places are known, and those that are on boards with others. A filter that runs starts again.
    pub fn set_known(&mut self, known: BTreeMap<u64, KnownTag>, on_board: BTreeMap<u64, OnBoard>) {
        (self.known, self.on_board, self.pairs) = (known, on_board, Pairs::default());
        self.known.retain(|id, _| !self.moving.contains(id));
        self.joint_map = JointMap::default();
        if self.running.is_some() {
            self.start_again();
        }
    }

    /// States what the errors of the known tags have in common, after [`TagSlam3d::set_known`]; without, they are taken
    /// for independent. A filter that runs starts again.
    pub fn set_joint_map(&mut self, joint: JointMap) {
        self.joint_map = joint;
        if self.running.is_some() {
            self.start_again();
        }
    }

    /// The joint covariance of the tags of the state, those whose places are known exactly left out.
    pub fn joint_map(&self) -> JointMap {
        self.state().map(JointMap::of_state).unwrap_or_default()
    }

    /// States tags that are on something that moves, as a cart or a person: they are followed
    /// ([`TagSlam3d::moving`]), and show nothing of the pose, even where their places are stated to be known. A filter
    /// that runs starts again.
    pub fn set_moving(&mut self, moving: BTreeSet<u64>) {
        self.known.retain(|id, _| !moving.contains(id));
        self.moving = moving;
        if self.running.is_some() {
            self.start_again();
        }
    }

    /// Tags whose places are known.
    pub fn known(&self) -> &BTreeMap<u64, KnownTag> {
        &self.known
    }

    /// What is pushed next has arrived at `now_s`, by a clock that no message sets (monotonic), in s since anything.
    /// With it, messages that were held up and come all at once do not pass for a clock that was set back. Recordings
    /// need not state it.
    pub fn arrived(&mut self, now_s: f64) {
        self.guard.arrived(now_s);
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
        self.pairs.sizes.factor()
    }

    /// A camera as it was stated.
    pub fn camera(&self, number: usize) -> Option<&Camera> {
        self.cameras.get(number)?.as_ref()
    }

    /// Where a camera is on the body by the estimate, with the covariance of its rotation, rad², and place, m², about the
    /// axes of the body; `None` where that is not estimated (`tags.camera_turn_std_rad`, `tags.camera_place_std_m`).
    pub fn mount(&self, camera: usize) -> Option<(Se3, Matrix6<f64>)> {
        self.running.as_ref()?.mount(camera)
    }

    /// Which corner of tags comes first, where known tags show that it is another one than it should be: 1 is at (+, −),
    /// 2 at (+, +), 3 at (−, +).
    pub fn first_corner(&self) -> Option<usize> {
        self.pairs.order.first().filter(|corner| *corner > 0)
    }

    /// Tags on something that moves, stated or found, where they were seen last.
    pub fn moving(&self) -> Vec<MovingTag> {
        let seen = self.running.iter().flat_map(|running| running.tags.moving.seen());
        let of = |one: &Followed| {
            Some(MovingTag { id: one.id, stamp: one.stamp?, pose: one.pose, covariance: one.covariance })
        };
        seen.filter_map(of).collect()
    }

    /// Tags that were found to be on something that moves.
    pub fn found_moving(&self) -> Vec<u64> {
        self.running.iter().flat_map(|running| running.tags.moving.found()).collect()
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
