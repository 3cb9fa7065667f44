//! Bounds on the squared Mahalanobis distance, from probabilities and the degrees of freedom of a measurement.

use crate::config::GateConfig;
use crate::measurement::value::MAX_DIM;
use lienav_ekf::chi_square::chi2_bound;

/// Bounds on the squared Mahalanobis distance, from probabilities.
#[derive(Clone, Copy, Debug)]
pub struct Gate {
    known: [f64; MAX_DIM],
    new: [f64; MAX_DIM],
    associated: [[f64; MAX_DIM]; 2],
    displaced: [f64; 2],
    together: f64,
    robust_scale: f64,
}

/// The largest probability of [`Gate::associated`].
const FURTHEST: f64 = 0.999_999_99;
/// The probability of [`Gate::displaced`].
const DISPLACED: f64 = 0.999;

impl Gate {
    /// As configured.
    pub fn new(config: &GateConfig) -> Self {
        let bounds = |probability: f64| [1, 2, 3].map(|dof| chi2_bound(dof, probability));
        let known = bounds(config.probability);
        let new = bounds(config.new_feature_probability);
        let new = [0, 1, 2].map(|k| new[k].max(known[k]));
        let furthest = bounds(FURTHEST);
        let associated = [known, new].map(|bounds| [0, 1, 2].map(|k| bounds[k].min(furthest[k])));
        Self {
            known,
            new,
            associated,
            displaced: [2, 3].map(|dof| chi2_bound(dof, DISPLACED)),
            together: config.probability.max(DISPLACED),
            robust_scale: config.robust_scale,
        }
    }

    /// The largest squared distance at which a measurement of `dim` numbers passes the gate of a landmark.
    #[inline]
    pub fn known(&self, dim: usize) -> f64 {
        self.known[dim - 1]
    }

    /// The squared distance from all landmarks beyond which a measurement of `dim` numbers begins a new landmark.
    #[inline]
    pub fn new_landmark(&self, dim: usize) -> f64 {
        self.new[dim - 1]
    }

    /// [`Gate::known`] and [`Gate::new_landmark`] for measurements without identity: one that may be of any landmark, at
    /// whatever distance, is of none.
    #[inline]
    pub fn associated(&self, dim: usize) -> [f64; 2] {
        self.associated.map(|bounds| bounds[dim - 1])
    }

    /// The squared distances, of two and three numbers, beyond which a landmark or the robot cannot be where it would
    /// have to be displaced to.
    #[inline]
    pub fn displaced(&self) -> [f64; 2] {
        self.displaced
    }

    /// The largest squared distance at which measurements of `numbers` numbers pass together.
    #[inline]
    pub fn together(&self, numbers: usize) -> f64 {
        chi2_bound(numbers, self.together)
    }

    /// The factor for the covariance of a measurement that passed, from its squared Mahalanobis distance: the inverse
    /// of Cauchy's weight.
    #[inline]
    pub fn inflation(&self, distance: f64) -> f64 {
        if self.robust_scale > 0.0 { 1.0 + distance / (self.robust_scale * self.robust_scale) } else { 1.0 }
    }
}
