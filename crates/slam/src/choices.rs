//! The open choices of a filter, one by one: switches that turn the effect of each on and off.

use super::{Centre, Discretization, Initialization, NoiseAt, StereoModel, Variant};
use serde::{Deserialize, Serialize};

/// What replaces a choice of the filter that was named; `as_named` replaces nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ChoicesConfig {
    /// How a velocity becomes a motion: one of [`ChoicesConfig::DISCRETIZATION`].
    pub discretization: String,
    /// How a new feature is correlated with the pose, in map coordinates: one of [`ChoicesConfig::INITIALIZATION`].
    pub initialization: String,
    /// Where the covariance of a triangulated position is evaluated: one of [`ChoicesConfig::NOISE_AT`].
    pub noise_at: String,
    /// What of a stereo pair is the measurement: one of [`ChoicesConfig::STEREO`].
    pub stereo: String,
    /// How often the update of an invariant filter with charts is linearized; 0 is as named.
    pub iterations: u32,
    /// Where charts of features are centred: one of [`ChoicesConfig::CENTRE`].
    pub centre: String,
    /// How many of the last clouds an invariant filter with charts linearizes again; −1 is as named, 0 none.
    pub window: i64,
}

impl Default for ChoicesConfig {
    fn default() -> Self {
        let as_named = || AS_NAMED.to_owned();
        Self {
            discretization: as_named(),
            initialization: as_named(),
            noise_at: as_named(),
            stereo: as_named(),
            iterations: 0,
            centre: as_named(),
            window: -1,
        }
    }
}

const AS_NAMED: &str = "as_named";

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

    /// The filter with these choices instead of its own. Words that are no choice change nothing.
    pub fn apply(&self, mut variant: Variant) -> Variant {
        variant.discretization = match self.discretization.as_str() {
            "euler" => Discretization::Euler,
            "exponential" => Discretization::Exponential,
            _ => variant.discretization,
        };
        variant.initialization = match self.initialization.as_str() {
            "independent" => Initialization::Independent,
            "correlated" => Initialization::Correlated,
            _ => variant.initialization,
        };
        variant.noise_at = match self.noise_at.as_str() {
            "measured" => NoiseAt::Measured,
            "predicted" => NoiseAt::Predicted,
            _ => variant.noise_at,
        };
        variant.stereo = match self.stereo.as_str() {
            "triangulated" => StereoModel::Triangulated,
            "bearings" => StereoModel::Bearings,
            _ => variant.stereo,
        };
        if self.iterations > 0 {
            variant.iterations = self.iterations as usize;
        }
        variant.retraction = match self.centre.as_str() {
            "robot" => variant.retraction.centred(Centre::Robot),
            "first_sight" => variant.retraction.centred(Centre::FirstSight),
            _ => variant.retraction,
        };
        if let Ok(window) = usize::try_from(self.window) {
            variant.window = window;
        }
        variant
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filters_of_the_thesis_with_sound_choices_are_the_sound_filters() {
        let sound = ChoicesConfig {
            discretization: "exponential".into(),
            initialization: "correlated".into(),
            noise_at: "predicted".into(),
            ..ChoicesConfig::default()
        };
        for name in ["ekf", "fe-ekf", "reduced"] {
            let thesis = Variant::named(&format!("thesis-{name}")).unwrap();
            assert_eq!(sound.apply(thesis), Variant::named(name).unwrap());
            assert_eq!(ChoicesConfig::default().apply(thesis), thesis);
        }
    }
}
