//! What a study may set beside what a robot may: the open choices of a filter, one by one, to turn the effect of each
//! on and off.

use lienav_base::settings;
use lienav_base::settings::{Described, OutOfRange, Spec};
use lienav_slam::{
    AbsoluteConfig, Association, CalibrationConfig, Centre, CompositionError, Config, ConfigError, Correction,
    Discretization, Errors, Filter, GateConfig, InitialConfig, Initialization, LearningConfig, MapConfig, Mechanism,
    MotionConfig, NoiseAt, SensorConfig, StereoModel, TimingConfig, Without,
};
use serde::Deserialize;
use serde::de::value::{Error as ValueError, StrDeserializer};

settings! {
    /// The settings of a robot's filter, and other choices for that filter.
    pub struct Study {
        /// Which filter runs.
        filter: String = "default".into(), one_of Filter::NAMES;
        /// Which landmarks measurements are of: by identity where they have one, and otherwise jointly (auto).
        association: Association = Association::Auto, one_of Association::WORDS, runtime;
        /// Which of its choices are to be others.
        choices: ChoicesConfig;
        /// Odometry and its noise.
        motion: MotionConfig;
        /// The feature sensor and its noise.
        sensor: SensorConfig;
        /// Positions and poses from outside.
        absolute: AbsoluteConfig;
        /// Which measurements are believed.
        gate: GateConfig;
        /// Which features are kept.
        map: MapConfig;
        /// Order of arrival, and jumps of time.
        timing: TimingConfig;
        /// Where the robot starts.
        initial: InitialConfig;
        /// What is calibrated while running.
        calibration: CalibrationConfig;
        /// Which noise is learned while running.
        learning: LearningConfig;
    }
}

settings! {
    /// What replaces a choice of the filter that was named; `as_named` replaces nothing.
    pub struct ChoicesConfig {
        /// How a velocity becomes a motion, instead of as the filter has it.
        discretization: String = AS_NAMED.into(), one_of ChoicesConfig::DISCRETIZATION;
        /// Correlation of a new feature with the pose, in filters with map coordinates.
        initialization: String = AS_NAMED.into(), one_of ChoicesConfig::INITIALIZATION;
        /// Where the covariance of a triangulated position is evaluated.
        noise_at: String = AS_NAMED.into(), one_of ChoicesConfig::NOISE_AT;
        /// What of a stereo pair is taken for the measurement.
        stereo: String = AS_NAMED.into(), one_of ChoicesConfig::STEREO;
        /// How often an update with charts is linearized; 0 is as the filter has it.
        iterations: u32 = 0, within 0.0..=20.0;
        /// Where the chart of a feature is centred, in filters with charts.
        centre: String = AS_NAMED.into(), one_of ChoicesConfig::CENTRE;
        /// How many of the last scans are linearized again, in filters with charts; an odd number counts as the next
        /// even one, 0 is none, -1 as the filter has it.
        window: i64 = -1, within -1.0..=100.0;
        /// Mechanisms that are left out, to measure what each is worth: words with commas between them.
        ///
        /// See [`Mechanism`].
        without: String = String::new();
    }
}

const AS_NAMED: &str = "as_named";

impl Study {
    /// Of [`Study::SPECS`], those that a robot's filter does not have: the choices.
    pub fn choices() -> Vec<Spec> {
        Self::SPECS.iter().filter(|spec| spec.name.starts_with("choices.")).copied().collect()
    }

    /// The settings of the filter.
    pub fn config(&self) -> Config {
        let Self {
            filter,
            association,
            motion,
            sensor,
            gate,
            map,
            timing,
            initial,
            calibration,
            absolute,
            learning,
            ..
        } = self.clone();
        Config { filter, association, motion, sensor, gate, map, timing, initial, calibration, absolute, learning }
    }

