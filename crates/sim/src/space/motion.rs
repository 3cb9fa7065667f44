//! Where a body is at an instant, and how it moves: closed forms.

use super::car;
use super::kinematics::Kinematics;
use super::scenario::MotionKind;
use super::spline::Spline;
use super::wave::Wave;
use crate::random::{Purpose, generator};
use lienav_lie::{LieGroup, Se3, So3};
use nalgebra::Vector3;
use rand::RngExt;

/// A motion.
#[derive(Clone, Debug, PartialEq)]
pub enum Motion {
    /// x, y, z, m, then yaw, pitch, roll, rad, as sums of sines.
    Waves([Wave; 6]),
    /// The same as splines.
    Splines([Spline; 6]),
    /// A car on hills.
    Car,
}

/// Knots of a spline are so far apart, s.
const KNOT_S: f64 = 0.8;
/// Knots of a motion in a hand lie so far about its centre: x, y, z, m; yaw, pitch, roll, rad.
const HAND: [f64; 6] = [0.7, 0.6, 0.35, 0.7, 0.35, 0.35];

impl Motion {
    /// The motion of this kind for so many seconds; that of a hand is drawn from the seed.
    pub fn new(kind: MotionKind, seconds: f64, seed: u64) -> Self {
        let w = Wave::new;
        let quarter = std::f64::consts::FRAC_PI_2;
        match kind {
            MotionKind::Rest => Self::Waves(Default::default()),
            MotionKind::Circle => Self::Waves([
                w(0.0, 0.0, &[[2.0, 0.5, quarter]]),
                w(0.0, 0.0, &[[2.0, 0.5, 0.0]]),
                w(0.0, 0.0, &[[0.3, 0.7, 0.0]]),
                w(quarter, 0.5, &[]),
                w(0.0, 0.0, &[[0.1, 0.9, 0.0]]),
                w(0.0, 0.0, &[[0.15, 0.8, 1.0]]),
            ]),
            MotionKind::Helix => Self::Waves([
                w(0.0, 0.0, &[[1.5, 0.7, quarter]]),
                w(0.0, 0.0, &[[1.5, 0.7, 0.0]]),
                w(-2.0, 4.0 / seconds.max(1.0), &[[0.1, 1.1, 0.0]]),
                w(quarter, 0.7, &[]),
                w(0.05, 0.0, &[[0.1, 1.3, 0.0]]),
                w(0.1, 0.0, &[[0.1, 0.9, 2.0]]),
            ]),
            MotionKind::Drone => Self::Waves([
                w(0.0, 0.0, &[[2.2, 0.8, 0.0]]),
                w(0.0, 0.0, &[[1.2, 1.6, 0.0]]),
                w(0.0, 0.0, &[[0.4, 0.5, 0.0]]),
                w(0.0, 0.3, &[[0.8, 0.8, 0.0]]),
                w(0.0, 0.0, &[[0.2, 0.8, 0.5]]),
                w(0.0, 0.0, &[[0.25, 1.6, 0.0]]),
            ]),
            MotionKind::Hand => {
                let mut rng = generator(seed, Purpose::SpaceMotion);
                let count = (seconds / KNOT_S).ceil().clamp(1.0, 1e6) as usize + 2;
                let mut spline =
                    |most: f64| Spline::new(KNOT_S, (0..count).map(|_| rng.random_range(-most..=most)).collect());
                Self::Splines(HAND.map(&mut spline))
            }
            MotionKind::Car => Self::Car,
        }
    }

    /// Pose and motion at an instant.
    pub fn at(&self, t: f64) -> Kinematics {
        match self {
            Self::Waves(all) => of_coordinates(&all.each_ref().map(|one| one.at(t))),
            Self::Splines(all) => of_coordinates(&all.each_ref().map(|one| one.at(t))),
            Self::Car => car::at(t),
        }
    }
}

/// Of x, y, z, yaw, pitch and roll with their derivatives: R = R_z R_y R_x.
fn of_coordinates([x, y, z, yaw, pitch, roll]: &[[f64; 3]; 6]) -> Kinematics {
    let about = |axis: Vector3<f64>, angle: f64| So3::exp(&(axis * angle));
    let rotation = about(Vector3::z(), yaw[0]) * about(Vector3::y(), pitch[0]) * about(Vector3::x(), roll[0]);
    let ((sp, cp), (sr, cr)) = (pitch[0].sin_cos(), roll[0].sin_cos());
    Kinematics {
        pose: Se3::new(rotation, Vector3::new(x[0], y[0], z[0])),
        velocity: Vector3::new(x[1], y[1], z[1]),
        acceleration: Vector3::new(x[2], y[2], z[2]),
        rate: Vector3::new(roll[1] - yaw[1] * sp, pitch[1] * cr + yaw[1] * sr * cp, -pitch[1] * sr + yaw[1] * cr * cp),
    }
}
