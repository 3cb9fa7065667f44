//! The filter as plain data: to continue in another process, or from a copy, to the last bit.

use crate::config::Config;
use crate::inbox::{Inbox, Key};
use crate::input::Sensor;
use crate::interrupted::Interrupted;
use crate::output::Counts;
use crate::still::StillView;
use crate::world::Map3d;
use lienav_base::clock::ClockGuard;
use lienav_base::stamp::Stamp;
use lienav_inertial::preintegration::integrator::Integrator;
use lienav_inertial::rest::RestDetector;
use lienav_inertial::state::State;
use lienav_inertial::{delayed, window};
use lienav_lie::Se3;
use nalgebra::Matrix6;
use serde::{Deserialize, Serialize};

/// All that a [`Slam3d`](crate::Slam3d) needs to continue; its fields are its own.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SavedState {
    pub(crate) config: Config,
    pub(crate) sensors: Vec<Sensor>,
    pub(crate) base: Se3,
    pub(crate) inbox: Inbox,
    pub(crate) guard: ClockGuard,
    pub(crate) running: Option<SavedRun>,
    pub(crate) given: Option<(Se3, Matrix6<f64>, Option<Stamp>)>,
    pub(crate) map: Option<Map3d>,
    #[serde(default)]
    pub(crate) interrupted: Option<Interrupted>,
    pub(crate) waits_since: Option<Stamp>,
    pub(crate) counts: Counts,
    pub(crate) time_jumps: u64,
    pub(crate) widened: u64,
    pub(crate) enabled: bool,
}

/// Of a run that has begun.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SavedRun {
    pub(crate) filter: SavedFilter,
    pub(crate) integrator: Integrator,
    pub(crate) rest: RestDetector,
    pub(crate) at: Stamp,
    pub(crate) begins: bool,
    pub(crate) taken: Vec<Key>,
    pub(crate) last_used: Option<Stamp>,
    pub(crate) last_widened: Option<Stamp>,
}

/// Of the filter itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SavedFilter {
    pub(crate) state: State,
    pub(crate) waiting: delayed::Memory,
    #[serde(default)]
    pub(crate) window: Option<window::Memory>,
    pub(crate) known: Option<Vec<u64>>,
    /// Measurements used and beyond the gate in the last frames.
    pub(crate) recent: (f64, f64),
    #[serde(default)]
    pub(crate) view: StillView,
}

/// A saved filter that cannot be continued.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResumeError {
    /// It was saved with other settings.
    #[error("the state was saved with {name} {saved}, and it is {now}: continue with the settings of then")]
    OtherSetting {
        /// The setting.
        name: String,
        /// Its value then.
        saved: String,
        /// Its value now.
        now: String,
    },
    /// Numbers that no filter had.
    #[error("the state is damaged: {0}")]
    Damaged(&'static str),
}

impl SavedState {
    /// The settings that it was saved with.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Whether its parts fit together.
    pub(crate) fn check(&self, now: &Config) -> Result<(), ResumeError> {
        if let Some((name, saved, now)) = first_difference(&self.config, now) {
            return Err(ResumeError::OtherSetting { name, saved, now });
        }
        let damaged = |what| Err(ResumeError::Damaged(what));
        if let Some(map) = &self.map
            && map.check().is_err()
        {
            return damaged("its map is invalid");
        }
        let samples = &self.inbox.samples;
        if !samples.iter().zip(samples.iter().skip(1)).all(|(a, b)| a.stamp < b.stamp) || !self.inbox.is_sorted() {
            return damaged("what waits is not in order");
        }
        let Some(run) = &self.running else { return Ok(()) };
        let state = &run.filter.state;
        if state.landmarks.len() != state.covariance.landmarks() {
            return damaged("landmarks and covariance do not fit together");
        }
        if state.covariance.head() != lienav_inertial::covariance::NAV + state.calibration.columns().count() {
            return damaged("calibration and covariance do not fit together");
        }
        let is_rotation = state.nav.rotation.orthogonality_error() < 1e-3;
        if !is_rotation || !run.integrator.is_sound() || !run.rest.is_sound() {
            return damaged("a rotation is not orthogonal, or a count is too large");
        }
        if run.filter.known.as_ref().is_some_and(|known| !known.is_sorted()) {
            return damaged("known landmarks are not in order");
        }
        Ok(())
    }
}

/// The first setting whose values differ, as text.
fn first_difference(saved: &Config, now: &Config) -> Option<(String, String, String)> {
    let tree = |config: &Config| serde_json::to_value(config).unwrap_or_default();
    let (saved, now) = (tree(saved), tree(now));
    crate::SPECS.iter().find_map(|spec| {
        let pointer = format!("/{}", spec.name.replace('.', "/"));
        let [then, now] = [&saved, &now].map(|tree| tree.pointer(&pointer).cloned().unwrap_or_default().to_string());
        (then != now).then(|| (spec.name.to_owned(), then, now))
    })
}
