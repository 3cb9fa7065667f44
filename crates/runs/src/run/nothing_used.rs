//! A run of which a filter used nothing, or next to nothing, as a sentence.

use super::result::Update;
use lienav_io::recording::Input;
use lienav_slam::Counts;

/// Fewer scans, or measurements, say nothing.
const LEAST: usize = 10;
/// Below one in so many scans, or measurements, nothing was used.
const ONE_IN: usize = 20;

/// What was given to a filter.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Given {
    odometry: usize,
    scans: usize,
    measurements: usize,
}

impl Given {
    pub(super) fn add(&mut self, input: &Input) {
        match input {
            Input::Odometry(_) | Input::Fallback { .. } | Input::Received { .. } => self.odometry += 1,
            Input::Imu(_) => {}
            Input::Scan(scan) => {
                self.scans += 1;
                self.measurements += scan.measurements.len();
            }
        }
    }

    /// The sentence where less than one in [`ONE_IN`] was used: of the scans, or else of their measurements.
    pub(super) fn nothing_used(&self, updates: &[Update], dropped: &Counts) -> Option<String> {
        let Self { odometry, scans, measurements } = *self;
        let used: usize = updates.iter().map(|update| update.accepted + update.added).sum();
        let (count, of, what) = if scans >= LEAST && ONE_IN * updates.len() < scans {
            (updates.len(), scans, "scans")
        } else if measurements >= LEAST && ONE_IN * used < measurements {
            (used, measurements, "measurements")
        } else {
            return None;
        };
        let of_all = dropped.by_word().into_iter().max_by_key(|&(_, count)| count);
        let why = match of_all {
            _ if odometry == 0 => "; there is no odometry, and without it a filter does not start".to_owned(),
            Some((word, dropped)) => format!("; most were dropped as {word} ({dropped}): {}", remedy(word)),
            None => String::new(),
        };
        Some(format!("{count} of {of} {what} were used{why}"))
    }
}

/// What to do where a reason is that of nearly all input; docs/running.md has all reasons.
fn remedy(word: &str) -> &'static str {
    match word {
        "from_the_future" | "too_late" | "unconfirmed_jump" | "second_clock" | "not_started" | "buffer_full" => {
            "one clock must stamp odometry and features; compare the stamps of both"
        }
        "duplicate_stamp" => "messages of one topic have the same stamp; let the driver fill in header.stamp",
        "out_of_range" => "compare them with sensor.min_range_m and sensor.max_range_m, and look for a wrong unit (mm)",
        "absurd" => "look for a wrong unit (mm, degrees)",
        "gated" => "look for a wrong place of the sensor, a wrong unit or sign, or noise set too small",
        "not_finite" | "bad_covariance" => "repair the driver of the sensor",
        "unknown_landmark" | "undetermined" | "ambiguous" => "look for a map of another place, or a wrong start",
        _ => "docs/running.md says what to do",
    }
}
