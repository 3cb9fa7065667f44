//! One filter step, propagation and update, over the size of the map and the number of landmarks in view.
//!
//! `cargo bench -p lienav-slam --bench filter_step`

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use lienav_base::stamp::Stamp;
use lienav_lie::Se2;
use lienav_slam::{Config, Measurement, MeasurementKind, Odometry, Slam};
use nalgebra::{Vector2, Vector3};
use std::hint::black_box;

const DT_NANOS: i64 = 100_000_000;

/// A robot on a circle inside a ring of landmarks, all of which are in its map.
struct Scene {
    slam: Slam,
    truth: Se2,
    landmarks: Vec<Vector2<f64>>,
    step: i64,
}

impl Scene {
    fn new(filter: &str, landmarks: usize) -> Self {
        let mut config = Config { filter: filter.into(), ..Config::default() };
        config.learning.enabled = false;
        config.map.max_features = landmarks;
        config.gate.probability = 1.0;
        let ring = |i: usize| {
            let angle = i as f64 * std::f64::consts::TAU / landmarks as f64;
            Se2::new(0.0, 3.0, angle).transform(&Vector2::new(6.0 + (i % 7) as f64, 0.0))
        };
        let landmarks = (0..landmarks).map(ring).collect();
        let mut scene = Self {
            slam: Slam::new(config).expect("the settings are valid"),
            truth: Se2::identity(),
            landmarks,
            step: 0,
        };
        scene.advance(usize::MAX);
        scene
    }

    fn advance(&mut self, in_view: usize) {
        let (v, w) = (0.9, 0.3);
        if self.step > 0 {
            self.truth = self.truth * Se2::exp(&Vector3::new(v * 0.1, 0.0, w * 0.1));
        }
        let stamp = Stamp::from_nanos(DT_NANOS * self.step);
        let n = self.landmarks.len();
        let seen: Vec<Measurement> = (0..in_view.min(n))
            .map(|k| {
                let id = (self.step as usize * 7 + k * (n / in_view.min(n))) % n;
                let z = self.truth.transform_back(&self.landmarks[id]);
                let value = [z.norm(), z.y.atan2(z.x)];
                Measurement::new(Some(id as u32), value)
            })
            .collect();
        let velocity = Vector2::new(v, 0.0);
        let _ = self.slam.odometry(&Odometry { stamp, velocity, yaw_rate: w, covariance: None });
        let _ = self.slam.features(stamp, MeasurementKind::RangeBearing, &seen);
        black_box(self.slam.poll());
        self.step += 1;
    }
}

/// What memory needs alone: the lower triangle of a covariance of so many landmarks, read and written once, as an
/// update does.
fn floor(covariance: &mut [f64], rows: usize) {
    for (j, column) in covariance.chunks_exact_mut(rows).enumerate() {
        column[j..].iter_mut().for_each(|value| *value *= 0.999_999);
    }
}

fn filter_step(c: &mut Criterion) {
    for in_view in [5, 20] {
        let mut group = c.benchmark_group(format!("step with {in_view} in view"));
        group.sample_size(20);
        for landmarks in [10, 20, 50, 100, 300, 1000] {
            for filter in ["ekf", "fe-ekf", "reduced", "default"] {
                let mut scene = Scene::new(filter, landmarks);
                group.bench_function(BenchmarkId::new(filter, landmarks), |b| b.iter(|| scene.advance(in_view)));
            }
            let rows = 3 + 2 * landmarks;
            let mut covariance = vec![1.0; rows * rows];
            group.bench_function(BenchmarkId::new("floor", landmarks), |b| {
                b.iter(|| floor(black_box(&mut covariance), rows));
            });
        }
        group.finish();
    }
}

criterion_group!(benches, filter_step);
criterion_main!(benches);
