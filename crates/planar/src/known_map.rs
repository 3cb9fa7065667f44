//! The known map: landmarks that are known before the run, by identity and by place. Of these the state holds the ones
//! near the robot.

use crate::belief::Belief;
use crate::output::Landmark;
use lienav_base::stamp::Stamp;
use lienav_map::SpatialHash;
use lienav_map::{LandmarkMap, MapLandmark, NearCovariances};
use nalgebra::{DMatrix, Matrix2, Vector2};
use std::collections::HashMap;

/// A landmark of the known map, as last written.
#[derive(Clone, Debug)]
pub struct Known {
    /// Identity, class, place and covariance.
    pub landmark: MapLandmark,
    /// When it was last seen; [`Stamp::MIN`] if never.
    pub last_seen: Stamp,
    /// How many measurements of it were used.
    pub measurements: u32,
    /// Whether it is where the map has it.
    pub belief: Belief,
}

impl AsRef<MapLandmark> for Known {
    fn as_ref(&self) -> &MapLandmark {
        &self.landmark
    }
}

/// Landmarks by identity and by place.
#[derive(Clone, Debug, Default)]
pub struct KnownMap {
    landmarks: Vec<Known>,
    index: HashMap<u32, u32>,
    places: SpatialHash,
    /// Of all positions, as in [`LandmarkMap::joint`]; dropped when a landmark is written, because it is then known
    /// better than the joint covariance says.
    joint: Option<DMatrix<f64>>,
    /// Of positions near each other, as in [`LandmarkMap::near`]; dropped likewise.
    near: Option<NearCovariances>,
    /// The largest standard deviation of a place in any direction, m.
    largest_std: f64,
    /// Whether errors of landmarks are correlated: the state then keeps as many as it can.
    is_correlated: bool,
}

impl KnownMap {
    /// Of a map that was checked.
    pub fn new(map: LandmarkMap) -> Self {
        let places: Vec<Vector2<f64>> = map.landmarks.iter().map(|landmark| landmark.position).collect();
        let index = map.landmarks.iter().enumerate().map(|(k, landmark)| (landmark.id, k as u32)).collect();
        let largest_std = map.landmarks.iter().map(|landmark| std_of(&landmark.covariance)).fold(0.0, f64::max);
        let never = |landmark| Known { landmark, last_seen: Stamp::MIN, measurements: 0, belief: Belief::default() };
        Self {
            landmarks: map.landmarks.into_iter().map(never).collect(),
            index,
            places: SpatialHash::new(&places),
            is_correlated: map.joint.is_some(),
            joint: map.joint,
            near: map.near,
            largest_std,
        }
    }

    /// How many there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.landmarks.len()
    }

    /// Whether no landmark is known.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.landmarks.is_empty()
    }

    /// All of them, in their order.
    #[inline]
    pub fn landmarks(&self) -> &[Known] {
        &self.landmarks
    }

    /// The place of a landmark in [`KnownMap::landmarks`].
    #[inline]
    pub fn find(&self, id: u32) -> Option<usize> {
        self.index.get(&id).map(|k| *k as usize)
    }

    /// What is believed of a landmark.
    #[inline]
    pub fn belief_mut(&mut self, id: u32) -> Option<&mut Belief> {
        let k = self.find(id)?;
        self.landmarks.get_mut(k).map(|known| &mut known.belief)
    }

    /// The covariance of the places of two landmarks; zero if nothing is known of it.
    #[inline]
    pub fn shared(&self, one: usize, other: usize) -> Matrix2<f64> {
        let joint = self.joint.as_ref();
        joint.map_or_else(Matrix2::zeros, |joint| joint.fixed_view::<2, 2>(2 * one, 2 * other).into_owned())
    }

    /// The covariances of landmarks that are near each other, where there is no joint covariance of all.
    #[inline]
    pub fn near(&self) -> Option<&NearCovariances> {
        self.near.as_ref().filter(|_| self.joint.is_none())
    }

    /// Whether there is a joint covariance.
    #[inline]
    pub fn has_joint(&self) -> bool {
        self.joint.is_some()
    }

    /// Whether errors of landmarks are correlated.
    #[inline]
    pub fn is_correlated(&self) -> bool {
        self.is_correlated
    }

    /// The largest standard deviation of a place in any direction, m.
    #[inline]
    pub fn largest_std(&self) -> f64 {
        self.largest_std
    }

    /// Visits the landmarks within `radius` of a place, by their index and the square of their distance.
    #[inline]
    pub fn within(&self, place: &Vector2<f64>, radius: f64, mut visit: impl FnMut(usize, f64)) {
        self.places.within(place, radius, |k, square| visit(k as usize, square));
    }

    /// Notes when a landmark was last seen and how often.
    #[inline]
    pub fn note_seen(&mut self, landmark: &Landmark) {
        let Some(known) = self.find(landmark.id).and_then(|k| self.landmarks.get_mut(k)) else { return };
        (known.last_seen, known.measurements) = (landmark.last_seen, landmark.measurements);
    }

    /// Takes over what the filter has come to know of a landmark, or adds it.
    pub fn write(&mut self, landmark: &Landmark) {
        let Landmark { id, position, covariance, last_seen, measurements } = *landmark;
        (self.joint, self.near) = (None, None);
        self.largest_std = self.largest_std.max(std_of(&covariance));
        if let Some(k) = self.find(id) {
            let known = &mut self.landmarks[k];
            self.places.remove(k as u32, &known.landmark.position);
            self.places.insert(k as u32, &position);
            (known.landmark.position, known.landmark.covariance) = (position, covariance);
            (known.last_seen, known.measurements) = (last_seen, measurements);
            known.belief = Belief::default();
        } else {
            let k = self.landmarks.len() as u32;
            self.index.insert(id, k);
            self.places.insert(k, &position);
            let landmark = MapLandmark { id, class: 0, position, covariance };
            self.landmarks.push(Known { landmark, last_seen, measurements, belief: Belief::default() });
        }
    }

    /// Errors of landmarks are correlated from now on.
    #[inline]
    pub fn correlate(&mut self) {
        self.is_correlated = true;
    }

    /// As a map.
    #[inline]
    pub fn to_map(&self) -> LandmarkMap {
        let landmarks = self.landmarks.iter().map(|known| known.landmark.clone()).collect();
        LandmarkMap { landmarks, joint: self.joint.clone(), near: self.near.clone() }
    }
}

/// The standard deviation of a place in its worst direction, at most.
fn std_of(covariance: &Matrix2<f64>) -> f64 {
    covariance.trace().max(0.0).sqrt()
}
