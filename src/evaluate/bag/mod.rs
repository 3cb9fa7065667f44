//! rosbag2 bags, read and written without ROS.

pub mod cdr;
pub mod cloud;
pub mod messages;
pub mod metadata;
pub mod params;
mod read;
mod read_mcap;
mod read_sqlite;
pub mod schema;
mod write;

pub use read::{BagReader, Record, Topic};
pub use write::{BagWriter, Existing, TopicId, WriteError};
