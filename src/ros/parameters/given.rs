//! What the user has set, and why it cannot be used.

use lienav_base::settings::OutOfRange;
use r2r::ParameterValue;
use std::collections::BTreeMap;

/// A parameter that cannot be used: name, value, and what is allowed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ParameterError {
    /// A number or word out of range.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// A value of the wrong type.
    #[error("parameter '{name}' is {given}; it has to be {expected}")]
    WrongType {
        /// Dotted name.
        name: &'static str,
        /// What was given, as text.
        given: String,
        /// What it has to be.
        expected: &'static str,
    },
    /// Values that do not go together, in words.
    #[error("{0}")]
    Unusable(String),
    /// A parameter that cannot be changed while running.
    #[error("parameter '{0}' cannot be changed while the node runs: set it at start")]
    NeedsRestart(&'static str),
    /// A name that is no parameter's.
    #[error("there is no parameter '{0}'")]
    Unknown(String),
}

/// What the user has set, by name: from `-p` and `--params-file`.
pub type Overrides = BTreeMap<String, ParameterValue>;
