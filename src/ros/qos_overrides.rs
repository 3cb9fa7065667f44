//! The parameters `qos_overrides./TOPIC.subscription.reliability` and the like, as rclcpp has them: read at the start,
//! and readable ever after.

use super::names::Names;
use super::parameters::{Overrides, ParameterError};
use r2r::qos::{DurabilityPolicy, HistoryPolicy, ReliabilityPolicy};
use r2r::{Node, Parameter, ParameterValue, Publisher, QosProfile, WrappedTypesupport};
use std::sync::PoisonError;

/// What names of these parameters begin with.
pub const PREFIX: &str = "qos_overrides.";

/// Says of a parameter of the node's, among those that the user has set, that a topic has asked for it.
pub const DESCRIPTION: &str = "Quality of service of this end of the topic.";

/// What can be set.
const POLICIES: [&str; 4] = ["depth", "durability", "history", "reliability"];

const HISTORIES: [(&str, HistoryPolicy); 3] = [
    ("keep_last", HistoryPolicy::KeepLast),
    ("keep_all", HistoryPolicy::KeepAll),
    ("system_default", HistoryPolicy::SystemDefault),
];
const DURABILITIES: [(&str, DurabilityPolicy); 3] = [
    ("volatile", DurabilityPolicy::Volatile),
    ("transient_local", DurabilityPolicy::TransientLocal),
    ("system_default", DurabilityPolicy::SystemDefault),
];
const RELIABILITIES: [(&str, ReliabilityPolicy); 3] = [
    ("reliable", ReliabilityPolicy::Reliable),
    ("best_effort", ReliabilityPolicy::BestEffort),
    ("system_default", ReliabilityPolicy::SystemDefault),
];

/// Advertises a topic with this quality of service, or as the user has it.
///
/// # Errors
/// ROS refuses the topic.
pub fn publisher<T: WrappedTypesupport + 'static>(
    node: &mut Node,
    topic: &str,
    profile: QosProfile,
) -> r2r::Result<Publisher<T>> {
    let profile = overridden(node, topic, "publisher", profile)?;
    node.create_publisher(topic, profile)
}

/// The quality of service of a subscription: `profile`, or as the user has it.
///
/// # Errors
/// The node has no name.
pub fn subscription(node: &Node, topic: &str, profile: QosProfile) -> r2r::Result<QosProfile> {
    overridden(node, topic, "subscription", profile)
}

/// Refuses what is no policy, or no value of it.
///
/// # Errors
/// The first parameter that cannot be used.
pub fn check(overrides: &Overrides) -> Result<(), ParameterError> {
    for (name, given) in overrides.iter().filter(|(name, _)| name.starts_with(PREFIX)) {
        let unusable = |allowed: String| {
            let given = format!("{given:?}");
            Err(ParameterError::Unusable(format!("parameter '{name}' is {given}; allowed: {allowed}")))
        };
        let (_, policy) = name.rsplit_once('.').unwrap_or_default();
        if !POLICIES.contains(&policy) {
            let known = POLICIES.join(", ");
            return Err(ParameterError::Unusable(format!("parameter '{name}': of a topic one can set {known}")));
        }
        if !set(&mut QosProfile::default(), policy, given) {
            return unusable(allowed(policy));
        }
    }
    Ok(())
}

fn allowed(policy: &str) -> String {
    match policy {
        "history" => HISTORIES.map(|(word, _)| word).join(" | "),
        "durability" => DURABILITIES.map(|(word, _)| word).join(" | "),
        "reliability" => RELIABILITIES.map(|(word, _)| word).join(" | "),
        _ => "0 … 100000".into(),
    }
}

