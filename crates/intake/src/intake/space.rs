//! The intake of the filter in space, for a node and for tests alike: messages of topics in, plain input out, with
//! sensors placed by `/tf_static`.

use super::imu_frame::ImuFrame;
use crate::convert::{
    Frame, Refusal, SpaceKind, lens_of, se3_of_isometry, space_features, space_kind, space_odometry, space_pose,
    stamp_of,
};
use crate::messages::{self, CameraInfo, Imu, PointCloud2, PoseWithCovarianceStamped, TfMessage};
use crate::transforms::StaticTransforms;
use lienav_lie::{LieGroup, Se3};
use lienav_space::lens::Lens;
use lienav_space::{ImuSample, Odometry, Pinhole, PixelNoise, Pose, Sensor};
use nalgebra::{Matrix6, Vector2};

/// What is known of a robot before its messages.
#[derive(Clone, Debug)]
pub struct SpaceFrames {
    /// Of the estimates.
    pub map: String,
    /// Of the odometry.
    pub odom: String,
    /// Of the robot.
    pub base: String,
    /// Standard deviation of a pixel, px.
    pub pixel_std_px: f64,
    /// Distance between the cameras of a pair, m.
    pub baseline_m: f64,
}

/// A sensor of landmarks, by its frame.
#[derive(Clone, Debug)]
struct Known {
    frame: String,
    /// What the filter has.
    sensor: Option<Sensor>,
}

/// Features of a message, and the sensor that measured them.
#[derive(Clone, Debug)]
pub struct SpaceSeen {
    /// As the filter takes it.
    pub frame: lienav_space::Frame,
    /// How many points had no identity.
    pub unknown: usize,
    /// The number of the sensor, and what the filter has to have for it before the frame, where that is new.
    pub sensor: Option<(usize, Sensor)>,
}

/// Turns messages into input.
#[derive(Clone, Debug)]
pub struct SpaceIntake {
    frames: SpaceFrames,
    tree: StaticTransforms,
    imu: ImuFrame,
    lens: Option<(Lens, Pinhole)>,
    sensors: Vec<Known>,
}

/// The topic of the description of a camera.
const CAMERA_INFO: &str = "camera_info";
/// What else can be done about a frame without a transform.
const OTHERWISE: &str = "set base_frame to the frame of the inertial sensor where there is no other frame";

impl SpaceIntake {
    /// Before any message.
    pub fn new(frames: SpaceFrames) -> Self {
        Self { frames, tree: StaticTransforms::default(), imu: ImuFrame::default(), lens: None, sensors: Vec::new() }
    }

    /// Where the frame of the robot is on the inertial sensor, once that is known: x_imu = R x_base + t.
    pub fn base(&self) -> Option<Se3> {
        self.imu.base()
    }

    /// Takes static transforms; what cannot be used is given back.
    pub fn transforms(&mut self, message: &TfMessage) -> Vec<Refusal> {
        let mut is_new = false;
        let mut refused = Vec::new();
        for transform in &message.transforms {
            match self.tree.insert(transform) {
                Ok(changed) => is_new |= changed,
                Err(refusal) => refused.push(refusal),
            }
        }
        if is_new {
            // Sensors are placed again by their next message.
            self.sensors.iter_mut().for_each(|known| known.sensor = None);
        }
        refused
    }

