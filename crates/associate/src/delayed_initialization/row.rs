//! One measurement of a landmark without a place, linearized from its anchor pose.

use crate::thresholds::UNLIKELY;
use lienav_ekf::covariance::Covariance;
use lienav_lie::Se2;
use lienav_lie::skew;
use lienav_planar::calibration::Calibration;
use lienav_planar::checked::CheckedMeasurement;
use lienav_planar::model::Model;
use lienav_planar::sensor::Sensors;
use lienav_planar::state::State;
use lienav_planar::state::waiting::{AnchorPose, Sighting};
use nalgebra::Vector2;

/// One measurement, linearized: residual = by_landmark·δl + Σ h δ(row) + n.
pub struct Row {
    /// Measurement − prediction.
    pub residual: f64,
    /// ∂(prediction)/∂(landmark), in the frame of the landmarks.
    pub by_landmark: Vector2<f64>,
    /// Rows of the state, and what they do.
    pub entries: Vec<(usize, f64)>,
    /// The variance of the measurement.
    pub variance: f64,
}

impl Row {
    /// What the entries make of a column of the covariance.
    pub fn along(&self, column: &[f64]) -> f64 {
        self.entries.iter().map(|(row, h)| h * column[*row]).sum()
    }

    /// What the predictions of two measurements have in common, C P Cᵀ.
    pub fn with(&self, other: &Self, state: &State) -> f64 {
        let with = |(i, a): &(usize, f64)| {
            other.entries.iter().map(|(j, b)| a * b * state.covariance.get(*i, *j)).sum::<f64>()
        };
        self.entries.iter().map(with).sum()
    }

    /// How far the measurement is to be trusted, with this variance of its residual: 0 where the gate leaves it out,
    /// and less than 1 where it may be disturbed, or is far off.
    pub fn trust(&self, model: &Model, measurement: &CheckedMeasurement, variance: f64) -> f64 {
        let distance = self.residual * self.residual / variance;
        if distance.is_nan() || distance > model.gate.known(1) {
            return 0.0;
        }
        let trust = model.sensors.trust_of_one(measurement, self.residual, variance);
        if trust < UNLIKELY { 0.0 } else { trust / model.gate.inflation(distance) }
    }
}

/// Linearizes a measurement from an anchor pose for a landmark at `l`, in the frame of the landmarks.
pub fn linearize_sighting(sighting: &Sighting, state: &State, sensors: &Sensors, l: &Vector2<f64>) -> Option<Row> {
    linearize(state, sensors, points(&sighting.anchor_pose, state)?, &sighting.measurement, l)
}

/// Linearizes a measurement from the anchor pose of these two points, of a landmark at `l`.
pub fn linearize(
    state: &State,
    sensors: &Sensors,
    (origin, ahead): (usize, Option<usize>),
    measurement: &CheckedMeasurement,
    l: &Vector2<f64>,
) -> Option<Row> {
    let pose = pose_of(state, (origin, ahead));
    let z = pose.transform_back(l);
    let expected = sensors.expect(&state.mounts, measurement, &z, &z)?;
    let h = expected.by_landmark.row(0).transpose();
    let by_landmark = pose.rotation() * h;
    let mut entries = Vec::with_capacity(8);
    let mut by_origin = -by_landmark;
    if let Some(ahead) = ahead {
        let arm = state.landmarks[ahead].x - state.landmarks[origin].x;
        let by_ahead = skew(&arm) * (-h.dot(&skew(&z)) / arm.norm_squared());
        by_origin -= by_ahead;
        let row = state.covariance.row_of(ahead);
        entries.extend([(row, by_ahead.x), (row + 1, by_ahead.y)]);
    }
    let row = state.covariance.row_of(origin);
    entries.extend([(row, by_origin.x), (row + 1, by_origin.y)]);
    if let Some(by_calibration) = &expected.by_calibration {
        entries.extend(of_calibration(&state.calibration, |column| by_calibration.column(column).x));
    }
    Some(Row { residual: expected.residual.x, by_landmark, entries, variance: expected.noise[(0, 0)] })
}

/// The indices of the points of an anchor pose in the state, if both are there.
pub fn points(anchor_pose: &AnchorPose, state: &State) -> Option<(usize, Option<usize>)> {
    let ahead = match anchor_pose.ahead {
        Some(ahead) => Some(state.find(ahead)?),
        None => None,
    };
    Some((state.find(anchor_pose.origin)?, ahead))
}

/// The pose of the base, in the frame of the landmarks, from its origin and the point ahead of it.
pub fn pose_of(state: &State, (origin, ahead): (usize, Option<usize>)) -> Se2 {
    let origin = state.landmarks[origin].x;
    let arm = ahead.map_or_else(Vector2::x, |ahead| state.landmarks[ahead].x - origin);
    Se2::new(origin.x, origin.y, arm.y.atan2(arm.x))
}

fn of_calibration(calibration: &Calibration, of: impl Fn(usize) -> f64) -> impl Iterator<Item = (usize, f64)> {
    calibration.sensor().map(move |(k, column)| (Covariance::calibration_row(k), of(column)))
}
