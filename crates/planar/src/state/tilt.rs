//! Roll and pitch in the state: they enter it, fade, and teach how large they are.

use crate::state::State;
use crate::tilt_noise::{TiltInState, TiltNoise};
use lienav_base::stamp::Stamp;
use lienav_ekf::covariance::{Covariance, POSE};
impl State {
    /// Propagates roll and pitch to a scan at `stamp`, with `noise` as stated for that scan. They enter the state if
    /// the scan is the first with heights.
    pub fn follow_tilt(&mut self, noise: &TiltNoise, has_heights: bool, stamp: Stamp) {
        match self.calibration.tilt().copied() {
            None if noise.std_rad > 0.0 && has_heights => self.begin_tilt(TiltInState::new(*noise, stamp)),
            None => return,
            Some(tilt) if tilt.stated != *noise => self.restart_tilt(TiltInState::new(*noise, stamp)),
            Some(tilt) => self.fade_tilt(tilt, stamp),
        }
        let Self { mounts, calibration, .. } = self;
        mounts.iter_mut().for_each(|mount| mount.recalibrate(calibration));
    }

    /// The scan has been taken in.
    pub fn learn_tilt(&mut self) {
        let Some(mut tilt) = self.calibration.tilt().copied() else { return };
        let shift = self.calibration.tilt_shift();
        let spread: f64 = self.tilt_rows().map(|row| self.covariance.get(row, row)).sum();
        tilt.learn(0.5 * (shift.norm_squared() + spread));
        self.calibration.set_tilt(Some(tilt));
    }

    /// The rows of roll and pitch.
    fn tilt_rows(&self) -> impl Iterator<Item = usize> + use<> {
        let end = Covariance::calibration_row(self.calibration.active().len());
        end - 2..end
    }

    fn begin_tilt(&mut self, tilt: TiltInState) {
        let k = self.calibration.active().len();
        self.calibration.set_tilt(Some(tilt));
        self.covariance.insert_calibration(k, [tilt.variance; 2]);
        self.offsets.shift_rows(2);
    }

    /// Nothing is known of them any more.
    fn restart_tilt(&mut self, tilt: TiltInState) {
        self.calibration.scale_tilt(0.0);
        self.calibration.set_tilt(Some(tilt));
        self.tilt_rows().for_each(|row| self.covariance.separate_row(row, tilt.variance));
    }

    fn fade_tilt(&mut self, mut tilt: TiltInState, stamp: Stamp) {
        let duration = stamp.since(tilt.stamp);
        if duration <= 0.0 {
            return;
        }
        (tilt.stamp, tilt.duration) = (stamp, duration);
        let rho = (-duration / tilt.stated.time_s.max(1e-3)).exp();
        self.calibration.scale_tilt(rho);
        self.calibration.set_tilt(Some(tilt));
        for row in self.tilt_rows() {
            self.covariance.scale_row(row, rho);
            self.covariance.add_calibration_variance(row - POSE, tilt.variance * (1.0 - rho * rho));
        }
    }
}
