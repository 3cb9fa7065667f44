//! Which topic of a bag is what.

use super::read::CDR;
use super::record::Topic;
use lienav_intake::convert::Frames;
use lienav_intake::messages::{
    Imu, MagneticField, Message, NavSatFix, Odometry, PointCloud2, PoseStamped, PoseWithCovarianceStamped,
};

/// Which topics of a bag to read, and in which frames. `None` means the usual name, or, for what the filter is fed
/// with, the only topic of the right type where there is none of that name. Truth is never guessed: another pose taken
/// for it would falsify every number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topics {
    /// `nav_msgs/Odometry`; usually `/odom`.
    pub odometry: Option<String>,
    /// `sensor_msgs/PointCloud2`; usually `/features`.
    pub features: Option<String>,
    /// `sensor_msgs/Imu`; usually `/imu`.
    pub imu: Option<String>,
    /// `sensor_msgs/MagneticField`, which only the attitude filter reads; usually `/mag` or `/imu/mag`.
    pub mag: Option<String>,
    /// `geometry_msgs/PoseWithCovarianceStamped` in the world; usually `/absolute_pose`.
    pub absolute_pose: Option<String>,
    /// `sensor_msgs/NavSatFix`; usually `/fix`.
    pub fix: Option<String>,
    /// `geometry_msgs/PoseStamped`, `…/PoseWithCovarianceStamped` or `nav_msgs/Odometry`; usually
    /// `/ground_truth/pose`.
    pub truth: Option<String>,
    /// `sensor_msgs/PointCloud2`; usually `/ground_truth/landmarks`.
    pub true_landmarks: Option<String>,
    /// The text of a parameter file, over that of the bag: which inputs there are, and where sensors sit.
    pub parameters: Option<String>,
    /// Frames that messages have to be in, over those that the bag states.
    pub frames: Frames,
}

/// What a topic of a recording is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Velocities.
    Odometry,
    /// What the feature sensor saw.
    Scan,
    /// Gyroscope.
    Imu,
    /// Positions and poses in the world.
    AbsolutePose,
    /// Fixes of a satellite receiver.
    Fix,
    /// True poses.
    Truth,
    /// True positions of features.
    TrueLandmarks,
}

impl Role {
    /// All roles.
    pub const ALL: [Self; 7] =
        [Self::Odometry, Self::Scan, Self::Imu, Self::AbsolutePose, Self::Fix, Self::Truth, Self::TrueLandmarks];

    /// The topic that usually has it.
    pub const fn usual_name(self) -> &'static str {
        match self {
            Self::Odometry => "/odom",
            Self::Scan => "/features",
            Self::Imu => "/imu",
            Self::AbsolutePose => "/absolute_pose",
            Self::Fix => "/fix",
            Self::Truth => "/ground_truth/pose",
            Self::TrueLandmarks => "/ground_truth/landmarks",
        }
    }

    /// The message types that can have it.
    pub const fn types(self) -> &'static [&'static str] {
        match self {
            Self::Odometry => &[Odometry::TYPE],
            Self::Scan | Self::TrueLandmarks => &[PointCloud2::TYPE],
            Self::Imu => &[Imu::TYPE],
            Self::AbsolutePose => &[PoseWithCovarianceStamped::TYPE],
            Self::Fix => &[NavSatFix::TYPE],
            Self::Truth => &[PoseStamped::TYPE, PoseWithCovarianceStamped::TYPE, Odometry::TYPE],
        }
    }

    fn may_be_guessed(self) -> bool {
        matches!(self, Self::Odometry | Self::Scan | Self::Imu)
    }

    pub(super) fn asked_for(self, topics: &Topics) -> Option<&str> {
        match self {
            Self::Odometry => &topics.odometry,
            Self::Scan => &topics.features,
            Self::Imu => &topics.imu,
            Self::AbsolutePose => &topics.absolute_pose,
            Self::Fix => &topics.fix,
            Self::Truth => &topics.truth,
            Self::TrueLandmarks => &topics.true_landmarks,
        }
        .as_deref()
    }
}

/// The role of each topic of a bag.
///
/// # Errors
/// The sentence to show: a topic that was asked for is not there, or not of a type that can have its role.
pub fn roles_of(found: &[Topic], wanted: &Topics) -> Result<Vec<Option<Role>>, String> {
    roles_with(found, wanted, Role::types, &[])
}

