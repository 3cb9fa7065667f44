//! What an estimator can go back to.

use super::hypotheses::Hypothesis;
use super::{Estimator, SavedEstimator};
use crate::MapMode;
use crate::belief::Watch;
use crate::known_map::KnownMap;

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
    /// Landmarks that begin after it have no identity up to this one.
    pub fn give_identities_after(&mut self, id: u32) {
        self.saved.state.give_identities_after(id);
    }

    /// Whether what `now` knows of the noise has another variance than was known here, by this factor.
    pub fn has_other_noise(&self, now: &Estimator, by: f64) -> bool {
        matches!((&self.saved.learned, &now.learned), (Some(then), Some(now)) if now.differs(then, by))
    }
}

impl Estimator {
    /// What [`Estimator::go_back`] goes back to.
    pub fn point(&self) -> EstimatorPoint {
        EstimatorPoint {
            saved: self.save(),
            watch: self.watch.clone(),
            known: (self.model.map.mode != MapMode::Mapping).then(|| self.model.known.clone()),
            hypotheses: self.hypotheses.others.clone(),
            linearized: self.linearized.len(),
        }
    }

    /// Back to a point since which there were only steps; to the last bit.
    pub fn go_back(&mut self, point: EstimatorPoint) {
        let EstimatorPoint { saved, watch, known, hypotheses, linearized } = point;
        let SavedEstimator { state, pending, track_loss, fixed_lag, memory, learned } = saved;
        (self.state, self.pending, self.track_loss) = (state, pending, track_loss);
        (self.fixed_lag, self.memory, self.learned, self.watch) = (fixed_lag, memory, learned, watch);
        self.use_noise();
        if let Some(known) = known {
            self.model.known = known;
        }
        self.hypotheses.others = hypotheses;
        self.linearized.truncate(linearized);
        // A sensor that has seen nothing until now may have been placed since.
        let sensors = &self.model.sensors;
        std::iter::once(&mut self.state)
            .chain(self.fixed_lag.states())
            .chain(self.hypotheses.others.iter_mut().map(|other| &mut other.state))
            .for_each(|state| state.mounts = sensors.mounts(&state.calibration));
    }
}
