//! When the prior is too wide for the association of landmarks without identity, and how to map on without it.

use super::Estimator;
use crate::motion::Increment;
use crate::{Association, FeatureKind, MapMode, Observation};
use lienav_base::stamp::Stamp;
use std::f64::consts::PI;

/// The association compares a measurement with the eight likeliest landmarks. Where half as many are expected beside the
/// right one within the gate, the right one is among the eight in 98 % of all cases (Poisson).
const OTHERS: f64 = 4.0;

impl Estimator {
    /// Whether more landmarks lie within the gate of a measurement than the association compares, after a `motion` since a
    /// landmark was last used. On average over the measurements, and for an ellipse that is taken for a circle.
    pub fn is_prior_too_wide(&self, motion: &Increment, kind: FeatureKind, observations: &[Observation]) -> bool {
        let is_joint = self.model.association == Association::Joint && self.model.map.mode == MapMode::Mapping;
        if !is_joint || self.memory.is_idle() || self.model.map.local_features > 0 {
            return false;
        }
        let gate = self.model.gate.associated(2)[0];
        let square_radius = |distance: f64| {
            let c = &motion.covariance;
            let (along, across) = (0.5 * (c.m11 + c.m22), 0.5 * (c.m11 + c.m22) + c.m33 * distance * distance);
            gate * (along * across).max(0.0).sqrt()
        };
        // Asked first for a landmark as far away as any is read: that costs least.
        let rates = &self.memory.rates;
        if rates.landmark_density() * PI * square_radius(rates.farthest()) <= OTHERS {
            return false;
        }
        let robot = self.state.pose * self.pending.motion;
        let (mut measurements, mut landmarks) = (0, 0);
        for observation in observations.iter().filter(|observation| observation.id.is_none()) {
            let Ok(reading) = self.model.sensors.read(kind, observation) else { continue };
            let Some(place) = self.place(&reading) else { continue };
            let (at, square_radius) = (robot.transform(&place), square_radius(place.norm()));
            let is_near = |i: &usize| (self.state.in_map(*i) - at).norm_squared() < square_radius;
            measurements += 1;
            landmarks += (0..self.state.features.len()).filter(is_near).count();
        }
        landmarks as f64 > (1.0 + OTHERS) * f64::from(measurements)
    }

    /// Associates nothing from now on with landmarks that were measured before `stamp`, unless they are known relative to
    /// the robot as well as a measurement.
    pub fn map_on(&mut self, stamp: Stamp) {
        self.memory.map_on(stamp);
    }

    /// Whether loops are closed.
    pub fn close_loops(&mut self, closes: bool) {
        self.merging.closes_loops = closes;
    }
}
