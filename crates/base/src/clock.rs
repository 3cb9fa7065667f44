//! Which stamps belong to the clock that the input runs by, and when that clock has really changed.
//!
//! One message with a wrong stamp must not cost anything, and a clock that was really set (a bag that starts again, a
//! simulation that was reset, a computer that has just heard of the time) must be followed. A single stamp cannot tell
//! the two apart, so a change of clock has to be confirmed by a run of messages.
//!
//! One topic leads: odometry, or the samples of an inertial sensor. The **clock in force** is its newest stamp. A stamp
//! is *near* if it is at most `jump_back_s` behind it and at most `min(max_ahead_s, jump_back_s)` ahead of it; every
//! other stamp is *foreign*. Where others have gone on for longer than that without the leading topic, *ahead* is
//! counted from what they have reached: it comes back to where they are. `jump_back_s` bounds both, since what is
//! accepted so far ahead would make the true stamps look like time set back.
//!
//! | state | leading stamp is | verdict | next state |
//! |---|---|---|---|
//! | no clock | any | in force | clock in force |
//! | clock in force | near | in force | the same; a stamp that is newer ends the candidate's run |
//! | clock in force, no candidate | foreign | unconfirmed | a candidate, with a run of 1 |
//! | candidate | foreign, continues it | unconfirmed, or jumped at the run's end | a run longer by 1, or clock in force |
//! | candidate | foreign, does not continue it | unconfirmed | another candidate, with a run of 1 |
//! | candidate whose run had ended | foreign, continues it | second clock | a second clock, with a run of 1 |
//! | second clock | foreign, continues it | second clock, or jumped at the run's end | as above |
//!
//! A stamp continues a candidate if it is later than the candidate's newest by no more than `max_ahead_s`; one that is
//! earlier or the same is dropped and changes nothing. A run is over after [`CONFIRMATIONS`] messages, in which no
//! newer stamp of the clock in force has come, neither of the leading topic nor, by more than a straggler, of another
//! topic: a driver that restarts with a clock of its own does not take the others along.
//!
//! Two publishers whose clocks differ interleave, so that the run of the second ends again and again: it is a **second
//! clock**, whose messages are dropped for as long as the first one speaks. It takes over only after [`SILENCE_S`] by
//! its own stamps without any of the clock in force. The same holds for every clock in the `jump_back_s` after a jump,
//! and for the clock that was left: jumps are at least that far apart. A candidate that was not heard of for
//! [`FORGOTTEN_S`] is forgotten, so that a stray stamp of an hour ago does not make a second clock of a real jump.
//!
//! Stamps alone cannot tell a clock that was set from messages that were held up somewhere and come all at once. Where
//! the arrival of messages is known ([`ClockGuard::arrived`]), a run is therefore not over before it has lasted for
//! [`LEAST_RUN_S`], and for [`LEAST_INTERVALS`] usual intervals of the clock in force, by the time of arrival: that
//! clock would have spoken meanwhile.
//!
//! Where the leading topic is delivered later than the others, these are ahead of it before a jump, and are so behind
//! it. The *lead* is what the last of their stamps was ahead by, in the clock in force or in the candidate; what they
//! have reached in a new clock is counted from there.
//!
//! A stamp that is wrong by less than what is near is in force here: it costs no jump. Whoever queues messages can tell
//! more by the one that comes next (in `lienav-slam`, one odometry message or cloud that is ahead of its time costs
//! itself).

use super::stamp::Stamp;
use crate::words;
use serde::{Deserialize, Serialize};

/// So many messages in a row, each later than the one before, make a jump of time.
pub const CONFIRMATIONS: usize = 5;
/// So long has a run to last by the time of arrival, where that is known, s: five messages of a clock that is slower
/// than 50 Hz do anyway.
pub const LEAST_RUN_S: f64 = 0.1;
/// And for so many intervals of the leading topic in the clock in force.
pub const LEAST_INTERVALS: f64 = 3.0;
/// Longer intervals are pauses, s.
const LONGEST_INTERVAL_S: f64 = 0.5;
/// Weight of the newest interval in the usual one: about the last ten count.
const INTERVAL_WEIGHT: f64 = 0.1;
/// So long has the clock in force to be silent before a second clock takes over, s.
pub const SILENCE_S: f64 = 3.0;
/// A candidate is forgotten when the clock in force has gone on for so long without it, s.
pub const FORGOTTEN_S: f64 = 2.0;
/// Topics are not delivered in order: after a jump, others may still go on by so much in the old time, s.
const STRAGGLER_S: f64 = 0.05;

