//! Time as it comes with the data: whole nanoseconds, so that a stamp read from a bag, from a text file and from a
//! message compares equal.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, Sub};

/// An instant, in nanoseconds since an epoch that only the data knows (Unix time on a robot, 0 in a recording).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Stamp(i64);

impl Stamp {
    /// The earliest stamp there is.
    pub const MIN: Self = Self(i64::MIN);

    /// From whole nanoseconds.
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// From `sec` and `nanosec` as `builtin_interfaces/Time` has them.
    pub const fn from_parts(sec: i32, nanosec: u32) -> Self {
        Self(sec as i64 * 1_000_000_000 + nanosec as i64)
    }

    /// From seconds, rounded to the nearest nanosecond. Not-a-number gives 0; values out of range saturate.
    pub fn from_secs(seconds: f64) -> Self {
        Self((seconds * 1e9).round() as i64)
    }

    /// Nanoseconds since the epoch.
    pub const fn nanos(self) -> i64 {
        self.0
    }

    /// Seconds since the epoch; exact to the nanosecond up to about 100 days, to 0.2 µs for Unix time.
    pub fn secs(self) -> f64 {
        self.0 as f64 * 1e-9
    }

    /// `sec` and `nanosec` for `builtin_interfaces/Time`; saturates outside the 32-bit range.
    pub fn parts(self) -> (i32, u32) {
        let sec = self.0.div_euclid(1_000_000_000).clamp(i32::MIN as i64, i32::MAX as i64);
        (sec as i32, self.0.rem_euclid(1_000_000_000) as u32)
    }

    /// Seconds from `earlier` to `self`; negative if `earlier` is later.
    pub fn since(self, earlier: Self) -> f64 {
        self.0.saturating_sub(earlier.0) as f64 * 1e-9
    }
}

/// Later by a number of seconds, rounded to the nanosecond.
impl Add<f64> for Stamp {
    type Output = Self;
    fn add(self, seconds: f64) -> Self {
        Self(self.0.saturating_add(Self::from_secs(seconds).0))
    }
}

/// Earlier by a number of seconds, rounded to the nanosecond.
impl Sub<f64> for Stamp {
    type Output = Self;
    fn sub(self, seconds: f64) -> Self {
        Self(self.0.saturating_sub(Self::from_secs(seconds).0))
    }
}

/// As seconds with nine decimals.
impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.0 / 1_000_000_000, (self.0 % 1_000_000_000).abs());
        let sign = if self.0 < 0 && whole == 0 { "-" } else { "" };
        write!(f, "{sign}{whole}.{rest:09}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_round_trip_also_before_the_epoch() {
        for nanos in [0, 1, -1, 1_248_444_175_103_000_000, -1_500_000_000] {
            let stamp = Stamp::from_nanos(nanos);
            let (sec, nanosec) = stamp.parts();
            assert_eq!(Stamp::from_parts(sec, nanosec), stamp);
        }
    }

    #[test]
    fn display_keeps_every_nanosecond() {
        assert_eq!(Stamp::from_nanos(1_000_000_001).to_string(), "1.000000001");
        assert_eq!(Stamp::from_nanos(-500_000_000).to_string(), "-0.500000000");
    }
}
