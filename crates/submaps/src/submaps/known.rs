//! A map that was made in submaps, as the known map of a robot that makes none.

use super::{ResumeSubmapsError, SavedSubmaps};
use lienav_slam::{LandmarkMap, MapLandmark, NearCovariances};
use nalgebra::Matrix2;

/// Of each landmark, its covariance with so many others is asked for, those nearest to it.
const NEIGHBOURS: usize = 24;

impl SavedSubmaps {
    /// The landmarks of the map with their covariances, and with those that landmarks near each other have in common:
    /// for `map.mode: localization`. Solves all submaps, which takes its time where there are thousands of landmarks.
    ///
    /// # Errors
    /// [`ResumeSubmapsError`].
    pub fn known_map(&self) -> Result<LandmarkMap, ResumeSubmapsError> {
        let solution = self.problem()?.solve()?;
        let covariances = solution.landmark_covariances();
        let mut places = vec![None; self.landmarks.len()];
        let mut landmarks = Vec::new();
        for (number, landmark) in self.landmarks.iter().enumerate().filter(|(_, landmark)| landmark.is_current) {
            let Some(covariance) = covariances.get(number).copied().flatten() else { continue };
            places[number] = u32::try_from(landmarks.len()).ok();
            let covariance = 0.5 * (covariance + covariance.transpose());
            let (id, class, position) = (landmark.seen.id, landmark.seen.class, solution.landmarks[number]);
            landmarks.push(MapLandmark { id, class, position, covariance });
        }
        let mut pairs: Vec<(u32, u32, Matrix2<f64>)> = Vec::new();
        solution.for_each_near_pair(NEIGHBOURS, |one, other, covariance| {
            pairs.extend(places[one].zip(places[other]).map(|(one, other)| (one, other, covariance)));
        });
        let near = Some(NearCovariances::new(landmarks.len(), pairs));
        Ok(LandmarkMap { landmarks, joint: None, near })
    }
}
