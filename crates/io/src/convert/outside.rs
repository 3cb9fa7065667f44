//! Positions and poses from outside: a satellite receiver, a motion capture, another localization.

use super::PLANAR;
use super::frame::Frame;
use super::read::{check_header, planar_block, pose_of};
use super::refusal::Refusal;
use super::write::{header, pose_message};
use crate::geodesy::Datum;
use crate::messages::{NavSatFix, PoseWithCovarianceStamped};
use lienav_lie::Se2;
use lienav_slam::{FeatureKind, Features, Noise, Observation};
use nalgebra::{Matrix2, Matrix3};

/// A heading whose variance is larger, or which has none, is not told, rad².
pub const MAX_YAW_VARIANCE: f64 = 1.0;

/// A pose from outside, as input of the filter: its position alone where the covariance says that the heading is not
/// known, because its variance is 0 or negative beside others that are not, or beyond [`MAX_YAW_VARIANCE`].
///
/// # Errors
/// [`Refusal::UnknownFrame`], [`Refusal::BadStamp`], [`Refusal::BadOrientation`].
pub fn absolute_pose(message: &PoseWithCovarianceStamped, frames: &[Frame<'_>]) -> Result<Features, Refusal> {
    let stamp = check_header(&message.header, frames)?;
    let covariance = planar_block(&message.pose.covariance);
    let is_stated = covariance != Matrix3::zeros();
    let has_heading = !is_stated || (covariance.m33 > 0.0 && covariance.m33 <= MAX_YAW_VARIANCE);
    let position = &message.pose.pose.position;
    let (kind, observation) = if has_heading {
        let pose = pose_of(&message.pose.pose)?;
        let stated = is_stated.then(|| Noise::from(covariance));
        (FeatureKind::WorldPose, (Observation::new(None, [pose.p.x, pose.p.y, pose.theta]), stated))
    } else {
        let stated = covariance.fixed_view::<2, 2>(0, 0).into_owned();
        (FeatureKind::WorldPosition, (Observation::new(None, [position.x, position.y]), Some(Noise::from(stated))))
    };
    let (observation, covariance) = observation;
    Ok(Features { stamp, kind, observations: vec![Observation { covariance, ..observation }] })
}

/// A fix of a satellite receiver as input of the filter, east and north of the datum. A fix that is the first one makes
/// the datum, where there is none.
///
/// # Errors
/// [`Refusal::UnknownFrame`], [`Refusal::BadStamp`], [`Refusal::NoFix`], and [`Refusal::BadFix`] for a covariance of
/// zero, and for a place near a pole or far from the datum.
pub fn nav_sat_fix(message: &NavSatFix, frames: &[Frame<'_>], datum: &mut Option<Datum>) -> Result<Features, Refusal> {
    let stamp = check_header(&message.header, frames)?;
    if message.status.status < 0 {
        return Err(Refusal::NoFix { status: message.status.status });
    }
    let NavSatFix { latitude, longitude, position_covariance: c, .. } = message;
    // A receiver in the plane has no height, which is then not a number.
    let altitude = if message.altitude.is_nan() { 0.0 } else { message.altitude };
    let covariance = Matrix2::new(c[0], c[1], c[3], c[4]);
    // 0: the covariance is unknown.
    let is_stated = message.position_covariance_type != 0;
    if is_stated && !(c[0] > 0.0 && c[4] > 0.0) {
        return Err(Refusal::BadFix { why: "its covariance is zero, or none: no receiver is exact" });
    }
    let no_plane = Refusal::BadFix { why: "it is at a pole, more than 50 km from the datum, or no coordinate at all" };
    let origin = match *datum {
        Some(origin) => origin,
        None => Datum::new(*latitude, *longitude, altitude).ok_or(no_plane.clone())?,
    };
    let position = origin.plane(*latitude, *longitude, altitude).ok_or(no_plane)?;
    *datum = Some(origin);
    let stated = is_stated.then(|| Noise::from(covariance));
    let observation = Observation { covariance: stated, ..Observation::new(None, position) };
    Ok(Features { stamp, kind: FeatureKind::WorldPosition, observations: vec![observation] })
}

/// A position or a pose from outside as a message; the variance of a heading that is not known is beyond
/// [`MAX_YAW_VARIANCE`].
pub fn absolute_pose_message(features: &Features, frame: &str) -> PoseWithCovarianceStamped {
    let mut message = PoseWithCovarianceStamped { header: header(features.stamp, frame), ..Default::default() };
    let Some(seen) = features.observations.first() else { return message };
    let whole = seen.value.fixed::<3>();
    message.pose.pose = pose_message(&Se2::new(whole.x, whole.y, whole.z));
    let mut covariance = seen.covariance.map_or_else(Matrix3::zeros, |stated| stated.fixed::<3>());
    if features.kind == FeatureKind::WorldPosition {
        covariance.m33 = 100.0 * MAX_YAW_VARIANCE;
    }
    for (i, row) in PLANAR.into_iter().enumerate() {
        for (j, column) in PLANAR.into_iter().enumerate() {
            message.pose.covariance.0[6 * row + column] = covariance[(i, j)];
        }
    }
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
        assert_eq!((first.kind, first.observations[0].value.xy().norm()), (FeatureKind::WorldPosition, 0.0));
        let north = NavSatFix { latitude: 48.001, ..fix() };
        let seen = nav_sat_fix(&north, &FRAME, &mut datum).unwrap().observations[0];
        assert!((seen.value[1] - 111.2).abs() < 0.1 && seen.value[0].abs() < 1e-6);
        assert_eq!(seen.covariance.unwrap().fixed::<2>(), Matrix2::new(0.25, 0.0, 0.0, 0.36));
        let unknown = NavSatFix { position_covariance_type: 0, ..fix() };
        assert_eq!(nav_sat_fix(&unknown, &FRAME, &mut datum).unwrap().observations[0].covariance, None);
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
        assert_eq!(refused(|f| f.position_covariance = [0.0; 9]), "bad_fix");
        assert_eq!(refused(|f| f.latitude = 90.0), "bad_fix");
        assert_eq!(refused(|f| f.longitude = f64::NAN), "bad_fix");
        assert_eq!(refused(|f| f.header.frame_id = "imu".into()), "unknown_frame");
    }

    #[test]
    fn what_is_written_is_read() {
        for (kind, value, covariance) in [
            (FeatureKind::WorldPosition, vec![3.0, -4.0], Noise::from(Matrix2::new(0.2, 0.01, 0.01, 0.3))),
            (FeatureKind::WorldPose, vec![3.0, -4.0, 1.5], Noise::from(Matrix3::identity() * 0.1)),
        ] {
            let value = if value.len() == 2 {
                [value[0], value[1]].into()
            } else {
                Value::from([value[0], value[1], value[2]])
            };
            let observation = Observation { covariance: Some(covariance), ..Observation::new(None, value) };
            let features = Features { stamp: Stamp::from_secs(3.5), kind, observations: vec![observation] };
            let read = absolute_pose(&absolute_pose_message(&features, "gps"), &FRAME).unwrap();
            assert_eq!((read.stamp, read.kind), (features.stamp, kind));
            let error = read.observations[0].value.fixed::<3>() - value.fixed::<3>();
            assert!(error.norm() < 1e-12 && read.observations[0].covariance == Some(covariance));
        }
    }

    #[test]
    fn a_pose_without_heading_is_a_position() {
        let mut message = PoseWithCovarianceStamped { header: header(Stamp::default(), "gps"), ..Default::default() };
        (message.pose.pose.position.x, message.pose.pose.orientation.w) = (3.0, 1.0);
        assert_eq!(absolute_pose(&message, &FRAME).unwrap().kind, FeatureKind::WorldPose);
        (message.pose.covariance.0[0], message.pose.covariance.0[7]) = (0.1, 0.2);
        let position = absolute_pose(&message, &FRAME).unwrap();
        assert_eq!((position.kind, position.observations[0].value.len()), (FeatureKind::WorldPosition, 2));
        message.pose.covariance.0[35] = 0.01;
        let pose = absolute_pose(&message, &FRAME).unwrap();
        assert_eq!((pose.kind, pose.observations[0].value.len()), (FeatureKind::WorldPose, 3));
        message.pose.covariance.0[35] = 9.0;
        assert_eq!(absolute_pose(&message, &FRAME).unwrap().kind, FeatureKind::WorldPosition);
        message.pose.pose.orientation.w = 0.5;
        assert!(absolute_pose(&message, &FRAME).is_ok(), "an orientation that does not count may be anything");
    }
}