    /// Takes the description of the camera.
    ///
    /// # Errors
    /// [`Refusal::NoCameraInfo`].
    pub fn camera_info(&mut self, message: &CameraInfo) -> Result<(), Refusal> {
        let found = lens_of(message, CAMERA_INFO)?;
        if self.lens != Some(found) {
            self.lens = Some(found);
            self.sensors.iter_mut().for_each(|known| known.sensor = None);
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

    /// A sample of the inertial sensor. The first one says which frame it is in, and that is kept.
    ///
    /// # Errors
    /// [`Refusal::NoTransform`] and those of the conversion.
    pub fn imu(&mut self, message: &Imu) -> Result<ImuSample, Refusal> {
        self.imu.sample(message, &self.frames.base, &self.tree, OTHERWISE)
    }

    /// What a sensor saw.
    ///
    /// # Errors
    /// [`Refusal::NoTransform`], [`Refusal::NoCameraInfo`], [`Refusal::BadLayout`], [`Refusal::BadStamp`].
    pub fn features(&mut self, message: &PointCloud2) -> Result<SpaceSeen, Refusal> {
        let stamp = stamp_of(&message.header.stamp)?;
        let kind = space_kind(message)?;
        let frame = &message.header.frame_id;
        let number = self.sensors.iter().position(|known| known.frame == *frame).unwrap_or(self.sensors.len());
        let is_known = self.sensors.get(number).is_some_and(|known| known.sensor.is_some());
        let mut new = None;
        if !is_known {
            let sensor = self.sensor(kind, frame)?;
            let known = Known { frame: frame.clone(), sensor: Some(sensor) };
            match self.sensors.get_mut(number) {
                Some(slot) => *slot = known,
                None => self.sensors.push(known),
            }
            new = Some((number, sensor));
        }
        let lens = self.lens.as_ref().map(|(lens, _)| lens);
        let (seen, unknown) = space_features(message, number, lens)?;
        Ok(SpaceSeen { frame: lienav_space::Frame { stamp, seen }, unknown, sensor: new })
    }

    fn sensor(&self, kind: SpaceKind, frame: &str) -> Result<Sensor, Refusal> {
        let mount = self.between(self.imu.name(frame)?, frame)?;
        let own = [self.frames.pixel_std_px; 2];
        let pixels = PixelNoise { own, common: [0.0; 2] };
        let plain = Sensor { mount, pixels, ..Sensor::default() };
        let camera = || self.lens.as_ref().ok_or_else(|| Refusal::NoCameraInfo { topic: CAMERA_INFO.to_owned() });
        Ok(match kind {
            SpaceKind::Positions | SpaceKind::Ranges => plain,
            SpaceKind::Pixels => {
                let (lens, _) = camera()?;
                Sensor { focal: lens.pinhole.focal, centre: Vector2::zeros(), ..plain }
            }
            SpaceKind::Stereo => {
                let (_, rectified) = camera()?;
                let Pinhole { focal, centre } = *rectified;
                Sensor { focal, centre, baseline_m: self.frames.baseline_m, ..plain }
            }
        })
    }

    /// Odometry, with the pose of the robot's frame in the frame of the odometry where the message has a usable one.
    ///
    /// # Errors
    /// [`Refusal::NoTransform`] and those of the conversion.
    pub fn odometry(&self, message: &messages::Odometry) -> Result<(Odometry, Option<Se3>), Refusal> {
        let odom = [Frame::parameter("odom_frame", &self.frames.odom)];
        let (stamp, velocity, covariance, pose) = space_odometry(message, &odom)?;
        let child = &message.child_frame_id;
        let mount = self.between(self.imu.name(child)?, child)?;
        let child_in_base = self.between(&self.frames.base, child)?;
        let base_in_odom = pose.map(|pose| pose * child_in_base.inverse());
        Ok((Odometry { stamp, mount, velocity, covariance }, base_in_odom))
    }

    /// A pose of the robot's frame in the map, as a pose of the body.
    ///
    /// # Errors
    /// [`Refusal::UnknownFrame`], [`Refusal::BadStamp`], [`Refusal::BadOrientation`], [`Refusal::NoTransform`] before the
    /// first sample of the inertial sensor.
    pub fn pose(&self, message: &PoseWithCovarianceStamped) -> Result<Pose, Refusal> {
        let map = [Frame::parameter("map_frame", &self.frames.map)];
        let (stamp, pose, covariance) = space_pose(message, &map)?;
        self.imu.of_base(&Pose { stamp, pose, covariance }, &self.frames.base)
    }

    /// The pose of the robot's frame from that of the body, with its covariance.
    pub fn to_base(&self, body: &Se3, covariance: &Matrix6<f64>) -> (Se3, Matrix6<f64>) {
        self.imu.to_base(body, covariance)
    }
}
