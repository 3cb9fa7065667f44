//! A filter is a value: error coordinates × correction × discretization × what of a stereo pair is measured. Names are
//! a table of such values, [`Filter::TABLE`].
//!
//! The types exclude most compositions without meaning: an initialization belongs to world coordinates, charts belong
//! to invariant errors. [`Filter::check`] refuses the rest.

use crate::chart::{Centre, Chart, Charts};
use serde::{Deserialize, Serialize};

/// The choices that make a filter. Each choice that the thesis makes or leaves open (Shen 2019, ch. 5) is one of them.
///
/// ```
/// use lienav_planar::chart::{Centre, Chart, Charts};
/// use lienav_planar::filter::{Correction, Errors, Filter, StereoModel};
///
/// // The invariant filter with charts of log-range, corrected once, nothing linearized again.
/// let charts = Charts { kind: Chart::LogRange, centre: Centre::Robot };
/// let errors = Errors::Invariant(Correction::Charts { charts, split: true, iterations: 1, fixed_lag: 0 });
/// let filter = Filter { errors, stereo: StereoModel::Bearings };
/// assert_eq!(filter, Filter::named("log-range")?);
/// assert!(filter.check().is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct Filter {
    /// In which coordinates the errors of the state are kept, and how corrections are applied to them.
    pub errors: Errors,
    /// What of a stereo pair is used as the measurement.
    pub stereo: StereoModel,
}

/// Coordinates of the errors, with the choices that belong to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Errors {
    /// Positions in the map, p_i (Shen 2019, eq. (5.3)): the EKF and the first-estimate EKF.
    World {
        /// Where Jacobians are evaluated.
        linearization: Linearization,
        /// How a new landmark is correlated with the pose.
        initialization: Initialization,
        /// How a velocity becomes a motion.
        discretization: Discretization,
    },
    /// Positions in the robot frame, z_i = R(θ)ᵀ(p_i − p) (eq. (5.15)): the quotient by SE(2), the reduced filter.
    Robot {
        /// How a velocity becomes a motion.
        discretization: Discretization,
    },
    /// Positions relative to the robot with errors in the axes of the map, e_i = R(θ)δz_i, and the error of the pose
    /// taken from the left, X_true = Exp(ξ)X̂. Nothing but noise changes these errors when the robot moves, and
    /// measurements of landmarks do not see ξ: transition I, H = [0 | H_O], at every estimate.
    Invariant(Correction),
}

/// How a correction of invariant errors is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Correction {
    /// By the exponential of SE_{1+N}(2), all at once: the right-invariant EKF.
    Group,
    /// The pose by the exponential of SE(2), each landmark in a chart of its own.
    Charts {
        /// In which coordinates corrections of a landmark add up.
        charts: Charts,
        /// Whether the part of the correction that makes good the noise of the last motion is applied as the rigid
        /// motion that it is, before the rest.
        split: bool,
        /// How often the update is linearized, 1 or more: 1 is the extended Kalman filter, more the iterated one.
        iterations: usize,
        /// How many of the last scans are linearized once more where later ones put their landmarks; 0 is none. Needs
        /// `iterations` of 2 or more.
        fixed_lag: usize,
    },
}

/// The kind of [`Errors`], without the choices that belong to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Coordinates {
    /// [`Errors::World`].
    World,
    /// [`Errors::Robot`].
    Robot,
    /// [`Errors::Invariant`].
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
    /// At points as near to the estimate as observability allows: that of the pose after an update is a p* with which
    /// p* − (predicted p) is added to the point of every landmark, which keeps the chain property (5.1); of these, the
    /// one with the least sum of squared distances to the estimates (OC-EKF; Huang, Mourikis, Roumeliotis 2010).
    ObservabilityConstrained,
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

/// How a new landmark is correlated with the rest of the state, in coordinates of the map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Initialization {
    /// Not correlated, as in the thesis: its covariance is that of the measurement, which leaves out the error of the
    /// pose.
    Independent,
    /// Correlated as the inverse measurement model says.
    Correlated,
}

/// Where the covariance of a triangulated position, Q_z J Jᵀ, takes its Jacobian J.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoiseAt {
    /// At the measured point: correlates weight with error, and biases range.
    Measured,
    /// At the predicted point, where the estimate places the landmark; also where Jacobians are evaluated at first
    /// estimates.
    Predicted,
}

/// What of a stereo pair is used as the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StereoModel {
    /// The position at which both bearings meet, as in the thesis. Its range is biased.
    Triangulated(NoiseAt),
    /// The two bearings themselves.
    Bearings,
}

/// No filter has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no filter is called '{0}'; there are: {names}", names = Filter::NAMES.join(", "))]
pub struct UnknownFilter(pub String);

