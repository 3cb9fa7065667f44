//! Odometry whose stamp is ahead of its time, by less than what would make it another clock's.
//!
//! One message with such a stamp, taken for the newest, would release the scans that wait for odometry, and the true
//! messages after it would come too late: it would cost as much odometry as it is wrong by. A gap in the odometry looks
//! the same. The next message tells the two apart: after a gap it is later still, and otherwise it continues the ones
//! before. Until then the message is held; a gap costs the wait for one message, and a wrong stamp its own message.

use lienav_base::stamp::Stamp;
use lienav_planar::input::Odometry;
use serde::{Deserialize, Serialize};

/// A message is early if it is ahead by so many periods of the odometry, and by more than the reorder window.
const PERIODS: f64 = 4.0;

/// The period is known after so many messages.
const KNOWN_AFTER: u32 = 5;

/// The period is the mean over about so many messages.
const MEMORY: u32 = 20;

/// What a message is to those before it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    /// It continues them.
    Follows,
    /// It is ahead of them: it is held until the next one comes.
    Early,
    /// It confirms that there was a gap: this message was held, and comes first.
    Confirms(Odometry),
    /// It continues those before the one that was held: that one had a wrong stamp.
    Contradicts,
}

/// Judges each message by its stamp and those before it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct EarlyGate {
    newest: Option<Stamp>,
    held: Option<Odometry>,
    period_s: f64,
    count: u32,
}

impl EarlyGate {
    /// Forgets what came before.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Whether a message with this stamp is held.
    pub fn holds(&self, stamp: Stamp) -> bool {
        self.held.is_some_and(|held| held.stamp == stamp)
    }

    /// The message that is held; nothing will come after it.
    pub fn take_held(&mut self) -> Option<Odometry> {
        self.held.take()
    }

    /// Judges a message; messages may be out of order by `window_s`.
    pub fn judge(&mut self, odometry: &Odometry, window_s: f64) -> Verdict {
        let stamp = odometry.stamp;
        let Some(newest) = self.newest else {
            self.newest = Some(stamp);
            return Verdict::Follows;
        };
        let ahead = stamp.since(newest);
        let is_early = self.count >= KNOWN_AFTER && ahead > window_s.max(PERIODS * self.period_s);
        let verdict = match (self.held.take(), is_early) {
            (None, true) => {
                self.held = Some(*odometry);
                return Verdict::Early;
            }
            (Some(held), true) => Verdict::Confirms(held),
            (Some(_), false) => Verdict::Contradicts,
            (None, false) => Verdict::Follows,
        };
        if ahead > 0.0 && !is_early {
            self.count = self.count.saturating_add(1).min(MEMORY);
            self.period_s += (ahead - self.period_s) / f64::from(self.count);
        }
        self.newest = Some(newest.max(stamp));
        verdict
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::Vector2;

    fn message(seconds: f64) -> Odometry {
        Odometry { stamp: Stamp::from_secs(seconds), velocity: Vector2::zeros(), yaw_rate: 0.0, covariance: None }
    }

    fn running(period_s: f64) -> EarlyGate {
        let mut gate = EarlyGate::default();
        for k in 0..50 {
            assert_eq!(gate.judge(&message(f64::from(k) * period_s - 49.0 * period_s), 0.2), Verdict::Follows);
        }
        gate
    }

    #[test]
    fn a_wrong_stamp_is_contradicted_by_the_next_message_and_a_gap_is_confirmed() {
        for ahead in [0.3, 0.5, 1.9] {
            let mut gate = running(0.02);
            assert_eq!(gate.judge(&message(ahead), 0.2), Verdict::Early);
            assert!(gate.holds(Stamp::from_secs(ahead)));
            assert_eq!(gate.judge(&message(0.02), 0.2), Verdict::Contradicts);
            assert_eq!(gate.judge(&message(0.04), 0.2), Verdict::Follows);
            let mut gate = running(0.02);
            assert_eq!(gate.judge(&message(ahead), 0.2), Verdict::Early);
            assert_eq!(gate.judge(&message(ahead + 0.02), 0.2), Verdict::Confirms(message(ahead)));
            assert_eq!(gate.judge(&message(ahead + 0.04), 0.2), Verdict::Follows);
        }
    }

    #[test]
    fn a_slow_odometry_is_not_early() {
        let mut gate = running(1.0);
        assert_eq!(gate.judge(&message(1.0), 0.2), Verdict::Follows);
        assert_eq!(gate.judge(&message(4.5), 0.2), Verdict::Follows);
        assert_eq!(gate.judge(&message(20.0), 0.2), Verdict::Early);
        assert_eq!(gate.take_held(), Some(message(20.0)));
    }
}
