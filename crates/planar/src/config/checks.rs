//! Whether a configuration can be used, and what to think of it.

use super::MOST_IN_ONE;
use super::TOO_MANY_IN_ONE;
use crate::config::{Config, MapMode, Prior, SPECS};
use crate::filter::{CompositionError, Filter, UnknownFilter};
use crate::input::{MeasurementKind, TooManySensors};
use lienav_base::settings::{OutOfRange, check};

/// A configuration that cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ConfigError {
    /// A number or word out of range.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// A filter name that is not in the table.
    #[error("parameter 'filter': {0}")]
    UnknownFilter(#[from] UnknownFilter),
    /// A combination of choices that has no effect or no meaning.
    #[error(transparent)]
    Composition(#[from] CompositionError),
    /// More sensors than a filter can have.
    #[error(transparent)]
    TooManySensors(#[from] TooManySensors),
}

impl Config {
    /// The composition that [`Config::filter`] names.
    ///
    /// # Errors
    /// A value outside its range in [`SPECS`], or an unknown filter: with name, value and what is allowed.
    pub fn validate(&self) -> Result<Filter, ConfigError> {
        self.check_ranges()?;
        Ok(Filter::named(&self.filter)?)
    }

    /// Whether every setting is in its range; [`Config::filter`] has to have a name of the table, too.
    ///
    /// # Errors
    /// The first one that is not.
    pub fn check_ranges(&self) -> Result<(), ConfigError> {
        check(self, SPECS)?;
        if self.map.max_features > MOST_IN_ONE && self.map.local_features == 0 {
            return Err(TOO_MANY_IN_ONE.into());
        }
        Ok(())
    }

    /// Whether the map is made in parts: `map.local_features` says so, and one is made. A known map that stays as it is
    /// has none.
    pub fn makes_submaps(&self) -> bool {
        self.map.local_features > 0 && self.map.mode != MapMode::Localization
    }

    /// What the filter does with a map: in a map in parts it makes the open part, whatever is known of the others.
    pub fn filter_mode(&self) -> MapMode {
        if self.makes_submaps() { MapMode::Mapping } else { self.map.mode }
    }

    /// A warning where nothing that is read (`kinds`) and no known map has a length that is not estimated itself, so
    /// that of `calibration.scale_v` and `calibration.range_scale` only the difference is learned. The run goes on all
    /// the same.
    pub fn free_scale(&self, kinds: impl IntoIterator<Item = MeasurementKind>) -> Option<&'static str> {
        let is_estimated = |prior: &Prior| prior.sigma > 0.0 || prior.walk > 0.0;
        let both = is_estimated(&self.calibration.scale_v) && is_estimated(&self.calibration.range_scale);
        let is_open = |kind: MeasurementKind| {
            matches!(kind, MeasurementKind::Range | MeasurementKind::Bearing | MeasurementKind::RangeBearing)
        };
        let is_free = both && self.map.mode == MapMode::Mapping && kinds.into_iter().all(is_open);
        is_free.then_some(
            "calibration.scale_v and calibration.range_scale are both estimated, and nothing that is read has a \
             length: only their difference is learned, and how large the map is stays as unknown as both; estimate one \
             of them, or use positions in the world or a known map",
        )
    }
}
