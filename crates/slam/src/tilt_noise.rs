//! Roll and pitch that no sensor tells, as two states of the filter.
//!
//! A base that leans by roll φ and pitch θ, R = R_z(ψ) R_y(θ) R_x(φ), measures a point (x, y, z) in its own frame. Seen
//! from above, the point is at the first two coordinates of R_y(θ) R_x(φ) (x, y, z), ahead and to the left. To first
//! order these are
//!
//! ```math
//! (x + z\theta,\; y - z\varphi), \qquad z \text{ the height above the origin of the base.}
//! ```
//!
//! What x and y do to each other, x(1 − θ²/2) + y θ φ, is of second order: 3 mm at 5 m and 2°. So an error of roll or
//! pitch moves a landmark by its height. It is the same for all landmarks of one scan, and nearly the same a moment
//! later: as independent noise of each measurement it would fade with their number, and the covariance would be too
//! small. φ and θ are therefore states, a Gauss–Markov process each,
//!
//! ```math
//! b^+ = \varrho b + n, \quad \varrho = e^{-\Delta t/T}, \quad \mathrm{Var}(n) = (1 - \varrho^2)\sigma^2,
//! ```
//!
//! σ = `motion.tilt_std_rad`, or `motion.levelled_tilt_std_rad` where an inertial sensor has levelled the scan. The two
//! rows come into the state with the first measurement that has a height; without one they cost nothing.
//!
//! σ is not the same for a robot on a warehouse floor and one on gravel, and the measurements tell it: where the model
//! is right, b̂² + P is σ² in the mean, so that σ² follows that mean ([`TiltInState::learn`], one step of expectation
//! maximization a scan).

use crate::associate::Evidence;
use crate::config::MotionConfig;
use crate::covariance::{Covariance, POSE};
use crate::output::DropReason;
use crate::state::State;
use lienav_base::stamp::Stamp;
use serde::{Deserialize, Serialize};

/// A landmark higher above the base, or deeper below it, is a fault of the front end, m.
const MAX_HEIGHT_M: f64 = 1000.0;

/// σ follows what the measurements tell within about this time, s: ten periods of a robot that rocks once in 2 s.
const MEMORY_S: f64 = 20.0;

/// What is stated counts as much as measurements of this time, s.
const STATED_S: f64 = 2.0;

/// σ stays within these factors of what is stated.
const LEARNED: (f64, f64) = (0.25, 5.0);

/// How large the unknown roll and pitch of the base are, and for how long they stay alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TiltNoise {
    /// Standard deviation of each, rad; 0: the base is level.
    pub std_rad: f64,
    /// Their correlation time, s.
    pub time_s: f64,
}

impl TiltNoise {
    /// As configured; `is_levelled` says whether an inertial sensor has taken roll and pitch out of the scan.
    pub fn of(config: &MotionConfig, is_levelled: bool) -> Self {
        let std_rad = if is_levelled { config.levelled_tilt_std_rad } else { config.tilt_std_rad };
        Self { std_rad, time_s: config.tilt_time_s }
    }
}

/// Roll and pitch in the state.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TiltInState {
    stated: TiltNoise,
    /// σ², as learned, rad².
    variance: f64,
    /// The instant that the estimate holds for.
    stamp: Stamp,
    /// The time since the instant before, s.
    duration: f64,
    /// For how long σ² was learned, with what the stated one counts, s.
    weight_s: f64,
}

impl TiltInState {
    /// As stated, from `stamp` on.
    pub fn new(stated: TiltNoise, stamp: Stamp) -> Self {
        Self { stated, variance: stated.std_rad * stated.std_rad, stamp, duration: 0.0, weight_s: STATED_S }
    }

    /// σ², rad².
    pub fn variance(&self) -> f64 {
        self.variance
    }

    /// Whether what was saved is whole.
    pub fn is_sound(&self) -> bool {
        [self.stated.std_rad, self.stated.time_s, self.variance, self.duration, self.weight_s]
            .iter()
            .all(|x| x.is_finite() && *x >= 0.0)
    }

    /// σ² follows b̂² + P, the mean of both angles.
    fn learn(&mut self, square: f64) {
        self.weight_s = (self.weight_s + self.duration).min(MEMORY_S);
        let share = self.duration / self.weight_s;
        let stated = self.stated.std_rad * self.stated.std_rad;
        let (least, most) = (LEARNED.0 * LEARNED.0 * stated, LEARNED.1 * LEARNED.1 * stated);
        let learned = self.variance + share * (square - self.variance);
        self.duration = 0.0;
        if learned.is_finite() {
            self.variance = learned.clamp(least, most);
        }
    }
}

/// A height that can be used.
///
/// # Errors
/// It is not finite, or absurd.
pub fn checked_height(height_m: f64) -> Result<f64, DropReason> {
    if !height_m.is_finite() {
        return Err(DropReason::NotFinite);
    }
    if height_m.abs() > MAX_HEIGHT_M { Err(DropReason::Absurd) } else { Ok(height_m) }
}

impl Evidence<'_> {
    /// Whether a measurement of the scan has a height.
    fn has_heights(&self) -> bool {
        match self {
            Evidence::Observed { observations, .. } => observations.iter().any(|o| o.height_m != 0.0),
            Evidence::Associated(readings) => readings.iter().any(|r| r.reading.height_m != 0.0),
        }
    }
}

impl State {
    /// Propagates roll and pitch to a scan at `stamp`, with `noise` as stated for that scan. They enter the state if the
    /// scan is the first with heights.
    pub fn follow_tilt(&mut self, noise: &TiltNoise, evidence: &Evidence<'_>, stamp: Stamp) {
        match self.calibration.tilt().copied() {
            None if noise.std_rad > 0.0 && evidence.has_heights() => self.begin_tilt(TiltInState::new(*noise, stamp)),
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
