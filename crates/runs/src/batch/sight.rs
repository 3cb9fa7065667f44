//! The residual of one measurement.

use super::Loss;
use super::motion::map_from_body;
use super::normal::{AT_CALIBRATION, Row, WIDTH};
use lienav_lie::{Se2, skew};
use lienav_slam::{CheckedMeasurement, Expected, MOTION, Mount, SENSOR, Sensors};
use nalgebra::{SMatrix, Vector2, Vector3};

/// A feature that was seen from a pose, or a measurement of the pose itself.
#[derive(Clone, Copy, Debug)]
pub struct Sight {
    /// Which pose.
    pub pose: usize,
    /// Which feature; `None` where the pose itself was read.
    pub landmark: Option<usize>,
    /// What was read.
    pub measurement: CheckedMeasurement,
}

/// All sensors, and where they are.
pub type Mounted<'a> = (&'a Sensors, &'a [Mount]);

impl Sight {
    /// ρ(‖reading − h‖²), h as calibrated, of the feature in the robot frame at z = Rᵀ(p − x), or of the pose. `None`
    /// where the sensor has no model: a feature on top of it.
    pub fn cost(&self, sensors: Mounted<'_>, pose: &Se2, landmark: Option<&Vector2<f64>>, loss: Loss) -> Option<f64> {
        let row = self.whitened(sensors, pose, landmark)?;
        // The logarithm of a mixture: of measurements as the noise says, and of disturbed ones.
        let disturbed = 2.0 * self.trust(sensors, &row).max(1e-300).ln();
        Some(loss.of(row.residual.norm_squared()) + disturbed)
    }

    /// The whitened residual, linearized for X ← X Exp(ξ), p ← p + δ: δz = −u − Jz ω + Rᵀδ, with the weight of the
    /// loss. Columns: ξ, δ, calibration. Rows beyond the sensor's dimension are zero.
    pub fn linearize(
        &self,
        sensors: Mounted<'_>,
        pose: &Se2,
        landmark: Option<&Vector2<f64>>,
        loss: Loss,
    ) -> Option<Row<3>> {
        let row = self.whitened(sensors, pose, landmark)?;
        let root = (loss.weight(row.residual.norm_squared()) * self.trust(sensors, &row)).sqrt();
        Some(Row { residual: row.residual * root, jacobian: row.jacobian * root })
    }

    /// The probability that the measurement is as its noise says.
    fn trust(&self, (sensors, _): Mounted<'_>, row: &Row<3>) -> f64 {
        if sensors.dim(&self.measurement) != 1 {
            return 1.0;
        }
        let variance = self.measurement.noise()[(0, 0)];
        let residual = Vector3::new(row.residual.x * variance.sqrt(), 0.0, 0.0);
        sensors.trust(&self.measurement, &residual, self.measurement.noise())
    }

    fn whitened(&self, (sensors, mounts): Mounted<'_>, pose: &Se2, landmark: Option<&Vector2<f64>>) -> Option<Row<3>> {
        let mut jacobian = SMatrix::<f64, 3, WIDTH>::zeros();
        let expected = match landmark {
            Some(landmark) => {
                let z = pose.transform_back(landmark);
                let expected = sensors.expect(mounts, &self.measurement, &z, &z)?;
                let h = expected.by_landmark;
                jacobian.fixed_view_mut::<3, 2>(0, 0).copy_from(&h);
                jacobian.fixed_view_mut::<3, 1>(0, 2).copy_from(&(h * skew(&z)));
                jacobian.fixed_view_mut::<3, 2>(0, 3).copy_from(&(-h * pose.rotation().transpose()));
                expected
            }
            None => {
                let expected = sensors.expect_pose(mounts, &self.measurement, pose, pose)?;
                jacobian.fixed_view_mut::<3, 3>(0, 0).copy_from(&(-expected.by_pose * map_from_body(pose)));
                expected
            }
        };
        if let Some(by_calibration) = expected.by_calibration {
            jacobian.fixed_view_mut::<3, SENSOR>(0, AT_CALIBRATION + MOTION).copy_from(&-by_calibration.whole());
        }
        match expected.dim {
            1 => whiten::<1>(&expected, &jacobian),
            2 => whiten::<2>(&expected, &jacobian),
            _ => whiten::<3>(&expected, &jacobian),
        }
    }
}

/// Residual and Jacobian of D numbers by the root of their information, with zeros below.
fn whiten<const D: usize>(expected: &Expected, jacobian: &SMatrix<f64, 3, WIDTH>) -> Option<Row<3>> {
    let noise = SMatrix::<f64, D, D>::from_fn(|i, j| expected.noise[(i, j)]);
    let root = noise.cholesky()?.l();
    let whitening = root.solve_lower_triangular(&SMatrix::<f64, D, D>::identity())?;
    let rows = SMatrix::<f64, D, WIDTH>::from_fn(|i, j| jacobian[(i, j)]);
    let residual = whitening * SMatrix::<f64, D, 1>::from_fn(|i, _| expected.residual[i]);
    let rows = whitening * rows;
    Some(Row {
        residual: SMatrix::from_fn(|i, _| if i < D { residual[i] } else { 0.0 }),
        jacobian: SMatrix::from_fn(|i, j| if i < D { rows[(i, j)] } else { 0.0 }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use lienav_slam::{
        Calibration, CalibrationConfig, CalibrationParameter, Measurement, MeasurementKind, Prior, SensorConfig,
        StereoModel,
    };

    #[test]
    fn jacobians_against_finite_differences() {
        let config = SensorConfig { x_m: 0.2, y_m: -0.1, yaw_rad: 0.3, ..SensorConfig::default() };
        let mut priors = CalibrationConfig::default();
        for parameter in &CalibrationParameter::ALL[MOTION..] {
            if let Some(prior) = priors.prior_mut(*parameter) {
                *prior = Prior { value: 0.05, sigma: 0.1, walk: 0.0 };
            }
        }
        let calibration = Calibration::new(&priors);
        let sensors = Sensors::new(&config, StereoModel::Bearings, &[]);
        let (pose, landmark) = (Se2::new(3.0, -2.0, 2.4), Vector2::new(1.0, 0.5));
        let checked_measurements = [
            (MeasurementKind::RelativePosition, Vector2::new(3.0, 0.5)),
            (MeasurementKind::RangeBearing, Vector2::new(3.0, -0.5)),
            (MeasurementKind::StereoBearings, Vector2::new(-0.6, -0.4)),
        ];
        for (kind, value) in checked_measurements {
            let measurement = Measurement::new(None, value);
            let checked = sensors.read(kind, &measurement).unwrap();
            let sight = Sight { pose: 0, landmark: Some(0), measurement: checked };
            let at = |step: &SMatrix<f64, WIDTH, 1>| {
                let moved = pose * Se2::exp(&step.fixed_rows::<3>(0).into_owned());
                let mut calibration = calibration.clone();
                calibration.correct(&step.as_slice()[AT_CALIBRATION + MOTION..]);
                let landmark = landmark + step.fixed_rows::<2>(3);
                sight.whitened((&sensors, &sensors.mounts(&calibration)), &moved, Some(&landmark)).unwrap().residual
            };
            let row = sight.whitened((&sensors, &sensors.mounts(&calibration)), &pose, Some(&landmark)).unwrap();
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
