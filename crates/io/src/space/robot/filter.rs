//! The two pipelines that the node runs, behind one face: landmarks with an inertial sensor, or tags in images.

use super::settings::MOST_CAMERAS;
use crate::convert::Refusal;
use crate::intake::{SpaceIntake, TagIntake, TagsSeen};
use crate::messages::{
    AprilTagDetectionArray, CameraInfo, Imu, Odometry, PointCloud2, PoseWithCovarianceStamped, TfMessage,
};
use lienav_base::stamp::Stamp;
use lienav_lie::Se3;
use lienav_space::tags::{TagPose, TagSlam3d};
use lienav_space::{Config, Counts, DropReason, Landmark, Pose, PoseEstimate, Quality, Slam3d, Step};
use nalgebra::Matrix6;

/// A pipeline, and what turns messages into its input.
#[allow(clippy::large_enum_variant, reason = "a node has one")]
pub enum Filter {
    /// Landmarks and an inertial sensor.
    Landmarks {
        /// The pipeline.
        slam: Slam3d,
        /// Its intake.
        intake: SpaceIntake,
        /// A pose that came before the inertial sensor, whose frame is the body.
        early: Option<Box<PoseWithCovarianceStamped>>,
    },
    /// Tags, with odometry or an inertial sensor, or none.
    Tags {
        /// The pipeline.
        slam: TagSlam3d,
        /// Its intake.
        intake: TagIntake,
        /// As that of the other.
        early: Option<Box<PoseWithCovarianceStamped>>,
    },
}

/// Why a message was not used.
pub enum Unused {
    /// It is no input.
    Refused(Refusal),
    /// The filter has dropped it, and has counted that.
    Dropped(DropReason),
    /// The node does not listen to it.
    Idle,
}

impl From<Refusal> for Unused {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<DropReason> for Unused {
    fn from(reason: DropReason) -> Self {
        Self::Dropped(reason)
    }
}

/// Calls a method that both pipelines have.
macro_rules! both {
    ($filter:expr, $slam:ident => $call:expr) => {
        match $filter {
            Self::Landmarks { slam: $slam, .. } => $call,
            Self::Tags { slam: $slam, .. } => $call,
        }
    };
}

impl Filter {
    /// Whether it sees tags.
    pub fn sees_tags(&self) -> bool {
        matches!(self, Self::Tags { .. })
    }

    /// Whether it takes an inertial sensor.
    pub fn uses_imu(&self) -> bool {
        match self {
            Self::Landmarks { .. } => true,
            Self::Tags { slam, .. } => slam.tag_config().tags.use_imu,
        }
    }

    /// By which factor tags are larger than stated, where their map shows it.
    pub fn size_factor(&self) -> Option<f64> {
        match self {
            Self::Landmarks { .. } => None,
            Self::Tags { slam, .. } => slam.size_factor(),
        }
    }

    /// Which corner of tags comes first, where their map shows that it is not the one that is stated.
    pub fn first_corner(&self) -> Option<usize> {
        match self {
            Self::Landmarks { .. } => None,
            Self::Tags { slam, .. } => slam.first_corner(),
        }
    }

    /// Tags that were found to be on something that moves.
    pub fn found_moving(&self) -> Vec<u64> {
        match self {
            Self::Landmarks { .. } => Vec::new(),
            Self::Tags { slam, .. } => slam.found_moving(),
        }
    }

    /// Cameras whose places on the body are estimated: number, place, place as stated, covariance of rotation, rad², and
    /// place, m², about the axes of the body.
    pub fn mounts(&self) -> Vec<(usize, Se3, Se3, Matrix6<f64>)> {
        let Self::Tags { slam, .. } = self else { return Vec::new() };
        let of = |number: usize| {
            let (pose, covariance) = slam.mount(number)?;
            Some((number, pose, slam.camera(number)?.on_body, covariance))
        };
        (0..MOST_CAMERAS).filter_map(of).collect()
    }

    /// The settings that both have.
    pub fn config(&self) -> &Config {
        both!(self, slam => slam.config())
    }

    /// The next step that is due.
    pub fn poll(&mut self) -> Option<Step> {
        both!(self, slam => slam.poll())
    }

