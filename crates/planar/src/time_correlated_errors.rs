//! The time-correlated part of the errors of measurements, as states.
//!
//! A trunk is read off its centre, and off by as much a moment later. Of the covariance R of a measurement, a share s
//! is of an error that lasts, and the rest is independent from one measurement to the next:
//!
//! ```math
//! y = h(x) + L b + v, \quad L L^T = s R, \quad \mathrm{Cov}(v) = R - L L^T, \quad
//! b^+ = \varrho b + n, \quad \varrho = e^{-\Delta t/T}, \quad \mathrm{Cov}(n) = (1 - \varrho^2) I
//! ```
//!
//! (a shaping filter; Bryson and Johansen 1965), where s is one for each number and R has correlations, L Lᵀ is
//! [split](Match::split) off so that both parts are positive semidefinite. b is in units of one standard deviation, so
//! that it stays the same where R grows with the range. With b in the state, what a landmark says of the robot's motion
//! between two measurements is as exact as v, and what it says of the place no surer than L b. The state has two rows
//! of b for each of `SLOTS` landmarks, those that were read last: before it is read, b of a landmark is unknown, with
//! variance 1, and independent of the rest; and it is again when T has passed several times. A landmark that finds all
//! slots taken by others of the last moments is read with an inflated noise instead,
//! [`Sensors::repetition`](super::sensor::Sensors::repetition).

use crate::associated::Subject;
use crate::checked::CheckedMeasurement;
use crate::filter::Linearization;
use crate::linearize::{Match, linearize};
use crate::model::Model;
use crate::sensor::Sensors;
use crate::state::State;
use lienav_base::stamp::Stamp;
use nalgebra::Matrix3x2;

impl State {
    /// Forgets all time-correlated errors of measurements: what was known of them is of another time, or part of
    /// another map.
    pub fn forget_offsets(&mut self) {
        self.offsets.clear(&mut self.covariance);
    }

    /// Time has come to `stamp`: errors of measurements that last are forgotten by and by.
    pub fn fade_offsets(&mut self, stamp: Stamp, sensors: &Sensors) {
        self.offsets.fade(stamp, |sensor| sensors.time_correlated(sensor).time_s, &mut self.covariance);
    }

    /// The first row of the time-correlated error of a sensor's measurements of a landmark, which is read at `stamp`;
    /// `None` if it has none, or nobody has a place for it.
    pub fn take_offset(&mut self, id: u32, sensor: u8, stamp: Stamp, sensors: &Sensors) -> Option<usize> {
        let time_correlated = sensors.time_correlated(sensor);
        if time_correlated.share == [0.0; 3] {
            return None;
        }
        self.offsets.take(id, sensor, stamp, time_correlated.time_s, &mut self.covariance)
    }
}

/// The first measurement of the newest landmark has a time-correlated error, too, which is in the place of the
/// landmark.
pub fn begin_offset(state: &mut State, model: &Model, measurement: &CheckedMeasurement, stamp: Stamp) {
    let share = model.sensors.time_correlated(measurement.sensor).share;
    if state.offsets.rows() == 0 || share == [0.0; 3] || model.sensors.dim(measurement) != 2 {
        return;
    }
    let i = state.landmarks.len() - 1;
    let id = state.landmarks[i].id;
    state.offsets.forget(id, measurement.sensor, &mut state.covariance);
    let Some(row) = state.take_offset(id, measurement.sensor, stamp, &model.sensors) else { return };
    let mut first = Match::new(Subject::Landmark(i), measurement);
    // Where the landmark was initialized: with the Jacobian at another heading, the joint covariance of landmark and
    // error would be indefinite for a correlated covariance.
    if !linearize(state, &model.sensors, &mut first, Linearization::Current) {
        return;
    }
    let corner = |m: &Matrix3x2<f64>| m.fixed_rows::<2>(0).into_owned();
    // The landmark is off by as much as its measurement, the other way.
    if let Some(inverse) = corner(&first.by_landmark).try_inverse() {
        state.covariance.set_landmark_rows(i, row, &-(inverse * corner(&first.by_time_correlated)));
    }
}

/// The candidates whose errors last, and whose time-correlated errors are not in the state, get a place for these
/// there.
pub fn take_offsets(state: &mut State, model: &Model, stamp: Stamp, candidates: &mut [Match]) {
    if state.offsets.rows() == 0 {
        return;
    }
    for candidate in candidates.iter_mut() {
        let Subject::Landmark(i) = candidate.subject else { continue };
        if candidate.dim != 2 {
            continue;
        }
        let (id, sensor) = (state.landmarks[i].id, candidate.measurement.sensor);
        let Some(row) = state.take_offset(id, sensor, stamp, &model.sensors) else { continue };
        if candidate.time_correlated.is_none() {
            candidate.time_correlated = Some(row);
            candidate.split(state, model.sensors.time_correlated(sensor).share);
        }
    }
}
