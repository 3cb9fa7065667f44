//! What each topic of a bag is read as: the usual roles, and the inputs that parameters name.

use super::read::CDR;
use super::record::Topic;
use super::topics::{Role, Topics, roles_with, with_slash};
use lienav_intake::intake::{FeaturesMessage, Intake, OdometryMessage, Uses};
use lienav_intake::messages::{
    AprilTagDetectionArray, CameraInfo, Detection3DArray, Message, Odometry, PointCloud2, PoseArray, TfMessage,
    TwistWithCovarianceStamped,
};

/// What the messages of a topic are to the loader of a bag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Odometry of the source with this number.
    Odometry(u8),
    /// Measurements of the sensor with this number.
    Scan(u8),
    /// The description of a camera.
    CameraInfo,
    /// `/tf_static`
    StaticTransforms,
    /// `/tf`, with tags.
    Transforms,
    /// Anything else.
    Other(Role),
}

/// What a bag is read as: the part of each topic, and the roles among them.
pub struct Plan {
    /// The part of each topic.
    pub parts: Vec<Option<Part>>,
    /// The role of each topic.
    pub roles: Vec<Option<Role>>,
    /// The topics of the descriptions of cameras, with the numbers of their sensors.
    pub cameras: Vec<(u8, String)>,
    /// The types of messages of odometry, and of measurements of landmarks.
    pub types: [&'static [&'static str]; 2],
    /// Topics that parameters name and that are not there, one sentence each.
    pub missing: Vec<String>,
}

/// The part of each topic of a bag, with the inputs of these parameters.
///
/// # Errors
/// As of [`roles_of`].
pub fn plan(found: &[Topic], wanted: &Topics, intake: &Intake, uses: &Uses) -> Result<Plan, String> {
    let mut missing = Vec::new();
    let mut named: Vec<(usize, Part)> = Vec::new();
    let mut find = |topic: &str, kind: &'static [&'static str; 1], part: Part| {
        let [kind] = kind;
        let is_it = |found: &Topic| with_slash(&found.name) == with_slash(topic) && found.type_name == *kind;
        match found.iter().position(|topic| is_it(topic) && topic.encoding == CDR) {
            Some(index) => named.push((index, part)),
            None => missing.push(format!("no topic {} of type {kind}", with_slash(topic))),
        }
    };
    for (k, source) in (0..).zip(intake.odometry_sources()).skip(1) {
        find(&source.topic, odometry_type(source.message), Part::Odometry(k));
    }
    for (k, (topic, message)) in (0..).zip(intake.feature_topics()).skip(1) {
        find(topic, features_type(message), Part::Scan(k));
    }
    if intake.wants_tags() {
        find("/tf", &[TfMessage::TYPE], Part::Transforms);
    }
    let main = intake.feature_topics().next().map_or(FeaturesMessage::default(), |(_, message)| message);
    let odometry = intake.odometry_sources().first().map_or(OdometryMessage::Odometry, |source| source.message);
    let types_of = |role: Role| -> &'static [&'static str] {
        match role {
            Role::Odometry => odometry_type(odometry),
            Role::Scan => features_type(main),
            other => other.types(),
        }
    };
    let taken: Vec<usize> = named.iter().map(|(index, _)| *index).collect();
    let mut roles = roles_with(found, wanted, types_of, &taken)?;
    let is_left_out = |role: Role| {
        let used = match role {
            Role::Imu => uses.use_imu,
            Role::AbsolutePose => uses.gnss.use_absolute_pose,
            Role::Fix => uses.gnss.use_fix,
            _ => None,
        };
        used == Some(false) && role.asked_for(wanted).is_none()
    };
    for (index, role) in roles.iter_mut().enumerate() {
        if role.is_some_and(is_left_out) || taken.contains(&index) {
            *role = None;
        }
    }
    // Beside the topic of the features, whatever that is called.
    let main_topic = roles.iter().zip(found).find(|(role, _)| **role == Some(Role::Scan));
    let beside = main_topic
        .and_then(|(_, topic)| topic.name.rsplit_once('/'))
        .map(|(beside, _)| format!("{beside}/camera_info"));
    let camera = |(k, topic): (u8, String)| (k, with_slash(beside.as_ref().filter(|_| k == 0).unwrap_or(&topic)));
    let cameras: Vec<(u8, String)> = intake.camera_topics().map(camera).collect();
    let part = |(index, (topic, role)): (usize, (&Topic, &Option<Role>))| {
        let named = named.iter().find(|(at, _)| *at == index).map(|(_, part)| *part);
        let is = |kind: &str| topic.encoding == CDR && topic.type_name == kind;
        let is_static = is(TfMessage::TYPE) && topic.name.ends_with("/tf_static");
        let is_camera = is(CameraInfo::TYPE) && cameras.iter().any(|(_, camera)| *camera == with_slash(&topic.name));
        let of_role = role.map(|role| match role {
            Role::Odometry => Part::Odometry(0),
            Role::Scan => Part::Scan(0),
            other => Part::Other(other),
        });
        let beside = is_static.then_some(Part::StaticTransforms).or(is_camera.then_some(Part::CameraInfo));
        named.or(of_role).or(beside)
    };
    let parts = found.iter().zip(&roles).enumerate().map(part).collect();
    Ok(Plan { parts, roles, cameras, types: [odometry_type(odometry), features_type(main)], missing })
}

/// The type of messages of odometry.
fn odometry_type(message: OdometryMessage) -> &'static [&'static str; 1] {
    match message {
        OdometryMessage::Odometry => &[Odometry::TYPE],
        OdometryMessage::Twist => &[TwistWithCovarianceStamped::TYPE],
    }
}

/// The type of messages with measurements of landmarks.
fn features_type(message: FeaturesMessage) -> &'static [&'static str; 1] {
    match message {
        FeaturesMessage::PointCloud => &[PointCloud2::TYPE],
        FeaturesMessage::PoseArray => &[PoseArray::TYPE],
        FeaturesMessage::Detections => &[Detection3DArray::TYPE],
        FeaturesMessage::AprilTags => &[AprilTagDetectionArray::TYPE],
    }
}
