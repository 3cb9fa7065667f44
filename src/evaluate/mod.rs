//! Recordings in, errors and consistency out.

pub mod bag;
pub mod convert;
pub mod datasets;
pub mod files;
pub mod recording;
