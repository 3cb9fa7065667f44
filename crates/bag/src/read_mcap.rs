//! One MCAP file, read chunk by chunk (<https://mcap.dev/spec>). Where the summary at the end is missing, incomplete or
//! does not hold, the file is scanned from the start: a recording that was cut off is read up to where it ends, and
//! topics that the summary does not repeat are read from the chunks.
//!
//! Messages come out in the order of time, though chunks overlap and are not sorted inside. Those that wait for their
//! turn take [`WAITING`] bytes at most: where there are more, the latest are forgotten and their chunks read again
//! later. A file whose chunks all span the whole time takes several passes so, and no more memory.

mod scan;

use super::mcap_chunk::{Outcome, Positioned, visit};
use super::mcap_parts::{
    Channel, ChunkIndex, Fields, MESSAGE_HEADER, Order, PREFIX, Pending, Schema, Span, Summary, stamp,
};
use super::record::{Record, Storage, Topic};
use lienav_base::stamp::Stamp;
use lienav_files::OpenError;
use lienav_files::bounds::{self, Bytes, DESCRIPTION, DESCRIPTIONS, SUMMARY, WAITING};
use lienav_files::open;
use mcap::records::op;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The footer record with the magic bytes behind it.
const FOOTER: u64 = PREFIX + 20 + 8;
/// Messages outside of chunks are taken together up to this many bytes.
const RUN: u64 = 1 << 18;

/// An MCAP file.
pub(super) struct McapFile {
    path: PathBuf,
    file: Positioned,
    file_length: u64,
    topics: Vec<Topic>,
    topic_of_channel: HashMap<u16, usize>,
    /// Bytes that all descriptions of topics and types take.
    described: u64,
    /// Which topics are read; all where it is empty.
    wanted: Vec<bool>,
    longest_message: u64,
    pieces: Vec<Piece>,
    bounds: Option<(u64, u64)>,
    message_count: u64,
    next_piece: usize,
    /// Messages from here on come out in this pass,
    low: Order,
    /// and those before this.
    cut: Option<Order>,
    heap: BinaryHeap<Pending>,
    /// Bytes that the heap takes.
    waiting: usize,
    /// Bytes that may still be unpacked.
    allowance: u64,
    warnings: Vec<String>,
}

struct Piece {
    span: Span,
    /// The channels it has messages of; empty where that is not known.
    channels: Box<[u16]>,
    is_damaged: bool,
}

impl McapFile {
    /// Opens `path`; `shown` is what messages call it.
    pub fn open(path: &Path, shown: &Path) -> Result<Self, OpenError> {
        let io_error = |error| OpenError::io(shown, error);
        let file = open::regular(path).map_err(io_error)?;
        let file_length = file.metadata().map_err(io_error)?.len();
        let mut mcap = Self {
            path: shown.to_owned(),
            file: Positioned::new(file),
            file_length,
            topics: Vec::new(),
            topic_of_channel: HashMap::new(),
            described: 0,
            wanted: Vec::new(),
            longest_message: bounds::MESSAGE,
            pieces: Vec::new(),
            bounds: None,
            message_count: 0,
            next_piece: 0,
            low: (0, 0, 0),
            cut: None,
            heap: BinaryHeap::new(),
            waiting: 0,
            allowance: bounds::unpacked(file_length),
            warnings: Vec::new(),
        };
        let is_found = match mcap.read_summary().map_err(io_error)? {
            Some(summary) => mcap.use_summary(&summary).map_err(io_error)?,
            None => false,
        };
        if !is_found {
            mcap.scan().map_err(io_error)?;
        }
        mcap.pieces.sort_by_key(|piece| (piece.span.times.0, piece.span.offset));
        mcap.seek(Stamp::MIN);
        Ok(mcap)
    }

    /// The records of the summary section, if the file has an intact one.
    fn read_summary(&mut self) -> io::Result<Option<Vec<u8>>> {
        let Some(footer_start) = self.file_length.checked_sub(FOOTER) else { return Ok(None) };
        let footer = self.file.read_at(footer_start, FOOTER)?;
        let mut fields = Fields(&footer);
        let found = (fields.bytes(1), fields.u64(), fields.u64(), fields.u64(), fields.u32(), fields.0);
        let (Some(&[op::FOOTER]), Some(20), Some(start), Some(_), Some(saved), mcap::MAGIC) = found else {
            return Ok(None);
        };
        let length = match footer_start.checked_sub(start) {
            Some(length) if start > 0 && length <= SUMMARY => length,
            _ => return Ok(None),
        };
        let mut summary = self.file.read_at(start, length + PREFIX + 16)?;
        if saved != 0 && crc32fast::hash(&summary) != saved {
            return Ok(None);
        }
        summary.truncate(length as usize);
        Ok(Some(summary))
    }

