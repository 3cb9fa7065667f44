//! Unpacks what is compressed as a whole: files into temporary ones, messages into memory. What unpacks to more than
//! any recording does is refused.

use lienav_files::OpenError;
use lienav_files::bounds::Bytes;
use lienav_files::files::Temporary;
use lienav_files::open;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;

/// Unpacks a file as far as it can be: a cut one gives its beginning. What is unpacked is taken off `allowance`.
///
/// # Errors
/// Nothing of it can be unpacked, it unpacks to more than is allowed, or the disk is full.
pub(super) fn unpack_file(path: &Path, allowance: &mut u64) -> Result<Temporary, OpenError> {
    let io_error = |error| OpenError::io(path, error);
    let file = open::regular(path).map_err(io_error)?;
    let mut packed = zstd::Decoder::new(BufReader::new(file)).map_err(io_error)?;
    let folder = std::env::temp_dir();
    let no_room = |error| OpenError::NoRoom { path: path.to_owned(), folder: folder.clone(), error };
    let mut plain = Temporary::file().map_err(no_room)?;
    let mut buffer = vec![0; 1 << 16];
    let mut written = 0;
    loop {
        let count = match packed.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) if written == 0 => return Err(io_error(error)),
            // The reader of what is there says where it ends.
            Err(_) => break,
        };
        if count as u64 > *allowance {
            let so_far = Bytes(written);
            return Err(OpenError::bag(
                path,
                format!("unpacks to more than {so_far}, which no recording of its size does"),
            ));
        }
        *allowance -= count as u64;
        written += count as u64;
        plain.write_all(buffer.get(..count).unwrap_or_default()).map_err(no_room)?;
    }
    Ok(plain.close())
}

/// Unpacks a message; `None` for one that is longer than `limit`.
pub(super) fn unpack_message(packed: &[u8], limit: u64) -> io::Result<Option<Vec<u8>>> {
    let mut data = Vec::new();
    zstd::Decoder::new(packed)?.take(limit.saturating_add(1)).read_to_end(&mut data)?;
    Ok((data.len() as u64 <= limit).then_some(data))
}
