//! A step in a known map of 10,000 landmarks, eight in view, 10 Hz: odometry, scan, estimate. And how long the map
//! takes to come in.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use lienav_slam::{MapMode, MeasurementKind, Slam};
use std::hint::black_box;

#[path = "../src/tests/hall.rs"]
#[allow(dead_code)]
mod hall;

const SIDE: usize = 100;
const STEPS: usize = 1000;

fn step(c: &mut Criterion) {
    let truth = hall::landmarks(SIDE, 1);
    let way = hall::Path::Winding;
    let drive = hall::drive(&truth, SIDE, way, STEPS, 2);
    let map = hall::map(&truth, 0.05, 3);
    let mut group = c.benchmark_group("known_map_10000");
    group.throughput(Throughput::Elements(STEPS as u64)).sample_size(20);
    for (name, mode) in [("localization", MapMode::Localization), ("extend", MapMode::Extend)] {
        for (identities, with_identities) in [("identities", true), ("no_identities", false)] {
            let mut drive = drive.clone();
            if !with_identities {
                drive.iter_mut().flat_map(|instant| &mut instant.seen).for_each(|seen| seen.id = None);
            }
            let config = hall::config_from(hall::start(way, SIDE), (0.1, 0.03), "default", mode, 4);
            let begin = || {
                let mut slam = Slam::new(config.clone()).expect("valid settings");
                slam.set_map(map.clone()).expect("a map");
                slam
            };
            group.bench_function(format!("{name}_{identities}"), |b| {
                b.iter_batched_ref(
                    begin,
                    |slam| {
                        for instant in &drive {
                            slam.odometry(&instant.odometry).expect("good odometry");
                            let kind = MeasurementKind::RangeBearing;
                            slam.features(instant.odometry.stamp, kind, &instant.seen).expect("a good cloud");
                            while let Some(step) = slam.poll() {
                                black_box(step);
                            }
                        }
                    },
                    BatchSize::LargeInput,
                );
            });
            if mode == MapMode::Extend && with_identities {
                break;
            }
        }
    }
    group.finish();
    c.bench_function("set_map_10000", |b| {
        let mut slam = Slam::new(hall::config("default", MapMode::Localization)).expect("valid settings");
        b.iter_batched(|| map.clone(), |map| slam.set_map(map).expect("a map"), BatchSize::LargeInput);
    });
}

criterion_group!(benches, step);
criterion_main!(benches);
