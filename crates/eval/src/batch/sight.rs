//! The residual of one observation.

use super::Loss;
use super::normal::{AT_CALIBRATION, Row, WIDTH};
use lienav_lie::{Se2, skew};
use lienav_slam::{MOTION, Reading, SENSOR, Sensor};
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
}

impl Sight {
    /// ρ(‖reading − h(z)‖²), z = Rᵀ(p − x) the feature in the robot frame, h as calibrated. `None` where the sensor has no model: a feature on
    /// top of it.
    pub fn cost(&self, sensor: &Sensor, pose: &Se2, landmark: &Vector2<f64>, loss: Loss) -> Option<f64> {
        let row = self.whitened(sensor, pose, landmark)?;
        Some(loss.of(row.residual.norm_squared()))
    }

    /// The whitened residual, linearized for X ← X Exp(ξ), p ← p + δ: δz = −u − Jz ω + Rᵀδ, with the weight of the loss. Columns: ξ, δ,
    /// calibration.
    pub fn linearize(&self, sensor: &Sensor, pose: &Se2, landmark: &Vector2<f64>, loss: Loss) -> Option<Row<2>> {
        let row = self.whitened(sensor, pose, landmark)?;
        let root = loss.weight(row.residual.norm_squared()).sqrt();
        Some(Row { residual: row.residual * root, jacobian: row.jacobian * root })
    }

    fn whitened(&self, sensor: &Sensor, pose: &Se2, landmark: &Vector2<f64>) -> Option<Row<2>> {
        let z = pose.transform_back(landmark);
        let expected = sensor.expect(&self.reading, &z, &z)?;
        let h = expected.jacobian;
        let mut jacobian = SMatrix::<f64, 2, WIDTH>::zeros();
        jacobian.fixed_view_mut::<2, 2>(0, 0).copy_from(&h);
        jacobian.fixed_view_mut::<2, 1>(0, 2).copy_from(&(h * skew(&z)));
        jacobian.fixed_view_mut::<2, 2>(0, 3).copy_from(&(-h * pose.rotation().transpose()));
        jacobian.fixed_view_mut::<2, SENSOR>(0, AT_CALIBRATION + MOTION).copy_from(&-expected.calibration);
        let whitening = expected.noise.cholesky()?.l().solve_lower_triangular(&Matrix2::identity())?;
        Some(Row { residual: whitening * expected.residual, jacobian: whitening * jacobian })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lienav_slam::{
        Calibration, CalibrationConfig, CalibrationParameter, FeatureKind, NoiseAt, Observation, Prior, SensorConfig,
        StereoModel,
    };

    #[test]
    fn jacobians_against_finite_differences() {
        let config = SensorConfig { x_m: 0.2, y_m: -0.1, yaw_rad: 0.3, ..SensorConfig::default() };
        let mut priors = CalibrationConfig::default();
        for parameter in &CalibrationParameter::ALL[MOTION..] {
            *priors.prior_mut(*parameter) = Prior { value: 0.05, sigma: 0.1, walk: 0.0 };
        }
        let calibration = Calibration::new(&priors);
        let sensor =
            |calibration: &Calibration| Sensor::new(&config, NoiseAt::Predicted, StereoModel::Bearings, calibration);
        let (pose, landmark) = (Se2::new(3.0, -2.0, 2.4), Vector2::new(1.0, 0.5));
        let readings = [
            (FeatureKind::RelativePosition, Vector2::new(3.0, 0.5)),
            (FeatureKind::RangeBearing, Vector2::new(3.0, -0.5)),
            (FeatureKind::StereoBearings, Vector2::new(-0.6, -0.4)),
        ];
        for (kind, value) in readings {
            let observation = Observation { id: None, value, covariance: None };
            let reading = sensor(&calibration).read(kind, &observation).unwrap();
            let sight = Sight { pose: 0, landmark: 0, reading };
            let at = |step: &SMatrix<f64, WIDTH, 1>| {
                let moved = pose * Se2::exp(&step.fixed_rows::<3>(0).into_owned());
                let mut calibration = calibration.clone();
                calibration.correct(&step.as_slice()[AT_CALIBRATION + MOTION..]);
                let landmark = landmark + step.fixed_rows::<2>(3);
                sight.whitened(&sensor(&calibration), &moved, &landmark).unwrap().residual
            };
            let row = sight.whitened(&sensor(&calibration), &pose, &landmark).unwrap();
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
