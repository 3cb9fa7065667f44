//! Goes through the records of a piece of an MCAP file one by one, unpacking as it goes, so that no chunk is ever in
//! memory as a whole.

use super::mcap_parts::{ChunkHeader, PREFIX, Span};
use lienav_files::bounds::Bytes;
use mcap::records::op;
use std::fs::File;
use std::io::{self, BufReader, Read};

/// A file, and where it is being read.
pub(super) struct Positioned {
    inner: BufReader<File>,
    at: u64,
}

impl Positioned {
    pub fn new(file: File) -> Self {
        Self { inner: BufReader::with_capacity(1 << 16, file), at: 0 }
    }

    /// Goes to a byte; what is buffered stays so where it is near.
    pub fn go_to(&mut self, offset: u64) -> io::Result<()> {
        let by = i128::from(offset) - i128::from(self.at);
        self.inner.seek_relative(i64::try_from(by).map_err(io::Error::other)?)?;
        self.at = offset;
        Ok(())
    }

    /// As many bytes from `offset` on.
    ///
    /// # Errors
    /// The file ends before; nothing is allocated beyond its end.
    pub fn read_at(&mut self, offset: u64, length: u64) -> io::Result<Vec<u8>> {
        self.go_to(offset)?;
        let mut bytes = Vec::new();
        self.by_ref().take(length).read_to_end(&mut bytes)?;
        if (bytes.len() as u64) < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(bytes)
    }
}

impl Read for Positioned {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.at += count as u64;
        Ok(count)
    }
}

/// How going through a piece of a file ended.
pub(super) enum Outcome {
    /// At its end.
    Whole,
    /// At the end of a file that was cut off. What came before is good.
    Cut,
    /// It is not what it should be, and no one knows since where.
    Damaged(String),
    /// It takes more than may be unpacked.
    TooMuch,
}

/// What is told of each record: opcode, length, and its content, of which any part may be read.
pub(super) type OnRecord<'a> = dyn FnMut(u8, u64, &mut dyn Read) -> io::Result<()> + 'a;

/// Goes through the records of `span`, of which `available` bytes are in the file. What is unpacked is taken off
/// `allowance`.
pub(super) fn visit(
    file: &mut Positioned,
    span: Span,
    available: u64,
    allowance: &mut u64,
    on_record: &mut OnRecord<'_>,
) -> Outcome {
    let is_cut = available < span.length;
    match visit_whole(file, span, available, allowance, on_record) {
        Outcome::Damaged(_) if is_cut => Outcome::Cut,
        outcome => outcome,
    }
}

fn visit_whole(
    file: &mut Positioned,
    span: Span,
    available: u64,
    allowance: &mut u64,
    on_record: &mut OnRecord<'_>,
) -> Outcome {
    let head = match file.read_at(span.offset, available.min(ChunkHeader::LONGEST)) {
        Ok(head) => head,
        Err(error) => return Outcome::Damaged(error.to_string()),
    };
    let (start, header) = match head.first() {
        Some(&op::CHUNK) => match ChunkHeader::parse(&head) {
            Some((header, length)) => (span.offset + length, Some(header)),
            None => return Outcome::Damaged("its header contradicts itself".to_owned()),
        },
        Some(&op::MESSAGE) => (span.offset, None),
        _ => return Outcome::Damaged("it is not there".to_owned()),
    };
    if let Err(error) = file.go_to(start) {
        return Outcome::Damaged(error.to_string());
    }
    let Some(header) = header else {
        let mut records = Counted::new(file.take(available.min(*allowance)));
        let ended = each_record(&mut records, on_record);
        *allowance = allowance.saturating_sub(records.count);
        return match ended {
            _ if *allowance == 0 => Outcome::TooMuch,
            Ok(()) => Outcome::Whole,
            Err(error) => Outcome::Damaged(error.to_string()),
        };
    };
    let packed = file.take(header.packed);
    let decoder: io::Result<Box<dyn Read + '_>> = match header.compression.as_str() {
        "" => Ok(Box::new(packed)),
        "zstd" => zstd::Decoder::new(packed).map(|decoder| Box::new(decoder) as _),
        "lz4" => lz4::Decoder::new(packed).map(|decoder| Box::new(decoder) as _),
        other => return Outcome::Damaged(format!("unknown compression '{}'", other.escape_debug())),
    };
    let decoder = match decoder {
        Ok(decoder) => decoder,
        Err(error) => return Outcome::Damaged(error.to_string()),
    };
    let mut counted = Counted::new(decoder.take(header.unpacked.min(*allowance)));
    let ended = each_record(&mut BufReader::with_capacity(1 << 16, &mut counted), on_record);
    *allowance = allowance.saturating_sub(counted.count);
    if *allowance == 0 {
        return Outcome::TooMuch;
    }
    if let Err(error) = ended {
        return Outcome::Damaged(error.to_string());
    }
    if counted.count < header.unpacked {
        let (found, stated) = (Bytes(counted.count), Bytes(header.unpacked));
        return Outcome::Damaged(format!("it unpacks to {found}, its header states {stated}"));
    }
    if header.crc != 0 && header.crc != counted.crc.finalize() {
        return Outcome::Damaged("its checksum is wrong".to_owned());
    }
    Outcome::Whole
}

/// Tells of each record up to the end.
///
/// # Errors
/// The last one is cut off, or cannot be unpacked.
fn each_record(from: &mut dyn Read, on_record: &mut OnRecord<'_>) -> io::Result<()> {
    loop {
        let mut prefix = [0; PREFIX as usize];
        if from.read(&mut prefix[..1])? == 0 {
            return Ok(());
        }
        from.read_exact(&mut prefix[1..])?;
        let length = prefix[1..].first_chunk().map_or(0, |&eight| u64::from_le_bytes(eight));
        let mut body = from.take(length);
        on_record(prefix[0], length, &mut body)?;
        io::copy(&mut body, &mut io::sink())?;
        if body.limit() > 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

/// Counts what passes and computes its checksum.
struct Counted<R> {
    inner: R,
    count: u64,
    crc: crc32fast::Hasher,
}

impl<R> Counted<R> {
    fn new(inner: R) -> Self {
        Self { inner, count: 0, crc: crc32fast::Hasher::new() }
    }
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.count += count as u64;
        self.crc.update(buffer.get(..count).unwrap_or_default());
        Ok(count)
    }
}