    /// Takes topics and chunks from the summary. Returns false, having taken nothing, where the summary does not list
    /// all chunks, where it does not describe all channels and their types (a writer need not repeat them there), or
    /// where it lists what cannot be: a chunk twice, chunks that overlap in the file.
    fn use_summary(&mut self, bytes: &[u8]) -> io::Result<bool> {
        let Some((summary, statistics)) = Summary::parse(bytes) else { return Ok(false) };
        if !summary.describes_all(&statistics)
            || !summary.lists_all_chunks(&statistics, self.file_length)
            || !self.all_messages_are_in_chunks(&summary.chunks)?
        {
            return Ok(false);
        }
        let is_indexed = summary.indexed_messages() == Some(statistics.messages);
        for channel in summary.channels {
            self.add_channel(channel, &summary.schemas);
        }
        self.message_count = statistics.messages;
        self.bounds = (statistics.messages > 0).then_some(statistics.times);
        // An index that leaves messages out does not tell which channels a chunk has messages of.
        let channels = |index: ChunkIndex| if is_indexed { index.channels.into() } else { Box::default() };
        let piece = |index: ChunkIndex| Piece { span: index.span, channels: channels(index), is_damaged: false };
        self.pieces = summary.chunks.into_iter().map(piece).collect();
        Ok(true)
    }

    /// Whether no message lies between the chunks: only what is not a chunk or its index is looked at, record by
    /// record.
    fn all_messages_are_in_chunks(&mut self, chunks: &[ChunkIndex]) -> io::Result<bool> {
        let mut gap = mcap::MAGIC.len() as u64;
        for chunk in chunks {
            if !self.is_without_message(gap, Some(chunk.span.offset))? {
                return Ok(false);
            }
            gap = chunk.span.offset.saturating_add(chunk.span.length).saturating_add(chunk.index_length);
        }
        self.is_without_message(gap, None)
    }

    /// Whether the records from `from` up to `to`, or up to the end of the data, hold no message and end there.
    fn is_without_message(&mut self, from: u64, to: Option<u64>) -> io::Result<bool> {
        let mut position = from;
        while to != Some(position) {
            if position.saturating_add(PREFIX) > to.unwrap_or(self.file_length) {
                return Ok(false);
            }
            let prefix = self.file.read_at(position, PREFIX)?;
            let mut fields = Fields(&prefix);
            let (Some(&[opcode]), Some(length)) = (fields.bytes(1), fields.u64()) else { return Ok(false) };
            match opcode {
                op::DATA_END | op::FOOTER => return Ok(to.is_none()),
                op::MESSAGE | op::CHUNK => return Ok(false),
                _ => position = position.saturating_add(PREFIX).saturating_add(length),
            }
        }
        Ok(true)
    }

    fn visit(&mut self, span: Span, on_record: &mut super::mcap_chunk::OnRecord<'_>) -> Outcome {
        if self.allowance == 0 {
            return Outcome::TooMuch;
        }
        let available = span.length.min(self.file_length.saturating_sub(span.offset));
        let outcome = visit(&mut self.file, span, available, &mut self.allowance, on_record);
        if let Outcome::TooMuch = outcome {
            let (path, size) = (self.path.display(), Bytes(self.file_length));
            self.warnings.push(format!(
                "{path}: unpacks to more than {}, which no recording of {size} does; what follows was left out",
                Bytes(bounds::unpacked(self.file_length))
            ));
        }
        outcome
    }

