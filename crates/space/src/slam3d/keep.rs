//! The filter as plain data, and back.

use crate::inbox::Inbox;
use crate::input::Sensor;
use crate::running::Running;
use crate::saved::{ResumeError, SavedRun, SavedState};
use crate::slam3d::Slam3d;

impl Slam3d {
    /// All that a filter needs to continue from here, as plain data.
    pub fn save(&self) -> SavedState {
        SavedState {
            config: self.config.clone(),
            sensors: self.sensors.clone(),
            base: self.base,
            inbox: self.inbox.clone(),
            guard: self.guard,
            running: self.running.as_ref().map(Running::save),
            given: self.given,
            map: self.map.clone(),
            interrupted: self.interrupted.clone(),
            waits_since: self.waits_since,
            counts: self.counts,
            time_jumps: self.time_jumps,
            widened: self.widened,
            enabled: self.enabled,
        }
    }

    /// Continues where another filter with these settings was saved: with the same input from there on, estimates are
    /// those of the run that was not interrupted, to the last bit.
    ///
    /// # Errors
    /// [`ResumeError`]: other settings, or a damaged state; nothing is changed then.
    pub fn restore(&mut self, saved: SavedState) -> Result<(), ResumeError> {
        saved.check(&self.config)?;
        let running = match saved.running {
            Some(run) => Some(self.run_of(run, &saved.sensors, &saved.inbox)?),
            None => None,
        };
        self.running = running;
        (self.sensors, self.base, self.inbox, self.guard) = (saved.sensors, saved.base, saved.inbox, saved.guard);
        (self.given, self.map, self.waits_since) = (saved.given, saved.map, saved.waits_since);
        self.interrupted = saved.interrupted;
        (self.counts, self.time_jumps, self.widened) = (saved.counts, saved.time_jumps, saved.widened);
        self.enabled = saved.enabled;
        Ok(())
    }

    fn run_of(&self, run: SavedRun, sensors: &[Sensor], inbox: &Inbox) -> Result<Running, ResumeError> {
        let mut running = self.new_run(run.filter.state.clone(), run.at, sensors);
        let waiting = run.filter.clone();
        running
            .estimator
            .restore(waiting)
            .map_err(|_| ResumeError::Damaged("landmarks that wait have too many views"))?;
        running.restore(run, inbox);
        Ok(running)
    }
}
