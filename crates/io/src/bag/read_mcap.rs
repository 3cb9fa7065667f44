//! One MCAP file, read chunk by chunk (<https://mcap.dev/spec>). Where the summary at the end is missing or does not
//! hold, the file is scanned from the start, so that a recording that was cut off is read up to where it ends.

use super::mcap_parts::{LIMIT, PREFIX, Pending, Span, records_of, stamp, trim_padding, u64_of};
use super::read::{Record, Storage, Topic};
use crate::recording::OpenError;
use lienav_base::stamp::Stamp;
use mcap::records::{self, op};
use mcap::sans_io::{LinearReadEvent, LinearReader, LinearReaderOptions};
use std::collections::{BinaryHeap, HashMap};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// The footer record with the magic bytes behind it.
const FOOTER: u64 = PREFIX + 20 + 8;
/// An MCAP file.
pub(super) struct McapFile {
    path: PathBuf,
    file: File,
    file_length: u64,
    topics: Vec<Topic>,
    topic_of_channel: HashMap<u16, usize>,
    spans: Vec<Span>,
    bounds: Option<(u64, u64)>,
    message_count: u64,
    next_span: usize,
    from: u64,
    heap: BinaryHeap<Pending>,
    warnings: Vec<String>,
}

impl McapFile {
    /// Opens `path`; `shown` is what messages call it.
    pub fn open(path: &Path, shown: &Path) -> Result<Self, OpenError> {
        let io_error = |error| OpenError::io(shown, error);
        let file = File::open(path).map_err(io_error)?;
        let file_length = file.metadata().map_err(io_error)?.len();
        let mut mcap = Self {
            path: shown.to_owned(),
            file,
            file_length,
            topics: Vec::new(),
            topic_of_channel: HashMap::new(),
            spans: Vec::new(),
            bounds: None,
            message_count: 0,
            next_span: 0,
            from: 0,
            heap: BinaryHeap::new(),
            warnings: Vec::new(),
        };
        let summary = mcap.read_summary().map_err(io_error)?;
        if !summary.is_some_and(|summary| mcap.use_summary(&summary)) {
            mcap.scan().map_err(io_error)?;
        }
        mcap.spans.sort_by_key(|span| (span.times.0, span.offset));
        Ok(mcap)
    }

    /// The records of the summary section, if the file has an intact one.
    fn read_summary(&mut self) -> io::Result<Option<Vec<u8>>> {
        let Some(footer_start) = self.file_length.checked_sub(FOOTER) else { return Ok(None) };
        let footer = self.read_at(footer_start, FOOTER)?;
        let number = |at: usize| footer.get(at..at + 8).map_or(0, u64_of);
        if footer[0] != op::FOOTER || number(1) != 20 || !footer.ends_with(mcap::MAGIC) {
            return Ok(None);
        }
        let start = number(9);
        let length = match footer_start.checked_sub(start) {
            Some(length) if start > 0 && length <= LIMIT => length,
            _ => return Ok(None),
        };
        let mut summary = self.read_at(start, length + PREFIX + 16)?;
        let saved = footer[25..29].iter().rev().fold(0, |crc, &byte| crc << 8 | u32::from(byte));
        if saved != 0 && crc32fast::hash(&summary) != saved {
            return Ok(None);
        }
        summary.truncate(length as usize);
        Ok(Some(summary))
    }

    /// Takes topics and chunks from the summary. Returns false, having taken nothing, where it does not list the
    /// chunks.
    fn use_summary(&mut self, summary: &[u8]) -> bool {
        let mut schemas = HashMap::new();
        let mut channels = Vec::new();
        let mut spans = Vec::new();
        let mut statistics = None;
        for (opcode, body) in records_of(summary) {
            if !matches!(opcode, op::SCHEMA | op::CHANNEL | op::CHUNK_INDEX | op::STATISTICS) {
                continue;
            }
            match mcap::parse_record(opcode, body) {
                Ok(records::Record::Schema { header, .. }) => drop(schemas.insert(header.id, header.name)),
                Ok(records::Record::Channel(channel)) => channels.push(channel),
                Ok(records::Record::ChunkIndex(index)) => spans.push(Span {
                    times: (index.message_start_time, index.message_end_time),
                    offset: index.chunk_start_offset,
                    length: index.chunk_length,
                }),
                Ok(records::Record::Statistics(found)) => statistics = Some(found),
                _ => return false,
            }
        }
        let Some(statistics) = statistics else { return false };
        let inside = |span: &Span| span.offset.checked_add(span.length).is_some_and(|end| end <= self.file_length);
        if statistics.chunk_count as usize != spans.len()
            || !spans.iter().all(inside)
            || (spans.is_empty() && statistics.message_count > 0)
        {
            return false;
        }
        for channel in channels {
            self.add_channel(channel, &schemas);
        }
        self.message_count = statistics.message_count;
        self.bounds =
            (statistics.message_count > 0).then_some((statistics.message_start_time, statistics.message_end_time));
        self.spans = spans;
        true
    }

