//! Where a sensor sits, from a transform in space: the plane's part of it, and what it takes to bring measurements
//! there.

use super::refusal::Refusal;
use lienav_lie::Se2;
use lienav_slam::{Measurement, MeasurementKind, Noise, Scan};
use nalgebra::{Isometry3, Matrix2, Matrix3, Vector2, Vector3};

/// A sensor that leans by no more than this counts as level, rad: a range is then too long by half a percent at most.
pub const MAX_TILT_RAD: f64 = 0.1;

/// Below this, an axis is taken to have no horizontal direction.
const STEEP: f64 = 0.1;

/// A rotation so near to one about the vertical is one, but for rounding.
const EXACT: f64 = 1e-9;

/// Where a sensor sits on the base, and how its measurements come into the plane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extrinsics {
    /// Its place in the base frame. The heading is that of its X axis, or of its Y axis less 90° where X is vertical.
    pub mount: Se2,
    /// Its height above the origin of the base, m; 0 where that is not known.
    height_m: f64,
    /// From the sensor to one at the same place with that heading, level: what is left of the rotation.
    levelling: Matrix3<f64>,
}

impl Extrinsics {
    /// Of a level sensor at `mount` in the base frame.
    pub fn level_at(mount: Se2) -> Self {
        Self { mount, height_m: 0.0, levelling: Matrix3::identity() }
    }

    /// Of a sensor at `pose` in the base frame.
    pub fn of(pose: &Isometry3<f64>) -> Self {
        let rotation = pose.rotation.to_rotation_matrix();
        let (x, y) = (rotation.matrix().column(0), rotation.matrix().column(1));
        let heading = if x.x.hypot(x.y) > STEEP { x.y.atan2(x.x) } else { (-y.x).atan2(y.y) };
        let turn = nalgebra::Rotation3::from_axis_angle(&Vector3::z_axis(), heading);
        let t = pose.translation.vector;
        let levelling = (turn.inverse() * rotation).into_inner();
        Self { mount: Se2::new(t.x, t.y, heading), height_m: t.z, levelling }
    }

    /// By how much the sensor leans from upright, or, upside down, from that, rad.
    pub fn tilt_rad(&self) -> f64 {
        self.levelling.m33.abs().min(1.0).acos()
    }

    /// Whether it hangs upside down.
    pub fn is_upside_down(&self) -> bool {
        self.levelling.m33 < 0.0
    }

    /// A position in the sensor's frame and its covariance, as a level sensor at [`Extrinsics::mount`] would have
    /// measured them, and the height above the base, m.
    pub fn level_position(&self, p: &Vector3<f64>, covariance: &Matrix3<f64>) -> (Vector2<f64>, Matrix2<f64>, f64) {
        let c = (self.levelling * covariance * self.levelling.transpose()).fixed_view::<2, 2>(0, 0).into_owned();
        let levelled = self.levelling * p;
        (levelled.xy(), 0.5 * (c + c.transpose()), self.height_m + levelled.z)
    }

    /// What [`Extrinsics::level_position`] gives, as the measurement of a landmark.
    pub fn level_measurement(
        &self,
        id: Option<u32>,
        p: &Vector3<f64>,
        covariance: Option<&Matrix3<f64>>,
    ) -> Measurement {
        let (position, c, height_m) = self.level_position(p, &covariance.copied().unwrap_or_default());
        let covariance = covariance.map(|_| c.into());
        Measurement { covariance, height_m, ..Measurement::new(id, [position.x, position.y]) }
    }

