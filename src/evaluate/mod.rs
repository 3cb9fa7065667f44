//! Recordings in, errors and consistency out.
