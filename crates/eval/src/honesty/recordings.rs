//! Recordings with one configuration.

use super::Honesty;
use crate::errors::Errors;
use crate::report::Report;
use crate::run::{Run, run_study};
use crate::study::Study;
use lienav_io::recording::Recording;
use lienav_io::truth::{MAX_TRUTH_GAP_S, Truth};
use lienav_slam::ConfigError;
use serde::Serialize;

/// What runs over each recording; the last is the estimate of the whole run at once.
pub const FILTERS: [&str; 4] = ["default", "ekf", "reduced", "batch"];

/// A recording through one filter.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecordingRow {
    /// Which recording.
    pub recording: String,
    /// Which filter.
    pub filter: String,
    /// Root mean square of the position error in the map, m.
    pub position_rmse_m: Option<f64>,
    /// The same after the rigid motion that fits best, m.
    pub aligned_position_rmse_m: Option<f64>,
    /// Root mean square of the yaw error, rad.
    pub yaw_rmse_rad: Option<f64>,
    /// Mean NEES of the pose; 3 is right.
    pub nees_mean: Option<f64>,
    /// Median time of a step, µs; of the batch estimate, the time of the whole divided by its steps.
    pub step_us: Option<f64>,
}

impl Honesty {
    /// Runs [`FILTERS`] over a recording with these settings.
    ///
    /// # Errors
    /// Settings out of range.
    pub fn add_recording(
        &mut self,
        name: &str,
        recording: &Recording,
        study: &Study,
        mut done: impl FnMut(),
    ) -> Result<(), ConfigError> {
        let truth = Truth::of(recording, MAX_TRUTH_GAP_S);
        for filter in FILTERS {
            let run: Run = run_study(recording, &Study { filter: filter.to_owned(), ..study.clone() }, |_| ())?;
            let Report { position_rmse_m, aligned_position_rmse_m, yaw_rmse_rad, nees_mean, step_us, .. } =
                Report::new(&run, &Errors::new(&run, &truth));
            self.recordings.push(RecordingRow {
                recording: name.to_owned(),
                filter: filter.to_owned(),
                position_rmse_m,
                aligned_position_rmse_m,
                yaw_rmse_rad,
                nees_mean,
                step_us: step_us.map(|time| time.p50),
            });
            done();
        }
        Ok(())
    }
}
