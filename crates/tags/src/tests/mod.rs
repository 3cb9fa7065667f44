//! Tests, by subject.

pub mod common;
mod runs;
