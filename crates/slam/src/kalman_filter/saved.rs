//! A filter that is saved, and gone on with.

use super::KalmanFilter;
use crate::estimator::SavedEstimator;
use crate::slam::ResumeError;
use lienav_base::stamp::Stamp;
use lienav_planar::config::Config;
use lienav_planar::filter::Filter;
use lienav_planar::measurement::Component;
use serde::{Deserialize, Serialize};

/// Everything that a [`KalmanFilter`] needs to go on where it was. Plain data, for serde; numbers come back bit for bit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SavedKalmanFilter {
    /// Its settings.
    pub config: Config,
    /// Its choices.
    pub filter: Filter,
    /// The added sensors: what their numbers are.
    sensors: Vec<Vec<Component>>,
    estimator: SavedEstimator,
    stamp: Stamp,
}

impl KalmanFilter {
    /// A copy of all that it needs to go on.
    pub fn save(&self) -> SavedKalmanFilter {
        SavedKalmanFilter {
            config: self.config.clone(),
            filter: self.estimator.model.filter,
            sensors: self.estimator.sensors(),
            estimator: self.estimator.save(),
            stamp: self.stamp,
        }
    }

    /// Goes on where `saved` was saved, bit for bit; all that this filter has estimated is forgotten. It needs the same
    /// choices and settings, and the sensors that the program had added.
    ///
    /// ```
    /// use lienav_slam::{Config, Filter, KalmanFilter};
    ///
    /// let filter = KalmanFilter::new(Filter::named("ekf")?, Config::default())?;
    /// let saved = filter.save();
    /// let mut resumed = KalmanFilter::new(saved.filter, saved.config.clone())?;
    /// resumed.restore(saved)?;
    /// assert_eq!(resumed.mean(), filter.mean());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ResumeError`]: the state is of another filter, of other sensors, or damaged. Nothing is changed then.
    pub fn restore(&mut self, mut saved: SavedKalmanFilter) -> Result<(), ResumeError> {
        if saved.filter != self.estimator.model.filter || saved.config != self.config {
            return Err(ResumeError::Damaged("it is of a filter with other settings"));
        }
        if saved.sensors != self.estimator.sensors() {
            return Err(ResumeError::OtherSensors);
        }
        self.estimator.complete(&mut saved.estimator, &self.config)?;
        self.estimator.restore(saved.estimator, &self.config);
        self.stamp = saved.stamp;
        Ok(())
    }
}
