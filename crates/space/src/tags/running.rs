//! A run that has begun: the state at its instant, and what is taken in there.

use super::face_on::Doubt;
use super::inbox::{MOST_CAMERAS, What};
use super::inertial::moved_to;
use super::input::BodyTwist;
use super::motion::{Motion, Place};
use super::start;
use crate::check::sound;
use crate::measured::AT_REST;
use crate::output::{Counts, DropReason, PoseEstimate, Step};
use lienav_base::stamp::Stamp;
use lienav_inertial::covariance::NAV;
use lienav_inertial::imu::Biases;
use lienav_inertial::measurement::absolute::AbsolutePose;
use lienav_inertial::measurement::planar::Planar;
use lienav_inertial::measurement::rest::is_known_to_rest;
use lienav_inertial::measurement::velocity::BodyVelocity;
use lienav_inertial::preintegration::Preintegrated;
use lienav_inertial::rest::RestDetector;
use lienav_inertial::state::State;
use lienav_inertial::state::errors::{POSITION, VELOCITY};
use lienav_inertial::step::Step as Correction;
use lienav_lie::{Se3, hat};
use lienav_tags::filter::{Corrected, TagFilter, TagOptions};
use lienav_tags::sight::Sight;
use nalgebra::{DMatrix, Matrix3, Matrix6, SMatrix, Vector3};

/// By how much a state that is lost is uncertain, by axis: rotation, rad; velocity, m/s; position, m.
pub const LOST_SIGMA: [f64; 3] = [0.3, 0.5, 0.5];

/// The state became invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invalid;

/// The filter on its way.
#[derive(Clone, Debug)]
pub struct Running {
    /// The state of the last step.
    pub state: State,
    /// The filter.
    pub tags: TagFilter,
    correction: Correction,
    place: Place,
    /// The pose at the newest twist or image: the state without its tags.
    ahead: (State, Place),
    /// The state without its tags, as if frames with a single tag face on had not been taken in.
    clear: (State, Place),
    rest: RestDetector,
    /// Tags that were used and that failed the gate in the last frames, the older the less.
    recent: (f64, f64),
    lost_sigma: [f64; 3],
    /// Whether the state is put where known tags show it when its rotation is lost.
    searches: bool,
    /// Whether tags that are not known beforehand are left out.
    pub only_known: bool,
    /// Cameras whose frames were taken in at the instant of the state.
    taken: u32,
    /// The mounts of cameras whose places on the body are estimated.
    mounts: [Option<usize>; MOST_CAMERAS],
    /// The last frame of which a tag was used.
    pub last_used: Option<Stamp>,
    /// When the covariance was widened last.
    pub last_widened: Option<Stamp>,
}

impl Running {
    /// Begins with a state at a stamp.
    pub fn new(state: State, at: Stamp, tags: TagFilter, motion: &Motion, lost_sigma: [f64; 3]) -> Self {
        let place = motion.place(at);
        let mut alone = State::new(state.nav, &state.covariance.nav(), 0, &tags.filter);
        alone.gravity = state.gravity;
        let mut running = Self {
            correction: Correction::new(tags.filter),
            state,
            tags,
            ahead: (alone.clone(), place.clone()),
            clear: (alone, place.clone()),
            rest: RestDetector::default(),
            recent: (0.0, 0.0),
            lost_sigma,
            searches: false,
            only_known: false,
            taken: 0,
            mounts: [None; MOST_CAMERAS],
            place,
            last_used: None,
            last_widened: None,
        };
        running.restart_ahead(motion, at);
        running
    }

    /// From here on, the place of a camera on the body is estimated; it has errors of this covariance, rotation first.
    pub fn estimate_mount(&mut self, camera: usize, on_body: &Se3, covariance: &DMatrix<f64>) {
        if let Some(mount) = self.mounts.get_mut(camera) {
            *mount = Some(self.state.mounts.len());
            self.state.add_mounts(&[*on_body], covariance);
        }
    }

    /// Cameras are where another run had them by its estimate.
    pub fn adopt_mounts(&mut self, other: &Self) {
        self.mounts = other.mounts;
        self.state.add_mounts(&other.state.mounts, &other.state.mount_covariance());
    }

    /// Where a camera is on the body, with the covariance of its rotation, rad², and place, m², about the axes of the body;
    /// `None` where that is not estimated.
    pub fn mount(&self, camera: usize) -> Option<(Se3, Matrix6<f64>)> {
        let k = (*self.mounts.get(camera)?)?;
        let first = self.state.mount_row(k);
        Some((*self.state.mounts.get(k)?, self.state.covariance.block::<6, 6>(first, first)))
    }

