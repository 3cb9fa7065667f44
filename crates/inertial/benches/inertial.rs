//! What preintegration costs a sample, and a frame of the filter.
//!
//! `cargo bench -p lienav-inertial`

use lienav_inertial::imu::{Biases, Imu, ImuNoise, ImuSample};
use lienav_inertial::preintegration::integrator::Integrator;
use lienav_inertial::preintegration::samples::Interpolation;
use lienav_base::stamp::Stamp;
use nalgebra::Vector3;
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

fn main() {
    preintegration();
}
