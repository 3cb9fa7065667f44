//! Measurements of the pose in a map in parts: the open part has a frame of its own, and does not know where it lies in
//! the map. They pass by the filter, to those who join the parts.

use crate::inbox::QueuedScan;
use crate::slam::Slam;
use crate::step::Outcome;
use lienav_base::stamp::Stamp;
use lienav_lie::Se2;
use lienav_planar::associated::{Associated, Role, Subject};
use lienav_planar::checked::CheckedMeasurement;
use lienav_planar::input::MeasurementKind;
use lienav_planar::motion::Increment;
use lienav_planar::output::{DropReason, PoseEstimate};
use nalgebra::{Matrix3, Vector3};

/// So many wait at most.
const MOST: usize = 64;

/// A measurement of the pose beside what is expected of it.
#[derive(Clone, Copy, Debug)]
pub struct ExternalMeasurement {
    /// How many numbers it has.
    pub dim: usize,
    /// What was read less what is expected; of the first numbers.
    pub residual: Vector3<f64>,
    /// How the measurement depends on the error of (x, y, θ) in the map.
    pub by_pose: Matrix3<f64>,
    /// The covariance of the measurement.
    pub noise: Matrix3<f64>,
    /// The squared distance that a right one is within.
    pub gate: f64,
}

/// A position or a pose from outside, as it was read.
#[derive(Clone, Copy, Debug)]
pub struct ReadExternal {
    /// How many numbers it has: two of a position, three of a pose.
    pub dim: usize,
    /// x, y, m, and yaw, rad.
    pub value: Vector3<f64>,
    /// Their covariance.
    pub covariance: Matrix3<f64>,
    /// What was read, as seen from the robot.
    pub mount: Se2,
}

impl Slam {
    /// Whether a scan of this kind passes by the filter.
    pub(super) fn passes_by(&self, kind: MeasurementKind) -> bool {
        self.config.makes_submaps() && self.estimator.model.sensors.reads_pose(kind)
    }

    /// Takes in a scan that passes by the filter. The state stays where it is; the motion up to the scan waits.
    pub(super) fn pass_by(&mut self, scan: &QueuedScan) -> Outcome {
        let mut outcome = Outcome { moved: self.estimator.pending().motion, ..Outcome::default() };
        for measurement in &scan.measurements {
            match self.estimator.model.sensors.read(scan.kind, measurement) {
                Ok(checked) if self.of_submaps.outside.len() < MOST => self.of_submaps.outside.push(checked),
                Ok(_) => outcome.refused.add(DropReason::TooManyPoints),
                Err(reason) => outcome.refused.add(reason),
            }
        }
        // The estimates that follow have the motion that waits in them, and what this scan was taken for.
        let passed =
            self.of_submaps.outside.iter().map(|checked| Associated::new(Subject::Pose, *checked, Role::Again));
        self.estimator.note_measurements(passed);
        outcome
    }

    /// The measurements of the pose in the map that the last step has brought: of a map in parts.
    pub fn outside(&self) -> &[CheckedMeasurement] {
        &self.of_submaps.outside
    }

    /// What a measurement from outside says, of what.
    pub fn read_outside(&self, checked: &CheckedMeasurement) -> ReadExternal {
        let (value, covariance) = (*checked.value(), *checked.noise());
        let mount = self.estimator.state.mounts[checked.index()].nominal();
        ReadExternal { dim: self.estimator.model.sensors.dim(checked), value, covariance, mount }
    }

    /// What the sensors expect of a measurement from outside, if the robot is at `pose` in the map; `None` where they
    /// have no model of it.
    pub fn expect_outside(&self, checked: &CheckedMeasurement, pose: &Se2) -> Option<ExternalMeasurement> {
        let model = &self.estimator.model;
        let expected = model.sensors.expect_pose(&self.estimator.state.mounts, checked, pose, pose)?;
        let (dim, gate) = (expected.dim, model.gate.known(expected.dim));
        Some(ExternalMeasurement {
            dim,
            residual: expected.residual,
            by_pose: expected.by_pose,
            noise: expected.noise,
            gate,
        })
    }

    /// Counts measurements from outside that were left out because they are elsewhere than the robot is.
    pub fn count_gated(&mut self, checked_measurements: u64) {
        self.tally.counts.add_many(DropReason::Gated, checked_measurements);
    }

    /// Counts measurements from outside that say nothing until the robot has driven on.
    pub fn count_undetermined(&mut self, checked_measurements: u64) {
        self.tally.counts.add_many(DropReason::Undetermined, checked_measurements);
    }

    /// Whether the last step was one without a correction of the filter: its state is that of the step before, and the
    /// motion since waits.
    pub fn is_between(&self) -> bool {
        *self.estimator.pending() != Increment::none()
    }

    /// `at`, the pose at the last correction of the filter, carried along the motion that waits, to `stamp`.
    pub fn carried_between(&self, at: &PoseEstimate, stamp: Stamp) -> PoseEstimate {
        let (pose, covariance) = self.estimator.pending().carry(&at.pose, &at.covariance);
        PoseEstimate { stamp, pose, covariance, ..*at }
    }
}
