//! Poses in space with stamps, and what an estimator states of their covariance.

use super::convention::Meaning;
use lienav_base::stamp::Stamp;
use nalgebra::{Isometry3, Matrix6, UnitQuaternion};
use std::collections::BTreeMap;

/// A symmetric 6×6 matrix: its upper triangle row by row.
pub type Upper = [f64; 21];

/// No trajectory has more poses: fourteen hours at 100 Hz, 1.3 GB with covariances.
pub const MOST_POSES: usize = 5_000_000;

/// Why a pose was left out.
pub const NOT_FINITE: &str = "not_finite";
/// Its quaternion is not of length 1, or its matrix is no rotation.
pub const BAD_ORIENTATION: &str = "bad_orientation";
/// An earlier pose has the same stamp.
pub const REPEATED_STAMP: &str = "repeated_stamp";
/// Its stamp is before that of a pose ahead of it; it was put in its place.
pub const OUT_OF_ORDER: &str = "out_of_order";

/// The trajectory of one estimator, or the truth, in the order of its stamps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trajectory {
    /// What it is called in reports.
    pub name: String,
    /// When each pose was; each later than the one before.
    pub stamps: Vec<Stamp>,
    /// The poses of the body in a fixed frame, as many as stamps.
    pub poses: Vec<Isometry3<f64>>,
    /// The covariances that the estimator states, m², m·rad, rad², as many as stamps; empty where it states none. A
    /// single pose without covariance has not-a-number.
    pub covariances: Vec<Upper>,
    /// What the numbers of a covariance mean.
    pub meaning: Option<Meaning>,
    /// Whether names say which number is which, so that only the axes are a matter of convention.
    pub is_named: bool,
    /// What was left out, by reason.
    pub dropped: BTreeMap<&'static str, u64>,
    /// What the reader should know.
    pub warnings: Vec<String>,
}

impl Trajectory {
    /// From columns of one length. Poses that are not finite are left out and counted; the others are put in order, and
    /// of two with one stamp the first is kept.
    pub fn new(name: &str, stamps: Vec<Stamp>, poses: Vec<Isometry3<f64>>, covariances: Vec<Upper>) -> Self {
        let mut trajectory =
            Self { name: name.to_owned(), stamps, poses, covariances, meaning: Some(Meaning::ROS), ..Self::default() };
        trajectory.put_in_order();
        trajectory
    }

    /// How many poses there are.
    pub fn len(&self) -> usize {
        self.stamps.len()
    }

    /// Whether there are no poses.
    pub fn is_empty(&self) -> bool {
        self.stamps.is_empty()
    }

    /// Counts something that is left out.
    pub fn drop_one(&mut self, reason: &'static str) {
        *self.dropped.entry(reason).or_default() += 1;
    }

    /// Leaves out what is not finite, sorts by stamp where that is needed, and leaves repeated stamps out.
    pub fn put_in_order(&mut self) {
        let count = self.stamps.len().min(self.poses.len());
        self.stamps.truncate(count);
        self.poses.truncate(count);
        if self.covariances.len() != count {
            self.covariances.clear();
        }
        let is_finite = |pose: &Isometry3<f64>| {
            pose.translation.vector.iter().all(|x| x.is_finite()) && pose.rotation.coords.iter().all(|x| x.is_finite())
        };
        let finite = self.poses.iter().enumerate().filter(|(_, pose)| is_finite(pose));
        let kept: Vec<usize> = finite.map(|(k, _)| k).collect();
        if kept.len() < count {
            *self.dropped.entry(NOT_FINITE).or_default() += (count - kept.len()) as u64;
            self.keep(&kept);
        }
        let late = self.stamps.iter().zip(self.stamps.iter().skip(1)).filter(|(stamp, next)| next < stamp).count();
        if late > 0 {
            *self.dropped.entry(OUT_OF_ORDER).or_default() += late as u64;
            let mut order: Vec<usize> = (0..self.stamps.len()).collect();
            order.sort_by_key(|&k| self.stamps.get(k));
            self.keep(&order);
        }
        let mut last = None;
        let new = self.stamps.iter().enumerate().filter(|(_, stamp)| last.replace(**stamp) != Some(**stamp));
        let kept: Vec<usize> = new.map(|(k, _)| k).collect();
        if kept.len() < self.stamps.len() {
            *self.dropped.entry(REPEATED_STAMP).or_default() += (self.stamps.len() - kept.len()) as u64;
            self.keep(&kept);
        }
    }

