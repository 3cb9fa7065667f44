//! An odometry message at 1 kHz, with the prediction after it, over the time that odometry waits for late scans.
//!
//! `cargo bench -p lienav-slam --bench look_ahead`

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use lienav_base::stamp::Stamp;
use lienav_slam::{Config, Odometry, Slam};
use nalgebra::Vector2;
use std::hint::black_box;

const PERIOD_NANOS: i64 = 1_000_000;

struct Drive {
    slam: Slam,
    nanos: i64,
}

impl Drive {
    /// A robot whose reorder buffer is as full as it gets.
    fn new(reorder_window_s: f64) -> Self {
        let mut config = Config::default();
        config.timing.reorder_window_s = reorder_window_s;
        let mut drive = Self { slam: Slam::new(config).expect("the settings are valid"), nanos: 0 };
        (0..3000).for_each(|_| drive.message());
        drive
    }

    fn message(&mut self) {
        let odometry = Odometry {
            stamp: Stamp::from_nanos(self.nanos),
            velocity: Vector2::new(0.9, 0.0),
            yaw_rate: 0.3,
            covariance: None,
        };
        self.nanos += PERIOD_NANOS;
        self.slam.odometry(&odometry).expect("the message is good");
        black_box(self.slam.predicted());
    }
}

fn look_ahead(c: &mut Criterion) {
    let mut group = c.benchmark_group("odometry message at 1 kHz");
    for window in [0.0, 0.2, 2.0] {
        let mut drive = Drive::new(window);
        group.bench_function(BenchmarkId::new("reorder window s", window), |b| b.iter(|| drive.message()));
    }
    group.finish();
}

criterion_group!(benches, look_ahead);
criterion_main!(benches);
