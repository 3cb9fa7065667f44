//! The pieces of an MCAP file: where messages lie, in which order they come out, and what can be known of a record
//! before it is trusted.

use super::read::Record;
use lienav_base::stamp::Stamp;
use std::cmp::Ordering;

/// Opcode and length in front of every record.
pub(super) const PREFIX: u64 = 1 + 8;
/// No summary and no single message is longer than this; a length that says so is damaged.
pub(super) const LIMIT: u64 = 1 << 28;

/// A piece of the file that holds messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    /// Earliest and latest `log_time` in it.
    pub times: (u64, u64),
    /// Where its record begins.
    pub offset: u64,
    /// With opcode and length; may reach beyond the end of a file that was cut off.
    pub length: u64,
}

/// A message on its way out: ordered by time, and in the order of the file where that is the same.
pub(super) struct Pending {
    pub order: (u64, u64, usize),
    pub record: Record,
}

impl Ord for Pending {
    /// The earliest is the greatest: a binary heap gives that first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.order.cmp(&self.order)
    }
}

impl PartialOrd for Pending {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Pending {
    fn eq(&self, other: &Self) -> bool {
        self.order == other.order
    }
}

impl Eq for Pending {}

/// Makes a chunk's record end where its data do, and returns how long a record inside may be. `None` for a header that
/// contradicts itself, or is cut off.
pub(super) fn trim_padding(chunk: &mut Vec<u8>) -> Option<usize> {
    const COMPRESSION: usize = PREFIX as usize + 8 + 8 + 8 + 4;
    let name_length = u32::from_le_bytes(chunk.get(COMPRESSION..COMPRESSION + 4)?.try_into().ok()?);
    let size_at = COMPRESSION + 4 + usize::try_from(name_length).ok()?;
    let compressed = u64_of(chunk.get(size_at..size_at.checked_add(8)?)?);
    let end = (size_at as u64 + 8).checked_add(compressed)?;
    let length = u64_of(&chunk[1..]).checked_add(PREFIX)?;
    if end > length {
        return None;
    }
    chunk[1..PREFIX as usize].copy_from_slice(&(end - PREFIX).to_le_bytes());
    chunk.truncate(usize::try_from(end).ok()?);
    let uncompressed = u64_of(chunk.get(PREFIX as usize + 16..)?);
    Some(uncompressed.clamp(1 << 12, LIMIT) as usize)
}

/// The records in a piece of a file, up to one that is cut off.
pub(super) fn records_of(mut bytes: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    std::iter::from_fn(move || {
        let (prefix, rest) = bytes.split_at_checked(PREFIX as usize)?;
        let (body, rest) = rest.split_at_checked(usize::try_from(u64_of(&prefix[1..])).ok()?)?;
        bytes = rest;
        Some((prefix[0], body))
    })
}

/// The little-endian number at the start of `bytes`; 0 where there are fewer than eight.
pub(super) fn u64_of(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |&eight| u64::from_le_bytes(eight))
}

pub(super) fn stamp(nanos: u64) -> Stamp {
    Stamp::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX))
}
