//! What the steps of a run were linearized as: the record for who studies what a filter takes for observable.

use crate::associated::Subject;
use crate::filter::{Coordinates, Filter};
use crate::motion::LandmarkMotion;
use lienav_base::stamp::Stamp;
use lienav_lie::Se2;
use nalgebra::{Matrix2, Matrix2x3, Matrix3, Matrix3x2};

/// One scan: how errors were carried to it, and what its measurements say of them, with the Jacobians that the filter
/// used. The error of the state has the pose first, three numbers, then each landmark, two numbers, in the coordinates
/// of the filter. Calibration counts as known. What charts do to the error of a landmark by itself is not in it.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearizedStep {
    /// When.
    pub stamp: Stamp,
    /// Φ since the step before, of the pose.
    pub pose_transition: Matrix3<f64>,
    /// Φ since the step before, of each landmark.
    pub landmark_transition: Matrix2<f64>,
    /// The measurements of the update.
    pub measurements: Vec<LinearizedMeasurement>,
    /// The landmarks that were begun after the update, by identity, with ∂(error of the landmark)/∂(error of the pose).
    pub initialized: Vec<(u32, Matrix2x3<f64>)>,
    /// The landmarks in the state after the step, by identity.
    pub landmarks: Vec<u32>,
}

/// A measurement as the update used it; rows beyond `dim` are zero.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearizedMeasurement {
    /// What was measured; a landmark by its identity.
    pub subject: Subject<u32>,
    /// How many numbers the measurement has.
    pub dim: usize,
    /// ∂(reading)/∂(error of the pose).
    pub by_pose: Matrix3<f64>,
    /// ∂(reading)/∂(error of the landmark).
    pub by_landmark: Matrix3x2<f64>,
    /// Covariance of the measurement.
    pub noise: Matrix3<f64>,
}

impl Default for LinearizedStep {
    fn default() -> Self {
        Self {
            stamp: Stamp::default(),
            pose_transition: Matrix3::identity(),
            landmark_transition: Matrix2::identity(),
            measurements: Vec::new(),
            initialized: Vec::new(),
            landmarks: Vec::new(),
        }
    }
}

impl LinearizedStep {
    /// A motion, with the transition of the additive error of the pose.
    pub(super) fn note_motion(&mut self, transition: &Matrix3<f64>, motion: &Se2, filter: &Filter) {
        match filter.coordinates() {
            Coordinates::World => self.pose_transition = transition * self.pose_transition,
            Coordinates::Robot => {
                let map = LandmarkMotion::new(motion, filter.discretization());
                self.pose_transition = transition * self.pose_transition;
                self.landmark_transition = Matrix2::new(map.c, -map.s, map.s, map.c) * self.landmark_transition;
            }
            Coordinates::Invariant => {}
        }
    }

    /// This step, preceded by motions that were noted elsewhere.
    pub fn after(mut self, motions: &Self) -> Self {
        self.pose_transition *= motions.pose_transition;
        self.landmark_transition *= motions.landmark_transition;
        self
    }
}