/// A combination of choices that has no effect or no meaning, as a sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CompositionError(pub &'static str);

const fn charts(kind: Chart, centre: Centre, split: bool, iterations: usize, fixed_lag: usize) -> Filter {
    let correction = Correction::Charts { charts: Charts { kind, centre }, split, iterations, fixed_lag };
    Filter { errors: Errors::Invariant(correction), stereo: StereoModel::Bearings }
}

const fn world(linearization: Linearization, is_thesis: bool) -> Filter {
    let (initialization, discretization) = if is_thesis {
        (Initialization::Independent, Discretization::Euler)
    } else {
        (Initialization::Correlated, Discretization::Exponential)
    };
    Filter { errors: Errors::World { linearization, initialization, discretization }, stereo: triangulated(is_thesis) }
}

const fn robot(is_thesis: bool) -> Filter {
    let discretization = if is_thesis { Discretization::Euler } else { Discretization::Exponential };
    Filter { errors: Errors::Robot { discretization }, stereo: triangulated(is_thesis) }
}

const fn triangulated(is_thesis: bool) -> StereoModel {
    StereoModel::Triangulated(if is_thesis { NoiseAt::Measured } else { NoiseAt::Predicted })
}

impl Filter {
    /// The filters that have names.
    ///
    /// - `default`: `anchored`, with the last twenty scans linearized again where later ones put their landmarks.
    /// - `invariant`: the right-invariant EKF; `cartesian`, `log-range`, `inverse-range`: the noise of the last motion
    ///   corrected as a rigid motion, the rest of the pose on SE(2) and of each landmark in that chart; `unsplit`:
    ///   `inverse-range` without the first of these; `iterated`: `inverse-range` with the update linearized twice;
    ///   `anchored`: `iterated` with charts centred where each landmark was first seen from. All of them take stereo
    ///   bearings as they are.
    /// - `reduced`, `ekf`, `fe-ekf`: the three filters of the thesis with sound choices; `oc-ekf`: the hypothesis that
    ///   its introduction names, the observability-constrained EKF.
    /// - `thesis-reduced`, `thesis-ekf`, `thesis-fe-ekf`: Shen 2019, ch. 5, with its choices: Euler steps, independent
    ///   initialization, covariance of a triangulated position at the measured point; `thesis-oc-ekf` with the same.
    pub const TABLE: [(&'static str, Self); 16] = [
        ("default", charts(Chart::InverseRange, Centre::FirstSight, true, 2, 20)),
        ("invariant", Self { errors: Errors::Invariant(Correction::Group), stereo: StereoModel::Bearings }),
        ("cartesian", charts(Chart::Cartesian, Centre::Robot, true, 1, 0)),
        ("log-range", charts(Chart::LogRange, Centre::Robot, true, 1, 0)),
        ("inverse-range", charts(Chart::InverseRange, Centre::Robot, true, 1, 0)),
        ("unsplit", charts(Chart::InverseRange, Centre::Robot, false, 1, 0)),
        ("iterated", charts(Chart::InverseRange, Centre::Robot, true, 2, 0)),
        ("anchored", charts(Chart::InverseRange, Centre::FirstSight, true, 2, 0)),
        ("reduced", robot(false)),
        ("ekf", world(Linearization::Current, false)),
        ("fe-ekf", world(Linearization::FirstEstimate, false)),
        ("oc-ekf", world(Linearization::ObservabilityConstrained, false)),
        ("thesis-reduced", robot(true)),
        ("thesis-ekf", world(Linearization::Current, true)),
        ("thesis-fe-ekf", world(Linearization::FirstEstimate, true)),
        ("thesis-oc-ekf", world(Linearization::ObservabilityConstrained, true)),
    ];

    /// The names of [`Filter::TABLE`], in its order.
    pub const NAMES: &'static [&'static str] = &{
        let mut names = [""; Self::TABLE.len()];
        let mut k = 0;
        while k < names.len() {
            names[k] = Self::TABLE[k].0;
            k += 1;
        }
        names
    };

    /// The filter of [`Filter::TABLE`] with this name.
    ///
    /// # Errors
    /// [`UnknownFilter`], which lists the names there are.
    #[inline]
    pub fn named(name: &str) -> Result<Self, UnknownFilter> {
        let found = Self::TABLE.iter().find(|(known, _)| *known == name);
        found.map(|(_, filter)| *filter).ok_or_else(|| UnknownFilter(name.to_owned()))
    }

