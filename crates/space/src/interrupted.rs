//! What is known of a body after an interruption: a silence of all sensors, or a clock that was set. What it did
//! meanwhile was not measured, so it is where it was, as uncertain as the silence allows for, and landmarks are in the
//! map of before. It begins with landmarks of its own, until these show where it is in that map.

use crate::inbox::What;
use crate::output::{PoseEstimate, Step};
use crate::start::Known;
use crate::world::Map3d;
use lienav_base::stamp::Stamp;
use lienav_inertial::covariance::NavMatrix;
use lienav_inertial::imu::Biases;
use lienav_inertial::state::State;
use lienav_inertial::state::errors::{GYRO_BIAS, VELOCITY};
use lienav_lie::Se3;
use nalgebra::{Matrix3, Matrix6};
use serde::{Deserialize, Serialize};
use std::f64::consts::PI;

/// A robot moves so fast, m/s, or as fast as it did before: a standard deviation.
const SPEED: f64 = 2.0;
/// It turns so fast about the vertical, rad/s: a standard deviation, as in the gaps of an inertial sensor.
const TURN: f64 = 0.5;
/// So long is a silence of unknown length, s: a clock that was set does not say how long that took.
pub const UNKNOWN_S: f64 = 3600.0;
/// A gyroscope's bias drifts by so much meanwhile, rad/s: a degree a second.
const DRIFT: f64 = 0.02;
/// Without a landmark for so long, a run that began in motion is not followed any more, s.
const FOLLOWED_S: f64 = 3.0;
/// Farther from where it was than this times what it may have gone, it is not.
const FARTHEST: f64 = 1.5;
/// A position that is less certain than this is unknown in any case, m by axis.
const WIDEST_M: f64 = 1000.0;

/// A pose that is given is taken as it is where it is better than this, by axis: m, and rad about the vertical.
const GIVEN: (f64, f64) = (10.0, 0.5);

/// What is known from before.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Interrupted {
    pose: Se3,
    position_sigma: f64,
    heading_sigma: f64,
    speed: f64,
    biases: Biases,
    /// Its landmarks; none if these do not come back.
    pub map: Map3d,
    /// In so many frames the pose was found among them.
    pub found: u32,
    /// The first frame since it began again, and the last one of which a landmark was used.
    followed: Option<(Stamp, Stamp)>,
}

impl Interrupted {
    /// After a silence, s, since this estimate.
    pub fn since(last: &PoseEstimate, silent_s: f64, map: Map3d) -> Self {
        let speed = last.velocity.norm().max(SPEED);
        let position = last.covariance.fixed_view::<3, 3>(0, 0).trace().max(0.0).sqrt();
        let heading = last.covariance[(5, 5)].max(0.0).sqrt();
        Self {
            pose: last.pose,
            position_sigma: position.hypot(speed * silent_s).min(WIDEST_M),
            heading_sigma: heading.hypot(TURN * silent_s).min(PI / 3f64.sqrt()),
            speed,
            biases: last.biases,
            map,
            found: 0,
            followed: None,
        }
    }

    /// Nothing is known of the pose.
    pub fn anywhere(pose: Se3, map: Map3d) -> Self {
        let (speed, biases) = (SPEED, Biases::default());
        Self {
            pose,
            position_sigma: WIDEST_M,
            heading_sigma: PI / 3f64.sqrt(),
            speed,
            biases,
            map,
            found: 0,
            followed: None,
        }
    }

    /// For how long, s, a run since then was followed that is not to be followed any more: one without landmarks, whose
    /// inertial sensor began in motion and knows too little of the vertical, or one that is farther away than a body
    /// goes.
    pub fn ends_after(&mut self, step: &Step) -> Option<f64> {
        let at = step.estimate.stamp;
        let (first, heard) = self.followed.get_or_insert((at, at));
        if step.accepted > 0 {
            *heard = at;
        }
        let (seconds, silent_s) = (at.since(*first), at.since(*heard));
        let reach = FARTHEST * (self.position_sigma + self.speed * seconds);
        let apart = (step.estimate.pose.translation - self.pose.translation).norm();
        (silent_s > FOLLOWED_S || apart > reach).then_some(seconds)
    }

    /// As long again, s, without a pose that can be followed.
    pub fn go_on(&mut self, seconds: f64) {
        self.position_sigma = (self.position_sigma + self.speed * seconds).min(WIDEST_M);
        self.heading_sigma = (self.heading_sigma + TURN * seconds).min(PI / 3f64.sqrt());
        (self.found, self.followed) = (0, None);
    }

    /// What a start needs.
    pub fn known(&self) -> Known {
        let Self { pose, position_sigma, heading_sigma, .. } = *self;
        Known { pose, position_sigma, heading_sigma }
    }

    /// A state that has begun at rest: an inertial sensor does not tell that from an even motion, so that the velocity
    /// is unknown.
    pub fn at_rest(&self, mut state: State) -> State {
        self.widen(&mut state);
        state
    }

    /// A state that has begun in motion, with the biases of before, which drift slowly.
    pub fn in_motion(&self, mut state: State) -> State {
        (state.nav.biases, state.predicted.biases) = (self.biases, self.biases);
        state.covariance.set(GYRO_BIAS, GYRO_BIAS, &Matrix3::from_diagonal_element(DRIFT * DRIFT));
        self.widen(&mut state);
        state
    }

    fn widen(&self, state: &mut State) {
        let mut noise = NavMatrix::zeros();
        noise.fixed_view_mut::<3, 3>(VELOCITY, VELOCITY).fill_diagonal(self.speed * self.speed);
        state.covariance.move_nav(&NavMatrix::identity(), &noise);
    }
}

/// A pose that another source measured, if it says where the body is.
pub fn given_by(what: &What) -> Option<(Se3, Matrix6<f64>)> {
    let What::Pose(pose) = what else { return None };
    let is_good = (0..3).all(|axis| pose.covariance[(axis, axis)] < GIVEN.0 * GIVEN.0)
        && pose.covariance[(5, 5)] < GIVEN.1 * GIVEN.1;
    is_good.then_some((pose.pose, pose.covariance))
}
