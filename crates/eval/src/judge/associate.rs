//! Which truth belongs to an estimate: that of its own stamp, between two true poses.

use lienav_base::stamp::Stamp;
use lienav_io::trajectory::Trajectory;
use nalgebra::Isometry3;

/// Estimates with the truth of their instant.
#[derive(Clone, Debug, Default)]
pub struct Pairs {
    /// Which poses of the estimate have a truth, in the order of their stamps.
    pub which: Vec<usize>,
    /// When each was, by the clock of the truth.
    pub stamps: Vec<Stamp>,
    /// The estimates.
    pub estimates: Vec<Isometry3<f64>>,
    /// The truth at these stamps.
    pub truths: Vec<Isometry3<f64>>,
    /// How many estimates have none.
    pub without_truth: usize,
}

impl Pairs {
    /// Takes the truth at the stamp of each estimate, position linear in time, orientation along the shortest turn;
    /// none where two true poses are farther apart than `max_gap_s`. `offset_s` is added to the stamps of the estimate.
    pub fn new(estimate: &Trajectory, truth: &Trajectory, max_gap_s: f64, offset_s: f64) -> Self {
        let mut pairs = Self::default();
        let mut near = 0;
        for (k, (stamp, pose)) in estimate.stamps.iter().zip(&estimate.poses).enumerate() {
            let stamp = if offset_s == 0.0 { *stamp } else { *stamp + offset_s };
            if let Some(true_pose) = truth.at(stamp, max_gap_s, &mut near) {
                pairs.which.push(k);
                pairs.stamps.push(stamp);
                pairs.estimates.push(*pose);
                pairs.truths.push(true_pose);
            }
        }
        pairs.without_truth = estimate.len() - pairs.len();
        pairs
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.which.len()
    }

    /// Whether there are no pairs.
    pub fn is_empty(&self) -> bool {
        self.which.is_empty()
    }
}
