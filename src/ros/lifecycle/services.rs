//! The services of a managed node.

use super::{Lifecycle, Managed, change, state_message, table, transition_message};
use crate::ros::receive::{Inbox, receive};
use r2r::lifecycle_msgs::msg::{Transition, TransitionDescription};
use r2r::lifecycle_msgs::srv::{ChangeState, GetAvailableStates, GetAvailableTransitions, GetState};
use r2r::{Node, QosProfile, ServiceRequest};

/// Somebody wants to know or to change the state of a node.
pub enum Request {
    /// `~/change_state`
    Change(ServiceRequest<ChangeState::Service>),
    /// `~/get_state`
    State(ServiceRequest<GetState::Service>),
    /// `~/get_available_states`
    States(ServiceRequest<GetAvailableStates::Service>),
    /// `~/get_available_transitions`
    Transitions(ServiceRequest<GetAvailableTransitions::Service>),
    /// `~/get_transition_graph`
    Graph(ServiceRequest<GetAvailableTransitions::Service>),
}

/// The service servers of a node, and its state.
pub struct Services {
    inboxes: Vec<Inbox<Request>>,
    lifecycle: Lifecycle,
}

impl Services {
    /// Offers the services of `node`, which is unconfigured.
    ///
    /// # Errors
    /// ROS refuses one of them.
    pub fn of(node: &mut Node) -> r2r::Result<Self> {
        let qos = QosProfile::services_default;
        let inboxes = vec![
            receive(node.create_service("~/change_state", qos())?, Request::Change),
            receive(node.create_service("~/get_state", qos())?, Request::State),
            receive(node.create_service("~/get_available_states", qos())?, Request::States),
            receive(node.create_service("~/get_available_transitions", qos())?, Request::Transitions),
            receive(node.create_service("~/get_transition_graph", qos())?, Request::Graph),
        ];
        let events = node.create_publisher("~/transition_event", QosProfile::default().reliable().keep_last(10))?;
        Ok(Self { inboxes, lifecycle: Lifecycle::new(events) })
    }

    /// Splits into what receives requests and the state that they are about.
    pub fn split(self) -> (Vec<Inbox<Request>>, Lifecycle) {
        (self.inboxes, self.lifecycle)
    }
}

impl Request {
    /// Answers for `node`, which changes its state if that is asked for. Gives a sentence for the log where it does
    /// not.
    ///
    /// # Errors
    /// ROS cannot send the answer.
    pub fn answer<N: Managed>(self, node: &mut N) -> r2r::Result<Option<String>> {
        let state = node.lifecycle().state();
        match self {
            Self::Change(request) => {
                let refused = change_as_asked(node, &request.message.transition).err();
                request.respond(ChangeState::Response { success: refused.is_none() })?;
                return Ok(refused);
            }
            Self::State(request) => request.respond(GetState::Response { current_state: state_message(state) }),
            Self::States(request) => {
                let available_states = table::STATES.into_iter().map(state_message).collect();
                request.respond(GetAvailableStates::Response { available_states })
            }
            Self::Transitions(request) => request.respond(described(table::from(state))),
            Self::Graph(request) => request.respond(described(table::TRANSITIONS.iter())),
        }?;
        Ok(None)
    }
}

/// Of a request with a label, the label counts and not the number, which is 0 where nobody has set it: as in
/// `rclcpp_lifecycle`.
fn change_as_asked<N: Managed>(node: &mut N, asked: &Transition) -> Result<(), String> {
    let state = node.lifecycle().state();
    let found = match asked.label.as_str() {
        "" => table::by_id(state, asked.id),
        label => table::by_label(state, label),
    };
    let Some(transition) = found else {
        let possible: Vec<String> = table::from(state).map(|t| format!("{} ({})", t.label, t.id)).collect();
        let possible = if possible.is_empty() { "nothing".to_owned() } else { possible.join(", ") };
        let wanted = if asked.label.is_empty() { asked.id.to_string() } else { format!("'{}'", asked.label) };
        return Err(format!("transition {wanted} refused: from state {}, {possible} can be asked for", state.label));
    };
    change(node, transition)
}

fn described<'a>(transitions: impl Iterator<Item = &'a table::Transition>) -> GetAvailableTransitions::Response {
    let describe = |transition: &table::Transition| TransitionDescription {
        transition: transition_message(transition),
        start_state: state_message(transition.start),
        goal_state: state_message(transition.goal),
    };
    GetAvailableTransitions::Response { available_transitions: transitions.map(describe).collect() }
}
