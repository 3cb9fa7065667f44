//! How the filter begins: with the first sample, then with the mean force.

use super::Attitude;
use crate::ImuSample;
use crate::belief::{Belief, Error};
use crate::gravity_check::GravityCheck;
use crate::motion::Motion;
use crate::start::{LEVELLING_S, Levelling, STILL_S};
use nalgebra::{UnitQuaternion, Vector3};
use std::f64::consts::{FRAC_PI_2, PI};

impl Attitude {
    /// The first sample shows roll and pitch, if nobody has given them.
    pub(super) fn start(&mut self, sample: &ImuSample) {
        if !self.started {
            let initial = &self.config.initial;
            let up = sample.specific_force - self.state.accelerometer_bias;
            let level = UnitQuaternion::rotation_between(&up, &Vector3::z())
                .unwrap_or_else(|| UnitQuaternion::from_scaled_axis(Vector3::x() * PI));
            // The heading of the body's x axis is to be the one that is set.
            let heading = (level * Vector3::x()).xy();
            let turn = initial.yaw_rad - heading.y.atan2(heading.x);
            let orientation = UnitQuaternion::from_scaled_axis(Vector3::z() * turn) * level;
            let excess = initial.tilt_excess_rad * (up.norm() / self.config.accelerometer.gravity - 1.0);
            let turn = initial.tilt_turn_s * sample.angular_velocity.norm();
            let tilt_std = initial.tilt_std_rad.hypot(excess).hypot(turn).min(FRAC_PI_2);
            let yaw_std = initial.yaw_std_rad;
            self.place(orientation, tilt_std, yaw_std);
            self.started = true;
            self.first_up = level.inverse() * Vector3::z();
            self.refresh_rotation();
            self.last_rate = sample.angular_velocity;
            self.levelling = Some(Levelling::begin(&self.lever_velocity()));
        }
        self.samples.restart(sample.angular_velocity);
        self.rest.restart(sample);
        self.gravity_check = GravityCheck::default();
        self.refresh_rotation();
    }

    /// The start from the mean force, of a sensor that is moved; `false` once that is over, and the filter takes over.
    pub(super) fn level_start(&mut self) -> bool {
        let Some(mut levelling) = self.levelling.take() else { return false };
        let still = self.rest.still_for_s() >= 0.99 * levelling.seconds;
        if still {
            self.levelling = (levelling.seconds < STILL_S).then_some(levelling);
            return false;
        }
        let gravity = self.config.accelerometer.gravity;
        let d = self.lever_velocity();
        let mut belief = Belief { mean: Error::zeros(), covariance: self.state.covariance };
        let reach = levelling.level(&mut self.state, &mut belief, &d, gravity, &self.config.motion);
        self.mixture.collapse(&belief, Motion::of_reach(reach));
        self.mixture.start_accelerated(levelling.seconds, gravity);
        self.mixture.merge(&mut self.state);
        self.gravity_check = GravityCheck::default();
        self.refresh_rotation();
        self.levelling = (levelling.seconds < LEVELLING_S).then_some(levelling);
        true
    }
}
