//! Why an experiment cannot be run.

use lienav_io::settings_file::SettingsError;
use lienav_sim::{ScenarioError, UnknownScenario};
use lienav_slam::{ConfigError, TooManySensors};

/// An experiment that cannot be run.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ExperimentError {
    /// Of the scenario.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// Of a filter or its settings.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A setting that no filter has, or of the wrong type.
    #[error(transparent)]
    Setting(#[from] SettingsError),
    /// More sensors than a filter can have.
    #[error(transparent)]
    Sensors(#[from] TooManySensors),
    /// A name that is no scenario's.
    #[error(transparent)]
    UnknownScenario(#[from] UnknownScenario),
    /// A scenario without scans, in which there is nothing to judge.
    #[error("scenario '{0}' has no feature cloud; sensor.first_s has to be less than the duration of the trajectory")]
    NoSteps(String),
    /// No runs or no filters.
    #[error("an experiment needs at least one run and one filter")]
    Nothing,
}
