//! Known landmarks in the filter.

use crate::estimator::Estimator;
use crate::slam::Slam;
use lienav_base::stamp::Stamp;
use lienav_map::{LandmarkMap, LandmarkMapError, MapLandmark};
use lienav_planar::config::MapMode;
use lienav_planar::filter::Coordinates;
use lienav_planar::state::{StateLandmark, lever};
use nalgebra::{Matrix2, Matrix2x3};

/// Why a map is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TakeMapError {
    /// It is no map.
    #[error(transparent)]
    NoMap(#[from] LandmarkMapError),
    /// The filter has no room for it.
    #[error(
        "the map has {landmarks} landmarks, and parameter 'map.max_features' is {most}: raise it, or take a part of \
         the map"
    )]
    TooManyLandmarks {
        /// In the map.
        landmarks: usize,
        /// Allowed.
        most: usize,
    },
}

impl Slam {
    /// Forgets the landmarks, and takes the landmarks of `map` in their place, with their covariance. The pose stays
    /// what it is, and how well it is known; errors of the landmarks are independent of it. While `map.mode` is
    /// `mapping`, they are landmarks as any others from then on: measurements sharpen them, and new ones join them. In
    /// the other modes, the map is the known one, as of [`Slam::set_map`].
    ///
    /// # Errors
    /// [`TakeMapError`]; nothing is changed then.
    pub fn take_map(&mut self, map: &LandmarkMap) -> Result<(), TakeMapError> {
        if self.config.filter_mode() != MapMode::Mapping {
            return Ok(self.set_map(map.clone())?);
        }
        map.check()?;
        let (landmarks, most) = (map.landmarks.len(), self.config.map.max_features);
        if landmarks > most {
            return Err(TakeMapError::TooManyLandmarks { landmarks, most });
        }
        self.estimator.take_map(map, self.at.time.unwrap_or_default());
        self.odometry.waiting.clear();
        self.look_ahead();
        Ok(())
    }
}

impl Estimator {
    /// Replaces the landmarks by the landmarks of a map, which count as seen at `stamp`.
    fn take_map(&mut self, map: &LandmarkMap, stamp: Stamp) {
        self.settle();
        self.restart_clock(stamp);
        let state = &mut self.state;
        (0..state.landmarks.len()).rev().for_each(|i| state.swap_remove(i));
        let (pose, coordinates) = (state.pose, state.coordinates);
        // The error of a landmark is A·(error of its position) − C·(error of the pose).
        let to_error = match coordinates {
            Coordinates::Robot => pose.rotation().transpose(),
            Coordinates::World | Coordinates::Invariant => Matrix2::identity(),
        };
        for (i, MapLandmark { id, position, covariance, .. }) in map.landmarks.iter().enumerate() {
            let from_pose = match coordinates {
                Coordinates::World => Matrix2x3::zeros(),
                Coordinates::Robot => -to_error * lever(&(position - pose.p)),
                Coordinates::Invariant => -lever(position),
            };
            let x = match coordinates {
                Coordinates::Robot => pose.transform_back(position),
                Coordinates::World | Coordinates::Invariant => *position,
            };
            let landmark = StateLandmark {
                id: *id,
                x,
                first: x,
                anchor: pose.p,
                is_vague: false,
                last_seen: stamp,
                wanted: stamp,
                measurements: 0,
                is_mapped: true,
                is_anchor_point: false,
                is_inherited: false,
                outliers: 0,
                outliers_since: Stamp::MIN,
            };
            let own = 0.5 * (covariance + covariance.transpose());
            state.append(landmark, &from_pose, &(to_error * own * to_error.transpose()));
            let Some(joint) = &map.joint else { continue };
            for k in 0..i {
                let shared: Matrix2<f64> = joint.fixed_view::<2, 2>(2 * i, 2 * k).into_owned();
                state.covariance.add_to_landmark_block(i, k, &(to_error * shared * to_error.transpose()));
            }
        }
    }
}
