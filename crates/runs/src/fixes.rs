//! A run beside position fixes of one point of the robot, which are no truth: a frame of their own, jumps and gaps.

use super::align;
use super::run::Estimate;
use lienav_base::stamp::Stamp;
use lienav_io::recording::PositionFixes;
use lienav_lie::Se2;
use nalgebra::Vector2;
use serde::Serialize;

/// The part of the fixes that is fitted: receivers jump, and nobody knows when.
const NEAREST: f64 = 0.9;
/// Between two estimates farther apart than this no position is told, s.
const MAX_GAP_S: f64 = 5.0;
/// More rounds of fitting than any set of fixes takes.
const ROUNDS: usize = 100;

/// How far the way of the antenna was from the fixes, after the rigid motion that fits the nearest 90 % of them best.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FixErrors {
    /// Fixes with an estimate.
    pub count: usize,
    /// Fixes before the first estimate, after the last, or where there is none for long.
    pub without_estimate: usize,
    /// Half of all fixes are nearer, m.
    pub median_m: f64,
    /// Root mean square of the distances of the nearest 90 %, m.
    pub nearest_90_rms_m: f64,
}

/// One fix, and where the antenna was estimated then.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FixError {
    /// When.
    pub stamp: Stamp,
    /// Where the antenna was estimated, in the map frame, m.
    pub antenna: Vector2<f64>,
    /// Where the fix has it: in the map frame, as the rigid motion lays it there, m.
    pub fix: Vector2<f64>,
}

impl FixError {
    /// How far these are from each other, m.
    pub fn distance(&self) -> f64 {
        (self.antenna - self.fix).norm()
    }
}

impl FixErrors {
    /// Compares estimates, by increasing stamp, with fixes: all of them, and one by one. `None` without a fix that has
    /// an estimate.
    pub fn judge(estimates: &[Estimate], fixes: &PositionFixes) -> Option<(Self, Vec<FixError>)> {
        let on_the_way = |&(stamp, fix): &(Stamp, Vector2<f64>)| {
            Some((stamp, (pose_at(estimates, stamp)?.transform(&fixes.antenna), fix)))
        };
        let (stamps, pairs): (Vec<Stamp>, Vec<_>) = fixes.fixes.iter().filter_map(on_the_way).unzip();
        let nearest = ((NEAREST * pairs.len() as f64).round() as usize).max(1);
        let motion = fit_nearest(&pairs, nearest)?;
        let mut distances: Vec<f64> = pairs.iter().map(|(p, fix)| (motion.transform(p) - fix).norm()).collect();
        distances.sort_by(f64::total_cmp);
        let squares: f64 = distances[..nearest].iter().map(|distance| distance * distance).sum();
        let all = Self {
            count: pairs.len(),
            without_estimate: fixes.fixes.len() - pairs.len(),
            median_m: distances[distances.len() / 2],
            nearest_90_rms_m: (squares / nearest as f64).sqrt(),
        };
        let one = |(stamp, (antenna, fix)): (Stamp, (Vector2<f64>, Vector2<f64>))| FixError {
            stamp,
            antenna,
            fix: motion.transform_back(&fix),
        };
        Some((all, stamps.into_iter().zip(pairs).map(one).collect()))
    }
}

/// The motion that lays the first points of `nearest` of the pairs onto the second ones best (least trimmed squares;
/// Rousseeuw and Van Driessen 2006): fitted to all, then to the nearest, until these stay the same. Each round has a
/// smaller sum of squares.
fn fit_nearest(pairs: &[(Vector2<f64>, Vector2<f64>)], nearest: usize) -> Option<Se2> {
    let mut motion = align::rigid(pairs)?;
    let mut chosen: Vec<usize> = Vec::new();
    for _ in 0..ROUNDS {
        let distance = |k: usize| (motion.transform(&pairs[k].0) - pairs[k].1).norm_squared();
        let mut order: Vec<(f64, usize)> = (0..pairs.len()).map(|k| (distance(k), k)).collect();
        order.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut next: Vec<usize> = order.into_iter().take(nearest).map(|(_, k)| k).collect();
        next.sort_unstable();
        if next == chosen {
            break;
        }
        chosen = next;
        let fitted: Vec<_> = chosen.iter().map(|&k| pairs[k]).collect();
        motion = align::rigid(&fitted)?;
    }
    Some(motion)
}

/// The pose at a stamp between two estimates, along the arc of a constant twist.
fn pose_at(estimates: &[Estimate], stamp: Stamp) -> Option<Se2> {
    let after = estimates.partition_point(|estimate| estimate.stamp < stamp);
    let next = estimates.get(after)?;
    if next.stamp == stamp {
        return Some(next.pose);
    }
    let last = estimates.get(after.checked_sub(1)?)?;
    let gap_s = next.stamp.since(last.stamp);
    let part = stamp.since(last.stamp) / gap_s;
    let arc = || last.pose * Se2::exp(&(part * (last.pose.inverse() * next.pose).log()));
    (gap_s <= MAX_GAP_S).then(arc)
}

#[cfg(test)]
mod tests {
    use super::super::synthetic;
    use super::*;

    /// A circle that is estimated without error, fixes of a point beside the base in a frame that is turned and
    /// shifted; every tenth fix is far off.
    #[test]
    fn fixes_of_the_antenna_fit_exactly_but_for_those_that_jump() {
        let (mut run, truth) = synthetic::run(400, 3);
        run.estimates.iter_mut().for_each(|estimate| estimate.pose = truth.at(estimate.stamp).unwrap());
        let (antenna, frame) = (Vector2::new(3.78, 0.5), Se2::new(100.0, -20.0, 2.0));
        let fix = |k: usize| {
            let stamp = run.estimates[k].stamp + 0.03;
            let pose = pose_at(&run.estimates, stamp)?;
            let jump = if k % 10 == 3 { Vector2::new(40.0, 10.0) } else { Vector2::zeros() };
            Some((stamp, frame.transform(&pose.transform(&antenna)) + jump))
        };
        let mut fixes = PositionFixes { antenna, fixes: (0..399).filter_map(fix).collect() };
        fixes.fixes.push((Stamp::from_secs(1e4), Vector2::zeros()));
        let (errors, each) = FixErrors::judge(&run.estimates, &fixes).unwrap();
        assert_eq!((errors.count, errors.without_estimate), (399, 1));
        assert!(errors.nearest_90_rms_m < 1e-9 && errors.median_m < 1e-9, "{errors:?}");
        let far: Vec<usize> = (0..399).filter(|k| each[*k].distance() > 1e-9).collect();
        assert!(far.iter().all(|k| k % 10 == 3) && far.len() == 40 && each[3].stamp == fixes.fixes[3].0);
        let without_lever = PositionFixes { antenna: Vector2::zeros(), ..fixes };
        assert!(FixErrors::judge(&run.estimates, &without_lever).unwrap().0.median_m > 0.1);
        assert_eq!(FixErrors::judge(&[], &without_lever), None);
    }
}
