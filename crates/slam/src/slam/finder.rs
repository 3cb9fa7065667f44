//! The settings of a search for the robot, and a search in submaps.

use lienav_lie::Se2;
use lienav_map::FinderConfig;
use lienav_map::LandmarkMap;
use lienav_planar::config::{Config, SensorConfig};
use nalgebra::Matrix3;
/// A search where the map is made in parts: the filter itself knows the open one only.
#[derive(Debug, Default)]
pub struct SearchInParts {
    pub map: Option<LandmarkMap>,
    pub found: Option<(Se2, Matrix3<f64>)>,
}

/// A range that the user has stated is one; the default is no statement.
pub fn finder_config(config: &Config) -> FinderConfig {
    let stated = config.sensor.max_range_m;
    let is_stated = stated != SensorConfig::default().max_range_m;
    FinderConfig { max_range_m: is_stated.then_some(stated), ..FinderConfig::default() }
}
