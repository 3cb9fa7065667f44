//! Whether numbers from outside can be those of a pose and its covariance.

use crate::measurement::value::MAX_VARIANCE;
use crate::output::DropReason;
use lienav_ekf::validity::valid_covariance;
use lienav_lie::Se2;
use nalgebra::{Matrix3, SymmetricEigen};
use std::f64::consts::PI;

/// Coordinates beyond this are absurd, m: those of a map of the world (UTM) are within.
const MAX_COORDINATE_M: f64 = 1e7;
/// A start that is less certain than this is absurd, m.
const MAX_POSITION_STD_M: f64 = 1e5;

/// Where a pose from outside may be, and how uncertain. Returns its covariance, valid.
pub fn check_pose(pose: &Se2, covariance: &Matrix3<f64>) -> Result<Matrix3<f64>, DropReason> {
    if !(pose.p.iter().all(|x| x.is_finite()) && pose.theta.is_finite()) {
        return Err(DropReason::NotFinite);
    }
    let valid = checked_covariance(covariance)?;
    let is_absurd = pose.p.amax() > MAX_COORDINATE_M
        || covariance.m11.max(covariance.m22) > MAX_POSITION_STD_M * MAX_POSITION_STD_M
        || covariance.m33 > PI * PI;
    if is_absurd { Err(DropReason::Absurd) } else { Ok(valid) }
}

/// A covariance that is symmetric to a millionth, and [valid](valid_covariance): as it is where it is positive
/// semidefinite, and made so where rounding has left less.
pub fn checked_covariance(c: &Matrix3<f64>) -> Result<Matrix3<f64>, DropReason> {
    if !c.iter().all(|x| x.is_finite()) {
        return Err(DropReason::NotFinite);
    }
    let scale = c.amax();
    if scale > MAX_VARIANCE {
        return Err(DropReason::Absurd);
    }
    if (c - c.transpose()).amax() > 1e-6 * scale {
        return Err(DropReason::BadCovariance);
    }
    let symmetric = 0.5 * (c + c.transpose());
    let has_no_negative_variance = c.diagonal().iter().all(|variance| *variance >= 0.0);
    if has_no_negative_variance && SymmetricEigen::new(symmetric).eigenvalues.min() >= -1e-15 * scale {
        return Ok(*c);
    }
    valid_covariance(&symmetric).ok_or(DropReason::BadCovariance)
}
