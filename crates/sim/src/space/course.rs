//! A motion that begins at rest: time passes for it slowly at first.

use super::kinematics::Kinematics;
use super::motion::Motion;

/// From rest to the full motion it takes so long, s.
const RAMP_S: f64 = 2.0;

/// A motion, and how long the body stands at its beginning.
#[derive(Clone, Debug, PartialEq)]
pub struct Course {
    /// The motion.
    pub motion: Motion,
    /// The body stands for so long, s; 0: it is in motion from the beginning.
    pub rest_s: f64,
}

impl Course {
    /// Pose and motion at an instant.
    pub fn at(&self, t: f64) -> Kinematics {
        if self.rest_s == 0.0 {
            return self.motion.at(t);
        }
        // The time of the motion, and its first two derivatives.
        let u = ((t - self.rest_s) / RAMP_S).clamp(0.0, 1.0);
        let beyond = (t - self.rest_s - RAMP_S).max(0.0);
        let time = RAMP_S * (u.powi(3) - 0.5 * u.powi(4)) + beyond;
        let (speed, change) = (u * u * (3.0 - 2.0 * u), 6.0 * u * (1.0 - u) / RAMP_S);
        let own = self.motion.at(time);
        Kinematics {
            pose: own.pose,
            velocity: own.velocity * speed,
            acceleration: own.acceleration * (speed * speed) + own.velocity * change,
            rate: own.rate * speed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::scenario::MotionKind;

    #[test]
    fn it_stands_and_then_moves_as_its_derivatives_say() {
        let course = Course { motion: Motion::new(MotionKind::Drone, 30.0, 1), rest_s: 2.0 };
        assert_eq!(course.at(0.0), course.at(1.9));
        assert_eq!(course.at(1.0).velocity.norm(), 0.0);
        for t in [2.3, 3.0, 3.9, 4.0, 7.0] {
            let h = 1e-5;
            let (before, now, after) = (course.at(t - h), course.at(t), course.at(t + h));
            let velocity = (after.pose.translation - before.pose.translation) / (2.0 * h);
            let acceleration = (after.velocity - before.velocity) / (2.0 * h);
            assert!((velocity - now.velocity).norm() < 1e-6, "{t}");
            assert!((acceleration - now.acceleration).norm() < 1e-3, "{t}");
        }
        let whole = Course { rest_s: 0.0, ..course.clone() };
        assert_eq!(whole.at(5.0), course.motion.at(5.0));
    }
}
