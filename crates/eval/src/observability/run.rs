//! Running filters and keeping what they linearize.

use super::{Invented, Window, invented, windows};
use crate::run::Session;
use crate::study::Study;
use lienav_io::recording::{Equipment, Input};
use lienav_slam::{ConfigError, MapMode};

/// What a filter takes for observable on one run.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The name of the filter.
    pub filter: String,
    /// Scans in a row, taken together.
    pub windows: Vec<Window>,
    /// Scan by scan, since the start.
    pub invented: Vec<Invented>,
}

/// What cannot be studied.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ObservabilityError {
    /// A configuration that cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Landmarks that are known make the pose observable.
    #[error("map.mode is not mapping: in a known map the pose is observable; set map.mode=mapping")]
    KnownMap,
}

/// Runs a filter over the input of a recording, which needs this equipment, and looks at the Jacobians that it used, in windows of `scans` scans.
///
/// # Errors
/// A configuration that cannot be used, or a map that is known.
pub fn observe<'a>(
    study: &Study,
    (inputs, equipment): (impl IntoIterator<Item = &'a Input>, &Equipment),
    scans: usize,
) -> Result<Observed, ObservabilityError> {
    let config = study.config();
    if config.map.mode != MapMode::Mapping {
        return Err(ObservabilityError::KnownMap);
    }
    let filter = study.composed(&study.filter)?;
    let mut session = Session::new(filter, &config, equipment)?;
    session.slam.keep_linearization();
    for input in inputs {
        session.feed(input);
    }
    session.end();
    let steps = session.slam.linearization();
    Ok(Observed {
        filter: study.filter.clone(),
        windows: windows(steps, scans),
        invented: invented(steps, filter.coordinates(), &config.initial.pose()),
    })
}
