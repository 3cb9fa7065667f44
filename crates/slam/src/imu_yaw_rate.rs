//! The yaw rate, and roll and pitch, of an inertial sensor over an interval of odometry, whose yaw rate it replaces.

use lienav_base::stamp::Stamp;
use lienav_planar::input::Imu;
use nalgebra::Matrix2;
use std::collections::VecDeque;

/// An interval without a gyroscope sample uses the last one if that is not older than this, s.
pub const IMU_FRESH_S: f64 = 0.1;

/// The mean yaw rate and the mean levelling matrix of the samples in (from, to], which are in the order of their
/// stamps. Where there is no sample, those of the last sample before, if that is not too old.
pub fn mean(samples: &VecDeque<Imu>, from: Stamp, to: Stamp) -> Option<(f64, Option<Matrix2<f64>>)> {
    let start = samples.partition_point(|s| s.stamp <= from);
    let end = samples.partition_point(|s| s.stamp <= to);
    if end == start {
        return newest(samples, to).map(|imu| (imu.yaw_rate, imu.tilt.map(|tilt| tilt.levelling())));
    }
    let rates: f64 = samples.range(start..end).map(|s| s.yaw_rate).sum();
    let tilts = samples.range(start..end).filter_map(|s| s.tilt);
    let (sum, count) = tilts.fold((Matrix2::zeros(), 0), |(sum, n), tilt| (sum + tilt.levelling(), n + 1));
    let levelling = (count > 0).then(|| sum / f64::from(count));
    Some((rates / (end - start) as f64, levelling))
}

/// The newest sample up to `stamp`, if it is not too old.
pub fn newest(samples: &VecDeque<Imu>, stamp: Stamp) -> Option<&Imu> {
    let before = samples.get(samples.partition_point(|s| s.stamp <= stamp).checked_sub(1)?)?;
    (stamp.since(before.stamp) <= IMU_FRESH_S).then_some(before)
}
