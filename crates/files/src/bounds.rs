//! How much of this machine a file may take. A bag of ten gigabytes passes; one that unpacks to a thousand times its
//! size, or is read in circles, does not.

use std::fmt;

/// No summary of an MCAP file is longer, bytes.
pub const SUMMARY: u64 = 1 << 26;
/// No schema and no description of a topic is longer, bytes.
pub const DESCRIPTION: u64 = 1 << 20;
/// All of them together are not longer, bytes.
pub const DESCRIPTIONS: u64 = 1 << 26;
/// No message is longer, bytes.
pub const MESSAGE: u64 = 1 << 28;
/// No message of a topic that a filter is fed with is longer, bytes.
pub const FILTER_MESSAGE: u64 = 1 << 26;
/// Messages that wait for their turn take no more memory than this, bytes, unless it is a single one.
pub const WAITING: usize = 1 << 25;
/// A reader keeps so many sentences about damage, and counts the rest.
pub const WARNINGS: usize = 50;
/// `metadata.yaml` and `params.yaml` are not longer, bytes.
pub const TEXT: u64 = 1 << 23;
/// A file of a data set is not longer, bytes; unpacked, if it is compressed.
pub const DATA_SET: u64 = 1 << 28;

/// A map of landmarks is not longer, bytes: a hundred thousand of them.
pub const MAP: u64 = 1 << 25;
/// No state of a filter beside a map is longer, bytes: with what is read from it, it takes less than 1 GB of memory.
const STATE: u64 = 1 << 29;

/// The state of a filter beside a map of so many landmarks is not longer, bytes: three times their joint covariance,
/// half a matrix of 2n rows of 16 digits a number. Two are there, of the map and of the filter, which has the robot,
/// too; measured, 70 n². 16 MB are for what else is there.
pub fn state(landmarks: usize) -> u64 {
    let matrices = (landmarks as u64).saturating_pow(2).saturating_mul(3 * 32);
    matrices.saturating_add(1 << 24).min(STATE)
}

/// A file of this length may be unpacked to this many bytes, its parts that are read again included: a thousand times
/// its length where it is small, a hundred times where it is large.
pub fn unpacked(file_length: u64) -> u64 {
    let small = (1_u64 << 28).saturating_add(file_length.saturating_mul(1000));
    let large = (1_u64 << 32).saturating_add(file_length.saturating_mul(100));
    small.min(large)
}

/// Compressed messages of so many bytes in all may unpack to this many: point clouds and images, the most compressible
/// of a recording, shrink to a tenth.
pub fn unpacked_messages(packed: u64) -> u64 {
    (1_u64 << 28).saturating_add(packed.saturating_mul(50))
}

/// A number of bytes for people.
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0..10_000 => write!(f, "{} bytes", self.0),
            10_000..10_000_000 => write!(f, "{} kB", self.0 / 1000),
            10_000_000..10_000_000_000 => write!(f, "{} MB", self.0 / 1_000_000),
            _ => write!(f, "{} GB", self.0 / 1_000_000_000),
        }
    }
}
