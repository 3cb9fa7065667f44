//! YAML that a stranger may have written: its depth and size are checked before the parser reads it.

use lienav_base::nesting::{Unbounded, check_yaml};
use serde::de::DeserializeOwned;

/// A text that is no YAML, says something else than what is expected, or would take too much of this machine.
#[derive(Debug, thiserror::Error)]
pub enum YamlError {
    /// Too deep or too long: it was not parsed.
    #[error(transparent)]
    Unbounded(#[from] Unbounded),
    /// What the parser says.
    #[error(transparent)]
    Parser(#[from] serde_yaml_ng::Error),
}

impl YamlError {
    /// The line, from 1, where it is known and the sentence does not name it.
    pub fn line(&self) -> Option<usize> {
        match self {
            Self::Unbounded(_) => None,
            Self::Parser(error) => error.location().map(|location| location.line()),
        }
    }
}

/// Reads YAML, in time and memory that its length bounds.
///
/// # Errors
/// [`YamlError`].
pub fn from_str<T: DeserializeOwned>(text: &str) -> Result<T, YamlError> {
    check_yaml(text)?;
    Ok(serde_yaml_ng::from_str(text)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_yaml_ng::Value;
    use std::time::{Duration, Instant};

    #[test]
    fn what_is_nested_is_refused_in_no_time() {
        for (open, count) in
            [("[", 300_000), ("{a: ", 100_000), ("- ", 300_000), ("? ", 300_000), ("%TAG !a! b\n", 30_000)]
        {
            let begin = Instant::now();
            let refused = from_str::<Value>(&open.repeat(count)).unwrap_err();
            assert!(!refused.to_string().is_empty(), "{open}");
            assert!(begin.elapsed() < Duration::from_secs(2), "{open}: {:?}", begin.elapsed());
        }
    }
}
