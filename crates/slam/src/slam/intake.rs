//! The intake of odometry: which messages are of the clock in force, have a stamp that may be believed, and velocities
//! that the platform can have reached.

use crate::inbox::MAX_SEGMENT_S;
use crate::slam::Slam;
use crate::{early, odometry_limits};
use lienav_base::clock::TimeJump;
use lienav_base::clock::{Limits, Verdict};
use lienav_base::stamp::Stamp;
use lienav_planar::check::checked_covariance;
use lienav_planar::input::Odometry;
use lienav_planar::output::DropReason;
use nalgebra::Matrix3;

/// So many messages of a clock that is not confirmed are held back: a tenth of a second of the fastest odometry.
const MOST_HELD: usize = 256;

impl Slam {
    /// The next message arrived at `now_s`, by a clock that no message sets (monotonic), in s since anything. With it,
    /// odometry that was held up and comes all at once does not pass for a clock that was set. Recordings need not
    /// state it.
    pub fn arrived(&mut self, now_s: f64) {
        self.intake.guard.arrived(now_s);
    }

    pub(super) fn take_odometry(&mut self, odometry: &Odometry) -> Result<(), DropReason> {
        self.check_enabled()?;
        let covariance = self.check_odometry(odometry)?;
        let stamp = odometry.stamp + self.config.motion.delay_s;
        let odometry = Odometry { stamp, covariance, ..*odometry };
        match self.intake.guard.judge(stamp, &self.limits()) {
            Verdict::InForce => {}
            Verdict::JumpedAhead => self.follow_jump_ahead(self.intake.held.first().unwrap_or(&odometry).stamp),
            Verdict::JumpedBack => self.follow_jump_back(),
            Verdict::Unconfirmed { run, is_ahead } => {
                if run == 1 {
                    self.intake.held.clear();
                }
                if self.intake.held.len() < MOST_HELD {
                    self.intake.held.push(odometry);
                }
                return Err(unconfirmed(is_ahead));
            }
            Verdict::Stray { is_ahead } => return Err(unconfirmed(is_ahead)),
            Verdict::SecondClock => {
                self.intake.held.clear();
                return Err(DropReason::SecondClock);
            }
        }
        self.queue_odometry(&odometry)
    }

    pub(super) fn limits(&self) -> Limits {
        let timing = &self.config.timing;
        // What may be reordered is not of another clock.
        let most = self.window_s().max(timing.rewind_s);
        Limits { max_ahead_s: timing.max_ahead_s, jump_back_s: timing.jump_back_s.max(most) }
    }

    /// Scans and inertial samples have to be of the clock that the odometry has.
    pub(super) fn check_follower(&mut self, stamp: Stamp) -> Result<(), DropReason> {
        match self.intake.guard.judge_follower(stamp, &self.limits()) {
            Verdict::Stray { is_ahead } => Err(unconfirmed(is_ahead)),
            Verdict::SecondClock => Err(DropReason::SecondClock),
            _ => Ok(()),
        }
    }

    /// Takes in odometry of the clock in force.
    fn queue_odometry(&mut self, odometry: &Odometry) -> Result<(), DropReason> {
        let stamp = odometry.stamp;
        let Some(time) = self.at.time else {
            self.intake.early.judge(odometry, self.window_s());
            self.intake.spikes.judge(odometry, &self.config.motion);
            self.start(odometry);
            return Ok(());
        };
        if self.knows_odometry(stamp) || self.intake.early.holds(stamp) {
            return Err(DropReason::DuplicateStamp);
        }
        if stamp <= time {
            return Err(DropReason::TooLate);
        }
        match self.intake.early.judge(odometry, self.window_s()) {
            early::Verdict::Follows => {}
            early::Verdict::Early => return Ok(()),
            early::Verdict::Confirms(held) => {
                let outcome = self.use_odometry(&held);
                let _counted = self.count(outcome);
            }
            early::Verdict::Contradicts => self.tally.counts.add(DropReason::FromTheFuture),
        }
        self.use_odometry(odometry)
    }

