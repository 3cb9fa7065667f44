//! What is taken in: checked, counted where it is not used, and queued.

use crate::check::{check, check_pose, is_definite};
use crate::inbox::{LONGEST_SILENCE_S, What};
use crate::input::{Frame, ImuSample, Odometry, Pose};
use crate::output::DropReason;
use crate::slam3d::Slam3d;
use lienav_base::clock::{Limits, Verdict};
use lienav_base::stamp::Stamp;

/// A stamp behind the newest by more than this is a jump back of time, s.
const JUMP_BACK_S: f64 = 2.0;
/// No body that carries the sensor turns or is pushed more, rad/s and m/s².
const MOST_IMU: (f64, f64) = (100.0, 1000.0);

impl Slam3d {
    /// Takes in a sample of the inertial sensor. Call [`Slam3d::poll`] until it gives `None` after each input.
    ///
    /// # Errors
    /// Why it was not used; already counted.
    pub fn push_imu(&mut self, sample: &ImuSample) -> Result<(), DropReason> {
        let outcome = self.take_imu(sample);
        self.count(outcome)
    }

    /// What is pushed next has arrived at `now_s`, by a clock that no message sets (monotonic), in s since anything. With
    /// it, messages that were held up and come all at once do not pass for a clock that was set back. Recordings need not
    /// state it.
    pub fn arrived(&mut self, now_s: f64) {
        self.guard.arrived(now_s);
    }

    fn take_imu(&mut self, sample: &ImuSample) -> Result<(), DropReason> {
        self.check_enabled()?;
        if !sample.value.is_finite() {
            return Err(DropReason::NotFinite);
        }
        if sample.value.rate.norm() > MOST_IMU.0 || sample.value.force.norm() > MOST_IMU.1 {
            return Err(DropReason::Absurd);
        }
        match self.guard.judge(sample.stamp, &self.limits()) {
            Verdict::InForce => self.end_silence(sample.stamp, LONGEST_SILENCE_S),
            Verdict::JumpedAhead => self.end_silence(sample.stamp, 0.0),
            Verdict::JumpedBack => self.end_unknown_silence(),
            Verdict::Unconfirmed { is_ahead, .. } | Verdict::Stray { is_ahead } => {
                return Err(if is_ahead { DropReason::FromTheFuture } else { DropReason::UnconfirmedJump });
            }
            Verdict::SecondClock => return Err(DropReason::SecondClock),
        }
        match self.inbox.newest {
            Some(newest) if sample.stamp == newest => return Err(DropReason::DuplicateStamp),
            Some(newest) if sample.stamp < newest => return Err(DropReason::TooLate),
            _ => {}
        }
        self.inbox.push_sample(*sample);
        if let Some(running) = &mut self.running {
            running.note(sample);
        }
        self.waits_since.get_or_insert(sample.stamp);
        Ok(())
    }

    /// Takes in a frame. It waits until samples of the inertial sensor reach its stamp.
    ///
    /// # Errors
    /// Why the frame was not used; already counted. Single measurements that are left out are counted, too.
    pub fn push_frame(&mut self, frame: &Frame) -> Result<(), DropReason> {
        let outcome = self.take_frame(frame);
        self.count(outcome)
    }

    fn take_frame(&mut self, frame: &Frame) -> Result<(), DropReason> {
        let mut kept = self.inbox.list();
        for seen in &frame.seen {
            match check(seen, &kept) {
                Ok(()) => kept.push(*seen),
                Err(reason) => self.counts.add(reason),
            }
        }
        self.queue(frame.stamp, What::Frame(kept))
    }

    /// Takes in a velocity of the body.
    ///
    /// # Errors
    /// Why it was not used; already counted.
    pub fn push_odometry(&mut self, odometry: &Odometry) -> Result<(), DropReason> {
        let numbers = odometry.covariance.iter().flat_map(|c| c.iter()).chain(odometry.velocity.iter());
        let outcome = if !numbers.copied().all(f64::is_finite) {
            Err(DropReason::NotFinite)
        } else if odometry.velocity.norm() > 1e3 {
            Err(DropReason::Absurd)
        } else if odometry.covariance.is_some_and(|c| c.cholesky().is_none()) {
            Err(DropReason::BadCovariance)
        } else {
            self.queue(odometry.stamp, What::Odometry(*odometry))
        };
        self.count(outcome)
    }

    /// Takes in a pose that another source measures; it passes the gate as every measurement.
    ///
    /// # Errors
    /// Why it was not used; already counted.
    pub fn push_pose(&mut self, pose: &Pose) -> Result<(), DropReason> {
        let outcome = check_pose(&pose.pose, &pose.covariance)
            .and_then(|()| if is_definite(&pose.covariance) { Ok(()) } else { Err(DropReason::BadCovariance) })
            .and_then(|()| self.queue(pose.stamp, What::Pose(*pose)));
        self.count(outcome)
    }

    /// Asks for a step at an instant.
    ///
    /// # Errors
    /// Why there will be none; already counted.
    pub fn push_instant(&mut self, stamp: Stamp) -> Result<(), DropReason> {
        let outcome = self.queue(stamp, What::Instant);
        self.count(outcome)
    }

    fn queue(&mut self, stamp: Stamp, what: What) -> Result<(), DropReason> {
        self.check_enabled()?;
        match self.guard.judge_follower(stamp, &self.limits()) {
            Verdict::SecondClock => return Err(DropReason::SecondClock),
            Verdict::Stray { is_ahead: true } if !self.inbox.continues(stamp) => {
                return Err(DropReason::FromTheFuture);
            }
            Verdict::Stray { is_ahead: false } => return Err(DropReason::TooLate),
            _ => {}
        }
        let was_used = self.running.as_ref().is_some_and(|running| running.has_taken(stamp, &what));
        if was_used || self.inbox.has(stamp, &what) {
            return Err(DropReason::DuplicateStamp);
        }
        if self.running.as_ref().is_some_and(|running| stamp < running.at() && !running.begins()) {
            return Err(DropReason::TooLate);
        }
        if self.inbox.is_full() {
            return Err(DropReason::BufferFull);
        }
        self.inbox.push(stamp, what);
        Ok(())
    }

    pub(super) fn check_enabled(&self) -> Result<(), DropReason> {
        if self.enabled { Ok(()) } else { Err(DropReason::Disabled) }
    }

    pub(super) fn count(&mut self, outcome: Result<(), DropReason>) -> Result<(), DropReason> {
        if let Err(reason) = outcome {
            self.counts.add(reason);
        }
        outcome
    }

    fn limits(&self) -> Limits {
        Limits { max_ahead_s: self.config.timing.max_ahead_s, jump_back_s: JUMP_BACK_S }
    }
}
