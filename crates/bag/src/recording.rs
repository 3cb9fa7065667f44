//! What was recorded, wherever it comes from: the filter's input in order of arrival, and the truth to compare with.

mod data;
mod equipment;
mod feeder;

pub use data::{Input, PositionFixes, Recording};
pub use equipment::Equipment;
pub use feeder::Feeder;
