//! Whether numbers from outside can be those of a pose and its covariance.

use crate::DropReason;
use crate::measurement::MAX_VARIANCE;
use lienav_lie::Se2;
use nalgebra::{Matrix3, SymmetricEigen};
use std::f64::consts::PI;

/// Coordinates beyond this are absurd, m: those of a map of the world (UTM) are within.
const MAX_COORDINATE_M: f64 = 1e7;
/// A start that is less certain than this is absurd, m.
const MAX_POSITION_STD_M: f64 = 1e5;

/// Where a pose from outside may be, and how uncertain.
pub(super) fn check_pose(pose: &Se2, covariance: &Matrix3<f64>) -> Result<(), DropReason> {
    if !(pose.p.iter().all(|x| x.is_finite()) && pose.theta.is_finite()) {
        return Err(DropReason::NotFinite);
    }
    check_covariance(covariance)?;
    let is_absurd = pose.p.amax() > MAX_COORDINATE_M
        || covariance.m11.max(covariance.m22) > MAX_POSITION_STD_M * MAX_POSITION_STD_M
        || covariance.m33 > PI * PI;
    if is_absurd { Err(DropReason::Absurd) } else { Ok(()) }
}

/// Symmetric to a millionth, and no eigenvalue below zero by more than rounding.
pub(super) fn check_covariance(c: &Matrix3<f64>) -> Result<(), DropReason> {
    if !c.iter().all(|x| x.is_finite()) {
        return Err(DropReason::NotFinite);
    }
    let scale = c.amax();
    if scale > MAX_VARIANCE {
        return Err(DropReason::Absurd);
    }
    let asymmetric = (c - c.transpose()).amax() > 1e-6 * scale;
    let eigenvalues = SymmetricEigen::new(0.5 * (c + c.transpose())).eigenvalues;
    if asymmetric || eigenvalues.min() < -1e-9 * scale {
        return Err(DropReason::BadCovariance);
    }
    Ok(())
}
