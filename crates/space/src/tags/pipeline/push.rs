//! Input: what is taken in, what waits, and what is dropped.

use super::super::inbox::What;
use super::super::input::{BodyTwist, TagFrame, TagSeen};
use super::{ALL, JUMP_BACK_S, MOST_CAMERAS, MOST_IMU, MOST_SEEN, TagSlam3d};
use crate::check::{check_pose, is_definite};
use crate::input::{ImuSample, Pose};
use crate::output::DropReason;
use lienav_base::clock::{Limits, Verdict};
use lienav_base::stamp::Stamp;
use lienav_lie::Se3;
use nalgebra::Matrix6;

impl TagSlam3d {
    /// Takes in the tags of an image. Call [`TagSlam3d::poll`] until it gives `None` after each input.
    ///
    /// # Errors
    /// Why the image was not used; already counted. Single tags that are left out are counted, too.
    pub fn push_frame(&mut self, frame: &TagFrame) -> Result<(), DropReason> {
        let outcome = self.take_frame(frame);
        self.count(outcome)
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
        self.pairs.look(&images.sights, &self.known);
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

    /// States an error that all poses up to this instant have in common: position, m, and rotation about the axes of
    /// the map, rad. Without it, many poses with the same error are taken for as many independent ones.
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

    pub(super) fn count(&mut self, outcome: Result<(), DropReason>) -> Result<(), DropReason> {
        if let Err(reason) = outcome {
            self.counts.add(reason);
        }
        outcome
    }
}
