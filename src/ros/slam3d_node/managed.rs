//! The worker as a managed node: what becomes of the filter when the state of the node changes.

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
            Action::Configure => self.configure(),
            Action::Activate => self.slam.set_enabled(self.is_switched_on),
            Action::Deactivate => self.slam.set_enabled(false),
            Action::Cleanup | Action::Shutdown(table::INACTIVE | table::ACTIVE) => {
                self.slam.set_enabled(false);
                self.is_switched_on = true;
                self.forget();
            }
            Action::Shutdown(_) => (),
        }
        self.log.info(action.done());
        Ok(())
    }

    fn now(&self) -> Stamp {
        self.clock.now()
    }
}

impl Worker {
    /// Configures and activates the node, unless a manager is to do it.
    pub fn begin(&mut self, autostart: bool) {
        let log = self.log.clone();
        begin(self, autostart, &log);
    }

    /// Refuses what only an active node does; gives back what is to be done. Static transforms come once only.
    pub(super) fn unless_idle(&mut self, event: Event) -> Option<Event> {
        let Some(message) = self.lifecycle.idle_sentence() else { return Some(event) };
        let answered = match event {
            Event::Parameters(_) | Event::Lifecycle(_) | Event::StaticTransforms(_) | Event::CameraInfo(..) => {
                return Some(event);
            }
            Event::Reset(request) | Event::SaveMap(request) | Event::LoadMap(request) => {
                request.respond(Trigger::Response { success: false, message })
            }
            Event::SetEnabled(request) => request.respond(SetBool::Response { success: false, message }),
            _ => Ok(()),
        };
        self.log.sent(answered);
        None
    }
}
