//! The six parameter services of a node, and the events that tell of changes.

use super::{Kind, Parameters, value};
use crate::ros::clock::to_time;
use crate::ros::receive::{Inbox, receive};
use lienav_base::settings::Allowed;
use lienav_base::stamp::Stamp;
use r2r::rcl_interfaces::msg::{
    FloatingPointRange, IntegerRange, ListParametersResult, Parameter, ParameterDescriptor, ParameterEvent,
    SetParametersResult,
};
use r2r::rcl_interfaces::srv::{
    DescribeParameters, GetParameterTypes, GetParameters, ListParameters, SetParameters, SetParametersAtomically,
};
use r2r::{Node, ParameterValue, Publisher, QosProfile, ServiceRequest};
use serde_json::Value;

/// Somebody wants to know or to change parameters.
pub enum Request {
    /// Values, by name.
    Get(ServiceRequest<GetParameters::Service>),
    /// Types, by name.
    Types(ServiceRequest<GetParameterTypes::Service>),
    /// Descriptions with types and ranges, by name.
    Describe(ServiceRequest<DescribeParameters::Service>),
    /// Names, by prefix.
    List(ServiceRequest<ListParameters::Service>),
    /// Changes, each for itself.
    Set(ServiceRequest<SetParameters::Service>),
    /// Changes, all or none.
    SetAtomically(ServiceRequest<SetParametersAtomically::Service>),
}

/// The service servers of a node, and the publisher of its parameter events.
pub struct Services {
    node: String,
    inboxes: Vec<Inbox<Request>>,
    events: Publisher<ParameterEvent>,
}

impl Services {
    /// Offers the services of `node`.
    ///
    /// # Errors
    /// ROS refuses one of them.
    pub fn of(node: &mut Node) -> r2r::Result<Self> {
        let qos = QosProfile::parameters;
        let inboxes = vec![
            receive(node.create_service("~/get_parameters", qos())?, Request::Get),
            receive(node.create_service("~/get_parameter_types", qos())?, Request::Types),
            receive(node.create_service("~/describe_parameters", qos())?, Request::Describe),
            receive(node.create_service("~/list_parameters", qos())?, Request::List),
            receive(node.create_service("~/set_parameters", qos())?, Request::Set),
            receive(node.create_service("~/set_parameters_atomically", qos())?, Request::SetAtomically),
        ];
        let events = node.create_publisher("/parameter_events", QosProfile::parameter_events())?;
        Ok(Self { node: node.fully_qualified_name()?, inboxes, events })
    }

    /// Splits into what receives requests and what tells of changes.
    pub fn split(self) -> (Vec<Inbox<Request>>, Events) {
        (self.inboxes, Events { node: self.node, publisher: self.events })
    }
}

/// Tells the world of changed parameters, on `/parameter_events`.
pub struct Events {
    node: String,
    publisher: Publisher<ParameterEvent>,
}

impl Events {
    /// Tells which parameters differ between `before` and `after`.
    ///
    /// # Errors
    /// ROS refuses.
    pub fn changed(&self, now: Stamp, before: &Parameters, after: &Parameters) -> r2r::Result<()> {
        let pairs = before.entries.iter().zip(&after.entries);
        let changed: Vec<_> = pairs
            .filter(|(old, new)| old.value != new.value)
            .map(|(_, new)| Parameter { name: new.spec.name.to_owned(), value: value::to_msg(new.kind, &new.value) })
            .collect();
        if changed.is_empty() {
            return Ok(());
        }
        let event = ParameterEvent {
            stamp: to_time(now),
            node: self.node.clone(),
            changed_parameters: changed,
            ..Default::default()
        };
        self.publisher.publish(&event)
    }
}

impl Request {
    /// Answers. `apply` puts changed parameters in force, or says why it will not; then they stay as they were.
    ///
    /// # Errors
    /// ROS cannot send the answer.
    pub fn answer(
        self,
        parameters: &mut Parameters,
        mut apply: impl FnMut(&Parameters) -> Result<(), String>,
    ) -> r2r::Result<()> {
        let mut set = |changes: &[Parameter]| -> SetParametersResult {
            let changes: Vec<(String, ParameterValue)> =
                changes.iter().map(|p| (p.name.clone(), value::from_msg(p.value.clone()))).collect();
            let outcome = parameters.changed(&changes).map_err(|e| e.to_string()).and_then(|changed| {
                apply(&changed)?;
                *parameters = changed;
                Ok(())
            });
            SetParametersResult { successful: outcome.is_ok(), reason: outcome.err().unwrap_or_default() }
        };
        match self {
            Self::Set(request) => {
                let changes = &request.message.parameters;
                let results = changes.iter().map(|p| set(std::slice::from_ref(p))).collect();
                request.respond(SetParameters::Response { results })
            }
            Self::SetAtomically(request) => {
                let result = set(&request.message.parameters);
                request.respond(SetParametersAtomically::Response { result })
            }
            Self::Get(request) => {
                let find =
                    |name: &String| parameters.entry(name).map(|e| value::to_msg(e.kind, &e.value)).unwrap_or_default();
                let values = request.message.names.iter().map(find).collect();
                request.respond(GetParameters::Response { values })
            }
            Self::Types(request) => {
                let find = |name: &String| parameters.entry(name).map(|e| e.kind.code()).unwrap_or_default();
                let types = request.message.names.iter().map(find).collect();
                request.respond(GetParameterTypes::Response { types })
            }
            Self::Describe(request) => {
                let descriptors = request.message.names.iter().map(|name| descriptor(parameters, name)).collect();
                request.respond(DescribeParameters::Response { descriptors })
            }
            Self::List(request) => {
                // Of an empty list, `ros2 param dump` writes `[]`, which no node can read back: a list of no type.
                let is_empty = |value: &Value| value.as_array().is_some_and(Vec::is_empty);
                let names = parameters.entries.iter().filter(|e| !is_empty(&e.value)).map(|e| e.spec.name);
                let result = list(names, &request.message.prefixes, request.message.depth);
                request.respond(ListParameters::Response { result })
            }
        }
    }
}

