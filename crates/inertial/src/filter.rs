//! Filters as values.

use crate::chart::{Centre, Chart};
use crate::state::errors::Errors;

/// A filter: the coordinates of its errors, and where it linearizes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Filter {
    /// The coordinates of the errors.
    pub errors: Errors,
    /// Where transitions and measurements are linearized.
    pub linearization: Linearization,
    /// How corrections of landmarks that are seen in directions alone are applied; only with [`Errors::Left`]. Others
    /// are in (x, y, z).
    pub chart: Chart,
    /// Where the charts are centred.
    pub centre: Centre,
    /// Whether an update that is not linear enough is linearized again.
    pub is_iterated: bool,
    /// Whether landmarks that are seen in directions alone are initialized when their range is known from several
    /// places; otherwise at once, with a wide prior of the range.
    pub is_delayed: bool,
    /// Probability of the χ² gate that a measurement must pass; 1 lets all pass.
    pub gate: f64,
}

/// Where a filter linearizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Linearization {
    /// At the newest estimate.
    #[default]
    Current,
    /// At the first estimate of each variable: the predicted navigation state, and landmarks as they were initialized
    /// (first-estimate Jacobians, Huang et al. 2008).
    FirstEstimate,
    /// At the newest estimate, with the least change of the matrices that keeps the unobservable directions (Hesch et
    /// al. 2014).
    ObservabilityConstrained,
}

impl Filter {
    /// Left errors; landmarks that are seen in directions alone in charts of bearing and log range from the body of now,
    /// initialized from several views.
    pub const DEFAULT: Self = Self {
        errors: Errors::Left,
        linearization: Linearization::Current,
        chart: Chart::LogRange,
        centre: Centre::Sensor,
        is_iterated: true,
        is_delayed: true,
        gate: 0.999,
    };
    /// The reduced filter of the thesis, in space.
    pub const REDUCED: Self =
        Self { errors: Errors::Reduced, chart: Chart::Cartesian, is_iterated: false, ..Self::DEFAULT };
    /// The extended Kalman filter on differences.
    pub const EKF: Self =
        Self { errors: Errors::Additive, chart: Chart::Cartesian, is_iterated: false, ..Self::DEFAULT };
    /// The same with first-estimate Jacobians.
    pub const FE_EKF: Self = Self { linearization: Linearization::FirstEstimate, ..Self::EKF };
    /// The same, constrained to the right observability.
    pub const OC_EKF: Self = Self { linearization: Linearization::ObservabilityConstrained, ..Self::EKF };
    /// The invariant filter on SE₂₊ₙ(3): left errors, corrections by the group's exponential.
    pub const GROUP: Self = Self { chart: Chart::Cartesian, ..Self::DEFAULT };

    /// All with their names.
    pub const ALL: [(&'static str, Self); 6] = [
        ("default", Self::DEFAULT),
        ("group", Self::GROUP),
        ("reduced", Self::REDUCED),
        ("ekf", Self::EKF),
        ("fe-ekf", Self::FE_EKF),
        ("oc-ekf", Self::OC_EKF),
    ];
}

impl Default for Filter {
    fn default() -> Self {
        Self::DEFAULT
    }
}