/// Puts a policy into a profile; false where the value is none of it.
fn set(profile: &mut QosProfile, policy: &str, value: &ParameterValue) -> bool {
    fn named<T: Clone>(words: &[(&str, T)], value: &ParameterValue) -> Option<T> {
        let ParameterValue::String(word) = value else { return None };
        words.iter().find(|(known, _)| known == word).map(|(_, policy)| policy.clone())
    }
    match (policy, value) {
        ("depth", ParameterValue::Integer(depth @ 0..=100_000)) => {
            profile.depth = usize::try_from(*depth).unwrap_or_default();
            true
        }
        ("history", value) => named(&HISTORIES, value).map(|policy| profile.history = policy).is_some(),
        ("durability", value) => named(&DURABILITIES, value).map(|policy| profile.durability = policy).is_some(),
        ("reliability", value) => named(&RELIABILITIES, value).map(|policy| profile.reliability = policy).is_some(),
        _ => false,
    }
}

fn get(profile: &QosProfile, policy: &str) -> ParameterValue {
    let word = match policy {
        "history" => HISTORIES.iter().find(|(_, known)| *known == profile.history).map(|(word, _)| *word),
        "durability" => DURABILITIES.iter().find(|(_, known)| *known == profile.durability).map(|(word, _)| *word),
        "reliability" => RELIABILITIES.iter().find(|(_, known)| *known == profile.reliability).map(|(word, _)| *word),
        _ => return ParameterValue::Integer(i64::try_from(profile.depth).unwrap_or(i64::MAX)),
    };
    ParameterValue::String(word.unwrap_or("unknown").to_owned())
}

/// The profile with what the user has set; what is in force is written to the parameters of `node`.
fn overridden(node: &Node, topic: &str, end: &str, mut profile: QosProfile) -> r2r::Result<QosProfile> {
    let full = Names::of(node)?.resolve(topic);
    let mut parameters = node.params.lock().unwrap_or_else(PoisonError::into_inner);
    for policy in POLICIES {
        let name = format!("{PREFIX}{full}.{end}.{policy}");
        if let Some(given) = parameters.get(&name) {
            set(&mut profile, policy, &given.value);
        }
        let parameter = Parameter { value: get(&profile, policy), description: DESCRIPTION };
        parameters.insert(name, parameter);
    }
    Ok(profile)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(word: &str) -> ParameterValue {
        ParameterValue::String(word.to_owned())
    }

    #[test]
    fn every_word_of_a_policy_is_understood_and_said_again() {
        for (policy, words) in [
            ("history", HISTORIES.map(|(word, _)| word)),
            ("durability", DURABILITIES.map(|(word, _)| word)),
            ("reliability", RELIABILITIES.map(|(word, _)| word)),
        ] {
            for word in words {
                let mut profile = QosProfile::default();
                assert!(set(&mut profile, policy, &text(word)), "{policy} {word}");
                assert_eq!(get(&profile, policy), text(word));
            }
        }
        let mut profile = QosProfile::default();
        assert!(set(&mut profile, "depth", &ParameterValue::Integer(7)) && profile.depth == 7);
    }

    #[test]
    fn what_is_no_policy_or_no_value_is_refused_by_name() {
        let refused =
            |name: &str, value| check(&Overrides::from([(name.to_owned(), value)])).map_err(|e| e.to_string());
        assert_eq!(refused("qos_overrides./odom.subscription.reliability", text("reliable")), Ok(()));
        let why = refused("qos_overrides./odom.subscription.reliability", text("sometimes")).unwrap_err();
        assert!(why.contains("/odom.subscription.reliability'") && why.contains("reliable | best_effort"), "{why}");
        assert!(refused("qos_overrides./odom.subscription.depth", ParameterValue::Integer(-1)).is_err());
        assert!(refused("qos_overrides./odom.subscription.depth", text("7")).is_err());
        let why = refused("qos_overrides./odom.subscription.deadline", ParameterValue::Integer(1)).unwrap_err();
        assert!(why.contains("depth, durability, history, reliability"), "{why}");
        assert_eq!(refused("something.else", text("x")), Ok(()));
    }
}
