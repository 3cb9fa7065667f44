//! The pieces of an MCAP file (<https://mcap.dev/spec>): where messages lie, in which order they come out, and the
//! fields of a record. Every length is checked against the bytes that are there before it is believed.

use super::record::Record;
use lienav_base::stamp::Stamp;
use mcap::records::op;
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

/// Opcode and length in front of every record.
pub(super) const PREFIX: u64 = 1 + 8;
/// Channel, sequence and both stamps in front of the data of a message.
pub(super) const MESSAGE_HEADER: u64 = 2 + 4 + 8 + 8;

/// A piece of the file that holds messages: a chunk, or some messages outside of chunks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    /// Earliest and latest `log_time` in it.
    pub times: (u64, u64),
    /// Where its first record begins.
    pub offset: u64,
    /// With opcode and length; may reach beyond the end of a file that was cut off.
    pub length: u64,
}

/// A message's place in the order in which messages come out: by `log_time`, and in the order of the file where that
/// is the same.
pub(super) type Order = (u64, u64, u64);

/// A message on its way out.
pub(super) struct Pending {
    pub order: Order,
    pub record: Record,
}

impl Pending {
    /// How much memory it takes.
    pub fn size(&self) -> usize {
        self.record.data.capacity() + size_of::<Self>()
    }
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

/// The fields of a record, taken off one by one; `None` where the record ends before a field does.
pub(super) struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    pub fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    pub fn u16(&mut self) -> Option<u16> {
        Some(u16::from_le_bytes(*self.bytes(2)?.first_chunk()?))
    }

    pub fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(*self.bytes(4)?.first_chunk()?))
    }

    pub fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(*self.bytes(8)?.first_chunk()?))
    }

    /// A text; what is not UTF-8 of it is replaced.
    pub fn text(&mut self) -> Option<String> {
        let length = self.u32()? as usize;
        Some(String::from_utf8_lossy(self.bytes(length)?).into_owned())
    }
}

/// A description of a message type, as far as it is needed.
pub(super) struct Schema {
    pub id: u16,
    pub name: String,
}

impl Schema {
    pub fn parse(body: &[u8]) -> Option<Self> {
        let mut fields = Fields(body);
        Some(Self { id: fields.u16()?, name: fields.text()? })
    }
}

/// A description of a topic.
pub(super) struct Channel {
    pub id: u16,
    pub schema: u16,
    pub topic: String,
    pub encoding: String,
    pub qos: String,
}

impl Channel {
    pub fn parse(body: &[u8]) -> Option<Self> {
        let mut fields = Fields(body);
        let (id, schema, topic, encoding) = (fields.u16()?, fields.u16()?, fields.text()?, fields.text()?);
        let length = fields.u32()? as usize;
        let mut metadata = Fields(fields.bytes(length)?);
        let mut qos = String::new();
        while !metadata.0.is_empty() {
            let (key, value) = (metadata.text()?, metadata.text()?);
            if key == "offered_qos_profiles" {
                qos = value;
            }
        }
        Some(Self { id, schema, topic, encoding, qos })
    }
}

/// Where a chunk lies and what is in it.
pub(super) struct ChunkIndex {
    pub span: Span,
    /// The channels that it has messages of; empty where the writer has not noted them.
    pub channels: Vec<u16>,
    /// How long the message indexes behind it are.
    pub index_length: u64,
}

impl ChunkIndex {
    pub fn parse(body: &[u8]) -> Option<Self> {
        let mut fields = Fields(body);
        let times = (fields.u64()?, fields.u64()?);
        let (offset, length) = (fields.u64()?, fields.u64()?);
        let size = fields.u32()? as usize;
        let mut offsets = Fields(fields.bytes(size)?);
        let mut channels = Vec::with_capacity(offsets.0.len() / 10);
        while !offsets.0.is_empty() {
            channels.push(offsets.u16()?);
            offsets.u64()?;
        }
        Some(Self { span: Span { times, offset, length }, channels, index_length: fields.u64()? })
    }

    /// How many messages its message indexes list: each has a prefix, its channel and its length in front of 16 bytes
    /// a message. `None` where the lengths do not fit.
    fn indexed_messages(&self) -> Option<u64> {
        let entries = self.index_length.checked_sub((PREFIX + 2 + 4).checked_mul(self.channels.len() as u64)?)?;
        entries.is_multiple_of(16).then_some(entries / 16)
    }
}

/// What the writer has counted.
pub(super) struct Statistics {
    pub messages: u64,
    pub channels: u32,
    pub chunks: u32,
    pub times: (u64, u64),
    /// The channels that have messages; empty where the writer has not counted by channel.
    pub counted: Vec<u16>,
}

impl Statistics {
    pub fn parse(body: &[u8]) -> Option<Self> {
        let mut fields = Fields(body);
        let (messages, _schemas, channels) = (fields.u64()?, fields.u16()?, fields.u32()?);
        let (_attachments, _metadata, chunks) = (fields.u32()?, fields.u32()?, fields.u32()?);
        let times = (fields.u64()?, fields.u64()?);
        let size = fields.u32()? as usize;
        let mut counts = Fields(fields.bytes(size)?);
        let mut counted = Vec::with_capacity(counts.0.len() / 10);
        while !counts.0.is_empty() {
            let (channel, count) = (counts.u16()?, counts.u64()?);
            counted.extend((count > 0).then_some(channel));
        }
        Some(Self { messages, channels, chunks, times, counted })
    }
}