    /// The newest pose.
    pub fn pose(&self) -> Option<PoseEstimate> {
        both!(self, slam => slam.pose())
    }

    /// How good it is.
    pub fn quality(&self) -> Quality {
        both!(self, slam => slam.quality())
    }

    /// A sentence about input that no start can be made of.
    pub fn start_problem(&self) -> Option<String> {
        match self {
            Self::Landmarks { slam, .. } => slam.start_problem(),
            Self::Tags { .. } => None,
        }
    }

    /// What comes next has arrived now, in seconds of a clock that no message sets.
    pub fn arrived(&mut self, now_s: f64) {
        both!(self, slam => slam.arrived(now_s));
    }

    /// Starts anew.
    pub fn reset(&mut self) {
        both!(self, slam => slam.reset());
    }

    /// Switches it.
    pub fn set_enabled(&mut self, enabled: bool) {
        both!(self, slam => slam.set_enabled(enabled));
    }

    /// Whether it takes input.
    pub fn enabled(&self) -> bool {
        both!(self, slam => slam.enabled())
    }

    /// What was left out.
    pub fn counts(&self) -> &Counts {
        both!(self, slam => slam.counts())
    }

    /// How often time was set back.
    pub fn time_jumps(&self) -> u64 {
        both!(self, slam => slam.time_jumps())
    }

    /// How often the covariance was widened.
    pub fn widened(&self) -> u64 {
        both!(self, slam => slam.widened())
    }

    /// Landmarks of the state, or tags.
    pub fn landmarks(&self) -> usize {
        match self {
            Self::Landmarks { slam, .. } => slam.state().map_or(0, |state| state.landmarks.len()),
            Self::Tags { slam, .. } => slam.state().map_or(0, |state| state.landmarks.len() / 2),
        }
    }

    /// Places of landmarks, or of tags.
    pub fn listed(&self) -> Vec<Landmark> {
        match self {
            Self::Landmarks { slam, .. } => slam.landmarks(),
            Self::Tags { slam, .. } => {
                let place = |tag: &TagPose| Landmark {
                    id: tag.id,
                    position: tag.pose.translation,
                    covariance: tag.covariance.fixed_view::<3, 3>(0, 0).into_owned(),
                };
                slam.tags().iter().map(place).collect()
            }
        }
    }

    /// Puts the robot at a pose; one that comes before the inertial sensor, as soon as that is there.
    pub fn initial_pose(&mut self, message: &PoseWithCovarianceStamped) -> Result<(), Unused> {
        let pose = self.pose_of(message);
        let early = match self {
            Self::Landmarks { early, .. } | Self::Tags { early, .. } => early,
        };
        *early = None;
        if let Err(Refusal::NoTransform { .. }) = pose
            && self.base().is_none()
        {
            let (Self::Landmarks { early, .. } | Self::Tags { early, .. }) = self;
            *early = Some(Box::new(message.clone()));
            return Ok(());
        }
        let pose = pose?;
        Ok(both!(self, slam => slam.set_pose(&pose.pose, &pose.covariance))?)
    }

    /// The pose that was kept for the inertial sensor, which is there now.
    fn take_early_pose(&mut self) -> Result<(), Unused> {
        let (Self::Landmarks { early, .. } | Self::Tags { early, .. }) = self;
        early.take().map_or(Ok(()), |message| self.initial_pose(&message))
    }

    /// A pose of the robot in the map, as one of the body.
    pub fn pose_of(&self, message: &PoseWithCovarianceStamped) -> Result<Pose, Refusal> {
        match self {
            Self::Landmarks { intake, .. } => intake.pose(message),
            Self::Tags { intake, .. } => intake.pose(message),
        }
    }

    /// Takes in a pose from outside.
    pub fn absolute_pose(&mut self, message: &PoseWithCovarianceStamped) -> Result<(), Unused> {
        let pose = self.pose_of(message)?;
        Ok(both!(self, slam => slam.push_pose(&pose))?)
    }

    /// Takes static transforms; what cannot be used is given back.
    pub fn transforms(&mut self, message: &TfMessage) -> Vec<Refusal> {
        match self {
            Self::Landmarks { intake, .. } => intake.transforms(message),
            Self::Tags { intake, .. } => intake.transforms(message),
        }
    }