    /// Takes in odometry with a stamp that is confirmed.
    pub(super) fn use_odometry(&mut self, odometry: &Odometry) -> Result<(), DropReason> {
        match self.intake.spikes.judge(odometry, &self.config.motion) {
            odometry_limits::Verdict::Plausible => {}
            odometry_limits::Verdict::Spike => return Err(DropReason::OdometrySpike),
            odometry_limits::Verdict::Believed => {
                while let Some(held) = self.intake.spikes.take_held() {
                    // It was counted when it was held back.
                    let _counted = self.insert_odometry(&held);
                }
            }
        }
        self.insert_odometry(odometry)
    }

    /// Whether odometry with this stamp waits, or is the newest.
    fn knows_odometry(&self, stamp: Stamp) -> bool {
        self.intake.inbox.newest_odometry() == Some(stamp) || self.intake.inbox.has_odometry(stamp)
    }

    /// Takes in odometry that is believed.
    fn insert_odometry(&mut self, odometry: &Odometry) -> Result<(), DropReason> {
        let stamp = odometry.stamp;
        if self.at.time.is_some_and(|time| stamp <= time) {
            return Err(DropReason::TooLate);
        }
        // Messages that were held back may have the stamp of one that was not.
        if self.knows_odometry(stamp) {
            return Err(DropReason::DuplicateStamp);
        }
        if self.intake.inbox.odometry_full() {
            return Err(DropReason::BufferFull);
        }
        if self.intake.inbox.newest_odometry().is_none_or(|newest| stamp > newest) {
            self.odometry.newest_twist = odometry.twist();
        }
        self.waiting_changes_from(stamp);
        self.intake.inbox.push_odometry(*odometry);
        self.commit();
        self.look_ahead();
        Ok(())
    }

    /// The first odometry starts the clock. What waits of other topics and is far from it is of another clock.
    fn start(&mut self, odometry: &Odometry) {
        let (stamp, limits) = (odometry.stamp, self.limits());
        let foreign = self.intake.inbox.drop_far(stamp - limits.jump_back_s, stamp + limits.near_s());
        (0..foreign).for_each(|_| self.tally.counts.add(DropReason::NotStarted));
        self.intake.inbox.start(*odometry);
        self.at.time = Some(stamp);
        self.estimator.restart_clock(stamp);
        self.odometry.newest_twist = odometry.twist();
    }

    /// Checks the numbers of a message, and returns its covariance, valid.
    fn check_odometry(&self, odometry: &Odometry) -> Result<Option<Matrix3<f64>>, DropReason> {
        let (v, w) = (odometry.velocity, odometry.yaw_rate);
        if !(v.x.is_finite() && v.y.is_finite() && w.is_finite()) {
            return Err(DropReason::NotFinite);
        }
        if v.norm() > self.config.motion.max_speed || w.abs() > self.config.motion.max_yaw_rate {
            return Err(DropReason::Absurd);
        }
        odometry.covariance.as_ref().map(checked_covariance).transpose()
    }

    fn follow_jump_back(&mut self) {
        self.tally.time_jumps += 1;
        match self.config.timing.on_jump_back {
            TimeJump::Reset => self.start_again(),
            TimeJump::Rewind => self.forget_time(),
        }
        self.queue_held();
    }

    /// Goes on at `to` after a gap. Where the gap is longer than any that odometry could bridge, the clock was set:
    /// what is in the map counts as seen now, and before the first step nothing has happened yet.
    fn follow_jump_ahead(&mut self, to: Stamp) {
        if self.intake.inbox.newest_odometry().is_some_and(|newest| to.since(newest) > MAX_SEGMENT_S) {
            if self.at.last_step.is_none() {
                self.forget_time();
            }
            self.estimator.restart_clock(to);
            self.stay();
        }
        self.queue_held();
    }

    /// What was held back is confirmed. It is used, although it was counted when it was dropped.
    fn queue_held(&mut self) {
        let mut held = std::mem::take(&mut self.intake.held);
        for odometry in held.drain(..) {
            let outcome = self.queue_odometry(&odometry);
            let _counted = self.count(outcome);
        }
        self.intake.held = held;
    }
}

/// Why a stamp of a clock that is not in force is not used.
pub(super) fn unconfirmed(is_ahead: bool) -> DropReason {
    if is_ahead { DropReason::FromTheFuture } else { DropReason::UnconfirmedJump }
}