/// The same with other types of messages, and without the topics that are `taken`.
pub(super) fn roles_with(
    found: &[Topic],
    wanted: &Topics,
    types_of: impl Fn(Role) -> &'static [&'static str],
    taken: &[usize],
) -> Result<Vec<Option<Role>>, String> {
    let mut roles = vec![None; found.len()];
    let fits = |topic: &Topic, role: Role| topic.encoding == CDR && types_of(role).contains(&topic.type_name.as_str());
    for role in Role::ALL {
        let (name, asked) = match role.asked_for(wanted) {
            Some(name) => (with_slash(name), true),
            None => (role.usual_name().to_owned(), false),
        };
        let named = found.iter().position(|topic| with_slash(&topic.name) == name && fits(topic, role));
        if asked && named.is_none() {
            let types = types_of(role).join(" or ");
            if let Some(other) = found.iter().find(|topic| with_slash(&topic.name) == name && topic.encoding != CDR) {
                return Err(unread_encoding(other));
            }
            let there = found.iter().map(|t| format!("{} ({})", t.name, t.type_name));
            return Err(format!("no topic {name} of type {types}; there are: {}", listed(there, ", ")));
        }
        if let Some(of_topic) = named.and_then(|topic| roles.get_mut(topic)) {
            *of_topic = Some(role);
        }
    }
    for role in Role::ALL.into_iter().filter(|role| role.may_be_guessed()) {
        if roles.contains(&Some(role)) {
            continue;
        }
        let mut free = (roles.iter_mut().zip(found).enumerate())
            .filter(|(index, (own, topic))| own.is_none() && !taken.contains(index) && fits(topic, role));
        if let (Some((_, (own, _))), None) = (free.next(), free.next()) {
            *own = Some(role);
        }
    }
    Ok(roles)
}

/// Topics without a role that could have this one, by their types.
pub(super) fn candidates<'a>(
    found: &'a [Topic],
    roles: &'a [Option<Role>],
    role: Role,
) -> impl Iterator<Item = &'a str> {
    candidates_of(found, roles, role.types())
}

fn candidates_of<'a>(
    found: &'a [Topic],
    roles: &'a [Option<Role>],
    types: &'static [&'static str],
) -> impl Iterator<Item = &'a str> {
    let fits = move |topic: &&Topic| topic.encoding == CDR && types.contains(&topic.type_name.as_str());
    let free = found.iter().zip(roles).filter(|(_, role)| role.is_none()).map(|(topic, _)| topic);
    free.filter(fits).map(|topic| topic.name.as_str())
}

/// Why no topic has this role, with the names of those that could.
pub fn not_one(found: &[Topic], roles: &[Option<Role>], role: Role) -> String {
    not_one_of(found, roles, role, role.types())
}

/// The same where messages of these types have the role.
pub(super) fn not_one_of(
    found: &[Topic],
    roles: &[Option<Role>],
    role: Role,
    types: &'static [&'static str],
) -> String {
    let candidates = |found, roles| candidates_of(found, roles, types);
    let (name, types) = (role.usual_name(), types.join(" or "));
    match candidates(found, roles).count() {
        0 => format!("no topic {name}, and none of type {types}"),
        count => format!(
            "no topic {name}, and {count} topics of type {types}, {}; name the topic to read",
            listed(candidates(found, roles).map(str::to_owned), " and ").escape_debug()
        ),
    }
}

/// Names as a list; of many, the first ones, and how many more there are.
pub fn listed(names: impl Iterator<Item = String>, between: &str) -> String {
    const NAMED: usize = 50;
    let mut names = names.fuse();
    let mut list = names.by_ref().take(NAMED).collect::<Vec<_>>().join(between);
    let more = names.count();
    if more > 0 {
        list += &format!("{between}{more} more");
    }
    list
}

