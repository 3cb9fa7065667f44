//! A map that outlives the run: landmarks with what is known of where they are.

use super::NearCovariances;
use nalgebra::{DMatrix, Matrix2, SymmetricEigen, Vector2};
use std::collections::HashSet;

/// A landmark of a [`LandmarkMap`].
#[derive(Clone, Debug, PartialEq)]
pub struct MapLandmark {
    /// Its identity; no two landmarks of a map share one.
    pub id: u32,
    /// What kind of thing it is; 0 if nobody knows.
    pub class: u32,
    /// Position in the map frame, m.
    pub position: Vector2<f64>,
    /// Covariance of the position, m².
    pub covariance: Matrix2<f64>,
}

impl AsRef<Self> for MapLandmark {
    fn as_ref(&self) -> &Self {
        self
    }
}

/// Landmarks at known places: of a survey, or of an earlier run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LandmarkMap {
    /// The landmarks, in an order that means nothing but is kept.
    pub landmarks: Vec<MapLandmark>,
    /// The joint covariance of all positions, m²: row 2i is x of landmark i, row 2i + 1 its y. `None` if the landmarks
    /// are independent of each other, or [`LandmarkMap::near`] says how they are not.
    pub joint: Option<DMatrix<f64>>,
    /// Covariances of landmarks that are near each other, where there are too many for a joint covariance.
    pub near: Option<NearCovariances>,
}

/// Why landmarks are no map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LandmarkMapError {
    /// A number that is not finite.
    #[error("landmark {0} has a position or covariance that is not finite")]
    NotFinite(u32),
    /// A covariance that is not symmetric positive semidefinite.
    #[error("landmark {0} has a covariance that is not symmetric positive semidefinite")]
    BadCovariance(u32),
    /// Two landmarks share an identity.
    #[error("two landmarks have the identity {0}")]
    DuplicateId(u32),
    /// The joint covariance is not of two rows for each landmark.
    #[error("the joint covariance is not 2N × 2N for N landmarks")]
    WrongDimension,
    /// The covariances of near landmarks are of another number of landmarks, or one is not finite.
    #[error("the covariances of near landmarks are not of the landmarks of the map, or not finite")]
    BadNear,
}

impl LandmarkMap {
    /// Checks identities, positions and the covariance of each landmark.
    ///
    /// # Errors
    /// [`LandmarkMapError`], with the identity of the landmark.
    pub fn check(&self) -> Result<(), LandmarkMapError> {
        let mut ids = HashSet::with_capacity(self.landmarks.len());
        for MapLandmark { id, position, covariance, .. } in &self.landmarks {
            if !position.iter().chain(covariance).all(|number| number.is_finite()) {
                return Err(LandmarkMapError::NotFinite(*id));
            }
            let asymmetry = (covariance[(0, 1)] - covariance[(1, 0)]).abs();
            let least = SymmetricEigen::new(*covariance).eigenvalues.min();
            if asymmetry > 1e-9 * covariance.norm() || least < -1e-9 * covariance.norm() {
                return Err(LandmarkMapError::BadCovariance(*id));
            }
            if !ids.insert(*id) {
                return Err(LandmarkMapError::DuplicateId(*id));
            }
        }
        let rows = 2 * self.landmarks.len();
        if self.near.as_ref().is_some_and(|near| near.len() != self.landmarks.len() || !near.is_finite()) {
            return Err(LandmarkMapError::BadNear);
        }
        match &self.joint {
            Some(joint) if joint.shape() != (rows, rows) => Err(LandmarkMapError::WrongDimension),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn landmark(id: u32) -> MapLandmark {
        let covariance = Matrix2::new(0.04, 0.01, 0.01, 0.09);
        MapLandmark { id, class: 0, position: Vector2::new(1.0, f64::from(id)), covariance }
    }

    #[test]
    fn what_is_no_map_is_named() {
        let map = |landmarks| LandmarkMap { landmarks, joint: None, near: None };
        assert_eq!(map(vec![landmark(1), landmark(2)]).check(), Ok(()));
        assert_eq!(map(vec![landmark(7), landmark(7)]).check(), Err(LandmarkMapError::DuplicateId(7)));
        let infinite = MapLandmark { position: Vector2::new(f64::INFINITY, 0.0), ..landmark(3) };
        assert_eq!(map(vec![infinite]).check(), Err(LandmarkMapError::NotFinite(3)));
        for covariance in [Matrix2::new(1.0, 2.0, 2.0, 1.0), Matrix2::new(1.0, 0.5, -0.5, 1.0)] {
            let bad = MapLandmark { covariance, ..landmark(4) };
            assert_eq!(map(vec![bad]).check(), Err(LandmarkMapError::BadCovariance(4)));
        }
        let joint = LandmarkMap { landmarks: vec![landmark(1)], joint: Some(DMatrix::identity(4, 4)), near: None };
        assert_eq!(joint.check(), Err(LandmarkMapError::WrongDimension));
        let infinite = [(0, 1, Matrix2::identity() * f64::INFINITY)];
        for near in [NearCovariances::new(3, []), NearCovariances::new(2, infinite)] {
            let near = LandmarkMap { near: Some(near), ..map(vec![landmark(1), landmark(2)]) };
            assert_eq!(near.check(), Err(LandmarkMapError::BadNear));
        }
    }
}
