//! Recordings of an inertial sensor with a true orientation, and our attitude filter over them.

use super::super::failure::Failure;
use super::files::{self, Numbers};
use lienav_attitude::Config;
use lienav_eval::attitude::{Begin, run};
use lienav_eval::folder::write_text;
use lienav_io::bag::Topics;
use lienav_io::inertial::{InertialRecording, open};
use lienav_lie::{Se3, So3};
use nalgebra::{Matrix6, UnitQuaternion, Vector3};
use serde_json::json;
use std::path::Path;

/// A quick run ends here, s.
const QUICK_S: f64 = 60.0;

/// A recording of orientations.
pub(super) struct AttitudeInput(InertialRecording);

/// A pose that only turns: positions count for nothing.
fn turned(orientation: &UnitQuaternion<f64>) -> Se3 {
    let turn = So3::from_matrix_unchecked(orientation.to_rotation_matrix().into_inner());
    Se3::new(turn, Vector3::zeros())
}

impl AttitudeInput {
    /// Reads a recording.
    pub(super) fn open(source: &str, is_quick: bool) -> Result<Self, Failure> {
        let mut recording = open(source, &Topics::default()).map_err(Failure::failed)?;
        if let (true, Some(first)) = (is_quick, recording.samples.first().map(|sample| sample.stamp)) {
            recording.samples.retain(|sample| sample.stamp.since(first) <= QUICK_S);
        }
        Ok(Self(recording))
    }

    /// Writes the samples from the first true orientation on, that orientation, and the truth.
    pub(super) fn write(&self, folder: &Path) -> Result<(), Failure> {
        let Self(recording) = self;
        let Some(first) = recording.truth.first() else {
            return Err(Failure::Failed(format!("{}: it has no true orientation", recording.name)));
        };
        let mut imu = Numbers::new("stamp_s,wx,wy,wz,ax,ay,az");
        for sample in recording.samples.iter().filter(|sample| sample.stamp >= first.stamp) {
            let (w, a) = (sample.angular_velocity, sample.specific_force);
            imu.row(&[sample.stamp], &[w.x, w.y, w.z, a.x, a.y, a.z]);
        }
        imu.write(folder, "imu.csv")?;
        let q = first.orientation;
        files::setting(folder, &json!({ "start_xyzw": [q.i, q.j, q.k, q.w] }))?;
        let truth = recording.truth.iter().map(|one| (one.stamp, turned(&one.orientation), None));
        write_text(folder, "truth.csv", &files::space(truth)).map_err(Failure::failed)
    }

    /// Runs the filter from the first true orientation, as there is nothing that shows north.
    pub(super) fn run(&self) -> Result<String, Failure> {
        let run = run(&self.0, &Config::default(), Begin::FirstOrientation).map_err(Failure::failed)?;
        let rows = run.points.iter().map(|point| {
            let mut covariance = Matrix6::zeros();
            covariance.fixed_view_mut::<3, 3>(3, 3).copy_from(&point.estimate.orientation_covariance);
            (point.truth.stamp, turned(&point.estimate.orientation), Some(covariance))
        });
        Ok(files::space(rows))
    }
}
