//! The intake of the filter that sees tags, for a node and for tests alike: messages of topics in, plain input out, with
//! cameras placed by `/tf_static`.

use super::ImuFrame;
use crate::convert::{Frame, Refusal, TagSizes, lens_of, se3_of_isometry, space_odometry, space_pose, stamp_of};
use crate::messages::{
    self, AprilTagDetection, AprilTagDetectionArray, CameraInfo, PoseWithCovarianceStamped, TfMessage,
};
use crate::space::tag_map::TagMap;
use crate::transforms::StaticTransforms;
use lienav_lie::{LieGroup, Se3};
use lienav_space::lens::{Distortion, Lens};
use lienav_space::tags::{BodyTwist, Camera, TagFrame, TagSeen};
use lienav_space::{ImuSample, Pose};
use nalgebra::{Matrix3, Matrix6, Vector2, Vector3};
use std::collections::{BTreeMap, BTreeSet};

/// What is known of a robot and of its tags before its messages.
#[derive(Clone, Debug, Default)]
pub struct TagRobot {
    /// Frame of the estimates.
    pub map: String,
    /// Frame of the odometry.
    pub odom: String,
    /// Frame of the robot.
    pub base: String,
    /// Topics of the descriptions of the cameras.
    pub camera_infos: Vec<String>,
    /// Edge of a tag, m.
    pub size_m: f64,
    /// Edges of others.
    pub sizes: TagSizes,
    /// A detection with more wrong bits is not used.
    pub max_hamming: u32,
    /// Whether the detector's images are rectified.
    pub is_rectified: bool,
    /// Whether there is an inertial sensor, whose frame is the body.
    pub uses_imu: bool,
    /// Where the detector has the centre of the first pixel, px; camera_info has it at 0.
    pub pixel_centre_px: f64,
    /// Which corner the detector lists first, counted counterclockwise in the image from the left lower one.
    pub first_corner: usize,
    /// Whether it goes on clockwise.
    pub is_clockwise: bool,
}

impl TagRobot {
    /// The corners of a tag from the left lower one on, counterclockwise in the image.
    fn in_order<T: Copy>(&self, listed: &[T; 4]) -> [T; 4] {
        let mut corners = *listed;
        if self.is_clockwise {
            corners.reverse();
            corners.rotate_right((self.first_corner + 1) % 4);
        } else {
            corners.rotate_right(self.first_corner % 4);
        }
        corners
    }
}

/// A detection with more wrong bits than `tags.max_hamming`.
pub const HAMMING: &str = "hamming";
/// A detection whose corners go around the tag as seen from behind.
pub const MIRRORED: &str = "mirrored_tag";
/// A detection outside of the image that camera_info describes.
pub const OUTSIDE: &str = "camera_resolution";
/// A tag that the map ignores.
pub const IGNORED: &str = "ignored_tag";
/// A detection without a number that is an identity.
pub const UNNUMBERED: &str = "unnumbered_tag";

/// Words for single detections that are not used, beside those of the filter.
pub const TAG_WORDS: [&str; 5] = [HAMMING, MIRRORED, OUTSIDE, IGNORED, UNNUMBERED];

/// A camera, by the topic of its detections.
#[derive(Clone, Debug, Default)]
struct Known {
    lens: Option<Lens>,
    /// Of the image, px; zero where it is not stated.
    size: (u32, u32),
    frame: String,
    /// What the filter has.
    camera: Option<Camera>,
}

/// The tags of an image.
#[derive(Clone, Debug)]
pub struct TagsSeen {
    /// As the filter takes it.
    pub frame: TagFrame,
    /// The camera that the filter has to have before the frame, where that is new.
    pub camera: Option<Camera>,
    /// Why detections are not used, a word each.
    pub refused: Vec<&'static str>,
}

/// Turns messages into input.
#[derive(Clone, Debug)]
pub struct TagIntake {
    settings: TagRobot,
    tree: StaticTransforms,
    imu: ImuFrame,
    cameras: Vec<Known>,
    /// Edges as the map states them, m.
    sizes_m: BTreeMap<u64, f64>,
    usual_size_m: Option<f64>,
    ignored: BTreeSet<u64>,
    max_hamming: u32,
}

/// What else can be done about a frame without a transform.
const OTHERWISE: &str = "set base_frame to a frame that is joined to it";

impl TagIntake {
    /// Before any message.
    pub fn new(settings: TagRobot) -> Self {
        Self {
            tree: StaticTransforms::default(),
            imu: ImuFrame::default(),
            cameras: vec![Known::default(); settings.camera_infos.len()],
            sizes_m: BTreeMap::new(),
            usual_size_m: None,
            ignored: BTreeSet::new(),
            max_hamming: settings.max_hamming,
            settings,
        }
    }

