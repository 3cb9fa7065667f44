//! Check of the estimated vertical against the mean specific force: it finds an estimate that is upside down.
//!
//! A filter that is linear in the tilt does not find the vertical again from where it is upside down: seen from there,
//! gravity is a steady fall, not a tilt, and the speed of that fall makes it believe gravity the less. But over
//! seconds the mean of the specific force is gravity, whatever the sensor does; where it points far away from up, up
//! is wrong.

use nalgebra::Vector3;
use serde::{Deserialize, Serialize};

/// Over which the mean is taken, s: longer than anything but a vehicle in flight accelerates like gravity in one
/// direction.
const MEMORY_S: f64 = 3.0;

/// The cosine of the angle to the vertical from which on up is wrong: of 60°. A steady acceleration would have to be
/// 1.7 g.
const LEAST_COSINE: f64 = 0.5;

/// A mean force of less than this part of gravity points nowhere: free fall.
const LEAST_FORCE: f64 = 0.5;

/// The mean of the specific force in the world frame, compared with the vertical.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct GravityCheck {
    /// m/s².
    mean: Vector3<f64>,
    /// It is the mean of, s; up to [`MEMORY_S`].
    seconds: f64,
}

impl GravityCheck {
    /// Takes in what specific force did in `duration` s to the velocity in the world, gravity added, m/s.
    pub fn add(&mut self, duration: f64, velocity_change: &Vector3<f64>) {
        self.seconds = (self.seconds + duration).min(MEMORY_S);
        self.mean += (velocity_change / duration - self.mean) * (duration / self.seconds).min(1.0);
    }

    /// Where up is, as a vector of the world frame, if the estimated vertical contradicts the mean specific force.
    pub fn true_up(&self, gravity: f64) -> Option<Vector3<f64>> {
        let force = self.mean.norm();
        let tells = self.seconds >= MEMORY_S && force > LEAST_FORCE * gravity;
        (tells && self.mean.z < LEAST_COSINE * force).then_some(self.mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const G: f64 = 9.81;

    fn after(seconds: f64, force: Vector3<f64>) -> GravityCheck {
        let mut check = GravityCheck::default();
        (0..(seconds * 20.0) as usize).for_each(|_| check.add(0.05, &(force * 0.05)));
        check
    }

    #[test]
    fn a_force_that_stays_away_from_up_shows_where_up_is() {
        let force = Vector3::new(8.0, 0.0, -5.0);
        let up = after(4.0, force).true_up(G).unwrap();
        assert!((up - force).norm() < 1e-9, "{up}");
    }

    #[test]
    fn moments_leanings_and_falls_show_nothing() {
        assert!(after(2.0, Vector3::new(0.0, 0.0, -G)).true_up(G).is_none(), "too short");
        assert!(after(9.0, Vector3::new(1.5 * G, 0.0, G)).true_up(G).is_none(), "a steady acceleration");
        assert!(after(9.0, Vector3::new(0.4 * G, 0.0, 0.0)).true_up(G).is_none(), "a fall");
    }
}
