//! Roll and pitch of the robot, and their effect on its measurements: the filter is planar, but the ground may not be.
//!
//! The orientation is R = R_z(ψ) R_y(θ) R_x(φ). The filter estimates the heading ψ; an inertial sensor gives pitch θ
//! and roll φ. With them, the angular velocity of the body becomes the rate of the heading, and a vector in the x-y
//! plane of the base becomes its horizontal part: (x, y) ↦ L (x, y), L = [[cos θ, sin θ sin φ], [0, cos φ]], the upper
//! left of R_y(θ) R_x(φ).

use crate::input::{FeatureKind, Observation, Odometry};
use crate::measurement::Noise;
use lienav_lie::{Se2, rotation};
use nalgebra::{Matrix2, Matrix3, UnitQuaternion, Vector2, Vector3};
use serde::{Deserialize, Serialize};

/// Where the cosine of the pitch is smaller, the x axis is almost vertical and the heading is undefined.
const LEAST_COS_PITCH: f64 = 0.1;
/// Larger ranges and bearings are not levelled; the filter's check refuses them.
const MAX_VALUE: f64 = 1e9;

/// Roll and pitch of the base (REP 103: positive roll leans right, positive pitch leans forward).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tilt {
    /// φ, rad.
    pub roll: f64,
    /// θ, rad.
    pub pitch: f64,
}

impl Tilt {
    /// From an orientation, body to world. `None` where the x axis is so close to the vertical that the heading is
    /// undefined.
    pub fn of(orientation: &UnitQuaternion<f64>) -> Option<Self> {
        let (roll, pitch, _) = orientation.euler_angles();
        (pitch.cos() >= LEAST_COS_PITCH).then_some(Self { roll, pitch })
    }

    /// The rate of the heading, ψ̇ = (w_y sin φ + w_z cos φ)/cos θ, rad/s, of a body with angular velocity w in its own
    /// frame.
    pub fn heading_rate(&self, w: &Vector3<f64>) -> f64 {
        let (sin, cos) = self.roll.sin_cos();
        (w.y * sin + w.z * cos) / self.pitch.cos()
    }

    /// The matrix L that makes a vector in the plane of the base horizontal.
    pub fn levelling(&self) -> Matrix2<f64> {
        let ((sin_roll, cos_roll), (sin_pitch, cos_pitch)) = (self.roll.sin_cos(), self.pitch.sin_cos());
        Matrix2::new(cos_pitch, sin_pitch * sin_roll, 0.0, cos_roll)
    }

    /// By how much a point above the plane of the base is farther ahead and to the left, seen from above, per metre of
    /// its height: the last column of R_y(θ) R_x(φ), (sin θ cos φ, −sin φ).
    pub fn shift_per_height(&self) -> Vector2<f64> {
        Vector2::new(self.pitch.sin() * self.roll.cos(), -self.roll.sin())
    }

    pub(super) fn is_finite(&self) -> bool {
        self.roll.is_finite() && self.pitch.is_finite()
    }
}

impl Odometry {
    /// The horizontal part of a twist whose velocity lies in the x-y plane of a base that leans.
    #[must_use]
    pub(super) fn levelled(&self, levelling: &Matrix2<f64>) -> Self {
        let mut all = Matrix3::identity();
        all.fixed_view_mut::<2, 2>(0, 0).copy_from(levelling);
        let covariance = self.covariance.map(|covariance| all * covariance * all.transpose());
        Self { velocity: levelling * self.velocity, covariance, ..*self }
    }
}