    /// What a map states of tags beside their places.
    pub fn set_map(&mut self, map: &TagMap) {
        self.sizes_m.clone_from(&map.sizes_m);
        self.ignored.clone_from(&map.ignored);
        self.usual_size_m = map.usual_size_m;
        self.max_hamming =
            map.max_hamming.map_or(self.settings.max_hamming, |most| most.min(self.settings.max_hamming));
    }

    /// The edge of a tag, m: as `tags.sizes` has it, else the map, else `tags.size_m`.
    pub fn size_of(&self, id: u32) -> f64 {
        let of_map = || self.sizes_m.get(&u64::from(id)).copied().or(self.usual_size_m);
        self.settings.sizes.own(id).or_else(of_map).unwrap_or(self.settings.size_m)
    }

    /// Takes static transforms; what cannot be used is given back.
    pub fn transforms(&mut self, message: &TfMessage) -> Vec<Refusal> {
        let mut refused = Vec::new();
        for transform in &message.transforms {
            match self.tree.insert(transform) {
                // Cameras are placed again by their next message.
                Ok(true) => self.cameras.iter_mut().for_each(|known| known.camera = None),
                Ok(false) => {}
                Err(refusal) => refused.push(refusal),
            }
        }
        refused
    }

    /// Takes the description of a camera.
    ///
    /// # Errors
    /// [`Refusal::NoCameraInfo`].
    pub fn camera_info(&mut self, number: usize, message: &CameraInfo) -> Result<(), Refusal> {
        let topic = self.settings.camera_infos.get(number).cloned().unwrap_or_default();
        let Some(known) = self.cameras.get_mut(number) else { return Err(Refusal::NoCameraInfo { topic }) };
        let (raw, rectified) = lens_of(message, &topic)?;
        let lens = match self.settings.is_rectified {
            true => Lens { pinhole: rectified, distortion: Distortion::None },
            false => raw,
        };
        let size = (message.width, message.height);
        if known.lens != Some(lens) || known.size != size {
            (known.lens, known.size, known.camera) = (Some(lens), size, None);
        }
        Ok(())
    }

    fn between(&self, parent: &str, frame: &str) -> Result<Se3, Refusal> {
        let found = self.tree.between(parent, frame).map(|pose| se3_of_isometry(&pose));
        found.ok_or_else(|| Refusal::NoTransform {
            base: parent.to_owned(),
            frame: frame.to_owned(),
            otherwise: OTHERWISE,
        })
    }

    /// The frame of the body.
    fn body(&self, frame: &str) -> Result<&str, Refusal> {
        if self.settings.uses_imu { self.imu.name(frame) } else { Ok(&self.settings.base) }
    }

    /// Where the frame of the robot is on the body; `None` before the first sample of an inertial sensor.
    pub fn base(&self) -> Option<Se3> {
        if self.settings.uses_imu { self.imu.base() } else { Some(Se3::identity()) }
    }

    /// The pose of the robot's frame from that of the body, with its covariance.
    pub fn to_base(&self, body: &Se3, covariance: &Matrix6<f64>) -> (Se3, Matrix6<f64>) {
        if self.settings.uses_imu { self.imu.to_base(body, covariance) } else { (*body, *covariance) }
    }

    /// A sample of the inertial sensor. The first one says which frame it is in, and that is kept.
    ///
    /// # Errors
    /// [`Refusal::NoTransform`] and those of the conversion.
    pub fn imu(&mut self, message: &messages::Imu) -> Result<ImuSample, Refusal> {
        self.imu.sample(message, &self.settings.base, &self.tree, OTHERWISE)
    }

    /// The tags that a camera sees.
    ///
    /// # Errors
    /// [`Refusal::NoCameraInfo`], [`Refusal::NoTransform`], [`Refusal::BadStamp`].
    pub fn detections(&mut self, number: usize, message: &AprilTagDetectionArray) -> Result<TagsSeen, Refusal> {
        let stamp = stamp_of(&message.header.stamp)?;
        let frame = &message.header.frame_id;
        let topic = || self.settings.camera_infos.get(number).cloned().unwrap_or_default();
        let known = self.cameras.get(number);
        let lens = known.and_then(|known| known.lens).ok_or_else(|| Refusal::NoCameraInfo { topic: topic() })?;
        let is_placed = known.is_some_and(|known| known.camera.is_some() && known.frame == *frame);
        let mut camera = None;
        if !is_placed {
            let new = Camera { lens, on_body: self.between(self.body(frame)?, frame)? };
            if let Some(known) = self.cameras.get_mut(number) {
                (known.frame, known.camera) = (frame.clone(), Some(new));
            }
            camera = Some(new);
        }
        let size = self.cameras.get(number).map_or((0, 0), |known| known.size);
        let (mut seen, mut refused) = (Vec::with_capacity(message.detections.len()), Vec::new());
        for tag in &message.detections {
            match self.seen(number, tag, size) {
                Ok(tag) => seen.push(tag),
                Err(word) => refused.push(word),
            }
        }
        Ok(TagsSeen { frame: TagFrame { stamp, camera: Some(number), seen }, camera, refused })
    }

