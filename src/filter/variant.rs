//! A filter is a composition: each choice the thesis makes or leaves open is one field, and its three filters are
//! three values of [`Variant`].

use serde::{Deserialize, Serialize};

/// The choices that make a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variant {
    /// What describes a feature in the state.
    pub coordinates: Coordinates,
    /// Where Jacobians are evaluated.
    pub linearization: Linearization,
    /// How a velocity becomes a motion.
    pub discretization: Discretization,
    /// How a new feature is correlated with the rest.
    pub initialization: Initialization,
    /// Where the covariance of a triangulated position is evaluated.
    pub noise_at: NoiseAt,
}

/// What describes a feature in the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Coordinates {
    /// Its position in the map, p_i (Shen 2019, eq. (5.3)).
    World,
    /// Its position in the robot frame, z_i = R(θ)ᵀ(p_i − p) (eq. (5.15)): the quotient by SE(2).
    Robot,
}

/// Where Jacobians are evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Linearization {
    /// At the current estimate.
    Current,
    /// At the first estimate of each quantity (FE-EKF; Huang, Mourikis, Roumeliotis 2008; chain property (5.1)).
    FirstEstimate,
}

/// How a velocity becomes a motion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Discretization {
    /// Forward Euler, eqs. (5.9) and (5.18).
    Euler,
    /// The exponential of SE(2): exact for a constant twist, and rigid.
    Exponential,
}

/// How a new feature is correlated with the rest of the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Initialization {
    /// Not at all: its covariance is that of the measurement. True for robot coordinates, false for world coordinates.
    Independent,
    /// As the inverse measurement model says.
    Correlated,
}

/// Where the covariance of a triangulated position, Q_z J Jᵀ, takes its Jacobian J.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoiseAt {
    /// At the measured point: correlates weight with error, and biases range.
    Measured,
    /// At the predicted point.
    Predicted,
}

/// A name that is no filter's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no filter is called '{0}'; there are: {names}", names = Variant::NAMES.join(", "))]
pub struct UnknownFilter(pub String);

impl Variant {
    /// The names [`Variant::named`] knows.
    pub const NAMES: &'static [&'static str] =
        &["default", "reduced", "ekf", "fe-ekf", "thesis-reduced", "thesis-ekf", "thesis-fe-ekf"];

    /// A filter by name. `thesis-…` are the choices of Shen 2019, ch. 5 (Euler steps, independent initialization,
    /// covariance at the measured point); the plain names are the sound ones.
    ///
    /// # Errors
    /// [`UnknownFilter`], which lists the names there are.
    pub fn named(name: &str) -> Result<Self, UnknownFilter> {
        let (thesis, base) = match name.strip_prefix("thesis-") {
            Some(base) => (true, base),
            None if name == "default" => (false, "reduced"),
            None => (false, name),
        };
        let (coordinates, linearization) = match base {
            "ekf" => (Coordinates::World, Linearization::Current),
            "fe-ekf" => (Coordinates::World, Linearization::FirstEstimate),
            "reduced" => (Coordinates::Robot, Linearization::Current),
            _ => return Err(UnknownFilter(name.to_owned())),
        };
        let (discretization, initialization, noise_at) = if thesis {
            (Discretization::Euler, Initialization::Independent, NoiseAt::Measured)
        } else {
            (Discretization::Exponential, Initialization::Correlated, NoiseAt::Predicted)
        };
        Ok(Self { coordinates, linearization, discretization, initialization, noise_at })
    }
}

impl Default for Variant {
    fn default() -> Self {
        Self {
            coordinates: Coordinates::Robot,
            linearization: Linearization::Current,
            discretization: Discretization::Exponential,
            initialization: Initialization::Correlated,
            noise_at: NoiseAt::Predicted,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_name_is_known_and_no_other() {
        for name in Variant::NAMES {
            assert!(Variant::named(name).is_ok(), "{name}");
        }
        let error = Variant::named("thesis-default").unwrap_err();
        assert!(error.to_string().contains("thesis-fe-ekf"), "{error}");
    }

    #[test]
    fn the_default_has_the_name_default() {
        assert_eq!(Variant::named("default"), Ok(Variant::default()));
    }
}
