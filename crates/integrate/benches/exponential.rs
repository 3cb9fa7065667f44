//! One step of the exponential integrators on the nonlinear Schrödinger equation beside a pair of transforms of the
//! same length, by number of nodes. Throughput of a step is in iterations, that of the pair in pairs: their ratio is
//! what an iteration costs in pairs.
//!
//! `cargo bench -p lienav-integrate --bench exponential`

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use lienav_integrate::dynamics::nls::Nls;
use lienav_integrate::exponential::{EnergyPreservingExponential, Iteration, Method, SymplecticExponential};
use nalgebra::Complex;
use rustfft::FftPlanner;
use std::hint::black_box;

const STEP: f64 = 0.01;

/// Iterations are counted over so many steps.
const COUNTED: usize = 100;

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
            let iterations = method.run(COUNTED, &mut state).expect("the step is small");
            group.throughput(Throughput::Elements((iterations as f64 / COUNTED as f64).round() as u64));
            group.bench_function(BenchmarkId::new(name, nodes), |bencher| {
                bencher.iter(|| method.step(0.0, black_box(&mut state)).expect("the step is small"));
            });
        }
        let mut planner = FftPlanner::new();
        let (forward, backward) = (planner.plan_fft_forward(nodes), planner.plan_fft_inverse(nodes));
        let length = forward.get_inplace_scratch_len().max(backward.get_inplace_scratch_len());
        let (mut field, mut scratch) = (vec![Complex::new(1e-3, 0.0); nodes], vec![Complex::new(0.0, 0.0); length]);
        let scale = 1.0 / nodes as f64;
        group.throughput(Throughput::Elements(1));
        group.bench_function(BenchmarkId::new("pair of transforms", nodes), |bencher| {
            bencher.iter(|| {
                forward.process_with_scratch(black_box(&mut field), &mut scratch);
                backward.process_with_scratch(&mut field, &mut scratch);
                field.iter_mut().for_each(|x| *x *= scale);
            });
        });
    }
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