    fn seen(&self, camera: usize, tag: &AprilTagDetection, size: (u32, u32)) -> Result<TagSeen, &'static str> {
        let id = u32::try_from(tag.id).map_err(|_| UNNUMBERED)?;
        if self.ignored.contains(&u64::from(id)) {
            return Err(IGNORED);
        }
        if u32::try_from(tag.hamming).is_ok_and(|bits| bits > self.max_hamming) {
            return Err(HAMMING);
        }
        let corners = self
            .settings
            .in_order(&tag.corners.each_ref())
            .map(|corner| Vector2::new(corner.x, corner.y).add_scalar(-self.settings.pixel_centre_px));
        if is_outside(&corners, size) {
            return Err(OUTSIDE);
        }
        if turns_backwards(&corners) {
            return Err(MIRRORED);
        }
        Ok(TagSeen { camera, id: u64::from(id), size_m: self.size_of(id), corners })
    }

    /// Odometry as a twist of the body, with the pose of that frame in the frame of the odometry where the message
    /// has a usable one.
    ///
    /// # Errors
    /// [`Refusal::NoTransform`] and those of the conversion.
    pub fn odometry(&self, message: &messages::Odometry) -> Result<(BodyTwist, Option<Se3>), Refusal> {
        let odom = [Frame::parameter("odom_frame", &self.settings.odom)];
        let (stamp, own, stated, pose) = space_odometry(message, &odom)?;
        let child = &message.child_frame_id;
        let mount = self.between(self.body(child)?, child)?;
        let w = &message.twist.twist.angular;
        let rate = mount.rotation * Vector3::new(w.x, w.y, w.z);
        // v_body = R v + t × ω.
        let velocity = mount.rotation * own + mount.translation.cross(&rate);
        let of_rate = Matrix6::from_row_slice(&message.twist.covariance.0).fixed_view::<3, 3>(3, 3).diagonal();
        let turn = mount.rotation.matrix();
        let turned =
            |variances: Vector3<f64>| (turn * Matrix3::from_diagonal(&variances) * turn.transpose()).diagonal();
        let variances = stated.map(|velocity| {
            let of_rate = of_rate.map(|x| if x.is_finite() { x.max(0.0) } else { 0.0 });
            (turned(velocity.diagonal()), turned(of_rate))
        });
        let child_in_base = self.between(&self.settings.base, child)?;
        let base_in_odom = pose.map(|pose| pose * child_in_base.inverse());
        Ok((BodyTwist { stamp, velocity, rate, variances }, base_in_odom))
    }

    /// A pose of the robot's frame in the map, as one of the body.
    ///
    /// # Errors
    /// [`Refusal::UnknownFrame`], [`Refusal::BadStamp`], [`Refusal::BadOrientation`].
    pub fn pose(&self, message: &PoseWithCovarianceStamped) -> Result<Pose, Refusal> {
        let map = [Frame::parameter("map_frame", &self.settings.map)];
        let (stamp, pose, covariance) = space_pose(message, &map)?;
        let given = Pose { stamp, pose, covariance };
        if self.settings.uses_imu { self.imu.of_base(&given, &self.settings.base) } else { Ok(given) }
    }
}

/// Whether corners lie outside of an image of this width and height, px: camera_info is of another resolution.
fn is_outside(corners: &[Vector2<f64>; 4], (width, height): (u32, u32)) -> bool {
    // A rectified image may be cut, and a corner is measured to parts of a pixel.
    const MARGIN: f64 = 0.1;
    let reach = |length: u32| (-MARGIN * f64::from(length), (1.0 + MARGIN) * f64::from(length));
    let is_beyond = |x: f64, length: u32| length > 0 && (x < reach(length).0 || x > reach(length).1);
    corners.iter().any(|corner| is_beyond(corner.x, width) || is_beyond(corner.y, height))
}

/// Whether corners go around clockwise in the image, as those of a tag that is seen from behind.
fn turns_backwards(corners: &[Vector2<f64>; 4]) -> bool {
    let [a, b, c, d] = corners;
    [(a, b, c), (b, c, d), (c, d, a), (d, a, b)].iter().all(|(a, b, c)| (*b - *a).perp(&(*c - *b)) > 0.0)
}

#[cfg(test)]
#[path = "space_tags_tests.rs"]
mod tests;
