//! What a reader of a data set says of itself.

use lienav_bag::recording::Recording;
use lienav_files::OpenError;

/// A format that a source may be given in, as `PREFIX:ARGUMENTS`. A reader of another data set is a file in this folder
/// with such a value, and a line in [`FORMATS`](super::FORMATS).
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// What the source begins with, before the colon.
    pub prefix: &'static str,
    /// What stands behind the colon: `FOLDER:ROBOT`.
    pub arguments: &'static str,
    /// Which data set it is.
    pub about: &'static str,
    /// Reads what stands behind the colon.
    pub open: fn(&str) -> Result<Recording, OpenError>,
}
