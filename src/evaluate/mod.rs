//! Recordings in, errors and consistency out.

pub mod files;
pub mod recording;
