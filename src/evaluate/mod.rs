//! Recordings in, errors and consistency out.

pub mod bag;
pub mod files;
pub mod recording;
