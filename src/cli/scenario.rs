//! Scenarios on the command line: by name or as a file, with single settings changed.

use super::failure::{Failure, print};
use lienav_io::files::read_text;
use lienav_io::settings_file::with;
use lienav_sim::{ConeTrack, Scenario};
use std::path::Path;

/// Reads a scenario: a shipped name (also where a file is called like it), `cones:FILE` with a track of cones, or a
/// YAML file; `settings` lie over it.
///
/// # Errors
/// A file that cannot be read or is none; a name or setting there is not.
pub(super) fn read(scenario: &str, settings: &[(String, String)]) -> Result<Scenario, Failure> {
    let mut scenario = base(scenario)?;
    for (name, value) in settings {
        scenario = with(&scenario, name, value).map_err(|e| Failure::WrongCall(format!("--set: {e}")))?;
    }
    for (name, _) in settings {
        scenario.check_effect(name).map_err(|problem| Failure::WrongCall(format!("--set: {problem}")))?;
    }
    scenario.validate().map_err(|error| Failure::WrongCall(error.to_string()))?;
    Ok(scenario)
}

/// Prints the names of the shipped scenarios.
///
/// # Errors
/// Standard output cannot be written to.
pub(super) fn list() -> Result<(), Failure> {
    print(&format!("{}\n", Scenario::names().join("\n")))
}

fn base(scenario: &str) -> Result<Scenario, Failure> {
    let unknown = match Scenario::named(scenario) {
        Ok(scenario) => return Ok(scenario),
        Err(unknown) => unknown,
    };
    if let Some(path) = scenario.strip_prefix("cones:") {
        return of_track(Path::new(path)).map_err(|error| Failure::Failed(format!("{path}: {error}")));
    }
    let is_file_name = scenario.contains(['/', '.']);
    match read_text(Path::new(scenario)) {
        Ok(text) => Scenario::from_yaml(&text).map_err(|error| Failure::Failed(format!("{scenario}: {error}"))),
        Err(error) if is_file_name => Err(Failure::Failed(format!("{scenario}: {error}"))),
        Err(_) => Err(Failure::WrongCall(unknown.to_string())),
    }
}

/// The scenario of a file with a track of cones, called like the file.
fn of_track(path: &Path) -> Result<Scenario, Box<dyn std::error::Error>> {
    let name = path.file_stem().map(|name| name.to_string_lossy()).unwrap_or_default();
    Ok(ConeTrack::from_yaml(&format!("cones-{name}"), &read_text(path)?)?.scenario())
}
