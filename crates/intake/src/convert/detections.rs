//! Things that a detector has found in space, `vision_msgs`.

use super::extrinsics::Extrinsics;
use super::frame::{Frame, check_frame};
use super::read::{position_covariance, stamp_of};
use super::refusal::Origin;
use super::refusal::Refusal;
use super::tags::TagPattern;
use crate::messages::{Detection3D, Detection3DArray, Point};
use lienav_slam::{Label, Measurement, MeasurementKind, Scan};
use nalgebra::Vector3;

/// What the words of a detector stand for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DetectionWords {
    /// Words of `class_id`, for classes 1, 2, … A number is a class by itself, any other word is no class.
    pub classes: Vec<String>,
    /// Which `id`, or else which `class_id`, is the number of a landmark; `None` where none is: what a tracker
    /// numbers has another number when it comes again.
    pub identity: Option<TagPattern>,
    /// What has a smaller score is left out.
    pub min_score: f64,
}

impl DetectionWords {
    fn class(&self, word: &str) -> u32 {
        let place = self.classes.iter().position(|class| class == word).and_then(|k| u32::try_from(k + 1).ok());
        place.or_else(|| word.parse().ok()).unwrap_or(0)
    }
}

/// Detections as a level sensor at [`Extrinsics::mount`] would have seen them. Of each, the likeliest result says what
/// it is and where; a detection without results, or with a result at zero, is where its box is. A covariance with a
/// variance of 0 in the plane is not stated. Orientations are not read.
///
/// # Errors
/// [`Refusal::BadStamp`]; [`Refusal::UnknownFrame`], a detection in another frame than the array's.
pub fn detections(
    message: &Detection3DArray,
    extrinsics: &Extrinsics,
    words: &DetectionWords,
) -> Result<Scan, Refusal> {
    let stamp = stamp_of(&message.header.stamp)?;
    let whole = [Frame { name: &message.header.frame_id, origin: Origin::Header }];
    let mut measurements = Vec::with_capacity(message.detections.len());
    for detection in &message.detections {
        if !detection.header.frame_id.is_empty() {
            check_frame("detections.header.frame_id", &detection.header.frame_id, &whole)?;
        }
        measurements.extend(measurement(detection, extrinsics, words));
    }
    Ok(Scan { stamp, kind: MeasurementKind::RelativePosition, measurements })
}

