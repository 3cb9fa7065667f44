//! A filter is a composition: each choice the thesis makes or leaves open is one field, and its three filters are
//! three values of [`Variant`].

use super::{Centre, Chart, Charts};
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
    /// How a correction is applied.
    pub retraction: Retraction,
    /// What of a stereo pair is taken for the measurement.
    pub stereo: StereoModel,
    /// How often the update is linearized: 1 is the extended Kalman filter, more the iterated one.
    pub iterations: usize,
    /// How many of the last clouds are linearized once more where later ones put their features; 0 is none.
    pub window: usize,
}

/// What describes a feature in the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Coordinates {
    /// Its position in the map, p_i (Shen 2019, eq. (5.3)).
    World,
    /// Its position in the robot frame, z_i = R(θ)ᵀ(p_i − p) (eq. (5.15)): the quotient by SE(2).
    Robot,
    /// Its position relative to the robot, but with errors in the axes of the map, e_i = R(θ)δz_i, and the error of the pose
    /// taken from the left, X_true = Exp(ξ)X̂. Nothing but noise changes these errors when the robot moves, and
    /// measurements do not see ξ: transition I, H = [0 | H_O], at every estimate.
    Invariant,
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

/// How a correction δ is applied to the estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Retraction {
    /// x + δ in the coordinates of the state; the only one of world and robot coordinates.
    Additive,
    /// By the exponential of SE_{1+N}(2), all at once: the right-invariant EKF. Invariant coordinates only.
    Group,
    /// Pose by the exponential of SE(2), each feature in a chart of its own. Invariant coordinates only.
    Chart(Charts),
    /// What of the correction makes good the noise of the last motion, as the rigid motion that it is; of what is left, the pose
    /// by the exponential, each feature in a chart of its own. Invariant coordinates only.
    Split(Charts),
}

impl Retraction {
    /// The charts of the features, where there are any.
    pub fn charts(self) -> Option<Charts> {
        match self {
            Self::Additive | Self::Group => None,
            Self::Chart(charts) | Self::Split(charts) => Some(charts),
        }
    }

    /// The same with charts that are centred elsewhere.
    pub fn centred(self, centre: Centre) -> Self {
        let elsewhere = |charts: Charts| Charts { centre, ..charts };
        match self {
            Self::Additive | Self::Group => self,
            Self::Chart(charts) => Self::Chart(elsewhere(charts)),
            Self::Split(charts) => Self::Split(elsewhere(charts)),
        }
    }
}

/// What of a stereo pair is taken for the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StereoModel {
    /// The position that both bearings meet at, as the thesis has it. Biased in range.
    Triangulated,
    /// The two bearings themselves.
    Bearings,
}

/// A name that is no filter's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no filter is called '{0}'; there are: {names}", names = Variant::NAMES.join(", "))]
pub struct UnknownFilter(pub String);

impl Variant {
    /// The names [`Variant::named`] knows.
    pub const NAMES: &'static [&'static str] = &[
        "default",
        "invariant",
        "cartesian",
        "log-range",
        "inverse-range",
        "unsplit",
        "iterated",
        "anchored",
        "reduced",
        "ekf",
        "fe-ekf",
        "thesis-reduced",
        "thesis-ekf",
        "thesis-fe-ekf",
    ];

    /// How many clouds are kept to be linearized again: none where an update is linearized but once, or motions are applied as they come.
    pub fn clouds_kept(&self) -> usize {
        let can = self.retraction.charts().is_some() && self.iterations > 1;
        if can && self.discretization == Discretization::Exponential { self.window } else { 0 }
    }

    /// A filter by name.
    ///
    /// - `thesis-ekf`, `thesis-fe-ekf`, `thesis-reduced`: Shen 2019, ch. 5, with its choices: Euler steps, independent
    ///   initialization, covariance of a triangulated position at the measured point.
    /// - `ekf`, `fe-ekf`, `reduced`: the same three with sound choices.
    /// - `invariant`: the right-invariant EKF; `cartesian`, `log-range`, `inverse-range`: the noise of the last motion
    ///   corrected as a rigid motion, the rest of the pose on SE(2) and of each feature in that chart; `unsplit`:
    ///   `inverse-range` without the first of these; `iterated`: `inverse-range` with the update linearized twice; `anchored`:
    ///   `iterated` with charts centred where each feature was first seen from. All of them take stereo bearings as they are.
    /// - `default`: `anchored`, with the last twenty clouds linearized again where later ones put their features.
    ///
    /// # Errors
    /// [`UnknownFilter`], which lists the names there are.
    pub fn named(name: &str) -> Result<Self, UnknownFilter> {
        let once = |retraction| Self { retraction, iterations: 1, window: 0, ..Self::default() };
        let split = |kind| Retraction::Split(Charts { kind, centre: Centre::Robot });
        match name {
            "default" => return Ok(Self::default()),
            "anchored" => return Ok(Self { window: 0, ..Self::default() }),
            "iterated" => return Ok(Self { iterations: 2, ..once(split(Chart::InverseRange)) }),
            "invariant" => return Ok(once(Retraction::Group)),
            "cartesian" => return Ok(once(split(Chart::Cartesian))),
            "log-range" => return Ok(once(split(Chart::LogRange))),
            "inverse-range" => return Ok(once(split(Chart::InverseRange))),
            "unsplit" => {
                return Ok(once(Retraction::Chart(Charts { kind: Chart::InverseRange, centre: Centre::Robot })));
            }
            _ => {}
        }
        let (thesis, base) = match name.strip_prefix("thesis-") {
            Some(base) => (true, base),
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
        let (retraction, stereo) = (Retraction::Additive, StereoModel::Triangulated);
        Ok(Self {
            coordinates,
            linearization,
            discretization,
            initialization,
            noise_at,
            retraction,
            stereo,
            iterations: 1,
            window: 0,
        })
    }
}

impl Default for Variant {
    fn default() -> Self {
        Self {
            coordinates: Coordinates::Invariant,
            linearization: Linearization::Current,
            discretization: Discretization::Exponential,
            initialization: Initialization::Correlated,
            noise_at: NoiseAt::Predicted,
            retraction: Retraction::Split(Charts { kind: Chart::InverseRange, centre: Centre::FirstSight }),
            stereo: StereoModel::Bearings,
            iterations: 2,
            window: 20,
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
