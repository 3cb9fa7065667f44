//! One step of the exponential integrators on the nonlinear Schrödinger equation, beside a pair of transforms of the same
//! length, over the number of nodes.
//!
//! `cargo bench --no-default-features --bench exponential`

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use lienav::dynamics::nls::Nls;
use lienav::integrate::exponential::{
    EnergyPreservingExponential, Iteration, Method, SemilinearPoisson, SymplecticExponential,
};
use nalgebra::Complex;
use std::hint::black_box;

const STEP: f64 = 0.01;

fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("exponential");
    for nodes in [81, 161, 401] {
        let system = Nls::new(nodes).expect("there are nodes");
        let start = system.sample(|x| Complex::new(1.0 / (2.0 + x.cos()), 0.0));
        let exact = Iteration::default();
        let methods: [(&str, Box<dyn Method + '_>); 3] = [
            ("midpoint", Box::new(SymplecticExponential::midpoint(&system, STEP, exact))),
            ("disex", Box::new(SymplecticExponential::disex(&system, STEP, exact))),
            ("energy-preserving", Box::new(EnergyPreservingExponential::new(&system, STEP, exact))),
        ];
        for (name, mut method) in methods {
            let mut state = start.clone();
            group.bench_function(BenchmarkId::new(name, nodes), |bencher| {
                bencher.iter(|| method.step(0.0, black_box(&mut state)).expect("the step is small"));
            });
        }
        // The identity takes one transform forth and one back.
        let identity = system.function(&|_| Complex::new(1.0, 0.0));
        let (mut scratch, mut out) = (system.scratch(), start.clone());
        group.bench_function(BenchmarkId::new("pair of transforms", nodes), |bencher| {
            bencher.iter(|| system.apply(&identity, black_box(&start), &mut out, &mut scratch));
        });
    }
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
