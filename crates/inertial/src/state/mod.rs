//! What the filter knows: navigation state, calibration, mounts, landmarks, and the joint covariance of their errors.
//!
//! [`nav`] has the navigation state, [`errors`] what its errors are, [`landmark`] the landmarks, [`retract`] how
//! corrections are applied and differences are taken.

pub mod calibration;
pub mod errors;
pub mod landmark;
pub mod nav;
pub mod retract;

use crate::covariance::{Covariance, NavMatrix};
use crate::filter::{Filter, Linearization};
use calibration::Calibration;
use errors::Errors;
use landmark::Landmark;
use lienav_lie::Se3;
use nalgebra::{DMatrix, Matrix6, Vector1, Vector3};
use nav::Nav;
use serde::{Deserialize, Serialize};

/// The estimate.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct State {
    /// Rotation, velocity, position and biases.
    pub nav: Nav,
    /// Landmarks, in the order of their rows.
    pub landmarks: Vec<Landmark>,
    /// Extrinsics and clock of one sensor.
    pub calibration: Calibration,
    /// Where other sensors are on the body, x_body = R_s x_sensor + t_s, with errors R_s = Exp(ε) R̂_s, t_s = t̂_s + τ: six
    /// rows each behind those of the calibration.
    #[serde(default)]
    pub mounts: Vec<Se3>,
    /// Angular rate of the body at the last propagation, rad/s, in its axes.
    pub rate: Vector3<f64>,
    /// Of the errors, in the coordinates of the filter.
    pub covariance: Covariance,
    /// The navigation state as it was predicted last, before corrections: where the filters of first estimates
    /// linearize.
    pub predicted: Nav,
    /// Gravity, m/s²: g = (0, 0, −gravity).
    pub gravity: f64,
}

pub use crate::imu::GRAVITY;

impl State {
    /// A navigation state whose errors (δθ, δv, δp, δb_g, δb_a) have this covariance: rotation as a small rotation
    /// about the axes of the world, the rest by differences. It has room for `capacity` landmarks before it allocates.
    pub fn new(nav: Nav, covariance: &NavMatrix, capacity: usize, filter: &Filter) -> Self {
        Self::with_calibration(nav, covariance, Calibration::default(), capacity, filter)
    }

    /// The same with a sensor that is calibrated.
    pub fn with_calibration(
        nav: Nav,
        covariance: &NavMatrix,
        calibration: Calibration,
        capacity: usize,
        filter: &Filter,
    ) -> Self {
        let change = filter.errors.from_left(&nav) * Errors::Additive.from_left_inverse(&nav);
        let own = change * covariance * change.transpose();
        Self {
            nav,
            landmarks: Vec::with_capacity(capacity),
            calibration,
            mounts: Vec::new(),
            rate: Vector3::zeros(),
            covariance: Covariance::new(&own, &calibration.variances(), capacity),
            predicted: nav,
            gravity: GRAVITY,
        }
    }

    /// Adds sensors whose places on the body have errors (ε, τ) of this joint covariance, six numbers each, independent of
    /// all others.
    pub fn add_mounts(&mut self, mounts: &[Se3], covariance: &DMatrix<f64>) {
        let first = self.covariance.head();
        self.covariance.insert_before_landmarks(6 * mounts.len());
        for i in 0..6 * mounts.len() {
            for j in 0..=i {
                self.covariance.set(first + i, first + j, &Vector1::new(covariance[(i, j)]));
            }
        }
        self.mounts.extend_from_slice(mounts);
    }

    /// First row of mount `k`.
    pub fn mount_row(&self, k: usize) -> usize {
        self.covariance.head() - 6 * (self.mounts.len() - k)
    }

    /// Covariance of the errors of all mounts.
    pub fn mount_covariance(&self) -> DMatrix<f64> {
        let n = 6 * self.mounts.len();
        let first = self.covariance.head() - n;
        DMatrix::from_fn(n, n, |i, j| self.covariance.get(first + i, first + j))
    }

    /// Covariance of (δθ, δv, δp, δb_g, δb_a), the errors of [`State::new`].
    pub fn nav_covariance(&self, filter: &Filter) -> NavMatrix {
        let change = Errors::Additive.from_left(&self.nav) * filter.errors.from_left_inverse(&self.nav);
        change * self.covariance.nav() * change.transpose()
    }

    /// Covariance of the pose as geometry_msgs/PoseWithCovariance has it: position, m, then rotation about the fixed
    /// axes of the world, rad.
    pub fn pose_covariance(&self, filter: &Filter) -> Matrix6<f64> {
        let all = self.nav_covariance(filter);
        let rows = [6, 7, 8, 0, 1, 2];
        Matrix6::from_fn(|i, j| all[(rows[i], rows[j])])
    }

    /// Where the errors of the navigation state are linearized.
    pub fn linearization_point(&self, filter: &Filter) -> Nav {
        match filter.linearization {
            Linearization::FirstEstimate => self.predicted,
            _ => self.nav,
        }
    }

    /// Where the error of a landmark is linearized, m, in the world.
    pub fn linearization_point_of(&self, i: usize, filter: &Filter) -> Vector3<f64> {
        let landmark = &self.landmarks[i];
        if filter.linearization == Linearization::FirstEstimate { landmark.first } else { landmark.position }
    }

    /// The place in [`State::landmarks`] of the landmark with this identity.
    pub fn find(&self, id: u64) -> Option<usize> {
        self.landmarks.iter().position(|landmark| landmark.id == id && landmark.is_point())
    }

    /// Removes landmark `i`; the last one takes its place.
    pub fn remove(&mut self, i: usize) {
        if i < self.landmarks.len() {
            self.landmarks.swap_remove(i);
            self.covariance.swap_remove(i);
        }
    }
}
