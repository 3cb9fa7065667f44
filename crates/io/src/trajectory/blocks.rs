//! Text files of any length, block by block: no more than a few blocks are in memory, and their lines are taken apart on
//! all cores.

use crate::open;
use crate::recording::OpenError;
use std::io::Read;
use std::num::NonZeroUsize;
use std::path::Path;
use std::thread;

/// A block has about so many bytes.
const BLOCK: usize = 4 << 20;
/// No line is longer, bytes.
const LINE: usize = 1 << 16;
/// More threads gain nothing: a file does not come faster.
const MOST_THREADS: usize = 8;

/// The problem of one line, counted from 1 within its block.
pub struct LineProblem {
    /// Which line.
    pub line: u64,
    /// What is wrong with it.
    pub problem: String,
}

/// A whole number of lines, and how many lines came before them.
struct Block {
    bytes: Vec<u8>,
    lines_before: u64,
}

/// Gives each block of a file to `parse`, and what comes back to `take`, in the order of the file. `progress` hears how
/// many bytes are done.
///
/// # Errors
/// The file cannot be read, or is no text; what `parse` finds, with the number of its line; what `take` says.
pub fn each<T: Send>(
    path: &Path,
    parse: impl Fn(&str) -> Result<T, LineProblem> + Sync,
    mut take: impl FnMut(T) -> Result<(), String>,
    progress: &mut dyn FnMut(u64),
) -> Result<(), OpenError> {
    let io = |error| OpenError::io(path, error);
    let at = |line: u64, problem: String| OpenError::Text { path: path.to_owned(), line, problem };
    let mut file = open::regular(path).map_err(io)?;
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get).min(MOST_THREADS);
    let (mut rest, mut lines, mut done, mut ended) = (Vec::new(), 0_u64, 0_u64, false);
    let parse_block = |block: &Block| {
        let text = std::str::from_utf8(&block.bytes).map_err(|error| {
            let before = block.bytes.get(..error.valid_up_to()).unwrap_or_default();
            at(block.lines_before + count(before) + 1, "it is no text in UTF-8; give a text file".to_owned())
        })?;
        parse(text).map_err(|found| at(block.lines_before + found.line, found.problem))
    };
    while !ended {
        let mut blocks = Vec::with_capacity(threads);
        while blocks.len() < threads && !ended {
            let had = rest.len();
            rest.reserve_exact((BLOCK + LINE).saturating_sub(had));
            ended = Read::by_ref(&mut file).take(BLOCK as u64).read_to_end(&mut rest).map_err(io)? == 0;
            done += (rest.len() - had) as u64;
            let end = if ended { rest.len() } else { rest.iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1) };
            if rest.len() - end > LINE {
                return Err(at(lines + count(&rest) + 1, format!("the line is longer than {LINE} bytes")));
            }
            let after = rest.split_off(end);
            let bytes = std::mem::replace(&mut rest, after);
            let block = Block { lines_before: lines, bytes };
            lines += count(&block.bytes);
            blocks.push(block);
        }
        let parsed: Vec<Result<T, OpenError>> = thread::scope(|scope| {
            let others: Vec<_> = blocks.iter().skip(1).map(|block| scope.spawn(|| parse_block(block))).collect();
            let first = blocks.first().map(parse_block);
            let others = others.into_iter().map(|thread| {
                thread.join().unwrap_or_else(|_| Err(at(1, "the text cannot be taken apart".to_owned())))
            });
            first.into_iter().chain(others).collect()
        });
        for part in parsed {
            take(part?).map_err(|problem| OpenError::bag(path, problem))?;
        }
        progress(done);
    }
    Ok(())
}

fn count(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|&&b| b == b'\n').count() as u64
}

/// The first bytes of a file, as text: enough to see what it is.
///
/// # Errors
/// What the file system says.
pub fn head(path: &Path) -> Result<String, OpenError> {
    let file = open::regular(path).map_err(|error| OpenError::io(path, error))?;
    let mut bytes = Vec::new();
    file.take(LINE as u64).read_to_end(&mut bytes).map_err(|error| OpenError::io(path, error))?;
    Ok(String::from_utf8_lossy(&bytes).trim_start_matches('\u{feff}').to_owned())
}
