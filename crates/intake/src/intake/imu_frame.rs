//! The frame of the inertial sensor, which is the body of filters that have one, and the robot's frame on it.

use crate::convert::{Frame, Origin, Refusal, moved_covariance, se3_of_isometry, space_imu};
use crate::messages::Imu;
use crate::transforms::StaticTransforms;
use lienav_lie::{LieGroup, Se3};
use lienav_space::{ImuSample, Pose};
use nalgebra::Matrix6;

/// What else can be done before the first sample.
const FIRST: &str = "wait for the first message of imu, which names its frame";

/// The frame, once a message has named it, and where the robot's frame is on it: x_imu = R x_base + t.
#[derive(Clone, Debug, Default)]
pub struct ImuFrame(Option<(String, Se3)>);

impl ImuFrame {
    /// Where the frame of the robot is on it.
    pub fn base(&self) -> Option<Se3> {
        self.0.as_ref().map(|(_, base)| *base)
    }

    /// Its name; `frame` is what has to be placed on it.
    ///
    /// # Errors
    /// [`Refusal::NoTransform`] before the first sample.
    pub fn name(&self, frame: &str) -> Result<&str, Refusal> {
        let missing = || Refusal::NoTransform { base: "imu".to_owned(), frame: frame.to_owned(), otherwise: FIRST };
        self.0.as_ref().map(|(name, _)| name.as_str()).ok_or_else(missing)
    }

    /// A sample. The first one says which frame it is in, and that is kept.
    ///
    /// # Errors
    /// [`Refusal::NoTransform`] and those of the conversion.
    pub fn sample(
        &mut self,
        message: &Imu,
        base: &str,
        tree: &StaticTransforms,
        otherwise: &'static str,
    ) -> Result<ImuSample, Refusal> {
        if let Some((name, _)) = &self.0 {
            return space_imu(message, &[Frame { name, origin: Origin::FirstMessage }]);
        }
        let sample = space_imu(message, &[])?;
        let frame = &message.header.frame_id;
        let found = tree.between(frame, base).map(|pose| se3_of_isometry(&pose));
        let missing = || Refusal::NoTransform { base: frame.clone(), frame: base.to_owned(), otherwise };
        self.0 = Some((frame.clone(), found.ok_or_else(missing)?));
        Ok(sample)
    }

    /// A pose of the robot's frame as one of the body.
    ///
    /// # Errors
    /// [`Refusal::NoTransform`] before the first sample.
    pub fn of_base(&self, given: &Pose, base_frame: &str) -> Result<Pose, Refusal> {
        self.name(base_frame)?;
        let body = given.pose * self.base().unwrap_or_default().inverse();
        let lever = body.translation - given.pose.translation;
        Ok(Pose { pose: body, covariance: moved_covariance(&given.covariance, &lever), ..*given })
    }

    /// The pose of the robot's frame from that of the body, with its covariance.
    pub fn to_base(&self, body: &Se3, covariance: &Matrix6<f64>) -> (Se3, Matrix6<f64>) {
        let pose = *body * self.base().unwrap_or_default();
        (pose, moved_covariance(covariance, &(pose.translation - body.translation)))
    }
}
