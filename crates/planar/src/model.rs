//! What a step needs besides state and input.

use crate::config::{Association, Config, MapConfig, MapMode};
use crate::filter::Filter;
use crate::gate_bounds::Gate;
use crate::known_map::KnownMap;
use crate::sensor::{Sensor, Sensors};
use crate::state::time_correlated::SLOTS;
use crate::tilt_noise::TiltNoise;
use crate::without::Without;

/// What a step needs besides state and input: the filter, the sensors, the gate, the limits of the map.
#[derive(Clone, Debug)]
pub struct Model {
    /// The filter.
    pub filter: Filter,
    /// The sensors, each on its nominal mount.
    pub sensors: Sensors,
    /// The bounds on squared Mahalanobis distances.
    pub gate: Gate,
    /// The limits of the map.
    pub map: MapConfig,
    /// How measurements without identity are associated.
    pub association: Association,
    /// The landmarks that are known before the run.
    pub known: KnownMap,
    /// Over how long motions are wanted, s.
    pub motions_over_s: Vec<f64>,
    /// Roll and pitch of the base that no sensor tells.
    pub tilt: TiltNoise,
    /// What is left out, for who measures what it is worth.
    pub without: Without,
}

impl Model {
    /// As configured, with the sensors that a program has added.
    pub fn new(filter: Filter, config: &Config, added: &[Sensor]) -> Self {
        let may_last = config.learning.enabled || config.sensor.correlation_s > 0.0;
        let slots = if may_last { SLOTS } else { 0 };
        Self {
            filter,
            sensors: Sensors::with_antenna(&config.sensor, &config.absolute, filter.stereo, added)
                .keep_time_correlated(slots),
            gate: Gate::new(&config.gate),
            map: MapConfig { mode: config.filter_mode(), ..config.map.clone() },
            association: config.association,
            known: KnownMap::default(),
            motions_over_s: Vec::new(),
            tilt: TiltNoise::of(&config.motion, false),
            without: Without::default(),
        }
    }

    /// Whether measurements without identity are associated jointly: while a map is made. In a known map each is of the
    /// only landmark that it fits, in every way that the scan may be read.
    #[inline]
    pub fn is_joint(&self) -> bool {
        self.association == Association::Auto && self.map.mode == MapMode::Mapping
    }
}
