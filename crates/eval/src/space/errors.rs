//! Estimates beside the truth.
//!
//! Orientation errors are rotations about the axes of the world, R_true = Exp(δ) R. The alignment has four numbers, a
//! turn about the vertical and a shift. NEES is that of the errors as they are, with the covariance of the estimate and
//! that of the truth: the start is given, so that nothing is aligned.

use super::run::SpaceRun;
use super::truth::Truth;
use lienav_base::stamp::Stamp;
use lienav_lie::{LieGroup, Se3, So3};
use nalgebra::{Matrix3, Matrix6, Vector3, Vector6};

/// An estimate with a true pose.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// When.
    pub stamp: Stamp,
    /// The true pose.
    pub truth: Se3,
    /// The estimate.
    pub estimate: Se3,
    /// (δp, δθ), m and rad, about the axes of the world.
    pub error: Vector6<f64>,
    /// Standard deviations that the filter states, in the same order.
    pub sigma: Vector6<f64>,
    /// Normalized estimation errors squared of position, orientation and pose; `None` where the covariance is singular.
    pub nees: Option<[f64; 3]>,
}

/// All of a run.
#[derive(Clone, Debug, Default)]
pub struct Errors {
    /// In order.
    pub pairs: Vec<Pair>,
    /// Estimates without a true pose.
    pub without_truth: usize,
    /// The turn about the vertical and the shift that take the estimates nearest to the truth.
    pub alignment: Se3,
    /// The turn about the vertical that takes their orientations nearest to the truth, rad.
    pub best_yaw: f64,
}

impl Errors {
    /// Compares; `sigma` are the standard deviations of the truth by axis, m and rad.
    pub fn new(run: &SpaceRun, truth: &Truth, sigma: (f64, f64)) -> Self {
        let (m, r) = (sigma.0.powi(2), sigma.1.powi(2));
        let own = Matrix6::from_diagonal(&Vector6::new(m, m, m, r, r, r));
        let pair = |estimate: &super::session::Estimate| {
            let pose = truth.at(estimate.stamp)?;
            let apart = pose.translation - estimate.pose.translation;
            let turn = (pose.rotation * estimate.pose.rotation.inverse()).log();
            let error = Vector6::new(apart.x, apart.y, apart.z, turn.x, turn.y, turn.z);
            let sigma = estimate.covariance.diagonal().map(|variance| variance.max(0.0).sqrt());
            let own = truth.covariance_at(estimate.stamp).unwrap_or(&own);
            let nees = nees(&error, &(estimate.covariance + own));
            Some(Pair { stamp: estimate.stamp, truth: pose, estimate: estimate.pose, error, sigma, nees })
        };
        let pairs: Vec<Pair> = run.estimates.iter().filter_map(pair).collect();
        let without_truth = run.estimates.len() - pairs.len();
        let best_yaw = best_yaw(&pairs);
        Self { alignment: alignment(&pairs), best_yaw, pairs, without_truth }
    }

    fn rms(&self, square: impl Fn(&Pair) -> f64) -> Option<f64> {
        let n = self.pairs.len();
        (n > 0).then(|| (self.pairs.iter().map(square).sum::<f64>() / n as f64).sqrt())
    }

    /// Root mean square of the distance, m.
    pub fn position_rmse(&self) -> Option<f64> {
        self.rms(|pair| place(pair).norm_squared())
    }

    /// The same after the alignment, m.
    pub fn aligned_position_rmse(&self) -> Option<f64> {
        self.rms(|pair| (pair.truth.translation - self.alignment.transform(&pair.estimate.translation)).norm_squared())
    }

    /// The greatest distance, m.
    pub fn position_max(&self) -> Option<f64> {
        self.pairs.iter().map(|pair| place(pair).norm()).max_by(f64::total_cmp)
    }

    /// Mean over instants of the root mean square over the three axes, m.
    pub fn position_armse(&self) -> Option<f64> {
        crate::mean::mean(self.pairs.iter().map(|pair| place(pair).norm() / 3_f64.sqrt()))
    }

    /// Root mean square of the angle, rad.
    pub fn orientation_rmse(&self) -> Option<f64> {
        self.rms(|pair| turn(pair).norm_squared())
    }

    /// The same after the turn about the vertical that fits best, rad.
    pub fn aligned_orientation_rmse(&self) -> Option<f64> {
        let yaw = So3::exp(&(Vector3::z() * self.best_yaw));
        self.rms(|pair| (pair.truth.rotation * (yaw * pair.estimate.rotation).inverse()).log().norm_squared())
    }

    /// Mean NEES of position, orientation and pose.
    pub fn nees_mean(&self, which: usize) -> Option<f64> {
        crate::mean::mean(self.pairs.iter().filter_map(|pair| Some(pair.nees?[which])))
    }
}

fn place(pair: &Pair) -> Vector3<f64> {
    pair.error.fixed_rows::<3>(0).into_owned()
}

fn turn(pair: &Pair) -> Vector3<f64> {
    pair.error.fixed_rows::<3>(3).into_owned()
}

/// Of position, orientation and pose.
fn nees(error: &Vector6<f64>, covariance: &Matrix6<f64>) -> Option<[f64; 3]> {
    let part = |row: usize| {
        let own: Matrix3<f64> = covariance.fixed_view::<3, 3>(row, row).into_owned();
        let error = error.fixed_rows::<3>(row).into_owned();
        own.cholesky().map(|factor| error.dot(&factor.solve(&error)))
    };
    let pose = covariance.cholesky().map(|factor| error.dot(&factor.solve(error)))?;
    let all = [part(0)?, part(3)?, pose];
    all.iter().all(|x| x.is_finite()).then_some(all)
}

/// The turn about the vertical and the shift that bring the estimates nearest to the truth.
fn alignment(pairs: &[Pair]) -> Se3 {
    let n = pairs.len().max(1) as f64;
    let to = pairs.iter().map(|pair| pair.truth.translation).sum::<Vector3<f64>>() / n;
    let from = pairs.iter().map(|pair| pair.estimate.translation).sum::<Vector3<f64>>() / n;
    let (mut cos, mut sin) = (0.0, 0.0);
    for pair in pairs {
        let (a, b) = (pair.truth.translation - to, pair.estimate.translation - from);
        cos += a.x * b.x + a.y * b.y;
        sin += a.y * b.x - a.x * b.y;
    }
    let turn = So3::exp(&(Vector3::z() * sin.atan2(cos)));
    Se3::new(turn, to - turn * from)
}

/// The mean of the errors about the vertical: the best turn, where errors are small.
fn best_yaw(pairs: &[Pair]) -> f64 {
    let (sin, cos) = pairs.iter().map(|pair| turn(pair).z.sin_cos()).fold((0.0, 0.0), |(s, c), (x, y)| (s + x, c + y));
    if pairs.is_empty() { 0.0 } else { f64::atan2(sin, cos) }
}
