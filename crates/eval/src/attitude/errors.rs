//! Errors of orientations, taken apart as BROAD does (Laidig et al. 2021, section 5): inclination, which gravity can
//! show, and heading, which it cannot.

use super::{Point, Run};
use lienav_base::stamp::Stamp;
use nalgebra::{Matrix2, UnitQuaternion, Vector2, Vector3};

/// The error of one instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Instant {
    /// When.
    pub stamp: Stamp,
    /// Whether the body was moved.
    pub moving: bool,
    /// Angle between the true vertical and the estimated one, rad, in [0, π].
    pub inclination: f64,
    /// Angle about the vertical that is left, rad, in (−π, π]; less the first heading's error.
    pub heading: f64,
    /// Angle of the whole rotation, rad, in [0, π], after the same turn of the world.
    pub total: f64,
    /// Normalised estimation error squared of the inclination; two are right.
    pub tilt_nees: Option<f64>,
    /// Norm of the error of the gyroscope's bias, rad/s; 0 where nobody knows the true one.
    pub bias: f64,
}

/// Errors of a run.
#[derive(Clone, Debug, Default)]
pub struct Errors {
    /// At each stamp of the truth.
    pub instants: Vec<Instant>,
}

impl Errors {
    /// Of a run, whose gyroscope had `true_bias`. Where no magnetometer shows north, heading is
    /// known but for a constant, so the first heading's error is taken off: the mean over the last second before the
    /// body is moved, or of the first instant where it is moved from the start.
    pub fn new(run: &Run, true_bias: Option<Vector3<f64>>) -> Self {
        let still = run.points.iter().take_while(|point| !point.truth.moving);
        let moves_at = still.clone().last().map(|point| point.truth.stamp);
        // A second of rest: before, a cold start may still be looking for the bias.
        let settled = still.filter(|point| moves_at.is_some_and(|at| at.since(point.truth.stamp) <= 1.0));
        let settled: Vec<f64> = settled.map(|point| parts(&error(point)).1).collect();
        let first = if settled.is_empty() {
            run.points.first().map(|point| parts(&error(point)).1)
        } else {
            Some(mean_angle(&settled))
        };
        let back = UnitQuaternion::from_scaled_axis(Vector3::z() * -first.unwrap_or(0.0));
        let instant = |point: &Point| {
            // World-frame error: estimate = error · truth.
            let error = back * error(point);
            let (inclination, heading) = parts(&error);
            Instant {
                stamp: point.truth.stamp,
                moving: point.truth.moving,
                inclination,
                heading,
                total: 2.0 * error.imag().norm().atan2(error.w.abs()),
                tilt_nees: tilt_nees(point),
                bias: true_bias.map_or(0.0, |bias| (point.estimate.gyro_bias - bias).norm()),
            }
        };
        Self { instants: run.points.iter().map(instant).collect() }
    }

    /// Root mean square of an error while the body is moved; `None` where it never is.
    pub fn rmse_moving(&self, of: impl Fn(&Instant) -> f64) -> Option<f64> {
        let moving = self.instants.iter().filter(|instant| instant.moving);
        let (sum, count) = moving.fold((0.0, 0_u32), |(sum, count), i| (sum + of(i).powi(2), count + 1));
        (count > 0).then(|| (sum / f64::from(count)).sqrt())
    }

    /// Mean NEES of the inclination while the body is moved; two are right, more is overconfident.
    pub fn tilt_nees_mean(&self) -> Option<f64> {
        let nees: Vec<f64> = self.instants.iter().filter(|i| i.moving).filter_map(|i| i.tilt_nees).collect();
        (!nees.is_empty()).then(|| nees.iter().sum::<f64>() / nees.len() as f64)
    }
}

fn error(point: &Point) -> UnitQuaternion<f64> {
    point.estimate.orientation * point.truth.orientation.inverse()
}

/// Inclination and heading of an error: q = heading about z · inclination about a horizontal axis.
fn parts(error: &UnitQuaternion<f64>) -> (f64, f64) {
    let inclination = 2.0 * error.i.hypot(error.j).atan2(error.w.hypot(error.k));
    let heading = lienav_lie::wrap_angle(2.0 * error.k.atan2(error.w));
    (inclination, heading)
}

fn mean_angle(angles: &[f64]) -> f64 {
    let (s, c) = angles.iter().fold((0.0, 0.0), |(s, c), a| (s + a.sin(), c + a.cos()));
    s.atan2(c)
}

/// ξᵀ P⁻¹ ξ of the horizontal part of ξ, with truth = exp(ξ) · estimate but for heading.
fn tilt_nees(point: &Point) -> Option<f64> {
    let error = error(point).inverse();
    let heading = UnitQuaternion::from_scaled_axis(Vector3::z() * parts(&error).1);
    let tilt = (heading.inverse() * error).scaled_axis();
    let tilt = Vector2::new(tilt.x, tilt.y);
    let covariance: Matrix2<f64> = point.estimate.orientation_covariance.fixed_view::<2, 2>(0, 0).into_owned();
    covariance.cholesky().map(|factor| tilt.dot(&factor.solve(&tilt)))
}