    fn keep(&mut self, which: &[usize]) {
        self.stamps = those(&self.stamps, which);
        self.poses = those(&self.poses, which);
        self.covariances = those(&self.covariances, which);
    }

    /// The stated covariance of a pose, its numbers in their own order and axes; `None` where it is absent, or where
    /// all its numbers are zero or one of them is not finite: a placeholder states nothing.
    pub fn stated(&self, at: usize) -> Option<Matrix6<f64>> {
        let upper = self.covariances.get(at)?;
        let is_stated = upper.iter().all(|x| x.is_finite()) && upper.iter().any(|&x| x != 0.0) && upper[0] != -1.0;
        is_stated.then(|| matrix(upper))
    }

    /// The covariance of (δp, δθ) about fixed axes, as [`Meaning::to_fixed`] has it.
    pub fn covariance(&self, at: usize) -> Option<Matrix6<f64>> {
        let (stated, pose) = (self.stated(at)?, self.poses.get(at)?);
        Some(self.meaning.unwrap_or(Meaning::ROS).to_fixed(&stated, pose))
    }

    /// The pose at `stamp`: position linear in time, orientation along the shortest turn. `None` before the first and
    /// after the last, and between two that are farther apart than `max_gap_s`. `near` is where the search begins and
    /// ends: stamps that grow are found at once.
    pub fn at(&self, stamp: Stamp, max_gap_s: f64, near: &mut usize) -> Option<Isometry3<f64>> {
        let after = self.first_not_before(stamp, *near);
        *near = after;
        let (&later, &pose) = (self.stamps.get(after)?, self.poses.get(after)?);
        if later == stamp {
            return Some(pose);
        }
        let before = after.checked_sub(1)?;
        let (&earlier, from) = (self.stamps.get(before)?, self.poses.get(before)?);
        let gap = later.since(earlier);
        if gap > max_gap_s || gap <= 0.0 {
            return None;
        }
        Some(between(from, &pose, stamp.since(earlier) / gap))
    }

    /// The first pose that is not before `stamp`, looked for from `near` on.
    fn first_not_before(&self, stamp: Stamp, near: usize) -> usize {
        /// So many poses are passed one by one before the search halves the rest.
        const STEPS: usize = 8;
        let is_before = |k: usize| self.stamps.get(k).is_some_and(|at| *at < stamp);
        if near == 0 || is_before(near - 1) {
            for k in near..near + STEPS {
                if !is_before(k) {
                    return k;
                }
            }
        }
        self.stamps.partition_point(|at| *at < stamp)
    }
}

fn those<T: Copy>(all: &[T], which: &[usize]) -> Vec<T> {
    which.iter().filter_map(|&k| all.get(k).copied()).collect()
}

/// A pose between two, `part` of the way.
pub fn between(from: &Isometry3<f64>, to: &Isometry3<f64>, part: f64) -> Isometry3<f64> {
    let position = from.translation.vector.lerp(&to.translation.vector, part);
    let turn = (from.rotation.inverse() * to.rotation).scaled_axis();
    let rotation = from.rotation * UnitQuaternion::from_scaled_axis(turn * part);
    Isometry3::from_parts(position.into(), rotation)
}

/// The whole matrix of an upper triangle.
#[allow(clippy::indexing_slicing, reason = "the places of a 6×6 matrix are below 21")]
pub fn matrix(upper: &Upper) -> Matrix6<f64> {
    Matrix6::from_fn(|i, j| upper[place(i, j)])
}

/// The upper triangle of a matrix; of two numbers that should be one, their mean.
#[allow(clippy::indexing_slicing, reason = "the places of a 6×6 matrix are below 21")]
pub fn upper(matrix: &Matrix6<f64>) -> Upper {
    let mut upper = [0.0; 21];
    for i in 0..6 {
        for j in i..6 {
            upper[place(i, j)] = 0.5 * (matrix[(i, j)] + matrix[(j, i)]);
        }
    }
    upper
}

/// Where an upper triangle has the number of a row and a column.
pub const fn place(i: usize, j: usize) -> usize {
    let (row, column) = if i <= j { (i, j) } else { (j, i) };
    row * (13 - row) / 2 + (column - row)
}
