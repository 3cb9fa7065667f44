//! The states and transitions of a managed node: numbers, labels and order are those of `rcl_lifecycle`, and a test
//! compares them with a node of rclpy.

/// A state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// As in `lifecycle_msgs/msg/State`.
    pub id: u8,
    /// As `ros2 lifecycle get` shows it.
    pub label: &'static str,
}

/// A way from one state to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transition {
    /// As in `lifecycle_msgs/msg/Transition`.
    pub id: u8,
    /// As `ros2 lifecycle set` takes it.
    pub label: &'static str,
    /// Where it begins.
    pub start: State,
    /// Where it ends.
    pub goal: State,
}

const fn state(id: u8, label: &'static str) -> State {
    State { id, label }
}

const fn transition(id: u8, label: &'static str, start: State, goal: State) -> Transition {
    Transition { id, label, start, goal }
}

/// No state has been set.
pub const UNKNOWN: State = state(0, "unknown");
/// The node is there, and no more.
pub const UNCONFIGURED: State = state(1, "unconfigured");
/// The node is ready, and does not work.
pub const INACTIVE: State = state(2, "inactive");
/// The node works.
pub const ACTIVE: State = state(3, "active");
/// The node will never work again.
pub const FINALIZED: State = state(4, "finalized");
const CONFIGURING: State = state(10, "configuring");
const CLEANINGUP: State = state(11, "cleaningup");
const SHUTTINGDOWN: State = state(12, "shuttingdown");
const ACTIVATING: State = state(13, "activating");
const DEACTIVATING: State = state(14, "deactivating");
const ERRORPROCESSING: State = state(15, "errorprocessing");

/// All states.
pub const STATES: [State; 11] = [
    UNKNOWN,
    UNCONFIGURED,
    INACTIVE,
    ACTIVE,
    FINALIZED,
    CONFIGURING,
    CLEANINGUP,
    SHUTTINGDOWN,
    ACTIVATING,
    DEACTIVATING,
    ERRORPROCESSING,
];

/// Of the three transitions that a state may have which ends the node.
pub const SHUTDOWN: &str = "shutdown";
/// What was asked for was done.
pub const SUCCESS: &str = "transition_success";
/// What was asked for was not done, and the node is as it was.
pub const FAILURE: &str = "transition_failure";
const ERROR: &str = "transition_error";

/// From unconfigured towards inactive.
pub const CONFIGURE: Transition = transition(1, "configure", UNCONFIGURED, CONFIGURING);
/// From inactive towards unconfigured.
pub const CLEANUP: Transition = transition(2, "cleanup", INACTIVE, CLEANINGUP);
/// From inactive towards active.
pub const ACTIVATE: Transition = transition(3, "activate", INACTIVE, ACTIVATING);
/// From active towards inactive.
pub const DEACTIVATE: Transition = transition(4, "deactivate", ACTIVE, DEACTIVATING);

/// All transitions.
pub const TRANSITIONS: [Transition; 25] = [
    CONFIGURE,
    transition(10, SUCCESS, CONFIGURING, INACTIVE),
    transition(11, FAILURE, CONFIGURING, UNCONFIGURED),
    transition(12, ERROR, CONFIGURING, ERRORPROCESSING),
    CLEANUP,
    transition(20, SUCCESS, CLEANINGUP, UNCONFIGURED),
    transition(21, FAILURE, CLEANINGUP, INACTIVE),
    transition(22, ERROR, CLEANINGUP, ERRORPROCESSING),
    ACTIVATE,
    transition(30, SUCCESS, ACTIVATING, ACTIVE),
    transition(31, FAILURE, ACTIVATING, INACTIVE),
    transition(32, ERROR, ACTIVATING, ERRORPROCESSING),
    DEACTIVATE,
    transition(40, SUCCESS, DEACTIVATING, INACTIVE),
    transition(41, FAILURE, DEACTIVATING, ACTIVE),
    transition(42, ERROR, DEACTIVATING, ERRORPROCESSING),
    transition(5, SHUTDOWN, UNCONFIGURED, SHUTTINGDOWN),
    transition(6, SHUTDOWN, INACTIVE, SHUTTINGDOWN),
    transition(7, SHUTDOWN, ACTIVE, SHUTTINGDOWN),
    transition(50, SUCCESS, SHUTTINGDOWN, FINALIZED),
    transition(51, FAILURE, SHUTTINGDOWN, FINALIZED),
    transition(52, ERROR, SHUTTINGDOWN, ERRORPROCESSING),
    transition(60, SUCCESS, ERRORPROCESSING, UNCONFIGURED),
    transition(61, FAILURE, ERRORPROCESSING, FINALIZED),
    transition(62, ERROR, ERRORPROCESSING, FINALIZED),
];

/// The transitions that begin in `state`.
pub fn from(state: State) -> impl Iterator<Item = &'static Transition> {
    TRANSITIONS.iter().filter(move |transition| transition.start == state)
}

/// That of them with this number.
pub fn by_id(state: State, id: u8) -> Option<&'static Transition> {
    from(state).find(|transition| transition.id == id)
}

/// That of them with this label.
pub fn by_label(state: State, label: &str) -> Option<&'static Transition> {
    from(state).find(|transition| transition.label == label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_but_the_last_has_a_way_out_and_each_label_is_there_once() {
        for state in STATES {
            let labels: Vec<&str> = from(state).map(|transition| transition.label).collect();
            let mut different = labels.clone();
            different.sort_unstable();
            different.dedup();
            assert_eq!(different.len(), labels.len(), "{state:?}");
            assert_eq!(labels.is_empty(), state == UNKNOWN || state == FINALIZED, "{state:?}");
        }
    }

    #[test]
    fn what_can_be_asked_for_depends_on_the_state() {
        let ids = |state| from(state).map(|transition| transition.id).collect::<Vec<_>>();
        assert_eq!((ids(UNCONFIGURED), ids(INACTIVE), ids(ACTIVE)), (vec![1, 5], vec![2, 3, 6], vec![4, 7]));
        assert_eq!(by_label(ACTIVE, "shutdown").map(|transition| transition.id), Some(7));
        assert_eq!((by_id(ACTIVE, 1), by_label(ACTIVE, "configure")), (None, None));
    }
}
