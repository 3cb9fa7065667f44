//! Levelling: what a sensor on a base that leans would have measured on a level one.

use crate::input::{Measurement, MeasurementKind, Odometry};
use crate::measurement::value::Noise;
use crate::tilt::Tilt;
use lienav_lie::Se2;
use lienav_lie::rotation;
use nalgebra::Matrix2;
use nalgebra::Matrix3;
use nalgebra::Vector2;
/// Larger ranges and bearings are not levelled; the filter's check refuses them.
const MAX_VALUE: f64 = 1e9;

impl Odometry {
    /// The horizontal part of a twist whose velocity lies in the x-y plane of a base that leans.
    #[must_use]
    pub fn levelled(&self, levelling: &Matrix2<f64>) -> Self {
        let mut all = Matrix3::identity();
        all.fixed_view_mut::<2, 2>(0, 0).copy_from(levelling);
        let covariance = self.covariance.map(|covariance| all * covariance * all.transpose());
        Self { velocity: levelling * self.velocity, covariance, ..*self }
    }
}

/// The horizontal part of a measurement by a sensor that leans with the base. A vertical object, such as a tree, is
/// observed where it intersects the plane of the sensor; a tag, where it is, at its height. Stereo bearings have no
/// plane and stay as they are, and so do measurements that are not valid.
pub fn level(kind: MeasurementKind, mount: &Se2, tilt: &Tilt, seen: &mut [Measurement]) {
    let (levelling, per_height) = (tilt.levelling(), tilt.shift_per_height());
    let turn = mount.rotation();
    let in_sensor = turn.transpose() * levelling * turn;
    let of_mount = turn.transpose() * (levelling * mount.p - mount.p);
    let of_height = turn.transpose() * per_height;
    let lies_on_ground = |v: &[f64]| v.len() == 2 && v.iter().all(|x| x.abs() < MAX_VALUE);
    for raw in seen.iter_mut().filter(|o| lies_on_ground(&o.value)) {
        let before = raw.value.xy();
        let height = if raw.height_m.is_finite() { raw.height_m } else { 0.0 };
        let shift = if height == 0.0 { of_mount } else { of_mount + of_height * height };
        let jacobian = match kind {
            MeasurementKind::RelativePosition => {
                raw.value = (in_sensor * before + shift).into();
                in_sensor
            }
            MeasurementKind::RangeBearing if before.x > 0.0 => {
                let p = in_sensor * (Vector2::new(before.y.cos(), before.y.sin()) * before.x) + shift;
                let after = Vector2::new(p.norm(), p.y.atan2(p.x));
                if after.x <= 0.0 {
                    continue;
                }
                raw.value = after.into();
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
        raw.covariance = raw.covariance.map(turned);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::{UnitQuaternion, Vector3};
    use proptest::prelude::*;

    fn mount() -> Se2 {
        Se2::new(0.4, -0.2, 0.7)
    }

    fn levelled(
        kind: MeasurementKind,
        tilt: &Tilt,
        value: Vector2<f64>,
        covariance: Option<Matrix2<f64>>,
    ) -> Measurement {
        let mut seen = [Measurement { covariance: covariance.map(Noise::from), ..Measurement::new(None, value) }];
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
            let kind = if polar { MeasurementKind::RangeBearing } else { MeasurementKind::RelativePosition };
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
            assert_eq!(levelled(MeasurementKind::RangeBearing, &tilt, value, None).value, value.into());
        }
        assert!(levelled(MeasurementKind::RangeBearing, &tilt, Vector2::new(f64::NAN, 0.0), None).value[0].is_nan());
        let bearings = Vector2::new(0.2, 0.1);
        assert_eq!(levelled(MeasurementKind::StereoBearings, &tilt, bearings, None).value, bearings.into());
    }

    #[test]
    fn there_is_no_heading_near_the_vertical() {
        assert_eq!(Tilt::of(&UnitQuaternion::from_euler_angles(0.0, 1.55, 0.0)), None);
    }
}
