//! Where the calibrated sensor is on the body, and how late its clock is.

use lienav_lie::{LieGroup, Se3, So3};
use nalgebra::Vector3;
use serde::{Deserialize, Serialize};

/// Extrinsics and time offset of one sensor, and which of them are estimated.
///
/// The errors are R_s = Exp(ε) R̂_s, t_s = t̂_s + τ, t_d = t̂_d + δt_d: seven numbers, rad, m and s, of which the state
/// has those that are estimated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// x_body = R_s x_sensor + t_s.
    pub sensor: Se3,
    /// t_d, s: what is stamped t was measured at t + t_d of the inertial sensor's clock.
    pub time_offset_s: f64,
    /// Standard deviations at the start of ε, rad, and τ, m; `None` where they are known.
    pub extrinsics_sigma: Option<(f64, f64)>,
    /// Standard deviation of t_d at the start, s; `None` where it is known.
    pub time_offset_sigma_s: Option<f64>,
}

impl Calibration {
    /// Variances of the parameters that are estimated, in their order.
    pub fn variances(&self) -> Vec<f64> {
        let extrinsics = self.extrinsics_sigma.map(|(turn, shift)| [turn, turn, turn, shift, shift, shift]);
        let sigmas = extrinsics.into_iter().flatten().chain(self.time_offset_sigma_s);
        sigmas.map(|sigma| sigma * sigma).collect()
    }

    /// Which of (ε, τ, δt_d) are estimated, as columns.
    pub fn columns(&self) -> impl Iterator<Item = usize> + use<> {
        let extrinsics = if self.extrinsics_sigma.is_some() { 0..6 } else { 0..0 };
        extrinsics.chain(self.time_offset_sigma_s.map(|_| 6))
    }

    /// Applies a correction of the parameters that are estimated.
    pub fn correct(&mut self, delta: &[f64]) {
        let mut all = [0.0; 7];
        self.columns().zip(delta).for_each(|(column, d)| all[column] = *d);
        let part = |k: usize| Vector3::new(all[k], all[k + 1], all[k + 2]);
        self.sensor.rotation = So3::exp(&part(0)) * self.sensor.rotation;
        self.sensor.translation += part(3);
        self.time_offset_s += all[6];
    }

    /// What [`correct`](Self::correct) would have to be given to lead to `truth`.
    pub fn difference(&self, truth: &Self, delta: &mut [f64]) {
        let turn = (truth.sensor.rotation * self.sensor.rotation.inverse()).log();
        let shift = truth.sensor.translation - self.sensor.translation;
        let all = [turn.x, turn.y, turn.z, shift.x, shift.y, shift.z, truth.time_offset_s - self.time_offset_s];
        self.columns().zip(delta).for_each(|(column, d)| *d = all[column]);
    }
}
