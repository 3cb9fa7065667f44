//! Its landmarks, as a map.

use crate::config::MapMode;
use crate::output::Landmark;
use crate::slam3d::Slam3d;
use crate::world::{Map3d, MapError, own_covariance};

impl Slam3d {
    /// Takes a map: its landmarks replace those of the state, now or at the start.
    ///
    /// # Errors
    /// [`MapError`]; nothing is changed then.
    pub fn load_map(&mut self, map: Map3d) -> Result<(), MapError> {
        map.check()?;
        let (landmarks, most) = (map.landmarks.len(), self.config.map.max_landmarks);
        if landmarks > most {
            return Err(MapError::TooMany(landmarks, most));
        }
        if let Some(interrupted) = &mut self.interrupted {
            interrupted.map.clone_from(&map);
        } else if let Some(running) = &mut self.running {
            let state = &mut running.estimator.state;
            (0..state.landmarks.len()).rev().for_each(|i| state.remove(i));
            map.append_to(state, &self.filter);
            if self.config.map.mode == MapMode::Localization {
                running.estimator.freeze_landmarks();
            }
        }
        self.map = Some(map);
        Ok(())
    }

    /// The landmarks with their joint covariance; before the start, those of the known map, and after an interruption
    /// those of before, until the pose among them is found.
    pub fn map(&self) -> Map3d {
        match (&self.interrupted, &self.running) {
            (Some(interrupted), _) => interrupted.map.clone(),
            (None, Some(running)) => Map3d::of(&running.estimator.state, &self.filter),
            (None, None) => self.map.clone().unwrap_or_default(),
        }
    }

    /// The landmarks of the state, each with its own covariance; none before the start.
    pub fn landmarks(&self) -> Vec<Landmark> {
        let Some(running) = &self.running else { return Vec::new() };
        let state = &running.estimator.state;
        let points = state.landmarks.iter().enumerate().filter(|(_, landmark)| landmark.is_point());
        let landmark = |(i, one): (usize, &lienav_inertial::state::landmark::Landmark)| Landmark {
            id: one.id,
            position: one.position,
            covariance: own_covariance(state, i, &self.filter),
        };
        points.map(landmark).collect()
    }
}
