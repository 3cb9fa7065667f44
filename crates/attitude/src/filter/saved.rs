//! A filter that is saved and resumed.

use super::Attitude;
use lienav_base::settings::OutOfRange;

/// A text that is not a saved filter.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    /// It cannot be read.
    #[error("the state is damaged: {0}; use an older copy")]
    Text(#[from] serde_json::Error),
    /// A setting in it is out of range.
    #[error("the state is damaged: {0}; use an older copy")]
    Setting(#[from] OutOfRange),
    /// Its numbers are not those of a filter.
    #[error("the state is damaged: {0}; use an older copy")]
    Damaged(&'static str),
}

impl Attitude {
    /// All that [`Attitude::resume`] needs to go on from here, as JSON; numbers keep every bit.
    ///
    /// # Errors
    /// Serde's, should a number not be finite.
    pub fn save(&self) -> serde_json::Result<String> {
        serde_json::to_string(self)
    }

    /// A filter that goes on where another was saved: with the same samples from there on, its estimates are those of
    /// the run that was not interrupted, to the last bit.
    ///
    /// ```
    /// use lienav_attitude::{Attitude, Config};
    ///
    /// let attitude = Attitude::new(Config::default())?;
    /// let resumed = Attitude::resume(&attitude.save()?)?;
    /// assert!(resumed.estimate().is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ResumeError`].
    pub fn resume(text: &str) -> Result<Self, ResumeError> {
        let mut found: Self = serde_json::from_str(text)?;
        found.config.validate()?;
        if !found.state.covariance.diagonal().iter().all(|variance| *variance >= 0.0) {
            return Err(ResumeError::Damaged("a variance is negative"));
        }
        found.rest_gate = super::rest_gate(&found.config);
        Ok(found)
    }
}