words! {
    /// What is done when time was set back.
    pub enum TimeJump {
        /// Start again: everything that was estimated is forgotten.
        Reset = "reset",
        /// Keep what was estimated, and go on from the new time.
        Rewind = "rewind",
    }
}

/// How far a stamp may be from the newest one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Ahead of the newest of the leading topic, s.
    pub max_ahead_s: f64,
    /// Behind the newest of the leading topic, s; stamps that are farther ahead than this need confirmation, too.
    pub jump_back_s: f64,
}

impl Limits {
    /// A stamp ahead by no more than this is believed at once, s.
    pub fn near_s(&self) -> f64 {
        self.max_ahead_s.min(self.jump_back_s)
    }
}

/// What a stamp is to the clock in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Near the newest: before it, equal, or after it.
    InForce,
    /// Foreign, the `run`th in a row: to be dropped, or held back until the jump is confirmed.
    Unconfirmed {
        /// 1 for the first of a run.
        run: usize,
        /// Ahead of the clock in force, or behind it.
        is_ahead: bool,
    },
    /// Foreign, and no part of a run: to be dropped.
    Stray {
        /// Ahead of the clock in force, or behind it.
        is_ahead: bool,
    },
    /// Of a clock that runs beside the one in force: to be dropped.
    SecondClock,
    /// Confirmed: the input goes on after a gap. The clock in force is this stamp's from here on.
    JumpedAhead,
    /// Confirmed: time was set back. The clock in force is this stamp's from here on.
    JumpedBack,
}

/// A clock that may become the one in force.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Candidate {
    /// Its newest stamp.
    newest: Stamp,
    /// Its messages in a row; 0 once the clock in force has spoken.
    run: usize,
    /// The first stamp of the run.
    run_began: Stamp,
    /// What all topics had reached in the clock in force when the run began.
    reached: Stamp,
    /// The clock in force when it was last heard of.
    heard_at: Stamp,
    /// Whether it runs beside the clock in force.
    is_second: bool,
    /// When the first message of the run arrived, s, where that is known.
    #[serde(skip)]
    run_arrived_s: Option<f64>,
}

/// The clock in force.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Force {
    /// Newest stamp of the leading topic.
    newest: Stamp,
    /// Newest stamp of all topics.
    reached: Stamp,
    /// Its first stamp, where it came by a jump.
    jumped_at: Option<Stamp>,
}

/// Judges each stamp by what came before, as the module's table says.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct ClockGuard {
    force: Option<Force>,
    candidate: Option<Candidate>,
    /// By how much the last stamp of a topic that does not lead was ahead of the leading one, s.
    #[serde(default)]
    lead_s: f64,
    #[serde(skip)]
    arrivals: Arrivals,
}

/// When messages arrive, by a clock that no message sets.
#[derive(Clone, Copy, Debug, Default)]
struct Arrivals {
    /// Of the message that is judged next, s.
    now_s: Option<f64>,
    /// Of the last one of the leading topic in the clock in force, s.
    in_force_s: Option<f64>,
    /// The usual interval of these, s; 0 before there are two.
    interval_s: f64,
}

impl Arrivals {
    /// A message of the leading topic in the clock in force has come.
    fn note(&mut self) {
        if let (Some(now), Some(before)) = (self.now_s, self.in_force_s) {
            let interval = (now - before).clamp(0.0, LONGEST_INTERVAL_S);
            let weight = if self.interval_s == 0.0 { 1.0 } else { INTERVAL_WEIGHT };
            self.interval_s += weight * (interval - self.interval_s);
        }
        self.in_force_s = self.now_s;
    }

    /// Whether a run whose first message came at `began` has lasted; also where arrivals are not known.
    fn have_lasted(&self, began: Option<f64>) -> bool {
        let (Some(now), Some(began)) = (self.now_s, began) else { return true };
        now - began >= LEAST_RUN_S.max(LEAST_INTERVALS * self.interval_s)
    }
}

impl ClockGuard {
    /// The message that is judged next arrived at `now_s`, by a clock that no message sets, in s since anything.
    pub fn arrived(&mut self, now_s: f64) {
        self.arrivals.now_s = Some(now_s);
    }

