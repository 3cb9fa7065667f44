//! A managed node: the states of a node of `rclcpp_lifecycle`, and the services that change them, so that
//! `ros2 lifecycle` and `nav2_lifecycle_manager` can drive ours.
//!
//! r2r has no such node. [`table`] has the states and transitions of `rcl_lifecycle`, with their numbers and labels;
//! [`Lifecycle`] is the state that a node is in; [`Services`] are the five services and the topic of its changes. What
//! a change does is the node's business: [`Managed`].

mod services;
pub mod table;

pub use services::{Request, Services};

use super::diagnostics::Level;
use super::log::Log;
use lienav_base::settings;
use lienav_base::settings::{Described, Spec};
use lienav_base::stamp::Stamp;
use r2r::Publisher;
use r2r::diagnostic_msgs::msg::{DiagnosticStatus, KeyValue};
use r2r::lifecycle_msgs::msg::{State as StateMessage, Transition as TransitionMessage, TransitionEvent};
use table::{ACTIVE, FINALIZED, INACTIVE, State, Transition, UNCONFIGURED};

settings! {
    /// How a managed node begins.
    pub struct Start {
        /// Configure and activate the node by itself at the start; false leaves both to a lifecycle manager.
        autostart: bool = true;
    }
}

/// The settings of [`Start`].
pub const START_SPECS: &[Spec] = Start::SPECS;

/// What a node does when its state changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Get ready: from unconfigured to inactive.
    Configure,
    /// Begin to work: from inactive to active.
    Activate,
    /// Stop working and keep what is known: from active to inactive.
    Deactivate,
    /// Forget what is known: from inactive to unconfigured.
    Cleanup,
    /// Stop for ever, from this state.
    Shutdown(State),
}

impl Action {
    /// What was done, for the log.
    pub fn done(self) -> &'static str {
        match self {
            Self::Configure => "configured",
            Self::Activate => "activated",
            Self::Deactivate => "deactivated: input is ignored and nothing is published until the node is activated",
            Self::Cleanup => "cleaned up: what was known is forgotten",
            Self::Shutdown(_) => "shut down: the node does nothing any more",
        }
    }
}

/// A node that can be told to change its state.
pub trait Managed {
    /// The state that it is in.
    fn lifecycle(&mut self) -> &mut Lifecycle;

    /// Does what a change of state asks for.
    ///
    /// # Errors
    /// Why the state stays as it was, as a sentence.
    fn carry_out(&mut self, action: Action) -> Result<(), String>;

    /// Now, for the stamp of events.
    fn now(&self) -> Stamp;
}

/// The state that a node is in, and the topic that tells of its changes.
pub struct Lifecycle {
    state: State,
    events: Publisher<TransitionEvent>,
}

impl Lifecycle {
    fn new(events: Publisher<TransitionEvent>) -> Self {
        Self { state: UNCONFIGURED, events }
    }

    /// The state now.
    pub fn state(&self) -> State {
        self.state
    }

    /// Whether the node is to work.
    pub fn is_active(&self) -> bool {
        self.state == ACTIVE
    }

    /// What a node that does not work says about itself, and what is to be done.
    pub fn idle_sentence(&self) -> Option<String> {
        let remedy = match self.state {
            ACTIVE => return None,
            INACTIVE => "activate it (`ros2 lifecycle set NODE activate`), or let the lifecycle manager do it",
            FINALIZED => "it was shut down and does nothing any more: start a new one",
            _ => "configure and activate it, let the lifecycle manager do it, or set autostart to true",
        };
        Some(format!("the node is {}: {remedy}", self.state.label))
    }

    /// The status with the state of the node; one that does not work has nothing else to say.
    pub fn with_state(&self, mut status: DiagnosticStatus) -> DiagnosticStatus {
        if let Some(sentence) = self.idle_sentence() {
            (status.level, status.message) = (Level::Warn as u8, sentence);
        }
        status.values.push(KeyValue { key: "state".into(), value: self.state.label.into() });
        status
    }

    /// Goes along `transition`, and tells of it.
    fn follow(&mut self, transition: &Transition, now: Stamp) -> r2r::Result<()> {
        self.state = transition.goal;
        self.events.publish(&TransitionEvent {
            timestamp: u64::try_from(now.nanos()).unwrap_or_default(),
            transition: transition_message(transition),
            start_state: state_message(transition.start),
            goal_state: state_message(transition.goal),
        })
    }
}

/// Takes the node along a transition that was asked for from outside, and through the one that follows from how it
/// went. Says how it went: the sentence of an error is for the log.
///
/// # Errors
/// The state has no such transition, or the node refuses it.
pub fn change<N: Managed>(node: &mut N, transition: &Transition) -> Result<(), String> {
    let start = node.lifecycle().state;
    if start != transition.start {
        return Err(format!("no transition {} from state {}", transition.label, start.label));
    }
    let Some(action) = action_of(transition) else {
        return Err(format!("transition {} cannot be asked for", transition.label));
    };
    let now = node.now();
    let told = node.lifecycle().follow(transition, now);
    let outcome = node.carry_out(action);
    let label = if outcome.is_ok() { table::SUCCESS } else { table::FAILURE };
    let Some(end) = table::by_label(transition.goal, label) else {
        return Err(format!("state {} has no end", transition.goal.label));
    };
    let now = node.now();
    // Who listens for changes and misses one still gets the answer, and can ask for the state.
    let _ = told.and(node.lifecycle().follow(end, now));
    outcome
}

/// Configures and activates a node that starts by itself; another one waits.
pub fn begin<N: Managed>(node: &mut N, autostart: bool, log: &Log) {
    if !autostart {
        return log.info("unconfigured: the node waits for a lifecycle manager (autostart is false)");
    }
    if let Err(why) = change(node, &table::CONFIGURE).and_then(|()| change(node, &table::ACTIVATE)) {
        log.error(&why);
    }
}

fn action_of(transition: &Transition) -> Option<Action> {
    Some(match *transition {
        table::CONFIGURE => Action::Configure,
        table::CLEANUP => Action::Cleanup,
        table::ACTIVATE => Action::Activate,
        table::DEACTIVATE => Action::Deactivate,
        Transition { label: table::SHUTDOWN, start, .. } => Action::Shutdown(start),
        _ => return None,
    })
}

fn state_message(state: State) -> StateMessage {
    StateMessage { id: state.id, label: state.label.to_owned() }
}

fn transition_message(transition: &Transition) -> TransitionMessage {
    TransitionMessage { id: transition.id, label: transition.label.to_owned() }
}
