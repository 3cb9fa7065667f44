//! How the scanner moves, from the odometry of the robot.

use lienav_base::stamp::Stamp;
use lienav_lie::{Se2, skew};
use lienav_slam::Odometry;
use nalgebra::Vector3;

/// Odometry that is further away from a scan says nothing of it, s.
const NEAR_S: f64 = 0.3;

/// The newest odometry, and where it has led.
#[derive(Clone, Debug, Default)]
pub struct Motion {
    newest: Option<Odometry>,
    /// Pose of the base in the odometry frame: that of the message, or what its twists add up to.
    base: Se2,
}

impl Motion {
    /// Takes in a message. One that is older than the newest changes nothing, unless it is far behind: time was set
    /// back.
    pub fn odometry(&mut self, odometry: Odometry, pose: Option<Se2>) {
        let elapsed = self.newest.as_ref().map_or(0.0, |newest| odometry.stamp.since(newest.stamp));
        if (-2.0..=0.0).contains(&elapsed) && self.newest.is_some() {
            return;
        }
        self.base = pose.unwrap_or_else(|| match &self.newest {
            Some(newest) if elapsed > 0.0 && elapsed < 1.0 => self.base * Se2::exp(&(twist_of(newest) * elapsed)),
            _ => self.base,
        });
        self.newest = Some(odometry);
    }

    /// Pose of the scanner in the odometry frame, and its twist in its own axes, at `stamp`; `None` if no odometry is
    /// near.
    pub fn scanner(&self, stamp: Stamp, mount: &Se2) -> Option<(Se2, Vector3<f64>)> {
        let newest = self.newest.as_ref()?;
        let elapsed = stamp.since(newest.stamp);
        if elapsed.abs() > NEAR_S {
            return None;
        }
        let twist = twist_of(newest);
        let pose = self.base * Se2::exp(&(twist * elapsed)) * *mount;
        // v + ω × r, in the axes of the scanner.
        let velocity = mount.rotation().transpose() * (twist.xy() + skew(&mount.p) * twist.z);
        Some((pose, Vector3::new(velocity.x, velocity.y, twist.z)))
    }
}

fn twist_of(odometry: &Odometry) -> Vector3<f64> {
    Vector3::new(odometry.velocity.x, odometry.velocity.y, odometry.yaw_rate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::Vector2;

    fn odometry(secs: f64, yaw_rate: f64) -> Odometry {
        Odometry { stamp: Stamp::from_secs(secs), velocity: Vector2::new(1.0, 0.0), yaw_rate, covariance: None }
    }

    #[test]
    fn the_twist_of_the_scanner_is_the_derivative_of_its_pose() {
        let mount = Se2::new(0.4, -0.3, 0.7);
        let mut motion = Motion::default();
        motion.odometry(odometry(5.0, 0.8), Some(Se2::new(1.0, 2.0, 0.5)));
        let at = |secs: f64| motion.scanner(Stamp::from_secs(secs), &mount).unwrap();
        let numeric = (at(5.0).0.inverse() * at(5.0001).0).log() / 1e-4;
        assert!((numeric - at(5.0).1).norm() < 1e-3, "{numeric} {}", at(5.0).1);
    }

    #[test]
    fn twists_add_up_where_there_are_no_poses_and_what_is_far_says_nothing() {
        let mut motion = Motion::default();
        (0..=10).for_each(|k| motion.odometry(odometry(0.1 * f64::from(k), 0.0), None));
        let (pose, _) = motion.scanner(Stamp::from_secs(1.1), &Se2::identity()).unwrap();
        assert!((pose.p - Vector2::new(1.1, 0.0)).norm() < 1e-9, "{}", pose.p);
        motion.odometry(odometry(0.5, 0.0), None);
        assert!(motion.scanner(Stamp::from_secs(1.0), &Se2::identity()).is_some(), "a late message is left out");
        assert!(motion.scanner(Stamp::from_secs(2.0), &Se2::identity()).is_none());
    }
}
