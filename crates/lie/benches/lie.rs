//! The maps of SO(3), beside nalgebra's own, over the angle.
//!
//! `cargo bench -p lienav-lie --bench lie`

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use lienav_lie::{LieGroup, Quat, Se3, So3, SoN, hat, se3};
use nalgebra::{Matrix3, Rotation3, UnitQuaternion, Vector3, Vector6};
use std::hint::black_box;

const COUNT: usize = 1000;

/// A thousand rotation vectors in all directions, of about one length.
fn vectors(angle: f64) -> Vec<Vector3<f64>> {
    let vector = |i: usize| {
        let t = i as f64;
        let direction = Vector3::new((1.3 * t).sin(), (0.7 * t).cos(), (2.1 * t).sin()).normalize();
        direction * angle * (0.9 + 0.1 * (3.1 * t).sin())
    };
    (0..COUNT).map(vector).collect()
}

/// One function over all inputs: the time of a thousand calls; criterion prints the rate per element.
fn run<T, R>(c: &mut Criterion, group: &str, name: &str, inputs: &[T], f: impl Fn(&T) -> R) {
    let mut group = c.benchmark_group(group);
    group.throughput(Throughput::Elements(inputs.len() as u64)).sample_size(20);
    group.bench_function(name, |b| {
        b.iter(|| {
            for x in inputs {
                black_box(f(black_box(x)));
            }
        });
    });
    group.finish();
}

fn pairs<T: Copy>(of: &[T]) -> Vec<(T, T)> {
    of.iter().copied().zip(of.iter().rev().copied()).collect()
}

fn rotations(c: &mut Criterion) {
    for angle in [0.01, 0.5, 1.7, 3.0] {
        let group = |map: &str| format!("{map} at {angle} rad");
        let xi = vectors(angle);
        run(c, &group("exp"), "So3", &xi, So3::exp);
        run(c, &group("exp"), "Rotation3", &xi, |xi| Rotation3::from_scaled_axis(*xi));
        run(c, &group("exp"), "Quat", &xi, Quat::exp);
        run(c, &group("exp"), "UnitQuaternion", &xi, |xi| UnitQuaternion::from_scaled_axis(*xi));
        let turns: Vec<So3> = xi.iter().map(So3::exp).collect();
        let theirs: Vec<Rotation3<f64>> = turns.iter().map(So3::rotation).collect();
        let quaternions: Vec<Quat> = xi.iter().map(Quat::exp).collect();
        let their_quaternions: Vec<UnitQuaternion<f64>> = quaternions.iter().map(Quat::unit_quaternion).collect();
        run(c, &group("log"), "So3", &turns, So3::log);
        run(c, &group("log"), "Rotation3", &theirs, Rotation3::scaled_axis);
        run(c, &group("log"), "Quat", &quaternions, Quat::log);
        run(c, &group("log"), "UnitQuaternion", &their_quaternions, UnitQuaternion::scaled_axis);
        run(c, &group("compose"), "So3", &pairs(&turns), |(a, b)| a.compose(b));
        run(c, &group("compose"), "Rotation3", &pairs(&theirs), |(a, b)| a * b);
        run(c, &group("compose"), "Quat", &pairs(&quaternions), |(a, b)| a.compose(b));
        run(c, &group("compose"), "UnitQuaternion", &pairs(&their_quaternions), |(a, b)| a * b);
        run(c, &group("cayley"), "So3", &xi, So3::cayley);
        run(c, &group("dexp"), "So3", &pairs(&xi), |(a, b)| So3::dexp(a, b));
        run(c, &group("dexp_inv"), "So3", &pairs(&xi), |(a, b)| So3::dexp_inv(a, b));
    }
}

fn others(c: &mut Criterion) {
    let xi = vectors(0.5);
    let twists: Vec<Vector6<f64>> = pairs(&xi).iter().map(|(a, b)| se3::join(a, b)).collect();
    let skew: Vec<Matrix3<f64>> = xi.iter().map(hat).collect();
    run(c, "exp of others", "Se3", &twists, Se3::exp);
    run(c, "exp of others", "SoN<3>", &skew, SoN::<3>::exp);
    run(c, "dexp_inv of others", "Se3", &pairs(&twists), |(a, b)| Se3::dexp_inv(a, b));
    run(c, "dexp_inv of others", "SoN<3>", &pairs(&skew), |(a, b)| SoN::<3>::dexp_inv(a, b));
}

criterion_group!(benches, rotations, others);
criterion_main!(benches);