    /// Whether every choice has an effect.
    ///
    /// # Errors
    /// The first one that has none, as a sentence.
    pub fn check(&self) -> Result<(), CompositionError> {
        let Errors::Invariant(Correction::Charts { charts, iterations, fixed_lag, .. }) = self.errors else {
            return Ok(());
        };
        if iterations == 0 {
            return Err(CompositionError("iterations is 0: an update is linearized at least once; give 1 or more"));
        }
        if fixed_lag > 0 && iterations < 2 {
            return Err(CompositionError(
                "fixed_lag has no effect with one iteration: clouds are linearized again by an iterated update; give \
                 iterations of 2 or more, or no fixed lag",
            ));
        }
        if charts == (Charts { kind: Chart::Cartesian, centre: Centre::FirstSight }) {
            return Err(CompositionError(
                "the centre of a Cartesian chart has no effect: corrections are additions wherever it is; give the \
                 centre 'robot', or another chart",
            ));
        }
        Ok(())
    }

    /// Which coordinates the errors have.
    pub const fn coordinates(&self) -> Coordinates {
        match self.errors {
            Errors::World { .. } => Coordinates::World,
            Errors::Robot { .. } => Coordinates::Robot,
            Errors::Invariant(_) => Coordinates::Invariant,
        }
    }

    /// Where Jacobians are evaluated.
    pub const fn linearization(&self) -> Linearization {
        match self.errors {
            Errors::World { linearization, .. } => linearization,
            Errors::Robot { .. } | Errors::Invariant(_) => Linearization::Current,
        }
    }

    /// How a velocity becomes a motion; invariant filters know the exponential only.
    pub const fn discretization(&self) -> Discretization {
        match self.errors {
            Errors::World { discretization, .. } | Errors::Robot { discretization } => discretization,
            Errors::Invariant(_) => Discretization::Exponential,
        }
    }

    /// The same with motions that are rigid: by the exponential.
    pub fn rigid(self) -> Self {
        let mut filter = self;
        match &mut filter.errors {
            Errors::World { discretization, .. } | Errors::Robot { discretization } => {
                *discretization = Discretization::Exponential;
            }
            Errors::Invariant(_) => {}
        }
        filter
    }

    /// The same for a map that stays as it is: landmarks that are frozen have errors in the map, and robot coordinates
    /// have no room for these.
    #[inline]
    pub fn in_map(self) -> Self {
        let Errors::Robot { discretization } = self.errors else { return self };
        let (linearization, initialization) = (Linearization::Current, Initialization::Correlated);
        Self { errors: Errors::World { linearization, initialization, discretization }, ..self }
    }

    /// The charts of the landmarks, where there are any.
    pub const fn charts(&self) -> Option<Charts> {
        match self.errors {
            Errors::Invariant(Correction::Charts { charts, .. }) => Some(charts),
            _ => None,
        }
    }

    /// Whether the noise of the last motion is corrected as a rigid motion.
    #[inline]
    pub const fn is_split(&self) -> bool {
        matches!(self.errors, Errors::Invariant(Correction::Charts { split: true, .. }))
    }

    /// How often an update is linearized.
    pub const fn iterations(&self) -> usize {
        match self.errors {
            Errors::Invariant(Correction::Charts { iterations, .. }) => iterations,
            _ => 1,
        }
    }

    /// How many of the last scans are linearized again.
    pub const fn fixed_lag(&self) -> usize {
        match self.errors {
            Errors::Invariant(Correction::Charts { fixed_lag, .. }) => fixed_lag,
            _ => 0,
        }
    }
}

/// The one called `default`.
impl Default for Filter {
    fn default() -> Self {
        Self::TABLE[0].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_named_filter_is_sound_and_other_names_are_refused() {
        for (name, filter) in Filter::TABLE {
            assert_eq!(filter.check(), Ok(()), "{name}");
            assert_eq!(Filter::named(name), Ok(filter));
        }
        let error = Filter::named("thesis-default").unwrap_err();
        assert!(error.to_string().contains("thesis-fe-ekf"), "{error}");
    }

    #[test]
    fn the_default_has_the_name_default() {
        assert_eq!(Filter::named("default"), Ok(Filter::default()));
        assert_eq!(Filter::NAMES[0], "default");
    }

    #[test]
    fn choices_without_effect_are_refused_with_a_sentence() {
        let once = charts(Chart::InverseRange, Centre::Robot, true, 1, 20);
        assert!(once.check().unwrap_err().to_string().contains("fixed_lag"));
        let never = charts(Chart::InverseRange, Centre::Robot, true, 0, 0);
        assert!(never.check().unwrap_err().to_string().contains("iterations"));
        let centred = charts(Chart::Cartesian, Centre::FirstSight, true, 1, 0);
        assert!(centred.check().unwrap_err().to_string().contains("centre"));
    }
}
