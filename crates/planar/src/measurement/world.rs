//! Measurements from outside: where the sensor is in the world, as a satellite receiver or a motion capture has it.
//!
//! The map has a frame of its own, and W = (t, ψ) is its pose in the world: with the sensor at T = W·X·m, m the antenna
//! in the base frame,
//!
//! y = (p_T + b, θ_T) + n,  n ~ N(0, R)
//!
//! b is the part of the error that lasts, the same from one measurement to the next but for a Gauss–Markov process; it
//! and W are calibration parameters, where they are estimated.

use crate::calibration::SensorJacobian;
use crate::checked::CheckedMeasurement;
use crate::input::Measurement;
use crate::measurement::Component;
use crate::measurement::erased::{Erased, Expected, Mount, numbers, residual};
use crate::measurement::value::{MAX_VARIANCE, fixed, padded};
use crate::output::DropReason;
use lienav_lie::{Se2, skew};
use nalgebra::{Matrix2, Matrix3, Matrix3x2, SMatrix, SVector, Vector2, Vector3};

/// Coordinates in the world beyond this are absurd, m.
const MAX_COORDINATE_M: f64 = 1e7;

/// The position (D = 2) or the pose (D = 3) of a sensor in the world.
#[derive(Clone, Debug, PartialEq)]
pub struct OfWorld<const D: usize> {
    /// Standard deviation of either coordinate, m.
    pub position_std_m: f64,
    /// Standard deviation of the heading, rad.
    pub yaw_std_rad: f64,
}

/// What its numbers are.
const COMPONENTS: [Component; 3] = [Component::Linear, Component::Linear, Component::Angle];

impl<const D: usize> OfWorld<D> {
    fn own_noise(&self) -> SMatrix<f64, D, D> {
        let stds = [self.position_std_m, self.position_std_m, self.yaw_std_rad];
        SMatrix::from_fn(|i, j| if i == j { stds[i] * stds[i] } else { 0.0 })
    }
}

/// The sensor in the world, of a base at `pose` in the map.
fn in_world(mount: &Mount, pose: &Se2) -> Vector3<f64> {
    let sensor = mount.world * *pose * mount.nominal();
    Vector3::new(sensor.p.x + mount.world_error.x, sensor.p.y + mount.world_error.y, sensor.theta)
}

impl<const D: usize> Erased for OfWorld<D> {
    fn components(&self) -> &[Component] {
        &COMPONENTS[..D]
    }

    fn is_of_pose(&self) -> bool {
        true
    }

    fn is_of_world(&self) -> bool {
        true
    }

    fn read(&self, raw: &Measurement) -> Result<(Vector3<f64>, Matrix3<f64>), DropReason> {
        let (value, covariance) = numbers::<D>(raw, |_| self.own_noise())?;
        if value.iter().take(2).any(|x| x.abs() > MAX_COORDINATE_M) || covariance.diagonal().max() > MAX_VARIANCE {
            return Err(DropReason::Absurd);
        }
        Ok((padded(&value), padded(&covariance)))
    }

    fn expect_landmark(
        &self,
        _: &Mount,
        _: &CheckedMeasurement,
        _: &Vector2<f64>,
        _: &Vector2<f64>,
    ) -> Option<Expected> {
        None
    }

    /// With a = p + R(θ)m the antenna in the map: ∂(p_T, θ_T)/∂(p, θ) = [[R(ψ), J R(ψ)R(θ)m], [0, 1]], by (t, ψ) [[I, J
    /// R(ψ)a], [0, 1]], by b [[I], [0]].
    fn expect_pose(&self, mount: &Mount, checked: &CheckedMeasurement, pose: &Se2, at: &Se2) -> Option<Expected> {
        let (predicted, read): (SVector<f64, D>, SVector<f64, D>) =
            (fixed(&in_world(mount, pose)), fixed(&checked.value));
        let components: [Component; D] = std::array::from_fn(|k| COMPONENTS[k]);
        let turn = mount.world.rotation();
        let arm = skew(&(turn * at.rotation() * mount.nominal().p));
        let antenna = skew(&(turn * at.transform(&mount.nominal().p)));
        let with_turn = |turn: &Matrix2<f64>, arm: &Vector2<f64>| {
            Matrix3::new(turn[(0, 0)], turn[(0, 1)], arm.x, turn[(1, 0)], turn[(1, 1)], arm.y, 0.0, 0.0, 1.0)
        };
        let rows = |whole: &Matrix3<f64>| Matrix3::from_fn(|i, j| if i < D { whole[(i, j)] } else { 0.0 });
        let by_calibration = mount.is_calibrated().then(|| {
            let mut jacobian = SMatrix::<f64, 3, 5>::zeros();
            jacobian.fixed_columns_mut::<3>(0).copy_from(&rows(&with_turn(&Matrix2::identity(), &antenna)));
            (jacobian[(0, 3)], jacobian[(1, 4)]) = (1.0, 1.0);
            SensorJacobian::of_world(&jacobian)
        });
        Some(Expected {
            dim: D,
            residual: padded(&residual(&components, &read, &predicted)),
            by_landmark: Matrix3x2::zeros(),
            by_pose: rows(&with_turn(&turn, &arm)),
            by_calibration,
            noise: checked.covariance,
        })
    }

    fn place(&self, _: &Mount, _: &CheckedMeasurement) -> Option<(Vector2<f64>, Matrix2<f64>)> {
        None
    }

    fn hypotheses(&self, _: &Mount, _: &CheckedMeasurement) -> Vec<(Vector2<f64>, Matrix2<f64>)> {
        Vec::new()
    }

    fn trust(&self, _: &Vector3<f64>, _: &Matrix3<f64>) -> f64 {
        1.0
    }

    fn simulate(&self, robot: &Se2, mount: &Se2, _: &[(u32, Vector2<f64>)]) -> Vec<(Option<u32>, Vector3<f64>)> {
        let sensor = *robot * *mount;
        let whole = Vector3::new(sensor.p.x, sensor.p.y, sensor.theta);
        vec![(None, whole.map_with_location(|i, _, x| if i < D { x } else { 0.0 }))]
    }

    fn noise(&self) -> Matrix3<f64> {
        padded(&self.own_noise())
    }
}
