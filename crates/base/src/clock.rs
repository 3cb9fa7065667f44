//! Whether a stamp belongs to the clock that the input has had so far.

use super::stamp::Stamp;
use serde::{Deserialize, Serialize};

/// What is done when time was set back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimeJump {
    /// Start again: everything that was estimated is forgotten.
    #[default]
    Reset,
    /// Keep what was estimated, and go on from the new time.
    Rewind,
}

/// How far a stamp may be from the newest one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Ahead of the newest, s: beyond, it is from the future until another one confirms it.
    pub max_ahead_s: f64,
    /// Behind the newest, s: beyond, time was set back.
    pub jump_back_s: f64,
}

/// What a stamp is to the newest one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Near the newest: before it, equal, or after it.
    InForce,
    /// Far ahead, and not confirmed: to be dropped.
    FromTheFuture,
    /// Far behind: time was set back.
    SetBack,
}

/// Judges each stamp against the newest so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClockGuard {
    /// A stamp far ahead of the rest, dropped once; a second one near it is a gap, not a fault.
    suspect: Option<Stamp>,
}

impl ClockGuard {
    /// Forgets the stamps so far.
    pub fn clear(&mut self) {
        self.suspect = None;
    }

    /// Judges `stamp`, where `newest` is the newest so far.
    pub fn judge(&mut self, stamp: Stamp, newest: Stamp, limits: &Limits) -> Verdict {
        if newest.since(stamp) > limits.jump_back_s {
            return Verdict::SetBack;
        }
        if stamp.since(newest) <= limits.max_ahead_s {
            self.suspect = None;
            return Verdict::InForce;
        }
        let confirmed = self.suspect.is_some_and(|s| stamp > s && stamp.since(s) <= limits.max_ahead_s);
        self.suspect = Some(stamp);
        if confirmed { Verdict::InForce } else { Verdict::FromTheFuture }
    }
}
