//! Whether the sensor stays level, as one on a vehicle does.
//!
//! The bias about an axis that stays vertical turns the heading alone; what seems to show it is accelerations that
//! last, seen from a heading that drifts. So gravity leaves it as it is.

use nalgebra::Vector3;
use serde::{Deserialize, Serialize};

/// Over which the variance is taken, s: longer than a bend.
const MEMORY_S: f64 = 10.0;

/// Up has a smaller root mean square deviation from its mean in the body's axes, rad. Of the simulated vehicles up to
/// 0.06 with the errors of the estimate; of what is turned in a hand 0.3 and more.
const LEVEL_RAD: f64 = 0.1;

/// The mean and the variance of the direction of up in the body's axes.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Leaning {
    seconds: f64,
    mean: Vector3<f64>,
    variance: f64,
}

impl Leaning {
    /// Takes in the direction of up in the body's axes, which was that for `duration` s.
    pub fn add(&mut self, duration: f64, up: &Vector3<f64>) {
        self.seconds = (self.seconds + duration).min(MEMORY_S).max(duration);
        let share = duration / self.seconds;
        let off = up - self.mean;
        self.mean += off * share;
        self.variance = (1.0 - share) * (self.variance + share * off.norm_squared());
    }

    /// Whether it stays level; also before anything else is seen.
    pub fn is_level(&self) -> bool {
        self.variance < LEVEL_RAD * LEVEL_RAD
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sensor_in_any_mounting_is_level_until_it_leans_to_and_fro() {
        let mut leaning = Leaning::default();
        let up = |k: i32, size: f64| Vector3::new(0.6, size * (0.3 * f64::from(k)).sin(), 0.8).normalize();
        (0..300).for_each(|k| leaning.add(0.1, &up(k, 0.05)));
        assert!(leaning.is_level());
        (0..300).for_each(|k| leaning.add(0.1, &up(k, 0.3)));
        assert!(!leaning.is_level());
        (0..600).for_each(|k| leaning.add(0.1, &up(k, 0.0)));
        assert!(leaning.is_level());
    }
}
