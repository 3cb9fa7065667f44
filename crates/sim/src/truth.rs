//! The true pose: the trajectory itself, or the Euler sum of its twists.

use super::scenario::{TruthModel, TwistUnit};
use super::trajectory::Trajectory;
use lienav_base::stamp::Stamp;
use lienav_lie::{Se2, rotation};
use nalgebra::{Vector2, Vector3};

/// The true motion of the robot.
#[derive(Clone, Debug)]
pub(super) struct Truth {
    trajectory: Trajectory,
    /// Poses at the odometry's ticks, where the truth is their Euler sum.
    euler: Option<EulerSum>,
}

#[derive(Clone, Debug)]
struct EulerSum {
    rate_hz: f64,
    poses: Vec<Se2>,
}

impl Truth {
    /// For odometry of `rate_hz`, `samples` samples after the first at t = 0.
    pub(super) fn new(trajectory: Trajectory, model: TruthModel, rate_hz: f64, samples: u64) -> Self {
        let euler = (model == TruthModel::Euler).then(|| EulerSum::new(&trajectory, rate_hz, samples));
        Self { trajectory, euler }
    }

    /// Pose of the base in the map frame.
    pub(super) fn pose(&self, stamp: Stamp) -> Se2 {
        match &self.euler {
            None => self.trajectory.at(stamp.secs()).pose,
            Some(euler) => euler.pose(&self.trajectory, stamp),
        }
    }

    /// Body twist (m/s, m/s, rad/s) at an instant.
    pub(super) fn twist(&self, stamp: Stamp) -> Vector3<f64> {
        self.trajectory.at(stamp.secs()).twist
    }

    /// Acceleration of the base at an instant, in the base frame, m/s².
    pub(super) fn acceleration(&self, stamp: Stamp) -> Vector2<f64> {
        self.trajectory.at(stamp.secs()).acceleration
    }

    /// The velocities (m/s, m/s, rad/s) that stand for the motion from `from` to `to`, as `measurement` has it. At
    /// `from = to`, the twist there.
    pub(super) fn mean_twist(&self, measurement: TwistUnit, from: Stamp, to: Stamp) -> Vector3<f64> {
        if from == to || measurement == TwistUnit::Instant {
            return self.twist(to);
        }
        let (before, after, dt_s) = (self.pose(from), self.pose(to), to.since(from));
        match measurement {
            TwistUnit::Euler => (before.transform_back(&after.p) / dt_s).push((after.theta - before.theta) / dt_s),
            _ => (before.inverse() * after).log() / dt_s,
        }
    }

    /// Change of heading per second from `from` to `to`, rad/s.
    pub(super) fn mean_yaw_rate(&self, from: Stamp, to: Stamp) -> f64 {
        if from == to {
            return self.twist(from).z;
        }
        (self.pose(to).theta - self.pose(from).theta) / to.since(from)
    }
}

impl EulerSum {
    fn new(trajectory: &Trajectory, rate_hz: f64, samples: u64) -> Self {
        let mut pose = trajectory.at(0.0).pose;
        let mut poses = vec![pose];
        for k in 0..samples {
            let (from, to) = (tick(k, rate_hz), tick(k + 1, rate_hz));
            pose = euler_step(&pose, &trajectory.at(from.secs()).twist, to.since(from));
            poses.push(pose);
        }
        Self { rate_hz, poses }
    }

    /// Between ticks, part of the step that follows.
    fn pose(&self, trajectory: &Trajectory, stamp: Stamp) -> Se2 {
        let last = self.poses.len() - 1;
        let k = ((stamp.secs() * self.rate_hz + 1e-6) as usize).min(last);
        let from = tick(k as u64, self.rate_hz);
        euler_step(&self.poses[k], &trajectory.at(from.secs()).twist, stamp.since(from))
    }
}

/// p + Δt R(θ)v, θ + Δt w (Shen 2019, eq. (5.9)).
fn euler_step(pose: &Se2, twist: &Vector3<f64>, dt_s: f64) -> Se2 {
    Se2 { p: pose.p + rotation(pose.theta) * twist.xy() * dt_s, theta: pose.theta + twist.z * dt_s }
}

