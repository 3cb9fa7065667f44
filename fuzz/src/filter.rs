//! The whole filter: bytes as a sequence of odometry, features, gyroscope samples and initial poses, with any numbers
//! and any stamps, in any order.

use super::bytes::Bytes;
use lienav_base::stamp::Stamp;
use lienav_lie::Se2;
use lienav_slam::{Config, Filter, Imu, Label, Measurement, MeasurementKind, Odometry, Slam};
use nalgebra::{Matrix2, Matrix3, Vector2};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many messages and other events the filter was given so far.
pub static EVENTS: AtomicU64 = AtomicU64::new(0);

/// How many observations it has used, to see that a run is not all refusals.
pub static USED: AtomicU64 = AtomicU64::new(0);

/// No panic; poses finite, covariances symmetric with a diagonal that is not negative, stamps of steps increasing; and
/// of everything that came in, it is known what became of it.
pub fn filter(data: &[u8]) {
    let mut bytes = Bytes(data);
    let mut slam = Slam::new(config(&mut bytes)).unwrap();
    let mut story = Story { now: 1_000_000_000, refused: 0, rejected: 0, clouds: BTreeMap::new(), last: None };
    while !bytes.is_empty() {
        EVENTS.fetch_add(1, Ordering::Relaxed);
        story.event(&mut slam, &mut bytes);
        story.check(&mut slam);
    }
    slam.finish();
    story.check(&mut slam);
    // What is refused is counted; more may be counted, of what had waited.
    let counted = slam.counts().total();
    assert!(counted >= story.refused + story.rejected, "{counted} counted, {} refused", story.refused + story.rejected);
}

fn config(bytes: &mut Bytes<'_>) -> Config {
    let names = Filter::NAMES;
    let mut config = Config { filter: names[usize::from(bytes.byte()) % names.len()].to_owned(), ..Config::default() };
    let choices = bytes.byte();
    config.map.max_features = if choices & 1 == 0 { 5 } else { 200 };
    let associations = ["auto", "ids"];
    let rule = associations[usize::from(choices >> 2) % associations.len()];
    config.association = serde_json::from_value(rule.into()).unwrap();
    config.timing.reorder_window_s = if choices & 2 == 0 { config.timing.reorder_window_s } else { 0.0 };
    config
}

struct Story {
    now: i64,
    refused: u64,
    rejected: u64,
    /// How many observations the clouds have that were taken.
    clouds: BTreeMap<Stamp, Vec<usize>>,
    last: Option<Stamp>,
}

impl Story {
    fn event(&mut self, slam: &mut Slam, bytes: &mut Bytes<'_>) {
        let outcome = match bytes.byte() {
            0..100 => {
                let stamp = self.stamp(bytes);
                let [x, y, yaw_rate] = bytes.numbers();
                let covariance = (bytes.byte() > 200).then(|| covariance3(bytes));
                slam.odometry(&Odometry { stamp, velocity: Vector2::new(x, y), yaw_rate, covariance })
            }
            100..190 => {
                let stamp = self.stamp(bytes);
                let kinds =
                    [MeasurementKind::RelativePosition, MeasurementKind::RangeBearing, MeasurementKind::StereoBearings];
                let kind = match bytes.byte() {
                    added @ 250.. => MeasurementKind::Added(added),
                    other => kinds[usize::from(other) % kinds.len()],
                };
                let seen: Vec<Measurement> = (0..bytes.byte() % 12).map(|_| measurement(bytes)).collect();
                let outcome = slam.features(stamp, kind, &seen);
                if outcome.is_ok() {
                    self.clouds.entry(stamp).or_default().push(seen.len());
                }
                outcome
            }
            190..220 => {
                let stamp = self.stamp(bytes);
                slam.imu(&Imu { stamp, yaw_rate: bytes.number(), tilt: None })
            }
            220..240 => {
                let [x, y, yaw] = bytes.numbers();
                slam.set_pose(Se2::new(x, y, yaw), &covariance3(bytes))
            }
            240..248 => {
                let stamp = self.stamp(bytes);
                slam.now(stamp);
                Ok(())
            }
            248..250 => {
                slam.reset();
                self.last = None;
                Ok(())
            }
            even => {
                slam.set_enabled(even % 4 != 0);
                self.last = None;
                Ok(())
            }
        };
        self.refused += u64::from(outcome.is_err());
    }

