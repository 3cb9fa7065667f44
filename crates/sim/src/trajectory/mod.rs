//! Where the robot goes: pose, twist and acceleration at any instant, in closed form.

mod constant_twist;
mod motion;
mod retiming;
mod spline;

pub use constant_twist::ConstantTwist;
pub use motion::Motion;
pub use spline::{Limits, Spline, SplineError};

use super::scenario::{PathKind, TrajectoryConfig};
use lienav_lie::Se2;
use nalgebra::Vector2;

/// A trajectory of the robot, starting at t = 0.
#[derive(Clone, Debug)]
pub struct Trajectory {
    start: Se2,
    shape: Shape,
}

#[derive(Clone, Debug)]
enum Shape {
    ConstantTwist(ConstantTwist),
    Spline(Spline),
}

impl Trajectory {
    /// The trajectory that `config` describes.
    ///
    /// # Errors
    /// Waypoints through which no path with a heading leads.
    pub fn new(config: &TrajectoryConfig) -> Result<Self, SplineError> {
        let shape = match config.path {
            PathKind::Line => ConstantTwist::line(config.length_m, config.speed_m_s).into(),
            PathKind::Circle => ConstantTwist::circle(config.radius_m, config.lap_s, config.laps).into(),
            PathKind::Arc => ConstantTwist::arc(config.speed_m_s, config.yaw_rate_rad_s, config.duration_s).into(),
            PathKind::Static => ConstantTwist::standstill(config.duration_s).into(),
            PathKind::General => {
                Shape::Spline(Spline::new(&config.waypoints(), config.knot_interval_s, &config.limits())?)
            }
        };
        Ok(Self { start: config.start(), shape })
    }

    /// How long it takes, s.
    pub fn duration_s(&self) -> f64 {
        match &self.shape {
            Shape::ConstantTwist(motion) => motion.duration_s,
            Shape::Spline(spline) => spline.duration_s(),
        }
    }

    /// Where the frame in which the trajectory is described lies in the map.
    pub fn start(&self) -> Se2 {
        self.start
    }

    /// The motion at `t_s` seconds, in the map frame. Before the start and after the end the formulas are carried on.
    pub fn at(&self, t_s: f64) -> Motion {
        let local = self.in_own_frame(t_s);
        Motion { pose: self.start * local.pose, ..local }
    }

    /// Positions along the whole path in the trajectory's own frame, neighbours at most `spacing_m` apart; a path
    /// travelled several times is given once.
    pub fn outline(&self, spacing_m: f64) -> Vec<Vector2<f64>> {
        let once_s = self.once_s();
        let steps = (self.outline_length_m() / spacing_m).ceil().max(1.0) as usize;
        (0..=steps).map(|i| self.in_own_frame(once_s * i as f64 / steps as f64).pose.p).collect()
    }

    /// A bound on the length of the outline, m.
    pub fn outline_length_m(&self) -> f64 {
        let top_speed = match &self.shape {
            Shape::ConstantTwist(motion) => motion.speed(),
            Shape::Spline(spline) => spline.top_speed(),
        };
        self.once_s() * top_speed
    }

    /// Seconds until the path is complete or repeats itself.
    fn once_s(&self) -> f64 {
        match &self.shape {
            Shape::ConstantTwist(motion) => motion.period_s().min(motion.duration_s),
            Shape::Spline(spline) => spline.duration_s(),
        }
    }

    fn in_own_frame(&self, t_s: f64) -> Motion {
        match &self.shape {
            Shape::ConstantTwist(motion) => motion.at(t_s),
            Shape::Spline(spline) => spline.at(t_s),
        }
    }
}

impl From<ConstantTwist> for Shape {
    fn from(motion: ConstantTwist) -> Self {
        Self::ConstantTwist(motion)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scenario;
    use proptest::prelude::*;

    fn trajectory(scenario: &str, limits: (f64, f64)) -> Trajectory {
        let mut config = Scenario::named(scenario).unwrap().trajectory;
        (config.max_speed_m_s, config.max_yaw_rate_rad_s) = limits;
        (config.start_x_m, config.start_y_m, config.start_yaw_rad) = (3.0, -2.0, 0.7);
        Trajectory::new(&config).unwrap()
    }

    proptest! {
        #[test]
        fn twist_and_acceleration_are_the_derivatives_of_the_pose(part in 0.001..0.999f64, limited in any::<bool>(), which in 0..5usize) {
            let name = ["thesis-line-10hz-low-q1", "thesis-circle-10hz-low-q1", "thesis-general-10hz-low-q1", "esde", "static"][which];
            let trajectory = trajectory(name, if limited { (1.2, 0.5) } else { (0.0, 0.0) });
            let (t, h) = (part * trajectory.duration_s(), 1e-5);
            let (before, now, after) = (trajectory.at(t - h), trajectory.at(t), trajectory.at(t + h));
            let numeric = (before.pose.inverse() * after.pose).log() / (2.0 * h);
            // The twist is the derivative in the body frame up to the adjoint of half the step, which is O(h).
            prop_assert!((numeric - now.twist).norm() < 2e-4, "{} against {}", numeric, now.twist);
            let velocity = |m: &Motion| m.pose.rotation() * m.twist.xy();
            let numeric = now.pose.rotation().transpose() * (velocity(&after) - velocity(&before)) / (2.0 * h);
            // Where a limit sets in, the acceleration jumps: one side of the step must agree.
            let close = |m: &Motion| (numeric - m.acceleration).norm() < 1e-3;
            prop_assert!(close(&now) || limited && numeric.norm() < before.acceleration.norm().max(after.acceleration.norm()) + 1e-3);
        }
    }

    #[test]
    fn the_start_moves_the_whole_path() {
        let moved = trajectory("thesis-circle-10hz-low-q1", (0.0, 0.0));
        assert_eq!(moved.at(0.0).pose, moved.start());
        assert_eq!(moved.start(), Se2::new(3.0, -2.0, 0.7));
    }

    #[test]
    fn the_outline_keeps_its_spacing_and_takes_one_lap_only() {
        let circle = trajectory("long", (0.0, 0.0));
        let outline = circle.outline(0.1);
        assert!(outline.windows(2).all(|pair| (pair[1] - pair[0]).norm() <= 0.1 + 1e-9));
        assert_eq!(outline.len(), (std::f64::consts::TAU * 10.0 / 0.1).ceil() as usize + 1);
    }
}