    /// Makes the measurements those of a level sensor at [`Extrinsics::mount`]. `heights` are the third coordinates of
    /// positions, m; nothing, or zeros throughout, where the sensor measures none. Bearings of a sensor that leans by
    /// less than [`MAX_TILT_RAD`] stay what they are, and those of one upside down change their sign.
    ///
    /// # Errors
    /// [`Refusal::TiltedSensor`]: bearings, or covariances of two coordinates, of a sensor that leans by more.
    pub fn level(&self, features: &mut Scan, heights: &[f64]) -> Result<(), Refusal> {
        // A scanner of a plane fills z with zeros, which are no measurement.
        let has_heights = heights.iter().any(|z| *z != 0.0);
        if features.kind == MeasurementKind::RelativePosition && has_heights {
            let finite = features.measurements.iter_mut().zip(heights).filter(|(_, z)| z.is_finite());
            for (measurement, z) in finite {
                let v = measurement.value.xy();
                measurement.height_m = self.height_m + (self.levelling * Vector3::new(v.x, v.y, *z)).z;
            }
        }
        if (self.levelling - Matrix3::identity()).amax() < EXACT {
            return Ok(());
        }
        let is_level = self.tilt_rad() <= MAX_TILT_RAD;
        let refused = |what| Refusal::TiltedSensor { tilt_deg: self.tilt_rad().to_degrees(), what };
        let l = &self.levelling;
        match features.kind {
            MeasurementKind::RelativePosition => {
                let planar = l.fixed_view::<2, 2>(0, 0).into_owned();
                if !is_level && features.measurements.iter().any(|o| o.covariance.is_some()) {
                    return Err(refused("a covariance of x and y says nothing of the third coordinate"));
                }
                for (i, measurement) in features.measurements.iter_mut().enumerate() {
                    let v = measurement.value.xy();
                    let height = heights.get(i).copied().unwrap_or(0.0);
                    measurement.value = (l * Vector3::new(v.x, v.y, height)).xy().into();
                    let turned = |c: Noise| (planar * c.fixed::<2>() * planar.transpose()).into();
                    measurement.covariance = measurement.covariance.map(turned);
                }
                Ok(())
            }
            MeasurementKind::RangeBearing if is_level => {
                if self.is_upside_down() {
                    for measurement in &mut features.measurements {
                        let v = measurement.value.xy();
                        measurement.value = [v.x, -v.y].into();
                        let mirrored = |c: Noise| {
                            let mut c = c.fixed::<2>();
                            (c.m12, c.m21) = (-c.m12, -c.m21);
                            c.into()
                        };
                        measurement.covariance = measurement.covariance.map(mirrored);
                    }
                }
                Ok(())
            }
            MeasurementKind::RangeBearing => Err(refused("ranges and bearings lie in its own plane")),
            MeasurementKind::StereoBearings if is_level && !self.is_upside_down() => Ok(()),
            MeasurementKind::StereoBearings => Err(refused("bearings of cameras lie in their own plane")),
            MeasurementKind::Bearing if is_level => {
                if self.is_upside_down() {
                    features.measurements.iter_mut().for_each(|o| o.value = [-o.value.xy().x].into());
                }
                Ok(())
            }
            MeasurementKind::Bearing => Err(refused("bearings lie in its own plane")),
            // A range has no direction, and a place in the world is not seen from the sensor.
            MeasurementKind::Range
            | MeasurementKind::WorldPosition
            | MeasurementKind::WorldPose
            | MeasurementKind::Added(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lienav_base::stamp::Stamp;
    use nalgebra::{Translation3, UnitQuaternion};
    use proptest::prelude::*;
    use std::f64::consts::PI;

    fn extrinsics(roll: f64, pitch: f64, yaw: f64) -> (Isometry3<f64>, Extrinsics) {
        let rotation = UnitQuaternion::from_euler_angles(roll, pitch, yaw);
        let pose = Isometry3::from_parts(Translation3::new(0.3, -0.2, 1.1), rotation);
        (pose, Extrinsics::of(&pose))
    }

    fn features(kind: MeasurementKind, value: [f64; 2]) -> Scan {
        Scan { stamp: Stamp::default(), kind, measurements: vec![Measurement::new(Some(1), value)] }
    }

    #[test]
    fn a_scanner_of_a_plane_measures_no_heights() {
        let mut seen = features(MeasurementKind::RelativePosition, [3.0, 0.2]);
        for nothing in [&[][..], &[0.0], &[f64::NAN]] {
            extrinsics(0.0, 0.0, 0.4).1.level(&mut seen, nothing).unwrap();
            assert_eq!((seen.measurements[0].height_m, seen.measurements[0].value[0]), (0.0, 3.0));
        }
        extrinsics(0.0, 0.0, 0.4).1.level(&mut seen, &[0.5]).unwrap();
        assert!((seen.measurements[0].height_m - 1.6).abs() < 1e-12, "the sensor is 1.1 m above the base");
    }

    proptest! {
        #[test]
        fn positions_of_any_sensor_come_where_they_are_on_the_base(
            roll in -PI..PI, pitch in -1.6..1.6f64, yaw in -PI..PI, p in prop::array::uniform3(-9.0..9.0f64),
        ) {
            let (pose, extrinsics) = extrinsics(roll, pitch, yaw);
            let mut seen = features(MeasurementKind::RelativePosition, [p[0], p[1]]);
            extrinsics.level(&mut seen, &[p[2]]).unwrap();
            let found = extrinsics.mount.transform(&seen.measurements[0].value.xy());
            let expected = (pose * nalgebra::Point3::from(Vector3::from(p))).coords;
            prop_assert!((found - expected.xy()).norm() < 1e-12 * (1.0 + expected.norm()), "{found} {expected}");
            prop_assert!((seen.measurements[0].height_m - expected.z).abs() < 1e-12 * (1.0 + expected.norm()));
        }

        #[test]
        fn bearings_of_a_level_sensor_come_where_they_are_also_upside_down(
            yaw in -PI..PI, range in 0.1..20.0f64, bearing in -3.0..3.0f64, over in any::<bool>(),
        ) {
            let (pose, extrinsics) = extrinsics(if over { PI } else { 0.0 }, 0.0, yaw);
            prop_assert_eq!(extrinsics.is_upside_down(), over);
            let mut seen = features(MeasurementKind::RangeBearing, [range, bearing]);
            seen.measurements[0].covariance = Some(Matrix2::new(0.04, 0.01, 0.01, 0.09).into());
            extrinsics.level(&mut seen, &[]).unwrap();
            let v = seen.measurements[0].value.xy();
            let found = extrinsics.mount.transform(&(v.x * Vector2::new(v.y.cos(), v.y.sin())));
            let read = nalgebra::Point3::new(range * bearing.cos(), range * bearing.sin(), 0.0);
            prop_assert!((found - (pose * read).coords.xy()).norm() < 1e-12 * (1.0 + range));
            let sign = if over { -1.0 } else { 1.0 };
            prop_assert_eq!(seen.measurements[0].covariance.unwrap().fixed::<2>().m12, sign * 0.01);
        }
    }

    #[test]
    fn bearings_of_a_sensor_that_leans_are_refused_with_its_angle() {
        let (_, little) = extrinsics(0.05, -0.05, 1.0);
        assert_eq!(little.level(&mut features(MeasurementKind::RangeBearing, [3.0, 0.2]), &[]), Ok(()));
        let (_, much) = extrinsics(0.0, 0.5, 1.0);
        assert!((much.mount.theta - 1.0).abs() < 1e-12);
        let refusal = much.level(&mut features(MeasurementKind::RangeBearing, [3.0, 0.2]), &[]).unwrap_err();
        assert_eq!(refusal.word(), "tilted_sensor");
        assert!(refusal.to_string().contains("29 degrees"), "{refusal}");
        assert!(much.level(&mut features(MeasurementKind::StereoBearings, [0.3, 0.2]), &[]).is_err());
        let mut stated = features(MeasurementKind::RelativePosition, [3.0, 0.2]);
        stated.measurements[0].covariance = Some(Matrix2::identity().into());
        assert!(much.level(&mut stated, &[0.0]).is_err());
    }
}