    /// The filter of this name with the choices that are made.
    ///
    /// # Errors
    /// An unknown name, or choices without effect on this filter.
    pub fn composed(&self, name: &str) -> Result<Filter, ConfigError> {
        Ok(self.choices.apply(Filter::named(name)?)?)
    }
}

impl From<Config> for Study {
    fn from(config: Config) -> Self {
        let Config { filter, association, motion, sensor, gate, map, timing, initial, calibration, absolute, learning } =
            config;
        let choices = ChoicesConfig::default();
        Self {
            filter,
            association,
            choices,
            motion,
            sensor,
            gate,
            map,
            timing,
            initial,
            calibration,
            absolute,
            learning,
        }
    }
}

/// The mechanism that a word is for.
fn mechanism(word: &str) -> Result<Mechanism, ConfigError> {
    Mechanism::deserialize(StrDeserializer::<ValueError>::new(word)).map_err(|_| {
        let allowed = Mechanism::WORDS.join(", ");
        ConfigError::from(OutOfRange { name: "choices.without", value: format!("'{word}'"), allowed })
    })
}

impl ChoicesConfig {
    /// What [`ChoicesConfig::discretization`] may be; see [`Discretization`].
    pub const DISCRETIZATION: &'static [&'static str] = &[AS_NAMED, "euler", "exponential"];
    /// What [`ChoicesConfig::initialization`] may be; see [`Initialization`].
    pub const INITIALIZATION: &'static [&'static str] = &[AS_NAMED, "independent", "correlated"];
    /// What [`ChoicesConfig::noise_at`] may be; see [`NoiseAt`].
    pub const NOISE_AT: &'static [&'static str] = &[AS_NAMED, "measured", "predicted"];
    /// What [`ChoicesConfig::stereo`] may be; see [`StereoModel`].
    pub const STEREO: &'static [&'static str] = &[AS_NAMED, "triangulated", "bearings"];
    /// What [`ChoicesConfig::centre`] may be; see [`Centre`].
    pub const CENTRE: &'static [&'static str] = &[AS_NAMED, "robot", "first_sight"];

    /// What is left out.
    ///
    /// # Errors
    /// An unknown word, with [`Mechanism::WORDS`].
    pub fn without(&self) -> Result<Without, ConfigError> {
        let words = self.without.split(',').map(str::trim).filter(|word| !word.is_empty());
        words.map(mechanism).try_fold(Without::default(), |all, one| Ok(all.and(one?)))
    }

    /// The filter with these choices instead of its own.
    ///
    /// # Errors
    /// A choice that the filter does not have, or that has no effect on it, as a sentence.
    pub fn apply(&self, filter: Filter) -> Result<Filter, CompositionError> {
        let mut filter = filter;
        self.apply_discretization(&mut filter)?;
        self.apply_initialization(&mut filter)?;
        self.apply_stereo(&mut filter)?;
        self.apply_charts(&mut filter)?;
        filter.check()?;
        Ok(filter)
    }

    fn apply_discretization(&self, filter: &mut Filter) -> Result<(), CompositionError> {
        let chosen = match self.discretization.as_str() {
            "euler" => Discretization::Euler,
            "exponential" => Discretization::Exponential,
            _ => return Ok(()),
        };
        match &mut filter.errors {
            Errors::World { discretization, .. } | Errors::Robot { discretization } => *discretization = chosen,
            Errors::Invariant(_) if chosen == Discretization::Exponential => {}
            Errors::Invariant(_) => {
                return Err(CompositionError(
                    "choices.discretization 'euler' is not for invariant filters: their errors stay what they are only \
                     under rigid motions; leave it out, or take the filter ekf, fe-ekf or reduced",
                ));
            }
        }
        Ok(())
    }

    fn apply_initialization(&self, filter: &mut Filter) -> Result<(), CompositionError> {
        let chosen = match self.initialization.as_str() {
            "independent" => Initialization::Independent,
            "correlated" => Initialization::Correlated,
            _ => return Ok(()),
        };
        let Errors::World { initialization, .. } = &mut filter.errors else {
            return Err(CompositionError(
                "choices.initialization has no effect on this filter: a new feature is independent of the pose in its \
                 coordinates; leave it out, or take the filter ekf or fe-ekf",
            ));
        };
        *initialization = chosen;
        Ok(())
    }

    fn apply_stereo(&self, filter: &mut Filter) -> Result<(), CompositionError> {
        match (self.stereo.as_str(), filter.stereo) {
            ("triangulated", StereoModel::Bearings) => {
                filter.stereo = StereoModel::Triangulated(NoiseAt::Predicted);
            }
            ("bearings", _) => filter.stereo = StereoModel::Bearings,
            _ => {}
        }
        let chosen = match self.noise_at.as_str() {
            "measured" => NoiseAt::Measured,
            "predicted" => NoiseAt::Predicted,
            _ => return Ok(()),
        };
        let StereoModel::Triangulated(noise_at) = &mut filter.stereo else {
            return Err(CompositionError(
                "choices.noise_at has no effect where stereo bearings are taken as they are; leave it out, or add \
                 choices.stereo=triangulated",
            ));
        };
        *noise_at = chosen;
        Ok(())
    }

    fn apply_charts(&self, filter: &mut Filter) -> Result<(), CompositionError> {
        let centre = match self.centre.as_str() {
            "robot" => Some(Centre::Robot),
            "first_sight" => Some(Centre::FirstSight),
            _ => None,
        };
        let window = usize::try_from(self.window).ok();
        if centre.is_none() && window.is_none() && self.iterations == 0 {
            return Ok(());
        }
        let Errors::Invariant(Correction::Charts { charts, iterations, fixed_lag, .. }) = &mut filter.errors else {
            return Err(CompositionError(
                "choices.iterations, choices.centre and choices.window have no effect on this filter: it has no charts; \
                 leave them out, or take an invariant filter with charts (default, anchored, iterated, inverse-range, \
                 log-range, …)",
            ));
        };
        charts.centre = centre.unwrap_or(charts.centre);
        *fixed_lag = window.unwrap_or(*fixed_lag);
        if self.iterations > 0 {
            *iterations = self.iterations as usize;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose(set: impl FnOnce(&mut ChoicesConfig)) -> ChoicesConfig {
        let mut choices = ChoicesConfig::default();
        set(&mut choices);
        choices
    }

    #[test]
    fn the_filters_of_the_thesis_with_sound_choices_are_the_sound_filters() {
        for name in ["ekf", "fe-ekf", "reduced"] {
            let sound = choose(|choices| {
                choices.discretization = "exponential".into();
                choices.noise_at = "predicted".into();
                if name != "reduced" {
                    choices.initialization = "correlated".into();
                }
            });
            let thesis = Filter::named(&format!("thesis-{name}")).unwrap();
            assert_eq!(sound.apply(thesis), Ok(Filter::named(name).unwrap()));
            assert_eq!(ChoicesConfig::default().apply(thesis), Ok(thesis));
        }
    }

    #[test]
    fn choices_without_effect_are_refused_with_a_sentence() {
        let cases = [
            ("ekf", choose(|c| c.window = 20), "choices.window"),
            ("default", choose(|c| c.discretization = "euler".into()), "choices.discretization"),
            ("reduced", choose(|c| c.initialization = "correlated".into()), "choices.initialization"),
            ("default", choose(|c| c.noise_at = "measured".into()), "choices.noise_at"),
            ("invariant", choose(|c| c.iterations = 3), "choices.iterations"),
            ("inverse-range", choose(|c| c.window = 10), "iterations"),
            ("cartesian", choose(|c| c.centre = "first_sight".into()), "centre"),
        ];
        for (name, choices, expected) in cases {
            let error = choices.apply(Filter::named(name).unwrap()).unwrap_err().to_string();
            assert!(error.contains(expected), "{name}: {error}");
        }
    }
}
