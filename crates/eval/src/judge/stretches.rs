//! Pieces of the run, to see where errors are.

use super::associate::Pairs;
use super::steps::Steps;
use serde::Serialize;

/// A run is cut into so many stretches of equal time.
pub const STRETCHES: usize = 10;

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Stretch {
    /// When it begins, s from the first pair.
    pub from_s: f64,
    /// When it ends.
    pub to_s: f64,
    /// Estimates in it.
    pub count: usize,
    /// Root mean square of the position's error, m.
    pub position_rmse_m: f64,
    /// Root mean square of the orientation's error, degrees.
    pub orientation_rmse_deg: f64,
    /// Mean NEES of the pose.
    pub nees_mean: Option<f64>,
}

/// The stretches that have estimates.
pub fn judge(pairs: &Pairs, steps: &Steps) -> Vec<Stretch> {
    let (Some(first), Some(last)) = (pairs.stamps.first(), pairs.stamps.last()) else { return Vec::new() };
    let length = last.since(*first) / STRETCHES as f64;
    let mut stretches = Vec::new();
    let mut begin = 0;
    for k in 0..STRETCHES {
        let to_s = length * (k + 1) as f64;
        let rest = &pairs.stamps[begin..];
        let count = if k + 1 == STRETCHES { rest.len() } else { rest.partition_point(|s| s.since(*first) < to_s) };
        let here = &steps.all[begin..begin + count];
        begin += count;
        if count == 0 {
            continue;
        }
        let mean = |values: &mut dyn Iterator<Item = f64>| {
            let (sum, n) = values.fold((0.0, 0_usize), |(sum, n), x| (sum + x, n + 1));
            (n > 0).then(|| sum / n as f64)
        };
        let position = mean(&mut here.iter().map(Steps::position_square)).unwrap_or(0.0);
        let orientation = mean(&mut here.iter().map(Steps::orientation_square)).unwrap_or(0.0);
        stretches.push(Stretch {
            from_s: length * k as f64,
            to_s,
            count,
            position_rmse_m: position.sqrt(),
            orientation_rmse_deg: orientation.sqrt().to_degrees(),
            nees_mean: mean(&mut here.iter().map(|step| step.nees[2]).filter(|x| x.is_finite())),
        });
    }
    stretches
}
