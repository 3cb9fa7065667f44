//! The start from the specific force of two seconds: where up is, before the filter that is linear in the tilt can be
//! trusted.
//!
//! A first sample of a sensor that is moved points tens of degrees away from up, and from there a linear update takes
//! many seconds. But carried along by the gyroscope, specific force is gravity and the change of the velocity, and the
//! velocity of what turns about a point a lever r away is known but for r: v = D r + w with D = R̂ ω^. With
//! F(t) = ∫f dt from the start,
//!
//! F(t) = g t + c + D(t) r + w(t),    F(0) = 0,
//!
//! is linear in gravity g, in c = −v(0) and in r, which a least squares fit over [`LEVELLING_S`] finds; w is white to
//! it with the variance of the residuals and the correlation time [`CORRELATION_S`], and r has its prior. With it comes
//! what is known of the error: tilt, lever and velocity go together, and a bias δb of the gyroscope tilts by
//! −(A − B/T) δb, one δa of the accelerometer by z × A δa/(g T), with A = ∫R̂ dt over all of T and B = ∫A dt: a bias
//! turns what was measured at s by the integral of R̂ from s to T. An acceleration that lasts is gravity to the fit: each
//! hypothesis about it adds its part of tilt and velocity (`Mixture::start_accelerated`). Without this, drones that are
//! switched on in flight are 3.4° off with a NEES of 6.3 (2 is right), with it 2.3° and 1.2.

use super::MotionConfig;
use super::belief::{ACCEL, Belief, GYRO, LEVER, NU, RHO, XI};
use super::preintegration::Preintegration;
use super::state::State;
use lienav_lie::hat;
use nalgebra::{Matrix3, SMatrix, SVector, UnitQuaternion, Vector3};
use serde::{Deserialize, Serialize};
use std::f64::consts::PI;

/// How long, s. With 1 s, a swing on a rope of 2 m (2.8 s) has not shown where it hangs; with 3 s, a bias of 0.08 rad/s
/// has turned the mean farther than what follows takes back at once.
pub const LEVELLING_S: f64 = 2.0;

/// A sensor that is still for so long from the start shows where up is with its first sample, s.
pub const STILL_S: f64 = 0.5;

/// What accelerations make of the tilt of a mean over a moment, rad at most: of 5 m/s².
const MOST_TILT: f64 = 0.5;

/// How long the velocity that is no lever's remembers itself, s.
const CORRELATION_S: f64 = 0.2;

/// That velocity before anything is seen, as a part of `motion.initial_speed`: most of the speed of what swings is its
/// lever's.
const SPEED_PART: f64 = 0.3;

/// Where gravity, −v(0) and the lever are among the unknowns.
const OF_START: usize = 3;
const OF_LEVER: usize = 6;

type Unknowns = SVector<f64, 9>;
type Information = SMatrix<f64, 9, 9>;

/// What has come since the start.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Levelling {
    /// T, s.
    pub seconds: f64,
    rotation: Matrix3<f64>,
    rotation_integral: Matrix3<f64>,
    /// F, in the axes of the start, m/s.
    force: Vector3<f64>,
    /// From the axes of the start to those of the estimate.
    turned: UnitQuaternion<f64>,
    fit: Fit,
}

/// Sums over the ends of the preintegrations, each weighted with its duration, in the axes of the start.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Fit {
    weight: f64,
    information: Information,
    vector: Unknowns,
    square: f64,
}

/// What the fit has found.
struct Found {
    gravity: Vector3<f64>,
    lever: Vector3<f64>,
    /// Of the residuals, m/s by axis.
    speed: f64,
    covariance: Information,
}

impl Fit {
    fn add(&mut self, weight: f64, design: &SMatrix<f64, 3, 9>, force: &Vector3<f64>) {
        self.weight += weight;
        self.information += design.transpose() * design * weight;
        self.vector += design.transpose() * force * weight;
        self.square += force.norm_squared() * weight;
    }

    /// With this standard deviation of the lever by axis, and of the rest of the velocity before anything is seen.
    fn solve(&self, lever_std: f64, speed: f64) -> Option<Found> {
        let mut found = speed;
        let mut solution = Unknowns::zeros();
        let mut inverse = Information::identity();
        for _ in 0..3 {
            let mut information = self.information;
            let density = found * found * 2.0 * CORRELATION_S;
            for i in 0..3 {
                information[(OF_START + i, OF_START + i)] += density / 25.0;
                information[(OF_LEVER + i, OF_LEVER + i)] += density / lever_std.powi(2).max(1e-8);
            }
            inverse = information.cholesky()?.inverse();
            solution = inverse * self.vector;
            let rss = self.square - 2.0 * solution.dot(&self.vector) + solution.dot(&(self.information * solution));
            // As if the speed before had been seen for some correlation times.
            let before = 2.0 * CORRELATION_S;
            found = ((rss.max(0.0) / 3.0 + before * speed * speed) / (self.weight + before)).sqrt();
        }
        Some(Found {
            gravity: solution.fixed_rows::<3>(0).into_owned(),
            lever: solution.fixed_rows::<3>(OF_LEVER).into_owned(),
            speed: found,
            covariance: inverse * (found * found * 2.0 * CORRELATION_S),
        })
    }
}

/// The row of three measurements at time t, with the velocity D of a lever.
fn design(t: f64, d: &Matrix3<f64>) -> SMatrix<f64, 3, 9> {
    let mut design = SMatrix::<f64, 3, 9>::zeros();
    design.fixed_view_mut::<3, 3>(0, 0).copy_from(&Matrix3::from_diagonal_element(t));
    design.fixed_view_mut::<3, 3>(0, OF_START).copy_from(&Matrix3::identity());
    design.fixed_view_mut::<3, 3>(0, OF_LEVER).copy_from(d);
    design
}