    /// Forgets all clocks: the next stamp of the leading topic is in force.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Judges a stamp of the leading topic.
    pub fn judge(&mut self, stamp: Stamp, limits: &Limits) -> Verdict {
        let Some(force) = &mut self.force else {
            self.force = Some(Force { newest: stamp, reached: stamp, jumped_at: None });
            return Verdict::InForce;
        };
        let ahead = stamp.since(force.newest);
        let has_been_silent = force.reached.since(force.newest) > limits.near_s();
        let from = if has_been_silent { force.reached } else { force.newest };
        if ahead < -limits.jump_back_s || stamp.since(from) > limits.near_s() {
            return self.judge_foreign(stamp, limits);
        }
        if ahead > 0.0 {
            force.newest = stamp;
            force.reached = force.reached.max(stamp);
            self.arrivals.note();
            if let Some(candidate) = &mut self.candidate {
                candidate.run = 0;
            }
        }
        Verdict::InForce
    }

    /// Judges a stamp of a topic that does not lead: it follows the clock in force and never changes it.
    pub fn judge_follower(&mut self, stamp: Stamp, limits: &Limits) -> Verdict {
        let Some(force) = &mut self.force else { return Verdict::InForce };
        let is_ahead = stamp > force.newest;
        let is_near = force.newest.since(stamp) <= limits.jump_back_s && stamp.since(force.reached) <= limits.near_s();
        if is_near {
            force.reached = force.reached.max(stamp);
            self.lead_s = stamp.since(force.newest).clamp(0.0, limits.max_ahead_s);
            let too_far = stamp.since(force.newest) > limits.max_ahead_s;
            return if too_far { Verdict::Stray { is_ahead } } else { Verdict::InForce };
        }
        let Some(candidate) = &self.candidate else { return Verdict::Stray { is_ahead } };
        let lead_s = stamp.since(candidate.newest);
        if lead_s.abs() > limits.max_ahead_s {
            return Verdict::Stray { is_ahead };
        }
        if candidate.run > 0 {
            self.lead_s = lead_s.max(0.0);
        }
        if candidate.is_second { Verdict::SecondClock } else { Verdict::Stray { is_ahead } }
    }

    fn judge_foreign(&mut self, stamp: Stamp, limits: &Limits) -> Verdict {
        let Some(force) = self.force else { return Verdict::InForce };
        let is_ahead = stamp > force.newest;
        let anew = Candidate {
            newest: stamp,
            run: 0,
            run_began: stamp,
            reached: force.reached,
            heard_at: force.newest,
            is_second: false,
            run_arrived_s: self.arrivals.now_s,
        };
        let mut candidate = self.candidate.unwrap_or(anew);
        let later = stamp.since(candidate.newest);
        let is_forgotten = force.newest.since(candidate.heard_at) > FORGOTTEN_S;
        if self.candidate.is_none() || is_forgotten || later.abs() > limits.max_ahead_s {
            self.candidate = Some(Candidate { run: 1, ..anew });
            return Verdict::Unconfirmed { run: 1, is_ahead };
        }
        if later > 0.0 {
            let interrupted = candidate.run == 0 || force.reached.since(candidate.reached) > STRAGGLER_S;
            if interrupted {
                candidate = Candidate { is_second: true, ..anew };
            }
            candidate.run = candidate.run.saturating_add(1);
            candidate.newest = stamp;
        }
        candidate.heard_at = force.newest;
        self.candidate = Some(candidate);
        let has_just_jumped = force.jumped_at.is_some_and(|at| force.newest.since(at) < limits.jump_back_s);
        let needs_silence = candidate.is_second || has_just_jumped;
        let is_silent = stamp.since(candidate.run_began) >= SILENCE_S;
        let has_lasted = candidate.run >= CONFIRMATIONS && self.arrivals.have_lasted(candidate.run_arrived_s);
        if has_lasted && later > 0.0 && (is_silent || !needs_silence) {
            self.jump(stamp, force.newest);
            return if is_ahead { Verdict::JumpedAhead } else { Verdict::JumpedBack };
        }
        match (candidate.is_second, later > 0.0) {
            (true, _) => Verdict::SecondClock,
            (false, true) => Verdict::Unconfirmed { run: candidate.run, is_ahead },
            (false, false) => Verdict::Stray { is_ahead },
        }
    }

    /// The clock that is left becomes a second one: it may not have fallen silent.
    fn jump(&mut self, to: Stamp, left: Stamp) {
        let reached = to + self.lead_s;
        self.force = Some(Force { newest: to, reached, jumped_at: Some(to) });
        self.candidate = Some(Candidate {
            newest: left,
            run: 0,
            run_began: left,
            reached,
            heard_at: to,
            is_second: true,
            run_arrived_s: None,
        });
    }
}

#[cfg(test)]
#[path = "clock_tests.rs"]
mod tests;
