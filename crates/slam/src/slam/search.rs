//! The robot that may be anywhere in a known map: until it is found, there are no estimates.

use crate::slam::Slam;
use crate::slam::finder::{SearchInParts, finder_config};
use crate::step::Outcome;
use lienav_associate::global_localization::GlobalLocalization;
use lienav_base::stamp::Stamp;
use lienav_lie::Se2;
use lienav_map::{LandmarkMap, LandmarkMapError};
use lienav_planar::config::{Config, MapMode, StartMode};
use lienav_planar::filter::Discretization;
use lienav_planar::input::{Measurement, MeasurementKind};
use lienav_planar::sensor::Sensor;
use nalgebra::Matrix3;

/// Why the robot cannot be searched for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RelocalizeError {
    /// The map is being made.
    #[error(
        "parameter 'map.mode' is 'mapping': a map that is being made has its frame from the robot; set map.mode to \
         'localization' or 'extend'"
    )]
    Mapping,
    /// The map is made in parts, which the filter does not have.
    #[error("the map is made in parts, and those who join them have it: the search begins there")]
    InParts,
    /// The open part cannot be closed.
    #[error("the open part of the map cannot be closed, and the robot goes on in it: try again when it has moved")]
    NotClosed,
    /// The map has no landmarks.
    #[error("there is no known map: load one, or set parameter 'map.file'")]
    NoMap,
    /// The filter moves by Euler's steps.
    #[error("the filter '{0}' moves by Euler's steps, which a search does not: set parameter 'filter' to another one")]
    Euler(String),
    /// The landmarks are no map.
    #[error(transparent)]
    BadMap(#[from] LandmarkMapError),
}

impl Slam {
    /// Searches for the robot in the known map, wherever it may be. Until it is found, [`Slam::poll`] gives no steps
    /// and [`Slam::predicted`] gives nothing; [`Slam::search`] says how far the search is. [`Slam::set_pose`] ends it.
    ///
    /// Of a map in parts, this is for those who join them: [`Slam::relocalize_in`].
    ///
    /// # Errors
    /// [`RelocalizeError`]; nothing is changed then.
    pub fn relocalize(&mut self) -> Result<(), RelocalizeError> {
        if self.config.map.mode == MapMode::Mapping {
            return Err(RelocalizeError::Mapping);
        }
        if self.config.makes_submaps() {
            let map = self.search.in_submaps.map.clone().ok_or(RelocalizeError::InParts)?;
            return self.relocalize_in(map);
        }
        let map = self.map();
        self.search_for(&map)
    }

    /// The same in a map that is made in parts: `map` has the landmarks of all of them, and the open part is
    /// reinitialized where the robot is found. [`Slam::take_found`] says where that is.
    ///
    /// # Errors
    /// [`RelocalizeError`]; nothing is changed then.
    pub fn relocalize_in(&mut self, map: LandmarkMap) -> Result<(), RelocalizeError> {
        if self.config.map.mode == MapMode::Mapping {
            return Err(RelocalizeError::Mapping);
        }
        self.search_for(&map)?;
        self.search.in_submaps = SearchInParts { map: Some(map), found: None };
        Ok(())
    }

    fn search_for(&mut self, map: &LandmarkMap) -> Result<(), RelocalizeError> {
        if self.filter().discretization() == Discretization::Euler {
            return Err(RelocalizeError::Euler(self.config.filter.clone()));
        }
        if map.landmarks.is_empty() {
            return Err(RelocalizeError::NoMap);
        }
        let added: Vec<Sensor> = self.estimator.added().to_vec();
        let config = Config { sensor: self.estimator.sensor(&self.config.sensor), ..self.config.clone() };
        let search = GlobalLocalization::new(map, finder_config(&config), self.filter(), &config, &added)?;
        self.search.global = Some(Box::new(search));
        self.forget_sum();
        self.stay();
        Ok(())
    }

    /// Ends a search: the robot is where it was last.
    pub fn stop_search(&mut self) {
        (self.search.global, self.search.in_submaps) = (None, SearchInParts::default());
        self.forget_sum();
    }

    /// The search for the robot; `None` if its pose is known.
    pub fn search(&self) -> Option<&GlobalLocalization> {
        self.search.global.as_deref()
    }

    /// Where in the map the robot was found, with the covariance of (x, y, θ), at the step at which the search has
    /// ended: the open part has been begun there. Of a map in parts; `None` at every other step.
    pub fn take_found(&mut self) -> Option<(Se2, Matrix3<f64>)> {
        self.search.in_submaps.found.take()
    }

    /// Begins a search where the configuration says that the start is unknown, and there is a map to search in.
    pub(super) fn search_at_start(&mut self) {
        if self.config.initial.mode == StartMode::Unknown {
            // Without a map there is nothing to search in yet.
            let _ = self.relocalize();
        }
    }

    /// Gives a scan at the end of all motion so far to the search, which ends if the robot is found. The measurements
    /// of that scan are in the pose then, and correct it no second time.
    pub(super) fn seek(&mut self, kind: MeasurementKind, measurements: &[Measurement]) -> Outcome {
        let of_sum = self.found_by_sum();
        let Some(search) = &mut self.search.global else { return Outcome::default() };
        search.advance(self.estimator.pending());
        self.estimator.settle();
        let refused = search.observe(kind, measurements);
        if let Some((pose, covariance)) = of_sum.unwrap_or_else(|| search.found()) {
            self.search.global = None;
            if self.config.makes_submaps() {
                self.estimator.start_submap();
                self.search.in_submaps = SearchInParts { map: None, found: Some((pose, covariance)) };
            } else {
                self.estimator.set_pose(pose, &covariance);
            }
        }
        Outcome { refused, ..Outcome::default() }
    }

    /// A search that runs begins again, with the map, the sensors and the mode that are in force now.
    pub(super) fn search_again(&mut self) {
        if self.search.global.take().is_some() {
            // While a map is made there is nothing to search in.
            let _ = self.relocalize();
        }
    }

    /// The evidence of a search is of a time that is over.
    pub(super) fn forget_search(&mut self) {
        self.search.unmatched_since = None;
        if let Some(search) = &mut self.search.global {
            search.restart();
        }
    }

    /// Searches for a robot that is lost in a map without identities: for longer than `gate.starvation_limit_s`, most
    /// measurements of each scan were of nothing that is there. Measurements with identities tell by themselves where
    /// it is.
    pub(super) fn search_if_lost(&mut self, stamp: Stamp, accepted: usize, measurements: &[Measurement]) {
        let is_nameless = !measurements.is_empty() && measurements.iter().all(|o| o.id.is_none());
        if !is_nameless || self.config.filter_mode() == MapMode::Mapping || self.config.initial.mode == StartMode::Given
        {
            return;
        }
        if self.found_by_sum().is_some() {
            // The sum begins such a search.
            return;
        }
        if 2 * accepted >= measurements.len() {
            self.search.unmatched_since = None;
            return;
        }
        let since = *self.search.unmatched_since.get_or_insert(stamp);
        let limit = self.config.gate.starvation_limit_s;
        if limit > 0.0 && stamp.since(since) > limit {
            self.search.unmatched_since = None;
            // Where there cannot be a search, the filter goes on as it is.
            let _ = self.relocalize();
        }
    }
}
