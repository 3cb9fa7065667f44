//! Whether input can be used: numbers that are finite and of a size that sensors have, and covariances that are valid.

use crate::input::Seen;
use crate::output::DropReason;
use lienav_lie::Se3;
use nalgebra::Matrix6;

/// A frame of more measurements is no frame.
const MOST_SEEN: usize = 300;

/// Whether a measurement can be used beside those of its frame that were kept.
pub fn check(seen: &Seen, kept: &[Seen]) -> Result<(), DropReason> {
    if kept.len() >= MOST_SEEN {
        return Err(DropReason::TooManyPoints);
    }
    if !seen.value.is_finite() {
        return Err(DropReason::NotFinite);
    }
    if !seen.value.is_sane() {
        return Err(DropReason::Absurd);
    }
    if !seen.value.has_valid_noise() {
        return Err(DropReason::BadCovariance);
    }
    let is_twice = kept.iter().any(|other| other.id == seen.id && other.sensor == seen.sensor);
    if is_twice { Err(DropReason::DuplicateFeature) } else { Ok(()) }
}

/// Whether a pose with its covariance can be taken as it is given: finite, within the world, and semidefinite.
pub fn check_pose(pose: &Se3, covariance: &Matrix6<f64>) -> Result<(), DropReason> {
    const FARTHEST_M: f64 = 1e6;
    let numbers = pose.translation.iter().chain(pose.rotation.matrix().iter()).chain(covariance.iter());
    if !numbers.copied().all(f64::is_finite) {
        return Err(DropReason::NotFinite);
    }
    if pose.translation.amax() > FARTHEST_M || pose.rotation.orthogonality_error() > 1e-3 {
        return Err(DropReason::Absurd);
    }
    let largest = covariance.amax();
    let is_symmetric = (covariance - covariance.transpose()).amax() <= 1e-9 * largest.max(1e-12);
    let shifted = covariance + Matrix6::identity() * (1e-12 + 1e-9 * largest);
    if largest < 1e10 && is_symmetric && is_definite(&shifted) { Ok(()) } else { Err(DropReason::BadCovariance) }
}

/// Whether a covariance is positive definite.
pub fn is_definite(covariance: &Matrix6<f64>) -> bool {
    covariance.cholesky().is_some()
}
