//! # lienav-files
//!
//! Files that another program may have made, or may be reading: they are opened without waiting, read up to a bound, and
//! replaced whole or not at all. This crate is for the crates of lienav that read and write recordings, maps and
//! settings.
//!
//! - [`open`] opens regular files only, and reads no more of them than a bound of [`bounds`].
//! - [`files`] writes a file or a folder beside its place and renames it; [`place`] says where a file may be written.
//! - [`yaml`] reads YAML in time and memory that its length bounds.
//! - [`OpenError`] says why a recording cannot be read: file, cause and remedy.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic))]

pub mod bounds;
pub mod files;
pub mod open;
mod open_error;
pub mod place;
pub mod yaml;

pub use open_error::OpenError;
