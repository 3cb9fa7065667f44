//! Which of several sources of odometry counts: the first that is not silent.
//!
//! Sources are not averaged: encoders and a visual odometry that slip on the same ice are not independent, and no message
//! says by how much. The first source counts while its messages come; when its last used stamp is older
//! than `odometry.timeout_s`, the next one counts, until the first is back. What comes from a source that does not
//! count is left out as [`STANDBY`].

use lienav_base::stamp::Stamp;

/// Odometry of a source that is not needed, because a better one speaks.
pub const STANDBY: &str = "standby";

/// The sources in the order of their priority, with the newest stamp of each that was used.
#[derive(Clone, Debug)]
pub struct Sources {
    newest: Vec<Option<Stamp>>,
    active: Option<usize>,
    switches: u64,
}

/// A source counts from now on that did not before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switch {
    /// The one before.
    pub from: usize,
    /// The one that counts.
    pub to: usize,
}

impl Switch {
    /// The sentence about it; `name` gives the topic of a source.
    pub fn sentence<'a>(&self, name: impl Fn(usize) -> &'a str) -> String {
        let (from, to) = (name(self.from), name(self.to));
        if self.to < self.from {
            format!("odometry comes from {to} again, no longer from {from}")
        } else {
            format!("odometry comes from {to}, since {from} is silent (odometry.timeout_s)")
        }
    }
}

impl Sources {
    /// So many.
    pub fn new(count: usize) -> Self {
        Self { newest: vec![None; count], active: None, switches: 0 }
    }

    /// Whether a message of `source` with this stamp counts: no better one was heard within `timeout_s` before it. A
    /// stamp that is older than `jump_back_s` before that of a better source is of another clock, and counts.
    pub fn counts(&self, source: usize, stamp: Stamp, timeout_s: f64, jump_back_s: f64) -> bool {
        self.newest.iter().take(source).flatten().all(|newest| {
            let since = stamp.since(*newest);
            since > timeout_s || since < -jump_back_s
        })
    }

    /// A message of `source` was used; says whether this is another one than before.
    pub fn used(&mut self, source: usize, stamp: Stamp) -> Option<Switch> {
        if let Some(newest) = self.newest.get_mut(source) {
            *newest = Some(newest.map_or(stamp, |newest| newest.max(stamp)));
        }
        let from = self.active.replace(source).filter(|from| *from != source)?;
        self.switches += 1;
        Some(Switch { from, to: source })
    }

    /// Time starts anew.
    pub fn restart(&mut self) {
        self.newest.fill(None);
    }

    /// The source that counts; `None` before the first message.
    pub fn active(&self) -> Option<usize> {
        self.active
    }

    /// How often another source came to count.
    pub fn switches(&self) -> u64 {
        self.switches
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_source_that_speaks_counts() {
        let mut sources = Sources::new(3);
        let mut used = Vec::new();
        let mut hear = |source: usize, ms: i64| {
            let stamp = Stamp::from_nanos(1_000_000 * ms);
            if sources.counts(source, stamp, 0.2, 2.0) {
                used.push((source, ms));
                return sources.used(source, stamp);
            }
            None
        };
        // The second speaks first, and the first as soon as it is there.
        assert_eq!(
            [hear(1, 0), hear(0, 10), hear(1, 20), hear(2, 25)],
            [None, Some(Switch { from: 1, to: 0 }), None, None]
        );
        // The first falls silent: the third does not count while the second speaks.
        assert_eq!([hear(1, 200), hear(1, 220), hear(2, 230)], [None, Some(Switch { from: 0, to: 1 }), None]);
        assert_eq!([hear(2, 500), hear(1, 510)], [Some(Switch { from: 1, to: 2 }), Some(Switch { from: 2, to: 1 })]);
        assert_eq!(hear(0, 520), Some(Switch { from: 1, to: 0 }));
        // An old message of another source is left out, one of another clock counts.
        assert_eq!(hear(1, 100), None);
        assert_eq!(used, [(1, 0), (0, 10), (1, 220), (2, 500), (1, 510), (0, 520)]);
        assert_eq!((sources.switches(), sources.active()), (5, Some(0)));
        assert!(sources.counts(1, Stamp::from_nanos(-3_000_000_000), 0.2, 2.0));
        sources.restart();
        assert!(sources.counts(2, Stamp::from_nanos(521_000_000), 0.2, 2.0));
    }
}
