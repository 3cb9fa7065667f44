//! The filter that begins again, and that is switched off.

use crate::slam::Slam;
use crate::steady::SteadyTwist;
use nalgebra::Vector3;

impl Slam {
    /// Back to the initial pose and an empty map; counts stay.
    pub fn reset(&mut self) {
        self.forget_clocks();
        self.start_again();
    }

    /// The next odometry says what time it is.
    pub(super) fn forget_clocks(&mut self) {
        self.intake.guard.clear();
        self.intake.held.clear();
    }

    pub(super) fn start_again(&mut self) {
        self.forget_time();
        self.estimator.reset(&self.config);
        self.stop_search();
        self.search_at_start();
        (self.odometry.twist, self.odometry.newest_twist, self.odometry.steady) =
            (Vector3::zeros(), Vector3::zeros(), SteadyTwist::default());
    }

    /// Switches the filter off (input is counted as `disabled`) or on again. It continues from its last pose.
    pub fn set_enabled(&mut self, enabled: bool) {
        if enabled != self.intake.enabled {
            self.forget_clocks();
            self.forget_time();
            self.intake.enabled = enabled;
        }
    }

    /// Whether the filter takes input.
    pub fn enabled(&self) -> bool {
        self.intake.enabled
    }
}
