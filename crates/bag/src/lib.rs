//! # lienav-bag
//!
//! rosbag2 bags, read and written without ROS: MCAP and SQLite, compressed or not. A damaged bag gives what can be read
//! of it, and says where it ends.
//!
//! - [`BagReader`] gives the records of a bag in the order of time, whichever its storage; [`BagWriter`] writes.
//! - [`load`](fn@load) makes a [`Recording`](recording::Recording) of them: the input of a filter in order of arrival,
//!   and the truth where it is known. [`identities`] are what measurements without identity are really of.
//! - Below these: how messages are serialised ([`cdr`]), and their definitions ([`schema`]).

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic))]

mod arrivals;
pub mod cdr;
mod decode;
pub mod identities;
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
pub mod recording;
pub mod schema;
mod static_mount;
mod topics;
mod unpack;
mod write;

pub use load::{DROPPED_KEY, HeardTruth, Loading, NAME_KEY, Problems, load};
pub use read::BagReader;
pub use reader::{BAD_TRUTH, UNREADABLE, Unread};
pub use record::{Record, Topic};
pub use topics::{Role, Topics, listed, magnetic_topic, not_one, roles_of};
pub use write::{BagWriter, Existing, TopicId, TypeText, WriteError};

/// What messages of a recording in space do not hold, beside them: see `lienav_eval::space::bag`.
pub const SPACE_FILE_NAME: &str = "space.json";

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;

#[cfg(test)]
mod inputs_tests;

#[cfg(test)]
mod random_tests;
