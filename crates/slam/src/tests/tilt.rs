//! A robot on a slope: what the planar filter makes of it with roll and pitch, and without.

use super::*;
use crate::{Imu, Tilt};
use nalgebra::{UnitQuaternion, Vector3};

const SPEED: f64 = 0.9;
const TURN: f64 = 0.4;
/// Odometry at 50 Hz, the inertial sensor at 1 kHz.
const ODOMETRY_NS: i64 = 20_000_000;
const IMU_NS: i64 = 1_000_000;

/// A circle on a plane that is banked by 0.25 rad and rises by 0.15 rad.
struct Slope(UnitQuaternion<f64>);

impl Slope {
    fn new() -> Self {
        Self(UnitQuaternion::from_euler_angles(0.25, -0.15, 0.0))
    }

    fn orientation(&self, t: f64) -> UnitQuaternion<f64> {
        self.0 * UnitQuaternion::from_scaled_axis(Vector3::z() * (TURN * t))
    }

    /// Seen from above, from where the robot was at first.
    fn pose(&self, t: f64) -> Se2 {
        let at = |t: f64| {
            let on_plane = Vector3::new((TURN * t).sin(), 1.0 - (TURN * t).cos(), 0.0) * (SPEED / TURN);
            let (_, _, yaw) = self.orientation(t).euler_angles();
            let above = self.0 * on_plane;
            Se2::new(above.x, above.y, yaw)
        };
        at(0.0).inverse() * at(t)
    }

    fn tilt(&self, t: f64) -> Tilt {
        Tilt::of(&self.orientation(t)).unwrap()
    }

    /// Where a pole is cut by the plane of a sensor in the middle of the robot.
    fn seen(&self, t: f64, pole: &Vector2<f64>) -> Vector2<f64> {
        let ahead = self.pose(t).inverse().transform(pole);
        self.tilt(t).levelling().try_inverse().unwrap() * ahead
    }
}

const POLES: [[f64; 2]; 4] = [[4.0, 1.0], [-2.0, 3.0], [1.0, 6.0], [3.0, -3.0]];

/// Ten seconds of the slope, with a cloud of poles every half second where a kind is given: the filter at its end.
fn drive(use_tilt: bool, has_orientation: bool, kind: Option<FeatureKind>) -> Slam {
    let slope = Slope::new();
    let mut config = config("default");
    config.motion.use_tilt = use_tilt;
    (config.sensor.x_m, config.sensor.y_m, config.sensor.yaw_rad) = (0.3, -0.1, 0.5);
    let mount = Se2::new(0.3, -0.1, 0.5);
    let mut slam = Slam::new(config).unwrap();
    for begin in (0..10_000_000_000).step_by(ODOMETRY_NS as usize) {
        let odometry = |nanos: i64| Odometry {
            stamp: Stamp::from_nanos(nanos),
            velocity: Vector2::new(SPEED, 0.0),
            yaw_rate: TURN,
            covariance: None,
        };
        if begin == 0 {
            slam.odometry(&odometry(0)).unwrap();
        }
        for k in 0..ODOMETRY_NS / IMU_NS {
            // In the middle of what it stands for.
            let stamp = Stamp::from_nanos(begin + k * IMU_NS + IMU_NS / 2);
            let tilt = has_orientation.then(|| slope.tilt(stamp.secs()));
            slam.imu(&Imu::new(stamp, &(Vector3::z() * TURN), tilt)).unwrap();
        }
        let now = odometry(begin + ODOMETRY_NS);
        slam.odometry(&now).unwrap();
        if let Some(kind) = kind.filter(|_| now.stamp.nanos() % 500_000_000 == 0) {
            let seen = |(id, pole): (usize, &[f64; 2])| {
                let cut = mount.inverse().transform(&slope.seen(now.stamp.secs(), &Vector2::from(*pole)));
                let polar = Vector2::new(cut.norm(), cut.y.atan2(cut.x));
                let value = if kind == FeatureKind::RangeBearing { polar } else { cut };
                Observation::new(Some(id as u32), value)
            };
            let cloud: Vec<Observation> = POLES.iter().enumerate().map(seen).collect();
            slam.features(now.stamp, kind, &cloud).unwrap();
        }
        while slam.poll().is_some() {}
    }
    slam
}

#[test]
fn heading_and_way_on_a_slope_are_those_seen_from_above() {
    let truth = Slope::new().pose(10.0);
    let off = |use_tilt: bool, has_orientation: bool| {
        let found = drive(use_tilt, has_orientation, None).predicted().unwrap().pose;
        (lienav_lie::wrap_angle(found.theta - truth.theta).abs(), (found.p - truth.p).norm())
    };
    let (heading, way) = off(true, true);
    assert!(heading < 1e-6 && way < 1e-4, "{heading} {way}");
    // The rate about the robot's own vertical, and the way along the slope.
    let (heading, way) = off(false, false);
    assert!(heading > 5e-3 && way > 0.05, "{heading} {way}");
    // The rate of the heading alone.
    let (heading, way) = off(false, true);
    assert!(heading < 1e-6 && way > 0.05, "{heading} {way}");
}

#[test]
fn poles_seen_on_a_slope_are_put_where_they_are_seen_from_above() {
    let off = |use_tilt: bool, kind: FeatureKind| {
        let slam = drive(use_tilt, true, Some(kind));
        let found = slam.landmarks().map(|l| (l.position - Vector2::from(POLES[l.id as usize])).norm());
        found.fold(0.0, f64::max)
    };
    for kind in [FeatureKind::RelativePosition, FeatureKind::RangeBearing] {
        assert!(off(true, kind) < 2e-3, "{kind:?} {}", off(true, kind));
        assert!(off(false, kind) > 0.03, "{kind:?} {}", off(false, kind));
    }
}