/// The horizontal part of an observation by a sensor that leans with the base. A vertical object, such as a tree, is
/// observed where it intersects the plane of the sensor; a tag, where it is, at its height. Stereo bearings have no
/// plane and stay as they are, and so do observations that are not valid.
pub(super) fn level(kind: FeatureKind, mount: &Se2, tilt: &Tilt, seen: &mut [Observation]) {
    let (levelling, per_height) = (tilt.levelling(), tilt.shift_per_height());
    let turn = mount.rotation();
    let in_sensor = turn.transpose() * levelling * turn;
    let of_mount = turn.transpose() * (levelling * mount.p - mount.p);
    let of_height = turn.transpose() * per_height;
    let lies_on_ground = |v: &[f64]| v.len() == 2 && v.iter().all(|x| x.abs() < MAX_VALUE);
    for observation in seen.iter_mut().filter(|o| lies_on_ground(&o.value)) {
        let before = observation.value.xy();
        let height = if observation.height_m.is_finite() { observation.height_m } else { 0.0 };
        let shift = if height == 0.0 { of_mount } else { of_mount + of_height * height };
        let jacobian = match kind {
            FeatureKind::RelativePosition => {
                observation.value = (in_sensor * before + shift).into();
                in_sensor
            }
            FeatureKind::RangeBearing if before.x > 0.0 => {
                let p = in_sensor * (Vector2::new(before.y.cos(), before.y.sin()) * before.x) + shift;
                let after = Vector2::new(p.norm(), p.y.atan2(p.x));
                if after.x <= 0.0 {
                    continue;
                }
                observation.value = after.into();
                // d(range, bearing) = diag(1, 1/r') R(β')ᵀ · in_sensor · R(β) diag(1, r) d(range, bearing).
                let there = Matrix2::from_diagonal(&Vector2::new(1.0, 1.0 / after.x)) * rotation(after.y).transpose();
                there * in_sensor * rotation(before.y) * Matrix2::from_diagonal(&Vector2::new(1.0, before.x))
            }
            _ => continue,
        };
        let turned = |c: Noise| match c.dim() {
            2 => (jacobian * c.fixed::<2>() * jacobian.transpose()).into(),
            _ => c, // the check of the sensor refuses it
        };
        observation.covariance = observation.covariance.map(turned);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn mount() -> Se2 {
        Se2::new(0.4, -0.2, 0.7)
    }

    fn levelled(kind: FeatureKind, tilt: &Tilt, value: Vector2<f64>, covariance: Option<Matrix2<f64>>) -> Observation {
        let mut seen = [Observation { covariance: covariance.map(Noise::from), ..Observation::new(None, value) }];
        level(kind, &mount(), tilt, &mut seen);
        seen[0]
    }

    proptest! {
        #[test]
        fn levelling_is_the_horizontal_part_of_the_orientation(
            roll in -1.0..1.0f64, pitch in -1.0..1.0f64, yaw in -3.0..3.0f64, x in -5.0..5.0f64, y in -5.0..5.0f64,
        ) {
            let orientation = UnitQuaternion::from_euler_angles(roll, pitch, yaw);
            let tilt = Tilt::of(&orientation).unwrap();
            let turned = rotation(yaw) * tilt.levelling() * Vector2::new(x, y);
            prop_assert!((turned - (orientation * Vector3::new(x, y, 0.0)).xy()).norm() < 1e-12);
        }

        #[test]
        fn covariances_go_along(
            roll in -0.5..0.5f64, pitch in -0.5..0.5f64, range in 1.0..20.0f64, bearing in -3.0..3.0f64, polar in any::<bool>(),
        ) {
            let tilt = Tilt { roll, pitch };
            let value = Vector2::new(range, bearing);
            let kind = if polar { FeatureKind::RangeBearing } else { FeatureKind::RelativePosition };
            let covariance = Matrix2::new(0.04, 0.01, 0.01, 0.09);
            let at = |dx: f64, dy: f64| levelled(kind, &tilt, value + Vector2::new(dx, dy), None).value.xy();
            let h = 1e-6;
            let difference = |a: Vector2<f64>, b: Vector2<f64>| {
                let d = a - b;
                Vector2::new(d.x, if polar { lienav_lie::wrap_angle(d.y) } else { d.y }) / (2.0 * h)
            };
            let jacobian =
                Matrix2::from_columns(&[difference(at(h, 0.0), at(-h, 0.0)), difference(at(0.0, h), at(0.0, -h))]);
            let expected = jacobian * covariance * jacobian.transpose();
            let found = levelled(kind, &tilt, value, Some(covariance)).covariance.unwrap().fixed::<2>();
            prop_assert!((found - expected).amax() < 1e-6 * (1.0 + expected.amax()), "{found} {expected}");
        }
    }

    #[test]
    fn what_is_no_measurement_stays_what_it_is() {
        let tilt = Tilt { roll: 0.2, pitch: 0.1 };
        for value in [Vector2::new(-4.0, 0.3), Vector2::new(0.0, 0.3), Vector2::new(3.0, 1e12)] {
            assert_eq!(levelled(FeatureKind::RangeBearing, &tilt, value, None).value, value.into());
        }
        assert!(levelled(FeatureKind::RangeBearing, &tilt, Vector2::new(f64::NAN, 0.0), None).value[0].is_nan());
        let bearings = Vector2::new(0.2, 0.1);
        assert_eq!(levelled(FeatureKind::StereoBearings, &tilt, bearings, None).value, bearings.into());
    }

    #[test]
    fn there_is_no_heading_near_the_vertical() {
        assert_eq!(Tilt::of(&UnitQuaternion::from_euler_angles(0.0, 1.55, 0.0)), None);
    }
}
