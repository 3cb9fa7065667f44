//! What preintegration costs a sample, and a frame of the filter; how exact its increments and covariances are.
//!
//! `cargo bench -p lienav-inertial`

mod increments;

use lienav_base::stamp::Stamp;
use lienav_inertial::covariance::NavMatrix;
use lienav_inertial::filter::Filter;
use lienav_inertial::imu::{Biases, Imu, ImuNoise, ImuSample};
use lienav_inertial::measurement::Measurement;
use lienav_inertial::measurement::pixel::{Pinhole, Pixel};
use lienav_inertial::measurement::point::{Mount, Target};
use lienav_inertial::measurement::position::LandmarkPosition;
use lienav_inertial::preintegration::Preintegration;
use lienav_inertial::preintegration::integrator::Integrator;
use lienav_inertial::preintegration::samples::Interpolation;
use lienav_inertial::state::State;
use lienav_inertial::state::nav::Nav;
use lienav_inertial::step::Step;
use lienav_lie::{Se3, So3};
use nalgebra::{Matrix3, Vector2, Vector3};
use std::hint::black_box;
use std::time::Instant;

/// Runs `of` in rounds; prints the median time of a unit, in ns.
fn time(name: &str, units: u32, mut of: impl FnMut()) {
    let mut rounds: Vec<f64> = (0..31)
        .map(|_| {
            let start = Instant::now();
            of();
            start.elapsed().as_secs_f64() * 1e9 / f64::from(units)
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    println!("{name}: {:.1} ns", rounds[15]);
}

fn preintegration() {
    let samples: Vec<ImuSample> = (0..10_000)
        .map(|k| {
            let t = f64::from(k) * 0.005;
            let rate = Vector3::new(t.sin(), 0.3, t.cos());
            let value = Imu::new(rate, Vector3::new(t.cos(), 1.0, 9.8));
            ImuSample { stamp: Stamp::from_secs(t), value }
        })
        .collect();
    for interpolation in [Interpolation::Linear, Interpolation::Cubic] {
        time(&format!("preintegration, a sample ({interpolation:?})"), 10_000, || {
            let mut integrator = Integrator::new(Biases::default(), ImuNoise::default(), interpolation);
            for (k, sample) in samples.iter().enumerate() {
                let _ = integrator.push(*sample);
                if k % 10 == 0 {
                    black_box(integrator.take(sample.stamp).ok());
                }
            }
            black_box(&integrator);
        });
    }
}

/// A state with 60 landmarks around, of which 20 are in front of the camera.
fn frame() {
    let filter = Filter::DEFAULT;
    let nav = Nav::default();
    let mut state = State::new(nav, &(NavMatrix::identity() * 1e-4), 70, &filter);
    let mut step = Step::new(filter);
    let camera = Pinhole { focal: Vector2::repeat(400.0), centre: Vector2::zeros() };
    let x_ahead = Matrix3::new(0.0, 0.0, 1.0, -1.0, 0.0, 0.0, 0.0, -1.0, 0.0);
    let mount = Mount::Fixed(Se3::new(So3::from_matrix_unchecked(x_ahead), Vector3::zeros()));
    let place = |id: u64| {
        let angle = id as f64 * 0.3;
        let ahead = if id < 20 { 4.0 + 0.5 * angle.sin() } else { -4.0 };
        Vector3::new(ahead, 2.0 * angle.cos(), (2.3 * angle).sin())
    };
    let of = |id| LandmarkPosition {
        target: Target::Landmark(id),
        mount: Mount::Fixed(Se3::identity()),
        position: place(id),
        covariance: Matrix3::identity() * 1e-2,
    };
    let all: Vec<_> = (0..60).map(of).collect();
    let all: Vec<&dyn Measurement> = all.iter().map(|one| one as &dyn Measurement).collect();
    step.correct(&mut state, &all).unwrap();
    let pixel = |id| {
        let p = place(id);
        let pixel = Vector2::new(-p.y / p.x, -p.z / p.x) * 400.0;
        Pixel { target: Target::Landmark(id), mount, camera, pixel, sigma: 1.0 }
    };
    let pixels: Vec<Pixel> = (0..20).map(pixel).collect();
    let seen: Vec<&dyn Measurement> = pixels.iter().map(|one| one as &dyn Measurement).collect();
    let mut increment = Preintegration::new(Biases::default(), ImuNoise::default());
    let at_rest = Imu::new(Vector3::zeros(), Vector3::new(0.0, 0.0, state.gravity));
    (0..10).for_each(|_| increment.add(0.005, &[at_rest; 2]));
    let increment = increment.finish();
    time("predict, 60 landmarks", 20, || {
        let mut copy = state.clone();
        (0..20).for_each(|_| step.predict(&mut copy, &increment));
        black_box(&copy);
    });
    let mut used = 0;
    time("a frame, 20 landmarks in view of 60", 20, || {
        let mut copy = state.clone();
        for _ in 0..20 {
            step.predict(&mut copy, &increment);
            used = step.correct(&mut copy, &seen).unwrap().used;
        }
        black_box(&copy);
    });
    assert_eq!(used, 20);
    let n = state.covariance.dim();
    let w = vec![1e-9; 40 * n];
    time("P - W W^T, 40 numbers", 20, || {
        let mut copy = state.clone();
        (0..20).for_each(|_| copy.covariance.subtract_outer(&w));
        black_box(&copy);
    });
    let blocks = vec![Matrix3::identity(); 60];
    time("transform landmarks", 20, || {
        let mut copy = state.clone();
        (0..20).for_each(|_| copy.covariance.transform_landmarks(&blocks));
        black_box(&copy);
    });
}

fn main() {
    preintegration();
    frame();
    increments::report();
}
