//! The files of judged estimates.
