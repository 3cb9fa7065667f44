//! Starts against draws.

use super::common::Normal;
use crate::filter::Filter;
use crate::imu::{Biases, Imu, ImuNoise};
use crate::start::{Prior, RestSamples, StartError};
use crate::state::GRAVITY;
use crate::state::nav::Nav;
use lienav_lie::{LieGroup, So3};
use nalgebra::Vector3;

/// Roll, pitch and yaw of one axis after the other: yaw is what the start is given.
fn heading_of(rotation: &So3, estimate: &So3) -> f64 {
    (*rotation * estimate.inverse()).log().z
}

#[test]
fn a_start_at_rest_is_as_good_as_it_says() {
    let mut normal = Normal::new(21);
    let noise = ImuNoise { gyro: 2e-3, accelerometer: 0.02, ..ImuNoise::default() };
    let (mut nees, runs) = (0.0, 400);
    for run in 0..runs {
        let gravity_sigma = 0.02;
        let gravity = GRAVITY + gravity_sigma * normal.one();
        let biases = Biases { gyro: normal.vector(0.05), accelerometer: normal.vector(0.1) };
        let tilted = if run % 7 == 0 { 3.0 } else { 0.5 };
        let rotation = So3::exp(&normal.vector(tilted));
        let mut samples = RestSamples::default();
        for _ in 0..400 {
            let per_sample = 200f64.sqrt();
            let rate = biases.gyro + normal.vector(noise.gyro * per_sample);
            let force = rotation.rotate_back(&(Vector3::z() * gravity)) + biases.accelerometer;
            samples.add(&Imu::new(rate, force + normal.vector(noise.accelerometer * per_sample)));
        }
        let prior = Prior { gravity: (GRAVITY, gravity_sigma), heading: (0.3, 0.1), ..Prior::default() };
        let filter = Filter::DEFAULT;
        let state = samples.start(2.0, &prior, &noise, 10, &filter).unwrap();
        // The heading is whatever the start was given: take it out, and give it its error.
        let off = heading_of(&rotation, &state.nav.rotation);
        let mut truth = Nav { rotation, biases, ..Nav::default() };
        for _ in 0..20 {
            let turn = heading_of(&truth.rotation, &state.nav.rotation);
            truth.rotation = So3::exp(&(Vector3::z() * -turn)) * truth.rotation;
        }
        truth.rotation = So3::exp(&(Vector3::z() * (0.1 * normal.one()))) * truth.rotation;
        truth.velocity = normal.vector(0.01);
        truth.biases.gyro += normal.vector(0.001);
        assert!(off.is_finite());
        let error = nalgebra::DVector::from(state.boxminus(&truth, &[], &filter).unwrap());
        // Of rows with a variance: not the position, which is given.
        let rows: Vec<usize> = (0..15).filter(|row| !(6..9).contains(row)).collect();
        let p = nalgebra::DMatrix::from_fn(12, 12, |i, j| state.covariance.get(rows[i], rows[j]));
        let e = nalgebra::DVector::from_fn(12, |i, _| error[rows[i]]);
        nees += e.dot(&p.cholesky().expect("positive definite").solve(&e)) / f64::from(runs);
    }
    println!("NEES {nees:.2} of 12");
    // 12 ± 3 √(24/400), and the second order of tilts of a degree.
    assert!((11.2..12.9).contains(&nees), "{nees}");
}

#[test]
fn what_is_no_rest_is_refused() {
    let (prior, noise, filter) = (Prior::default(), ImuNoise::default(), Filter::DEFAULT);
    let start = |force: Vector3<f64>| {
        let mut samples = RestSamples::default();
        (0..10).for_each(|_| samples.add(&Imu::new(Vector3::zeros(), force)));
        samples.add(&Imu::new(Vector3::repeat(f64::NAN), force));
        samples.start(0.05, &prior, &noise, 0, &filter).map(|state| state.nav.rotation)
    };
    assert_eq!(RestSamples::default().start(1.0, &prior, &noise, 0, &filter).err(), Some(StartError::NoSamples));
    // In units of g.
    assert_eq!(start(Vector3::z()).err(), Some(StartError::NotGravity));
    assert_eq!(start(Vector3::z() * GRAVITY).unwrap(), So3::identity());
    let upside_down = start(Vector3::z() * -GRAVITY).unwrap();
    assert!((upside_down * -Vector3::z() - Vector3::z()).norm() < 1e-12);
}