    /// Takes the messages of a piece that come out in this pass into the heap. Of a chunk at the end of a file that was
    /// cut off, the messages before the cut are taken; one whose content is damaged is left out as a whole, since no
    /// one knows where.
    fn load(&mut self, index: usize) {
        let Some(&Piece { span, ref channels, is_damaged }) = self.pieces.get(index) else { return };
        let is_wanted = |topic: usize| self.wanted.is_empty() || self.wanted.get(topic) == Some(&true);
        let topic_of = |channel| self.topic_of_channel.get(channel).copied().filter(|&topic| is_wanted(topic));
        if is_damaged || (!channels.is_empty() && !channels.iter().any(|channel| topic_of(channel).is_some())) {
            return;
        }
        let topics: HashMap<u16, usize> =
            self.topic_of_channel.keys().filter_map(|channel| Some((*channel, topic_of(channel)?))).collect();
        let (low, mut cut, longest) = (self.low, self.cut, self.longest_message);
        let mut messages: Vec<Pending> = Vec::new();
        let (mut held, mut place, mut outside, mut too_long) = (0, 0, 0_u64, None);
        let (known, mut undescribed) = (&self.topic_of_channel.keys().copied().collect::<HashSet<u16>>(), 0_u64);
        let outcome = self.visit(span, &mut |opcode, length, body| {
            if opcode != op::MESSAGE {
                return Ok(());
            }
            let (channel, log_time, publish_time) = message_header(length, body)?;
            let order = (log_time, span.offset, place);
            place += 1;
            let Some(&topic) = topics.get(&channel) else {
                undescribed += u64::from(!known.contains(&channel));
                return Ok(());
            };
            if !(span.times.0..=span.times.1).contains(&log_time) {
                outside += 1;
                return Ok(());
            }
            if order < low || cut.is_some_and(|cut| order >= cut) {
                return Ok(());
            }
            if length - MESSAGE_HEADER > longest {
                too_long = Some((topic, length - MESSAGE_HEADER));
                return Ok(());
            }
            let data = read_exactly(body, length - MESSAGE_HEADER)?;
            let record = Record { topic, log_time: stamp(log_time), publish_time: stamp(publish_time), data };
            let message = Pending { order, record };
            held += message.size();
            messages.push(message);
            if held > WAITING {
                cut = forget_latest(&mut messages, &mut held).or(cut);
            }
            Ok(())
        });
        if let Outcome::Damaged(cause) = outcome {
            if let Some(piece) = self.pieces.get_mut(index) {
                piece.is_damaged = true;
            }
            self.warn_of_chunk(span.offset, &cause);
            return;
        }
        if outside > 0 {
            let cause = format!("{outside} messages lie outside of the times that the index states");
            self.warnings.push(format!("{} and were left out", self.place(span.offset, &cause)));
        }
        if undescribed > 0 {
            let cause = format!("{undescribed} messages are of channels that the file does not describe");
            self.warnings.push(format!("{} and were left out", self.place(span.offset, &cause)));
        }
        if let Some((topic, length)) = too_long {
            let name = self.topics.get(topic).map_or("", |topic| topic.name.as_str());
            let (name, length) = (name.escape_debug(), Bytes(length));
            let cause = format!("a message of {name} has {length}, more than {}", Bytes(longest));
            self.warnings.push(format!("{} and was left out", self.place(span.offset, &cause)));
        }
        self.heap.extend(messages);
        self.waiting += held;
        if cut != self.cut {
            self.cut = cut;
            self.heap.retain(|pending| cut.is_none_or(|cut| pending.order < cut));
            self.waiting = self.heap.iter().map(Pending::size).sum();
        }
        if self.waiting > WAITING {
            let mut all = std::mem::take(&mut self.heap).into_vec();
            self.cut = forget_latest(&mut all, &mut self.waiting).or(self.cut);
            self.heap = all.into();
        }
    }

    /// Takes in a schema or a channel.
    fn learn(&mut self, opcode: u8, body: &[u8], schemas: &mut HashMap<u16, String>) {
        self.described += body.len() as u64;
        if body.len() as u64 <= DESCRIPTION && self.described <= DESCRIPTIONS {
            let learnt = match opcode {
                op::SCHEMA => Schema::parse(body).map(|schema| drop(schemas.insert(schema.id, schema.name))),
                _ => Channel::parse(body).map(|channel| self.add_channel(channel, schemas)),
            };
            if learnt.is_some() {
                return;
            }
        }
        self.warnings.push(format!("{}: a damaged description of a topic was left out", self.path.display()));
    }