    /// The instant of the state.
    pub fn at(&self) -> Stamp {
        self.place.at
    }

    /// Whether frames of these cameras were taken in at this stamp.
    pub fn has_taken(&self, stamp: Stamp, cameras: u32) -> bool {
        stamp == self.place.at && self.taken & cameras != 0
    }

    /// Time has come to this stamp.
    pub fn look_ahead(&mut self, motion: &Motion, to: Stamp) {
        let (state, place) = &mut self.ahead;
        motion.advance(&self.tags, state, place, to);
    }

    /// The estimate at the newest instant.
    pub fn ahead(&self, motion: &Motion) -> Option<PoseEstimate> {
        let (state, place) = &self.ahead;
        estimate(state, &self.tags, place.at, motion)
    }

    /// From here on, a state whose rotation is lost is put where known tags show it.
    pub fn search_again(&mut self) {
        self.searches = true;
    }

    /// Where the rotation is lost and known tags show it, the state begins there anew; without, wrong poses of a single
    /// tag are ruled out at higher odds.
    fn relocate(&mut self, sights: &[Sight], motion: &Motion) {
        let covariance = self.state.pose_covariance(&self.tags.filter);
        let turn = (3..6).map(|k| covariance[(k, k)]).sum::<f64>().sqrt();
        let is_lost = turn > start::TURNED;
        self.tags.options.odds = if is_lost { start::SURE } else { TagOptions::default().odds };
        let Some(pose) = start::shown(&self.tags.known, sights, motion.is_planar).filter(|_| is_lost) else {
            return;
        };
        self.put(&pose, &start::by_axis(start::NEAR), motion);
    }

    /// The body is at this pose, with the covariance of position and rotation about the axes of the map: tags of the state
    /// are forgotten.
    pub fn put(&mut self, pose: &Se3, covariance: &Matrix6<f64>, motion: &Motion) {
        let most = self.tags.options.most_tags;
        let (of_mounts, mounts) = (self.state.mount_covariance(), std::mem::take(&mut self.state.mounts));
        if motion.inertial.is_some() {
            self.state = moved_to(&self.state, pose, covariance, most, &self.tags.filter);
        } else {
            let unknown = if motion.twist_at(self.place.at).is_some() { (0.0, 0.0) } else { self.tags.motion.unknown };
            self.state = start::state_at(pose, covariance, unknown, most, &self.tags.filter);
            self.place = motion.place(self.place.at);
        }
        self.state.add_mounts(&mounts, &of_mounts);
        copy_alone(&self.state, &mut self.clear.0);
        self.clear.1.copy_from(&self.place);
    }

    fn restart_ahead(&mut self, motion: &Motion, to: Stamp) {
        let (state, place) = &mut self.ahead;
        copy_alone(&self.state, state);
        place.copy_from(&self.place);
        self.look_ahead(motion, to);
    }

    fn advance(&mut self, to: Stamp, motion: &mut Motion) {
        let before = self.place.at;
        if before < to {
            motion.advance(&self.tags, &mut self.state, &mut self.place, to);
            let (clear, place) = &mut self.clear;
            motion.advance(&self.tags, clear, place, to);
            let samples = motion.inertial.iter().flat_map(|inertial| inertial.between(before, to));
            samples.for_each(|sample| self.rest.push(sample));
            motion.forget_before(to);
            self.taken = 0;
        }
    }

    /// A body whose inertial sensor is calm and whose velocity is known to be small has none.
    fn rest(&mut self, counts: &mut Counts) -> bool {
        let is_at_rest = self.rest.is_at_rest() && is_known_to_rest(&self.state, &self.tags.filter);
        if is_at_rest {
            self.correct_one(&AT_REST, counts);
        }
        is_at_rest
    }

    /// Moves the state through an interval in which there is nothing but odometry. It stops where twists end, so that the
    /// estimates do not depend on when this is called.
    ///
    /// # Errors
    /// [`Invalid`].
    pub fn pass_silence(&mut self, until: Stamp, motion: &mut Motion, counts: &mut Counts) -> Result<(), Invalid> {
        /// So much odometry waits, s: a frame may come that is late.
        const SILENT_S: f64 = 0.5;
        while until.since(self.place.at) > SILENT_S {
            if let Some(inertial) = &motion.inertial {
                let next = self.place.at + SILENT_S;
                if inertial.newest().is_none_or(|newest| newest < next) {
                    break;
                }
                self.advance(next, motion);
                if self.place.at < next {
                    break;
                }
                self.rest(counts);
                self.estimate(motion).ok_or(Invalid)?;
                continue;
            }
            let Some(next) = motion.next_change(self.place.at).filter(|next| *next <= until) else { break };
            self.advance(next, motion);
            self.estimate(motion).ok_or(Invalid)?;
        }
        Ok(())
    }

