//! Which landmark of the map a measurement is of, where the robot was found.

use super::Finder;
use super::hypothesis::lever;
use super::sighting::Sighting;

/// A measurement belongs to a landmark within this squared Mahalanobis distance: 99.97 % of them do.
const GATE: f64 = 16.0;
/// The squared distance of any other landmark is larger by this much: odds of 100 to one, 2 ln 100.
const CLEAR: f64 = 9.2;

impl Finder {
    /// The identity of the landmark that a measurement of the last scan is of, seen from the most probable pose. `None`
    /// if there is no such landmark, if another one is nearly as probable, or if there is no pose yet.
    pub fn landmark_of(&self, sighting: &Sighting) -> Option<u32> {
        let best = self.hypotheses.first()?;
        let rotation = best.fit.pose.rotation();
        let levers = lever(&sighting.position);
        let in_body = sighting.covariance + levers * best.fit.relative * levers.transpose();
        let covariance = rotation * in_body * rotation.transpose();
        let image = best.fit.pose.transform(&sighting.position);
        let reach = ((GATE + CLEAR) * (covariance.trace() + self.index.largest_variance)).sqrt();
        let (mut first, mut second) = ((f64::INFINITY, None), f64::INFINITY);
        self.index.within(&image, reach, |k, _| {
            let landmark = self.index.landmark(k);
            let is_of_class = sighting.class == 0 || landmark.class == 0 || sighting.class == landmark.class;
            let Some(inverse) = (covariance + self.index.local_covariance(k)).try_inverse().filter(|_| is_of_class)
            else {
                return;
            };
            let residual = landmark.position - image;
            let squared = residual.dot(&(inverse * residual));
            if squared < first.0 {
                (second, first) = (first.0, (squared, Some(landmark.id)));
            } else {
                second = second.min(squared);
            }
        });
        first.1.filter(|_| first.0 <= GATE && second - first.0 > CLEAR)
    }
}
