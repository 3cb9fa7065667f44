//! The open choices of a filter, one by one: switches that turn the effect of each on and off.

use super::{Centre, Discretization, Initialization, NoiseAt, StereoModel, Variant};
use lienav_base::settings;

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
        /// How many of the last clouds are linearized again, in filters with charts; an odd number counts as the next
        /// even one, 0 is none, -1 as the filter has it.
        window: i64 = -1, within -1.0..=100.0;
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
