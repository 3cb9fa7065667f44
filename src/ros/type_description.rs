//! `~/get_type_description`: what the types of a node's topics and services look like (REP 2016), for programs that
//! meet a type which they do not have.
//!
//! `rcl_node_type_description_service_init` would answer from what is compiled in. It wants the `rcl_node_t`, which r2r
//! 0.9.7 keeps private (`Node::node_handle`). The same descriptions are installed as files beside the interfaces, from
//! which they are read here: `share/PACKAGE/msg/NAME.json`, and the sources beside them. The answers are compared with
//! those of rclpy. Humble has neither files nor service.

use super::receive::Inbox;
use r2r::Node;

/// Types that every managed node uses.
pub const COMMON: [&str; 15] = [
    "diagnostic_msgs/msg/DiagnosticArray",
    "lifecycle_msgs/msg/TransitionEvent",
    "lifecycle_msgs/srv/ChangeState",
    "lifecycle_msgs/srv/GetAvailableStates",
    "lifecycle_msgs/srv/GetAvailableTransitions",
    "lifecycle_msgs/srv/GetState",
    "rcl_interfaces/msg/Log",
    "rcl_interfaces/msg/ParameterEvent",
    "rcl_interfaces/srv/DescribeParameters",
    "rcl_interfaces/srv/GetParameterTypes",
    "rcl_interfaces/srv/GetParameters",
    "rcl_interfaces/srv/ListParameters",
    "rcl_interfaces/srv/SetParameters",
    "rcl_interfaces/srv/SetParametersAtomically",
    "rosgraph_msgs/msg/Clock",
];