fn measurement(detection: &Detection3D, extrinsics: &Extrinsics, words: &DetectionWords) -> Option<Measurement> {
    // A score that is no number says nothing of its result.
    let scored = detection.results.iter().filter(|result| !result.hypothesis.score.is_nan());
    let likeliest = scored.max_by(|a, b| a.hypothesis.score.total_cmp(&b.hypothesis.score));
    let place = |p: &Point| Vector3::new(p.x, p.y, p.z);
    let centre = place(&detection.bbox.center.position);
    let Some(result) = likeliest else {
        if !detection.results.is_empty() {
            return None;
        }
        let id = words.identity.as_ref().and_then(|pattern| pattern.identity(&detection.id));
        return Some(extrinsics.level_measurement(id, &centre, None));
    };
    let (hypothesis, pose) = (&result.hypothesis, &result.pose);
    if hypothesis.score < words.min_score {
        return None;
    }
    let stated = position_covariance(&pose.covariance);
    // Nothing is where the sensor is: a detector that gives boxes alone leaves the poses at that.
    let position = Some(place(&pose.pose.position)).filter(|p| *p != Vector3::zeros()).unwrap_or(centre);
    let identity = |pattern: &TagPattern| pattern.identity(&detection.id).or(pattern.identity(&hypothesis.class_id));
    let levelled = extrinsics.level_measurement(words.identity.as_ref().and_then(identity), &position, stated.as_ref());
    Some(Measurement {
        // A variance of 0 is not stated.
        covariance: levelled
            .covariance
            .filter(|noise| noise.fixed::<2>().diagonal().iter().all(|variance| *variance != 0.0)),
        label: Label { class: words.class(&hypothesis.class_id), ..Label::default() },
        ..levelled
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convert::header;
    use crate::messages::ObjectHypothesisWithPose;
    use lienav_base::stamp::Stamp;
    use nalgebra::{Isometry3, Translation3, UnitQuaternion, Vector2};

    fn result(class: &str, score: f64, at: [f64; 3]) -> ObjectHypothesisWithPose {
        let mut result = ObjectHypothesisWithPose::default();
        (result.hypothesis.class_id, result.hypothesis.score) = (class.into(), score);
        let p = &mut result.pose.pose.position;
        (p.x, p.y, p.z) = (at[0], at[1], at[2]);
        result
    }

    fn message(detections: Vec<Detection3D>) -> Detection3DArray {
        Detection3DArray { header: header(Stamp::from_secs(2.0), "camera"), detections }
    }

    fn one(id: &str, results: Vec<ObjectHypothesisWithPose>) -> Detection3D {
        Detection3D { id: id.into(), results, ..Detection3D::default() }
    }

    #[test]
    fn the_likeliest_result_counts_on_the_floor_with_its_own_covariance() {
        let optical =
            UnitQuaternion::from_euler_angles(-std::f64::consts::FRAC_PI_2, 0.0, -std::f64::consts::FRAC_PI_2);
        let extrinsics = Extrinsics::of(&Isometry3::from_parts(Translation3::new(0.2, 0.0, 0.5), optical));
        let mut best = result("trunk", 0.9, [-1.0, 0.3, 4.0]);
        // Depth is known less well than direction.
        for (place, variance) in [(0, 0.01), (7, 0.02), (14, 0.25)] {
            best.pose.covariance.0[place] = variance;
        }
        let told = message(vec![one("17", vec![result("pole", 0.05, [9.0, 9.0, 9.0]), best])]);
        let words = DetectionWords { classes: vec!["pole".into(), "trunk".into()], ..DetectionWords::default() };
        let seen = detections(&told, &extrinsics, &words).unwrap();
        let found = seen.measurements[0];
        assert!((extrinsics.mount.transform(&found.value.xy()) - Vector2::new(4.2, 1.0)).norm() < 1e-12);
        assert_eq!((found.id, found.label.class, seen.kind), (None, 2, MeasurementKind::RelativePosition));
        let (c, turn) = (found.covariance.unwrap().fixed::<2>(), nalgebra::Rotation2::new(extrinsics.mount.theta));
        let on_base = turn * c * turn.inverse();
        assert!((on_base.m11 - 0.25).abs() < 1e-12 && (on_base.m22 - 0.01).abs() < 1e-12, "{on_base}");
    }

    #[test]
    fn words_are_classes_and_identities_as_far_as_they_are_told() {
        let extrinsics = Extrinsics::level_at(lienav_lie::Se2::identity());
        let told = message(vec![
            one("", vec![result("tag36h11:4", 1.0, [1.0, 0.0, 0.0])]),
            one("post_7", vec![result("3", 0.8, [2.0, 0.0, 0.0])]),
            one("x", vec![result("person", 0.2, [3.0, 0.0, 0.0])]),
            one("x", vec![result("person", f64::NAN, [3.0, 0.0, 0.0])]),
            one("", vec![]),
        ]);
        let shown = |words: &DetectionWords| {
            let seen = detections(&told, &extrinsics, words).unwrap().measurements;
            seen.iter().map(|o| (o.id, o.label.class, o.covariance.is_some())).collect::<Vec<_>>()
        };
        let plain = DetectionWords::default();
        assert_eq!(
            shown(&plain),
            [(None, 0, false), (None, 3, false), (None, 0, false), (None, 0, false)],
            "numbers of a tracker are no identities"
        );
        let identity = Some("*_{id}".parse().unwrap());
        let words = DetectionWords { identity, min_score: 0.5, ..plain };
        assert_eq!(shown(&words), [(None, 0, false), (Some(7), 3, false), (None, 0, false)]);
        let words = DetectionWords { identity: Some("tag36h11:{id}".parse().unwrap()), ..words };
        assert_eq!(shown(&words), [(Some(4), 0, false), (None, 3, false), (None, 0, false)]);
    }

    #[test]
    fn a_detector_that_gives_boxes_alone_and_a_score_that_is_no_number_hide_nothing() {
        let extrinsics = Extrinsics::level_at(lienav_lie::Se2::identity());
        let mut boxed = one("", vec![result("2", 0.9, [0.0; 3])]);
        (boxed.bbox.center.position.x, boxed.bbox.center.position.y) = (4.0, 1.0);
        let doubtful = one("", vec![result("3", 0.4, [5.0, 0.0, 0.0]), result("4", f64::NAN, [6.0, 0.0, 0.0])]);
        let seen = detections(&message(vec![boxed, doubtful]), &extrinsics, &DetectionWords::default()).unwrap();
        let shown: Vec<_> = seen.measurements.iter().map(|o| (o.label.class, o.value.xy().x)).collect();
        assert_eq!(shown, [(2, 4.0), (3, 5.0)]);
    }

    #[test]
    fn a_detection_in_another_frame_is_refused_with_its_name() {
        let extrinsics = Extrinsics::level_at(lienav_lie::Se2::identity());
        let mut told = message(vec![one("", vec![]), one("", vec![])]);
        told.detections[1].header.frame_id = "map".into();
        let refusal = detections(&told, &extrinsics, &DetectionWords::default()).unwrap_err();
        assert_eq!(
            refusal.to_string(),
            "detections.header.frame_id is 'map', expected 'camera' (as in the header of the message)"
        );
        told.detections[1].header.frame_id = "/camera".into();
        assert_eq!(detections(&told, &extrinsics, &DetectionWords::default()).unwrap().measurements.len(), 2);
    }
}
