//! The worker as a managed node: what becomes of the filter when the state of the node changes.

use super::filter_of;
use super::{Request, Worker};
use crate::ros::lifecycle::{Action, Lifecycle, Managed, begin, table};
use crate::ros::slam_node::MapSettings;
use crate::ros::slam_node::quality::Window;
use lienav_base::stamp::Stamp;
use r2r::std_srvs::srv::{SetBool, Trigger};

impl Managed for Worker {
    fn lifecycle(&mut self) -> &mut Lifecycle {
        &mut self.lifecycle
    }

    fn carry_out(&mut self, action: Action) -> Result<(), String> {
        match action {
            Action::Configure => self.configure()?,
            Action::Activate => self.activate(),
            Action::Deactivate => self.deactivate(),
            Action::Cleanup => self.clean_up()?,
            Action::Shutdown(from) => {
                if from == table::ACTIVE {
                    self.deactivate();
                }
                if from != table::UNCONFIGURED {
                    self.clean_up()?;
                }
            }
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
    pub(super) fn begin(&mut self) {
        let log = self.log.clone();
        begin(self, self.autostart, &log);
    }

    /// Takes the map that is to be used.
    fn configure(&mut self) -> Result<(), String> {
        self.log.info(&format!("filter '{}'", self.slam.config().filter));
        self.load_at_start();
        Ok(())
    }

    /// Goes on where the filter stopped; what time it is, the next odometry says.
    fn activate(&mut self) {
        self.slam.set_enabled(self.is_switched_on);
        self.is_resuming = self.is_switched_on;
        self.restart_local();
        self.statements.restart();
        self.newest = None;
    }

    /// What is known stays; what waits is of a time that is over when the node works again.
    fn deactivate(&mut self) {
        self.is_switched_on = self.slam.enabled();
        self.slam.set_enabled(false);
    }

    /// A filter as at the start of the process. What has changed in the map is saved before, where the node saves by
    /// itself.
    fn clean_up(&mut self) -> Result<(), String> {
        // It was checked when it was set.
        let (mut fresh, parts) = filter_of(self.slam.config().clone()).map_err(|error| error.to_string())?;
        let MapSettings { file, autosave_s } = &self.settings.map;
        let steps = self.tally.steps();
        if !file.is_empty() && *autosave_s > 0.0 && self.map_store.is_worth_it(steps) {
            let filter = (&self.slam, self.parts.as_ref());
            self.map_store.save(filter, steps, (file, &self.settings.map_frame), None);
        }
        self.inputs.equip(&mut fresh).map_err(|error| error.to_string())?;
        self.inputs.restart();
        fresh.set_enabled(false);
        (self.slam, self.parts) = (fresh, parts);
        self.known = None;
        self.is_switched_on = true;
        if let Some(local) = &mut self.local {
            local.forget();
        }
        self.quality = Window::default();
        self.map_store.forget(steps);
        self.outputs.restart();
        self.display.clear();
        (self.newest, self.tally.time_jumps_seen, self.tally.map_problem) = (None, 0, None);
        Ok(())
    }

    /// Refuses what only an active node does; gives the request back if it is to be answered.
    pub(super) fn unless_idle(&mut self, request: Request) -> Option<Request> {
        let Some(message) = self.lifecycle.idle_sentence() else { return Some(request) };
        let answered = match request {
            Request::Parameters(_) | Request::Lifecycle(_) => return Some(request),
            Request::Reset(request)
            | Request::SaveMap(request)
            | Request::LoadMap(request)
            | Request::Relocalize(request) => request.respond(Trigger::Response { success: false, message }),
            Request::SetEnabled(request) => request.respond(SetBool::Response { success: false, message }),
        };
        self.log.sent(answered);
        None
    }
}