/// The topic of magnetic fields: the one that is asked for, one of the usual names, or the only one of its type.
///
/// # Errors
/// The sentence to show: the topic that was asked for is not there, or there are several, and none is asked for.
pub fn magnetic_topic(found: &[Topic], wanted: Option<&str>) -> Result<Option<usize>, String> {
    const USUAL: [&str; 2] = ["/mag", "/imu/mag"];
    let fits = |topic: &Topic| topic.encoding == CDR && topic.type_name == MagneticField::TYPE;
    let called = |name: &str| found.iter().position(|topic| fits(topic) && with_slash(&topic.name) == with_slash(name));
    if let Some(name) = wanted {
        let missing = || format!("no topic {} of type {}", with_slash(name).escape_debug(), MagneticField::TYPE);
        return called(name).map(Some).ok_or_else(missing);
    }
    if let Some(usual) = USUAL.into_iter().find_map(called) {
        return Ok(Some(usual));
    }
    let mut all = found.iter().enumerate().filter(|(_, topic)| fits(topic)).map(|(index, _)| index);
    match (all.next(), all.next()) {
        (Some(_), Some(_)) => {
            let names = found.iter().filter(|topic| fits(topic)).map(|topic| topic.name.clone());
            let (kind, names) = (MagneticField::TYPE, listed(names, " and ").escape_debug().to_string());
            Err(format!("the magnetic field is not used: there are several topics of type {kind}, {names}; name one"))
        }
        (only, _) => Ok(only),
    }
}

/// Why a topic whose messages are not in CDR is not read, and what to do.
pub(super) fn unread_encoding(topic: &Topic) -> String {
    let (name, encoding) = (topic.name.escape_debug(), topic.encoding.escape_debug());
    let remedy = if topic.encoding == "ros1" {
        "this is a recording of ROS 1: convert it, for example with rosbags-convert"
    } else {
        "record or convert it with rosbag2"
    };
    format!("the messages of {name} are encoded as '{encoding}', and lienav reads '{CDR}'; {remedy}")
}

pub(super) fn with_slash(name: &str) -> String {
    format!("/{}", name.trim_start_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topic(name: &str, type_name: &str) -> Topic {
        Topic { name: name.into(), type_name: type_name.into(), encoding: "cdr".into(), qos: String::new() }
    }

    #[test]
    fn usual_names_come_first_and_the_only_topic_of_a_type_second() {
        let found = [
            topic("/odom", Odometry::TYPE),
            topic("/odometry/filtered", Odometry::TYPE),
            topic("/scan/poles", PointCloud2::TYPE),
            topic("/ground_truth/landmarks", PointCloud2::TYPE),
            topic("/goal_pose", PoseStamped::TYPE),
        ];
        let roles = roles_of(&found, &Topics::default()).unwrap();
        let expected = [Some(Role::Odometry), None, Some(Role::Scan), Some(Role::TrueLandmarks), None];
        assert_eq!(roles, expected);
    }

    #[test]
    fn of_two_that_fit_none_is_guessed() {
        let found = [topic("/a/odom", Odometry::TYPE), topic("/b/odom", Odometry::TYPE)];
        let roles = roles_of(&found, &Topics::default()).unwrap();
        assert_eq!(roles, [None, None]);
        let said =
            "no topic /odom, and 2 topics of type nav_msgs/msg/Odometry, /a/odom and /b/odom; name the topic to read";
        assert_eq!(not_one(&found, &roles, Role::Odometry), said);
        assert_eq!(not_one(&found, &roles, Role::Imu), "no topic /imu, and none of type sensor_msgs/msg/Imu");
        let wanted = Topics { odometry: Some("b/odom".into()), truth: Some("/a/odom".into()), ..Topics::default() };
        assert_eq!(roles_of(&found, &wanted).unwrap(), [Some(Role::Truth), Some(Role::Odometry)]);
    }

    #[test]
    fn messages_of_ros_1_are_refused_with_a_remedy() {
        let ros1 = Topic { encoding: "ros1".into(), ..topic("/odom", "nav_msgs/Odometry") };
        assert_eq!(roles_of(std::slice::from_ref(&ros1), &Topics::default()).unwrap(), [None]);
        let wanted = Topics { odometry: Some("/odom".into()), ..Topics::default() };
        let error = roles_of(&[ros1], &wanted).unwrap_err();
        assert!(error.starts_with("the messages of /odom are encoded as 'ros1', and lienav reads 'cdr'"), "{error}");
    }

    #[test]
    fn a_topic_that_is_not_there_is_named_with_those_that_are() {
        let wanted = Topics { imu: Some("/imu/data".into()), ..Topics::default() };
        let error = roles_of(&[topic("/imu/raw", Imu::TYPE)], &wanted).unwrap_err();
        assert_eq!(error, "no topic /imu/data of type sensor_msgs/msg/Imu; there are: /imu/raw (sensor_msgs/msg/Imu)");
    }
}
