//! Straight lines, circles and standing still: the one-parameter subgroups of SE(2).

use super::motion::Motion;
use lienav_lie::{Se2, skew};
use nalgebra::{Vector2, Vector3};
use std::f64::consts::TAU;

/// Motion with a constant body twist from the identity: X(t) = Exp(t ξ).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConstantTwist {
    /// ξ = (v_x, v_y, w): m/s, m/s, rad/s.
    pub twist: Vector3<f64>,
    /// How long, s.
    pub duration_s: f64,
}

impl ConstantTwist {
    /// `length_m` metres straight ahead (Shen 2019, section 5.5.1: 60 m at 1 m/s).
    pub fn line(length_m: f64, speed_m_s: f64) -> Self {
        Self { twist: Vector3::new(speed_m_s, 0.0, 0.0), duration_s: length_m / speed_m_s }
    }

    /// Counterclockwise around (0, `radius_m`) (Shen 2019, section 5.5.2: radius 10 m at about 1.57 m/s, so 40 s a
    /// lap).
    pub fn circle(radius_m: f64, lap_s: f64, laps: f64) -> Self {
        let yaw_rate = TAU / lap_s;
        Self { twist: Vector3::new(radius_m * yaw_rate, 0.0, yaw_rate), duration_s: laps * lap_s }
    }

    /// Straight ahead or turning for a given time.
    pub fn arc(speed_m_s: f64, yaw_rate_rad_s: f64, duration_s: f64) -> Self {
        Self { twist: Vector3::new(speed_m_s, 0.0, yaw_rate_rad_s), duration_s }
    }

    /// Not moving.
    pub fn standstill(duration_s: f64) -> Self {
        Self { twist: Vector3::zeros(), duration_s }
    }

    /// The motion at `t_s` seconds.
    pub fn at(&self, t_s: f64) -> Motion {
        Motion {
            pose: Se2::exp(&(self.twist * t_s)),
            twist: self.twist,
            acceleration: self.twist.z * skew(&self.twist.xy()),
        }
    }

    /// Forward speed, m/s.
    pub fn speed(&self) -> f64 {
        Vector2::norm(&self.twist.xy())
    }

    /// Seconds until the robot is back where it started; infinite where it does not turn.
    pub fn period_s(&self) -> f64 {
        TAU / self.twist.z.abs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thesis_circle_closes_after_40_s_at_1_57_m_s() {
        let circle = ConstantTwist::circle(10.0, 40.0, 1.0);
        assert_eq!(circle.duration_s, 40.0);
        assert!((circle.speed() - 1.57).abs() < 1e-3);
        let end = circle.at(40.0).pose;
        assert!(end.p.norm() < 1e-12 && (end.theta - TAU).abs() < 1e-12);
        for t in 0..40 {
            assert!(((circle.at(t as f64).pose.p - Vector2::new(0.0, 10.0)).norm() - 10.0).abs() < 1e-12);
        }
    }

    #[test]
    fn the_thesis_line_is_60_m_at_1_m_s() {
        let line = ConstantTwist::line(60.0, 1.0);
        assert_eq!((line.duration_s, line.speed()), (60.0, 1.0));
        assert_eq!(line.at(60.0).pose, Se2::new(60.0, 0.0, 0.0));
    }

    #[test]
    fn standing_still_has_no_period() {
        assert_eq!(ConstantTwist::standstill(5.0).period_s(), f64::INFINITY);
    }
}
