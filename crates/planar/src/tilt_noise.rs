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

use crate::config::MotionConfig;
use crate::output::DropReason;
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
    #[inline]
    pub fn of(config: &MotionConfig, is_levelled: bool) -> Self {
        let std_rad = if is_levelled { config.levelled_tilt_std_rad } else { config.tilt_std_rad };
        Self { std_rad, time_s: config.tilt_time_s }
    }
}

/// Roll and pitch in the state.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TiltInState {
    /// The noise as the settings have it.
    pub stated: TiltNoise,
    /// σ², as learned, rad².
    pub variance: f64,
    /// The instant that the estimate holds for.
    pub stamp: Stamp,
    /// The time since the instant before, s.
    pub duration: f64,
    /// For how long σ² was learned, with what the stated one counts, s.
    pub weight_s: f64,
}

impl TiltInState {
    /// As stated, from `stamp` on.
    #[inline]
    pub fn new(stated: TiltNoise, stamp: Stamp) -> Self {
        Self { stated, variance: stated.std_rad * stated.std_rad, stamp, duration: 0.0, weight_s: STATED_S }
    }

    /// σ², rad².
    #[inline]
    pub fn variance(&self) -> f64 {
        self.variance
    }

    /// Whether what was saved is whole.
    #[inline]
    pub fn is_sound(&self) -> bool {
        [self.stated.std_rad, self.stated.time_s, self.variance, self.duration, self.weight_s]
            .iter()
            .all(|x| x.is_finite() && *x >= 0.0)
    }

    /// σ² follows b̂² + P, the mean of both angles.
    pub fn learn(&mut self, square: f64) {
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