    /// Goes through the file from the start, as far as it holds.
    fn scan(&mut self) -> io::Result<()> {
        let mut schemas = HashMap::new();
        let mut position = mcap::MAGIC.len() as u64;
        loop {
            if position + PREFIX > self.file_length {
                self.warn_of_end(position, "the file was cut off");
                return Ok(());
            }
            let prefix = self.read_at(position, PREFIX)?;
            let (opcode, length) = (prefix[0], u64_of(&prefix[1..]));
            if opcode == op::DATA_END || opcode == op::FOOTER {
                let magic_length = mcap::MAGIC.len() as u64;
                if self.read_at(self.file_length - magic_length, magic_length)? != mcap::MAGIC {
                    self.warn_of_end(self.file_length, "its index was cut off, its messages are whole");
                }
                return Ok(());
            }
            let private = 0x80;
            if opcode == 0 || (opcode > op::DATA_END && opcode < private) {
                self.warn_of_end(position, &format!("unknown record type {opcode:#04x}"));
                return Ok(());
            }
            let end = position.saturating_add(PREFIX).saturating_add(length);
            match opcode {
                op::CHUNK | op::MESSAGE => {
                    self.scan_span(Span { times: (0, 0), offset: position, length: end - position }, &mut schemas)?;
                }
                op::SCHEMA | op::CHANNEL if end <= self.file_length && length <= LIMIT => {
                    let body = self.read_at(position + PREFIX, length)?;
                    self.learn(opcode, &body, &mut schemas);
                }
                _ => {}
            }
            if end > self.file_length {
                self.warn_of_end(position, "the file was cut off in the middle of a record");
                return Ok(());
            }
            position = end;
        }
    }

