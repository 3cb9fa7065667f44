//! What a filter takes for observable: the local observability matrix of the Jacobians that it used, its rank and null
//! space, and how much its measurements say of directions of which no measurement can say anything (Shen 2019, §§
//! 5.1–5.3).
//!
//! Moving and turning robot and features together, eq. (5.8), changes neither odometry nor measurements of features:
//! the three directions N of eq. (5.7) are unobservable. A linearized filter has them in the null space of
//!
//! ```math
//! O = \begin{pmatrix} H_1 \Phi_1 \\ H_2 \Phi_2 \Phi_1 \\ \vdots \\ H_m \Phi_m \cdots \Phi_1 \end{pmatrix}
//! ```
//!
//! if its Jacobians keep the chain property (5.1). With 3 + 2M unknowns, the rank is then 2M. The EKF linearizes at
//! estimates that updates have changed; the rank is 2M + 1, and turning everything seems observable. In the reduced
//! coordinates H = [0 | H_O], and the rank is 2M whatever the estimates are.

mod folder;
mod report;
mod run;

pub use folder::write;
pub use report::{FilterReport, Report, to_text};
pub use run::{ObservabilityError, Observed, observe};

use lienav_base::stamp::Stamp;
use lienav_slam::{Coordinates, LinearizedMeasurement, LinearizedStep, Se2, Subject};
use nalgebra::{DMatrix, Matrix2, Matrix2x3, Matrix3, Matrix3x2, RowVector3, SymmetricEigen};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Numbers of the pose.
const POSE: usize = 3;

/// Singular values below this fraction of the largest are zero. Rounding leaves 10⁻¹⁵, and linearization points that
/// are a millimetre apart 10⁻⁵.
const RANK_TOLERANCE: f64 = 1e-9;

/// What was invented of a direction counts as nothing below this, rad⁻² or m⁻²: a standard deviation of 10⁶. Rounding
/// leaves 10⁻¹⁹.
const NOTHING: f64 = 1e-12;

/// What some scans in a row say, by the Jacobians that the filter used, about the state before them, of which nothing
/// is known.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Window {
    /// Stamp of the last scan, s.
    pub stamp_s: f64,
    /// Features that are in the state all the time and are read: M.
    pub features: usize,
    /// Of O; 2M if no measurement says anything of where the whole is.
    pub rank: usize,
    /// Dimension of the null space, 3 + 2M − rank: 3 is right.
    pub nullity: usize,
    /// Of the heading, rad⁻²: the least |R^{−1/2} O v|² of all v that turn the robot by 1 rad. 0 is right: the null
    /// space then has such a v.
    pub heading_information: f64,
    /// The same of the position, m⁻²: of the coordinate of which more is said.
    pub position_information: f64,
}

/// What all measurements up to a scan say of the three directions, by the Jacobians that the filter used, carried on by
/// its own motions and beginnings of features. All of it is invented.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Invented {
    /// Stamp of the scan, s.
    pub stamp_s: f64,
    /// Of turning the whole about the start, rad⁻².
    pub heading_information: f64,
    /// Of moving the whole, m⁻²: that of the direction about which more is said.
    pub position_information: f64,
}

/// The local observability matrix, whitened: R_j^{−1/2} H_j Φ_j ⋯ Φ_1, row by row, for the pose and `features`, from
/// `steps`. Features are columns 3 + 2k and 4 + 2k.
fn observability_matrix(steps: &[LinearizedStep], features: &[u32]) -> DMatrix<f64> {
    let column: BTreeMap<u32, usize> = features.iter().zip(0..).map(|(id, k)| (*id, POSE + 2 * k)).collect();
    let (mut of_pose, mut of_features) = (Matrix3::identity(), Matrix2::identity());
    let mut rows = Vec::new();
    for step in steps {
        of_pose = step.pose_transition * of_pose;
        of_features = step.landmark_transition * of_features;
        for measurement in &step.measurements {
            let Some(whitened) = Whitened::new(measurement) else { continue };
            let at = match measurement.subject {
                Subject::Landmark(id) => match column.get(&id) {
                    Some(at) => Some(*at),
                    None => continue,
                },
                Subject::Pose => None,
            };
            let (by_pose, by_feature) = (whitened.by_pose * of_pose, whitened.by_feature * of_features);
            for d in 0..measurement.dim {
                let mut row = vec![0.0; POSE + 2 * features.len()];
                row[..POSE].copy_from_slice(&[by_pose[(d, 0)], by_pose[(d, 1)], by_pose[(d, 2)]]);
                if let Some(at) = at {
                    row[at..at + 2].copy_from_slice(&[by_feature[(d, 0)], by_feature[(d, 1)]]);
                }
                rows.push(row);
            }
        }
    }
    DMatrix::from_fn(rows.len(), POSE + 2 * features.len(), |r, c| rows[r][c])
}

/// The Jacobians of a measurement in units of its standard deviation.
struct Whitened {
    by_pose: Matrix3<f64>,
    by_feature: Matrix3x2<f64>,
}

