//! Random states.

use lienav_inertial::covariance::NavMatrix;
use lienav_inertial::filter::Filter;
use lienav_inertial::imu::Biases;
use lienav_inertial::state::State;
use lienav_inertial::state::nav::Nav;
use lienav_lie::{LieGroup, So3};
use nalgebra::{Matrix3, Vector3};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

/// Standard normal numbers from a seed.
pub struct Normal {
    rng: ChaCha8Rng,
}

/// A camera that looks along x of the body, its y axis down.
pub fn looks_along_x() -> So3 {
    So3::from_matrix_unchecked(Matrix3::new(0.0, 0.0, 1.0, -1.0, 0.0, 0.0, 0.0, -1.0, 0.0))
}

impl Normal {
    pub fn new(seed: u64) -> Self {
        Self { rng: ChaCha8Rng::seed_from_u64(seed) }
    }

    pub fn one(&mut self) -> f64 {
        StandardNormal.sample(&mut self.rng)
    }

    pub fn vector(&mut self, sigma: f64) -> Vector3<f64> {
        Vector3::from_fn(|_, _| sigma * self.one())
    }

    /// A state without landmarks, with a random covariance.
    pub fn state(&mut self, filter: &Filter) -> State {
        let rotation = So3::exp(&self.vector(1.0));
        let biases = Biases { gyro: self.vector(0.05), accelerometer: self.vector(0.2) };
        let nav = Nav { rotation, velocity: self.vector(1.0), position: self.vector(3.0), biases };
        let root = NavMatrix::from_fn(|_, _| 0.01 * self.one());
        let mut state = State::new(nav, &(root * root.transpose()), 10, filter);
        state.rate = self.vector(0.5);
        state.predicted.velocity += self.vector(0.01);
        state.predicted.position += self.vector(0.01);
        state
    }
}
