//! Random states.

use crate::clone::clone_pose;
use crate::covariance::NavMatrix;
use crate::filter::Filter;
use crate::imu::{Biases, Imu, ImuNoise};
use crate::preintegration::{Preintegrated, Preintegration};
use crate::state::State;
use crate::state::calibration::Calibration;
use crate::state::landmark::{Kind, Landmark};
use crate::state::nav::Nav;
use lienav_lie::{LieGroup, Se3, So3};
use nalgebra::{DMatrix, Matrix3, SMatrix, Vector3};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

/// Standard normal numbers from a seed.
pub struct Normal {
    rng: ChaCha8Rng,
    /// Whether states estimate extrinsics and clock of a sensor.
    pub calibrates: bool,
    /// Whether states have a pose clone, of filters that can.
    pub has_clone: bool,
}

/// A camera that looks along x of the body, its y axis down.
pub fn looks_along_x() -> So3 {
    So3::from_matrix_unchecked(Matrix3::new(0.0, 0.0, 1.0, -1.0, 0.0, 0.0, 0.0, -1.0, 0.0))
}

impl Normal {
    pub fn new(seed: u64) -> Self {
        Self { rng: ChaCha8Rng::seed_from_u64(seed), calibrates: false, has_clone: false }
    }

    pub fn one(&mut self) -> f64 {
        StandardNormal.sample(&mut self.rng)
    }

    pub fn vector(&mut self, sigma: f64) -> Vector3<f64> {
        Vector3::from_fn(|_, _| sigma * self.one())
    }

    pub fn nav(&mut self) -> Nav {
        let rotation = So3::exp(&self.vector(1.0));
        let biases = Biases { gyro: self.vector(0.05), accelerometer: self.vector(0.2) };
        Nav { rotation, velocity: self.vector(1.0), position: self.vector(3.0), biases }
    }

    /// A state with a random covariance and landmarks in view of a camera that looks along x.
    pub fn state(&mut self, landmarks: usize, filter: &Filter) -> State {
        let nav = self.nav();
        let root = NavMatrix::from_fn(|_, _| 0.01 * self.one());
        let sensor = Se3::new(looks_along_x() * So3::exp(&self.vector(0.1)), self.vector(0.1));
        let (extrinsics_sigma, time_offset_sigma_s) = (Some((0.01, 0.02)), Some(0.003));
        let calibration = Calibration { sensor, time_offset_s: 0.002, extrinsics_sigma, time_offset_sigma_s };
        let calibration = if self.calibrates { calibration } else { Calibration::default() };
        let covariance = root * root.transpose();
        let mut state = State::with_calibration(nav, &covariance, calibration, landmarks, filter);
        state.rate = self.vector(0.5);
        for id in 0..landmarks {
            let z = Vector3::new(4.0, 0.0, 0.0) + self.vector(0.8);
            let position = nav.position + nav.rotation * z;
            let anchor = nav.position + self.vector(0.2);
            state.landmarks.push(Landmark {
                chart: filter.chart,
                id: id as u64,
                kind: Kind::Point,
                position,
                anchor,
                first: position + self.vector(0.02),
                is_confirmed: true,
                rejected: 0,
            });
            let by_nav = SMatrix::from_fn(|_, _| 0.1 * self.one());
            let root = Matrix3::from_fn(|_, _| 0.02 * self.one());
            state.covariance.append(&by_nav, &(root * root.transpose()));
        }
        if self.has_clone {
            let nav = self.nav();
            clone_pose(&mut state, 100, filter);
            for (i, part) in state.landmarks.iter_mut().enumerate().skip(landmarks) {
                part.position = nav.position;
                if let Kind::CloneRotation(rotation) = &mut part.kind {
                    *rotation = nav.rotation;
                }
                let root = Matrix3::from_fn(|_, _| 0.02 * self.one());
                let row = state.covariance.row_of(i);
                state.covariance.set(row, row, &(root * root.transpose()));
            }
        }
        state.predicted.velocity += self.vector(0.01);
        state.predicted.position += self.vector(0.01);
        state
    }

    /// A tenth of a second of a sensor that turns and shakes.
    pub fn increment(&mut self, biases: Biases) -> Preintegrated {
        preintegrate(&self.samples(), biases)
    }

    /// What the sensor measures at the Gauss points of twenty steps of 5 ms.
    pub fn samples(&mut self) -> Vec<[Imu; 2]> {
        let (rate, force) = (self.vector(0.5), self.vector(1.0) + Vector3::z() * 9.8);
        (0..20).map(|_| [0, 1].map(|_| Imu::new(rate + self.vector(0.2), force + self.vector(0.5)))).collect()
    }
}

pub fn preintegrate(samples: &[[Imu; 2]], biases: Biases) -> Preintegrated {
    let mut sum = Preintegration::new(biases, ImuNoise::default());
    samples.iter().for_each(|pair| sum.add(0.005, pair));
    sum.finish()
}

/// The largest difference of two covariances, each element in units of the standard deviations of its row and column.
pub fn relative_difference(a: &DMatrix<f64>, b: &DMatrix<f64>) -> f64 {
    let scale = |i: usize| b[(i, i)].sqrt();
    let at = |i: usize, j: usize| (a[(i, j)] - b[(i, j)]).abs() / (scale(i) * scale(j));
    (0..a.nrows()).flat_map(|i| (0..a.ncols()).map(move |j| (i, j))).map(|(i, j)| at(i, j)).fold(0.0, f64::max)
}

/// The landmarks of a state.
pub fn places(state: &State) -> Vec<Landmark> {
    state.landmarks.clone()
}
