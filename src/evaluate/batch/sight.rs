//! The residual of one observation.

use super::normal::{Row, WIDTH};
use super::{Calibration, Loss};
use crate::filter::{FeatureKind, Reading, Sensor};
use crate::lie::{Se2, skew};
use nalgebra::{Matrix2, SMatrix, Vector2};

/// A feature that was seen from a pose.
#[derive(Clone, Copy, Debug)]
pub struct Sight {
    /// Which pose.
    pub pose: usize,
    /// Which feature.
    pub landmark: usize,
    /// What was read.
    pub reading: Reading,
    /// Whether that is a range and a bearing, or bearings.
    pub kind: FeatureKind,
}

impl Sight {
    /// ρ(‖reading − h(z) − bias‖²), z = Rᵀ(p − x) the feature in the robot frame. `None` where the sensor has no model: a feature on
    /// top of it.
    pub fn cost(
        &self,
        sensor: &Sensor,
        pose: &Se2,
        landmark: &Vector2<f64>,
        calibration: Option<&Calibration>,
        loss: Loss,
    ) -> Option<f64> {
        let row = self.whitened(sensor, pose, landmark, calibration)?;
        Some(loss.of(row.residual.norm_squared()))
    }

    /// The whitened residual, linearized for X ← X Exp(ξ), p ← p + δ: δz = −u − Jz ω + Rᵀδ; with the weight of the loss. Columns:
    /// ξ, δ, three without meaning to the observation but for the place of the calibration.
    pub fn linearize(
        &self,
        sensor: &Sensor,
        pose: &Se2,
        landmark: &Vector2<f64>,
        calibration: Option<&Calibration>,
        loss: Loss,
    ) -> Option<Row<2>> {
        let row = self.whitened(sensor, pose, landmark, calibration)?;
        let root = loss.weight(row.residual.norm_squared()).sqrt();
        Some(Row { residual: row.residual * root, jacobian: row.jacobian * root })
    }

    fn whitened(
        &self,
        sensor: &Sensor,
        pose: &Se2,
        landmark: &Vector2<f64>,
        calibration: Option<&Calibration>,
    ) -> Option<Row<2>> {
        let z = pose.transform_back(landmark);
        let expected = sensor.expect(&self.reading, &z, &z)?;
        let (h, turned) = (expected.jacobian, expected.jacobian * skew(&z));
        let by_bias = self.by_bias();
        let bias = calibration.map_or(Vector2::zeros(), |c| by_bias * Vector2::new(c.range_bias_m, c.bearing_bias_rad));
        let mut jacobian = SMatrix::<f64, 2, WIDTH>::zeros();
        jacobian.fixed_view_mut::<2, 2>(0, 0).copy_from(&h);
        jacobian.fixed_view_mut::<2, 1>(0, 2).copy_from(&turned);
        jacobian.fixed_view_mut::<2, 2>(0, 3).copy_from(&(-h * pose.rotation().transpose()));
        jacobian.fixed_view_mut::<2, 2>(0, 8).copy_from(&-by_bias);
        let whitening = expected.noise.cholesky()?.l().solve_lower_triangular(&Matrix2::identity())?;
        Some(Row { residual: whitening * (expected.residual - bias), jacobian: whitening * jacobian })
    }

    /// ∂(reading)/∂(range bias, bearing bias).
    fn by_bias(&self) -> Matrix2<f64> {
        match self.kind {
            FeatureKind::RelativePosition => Matrix2::zeros(),
            FeatureKind::RangeBearing => Matrix2::identity(),
            FeatureKind::StereoBearings => Matrix2::new(0.0, 1.0, 0.0, 1.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::{NoiseAt, Observation, SensorConfig, StereoModel};

    #[test]
    fn jacobians_against_finite_differences() {
        let config = SensorConfig { x_m: 0.2, y_m: -0.1, yaw_rad: 0.3, ..SensorConfig::default() };
        let sensor = Sensor::new(&config, NoiseAt::Predicted, StereoModel::Bearings);
        let (pose, landmark) = (Se2::new(3.0, -2.0, 2.4), Vector2::new(1.0, 0.5));
        let calibration = Calibration { range_bias_m: 0.05, bearing_bias_rad: 0.02, ..Calibration::default() };
        let readings = [
            (FeatureKind::RelativePosition, Vector2::new(3.0, 0.5)),
            (FeatureKind::RangeBearing, Vector2::new(3.0, -0.5)),
            (FeatureKind::StereoBearings, Vector2::new(-0.6, -0.4)),
        ];
        for (kind, value) in readings {
            let reading = sensor.read(kind, &Observation { id: None, value, covariance: None }).unwrap();
            let sight = Sight { pose: 0, landmark: 0, reading, kind };
            let at = |step: &SMatrix<f64, WIDTH, 1>| {
                let moved = pose * Se2::exp(&step.fixed_rows::<3>(0).into_owned());
                let c = Calibration::from_vector(&(calibration.to_vector() + step.fixed_rows::<4>(6)));
                sight.whitened(&sensor, &moved, &(landmark + step.fixed_rows::<2>(3)), Some(&c)).unwrap().residual
            };
            let row = sight.whitened(&sensor, &pose, &landmark, Some(&calibration)).unwrap();
            for k in 0..WIDTH {
                let mut step = SMatrix::<f64, WIDTH, 1>::zeros();
                step[k] = 1e-6;
                let numeric = (at(&step) - at(&-step)) / 2e-6;
                let error = (numeric - row.jacobian.column(k)).norm();
                assert!(error < 1e-6 * (1.0 + numeric.norm()), "{kind:?} {k}: {numeric}");
            }
        }
    }
}