/// What is known about a parameter, as ROS has it.
fn descriptor(parameters: &Parameters, name: &str) -> ParameterDescriptor {
    let Some(entry) = parameters.entry(name) else {
        return ParameterDescriptor { name: name.to_owned(), ..Default::default() };
    };
    let mut out = ParameterDescriptor {
        name: name.to_owned(),
        type_: entry.kind.code(),
        description: entry.spec.description.to_owned(),
        read_only: !entry.spec.runtime,
        ..Default::default()
    };
    match (entry.spec.allowed, entry.kind) {
        (Allowed::Range(low, high), Kind::Integer) => {
            out.integer_range = vec![IntegerRange { from_value: low as i64, to_value: high as i64, step: 1 }];
        }
        (Allowed::Range(low, high), _) => {
            out.floating_point_range = vec![FloatingPointRange { from_value: low, to_value: high, step: 0.0 }];
        }
        (Allowed::Words(_), _) => out.additional_constraints = format!("one of: {}", entry.spec.allowed.describe()),
        (Allowed::Any | Allowed::Names, _) => (),
    }
    out
}

/// `rcl_interfaces/srv/ListParameters`: names below one of `prefixes` (all, if there is none), at most `depth` levels
/// below it (0 for any), and the prefixes of those names.
fn list<'a>(names: impl Iterator<Item = &'a str>, prefixes: &[String], depth: u64) -> ListParametersResult {
    let levels = |rest: &str| rest.matches('.').count() as u64;
    let below = |name: &str, prefix: &str| {
        name == prefix
            || name
                .strip_prefix(prefix)
                .and_then(|rest| rest.strip_prefix('.'))
                .is_some_and(|rest| depth == 0 || levels(rest) < depth)
    };
    let mut result = ListParametersResult::default();
    for name in names {
        let wanted = match prefixes {
            [] => depth == 0 || levels(name) < depth,
            _ => prefixes.iter().any(|prefix| below(name, prefix)),
        };
        if !wanted {
            continue;
        }
        result.names.push(name.to_owned());
        if let Some((prefix, _)) = name.rsplit_once('.')
            && result.prefixes.iter().all(|p| p != prefix)
        {
            result.prefixes.push(prefix.to_owned());
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use lienav_slam::{Config, SPECS};

    fn parameters() -> Parameters {
        let mut parameters = Parameters::default();
        parameters.declare(&Config::default(), SPECS, &Default::default()).unwrap();
        parameters
    }

    #[test]
    fn descriptors_have_type_range_words_and_whether_a_restart_is_needed() {
        let parameters = parameters();
        let gate = descriptor(&parameters, "gate.probability");
        assert_eq!((gate.type_, gate.read_only), (3, false));
        let range = &gate.floating_point_range[0];
        assert_eq!((range.from_value, range.to_value), (0.5, 1.0));
        let features = descriptor(&parameters, "map.max_features");
        assert_eq!((features.type_, features.integer_range[0].to_value), (2, 1_000_000));
        let filter = descriptor(&parameters, "filter");
        assert!(filter.read_only && filter.additional_constraints.contains("thesis-ekf"));
        for spec in SPECS {
            assert!(!descriptor(&parameters, spec.name).description.is_empty());
        }
        assert_eq!(descriptor(&parameters, "nobody").type_, 0);
    }

    #[test]
    fn lists_are_cut_by_prefix_and_depth() {
        let names = ["filter", "motion.noise", "motion.a.b", "motionless"];
        let listed = |prefixes: &[&str], depth| {
            let prefixes: Vec<String> = prefixes.iter().map(|p| (*p).to_owned()).collect();
            list(names.into_iter(), &prefixes, depth).names
        };
        assert_eq!(listed(&[], 0), names);
        assert_eq!(listed(&[], 1), ["filter", "motionless"]);
        assert_eq!(listed(&["motion"], 0), ["motion.noise", "motion.a.b"]);
        assert_eq!(listed(&["motion"], 1), ["motion.noise"]);
        assert_eq!(list(names.into_iter(), &[], 0).prefixes, ["motion", "motion.a"]);
    }
}
