//! Whether input can be used: numbers that are finite and of a size that sensors have, and covariances that are valid.

use crate::input::Seen;
use crate::output::DropReason;
use lienav_ekf::validity::valid_covariance;
use lienav_inertial::state::nav::Nav;
use lienav_lie::Se3;
use nalgebra::Matrix6;

/// A frame of more measurements is no frame.
const MOST_SEEN: usize = 300;
/// A place or a velocity of so many m or m/s is that of a filter that has diverged.
const ABSURD: f64 = 1e9;
/// A matrix that is so far from orthogonal is no rotation: rounding makes less than 1e-9 in an hour.
const NOT_A_ROTATION: f64 = 1e-3;

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

/// The covariance of the pose of a state as it may be published; `None` where the state is no longer one: numbers beyond
/// all scales, a matrix that is no rotation, or a covariance that is not positive semidefinite within rounding.
pub fn sound(nav: &Nav, covariance: &Matrix6<f64>) -> Option<Matrix6<f64>> {
    let is_sound = nav.position.iter().chain(nav.velocity.iter()).all(|x| x.abs() < ABSURD)
        && nav.rotation.orthogonality_error() < NOT_A_ROTATION;
    if is_sound { valid_covariance(covariance) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lienav_inertial::imu::Biases;
    use lienav_lie::So3;
    use nalgebra::Vector3;

    #[test]
    fn a_covariance_that_is_not_positive_semidefinite_is_never_published() {
        let at = |x: f64| Nav {
            rotation: So3::identity(),
            velocity: Vector3::zeros(),
            position: Vector3::new(x, 0.0, 0.0),
            biases: Biases::default(),
        };
        let mut covariance = Matrix6::from_diagonal_element(0.04);
        assert_eq!(sound(&at(1.0), &covariance), Some(covariance));
        assert_eq!(sound(&at(2e9), &covariance), None);
        // All variances are positive, and of the sum of two axes it is negative.
        (covariance[(0, 5)], covariance[(5, 0)]) = (-0.05, -0.05);
        assert_eq!(sound(&at(1.0), &covariance), None);
        // What rounding has taken away is given back.
        (covariance[(0, 5)], covariance[(5, 0)]) = (-0.04, -0.04);
        assert!(sound(&at(1.0), &covariance).is_some_and(|c| c[(0, 0)] > 0.04 && c[(0, 0)] < 0.0401));
        assert_eq!(sound(&at(1.0), &Matrix6::from_element(f64::NAN)), None);
    }
}
