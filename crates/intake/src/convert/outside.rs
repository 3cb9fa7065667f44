//! Positions and poses from outside: a satellite receiver, a motion capture, another localization.

use super::frame::Frame;
use super::read::{check_header, planar_block, pose_of};
use super::refusal::Refusal;
use super::write::{header, pose_message, set_planar_block};
use crate::geodesy::Datum;
use crate::messages::{NavSatFix, PoseWithCovarianceStamped};
use lienav_lie::Se2;
use lienav_slam::{Measurement, MeasurementKind, Noise, Scan};
use nalgebra::{Matrix2, Matrix3, Vector2};

/// A heading whose variance is larger, or which has none, is not told, rad².
pub const MAX_YAW_VARIANCE: f64 = 1.0;

/// A fix that is known less well makes no datum, m: whoever begins there is far from where he is.
const MAX_DATUM_STD_M: f64 = 100.0;

/// A pose from outside, as input of the filter: its position alone where the covariance says that the heading is not
/// known, because its variance is 0 or negative beside others that are not, or beyond [`MAX_YAW_VARIANCE`]. A
/// covariance with a variance of 0 in x or y is not stated.
///
/// # Errors
/// [`Refusal::UnknownFrame`], [`Refusal::BadStamp`], [`Refusal::BadOrientation`].
pub fn absolute_pose(message: &PoseWithCovarianceStamped, frames: &[Frame<'_>]) -> Result<Scan, Refusal> {
    let stamp = check_header(&message.header, frames)?;
    let covariance = planar_block(&message.pose.covariance);
    let is_stated = covariance.m11 != 0.0 && covariance.m22 != 0.0;
    let has_heading = covariance == Matrix3::zeros() || (covariance.m33 > 0.0 && covariance.m33 <= MAX_YAW_VARIANCE);
    let position = &message.pose.pose.position;
    let (kind, measurement) = if has_heading {
        let pose = pose_of(&message.pose.pose)?;
        let stated = is_stated.then(|| Noise::from(covariance));
        (MeasurementKind::WorldPose, (Measurement::new(None, [pose.p.x, pose.p.y, pose.theta]), stated))
    } else {
        let stated = covariance.fixed_view::<2, 2>(0, 0).into_owned();
        let stated = is_stated.then(|| Noise::from(stated));
        (MeasurementKind::WorldPosition, (Measurement::new(None, [position.x, position.y]), stated))
    };
    let (measurement, covariance) = measurement;
    Ok(Scan { stamp, kind, measurements: vec![Measurement { covariance, ..measurement }] })
}

/// A fix of a satellite receiver as input of the filter, east and north of the datum. A fix that is the first one makes
/// the datum, where there is none; if the next one is not of its plane, that first one was wrong, and the next one
/// makes the datum instead. A covariance of an unknown type, or with a variance that is not positive, is not stated:
/// the filter takes `absolute.position_std_m`.
///
/// # Errors
/// [`Refusal::UnknownFrame`], [`Refusal::BadStamp`], [`Refusal::NoFix`], and [`Refusal::BadFix`] for a placeholder, for
/// a first fix that is too uncertain, and for a place near a pole or far from the datum.
pub fn nav_sat_fix(message: &NavSatFix, frames: &[Frame<'_>], datum: &mut Option<Datum>) -> Result<Scan, Refusal> {
    let stamp = check_header(&message.header, frames)?;
    if message.status.status < 0 {
        return Err(Refusal::NoFix { status: message.status.status });
    }
    let NavSatFix { latitude, longitude, .. } = message;
    if *latitude == 0.0 && *longitude == 0.0 {
        return Err(Refusal::BadFix {
            why: "latitude and longitude are 0, which drivers send before their first solution; it is left out",
        });
    }
    // A receiver in the plane has no height, which is then not a number.
    let altitude = if message.altitude.is_nan() { 0.0 } else { message.altitude };
    let stated = stated_fix_covariance(message);
    let position = match datum.and_then(|origin| origin.plane(*latitude, *longitude, altitude)) {
        Some(position) => {
            datum.iter_mut().for_each(Datum::confirm);
            position
        }
        None if datum.is_none_or(|origin| origin.is_first_guess()) => {
            if stated.is_some_and(|c| c.m11.max(c.m22) > MAX_DATUM_STD_M * MAX_DATUM_STD_M) {
                return Err(Refusal::BadFix {
                    why: "it is the first one, and states a standard deviation of more than 100 m; wait for a better \
                          one, or set the datum (gnss.latitude_deg, gnss.longitude_deg)",
                });
            }
            let origin = Datum::first_guess(*latitude, *longitude, altitude)
                .ok_or(Refusal::BadFix { why: "it is at a pole, or no coordinate at all; repair the driver" })?;
            *datum = Some(origin);
            Vector2::zeros()
        }
        None => {
            return Err(Refusal::BadFix {
                why: "it is more than 50 km from the datum, at a pole, or no coordinate at all; repair the driver, or \
                      set the datum (gnss.latitude_deg, gnss.longitude_deg)",
            });
        }
    };
    let measurement = Measurement { covariance: stated.map(Noise::from), ..Measurement::new(None, position) };
    Ok(Scan { stamp, kind: MeasurementKind::WorldPosition, measurements: vec![measurement] })
}

/// The covariance of (east, north) of a fix, m²; `None` where it is not stated.
fn stated_fix_covariance(message: &NavSatFix) -> Option<Matrix2<f64>> {
    let NavSatFix { position_covariance: c, position_covariance_type, .. } = message;
    let is_stated = *position_covariance_type != 0 && c[0] > 0.0 && c[4] > 0.0;
    // Of a covariance of which the diagonal alone is known, the rest may be not-a-number.
    let known = |x: f64| if x.is_nan() { 0.0 } else { x };
    is_stated.then(|| Matrix2::new(c[0], known(c[1]), known(c[3]), c[4]))
}

/// A position or a pose from outside as a message; the variance of a heading that is not known is beyond
/// [`MAX_YAW_VARIANCE`].
pub fn absolute_pose_message(features: &Scan, frame: &str) -> PoseWithCovarianceStamped {
    let mut message = PoseWithCovarianceStamped { header: header(features.stamp, frame), ..Default::default() };
    let Some(seen) = features.measurements.first() else { return message };
    let whole = seen.value.fixed::<3>();
    message.pose.pose = pose_message(&Se2::new(whole.x, whole.y, whole.z));
    let mut covariance = seen.covariance.map_or_else(Matrix3::zeros, |stated| stated.fixed::<3>());
    if features.kind == MeasurementKind::WorldPosition {
        covariance.m33 = 100.0 * MAX_YAW_VARIANCE;
    }
    set_planar_block(&mut message.pose.covariance, &covariance);
    message
}

#[cfg(test)]
mod tests {
    use super::*;
    use lienav_base::stamp::Stamp;
    use lienav_slam::Value;

    const FRAME: [Frame<'static>; 1] = [Frame::parameter("gnss.frame", "gps")];

    fn fix() -> NavSatFix {
        let mut fix = NavSatFix { header: header(Stamp::default(), "gps"), ..NavSatFix::default() };
        (fix.latitude, fix.longitude, fix.altitude) = (48.0, 11.0, 500.0);
        (fix.position_covariance[0], fix.position_covariance[4]) = (0.25, 0.36);
        fix.position_covariance_type = 2;
        fix
    }

    #[test]
    fn the_first_fix_is_the_datum_and_the_next_one_is_north_of_it() {
        let mut datum = None;
        let first = nav_sat_fix(&fix(), &FRAME, &mut datum).unwrap();
        assert_eq!((first.kind, first.measurements[0].value.xy().norm()), (MeasurementKind::WorldPosition, 0.0));
        let north = NavSatFix { latitude: 48.001, ..fix() };
        let seen = nav_sat_fix(&north, &FRAME, &mut datum).unwrap().measurements[0];
        assert!((seen.value[1] - 111.2).abs() < 0.1 && seen.value[0].abs() < 1e-6);
        assert_eq!(seen.covariance.unwrap().fixed::<2>(), Matrix2::new(0.25, 0.0, 0.0, 0.36));
        let unknown = NavSatFix { position_covariance_type: 0, ..fix() };
        assert_eq!(nav_sat_fix(&unknown, &FRAME, &mut datum).unwrap().measurements[0].covariance, None);
    }

    #[test]
    fn a_covariance_of_zero_or_not_a_number_is_not_stated_whatever_its_type() {
        for bad in [0.0, f64::NAN, -1.0] {
            for kind in 1..4 {
                let message = NavSatFix { position_covariance: [bad; 9], position_covariance_type: kind, ..fix() };
                let seen = nav_sat_fix(&message, &FRAME, &mut None).unwrap();
                assert_eq!(seen.measurements[0].covariance, None, "{bad} of type {kind}");
            }
        }
        let mut diagonal = fix();
        (diagonal.position_covariance[1], diagonal.position_covariance[3]) = (f64::NAN, f64::NAN);
        let seen = nav_sat_fix(&diagonal, &FRAME, &mut None).unwrap();
        assert_eq!(seen.measurements[0].covariance.unwrap().fixed::<2>(), Matrix2::new(0.25, 0.0, 0.0, 0.36));
    }

    #[test]
    fn one_wrong_fix_is_no_datum_for_ever_and_two_that_agree_are() {
        let mut datum = None;
        let far = NavSatFix { latitude: 10.0, ..fix() };
        nav_sat_fix(&far, &FRAME, &mut datum).unwrap();
        let first = nav_sat_fix(&fix(), &FRAME, &mut datum).unwrap();
        assert_eq!(first.measurements[0].value.xy().norm(), 0.0);
        let north = NavSatFix { latitude: 48.001, ..fix() };
        assert!((nav_sat_fix(&north, &FRAME, &mut datum).unwrap().measurements[0].value[1] - 111.2).abs() < 0.1);
        assert_eq!(nav_sat_fix(&far, &FRAME, &mut datum).unwrap_err().word(), "bad_fix");
        let mut given = Datum::new(48.0, 11.0, 500.0);
        assert_eq!(nav_sat_fix(&far, &FRAME, &mut given).unwrap_err().word(), "bad_fix", "what is given stays");
    }

    #[test]
    fn what_is_no_fix_is_refused_with_its_reason() {
        let refused = |change: fn(&mut NavSatFix)| {
            let (mut fix, mut datum) = (fix(), None);
            change(&mut fix);
            let word = nav_sat_fix(&fix, &FRAME, &mut datum).unwrap_err().word();
            assert_eq!(datum, None, "a bad fix makes no datum");
            word
        };
        assert_eq!(refused(|f| f.status.status = -1), "no_fix");
        assert_eq!(refused(|f| (f.latitude, f.longitude) = (0.0, 0.0)), "bad_fix", "a placeholder");
        assert_eq!(refused(|f| f.position_covariance = [1e6; 9]), "bad_fix", "too uncertain to be the datum");
        assert_eq!(refused(|f| f.latitude = 90.0), "bad_fix");
        assert_eq!(refused(|f| f.longitude = f64::NAN), "bad_fix");
        assert_eq!(refused(|f| f.header.frame_id = "imu".into()), "unknown_frame");
    }

    #[test]
    fn what_is_written_is_read() {
        for (kind, value, covariance) in [
            (MeasurementKind::WorldPosition, vec![3.0, -4.0], Noise::from(Matrix2::new(0.2, 0.01, 0.01, 0.3))),
            (MeasurementKind::WorldPose, vec![3.0, -4.0, 1.5], Noise::from(Matrix3::identity() * 0.1)),
        ] {
            let value = if value.len() == 2 {
                [value[0], value[1]].into()
            } else {
                Value::from([value[0], value[1], value[2]])
            };
            let measurement = Measurement { covariance: Some(covariance), ..Measurement::new(None, value) };
            let features = Scan { stamp: Stamp::from_secs(3.5), kind, measurements: vec![measurement] };
            let read = absolute_pose(&absolute_pose_message(&features, "gps"), &FRAME).unwrap();
            assert_eq!((read.stamp, read.kind), (features.stamp, kind));
            let error = read.measurements[0].value.fixed::<3>() - value.fixed::<3>();
            assert!(error.norm() < 1e-12 && read.measurements[0].covariance == Some(covariance));
        }
    }

    #[test]
    fn a_pose_without_heading_is_a_position() {
        let mut message = PoseWithCovarianceStamped { header: header(Stamp::default(), "gps"), ..Default::default() };
        (message.pose.pose.position.x, message.pose.pose.orientation.w) = (3.0, 1.0);
        assert_eq!(absolute_pose(&message, &FRAME).unwrap().kind, MeasurementKind::WorldPose);
        (message.pose.covariance.0[0], message.pose.covariance.0[7]) = (0.1, 0.2);
        let position = absolute_pose(&message, &FRAME).unwrap();
        assert_eq!((position.kind, position.measurements[0].value.len()), (MeasurementKind::WorldPosition, 2));
        message.pose.covariance.0[35] = 0.01;
        let pose = absolute_pose(&message, &FRAME).unwrap();
        assert_eq!((pose.kind, pose.measurements[0].value.len()), (MeasurementKind::WorldPose, 3));
        message.pose.covariance.0[35] = 9.0;
        assert_eq!(absolute_pose(&message, &FRAME).unwrap().kind, MeasurementKind::WorldPosition);
        message.pose.pose.orientation.w = 0.5;
        assert!(absolute_pose(&message, &FRAME).is_ok(), "an orientation that does not count may be anything");
    }
}
