//! What a step of the attitude costs: the rotation over an interval by each method, alone and with the polynomial
//! through the samples; and the whole filter, a sample.
//!
//! `cargo bench -p lienav-attitude --bench attitude`

use criterion::{Criterion, criterion_group, criterion_main};
use lienav_attitude::{Attitude, Config, ImuSample};
use lienav_base::stamp::Stamp;
use lienav_integrate::attitude::{Method, Rates, Samples};
use nalgebra::{UnitQuaternion, Vector3};
use std::hint::black_box;

const H: f64 = 0.005;

fn kinematics(c: &mut Criterion) {
    let rates = Rates {
        start: Vector3::new(1.0, 2.0, 3.0),
        middle: Vector3::new(1.1, 2.0, 2.9),
        end: Vector3::new(1.2, 1.9, 2.8),
    };
    let rates_in_turn: [Vector3<f64>; 64] = std::array::from_fn(|k| {
        let (sin, cos) = (k as f64 * std::f64::consts::TAU / 64.0).sin_cos();
        Vector3::new(1.0 + sin, 2.0 - cos, 0.3)
    });
    for method in Method::ALL {
        let mut q = UnitQuaternion::identity();
        c.bench_function(&format!("kinematic step/{}", method.name()), |b| {
            b.iter(|| q *= method.rotation(black_box(H), black_box(&rates)));
        });
        let (mut q, mut samples, mut k) = (UnitQuaternion::identity(), Samples::default(), 0);
        c.bench_function(&format!("kinematic step with samples/{}", method.name()), |b| {
            b.iter(|| {
                k = (k + 1) % rates_in_turn.len();
                q *= method.rotation(H, &samples.push(black_box(H), rates_in_turn[k]));
            });
        });
    }
}

fn filter(c: &mut Criterion) {
    for hz in [200, 1000] {
        let mut attitude = Attitude::new(Config::default()).expect("the defaults are valid");
        let mut k = 0;
        c.bench_function(&format!("filter/a sample at {hz} Hz"), |b| {
            b.iter(|| {
                k += 1;
                let (sin, cos) = (k as f64 * 0.01).sin_cos();
                let sample = ImuSample {
                    stamp: Stamp::from_nanos(k * 1_000_000_000 / hz),
                    angular_velocity: Vector3::new(sin, 1.0, 0.5),
                    specific_force: Vector3::new(0.3, 9.0, cos),
                };
                black_box(attitude.imu(&sample).is_ok());
                black_box(attitude.orientation())
            });
        });
    }
}

criterion_group!(benches, kinematics, filter);
criterion_main!(benches);
