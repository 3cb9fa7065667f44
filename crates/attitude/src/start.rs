//! The start from the mean specific force: where up is, before the filter that is linear in the tilt can be trusted.
//!
//! A first sample of a sensor that is moved points tens of degrees away from up, and from there a linear update takes
//! many seconds. But carried along by the gyroscope, specific force averages to gravity: over a time T, but for the
//! change of the velocity, (v(T) − v(0))/T. So for [`LEVELLING_S`] up is where this mean points. With it comes what is
//! known of the error: tilt ξ, bias δb and velocity ν at T go together,
//!
//! ξ = z × (v(T) − v(0))/(g T) − (A − B/T) δb + z × A δa/(g T),    ν = v(T)    (horizontal parts of ξ),
//!
//! with A = ∫R̂ dt over all of T and B = ∫A dt: a bias turns what was measured at s by the integral of R̂ from s to T.

use super::preintegration::Preintegration;
use super::state::{ACCEL, Covariance, GYRO, NU, State, XI};
use lienav_lie::hat;
use nalgebra::{Matrix3, UnitQuaternion, Vector3};
use std::f64::consts::{PI, SQRT_2};

/// How long, s. With 1 s, a swing on a rope of 2 m (2.8 s) has not shown where it hangs; with 3 s, a bias of 0.08 rad/s
/// has turned the mean farther than what follows takes back at once.
pub const LEVELLING_S: f64 = 2.0;

/// A sensor that is still for so long from the start shows where up is with its first sample, s.
pub const STILL_S: f64 = 0.5;

/// What accelerations make of the tilt of a mean over a moment, rad at most: of 5 m/s².
const MOST_TILT: f64 = 0.5;

/// What has come since the start.
#[derive(Clone, Copy, Debug, Default)]
pub struct Levelling {
    /// T, s.
    pub seconds: f64,
    rotation: Matrix3<f64>,
    rotation_integral: Matrix3<f64>,
    /// ∫f dt of the specific force in the world frame, m/s.
    force: Vector3<f64>,
    path: Path,
}

/// Sums over V = ∫f dt at the ends t of the preintegrations.
#[derive(Clone, Copy, Debug, Default)]
struct Path {
    count: f64,
    square: f64,
    by_time: Vector3<f64>,
    time_square: f64,
}

impl Levelling {
    /// Takes in the samples of a preintegration.
    pub fn add(&mut self, preintegration: &Preintegration, gravity: f64) {
        let t = preintegration.duration;
        self.rotation_integral += self.rotation * t + preintegration.rotation_integral;
        self.rotation += preintegration.rotation;
        self.force += preintegration.velocity_change + Vector3::z() * (gravity * t);
        self.seconds += t;
        self.path.count += 1.0;
        self.path.square += self.force.norm_squared();
        self.path.by_time += self.force * self.seconds;
        self.path.time_square += self.seconds * self.seconds;
    }

    /// How far the velocity goes from that of a steady force, root mean square by axis, m/s.
    pub fn speed(&self) -> f64 {
        let mean = self.force / self.seconds;
        let Path { count, square, by_time, time_square } = &self.path;
        let sum = square - 2.0 * mean.dot(by_time) + mean.norm_squared() * time_square;
        (sum.max(0.0) / (3.0 * count)).sqrt()
    }

    /// The world was turned under the estimate.
    pub fn turn(&mut self, by: &UnitQuaternion<f64>) {
        let matrix = *by.to_rotation_matrix().matrix();
        self.rotation = matrix * self.rotation;
        self.rotation_integral = matrix * self.rotation_integral;
        self.force = by * self.force;
        self.path.by_time = by * self.path.by_time;
    }

    /// Puts up where the mean force points, with what that says of the error; the velocity of the sensor has this
    /// standard deviation by axis, m/s, and its position that one, m.
    pub fn level(&mut self, state: &mut State, (speed, reach): (f64, f64), gravity: f64) {
        let level = UnitQuaternion::rotation_between(&self.force, &Vector3::z())
            .unwrap_or_else(|| UnitQuaternion::from_scaled_axis(Vector3::x() * PI));
        self.turn(&level);
        state.orientation = level * state.orientation;
        state.forget_motion(speed, reach);
        let fall = gravity * self.seconds;
        let up = hat(&Vector3::z());
        let of_bias = self.rotation_integral / self.seconds - self.rotation;
        let of_force = up * self.rotation / fall;
        let before: Covariance = state.covariance;
        let p = &mut state.covariance;
        let rows = of_bias * before.fixed_rows::<3>(GYRO) + of_force * before.fixed_rows::<3>(ACCEL);
        for i in 0..2 {
            p.row_mut(XI + i).copy_from(&rows.row(i));
        }
        let columns =
            p.fixed_columns::<3>(GYRO) * of_bias.transpose() + p.fixed_columns::<3>(ACCEL) * of_force.transpose();
        for i in 0..2 {
            p.column_mut(XI + i).copy_from(&columns.column(i));
        }
        let part = (MOST_TILT * fall / (SQRT_2 * speed)).min(1.0) * speed / fall;
        let with_velocity = up * (part * speed);
        for i in 0..2 {
            p[(XI + i, XI + i)] += 2.0 * part * part;
            for j in 0..2 {
                p[(XI + i, NU + j)] += with_velocity[(i, j)];
                p[(NU + j, XI + i)] += with_velocity[(i, j)];
            }
        }
    }
}
