//! Several hypotheses of where the robot is in a known map, while measurements without identity may be of several
//! landmarks.
//!
//! Each scan has ways to be read ([`PoseHypotheses`]), and each way makes a state of each one that there was. Its
//! weight is that of the one before, times the density of the innovations that it has used, times what the measurements
//! that it has left out cost (multiple hypotheses; Reid 1979). States that are nearly one become the one that has the
//! mean and the covariance of both; the others live until later scans tell them apart. Where every measurement is clear
//! there is one way of one state, and this is the filter without hypotheses, to the last bit.

use crate::noise_estimation::NoiseFactors;
use crate::step::Outcome;
use lienav_associate::pose_hypotheses::PoseHypotheses;
use lienav_planar::associated::Associated;
use lienav_planar::filter::{Coordinates, Errors};
use lienav_planar::model::Model;
use lienav_planar::motion::Increment;
use lienav_planar::propagate::{Rows, propagate};
use lienav_planar::retract::retract;
use lienav_planar::state::State;
use nalgebra::{Matrix2, Vector3};

/// A state, and what the last scan has made of it.
#[derive(Clone, Debug)]
pub(super) struct Hypothesis {
    pub state: State,
    /// The logarithm of its weight beside the estimate's.
    pub weight: f64,
    pub outcome: Outcome,
    pub measurements: Vec<Associated>,
    /// What it has learned of the noise, where that is learned.
    pub learned: Option<NoiseFactors>,
}

/// The hypotheses beside the estimate, and buffers, which keep their allocations.
#[derive(Default)]
pub(super) struct Hypotheses {
    pub others: Vec<Hypothesis>,
    pub children: Vec<Hypothesis>,
    pub spare: Vec<Hypothesis>,
    pub pose_hypotheses: PoseHypotheses,
    pub noise: Vec<[f64; 3]>,
    pub merging: Merging,
}

/// Buffers of [`Hypothesis::absorb`]: how far apart, nothing, and what transports landmarks.
type Merging = (Vec<f64>, Vec<f64>, Vec<Matrix2<f64>>);

impl Hypotheses {
    /// Gives up all but the estimate.
    pub fn clear(&mut self) {
        self.spare.append(&mut self.others);
    }

    /// Moves them as the estimate `best` was moved.
    pub fn propagate(&mut self, best: &State, motion: &Increment, model: &Model, rows: &mut Rows) {
        for Hypothesis { state, .. } in &mut self.others {
            let motion = motion.recalibrated(&best.calibration, &state.calibration);
            propagate(state, &motion, &model.filter, rows);
        }
    }
}

impl Hypothesis {
    /// Becomes the mixture with another child, if they are nearly one.
    pub fn absorb(&mut self, other: &Self, errors: Errors, (apart, rigid, blocks): &mut Merging) -> bool {
        /// Hypotheses become one if the squared distance of their poses is less than this, by the covariance of the
        /// likelier one.
        const NEAR: f64 = 2.0;
        let (state, from) = (&mut self.state, &other.state);
        let pose = match state.coordinates {
            Coordinates::Invariant => (from.pose * state.pose.inverse()).log(),
            Coordinates::World | Coordinates::Robot => {
                let turn = lienav_lie::wrap_angle(from.pose.theta - state.pose.theta);
                Vector3::new(from.pose.p.x - state.pose.p.x, from.pose.p.y - state.pose.p.y, turn)
            }
        };
        let Some(inverse) = state.covariance.pose_block().try_inverse() else { return false };
        if pose.dot(&(inverse * pose)) > NEAR || !has_the_same_landmarks(state, from) {
            return false;
        }
        apart.clear();
        apart.extend(pose.iter());
        let active = state.calibration.active().iter();
        apart.extend(active.map(|p| from.calibration.get(*p) - state.calibration.get(*p)));
        let share = 1.0 / (1.0 + (self.weight - other.weight).exp());
        state.covariance.mix(&from.covariance, share, apart);
        apart.iter_mut().for_each(|d| *d *= share);
        apart.resize(state.covariance.dim(), 0.0);
        rigid.clear();
        rigid.resize(state.covariance.dim(), 0.0);
        retract(state, apart, rigid, errors, blocks);
        self.weight += (other.weight - self.weight).exp().ln_1p();
        true
    }
}

fn has_the_same_landmarks(one: &State, other: &State) -> bool {
    one.landmarks.iter().map(|landmark| landmark.id).eq(other.landmarks.iter().map(|landmark| landmark.id))
}