impl Levelling {
    /// From a first sample, at which a lever has the velocity D r.
    pub fn begin(d: &Matrix3<f64>) -> Self {
        let mut levelling = Self::default();
        levelling.fit.add(0.01, &design(0.0, d), &Vector3::zeros());
        levelling
    }

    /// Takes in the samples of a preintegration, at whose end a lever has the velocity D r.
    pub fn add(&mut self, preintegration: &Preintegration, gravity: f64, d: &Matrix3<f64>) {
        let t = preintegration.duration;
        self.rotation_integral += self.rotation * t + preintegration.rotation_integral;
        self.rotation += preintegration.rotation;
        let back = self.turned.inverse();
        self.force += back * (preintegration.velocity_change + Vector3::z() * (gravity * t));
        self.seconds += t;
        let d = back.to_rotation_matrix() * d;
        self.fit.add(t, &design(self.seconds, &d), &self.force);
    }

    /// The world was turned under the estimate.
    pub fn turn(&mut self, by: &UnitQuaternion<f64>) {
        let matrix = *by.to_rotation_matrix().matrix();
        self.rotation = matrix * self.rotation;
        self.rotation_integral = matrix * self.rotation_integral;
        self.turned = by * self.turned;
    }

    /// Puts up where gravity is found, with what that says of the error; `d` is D now. How far the sensor moves beside
    /// what turns, m by axis.
    pub fn level(
        &mut self,
        state: &mut State,
        belief: &mut Belief,
        d: &Matrix3<f64>,
        gravity: f64,
        config: &MotionConfig,
    ) -> f64 {
        let Some(found) = self.fit.solve(config.lever_std, SPEED_PART * config.initial_speed) else {
            return config.initial_reach;
        };
        let up = self.turned * found.gravity;
        let level = UnitQuaternion::rotation_between(&up, &Vector3::z())
            .unwrap_or_else(|| UnitQuaternion::from_scaled_axis(Vector3::x() * PI));
        self.turn(&level);
        state.orientation = level * state.orientation;
        let d = level.to_rotation_matrix() * d;
        // A position that remembers itself for τ goes τ times as far as its velocity.
        let reach = config.initial_reach.max(found.speed * config.correlation_s);
        state.lever = found.lever;
        state.velocity = d * found.lever;
        state.forget_position();
        belief.set(NU, &Vector3::repeat(found.speed));
        belief.set(RHO, &Vector3::repeat(reach));
        belief.set(LEVER, &Vector3::zeros());
        self.add_errors_of_biases(belief, gravity);
        self.add_errors_of_fit(belief, &found, &d, gravity);
        reach
    }

    /// The tilt by biases, in the place of what was known of it.
    fn add_errors_of_biases(&self, belief: &mut Belief, gravity: f64) {
        let of_gyro = self.rotation_integral / self.seconds - self.rotation;
        let of_force = hat(&Vector3::z()) * self.rotation / (gravity * self.seconds);
        let p = &mut belief.covariance;
        let rows = of_gyro * p.fixed_rows::<3>(GYRO) + of_force * p.fixed_rows::<3>(ACCEL);
        let square =
            rows.fixed_columns::<3>(GYRO) * of_gyro.transpose() + rows.fixed_columns::<3>(ACCEL) * of_force.transpose();
        for i in 0..2 {
            p.row_mut(XI + i).copy_from(&rows.row(i));
            p.column_mut(XI + i).copy_from(&rows.row(i).transpose());
        }
        for (i, j) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            p[(XI + i, XI + j)] = 0.5 * (square[(i, j)] + square[(j, i)]);
        }
    }

    /// Tilt, velocity D r + w and lever by the errors of the fit.
    fn add_errors_of_fit(&self, belief: &mut Belief, found: &Found, d: &Matrix3<f64>, gravity: f64) {
        let world = *self.turned.to_rotation_matrix().matrix();
        // A gravity that is off by δg tilts by z × δg/g.
        let to_tilt = hat(&Vector3::z()) * world / gravity;
        let tilt = to_tilt * found.covariance.fixed_view::<3, 3>(0, 0) * to_tilt.transpose();
        let most = (MOST_TILT / tilt.trace().sqrt().max(1e-9)).min(1.0);
        let mut of_fit = Information::zeros();
        of_fit.fixed_view_mut::<3, 3>(0, 0).copy_from(&(to_tilt * most));
        of_fit.fixed_view_mut::<3, 3>(3, OF_LEVER).copy_from(d);
        of_fit.fixed_view_mut::<3, 3>(6, OF_LEVER).copy_from(&Matrix3::identity());
        let square = of_fit * found.covariance * of_fit.transpose();
        // w of now is among the residuals that have moved the fit, if by no more than all of them.
        let now = design(self.seconds, &(world.transpose() * d));
        let moved = (now * found.covariance * now.transpose()).trace().sqrt().max(1e-12);
        let with_now = of_fit * found.covariance * now.transpose() * world.transpose() * (found.speed / moved).min(1.0);
        let with_now = with_now * 0.5;
        let blocks = [XI, NU, LEVER];
        for (i, &row) in blocks.iter().enumerate() {
            for (j, &column) in blocks.iter().enumerate().take(i + 1) {
                let mut block: Matrix3<f64> = square.fixed_view::<3, 3>(3 * i, 3 * j).into_owned();
                if column == NU {
                    block += with_now.fixed_rows::<3>(3 * i);
                }
                if row == NU {
                    block += with_now.fixed_rows::<3>(3 * j).transpose();
                }
                let block = if i == j { (block + block.transpose()) * 0.5 } else { block };
                belief.add(row, column, &block);
            }
        }
    }
}
