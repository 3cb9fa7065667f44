//! Tags that a camera finds, as transforms from its frame to theirs: which is which, and how well they are placed.
//!
//! apriltag_ros and aruco_opencv publish the tags of one image on `/tf`, from the frame of the image to frames such as
//! `tag36h11:5` and `marker_5`.

use super::placed::isometry_of;
use super::refusal::Refusal;
use crate::messages::TransformStamped;
use lienav_slam::Measurement;
use nalgebra::{Isometry3, Matrix3, Matrix6, Rotation3, SMatrix, Vector3, Vector6};

/// A pattern of the names of tags, that says which part of a name is the identity.
///
/// `{id}` stands for a number, `{id+1000}` for a number to which 1000 is added, so that two families do not share
/// identities, and `*` for any text; everything else stands for itself. A name without a number is given one:
/// `dock=500` is the frame `dock`, of a tag or of a bundle of them, with the identity 500.
///
/// ```
/// use lienav_intake::convert::TagPattern;
///
/// let pattern: TagPattern = "*/tag36h11:{id}".parse()?;
/// assert_eq!(pattern.identity("robot_1/tag36h11:5"), Some(5));
/// assert_eq!(pattern.identity("robot_1/tag36h11:x"), None);
/// assert_eq!("marker_{id+1000}".parse::<TagPattern>()?.identity("marker_7"), Some(1007));
/// assert_eq!("*/dock=500".parse::<TagPattern>()?.identity("robot_1/dock"), Some(500));
/// # Ok::<(), lienav_intake::convert::TagPatternError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagPattern(Kind);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    /// A number between two texts, to which the offset is added.
    Number { before: Vec<String>, after: Vec<String>, offset: u32 },
    /// A name that has this identity.
    Name { name: Vec<String>, id: u32 },
}

/// A pattern that names no identity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is no pattern of tags: it needs one {{id}}, or {{id+N}} with a whole number N, as in tag36h11:{{id}}, or ends in \
     =N, as dock=500"
)]
pub struct TagPatternError(String);

impl std::str::FromStr for TagPattern {
    type Err = TagPatternError;

    fn from_str(text: &str) -> Result<Self, TagPatternError> {
        let wrong = || TagPatternError(text.to_owned());
        let parts = |text: &str| text.split('*').map(str::to_owned).collect();
        let text = text.strip_prefix('/').unwrap_or(text);
        if let Some((name, id)) = text.rsplit_once('=').filter(|_| !text.contains(['{', '}'])) {
            let id = id.parse().ok().filter(|id| *id != u32::MAX && !name.is_empty()).ok_or_else(wrong)?;
            return Ok(Self(Kind::Name { name: parts(name), id }));
        }
        let (before, rest) = text.split_once('{').ok_or_else(wrong)?;
        let (identity, after) = rest.split_once('}').ok_or_else(wrong)?;
        let offset = identity.strip_prefix("id").ok_or_else(wrong)?;
        let offset = match offset.strip_prefix('+') {
            None if offset.is_empty() => 0,
            None => return Err(wrong()),
            Some(number) => number.parse().map_err(|_| wrong())?,
        };
        if after.contains(['{', '}']) || before.contains('}') {
            return Err(wrong());
        }
        Ok(Self(Kind::Number { before: parts(before), after: parts(after), offset }))
    }
}

impl TagPattern {
    /// The identity in a name; `None` if it is not of this pattern. Of several numbers that fit, the first counts.
    pub fn identity(&self, name: &str) -> Option<u32> {
        let name = name.strip_prefix('/').unwrap_or(name);
        let (wanted_before, wanted_after, offset) = match &self.0 {
            Kind::Name { name: wanted, id } => return fits(wanted, name).then_some(*id),
            Kind::Number { before, after, offset } => (before, after, *offset),
        };
        let is_digit = |at: usize| name.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
        let mut at = 0;
        while at < name.len() {
            if !is_digit(at) {
                at += 1;
                continue;
            }
            let end = (at..name.len()).find(|&k| !is_digit(k)).unwrap_or(name.len());
            // Digits are characters of one byte: both are boundaries.
            let (before, number, after) = (&name[..at], &name[at..end], &name[end..]);
            if fits(wanted_before, before) && fits(wanted_after, after) {
                return number.parse::<u32>().ok()?.checked_add(offset).filter(|id| *id != u32::MAX);
            }
            at = end;
        }
        None
    }
}

/// Whether a text is these parts with anything between them.
fn fits(parts: &[String], text: &str) -> bool {
    let [first, middle @ .., last] = parts else { return parts.iter().all(|part| part == text) };
    let Some(mut rest) = text.strip_prefix(first.as_str()) else { return false };
    for part in middle {
        let Some(at) = rest.find(part.as_str()) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last.as_str())
}

/// How well a camera places a tag.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TagCamera {
    /// Edge of a tag, between its corners, m.
    pub size_m: f64,
    /// Focal length, pixels.
    pub focal_px: f64,
    /// Standard deviation of each coordinate of a corner, pixels.
    pub pixel_std: f64,
    /// Error of focal length and tag size together, as a part of the distance.
    pub scale_std: f64,
    /// Tags farther away are left out, m.
    pub max_range_m: f64,
    /// Tags that are seen at more than this from their normal are left out, rad.
    pub max_view_angle_rad: f64,
}