    /// Takes the description of a camera: the number counts among tags.
    pub fn camera_info(&mut self, number: usize, message: &CameraInfo) -> Result<(), Refusal> {
        match self {
            Self::Landmarks { intake, .. } => intake.camera_info(message),
            Self::Tags { intake, .. } => intake.camera_info(number, message),
        }
    }

    /// Takes in a sample of the inertial sensor; its stamp, and whether its frame is new.
    pub fn imu(&mut self, message: &Imu) -> Result<(Stamp, bool), Unused> {
        let was_placed = self.base().is_some();
        let sample = match self {
            Self::Landmarks { slam, intake, .. } => {
                let sample = intake.imu(message)?;
                if let Some(base) = intake.base().filter(|_| !was_placed) {
                    slam.set_base(base);
                }
                slam.push_imu(&sample)?;
                sample
            }
            Self::Tags { slam, intake, .. } => {
                let sample = intake.imu(message)?;
                slam.push_imu(&sample)?;
                sample
            }
        };
        self.take_early_pose()?;
        Ok((sample.stamp, !was_placed))
    }

    /// Takes in features; how many had no identity, and where their sensor is, where that is new.
    pub fn features(&mut self, message: &PointCloud2) -> Result<(usize, Option<Se3>), Unused> {
        let Self::Landmarks { slam, intake, .. } = self else { return Err(Unused::Idle) };
        let seen = intake.features(message)?;
        if let Some((number, sensor)) = seen.sensor {
            slam.set_sensor(number, sensor)?;
        }
        slam.push_frame(&seen.frame)?;
        Ok((seen.unknown, seen.sensor.map(|(_, sensor)| sensor.mount)))
    }

    /// Takes in tags; why some are not used, a word each, and where their camera is, where that is new.
    pub fn detections(
        &mut self,
        number: usize,
        message: &AprilTagDetectionArray,
    ) -> (Vec<&'static str>, Result<Option<Se3>, Unused>) {
        let Self::Tags { slam, intake, .. } = self else { return (Vec::new(), Err(Unused::Idle)) };
        let TagsSeen { frame, camera, refused } = match intake.detections(number, message) {
            Ok(seen) => seen,
            Err(refusal) => return (Vec::new(), Err(refusal.into())),
        };
        let placed = camera.map_or(Ok(()), |camera| slam.set_camera(number, camera));
        let pushed = placed.and_then(|()| slam.push_frame(&frame));
        (refused, pushed.map(|()| camera.map(|camera| camera.on_body)).map_err(Unused::from))
    }

    /// Takes in odometry; the pose of the robot's frame in that of the odometry, where the message has one.
    pub fn odometry(&mut self, message: &Odometry) -> Result<Option<Se3>, Unused> {
        match self {
            Self::Landmarks { slam, intake, .. } => {
                let (odometry, base_in_odom) = intake.odometry(message)?;
                slam.push_odometry(&odometry)?;
                Ok(base_in_odom)
            }
            Self::Tags { slam, intake, .. } => {
                let (twist, base_in_odom) = intake.odometry(message)?;
                slam.push_twist(&twist)?;
                Ok(base_in_odom)
            }
        }
    }

    /// Where the frame of the robot is on the body.
    pub fn base(&self) -> Option<Se3> {
        match self {
            Self::Landmarks { intake, .. } => intake.base(),
            Self::Tags { intake, .. } => intake.base(),
        }
    }

    /// The pose of the robot's frame from that of the body, with its covariance.
    pub fn to_base(&self, body: &Se3, covariance: &Matrix6<f64>) -> (Se3, Matrix6<f64>) {
        match self {
            Self::Landmarks { intake, .. } => intake.to_base(body, covariance),
            Self::Tags { intake, .. } => intake.to_base(body, covariance),
        }
    }

    /// Density of the noise of the angular rate, rad/s/√Hz.
    pub fn rate_noise(&self) -> f64 {
        match self {
            Self::Landmarks { slam, .. } => slam.config().imu.gyro_noise,
            Self::Tags { slam, .. } if slam.tag_config().tags.use_imu => slam.config().imu.gyro_noise,
            Self::Tags { slam, .. } => slam.tag_config().tags.odometry_rate_noise,
        }
    }
}
