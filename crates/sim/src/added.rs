//! Sensors that a program adds to a simulation: their measurements follow from what they measure.

use super::random::normal;
use lienav_base::stamp::Stamp;
use lienav_lie::{Se2, wrap_angle};
use lienav_slam::{Measurement, MeasurementKind, Scan, Sensor, Value};
use nalgebra::{Matrix3, Vector2, Vector3};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

/// Streams of random numbers of added sensors begin here, behind those of the scenario.
const FIRST_STREAM: u64 = 1 << 32;

/// An added sensor with its noise.
#[derive(Clone, Debug)]
pub(super) struct AddedSensor {
    sensor: Sensor,
    kind: MeasurementKind,
    /// L with L Lᵀ the covariance of a measurement.
    root: Matrix3<f64>,
    noise: ChaCha8Rng,
}

impl AddedSensor {
    /// The sensor of this kind, with its number from 0, which chooses its stream of random numbers.
    pub(super) fn new(sensor: Sensor, kind: MeasurementKind, number: u64, seed: u64) -> Self {
        let mut noise = ChaCha8Rng::seed_from_u64(seed);
        noise.set_stream(FIRST_STREAM + number);
        Self { root: factor(&sensor.noise()), sensor, kind, noise }
    }

    /// What is read by a base at `robot`, with noise.
    pub(super) fn observe(&mut self, stamp: Stamp, robot: &Se2, landmarks: &[(u32, Vector2<f64>)]) -> Scan {
        let checked_measurements = self.sensor.simulate(robot, landmarks);
        let measurements = checked_measurements.into_iter().map(|(id, exact)| {
            let draw = Vector3::from_fn(|_, _| normal(&mut self.noise));
            let mut value = exact + self.root * draw;
            for (x, component) in value.iter_mut().zip(self.sensor.components()) {
                if component.wraps() {
                    *x = wrap_angle(*x);
                }
            }
            Measurement::new(id, of_dim(&value, self.sensor.dim()))
        });
        Scan { stamp, kind: self.kind, measurements: measurements.collect() }
    }
}

fn of_dim(value: &Vector3<f64>, dim: usize) -> Value {
    match dim {
        1 => [value.x].into(),
        2 => [value.x, value.y].into(),
        _ => (*value).into(),
    }
}

/// The lower triangular factor of a positive semidefinite matrix; columns of numbers without noise are zero.
fn factor(covariance: &Matrix3<f64>) -> Matrix3<f64> {
    let mut l = Matrix3::<f64>::zeros();
    for j in 0..3 {
        let pivot = covariance[(j, j)] - (0..j).map(|k| l[(j, k)] * l[(j, k)]).sum::<f64>();
        if pivot > 0.0 {
            l[(j, j)] = pivot.sqrt();
            for i in j + 1..3 {
                let known = (0..j).map(|k| l[(i, k)] * l[(j, k)]).sum::<f64>();
                l[(i, j)] = (covariance[(i, j)] - known) / l[(j, j)];
            }
        }
    }
    l
}
