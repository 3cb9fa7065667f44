//! The state of a filter: a pose, features, their joint covariance.

use super::covariance::Covariance;
use super::{Coordinates, Landmark};
use crate::lie::{Se2, skew};
use crate::stamp::Stamp;
use nalgebra::{Matrix2, Matrix2x3, Matrix3, Vector2};
use std::collections::HashMap;

/// A feature in the state.
#[derive(Clone, Copy, Debug)]
pub struct Feature {
    /// Its identity.
    pub id: u32,
    /// Where it is, in the coordinates of the filter: the map's or the robot's.
    pub x: Vector2<f64>,
    /// The same when it was first estimated; only first-estimate linearization reads it.
    pub first: Vector2<f64>,
    /// When it was last used in an update.
    pub last_seen: Stamp,
    /// How many observations went into it.
    pub observations: u32,
}

/// Pose, features and joint covariance. Error coordinates are additive: (δp, δθ, δx_1 … δx_N).
#[derive(Clone, Debug)]
pub struct State {
    /// What the features' coordinates are.
    pub coordinates: Coordinates,
    /// Pose of the base in the map.
    pub pose: Se2,
    /// The pose as it was predicted, before the last update: the first estimate of the newest pose.
    pub predicted: Se2,
    /// The features, in no particular order.
    pub features: Vec<Feature>,
    /// Of pose and features, in this order.
    pub covariance: Covariance,
    index: HashMap<u32, usize>,
}

impl State {
    /// A pose and no features, with room for `capacity` of them.
    pub fn new(coordinates: Coordinates, pose: Se2, covariance: &Matrix3<f64>, capacity: usize) -> Self {
        Self {
            coordinates,
            pose,
            predicted: pose,
            features: Vec::with_capacity(capacity),
            covariance: Covariance::new(covariance, capacity),
            index: HashMap::with_capacity(2 * capacity),
        }
    }

    /// Where in [`State::features`] a feature is.
    pub fn find(&self, id: u32) -> Option<usize> {
        self.index.get(&id).copied()
    }

    /// Appends a feature with x = from_pose·(pose error) + e, Cov(e) = `own`.
    pub fn append(&mut self, feature: Feature, from_pose: &Matrix2x3<f64>, own: &Matrix2<f64>) {
        self.covariance.append(from_pose, own);
        self.index.insert(feature.id, self.features.len());
        self.features.push(feature);
    }

    /// Drops feature `i`; the last one takes its place.
    pub fn swap_remove(&mut self, i: usize) {
        self.covariance.swap_remove(i);
        let gone = self.features.swap_remove(i);
        self.index.remove(&gone.id);
        if let Some(moved) = self.features.get(i) {
            self.index.insert(moved.id, i);
        }
    }

    /// Position of feature `i` in the robot frame, z = R(θ)ᵀ(p_i − p) (Shen 2019, eq. (5.4)).
    pub fn in_robot(&self, i: usize) -> Vector2<f64> {
        match self.coordinates {
            Coordinates::World => self.pose.transform_back(&self.features[i].x),
            Coordinates::Robot => self.features[i].x,
        }
    }

    /// Feature `i` in the map frame, with its covariance there.
    pub fn landmark(&self, i: usize) -> Landmark {
        let feature = &self.features[i];
        let own = self.covariance.feature_block(i, i);
        let (position, covariance) = match self.coordinates {
            Coordinates::World => (feature.x, own),
            Coordinates::Robot => {
                let (r, lever) = (self.pose.rotation(), self.lever(i));
                let cross: Matrix2<f64> = lever * self.covariance.cross_block(i).transpose() * r.transpose();
                let pose = lever * self.covariance.pose_block() * lever.transpose();
                (self.pose.transform(&feature.x), pose + cross + cross.transpose() + r * own * r.transpose())
            }
        };
        let Feature { id, last_seen, observations, .. } = *feature;
        Landmark { id, position, covariance, last_seen, observations }
    }

    /// ∂p_i/∂(p, θ) = [I, J R(θ) z_i] at fixed z_i.
    fn lever(&self, i: usize) -> Matrix2x3<f64> {
        let l = skew(&(self.pose.rotation() * self.in_robot(i)));
        Matrix2x3::new(1.0, 0.0, l.x, 0.0, 1.0, l.y)
    }

    /// Puts the robot elsewhere, with the map around it: what is known of the features from the robot stays, what was
    /// known of the pose is replaced.
    pub fn set_pose(&mut self, pose: Se2, covariance: &Matrix3<f64>) {
        match self.coordinates {
            Coordinates::Robot => {
                self.covariance.replace_pose(covariance);
            }
            Coordinates::World => {
                // Through the robot's coordinates (Shen 2019, eq. (5.23)) and back.
                let z: Vec<Vector2<f64>> = (0..self.features.len()).map(|i| self.in_robot(i)).collect();
                let back = self.pose.rotation().transpose();
                self.covariance.change_features(&back, |i| {
                    let l = skew(&z[i]);
                    Matrix2x3::new(-back[(0, 0)], -back[(0, 1)], -l.x, -back[(1, 0)], -back[(1, 1)], -l.y)
                });
                self.covariance.replace_pose(covariance);
                let r = pose.rotation();
                self.covariance.change_features(&r, |i| {
                    let l = skew(&(r * z[i]));
                    Matrix2x3::new(1.0, 0.0, l.x, 0.0, 1.0, l.y)
                });
                for (feature, z) in self.features.iter_mut().zip(&z) {
                    feature.x = pose.transform(z);
                    feature.first = feature.x;
                }
            }
        }
        self.pose = pose;
        self.predicted = pose;
    }

    /// No features, and this pose.
    pub fn reset(&mut self, pose: Se2, covariance: &Matrix3<f64>) {
        self.features.clear();
        self.index.clear();
        self.covariance.clear_features();
        self.covariance.set_pose_block(covariance);
        self.pose = pose;
        self.predicted = pose;
    }
}
