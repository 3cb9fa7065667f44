//! What can be judged, by name: a filter, or the batch estimate of the whole run.

use super::batch;
use super::run::{Run, RunError, Session};
use super::study::Study;
use lienav_io::map_file::MapFile;
use lienav_io::recording::{Equipment, Input};
use lienav_slam::{Config, ConfigError, Filter, LandmarkMap};

/// Something that makes a run of a recording.
pub enum Method {
    /// A filter: an estimate at each scan, from what came before it.
    Filter(Box<Session>),
    /// The estimate from all data.
    Batch(Box<batch::Session>),
}

impl Method {
    /// The names that [`Method::new`] takes for `filter`: those of filters, then those of batch estimates.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Filter::NAMES.iter().chain(batch::Settings::NAMES).copied()
    }

    /// The one that [`Config::filter`] names, before any input.
    ///
    /// # Errors
    /// A configuration that cannot be used.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        Self::of_study(&Study::from(config.clone()), &Equipment::default())
    }

    /// The same with the choices of a study, and with what its input needs beside them.
    ///
    /// # Errors
    /// A configuration that cannot be used, or choices without effect on the filter.
    pub fn of_study(study: &Study, equipment: &Equipment) -> Result<Self, ConfigError> {
        Ok(match batch::Settings::named(&study.filter) {
            Some(settings) => Self::Batch(Box::new(batch::Session::new(study, settings, equipment)?)),
            None => {
                let mut session = Session::new(study.composed(&study.filter)?, &study.config(), equipment)?;
                session.leave_out(study.choices.without()?);
                Self::Filter(Box::new(session))
            }
        })
    }

    /// Gives it a map that is known before the run; `map.mode` says how it is used.
    ///
    /// # Errors
    /// Landmarks that are no map, or that cannot be made parts of one.
    pub fn set_map(&mut self, map: &LandmarkMap) -> Result<(), RunError> {
        match self {
            Self::Filter(session) => session.set_map(map),
            Self::Batch(session) => session.set_map(map),
        }
    }

    /// Keeps what measurements are taken for from now on, for [`Run::matches`]. A batch estimate takes them for what
    /// the filter before it does.
    pub fn keep_matches(&mut self) {
        match self {
            Self::Filter(session) => session.keep_matches(),
            Self::Batch(session) => session.keep_matches(),
        }
    }

    /// Keeps what is done over time from now on, for [`Run::timeline`]. A batch estimate reads what the filter before
    /// it does, and has one map.
    pub fn keep_timeline(&mut self) {
        match self {
            Self::Filter(session) => session.keep_timeline(),
            Self::Batch(session) => session.keep_timeline(),
        }
    }

    /// Takes in the next input.
    pub fn feed(&mut self, input: &Input) {
        match self {
            Self::Filter(session) => session.feed(input),
            Self::Batch(session) => session.feed(input),
        }
    }

    /// The same, and its map with the filter as it is at the end; `None` of a batch estimate.
    pub fn finish_saving(self) -> (Run, Option<MapFile>) {
        match self {
            Self::Filter(session) => session.finish_saving(),
            Self::Batch(session) => (session.finish(), None),
        }
    }

    /// The input has ended: everything about the run but the name of its source.
    pub fn finish(self) -> Run {
        match self {
            Self::Filter(session) => session.finish(),
            Self::Batch(session) => session.finish(),
        }
    }
}