    fn add_channel(&mut self, channel: Channel, schemas: &HashMap<u16, String>) {
        if self.topic_of_channel.contains_key(&channel.id) {
            return;
        }
        let type_name = schemas.get(&channel.schema).cloned().unwrap_or_default();
        self.topic_of_channel.insert(channel.id, self.topics.len());
        self.topics.push(Topic { name: channel.topic, type_name, encoding: channel.encoding, qos: channel.qos });
    }

    fn warn_of_chunk(&mut self, offset: u64, cause: &str) {
        let place = self.place(offset, "is damaged");
        self.warnings.push(format!("{place} ({cause}) and was left out"));
    }

    fn place(&self, offset: u64, what: &str) -> String {
        format!("{}: the chunk at byte {offset}: {what}", self.path.display())
    }

    fn warn_of_end(&mut self, position: u64, cause: &str) {
        let read = match self.bounds {
            Some((_, last)) => format!("{} messages up to stamp {} were read", self.message_count, stamp(last)),
            None => "no message was read".to_owned(),
        };
        let (path, length) = (self.path.display(), self.file_length);
        self.warnings.push(format!("{path}: ends at byte {position} of {length}: {cause}; {read}"));
    }
}

/// Channel, `log_time` and `publish_time` of a message.
fn message_header(length: u64, body: &mut dyn Read) -> io::Result<(u16, u64, u64)> {
    if length < MESSAGE_HEADER {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("a message of {length} bytes")));
    }
    let mut header = [0; MESSAGE_HEADER as usize];
    body.read_exact(&mut header)?;
    let mut fields = Fields(&header);
    let found = (fields.u16(), fields.u32(), fields.u64(), fields.u64());
    let (Some(channel), Some(_), Some(log_time), Some(publish_time)) = found else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    Ok((channel, log_time, publish_time))
}

fn read_exactly(from: &mut dyn Read, length: u64) -> io::Result<Vec<u8>> {
    let mut data = Vec::new();
    // The memory is asked for, and not taken: what the file does not hold is never touched.
    data.try_reserve_exact(length as usize).map_err(io::Error::other)?;
    from.take(length).read_to_end(&mut data)?;
    if (data.len() as u64) < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(data)
}

/// Leaves the earliest messages, in half of the memory that may be taken but at least one, and says where the order
/// goes on: with the first of those that are gone.
fn forget_latest(messages: &mut Vec<Pending>, held: &mut usize) -> Option<Order> {
    messages.sort_unstable_by_key(|message| message.order);
    let mut kept = 0;
    let fits = |message: &&Pending| {
        kept += message.size();
        kept <= WAITING / 2
    };
    let count = messages.iter().take_while(fits).count().max(1);
    let cut = messages.get(count).map(|message| message.order);
    messages.truncate(count);
    *held = messages.iter().map(Pending::size).sum();
    cut
}

impl Storage for McapFile {
    fn topics(&self) -> &[Topic] {
        &self.topics
    }

    fn bounds(&self) -> Option<(Stamp, Stamp)> {
        self.bounds.map(|(first, last)| (stamp(first), stamp(last)))
    }

    fn message_count(&self) -> u64 {
        self.message_count
    }

    fn select(&mut self, wanted: &[bool], longest_message: u64) {
        (self.wanted, self.longest_message) = (wanted.to_vec(), longest_message);
        self.seek(Stamp::MIN);
    }

    fn next(&mut self) -> Option<Record> {
        loop {
            // A piece is read when it may hold the next message, and not before.
            while let Some(piece) = self.pieces.get(self.next_piece) {
                let (first, last) = piece.span.times;
                if self.heap.peek().is_some_and(|pending| pending.order.0 < first)
                    || self.cut.is_some_and(|cut| cut.0 < first)
                    || self.allowance == 0
                {
                    break;
                }
                if last >= self.low.0 {
                    self.load(self.next_piece);
                }
                self.next_piece += 1;
            }
            if let Some(pending) = self.heap.pop() {
                self.waiting = self.waiting.saturating_sub(pending.size());
                return Some(pending.record);
            }
            self.low = self.cut.take().filter(|_| self.allowance > 0)?;
            self.next_piece = 0;
        }
    }

    fn seek(&mut self, from: Stamp) {
        self.low = (from.nanos().max(0) as u64, 0, 0);
        self.cut = None;
        self.next_piece = 0;
        self.heap.clear();
        self.waiting = 0;
        self.allowance = bounds::unpacked(self.file_length);
    }

    fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }
}