/// The instant of tick `k` of a clock that ticks `rate_hz` times a second, first at 0, to the nanosecond.
pub(super) fn tick(k: u64, rate_hz: f64) -> Stamp {
    Stamp::from_secs(k as f64 / rate_hz)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scenario;

    fn truth(name: &str, samples: u64) -> Truth {
        let scenario = Scenario::named(name).unwrap();
        let trajectory = Trajectory::new(&scenario.trajectory).unwrap();
        Truth::new(trajectory, scenario.truth, scenario.odometry.rate_hz, samples)
    }

    #[test]
    fn mean_twists_carry_the_truth_along() {
        for (name, rate_hz) in [("thesis-general-10hz-low-q1", 10.0), ("esde", 1.0)] {
            let truth = truth(name, 60);
            let (mut by_exponentials, mut by_steps) = (truth.pose(Stamp::default()), truth.pose(Stamp::default()));
            for k in 0..60 {
                let (from, to) = (tick(k, rate_hz), tick(k + 1, rate_hz));
                let dt_s = to.since(from);
                let twist = truth.mean_twist(TwistUnit::Exponential, from, to);
                by_exponentials = by_exponentials * Se2::exp(&(twist * dt_s));
                by_steps = euler_step(&by_steps, &truth.mean_twist(TwistUnit::Euler, from, to), dt_s);
                let there = truth.pose(to);
                for pose in [by_exponentials, by_steps] {
                    assert!((pose.p - there.p).norm() < 1e-11 && (pose.theta - there.theta).abs() < 1e-11, "{name}");
                }
            }
        }
    }

    #[test]
    fn an_instantaneous_twist_is_that_of_the_sample() {
        let truth = truth("thesis-general-10hz-low-q1", 600);
        let (from, to) = (tick(249, 10.0), tick(250, 10.0));
        assert_eq!(truth.mean_twist(TwistUnit::Instant, from, to), truth.twist(to));
        let mean = truth.mean_twist(TwistUnit::Exponential, from, to);
        assert!((mean - truth.twist(to)).norm() > 1e-3);
    }

    #[test]
    fn the_esde_truth_is_a_polygon_around_its_published_centre() {
        let truth = truth("esde", 400);
        let (v, w) = (0.25, 0.075);
        let (mut p, mut theta) = (Vector2::zeros(), 0.0_f64);
        for k in 0..=400 {
            let pose = truth.pose(tick(k, 1.0));
            assert!((pose.p - p).norm() < 1e-12 && (pose.theta - theta).abs() < 1e-12);
            assert!(((pose.p - Vector2::new(0.1251, 3.3318)).norm() - 3.334).abs() < 1e-3);
            p += v * Vector2::new(theta.cos(), theta.sin());
            theta += w;
        }
        let twist = truth.mean_twist(TwistUnit::Euler, tick(4, 1.0), tick(5, 1.0));
        assert!((twist - Vector3::new(v, 0.0, w)).norm() < 1e-14);
    }

    #[test]
    fn between_ticks_an_euler_truth_goes_straight() {
        let truth = truth("esde", 400);
        let (a, b) = (truth.pose(tick(7, 1.0)), truth.pose(tick(8, 1.0)));
        let half = truth.pose(Stamp::from_secs(7.5));
        assert!((half.p - 0.5 * (a.p + b.p)).norm() < 1e-12 && (half.theta - 0.5 * (a.theta + b.theta)).abs() < 1e-12);
    }

    #[test]
    fn a_gyroscope_adds_up_to_the_turn() {
        let truth = truth("thesis-general-10hz-low-q1", 600);
        let turned: f64 = (0..600).map(|k| 0.1 * truth.mean_yaw_rate(tick(k, 10.0), tick(k + 1, 10.0))).sum();
        let (start, end) = (truth.pose(tick(0, 10.0)), truth.pose(tick(600, 10.0)));
        assert!((turned - (end.theta - start.theta)).abs() < 1e-9);
    }
}