    /// Mostly a little later than before; sometimes earlier, far away, or anything.
    fn stamp(&mut self, bytes: &mut Bytes<'_>) -> Stamp {
        let nanos = match bytes.byte() {
            later @ 0..200 => {
                self.now = self.now.saturating_add(i64::from(later) * 500_000);
                self.now
            }
            earlier @ 200..235 => self.now.saturating_sub(i64::from(earlier - 200) * 10_000_000),
            jump @ 235..245 => {
                let seconds = [-100_000, -60, -3, 3, 7, 60, 3600, 100_000, 1_700_000_000, -1][usize::from(jump - 235)];
                self.now = self.now.saturating_add(seconds * 1_000_000_000);
                self.now
            }
            245..248 => 0,
            248 => i64::MIN,
            249 => i64::MAX,
            _ => bytes.long() as i64,
        };
        Stamp::from_nanos(nanos)
    }

    fn check(&mut self, slam: &mut Slam) {
        let jumps = slam.time_jumps();
        while let Some(step) = slam.poll() {
            check_pose(step.estimate.pose, &step.estimate.covariance);
            assert!(step.nis.is_finite() && step.nis >= 0.0, "NIS {}", step.nis);
            assert!(step.landmarks <= slam.config().map.max_features);
            USED.fetch_add((step.accepted + step.added) as u64, Ordering::Relaxed);
            self.rejected += step.rejected as u64;
            let seen = step.accepted + step.added + step.rejected;
            let came = self.clouds.entry(step.estimate.stamp).or_default();
            let Some(joined) = joined(came, seen) else {
                panic!("clouds of {came:?} observations were used as {seen}")
            };
            came.drain(joined);
            if jumps == 0 {
                // A cloud of a slower sensor may be a step of its own at the same stamp.
                assert!(self.last.is_none_or(|last| last <= step.estimate.stamp), "stamps of steps decrease");
            }
            self.last = Some(step.estimate.stamp);
        }
        if let Some(estimate) = slam.predicted() {
            check_pose(estimate.pose, &estimate.covariance);
        }
        for landmark in slam.landmarks() {
            assert!(landmark.position.iter().all(|x| x.is_finite()), "a landmark at {}", landmark.position);
            assert!(landmark.covariance.iter().all(|x| x.is_finite()), "{}", landmark.covariance);
            assert!(landmark.covariance.m11 >= 0.0 && landmark.covariance.m22 >= 0.0, "{}", landmark.covariance);
        }
    }
}

/// The clouds of one stamp, in the order that they came, that have so many observations together: those of several
/// sensors are one step.
fn joined(clouds: &[usize], seen: usize) -> Option<Range<usize>> {
    let ranges = (0..clouds.len()).flat_map(|from| (from + 1..=clouds.len()).map(move |to| from..to));
    ranges.rev().find(|range| clouds[range.clone()].iter().sum::<usize>() == seen)
}

fn check_pose(pose: Se2, covariance: &Matrix3<f64>) {
    assert!(pose.p.iter().all(|x| x.is_finite()) && pose.theta.is_finite(), "{pose:?}");
    assert!(covariance.iter().all(|x| x.is_finite()), "{covariance}");
    assert!((covariance - covariance.transpose()).amax() <= 1e-9 * covariance.amax(), "not symmetric: {covariance}");
    assert!(covariance.diagonal().iter().all(|x| *x >= 0.0), "a negative variance: {covariance}");
}

fn measurement(bytes: &mut Bytes<'_>) -> Measurement {
    let id = u32::from(bytes.byte() % 40);
    let value: [f64; 2] = bytes.numbers();
    let extra = bytes.byte();
    let covariance = (extra > 230).then(|| Matrix2::from_row_slice(&bytes.numbers::<4>()).into());
    let label = match extra {
        200..=230 => Label { class: u32::from(extra - 200) % 4, diameter_m: value[0], diameter_std_m: value[1] },
        _ => Label::default(),
    };
    Measurement { covariance, label, ..Measurement::new((id < 35).then_some(id), value) }
}

fn covariance3(bytes: &mut Bytes<'_>) -> Matrix3<f64> {
    match bytes.byte() {
        0..150 => Matrix3::from_diagonal(&bytes.numbers::<3>().map(f64::abs).into()),
        _ => Matrix3::from_row_slice(&bytes.numbers::<9>()),
    }
}

/// Bytes at random are stories already; these begin with each filter.
pub fn corpus() -> Vec<Vec<u8>> {
    let story = |filter: u8| {
        let mut story = vec![filter, filter];
        let mut state = u64::from(filter) + 1;
        for _ in 0..600 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            story.push((state >> 56) as u8);
        }
        // Then a drive past three features, as it should be.
        for k in 0..60_u8 {
            story.extend([10, 40, 0, 168, 144, 0, 0, 128, 0, k, 132, 0]);
            story.extend([110, 5, 1, 3]);
            for id in 0..3 {
                story.extend([id, 0, 100, 180 + 5 * id, 0, k, 130 - id, 0]);
            }
        }
        story
    };
    (0..16).map(story).collect()
}
