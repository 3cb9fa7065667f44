//! Of a file without a summary: what it holds, found by going through it once.

use super::{McapFile, Piece, RUN, message_header};
use crate::mcap_chunk::Outcome;
use crate::mcap_parts::{Channel, Fields, PREFIX, Span};
use lienav_files::bounds::DESCRIPTION;
use mcap::records::op;
use std::collections::HashMap;
use std::io::{self, Read};

impl McapFile {
    /// Goes through the file from the start, as far as it holds.
    pub(super) fn scan(&mut self) -> io::Result<()> {
        let mut schemas = HashMap::new();
        let mut position = mcap::MAGIC.len() as u64;
        // Messages outside of chunks that lie one behind the other.
        let mut run: Option<Span> = None;
        loop {
            if position + PREFIX > self.file_length {
                self.warn_of_end(position, "the file was cut off");
                break;
            }
            let prefix = self.file.read_at(position, PREFIX)?;
            let mut fields = Fields(&prefix);
            let (opcode, length) =
                (fields.bytes(1).and_then(|one| one.first().copied()).unwrap_or(0), fields.u64().unwrap_or(0));
            if opcode == op::DATA_END || opcode == op::FOOTER {
                let magic_length = mcap::MAGIC.len() as u64;
                if self.file.read_at(self.file_length - magic_length, magic_length)? != mcap::MAGIC {
                    self.warn_of_end(self.file_length, "its index was cut off, its messages are whole");
                }
                break;
            }
            let private = 0x80;
            if opcode == 0 || (opcode > op::DATA_END && opcode < private) {
                self.warn_of_end(position, &format!("unknown record type {opcode:#04x}"));
                break;
            }
            let end = position.saturating_add(PREFIX).saturating_add(length);
            match opcode {
                op::CHUNK => self.scan_chunk(position, end - position, &mut schemas),
                op::MESSAGE if end <= self.file_length => self.scan_message(position, end, &mut run)?,
                op::SCHEMA | op::CHANNEL if end <= self.file_length => {
                    let body = self.file.read_at(position + PREFIX, length.min(DESCRIPTION + 1))?;
                    self.learn(opcode, &body, &mut schemas);
                }
                _ => {}
            }
            if end > self.file_length {
                self.warn_of_end(position, "the file was cut off in the middle of a record");
                break;
            }
            position = end;
        }
        self.keep_run(run);
        Ok(())
    }

    /// Reads a chunk once, for its topics, times and number of messages.
    fn scan_chunk(&mut self, offset: u64, length: u64, schemas: &mut HashMap<u16, String>) {
        let span = Span { times: (0, 0), offset, length };
        let mut times: Option<(u64, u64)> = None;
        let mut count = 0;
        // Messages may come before the description of their channel only in a file that nobody can read.
        let mut known: Vec<u16> = self.topic_of_channel.keys().copied().collect();
        known.sort_unstable();
        let mut descriptions = Vec::new();
        let outcome = self.visit(span, &mut |opcode, length, body| {
            match opcode {
                op::MESSAGE => {
                    let (channel, log_time, _) = message_header(length, body)?;
                    if known.binary_search(&channel).is_ok() {
                        count += 1;
                        times = Some(times.map_or((log_time, log_time), |t| (t.0.min(log_time), t.1.max(log_time))));
                    }
                }
                op::SCHEMA | op::CHANNEL if descriptions.len() < usize::from(u16::MAX) => {
                    let mut bytes = Vec::new();
                    body.take(DESCRIPTION + 1).read_to_end(&mut bytes)?;
                    if let (op::CHANNEL, Some(channel)) = (opcode, Channel::parse(&bytes))
                        && let Err(place) = known.binary_search(&channel.id)
                    {
                        known.insert(place, channel.id);
                    }
                    descriptions.push((opcode, bytes));
                }
                _ => {}
            }
            Ok(())
        });
        if let Outcome::Damaged(cause) = outcome {
            self.warn_of_chunk(offset, &cause);
            return;
        }
        for (opcode, bytes) in descriptions {
            self.learn(opcode, &bytes, schemas);
        }
        if let Some(times) = times {
            self.add_times(times, count);
            self.pieces.push(Piece { span: Span { times, ..span }, channels: Box::default(), is_damaged: false });
        }
    }

    /// Takes in a message outside of any chunk.
    fn scan_message(&mut self, position: u64, end: u64, run: &mut Option<Span>) -> io::Result<()> {
        let (channel, log_time, _) = message_header(end - position - PREFIX, &mut self.file)?;
        if !self.topic_of_channel.contains_key(&channel) {
            return Ok(());
        }
        self.add_times((log_time, log_time), 1);
        if let Some(run) = run
            && run.offset + run.length == position
            && end - run.offset <= RUN
        {
            run.length = end - run.offset;
            run.times = (run.times.0.min(log_time), run.times.1.max(log_time));
            return Ok(());
        }
        let finished = run.replace(Span { times: (log_time, log_time), offset: position, length: end - position });
        self.keep_run(finished);
        Ok(())
    }

    fn keep_run(&mut self, run: Option<Span>) {
        self.pieces.extend(run.map(|span| Piece { span, channels: Box::default(), is_damaged: false }));
    }

    fn add_times(&mut self, times: (u64, u64), count: u64) {
        self.bounds = Some(self.bounds.map_or(times, |b| (b.0.min(times.0), b.1.max(times.1))));
        self.message_count += count;
    }
}
