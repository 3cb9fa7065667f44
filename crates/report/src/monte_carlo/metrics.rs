//! The numbers that have a confidence interval: each is a mean over runs, or the root of one.

use super::tally::RunSummary;

/// A number about a filter, from one number about each run.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Its name with unit, which is its key in the JSON report.
    pub key: &'static str,
    /// What a run contributes; `None` where it has nothing to contribute.
    pub of_run: fn(&RunSummary) -> Option<f64>,
    /// Whether the root is taken of the mean over runs: root mean squares, of squares.
    pub is_rms: bool,
}

impl Metric {
    /// The number, from what runs contribute. `None` of no runs.
    pub fn over(&self, contributions: impl Iterator<Item = f64>) -> Option<f64> {
        let mean = crate::mean::mean(contributions)?;
        Some(if self.is_rms { mean.sqrt() } else { mean })
    }
}

const fn mean(key: &'static str, of_run: fn(&RunSummary) -> Option<f64>) -> Metric {
    Metric { key, of_run, is_rms: false }
}

const fn rms(key: &'static str, of_run: fn(&RunSummary) -> Option<f64>) -> Metric {
    Metric { key, of_run, is_rms: true }
}

/// All of them. Errors of position and yaw are over all steps and runs alike, since all runs have the same steps. The
/// mean of the runs' slopes is the slope of the mean NEES, for the same reason. `first_…_std` and `final_…_std` are
/// what the filter claims of its first and its last pose: a robot that stands still must not come to know its pose
/// better.
pub const METRICS: &[Metric] = &[
    mean("position_error_mean_m", |run| Some(run.position_mean_m)),
    mean("yaw_error_mean_rad", |run| Some(run.yaw_mean_rad)),
    rms("position_rmse_m", |run| Some(run.position_square_m2)),
    rms("yaw_rmse_rad", |run| Some(run.yaw_square_rad2)),
    rms("final_position_rmse_m", |run| Some(run.final_position_m.powi(2))),
    rms("final_yaw_rmse_rad", |run| Some(run.final_yaw_rad.powi(2))),
    mean("nees_mean", |run| run.nees_mean),
    mean("group_nees_mean", |run| run.group_nees_mean),
    mean("final_nees_mean", |run| run.final_nees),
    mean("final_group_nees_mean", |run| run.final_group_nees),
    mean("nees_slope_per_s", |run| run.nees_slope_per_s),
    mean("group_nees_slope_per_s", |run| run.group_nees_slope_per_s),
    mean("nis_per_dof", |run| run.nis_per_dof),
    rms("landmark_rmse_m", |run| run.landmark_square_m2),
    rms("relative_landmark_rmse_m", |run| run.relative_landmark_square_m2),
    mean("landmark_nees_mean", |run| run.landmark_nees_mean),
    rms("first_position_std_m", |run| Some(run.first_covariance.diagonal().xy().sum())),
    rms("final_position_std_m", |run| Some(run.final_covariance.diagonal().xy().sum())),
    rms("first_yaw_std_rad", |run| Some(run.first_covariance[(2, 2)])),
    rms("final_yaw_std_rad", |run| Some(run.final_covariance[(2, 2)])),
];
