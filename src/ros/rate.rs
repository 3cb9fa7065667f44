//! How often something is published, by stamps.

use lienav_base::stamp::Stamp;

/// Whether something that is published `rate_hz` times a second at most is due at `stamp`; 0 has no limit. `slot` is
/// when the last was due: slots are a period apart whatever the stamps are, so that the rate is kept where samples
/// come unevenly.
pub fn due(slot: &mut Option<Stamp>, stamp: Stamp, rate_hz: f64) -> bool {
    if rate_hz == 0.0 {
        return true;
    }
    let period = 1.0 / rate_hz;
    let late = slot.map(|slot| stamp.since(slot));
    // A hundredth of the period is left to jitter.
    let due = late.is_none_or(|late| late >= 0.99 * period);
    if due {
        let next = slot.filter(|_| late.is_some_and(|late| late < 2.0 * period)).map(|slot| slot + period);
        *slot = next.or(Some(stamp));
    }
    due
}