/// Offers the service for a node that uses the types of `lists`; it answers by itself, and gives no events. `None`
/// where this ROS 2 has no such service.
///
/// # Errors
/// ROS refuses the service.
#[cfg(not(type_descriptions))]
pub fn offer<E>(_: &mut Node, _: &[&[&'static str]]) -> r2r::Result<Option<Inbox<E>>> {
    Ok(None)
}

/// Offers the service for a node that uses the types of `lists`; it answers by itself, and gives no events. `None`
/// where this ROS 2 has no such service.
///
/// # Errors
/// ROS refuses the service.
#[cfg(type_descriptions)]
pub fn offer<E>(node: &mut Node, lists: &[&[&'static str]]) -> r2r::Result<Option<Inbox<E>>> {
    answers::offer(node, lists).map(Some)
}

#[cfg(type_descriptions)]
mod answers {
    use super::Inbox;
    use futures::{FutureExt, StreamExt};
    use r2r::type_description_interfaces::msg;
    use r2r::type_description_interfaces::srv::GetTypeDescription::{Request, Response, Service};
    use r2r::{Node, QosProfile, ServiceRequest};
    use serde::Deserialize;
    use std::path::{Path, PathBuf};

    /// No file of an interface is longer than this, bytes.
    const LONGEST: u64 = 1 << 22;

    /// The service that ROS describes types with, too.
    const OWN: &str = "type_description_interfaces/srv/GetTypeDescription";

    pub fn offer<E>(node: &mut Node, lists: &[&[&'static str]]) -> r2r::Result<Inbox<E>> {
        let types: Vec<&str> = lists.iter().copied().flatten().copied().chain([OWN]).collect();
        let mut requests = node.create_service::<Service>("~/get_type_description", QosProfile::services_default())?;
        Ok(Box::new(move |_| {
            while let Some(Some(request)) = requests.next().now_or_never() {
                let request: ServiceRequest<Service> = request;
                let answer = answer(&request.message, &types, &prefixes());
                // Who asked has gone, or asks again.
                let _ = request.respond(answer);
            }
        }))
    }

    fn prefixes() -> Vec<PathBuf> {
        std::env::split_paths(&std::env::var_os("AMENT_PREFIX_PATH").unwrap_or_default()).collect()
    }

    /// As rcl answers: the hash counts, and the type has to be one of the node's.
    pub fn answer(request: &Request, types: &[&str], prefixes: &[PathBuf]) -> Response {
        match describe(request, types, prefixes) {
            Ok(answer) => answer,
            Err(failure_reason) => Response { failure_reason, ..Default::default() },
        }
    }

    fn describe(request: &Request, types: &[&str], prefixes: &[PathBuf]) -> Result<Response, String> {
        if !is_hash(&request.type_hash) {
            return Err("Failed to parse type hash".into());
        }
        if !types.iter().any(|name| installed(prefixes, name, "json").is_some()) {
            return Err("No type descriptions are installed where AMENT_PREFIX_PATH of the node points".into());
        }
        let is_named = |name: &&&str| **name == request.type_name;
        let mut candidates = types.iter().filter(is_named).chain(types.iter().filter(|name| !is_named(name)));
        let is_meant =
            |described: &Described| described.type_hashes.first().is_some_and(|h| h.hash_string == request.type_hash);
        let read = |name: &&str| Described::read(prefixes, name).filter(is_meant);
        let described = candidates.find_map(read).ok_or("Type not currently in use by this node")?;
        let type_sources = if request.include_type_sources { described.sources(prefixes) } else { Vec::new() };
        let type_description = described.type_description_msg.into();
        Ok(Response { successful: true, type_description, type_sources, ..Default::default() })
    }

    fn is_hash(text: &str) -> bool {
        text.strip_prefix("RIHS01_").is_some_and(|hex| hex.len() == 64 && hex.bytes().all(|b| b.is_ascii_hexdigit()))
    }

    /// The file of an interface such as `std_msgs/msg/Header`.
    fn installed(prefixes: &[PathBuf], name: &str, extension: &str) -> Option<PathBuf> {
        let found = |prefix: &PathBuf| Some(prefix.join("share").join(format!("{name}.{extension}")));
        prefixes.iter().filter_map(found).find(|path| path.is_file())
    }

    fn read(path: &Path) -> Option<String> {
        let is_sane = path.metadata().is_ok_and(|found| found.len() <= LONGEST);
        is_sane.then(|| std::fs::read_to_string(path).ok()).flatten()
    }

    /// A file of rosidl.
    #[derive(Deserialize)]
    struct Described {
        type_description_msg: Type,
        /// The first is that of the type itself.
        type_hashes: Vec<Hash>,
    }

    #[derive(Deserialize)]
    struct Hash {
        hash_string: String,
    }

    #[derive(Deserialize)]
    struct Type {
        type_description: Individual,
        referenced_type_descriptions: Vec<Individual>,
    }

    #[derive(Deserialize)]
    struct Individual {
        type_name: String,
        fields: Vec<Field>,
    }

    #[derive(Deserialize)]
    struct Field {
        name: String,
        r#type: msg::FieldType,
        default_value: String,
    }

    impl Described {
        fn read(prefixes: &[PathBuf], name: &str) -> Option<Self> {
            serde_json::from_str(&read(&installed(prefixes, name, "json")?)?).ok()
        }

        /// The text that each type was written in. Requests and responses of a service stand in that of the service.
        fn sources(&self, prefixes: &[PathBuf]) -> Vec<msg::TypeSource> {
            let all = std::iter::once(&self.type_description_msg.type_description);
            let all = all.chain(&self.type_description_msg.referenced_type_descriptions);
            let source = |individual: &Individual| {
                let type_name = individual.type_name.clone();
                let named = |encoding: &&str| {
                    let path = installed(prefixes, &type_name, encoding)?;
                    // rosidl keeps lines, without the end of the last one.
                    Some(((*encoding).to_owned(), read(&path)?.lines().collect::<Vec<_>>().join("\n")))
                };
                let found = ["msg", "srv", "action", "idl"].iter().find_map(named);
                let (encoding, raw_file_contents) = found.unwrap_or_else(|| ("implicit".into(), String::new()));
                msg::TypeSource { type_name, encoding, raw_file_contents }
            };
            all.map(source).collect()
        }
    }

    impl From<Type> for msg::TypeDescription {
        fn from(described: Type) -> Self {
            Self {
                type_description: described.type_description.into(),
                referenced_type_descriptions: described
                    .referenced_type_descriptions
                    .into_iter()
                    .map(Into::into)
                    .collect(),
            }
        }
    }

    impl From<Individual> for msg::IndividualTypeDescription {
        fn from(described: Individual) -> Self {
            let field = |field: Field| {
                let Field { name, r#type: type_, default_value } = field;
                msg::Field { name, type_, default_value }
            };
            Self { type_name: described.type_name, fields: described.fields.into_iter().map(field).collect() }
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        const HASH: &str = "RIHS01_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

        fn asked(type_name: &str, type_hash: &str, types: &[&str], prefix: &Path) -> Response {
            let request =
                Request { type_name: type_name.into(), type_hash: type_hash.into(), include_type_sources: true };
            answer(&request, types, &[prefix.to_owned()])
        }

        #[test]
        fn only_types_of_the_node_are_described_and_only_if_the_hash_is_theirs() {
            let folder = tempfile::tempdir().unwrap();
            let share = folder.path().join("share/p/msg");
            std::fs::create_dir_all(&share).unwrap();
            let described = |name: &str, hash: &str| {
                format!(
                    r#"{{"type_description_msg": {{"type_description": {{"type_name": "p/msg/{name}", "fields": [{{"name":
                    "x", "type": {{"type_id": 11, "capacity": 0, "string_capacity": 0, "nested_type_name": ""}},
                    "default_value": ""}}]}}, "referenced_type_descriptions": []}}, "type_hashes": [{{"type_name":
                    "p/msg/{name}", "hash_string": "{hash}"}}]}}"#
                )
            };
            std::fs::write(share.join("A.json"), described("A", HASH)).unwrap();
            std::fs::write(share.join("A.msg"), "float64 x\n").unwrap();
            std::fs::write(share.join("Torn.json"), "{").unwrap();
            let types = ["p/msg/Torn", "p/msg/A"];
            let answer = asked("p/msg/A", HASH, &types, folder.path());
            assert!(answer.successful && answer.failure_reason.is_empty());
            assert_eq!(answer.type_description.type_description.fields[0].type_.type_id, 11);
            assert_eq!(answer.type_sources[0].raw_file_contents, "float64 x");
            assert!(asked("whatever", HASH, &types, folder.path()).successful, "the hash counts");
            for (name, hash, types) in [
                ("p/msg/A", HASH.replace('0', "f"), &types[..]),
                ("p/msg/A", "RIHS01_12".into(), &types[..]),
                ("p/msg/Torn", HASH.replace('0', "e"), &types[..]),
                ("p/msg/A", HASH.into(), &["p/msg/B"]),
            ] {
                let answer = asked(name, &hash, types, folder.path());
                assert!(!answer.successful && !answer.failure_reason.is_empty(), "{name} {hash}");
            }
            assert!(asked("p/msg/A", HASH, &types, Path::new("/nowhere")).failure_reason.contains("AMENT_PREFIX_PATH"));
        }
    }
}
