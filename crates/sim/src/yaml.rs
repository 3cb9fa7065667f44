//! Scenarios as YAML, checked when they are read.

use super::scenario::{Scenario, ScenarioError};
use lienav_base::nesting::check_yaml;

impl Scenario {
    /// Reads a scenario from YAML; what the text leaves out keeps its default.
    ///
    /// # Errors
    /// Text that is no YAML, a field nobody knows, or a value out of range: with line or name.
    pub fn from_yaml(text: &str) -> Result<Self, ScenarioError> {
        check_yaml(text).map_err(|error| ScenarioError::Yaml(error.to_string()))?;
        let scenario: Self =
            serde_yaml_ng::from_str(text).map_err(|error| ScenarioError::Yaml(explain(text, &error)))?;
        scenario.validate()?;
        Ok(scenario)
    }

    /// As YAML, every field.
    ///
    /// # Errors
    /// None in practice: all fields have a YAML form.
    pub fn to_yaml(&self) -> Result<String, ScenarioError> {
        serde_yaml_ng::to_string(self).map_err(|error| ScenarioError::Yaml(error.to_string()))
    }
}

/// Why a text is not a scenario. Of a text that is not even a mapping nothing is repeated: it is some other file,
/// whose content may not be for a terminal.
fn explain(text: &str, error: &serde_yaml_ng::Error) -> String {
    let is_mapping = serde_yaml_ng::from_str::<serde_yaml_ng::Mapping>(text).is_ok();
    if is_mapping {
        return error.to_string();
    }
    let line = error.location().map_or(1, |location| location.line());
    format!("line {line}: expected a YAML mapping of settings, for example `trajectory: {{path: line, length_m: 5}}`")
}