impl TagCamera {
    /// The covariance of the position of a tag in the camera's frame, m², of a tag at `pose` there.
    ///
    /// The detector fits a pose to the four corners, each seen with σ = `pixel_std` / `focal_px` rad in either
    /// direction across the line of sight. With J the derivative of these eight angles by position and orientation, the
    /// covariance of the fit is σ²(JᵀJ)⁻¹; the block of the position is taken, to which the error of the scale is added
    /// along the line of sight. Of a tag of edge s at distance d, seen from the front, this is about
    ///
    /// - d σ / 2 across the line of sight: the mean of four corners, and
    /// - d² σ / (√2 s) along it: the size of the image says how far away it is.
    ///
    /// An orientation counts as known to a radian, whatever the corners say of it. `None` where the corners do not lie
    /// in front of the camera.
    pub fn covariance(&self, pose: &Isometry3<f64>) -> Option<Matrix3<f64>> {
        let p = pose.translation.vector;
        let sight = Rotation3::face_towards(&p, &any_across(&p));
        let to_sight = sight.inverse();
        let mut j = SMatrix::<f64, 8, 6>::zeros();
        for (k, corner) in self.corners().iter().enumerate() {
            let arm = to_sight * (pose.rotation * corner);
            let c = arm + to_sight * p;
            if c.z <= 1e-3 * self.size_m {
                return None;
            }
            // (c_x, c_y) / c_z by c, and c by an error of the position and one of the orientation, δ + φ × arm.
            let by_corner = SMatrix::<f64, 2, 3>::new(1.0, 0.0, -c.x / c.z, 0.0, 1.0, -c.y / c.z) / c.z;
            j.fixed_view_mut::<2, 3>(2 * k, 0).copy_from(&by_corner);
            j.fixed_view_mut::<2, 3>(2 * k, 3).copy_from(&(-by_corner * arm.cross_matrix()));
        }
        let variance = (self.pixel_std / self.focal_px).powi(2);
        let mut information: Matrix6<f64> = j.tr_mul(&j) / variance;
        information.set_diagonal(&(information.diagonal() + Vector6::new(0.0, 0.0, 0.0, 1.0, 1.0, 1.0)));
        let fit = information.cholesky()?.inverse().fixed_view::<3, 3>(0, 0).into_owned();
        let along = sight * Vector3::z() * (self.scale_std * p.norm());
        let covariance = sight * fit * sight.inverse() + along * along.transpose();
        covariance.iter().all(|x| x.is_finite()).then_some(covariance)
    }

    /// The angle between a tag's normal and the line of sight to it, rad.
    fn view_angle(pose: &Isometry3<f64>) -> f64 {
        let normal = pose.rotation * Vector3::z();
        let along = normal.dot(&pose.translation.vector).abs() / pose.translation.vector.norm();
        along.min(1.0).acos()
    }

    /// The measurement of a tag with this identity, as a position (x, y) and its height in the base frame, of a camera
    /// at `camera` there. `None` for a tag that is too far, seen too much from the side, or behind the camera.
    ///
    /// # Errors
    /// [`Refusal::BadOrientation`], [`Refusal::BadTransform`] for a position that is not finite.
    pub fn measurement(
        &self,
        id: u32,
        message: &TransformStamped,
        camera: &Isometry3<f64>,
    ) -> Result<Option<Measurement>, Refusal> {
        let pose = isometry_of(&message.transform)?;
        if !pose.translation.vector.norm().is_finite() {
            let (parent, child) = (message.header.frame_id.clone(), message.child_frame_id.clone());
            return Err(Refusal::BadTransform { parent, child, why: "the translation is not finite" });
        }
        let Some(covariance) = self.usable(&pose) else { return Ok(None) };
        let turn = camera.rotation.to_rotation_matrix();
        let on_base = (camera * pose).translation.vector;
        let covariance = (turn * covariance * turn.inverse()).fixed_view::<2, 2>(0, 0).into_owned();
        let covariance = 0.5 * (covariance + covariance.transpose());
        Ok(Some(Measurement {
            covariance: Some(covariance.into()),
            height_m: on_base.z,
            ..Measurement::new(Some(id), [on_base.x, on_base.y])
        }))
    }

    /// [`TagCamera::covariance`] of a tag that is neither too far away nor seen too much from the side.
    pub(super) fn usable(&self, pose: &Isometry3<f64>) -> Option<Matrix3<f64>> {
        let distance = pose.translation.vector.norm();
        let is_usable = (self.size_m.min(1e-3)..=self.max_range_m).contains(&distance)
            && Self::view_angle(pose) <= self.max_view_angle_rad;
        self.covariance(pose).filter(|_| is_usable)
    }

    /// The corners of a tag in its own frame, in turn around it, m.
    pub(super) fn corners(&self) -> [Vector3<f64>; 4] {
        let half = 0.5 * self.size_m;
        [(-half, -half), (half, -half), (half, half), (-half, half)].map(|(x, y)| Vector3::new(x, y, 0.0))
    }
}

/// A direction that is not that of `p`.
fn any_across(p: &Vector3<f64>) -> Vector3<f64> {
    if p.x.abs() > 0.9 * p.norm() { Vector3::y() } else { Vector3::x() }
}

#[cfg(test)]
#[path = "tags_tests.rs"]
mod tests;
