//! What an estimator can go back to.

use crate::estimator::hypotheses::Hypothesis;
use crate::estimator::slip::cut;
use crate::estimator::{Estimator, SavedEstimator};
use crate::moved_or_gone::Watch;
use lienav_associate::association::cuts::Cut;
use lienav_ekf::mahalanobis::mahalanobis_squared;
use lienav_lie::wrap_angle;
use lienav_planar::config::MapMode;
use lienav_planar::known_map::KnownMap;
use nalgebra::Vector3;
use std::mem::swap;

/// All that steps change.
#[derive(Clone)]
pub struct EstimatorPoint {
    saved: SavedEstimator,
    watch: Watch,
    /// `None` while the map is made: nothing is known then.
    known: Option<KnownMap>,
    /// Where else the robot may be.
    hypotheses: Vec<Hypothesis>,
    /// How many steps were recorded.
    linearized: usize,
}

impl EstimatorPoint {
    /// Where a slip before it may have been that nothing has told of.
    pub fn cut(&self) -> Option<Cut> {
        cut(&self.saved.state, &self.saved.memory)
    }

    /// Whether the pose of another one is elsewhere than what is known of this one's pose allows it to be.
    pub fn is_elsewhere(&self, other: &Self) -> bool {
        /// A pose is elsewhere beyond this squared distance: one in a thousand is of three numbers.
        const ELSEWHERE: f64 = 16.3;
        let (own, other) = (&self.saved.state, &other.saved.state);
        let apart = other.pose.p - own.pose.p;
        let apart = Vector3::new(apart.x, apart.y, wrap_angle(other.pose.theta - own.pose.theta));
        mahalanobis_squared(&apart, &own.pose_covariance(), 3).is_none_or(|square| square > ELSEWHERE)
    }

    /// Whether what `now` knows of the noise has another variance than was known here, by this factor.
    pub fn has_other_noise(&self, now: &Estimator, by: f64) -> bool {
        matches!((&self.saved.learned, &now.learned), (Some(then), Some(now)) if now.differs(then, by))
    }
}

impl Estimator {
    /// What [`Estimator::exchange`] goes back to.
    pub fn point(&self) -> EstimatorPoint {
        EstimatorPoint {
            saved: self.save(),
            watch: self.watch.clone(),
            known: (self.model.map.mode != MapMode::Mapping).then(|| self.model.known.clone()),
            hypotheses: self.hypotheses.others.clone(),
            linearized: self.linearized.len(),
        }
    }

    /// As [`Estimator::point`], in the memory of `point`.
    pub fn copy_to(&self, point: &mut EstimatorPoint) {
        let SavedEstimator { state, pending, track_loss, fixed_lag, memory, learned } = &mut point.saved;
        state.become_like(&self.state);
        *pending = self.pending;
        track_loss.clone_from(&self.track_loss);
        fixed_lag.copy_from(&self.fixed_lag);
        memory.copy_from(&self.memory);
        match (learned, &self.learned) {
            (Some(learned), Some(own)) => learned.copy_from(own),
            (learned, own) => learned.clone_from(own),
        }
        point.watch.clone_from(&self.watch);
        point.known = (self.model.map.mode != MapMode::Mapping).then(|| self.model.known.clone());
        point.hypotheses.clone_from(&self.hypotheses.others);
        point.linearized = self.linearized.len();
    }

    /// To a point since or before which there were only steps; to the last bit. The point is then where the estimator
    /// was, but for what was recorded after it, which is gone.
    pub fn exchange(&mut self, point: &mut EstimatorPoint) {
        let SavedEstimator { state, pending, track_loss, fixed_lag, memory, learned } = &mut point.saved;
        swap(&mut self.state, state);
        swap(&mut self.pending, pending);
        swap(&mut self.track_loss, track_loss);
        swap(&mut self.fixed_lag, fixed_lag);
        swap(&mut self.memory, memory);
        swap(&mut self.learned, learned);
        swap(&mut self.watch, &mut point.watch);
        self.use_noise();
        if let Some(known) = &mut point.known {
            swap(&mut self.model.known, known);
        }
        swap(&mut self.hypotheses.others, &mut point.hypotheses);
        self.linearized.truncate(point.linearized);
        point.linearized = self.linearized.len();
        // A sensor that has seen nothing until now may have been placed since.
        let sensors = &self.model.sensors;
        std::iter::once(&mut self.state)
            .chain(self.fixed_lag.states())
            .chain(self.hypotheses.others.iter_mut().map(|other| &mut other.state))
            .for_each(|state| sensors.mounts_in(&state.calibration, &mut state.mounts));
    }
}