    /// Reads a span once, for its topics, times and number of messages.
    fn scan_span(&mut self, mut span: Span, schemas: &mut HashMap<u16, String>) -> io::Result<()> {
        let (messages, damage) = self.load(span, Some(schemas))?;
        if let Some(damage) = damage {
            self.warnings.push(damage);
        }
        let times = messages.iter().map(|message| (message.order.0, message.order.0));
        if let Some(times) = times.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))) {
            span.times = times;
            self.bounds = Some(self.bounds.map_or(times, |b| (b.0.min(times.0), b.1.max(times.1))));
            self.message_count += messages.len() as u64;
            self.spans.push(span);
        }
        Ok(())
    }

    /// The messages of a span, and what is wrong with it if anything is. Of a chunk at the end of a file that was cut
    /// off, the messages before the cut are returned; one whose content is damaged is left out as a whole, since no
    /// one knows where.
    fn load(
        &mut self,
        span: Span,
        mut schemas: Option<&mut HashMap<u16, String>>,
    ) -> io::Result<(Vec<Pending>, Option<String>)> {
        let available = span.length.min(self.file_length.saturating_sub(span.offset));
        let is_cut = available < span.length;
        let mut bytes = self.read_at(span.offset, available)?;
        let place = format!("{}: the chunk at byte {}", self.path.display(), span.offset);
        let mut messages = Vec::new();
        match bytes.first() {
            Some(&op::MESSAGE) if !is_cut => {
                self.push_message(&bytes[PREFIX as usize..], span.offset, &mut messages);
                return Ok((messages, None));
            }
            Some(&op::MESSAGE) => return Ok((messages, None)),
            Some(&op::CHUNK) => {}
            _ => return Ok((messages, Some(format!("{place} is not there")))),
        }
        let Some(limit) = trim_padding(&mut bytes) else {
            let damage = (!is_cut).then(|| format!("{place} is damaged and was left out"));
            return Ok((messages, damage));
        };
        let options = LinearReaderOptions::default()
            .with_skip_start_magic(true)
            .with_skip_end_magic(true)
            .with_validate_chunk_crcs(true)
            .with_record_length_limit(limit);
        let mut reader = LinearReader::new_with_options(options);
        let mut input = bytes.as_slice();
        loop {
            match reader.next_event() {
                None => return Ok((messages, None)),
                Some(Ok(LinearReadEvent::ReadRequest(wanted))) => {
                    let (now, later) = input.split_at(wanted.min(input.len()));
                    reader.insert(now.len()).copy_from_slice(now);
                    reader.notify_read(now.len());
                    input = later;
                }
                Some(Ok(LinearReadEvent::Record { data, opcode: op::MESSAGE })) => {
                    self.push_message(data, span.offset, &mut messages);
                }
                Some(Ok(LinearReadEvent::Record { data, opcode })) => {
                    if let Some(schemas) = schemas.as_deref_mut() {
                        self.learn(opcode, data, schemas);
                    }
                }
                Some(Err(_)) if is_cut => return Ok((messages, None)),
                Some(Err(error)) => {
                    return Ok((Vec::new(), Some(format!("{place} is damaged ({error}) and was left out"))));
                }
            }
        }
    }

    fn push_message(&self, body: &[u8], offset: u64, messages: &mut Vec<Pending>) {
        let Some((header, data)) = body.split_at_checked(22) else { return };
        let channel = u16::from_le_bytes([header[0], header[1]]);
        let (log_time, publish_time) = (u64_of(&header[6..]), u64_of(&header[14..]));
        let Some(&topic) = self.topic_of_channel.get(&channel) else { return };
        messages.push(Pending {
            order: (log_time, offset, messages.len()),
            record: Record { topic, log_time: stamp(log_time), publish_time: stamp(publish_time), data: data.to_vec() },
        });
    }

    /// Takes in a schema or a channel.
    fn learn(&mut self, opcode: u8, body: &[u8], schemas: &mut HashMap<u16, String>) {
        if !matches!(opcode, op::SCHEMA | op::CHANNEL) {
            return;
        }
        match mcap::parse_record(opcode, body) {
            Ok(records::Record::Schema { header, .. }) => drop(schemas.insert(header.id, header.name)),
            Ok(records::Record::Channel(channel)) => self.add_channel(channel, schemas),
            _ => self.warnings.push(format!("{}: a damaged description of a topic was left out", self.path.display())),
        }
    }

    fn add_channel(&mut self, channel: records::Channel, schemas: &HashMap<u16, String>) {
        if self.topic_of_channel.contains_key(&channel.id) {
            return;
        }
        let qos = channel.metadata.get("offered_qos_profiles").cloned().unwrap_or_default();
        let type_name = schemas.get(&channel.schema_id).cloned().unwrap_or_default();
        self.topic_of_channel.insert(channel.id, self.topics.len());
        self.topics.push(Topic { name: channel.topic, type_name, encoding: channel.message_encoding, qos });
    }

    fn warn_of_end(&mut self, position: u64, cause: &str) {
        let read = match self.bounds {
            Some((_, last)) => format!("{} messages up to stamp {} were read", self.message_count, stamp(last)),
            None => "no message was read".to_owned(),
        };
        let (path, length) = (self.path.display(), self.file_length);
        self.warnings.push(format!("{path}: ends at byte {position} of {length}: {cause}; {read}"));
    }

    fn read_at(&mut self, offset: u64, length: u64) -> io::Result<Vec<u8>> {
        self.file.seek(SeekFrom::Start(offset))?;
        let mut bytes = Vec::with_capacity(length.min(self.file_length) as usize);
        self.file.by_ref().take(length).read_to_end(&mut bytes)?;
        if (bytes.len() as u64) < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(bytes)
    }
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

    fn next(&mut self) -> Option<Record> {
        // A chunk is read when it may hold the next message, and not before.
        while let Some(&span) = self.spans.get(self.next_span) {
            if self.heap.peek().is_some_and(|pending| pending.order.0 < span.times.0) {
                break;
            }
            self.next_span += 1;
            if span.times.1 < self.from {
                continue;
            }
            match self.load(span, None) {
                Ok((messages, damage)) => {
                    self.warnings.extend(damage);
                    let from = self.from;
                    self.heap.extend(messages.into_iter().filter(|message| message.order.0 >= from));
                }
                Err(error) => self.warnings.push(format!("{}: {error}", self.path.display())),
            }
        }
        self.heap.pop().map(|pending| pending.record)
    }

    fn seek(&mut self, from: Stamp) {
        self.from = from.nanos().max(0) as u64;
        self.next_span = 0;
        self.heap.clear();
    }

    fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }
}