    /// Takes in what is to be done at an instant; `newest` is how far time has come.
    ///
    /// # Errors
    /// [`Invalid`].
    pub fn take(
        &mut self,
        stamp: Stamp,
        what: &mut What,
        newest: Stamp,
        motion: &mut Motion,
        counts: &mut Counts,
    ) -> Result<Option<Step>, Invalid> {
        if stamp < self.place.at {
            counts.add(DropReason::TooLate);
            return Ok(None);
        }
        self.advance(stamp, motion);
        if self.place.at < stamp {
            // Samples of the inertial sensor do not reach it.
            counts.add(DropReason::TooLate);
            return Ok(None);
        }
        let is_at_rest = self.rest(counts);
        let (mut corrected, mut is_widened) = (Corrected::default(), false);
        match what {
            What::Instant => {}
            What::Pose(pose) => {
                let given = AbsolutePose { mount: Se3::identity(), pose: pose.pose, covariance: pose.covariance };
                self.correct_one(&given, counts);
            }
            What::Common(covariance) => self.add_common(covariance),
            What::Velocity(twist) => {
                let covariance = Matrix3::from_diagonal(&motion.velocity_variance(twist));
                let measured = BodyVelocity { mount: Se3::identity(), velocity: twist.velocity, covariance };
                self.correct_one(&measured, counts);
            }
            What::Frame(images) => {
                self.taken |= images.cameras;
                for (sight, camera) in images.sights.iter_mut().zip(&images.of) {
                    sight.mount = self.mounts.get(usize::from(*camera)).copied().flatten();
                    *sight = sight.placed(&self.state);
                }
                (corrected, is_widened) = self.correct(stamp, &mut images.sights, motion, counts);
            }
        }
        if is_widened {
            self.last_widened = Some(stamp);
        }
        if corrected.used + corrected.initialized > 0 {
            self.last_used = Some(stamp);
        }
        self.restart_ahead(motion, newest.max(stamp));
        Ok(Some(Step {
            estimate: self.estimate(motion).ok_or(Invalid)?,
            has_frame: matches!(what, What::Frame(_)),
            is_at_rest,
            nis: 0.0,
            dof: 0,
            accepted: corrected.used,
            gated: corrected.gated,
            initialized: corrected.initialized,
            removed: corrected.removed,
            is_widened,
            landmarks: self.state.landmarks.len() / 2,
        }))
    }

    fn correct(
        &mut self,
        stamp: Stamp,
        sights: &mut Vec<Sight>,
        motion: &Motion,
        counts: &mut Counts,
    ) -> (Corrected, bool) {
        for sight in &mut *sights {
            sight.sigma = sight.sigma.hypot(motion.stamp_sigma_s * motion.blur(stamp, &self.state, sight));
        }
        if self.only_known {
            let before = sights.len();
            sights.retain(|sight| self.tags.known.contains_key(&sight.id));
            counts.add_many(DropReason::UnknownLandmark, (before - sights.len()) as u64);
        }
        if self.searches {
            self.relocate(sights, motion);
        }
        self.level(motion, counts);
        self.tags.moving.now = Some(stamp);
        let corrected = self.tags.correct(&mut self.state, sights);
        match Doubt::of(sights).filter(|_| self.searches) {
            Some(doubt)
                if corrected.used + corrected.ambiguous > 0 && !doubt.is_decided(&self.clear.0, &self.tags.filter) =>
            {
                doubt.add(&mut self.state, &self.tags);
            }
            None if corrected.used > 0 => {
                copy_alone(&self.state, &mut self.clear.0);
                self.clear.1.copy_from(&self.place);
            }
            _ => {}
        }
        self.level(motion, counts);
        counts.add_many(DropReason::Gated, corrected.gated as u64);
        counts.add_many(DropReason::AmbiguousTag, corrected.ambiguous as u64);
        counts.add_many(DropReason::UnexplainedTag, corrected.unexplained as u64);
        let is_widened = self.watch(&corrected);
        (corrected, is_widened)
    }