/// What the summary section of a file lists. None of it need be complete.
#[derive(Default)]
pub(super) struct Summary {
    /// Names of types, by the number of their schema.
    pub schemas: HashMap<u16, String>,
    pub channels: Vec<Channel>,
    /// In the order of the file.
    pub chunks: Vec<ChunkIndex>,
}

impl Summary {
    /// Reads the records of the section; `None` where one is damaged, or where there are no statistics.
    pub fn parse(bytes: &[u8]) -> Option<(Self, Statistics)> {
        let (mut summary, mut statistics) = (Self::default(), None);
        for (opcode, body) in records_of(bytes) {
            match opcode {
                op::SCHEMA => {
                    let schema = Schema::parse(body)?;
                    summary.schemas.insert(schema.id, schema.name);
                }
                op::CHANNEL => summary.channels.push(Channel::parse(body)?),
                op::CHUNK_INDEX => summary.chunks.push(ChunkIndex::parse(body)?),
                op::STATISTICS => statistics = Some(Statistics::parse(body)?),
                _ => {}
            }
        }
        summary.chunks.sort_by_key(|chunk| chunk.span.offset);
        Some((summary, statistics?))
    }

    /// Whether it describes every channel that the statistics or the chunk indexes name, and the type of each. A
    /// channel without a type has schema 0.
    pub fn describes_all(&self, statistics: &Statistics) -> bool {
        let described: HashSet<u16> = self.channels.iter().map(|channel| channel.id).collect();
        let mut named = statistics.counted.iter().chain(self.chunks.iter().flat_map(|chunk| &chunk.channels));
        described.len() >= statistics.channels as usize
            && (statistics.messages == 0 || !described.is_empty())
            && named.all(|channel| described.contains(channel))
            && self.channels.iter().all(|channel| channel.schema == 0 || self.schemas.contains_key(&channel.schema))
    }

    /// Whether it lists as many chunks as were counted, one behind the other in a file of `file_length` bytes.
    pub fn lists_all_chunks(&self, statistics: &Statistics, file_length: u64) -> bool {
        let mut end = 0;
        let is_behind = |chunk: &ChunkIndex| {
            let begins_behind = chunk.span.offset >= end && chunk.span.length > 0;
            end = chunk.span.offset.saturating_add(chunk.span.length);
            begins_behind && end <= file_length
        };
        statistics.chunks as usize == self.chunks.len()
            && self.chunks.iter().all(is_behind)
            && !(self.chunks.is_empty() && statistics.messages > 0)
    }

    /// How many messages the message indexes list. `None` where one does not fit.
    pub fn indexed_messages(&self) -> Option<u64> {
        self.chunks.iter().try_fold(0_u64, |sum, chunk| sum.checked_add(chunk.indexed_messages()?))
    }
}

/// What stands in front of the compressed records of a chunk.
pub(super) struct ChunkHeader {
    /// How long the records are, unpacked.
    pub unpacked: u64,
    /// CRC-32 of the unpacked records; 0 where the writer has computed none.
    pub crc: u32,
    pub compression: String,
    /// How long the records are in the file.
    pub packed: u64,
}

/// No name of a compression is longer.
const COMPRESSION_NAME: usize = 64;

impl ChunkHeader {
    /// The longest it can be, with opcode and length in front.
    pub const LONGEST: u64 = PREFIX + 8 + 8 + 8 + 4 + 4 + COMPRESSION_NAME as u64 + 8;

    /// Reads the header of the chunk record that `bytes` begin with, and says how long it is with opcode and length.
    /// `None` for one that contradicts itself, or is cut off.
    pub fn parse(bytes: &[u8]) -> Option<(Self, u64)> {
        let mut fields = Fields(bytes);
        let (_opcode, length) = (fields.bytes(1)?, fields.u64()?);
        let (_first, _last) = (fields.u64()?, fields.u64()?);
        let (unpacked, crc, name_length) = (fields.u64()?, fields.u32()?, fields.u32()? as usize);
        if name_length > COMPRESSION_NAME {
            return None;
        }
        let compression = String::from_utf8_lossy(fields.bytes(name_length)?).into_owned();
        let packed = fields.u64()?;
        let header = (bytes.len() - fields.0.len()) as u64;
        // A chunk may be longer than its records: padding. It cannot be shorter.
        let fits = header.checked_add(packed)? <= length.checked_add(PREFIX)?;
        fits.then_some((Self { unpacked, crc, compression, packed }, header))
    }
}

/// The records in a piece of a file, up to one that is cut off.
pub(super) fn records_of(mut bytes: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    std::iter::from_fn(move || {
        let mut fields = Fields(bytes);
        let (&opcode, length) = (fields.bytes(1)?.first()?, fields.u64()?);
        let body = fields.bytes(usize::try_from(length).ok()?)?;
        bytes = fields.0;
        Some((opcode, body))
    })
}

pub(super) fn stamp(nanos: u64) -> Stamp {
    Stamp::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX))
}
