//! Log lines of a node, by way of ROS (so that `--log-level` and `ROS_LOG_DIR` are honoured), and never a flood of
//! them.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Writes under the name of its node.
#[derive(Clone, Debug)]
pub struct Log {
    name: String,
    throttle: Throttle,
}

impl Log {
    /// For the node of this name.
    pub fn new(name: &str) -> Self {
        Self { name: name.replace('\0', ""), throttle: Throttle::default() }
    }

    /// What a user may want to know.
    pub fn info(&self, text: &str) {
        r2r::log_info!(&self.name, "{}", printable(text));
    }

    /// What a user should know.
    pub fn warn(&self, text: &str) {
        r2r::log_warn!(&self.name, "{}", printable(text));
    }

    /// The same of what may come in floods: a line of each reason a second, see [`Throttle`].
    pub fn warn_of(&mut self, reason: &'static str, text: impl FnOnce() -> String) {
        if let Some(line) = self.throttle.line(Instant::now(), reason, text) {
            self.warn(&line);
        }
    }

    /// Warns where ROS has not sent something.
    pub fn sent(&mut self, outcome: r2r::Result<()>) {
        if let Err(error) = outcome {
            self.warn_of("publish", || format!("publishing failed: {error}"));
        }
    }

    /// What stops the node, or part of it.
    pub fn error(&self, text: &str) {
        r2r::log_error!(&self.name, "{}", printable(text));
    }
}

/// r2r panics on a NUL, and text that came in a message may hold anything.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// Lets each reason through once a second, and says how many were held back.
#[derive(Clone, Debug, Default)]
pub struct Throttle {
    seen: BTreeMap<&'static str, Seen>,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    last: Instant,
    held_back: u64,
}

/// A reason is logged at most this often.
const PERIOD: Duration = Duration::from_secs(1);

impl Throttle {
    /// The line to log for one more event of `reason` at `now`, or `None` where it came too soon after the last one.
    pub fn line(&mut self, now: Instant, reason: &'static str, text: impl FnOnce() -> String) -> Option<String> {
        let Some(seen) = self.seen.get_mut(reason) else {
            self.seen.insert(reason, Seen { last: now, held_back: 0 });
            return Some(text());
        };
        if now.saturating_duration_since(seen.last) < PERIOD {
            seen.held_back += 1;
            return None;
        }
        let held_back = std::mem::take(&mut seen.held_back);
        seen.last = now;
        Some(match held_back {
            0 => text(),
            n => format!("{} (and {n} more since the last such line)", text()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_gets_a_line_a_second_and_the_rest_are_counted() {
        let (mut throttle, start) = (Throttle::default(), Instant::now());
        let mut at = |ms, reason| throttle.line(start + Duration::from_millis(ms), reason, || reason.to_uppercase());
        assert_eq!(at(0, "gated"), Some("GATED".into()));
        assert_eq!(at(1, "absurd"), Some("ABSURD".into()));
        assert_eq!(at(400, "gated"), None);
        assert_eq!(at(999, "gated"), None);
        assert_eq!(at(1000, "gated"), Some("GATED (and 2 more since the last such line)".into()));
        assert_eq!(at(2500, "gated"), Some("GATED".into()));
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        assert_eq!(printable("a\0b\u{1b}[2Jc\n"), "a\u{fffd}b\u{fffd}[2Jc\u{fffd}");
    }
}
