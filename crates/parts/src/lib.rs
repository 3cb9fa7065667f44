//! parts
#![forbid(unsafe_code)]
mod factor;
mod near;
mod order;
mod part;
mod parts;
mod problem;
#[cfg(test)]
mod tests;
mod work;
pub use parts::{Parts, Status};
pub use problem::SolveError;
pub use work::Worker;