impl Whitened {
    /// `None` where the noise is no covariance.
    fn new(measurement: &LinearizedMeasurement) -> Option<Self> {
        let mut noise = measurement.noise;
        // Rows that the measurement does not have.
        for d in measurement.dim..3 {
            noise[(d, d)] = 1.0;
        }
        let factor = noise.cholesky()?.l();
        Some(Self {
            by_pose: factor.solve_lower_triangular(&measurement.by_pose)?,
            by_feature: factor.solve_lower_triangular(&measurement.by_landmark)?,
        })
    }
}

/// The features that are in the state after every one of `steps`, were there `before` them, and are read.
fn lasting(before: &LinearizedStep, steps: &[LinearizedStep]) -> Vec<u32> {
    let mut ids: BTreeSet<u32> = before.landmarks.iter().copied().collect();
    let mut read = BTreeSet::new();
    for step in steps {
        let now: BTreeSet<u32> = step.landmarks.iter().copied().collect();
        let begun: BTreeSet<u32> = step.initialized.iter().map(|(id, _)| *id).collect();
        ids.retain(|id| now.contains(id) && !begun.contains(id));
        read.extend(step.measurements.iter().filter_map(|measurement| match measurement.subject {
            Subject::Landmark(id) => Some(id),
            Subject::Pose => None,
        }));
    }
    ids.intersection(&read).copied().collect()
}

/// The windows of `scans` scans each that lie one behind the other; those in which no feature lasts are left out.
pub fn windows(steps: &[LinearizedStep], scans: usize) -> Vec<Window> {
    let scans = scans.max(1);
    let window = |first: usize| {
        let (before, rest) = (&steps[first], &steps[first + 1..=first + scans]);
        let features = lasting(before, rest);
        let matrix = observability_matrix(rest, &features);
        (!features.is_empty()).then(|| analyse(&matrix, rest.last().map_or(before.stamp, |step| step.stamp)))
    };
    (0..steps.len().saturating_sub(scans)).step_by(scans).filter_map(window).collect()
}

fn analyse(matrix: &DMatrix<f64>, stamp: Stamp) -> Window {
    let (unknowns, values) = (matrix.ncols(), matrix.singular_values());
    let bound = RANK_TOLERANCE * values.max();
    let rank = values.iter().filter(|value| **value > bound).count();
    Window {
        stamp_s: stamp.secs(),
        features: (unknowns - POSE) / 2,
        rank,
        nullity: unknowns - rank,
        heading_information: information_of(matrix, 2),
        position_information: information_of(matrix, 0).max(information_of(matrix, 1)),
    }
}

/// The least |O v|² of all v with v_k = 1: what column `k` has beyond the span of all others, unless it is rounding.
fn information_of(matrix: &DMatrix<f64>, k: usize) -> f64 {
    let mut beyond = matrix.column(k).clone_owned();
    let svd = matrix.clone().remove_column(k).svd(true, false);
    let bound = RANK_TOLERANCE * svd.singular_values.max();
    let least = (RANK_TOLERANCE * beyond.norm()).powi(2);
    for (u, value) in svd.u.iter().flat_map(|u| u.column_iter()).zip(svd.singular_values.iter()) {
        if *value > bound {
            let along = u.dot(&beyond);
            beyond.axpy(-along, &u, 1.0);
        }
    }
    Some(beyond.norm_squared()).filter(|information| *information > least).unwrap_or(0.0)
}

fn something(information: f64) -> f64 {
    if information > NOTHING { information } else { 0.0 }
}

/// What the measurements up to each scan say of moving and turning the whole about `start`, where the run began.
pub fn invented(steps: &[LinearizedStep], coordinates: Coordinates, start: &Se2) -> Vec<Invented> {
    let mut pose = Matrix3::identity();
    if coordinates == Coordinates::Invariant {
        // Turning about the start, as an error from the left.
        (pose[(0, 2)], pose[(1, 2)]) = (start.p.y, -start.p.x);
    }
    let mut features: BTreeMap<u32, Matrix2x3<f64>> = BTreeMap::new();
    let mut information = Matrix3::zeros();
    let mut add = |step: &LinearizedStep| {
        pose = step.pose_transition * pose;
        for direction in features.values_mut() {
            *direction = step.landmark_transition * *direction;
        }
        for measurement in &step.measurements {
            let Some(whitened) = Whitened::new(measurement) else { continue };
            let of_feature = match measurement.subject {
                Subject::Landmark(id) => match features.get(&id) {
                    Some(direction) => whitened.by_feature * direction,
                    None => continue,
                },
                // A measurement of the pose does say something of where the whole is.
                Subject::Pose => continue,
            };
            let seen = whitened.by_pose * pose + of_feature;
            for row in seen.row_iter() {
                let row: RowVector3<f64> = row.into();
                information += row.transpose() * row;
            }
        }
        let known: BTreeSet<u32> = step.landmarks.iter().copied().collect();
        features.retain(|id, _| known.contains(id));
        for (id, by_pose) in &step.initialized {
            features.insert(*id, by_pose * pose);
        }
        let of_position = SymmetricEigen::new(information.fixed_view::<2, 2>(0, 0).into_owned()).eigenvalues.max();
        Invented {
            stamp_s: step.stamp.secs(),
            heading_information: something(information[(2, 2)]),
            position_information: something(of_position),
        }
    };
    steps.iter().map(&mut add).collect()
}

#[cfg(test)]
mod tests;
