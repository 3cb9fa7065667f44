//! rosbag2 bags, read and written without ROS.
//!
//! [`BagReader`] gives the records of a bag in the order of time, whichever its storage; [`load`] makes a recording of
//! them; [`BagWriter`] writes. Below these: how messages are serialised ([`cdr`]), and their definitions ([`schema`]).

mod arrivals;
pub mod cdr;
mod decode;
mod load;
mod mcap_chunk;
mod mcap_parts;
pub mod metadata;
pub mod params;
mod plan;
mod read;
mod read_mcap;
mod read_sqlite;
mod reader;
mod record;
pub mod schema;
mod static_mount;
mod topics;
mod unpack;
mod write;

pub use load::{DROPPED_KEY, HeardTruth, NAME_KEY, load};
pub(crate) use load::{Loading, Problems};
pub use read::BagReader;
pub(crate) use reader::Unread;
pub use reader::{BAD_TRUTH, UNREADABLE};
pub use record::{Record, Topic};
pub use topics::{Role, Topics, roles_of};
pub(crate) use topics::{magnetic_topic, not_one};
pub use write::{BagWriter, Existing, TopicId, TypeText, WriteError};

/// What messages of a recording in space do not hold, beside them: see `lienav_eval::space::bag`.
pub const SPACE_FILE_NAME: &str = "space.json";

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;

#[cfg(test)]
mod inputs_tests;
