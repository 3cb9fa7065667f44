//! Settings and scenarios as Python gives them: a mapping, YAML as text, or a file.

use crate::errors::{failed, wrong_call};
use lienav_base::settings::Described;
use lienav_eval::study::Study;
use lienav_io::bag::params::NODE;
use lienav_io::files::read_text;
use lienav_io::settings_file::{overlay, with};
use lienav_sim::{ConeTrack, Scenario};
use lienav_slam::{Config, MapMode};
use pyo3::prelude::*;
use pyo3::types::PyString;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};

/// Settings as text, and the file that they are from.
pub struct Text {
    text: String,
    file: Option<PathBuf>,
}

impl Text {
    /// The settings.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// What an error says of them: the sentence of the command line.
    pub fn error(&self, error: impl std::fmt::Display) -> PyErr {
        match &self.file {
            Some(file) => failed(format!("{}: {error}", file.display())),
            None => wrong_call(error),
        }
    }
}

/// A mapping becomes JSON, which is YAML; a `pathlib.Path` or a text that ends in .yaml or .yml is a file; any other
/// text is YAML itself.
pub fn text_of(given: &Bound<'_, PyAny>) -> PyResult<Text> {
    if given.hasattr("__fspath__")? {
        return read(given.extract::<PathBuf>()?);
    }
    if let Ok(text) = given.cast::<PyString>() {
        let text = text.to_string();
        let is_file = [".yaml", ".yml"].iter().any(|end| text.ends_with(end)) && !text.contains('\n');
        return if is_file { read(text.into()) } else { Ok(Text { text, file: None }) };
    }
    let text = given.py().import("lienav._settings")?.getattr("as_json")?.call1((given,))?.extract()?;
    Ok(Text { text, file: None })
}

fn read(path: PathBuf) -> PyResult<Text> {
    let text = read_text(&path).map_err(|error| failed(format!("{}: {error}", path.display())))?;
    Ok(Text { text, file: Some(path) })
}

/// Settings laid over `base`; ranges are not checked.
pub fn laid_over<T>(base: &T, settings: Option<&Bound<'_, PyAny>>, node: &str) -> PyResult<T>
where
    T: Serialize + DeserializeOwned + Described + Clone,
{
    let Some(settings) = settings else { return Ok(base.clone()) };
    let text = text_of(settings)?;
    if text.text.trim().is_empty() {
        return Ok(base.clone());
    }
    overlay(base, &text.text, node).map_err(|error| text.error(error))
}

/// The settings of a filter: what the source says, or the defaults; over it what is given.
pub fn study(source: Option<&Config>, settings: Option<&Bound<'_, PyAny>>) -> PyResult<Study> {
    let study = laid_over(&Study::from(source.cloned().unwrap_or_default()), settings, NODE)?;
    study.config().validate().map_err(wrong_call)?;
    Ok(study)
}

/// A map is used for localization, unless a mode is set.
pub fn set_mode(study: &mut Study) {
    if study.map.mode == MapMode::Mapping {
        study.map.mode = MapMode::Localization;
    }
}

/// A scenario: the name of a shipped one, `cones:FILE`, a YAML file, YAML as text, or a mapping; `settings` lie
/// over it.
pub fn scenario(given: &Bound<'_, PyAny>, settings: &[(String, String)]) -> PyResult<Scenario> {
    let mut scenario = base(given)?;
    for (name, value) in settings {
        scenario = with(&scenario, name, value).map_err(wrong_call)?;
    }
    for (name, _) in settings {
        scenario.check_effect(name).map_err(wrong_call)?;
    }
    scenario.validate().map_err(wrong_call)?;
    Ok(scenario)
}

fn base(given: &Bound<'_, PyAny>) -> PyResult<Scenario> {
    if let Ok(name) = given.cast::<PyString>() {
        let name = name.to_string();
        let unknown = match Scenario::named(&name) {
            Ok(scenario) => return Ok(scenario),
            Err(unknown) => unknown,
        };
        if let Some(path) = name.strip_prefix("cones:") {
            let named = |error: &dyn std::fmt::Display| failed(format!("{path}: {error}"));
            let text = read_text(Path::new(path)).map_err(|error| named(&error))?;
            let stem = Path::new(path).file_stem().map(|stem| stem.to_string_lossy()).unwrap_or_default();
            let track = ConeTrack::from_yaml(&format!("cones-{stem}"), &text).map_err(|error| named(&error))?;
            return Ok(track.scenario());
        }
        if !name.contains(['/', '.', ':', '\n']) {
            return Err(wrong_call(unknown));
        }
    }
    let text = text_of(given)?;
    Scenario::from_yaml(&text.text).map_err(|error| text.error(error))
}
