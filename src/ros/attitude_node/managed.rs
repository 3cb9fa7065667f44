//! The worker as a managed node: what becomes of the filter when the state of the node changes.

use super::Mode;
use super::input::Event;
use super::worker::Worker;
use crate::ros::lifecycle::{Action, Lifecycle, Managed, begin, table};
use lienav_base::stamp::Stamp;
use r2r::std_srvs::srv::{SetBool, Trigger};

impl Managed for Worker {
    fn lifecycle(&mut self) -> &mut Lifecycle {
        &mut self.lifecycle
    }

    fn carry_out(&mut self, action: Action) -> Result<(), String> {
        match action {
            Action::Configure => self.greet(),
            Action::Activate => self.begin_anew(),
            Action::Cleanup | Action::Shutdown(table::INACTIVE | table::ACTIVE) => {
                self.forget();
                self.attitude.set_enabled(true);
            }
            Action::Deactivate | Action::Shutdown(_) => (),
        }
        self.log.info(action.done());
        Ok(())
    }

    fn now(&self) -> Stamp {
        self.clock.now()
    }
}

impl Worker {
    /// Configures and activates the node, unless somebody else is to do it.
    pub fn begin(&mut self, autostart: bool) {
        let log = self.log.clone();
        begin(self, autostart, &log);
    }

    /// What is said at the start.
    fn greet(&self) {
        match self.settings.mode {
            Mode::Imu => self.log.info(&format!("orientation from imu, method '{}'", self.attitude.method().name())),
            Mode::Dynamics => self.log.info("orientation from wrench, by the dynamics of a rigid body"),
        }
    }

    /// The last orientation is of a time that is over; biases are kept.
    fn begin_anew(&mut self) {
        let is_switched_on = self.attitude.enabled();
        self.attitude.set_enabled(false);
        self.attitude.set_enabled(is_switched_on);
        self.body.reset();
        self.outputs.restart();
    }

    fn forget(&mut self) {
        self.attitude.reset();
        self.body.reset();
        self.outputs.restart();
    }

    /// Refuses what only an active node does; gives back what is to be done.
    pub(super) fn unless_idle(&mut self, event: Event) -> Option<Event> {
        let Some(message) = self.lifecycle.idle_sentence() else { return Some(event) };
        let answered = match event {
            Event::Parameters(_) | Event::Lifecycle(_) => return Some(event),
            Event::Imu(_) | Event::MagneticField(_) | Event::Wrench(_) | Event::Unreadable(..) => Ok(()),
            Event::Reset(request) => request.respond(Trigger::Response { success: false, message }),
            Event::SetEnabled(request) => request.respond(SetBool::Response { success: false, message }),
        };
        self.log.sent(answered);
        None
    }
}