    /// Where most tags of the last frames are beyond the gate, the covariance is made wide enough to take in the next.
    fn watch(&mut self, corrected: &Corrected) -> bool {
        const KEPT: f64 = 0.8;
        const LEAST: f64 = 4.0;
        self.recent = (KEPT * self.recent.0 + corrected.used as f64, KEPT * self.recent.1 + corrected.gated as f64);
        if self.recent.1 < LEAST || self.recent.1 <= self.recent.0 {
            return false;
        }
        let [turn, velocity, position] = self.lost_sigma;
        self.tags.predict(&mut self.state, &Preintegrated::uncertainty(turn, velocity, position));
        self.recent = (0.0, 0.0);
        true
    }

    /// Whether more tags of the last frames were beyond the gate than used.
    pub fn is_contradicted(&self) -> bool {
        self.recent.1 > self.recent.0
    }

    /// The body is on the floor.
    fn level(&mut self, motion: &Motion, counts: &mut Counts) {
        /// A floor of a hall, m and rad.
        const FLOOR: (f64, f64) = (1e-3, 1e-3);
        if motion.is_planar {
            let floor = Planar { height_m: 0.0, height_sigma_m: FLOOR.0, up: Vector3::z(), tilt_sigma: FLOOR.1 };
            self.correct_one(&floor, counts);
        }
    }

    fn correct_one(&mut self, one: &dyn lienav_inertial::measurement::Measurement, counts: &mut Counts) {
        if self.correction.correct(&mut self.state, &[one]).is_err() {
            counts.add(DropReason::Singular);
        }
    }

    /// Adds an error that all poses that were given have in common to those of the pose, of which everything else is
    /// independent: ξ_R = δθ and ξ_p = δp + p̂^ δθ.
    fn add_common(&mut self, covariance: &Matrix6<f64>) {
        let mut to_left = SMatrix::<f64, 6, 6>::zeros();
        to_left.fixed_view_mut::<3, 3>(0, 3).fill_with_identity();
        to_left.fixed_view_mut::<3, 3>(3, 0).fill_with_identity();
        to_left.fixed_view_mut::<3, 3>(3, 3).copy_from(&hat(&self.state.nav.position));
        let own = to_left * covariance * to_left.transpose();
        let rows = [0, 1, 2, POSITION, POSITION + 1, POSITION + 2];
        let mut nav = self.state.covariance.nav();
        for (i, row) in rows.into_iter().enumerate() {
            for (j, column) in rows.into_iter().enumerate() {
                nav[(row, column)] += 0.5 * (own[(i, j)] + own[(j, i)]);
            }
        }
        self.state.covariance.set::<NAV, NAV>(0, 0, &nav);
    }

    /// The estimate of the last step.
    pub fn estimate(&self, motion: &Motion) -> Option<PoseEstimate> {
        estimate(&self.state, &self.tags, self.place.at, motion)
    }
}

/// Makes the one state the other without its tags.
fn copy_alone(from: &State, to: &mut State) {
    (to.nav, to.predicted, to.rate) = (from.nav, from.predicted, from.rate);
    to.covariance.set::<NAV, NAV>(0, 0, &from.covariance.nav());
}

/// The estimate of a state; `None` where it is no longer one.
fn estimate(state: &State, tags: &TagFilter, stamp: Stamp, motion: &Motion) -> Option<PoseEstimate> {
    let covariance = state.pose_covariance(&tags.filter);
    let nav = &state.nav;
    let sound = sound(nav, &covariance);
    let twist = if motion.inertial.is_some() { None } else { motion.twist_at(stamp) };
    let of_twist = |twist: &BodyTwist| {
        let (own, turn) = (Matrix3::from_diagonal(&motion.velocity_variance(twist)), nav.rotation.matrix());
        (turn * own * turn.transpose(), nav.rotation * twist.velocity, twist.rate)
    };
    let own = || {
        let all = state.nav_covariance(&tags.filter);
        let rate = if motion.inertial.is_some() { state.rate } else { -nav.biases.gyro };
        (all.fixed_view::<3, 3>(VELOCITY, VELOCITY).into_owned(), nav.velocity, rate)
    };
    let (velocity_covariance, velocity, rate) = twist.map_or_else(own, of_twist);
    sound.map(|covariance| PoseEstimate {
        stamp,
        pose: Se3::new(nav.rotation, nav.position),
        covariance,
        velocity,
        velocity_covariance,
        rate,
        biases: if motion.inertial.is_some() { nav.biases } else { Biases::default() },
    })
}
