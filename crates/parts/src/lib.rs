//! parts
#![forbid(unsafe_code)]
mod factor;
mod near;
mod order;
mod part;
mod parts;
mod problem;
mod work;
pub use parts::{Parts, PartsError, Status};
pub use problem::SolveError;
pub use work::Worker;
