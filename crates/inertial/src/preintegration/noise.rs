//! Covariance of an increment: white noise of the samples, and the random walks of the biases within the interval.

use super::bias::BiasIntegrals;
use super::step::Step;
use crate::imu::ImuNoise;
use lienav_lie::hat;
use nalgebra::{Matrix3, SMatrix, Vector3};
use serde::{Deserialize, Serialize};

/// Covariance of ζ by white noise.
///
/// White noise is alike for all axes, so that ΔR n is white noise of the same density, and the covariance is made of
/// integrals of Δv and Δp alone: with V = Δv^ and W = (T − s)Δv^ + Δp^,
/// ζ = −∫(I, V, W) n_g ds − ∫(0, I, (T − s)I) n_a ds.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct WhiteNoise {
    /// Cov(ζ_R, ζ_R) is this times I.
    rotation: f64,
    /// Cov(ζ_v, ζ_R) is the hat of this.
    velocity_rotation: Vector3<f64>,
    /// Cov(ζ_p, ζ_R) is the hat of this.
    position_rotation: Vector3<f64>,
    velocity: Matrix3<f64>,
    position_velocity: Matrix3<f64>,
    position: Matrix3<f64>,
}

/// a^ b^ᵀ = (a·b)I − b aᵀ.
#[inline]
fn product(a: &Vector3<f64>, b: &Vector3<f64>) -> Matrix3<f64> {
    Matrix3::from_diagonal_element(a.dot(b)) - b * a.transpose()
}

impl WhiteNoise {
    /// Adds a step: ζ_p += h ζ_v, then its own noise at the middle of the step.
    #[inline]
    pub fn add(&mut self, step: &Step, noise: &ImuNoise) {
        let h = step.duration_s;
        let (gyro, force) = (noise.gyro * noise.gyro * h, noise.accelerometer * noise.accelerometer * h);
        let v = &step.middle_velocity;
        let w = v * (0.5 * h) + step.middle_position;
        let one = |x: f64| Matrix3::from_diagonal_element(x);
        let pv = self.position_velocity;
        self.position +=
            (pv + pv.transpose() + self.velocity * h) * h + product(&w, &w) * gyro + one(force * h * h / 3.0);
        self.position_velocity += self.velocity * h + product(&w, v) * gyro + one(force * h * 0.5);
        self.position_rotation += self.velocity_rotation * h + w * gyro;
        self.velocity += product(v, v) * gyro + one(force);
        self.velocity_rotation += v * gyro;
        self.rotation += gyro;
    }

    /// 9 × 9.
    pub fn covariance(&self) -> SMatrix<f64, 9, 9> {
        let mut p = SMatrix::<f64, 9, 9>::zeros();
        p.fixed_view_mut::<3, 3>(0, 0).fill_diagonal(self.rotation);
        let blocks = [
            (3, 0, hat(&self.velocity_rotation)),
            (6, 0, hat(&self.position_rotation)),
            (3, 3, self.velocity),
            (6, 3, self.position_velocity),
            (6, 6, self.position),
        ];
        for (row, column, block) in blocks {
            set(&mut p, row, column, &block);
        }
        p
    }
}

/// Sets a block and its mirror image.
fn set<const N: usize>(p: &mut SMatrix<f64, N, N>, row: usize, column: usize, block: &Matrix3<f64>) {
    p.fixed_view_mut::<3, 3>(row, column).copy_from(block);
    if row != column {
        p.fixed_view_mut::<3, 3>(column, row).copy_from(&block.transpose());
    }
}

/// What a bias that changes within the interval does. A change at s moves ζ(T) by −(B(T) − F(T − s) B(s)), with B the
/// [bias integrals](BiasIntegrals) and F the transition of ζ. The moments of that are these integrals:
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct WalkIntegrals {
    /// ∫F(T − s) B(s) ds, in the blocks of B.
    first: BiasIntegrals,
    /// ∫F B_g B_gᵀ Fᵀ ds, lower triangle.
    gyro: Second,
    /// ∫F B_a B_aᵀ Fᵀ ds of (ζ_v, ζ_p): vv, pv, pp.
    force: [Matrix3<f64>; 3],
    /// Up to where the integrals go: the bias integrals there.
    at: BiasIntegrals,
    /// Steps since then, and their length, s.
    pending: (u32, f64),
}

/// The biases change once in so many steps. What this neglects is a part (2h/T)² of an effect that is itself small in
/// short intervals.
const STEPS: u32 = 4;

/// Blocks of a symmetric 9 × 9 matrix.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Second {
    rr: Matrix3<f64>,
    vr: Matrix3<f64>,
    pr: Matrix3<f64>,
    vv: Matrix3<f64>,
    pv: Matrix3<f64>,
    pp: Matrix3<f64>,
}

impl WalkIntegrals {
    /// Adds a step of h seconds, at whose end the bias integrals are these.
    #[inline]
    pub fn add(&mut self, h: f64, now: &BiasIntegrals) {
        let (steps, seconds) = self.pending;
        self.pending = (steps + 1, seconds + h);
        if steps + 1 == STEPS {
            self.change_biases(now);
        }
    }

    /// The biases change in the middle of the pending steps.
    fn change_biases(&mut self, now: &BiasIntegrals) {
        let (before, h) = (&self.at, self.pending.1);
        let mean = BiasIntegrals {
            rotation: (before.rotation + now.rotation) * 0.5,
            velocity: (before.velocity + now.velocity) * 0.5,
            position: (before.position + before.velocity * h + now.position) * 0.5,
            twice: (before.twice + before.rotation * h + now.twice) * 0.5,
        };
        (self.at, self.pending) = (*now, (0, 0.0));
        let (first, g) = (&mut self.first, &mut self.gyro);
        first.position += (first.velocity + mean.position) * h;
        first.twice += (first.rotation + mean.twice) * h;
        first.velocity += mean.velocity * h;
        first.rotation += mean.rotation * h;

        let [vv, pv, pp] = &mut self.force;
        let turned = mean.rotation.transpose() * h;
        let rotation = mean.rotation * turned;
        *pp += (*pv + pv.transpose() + *vv * h) * h + mean.twice * mean.twice.transpose() * h;
        *pv += *vv * h + mean.twice * turned;
        *vv += rotation;

        let velocity = mean.velocity.transpose() * h;
        g.pp += (g.pv + g.pv.transpose() + g.vv * h) * h + mean.position * mean.position.transpose() * h;
        g.pv += g.vv * h + mean.position * velocity;
        g.pr += g.vr * h + mean.position * turned;
        g.vv += mean.velocity * velocity;
        g.vr += mean.velocity * turned;
        g.rr += rotation;
    }

    /// Covariance of (ζ, δb_g, δb_a) at the end by the random walks alone, 15 × 15: with B the bias integrals of the
    /// whole interval, Cov(ζ) = q ∫(B − F B(s))(B − F B(s))ᵀ ds, Cov(ζ, δb) = −q ∫(B − F B(s)) ds, Cov(δb) = q T I.
    pub fn covariance(&self, duration_s: f64, bias: &BiasIntegrals, noise: &ImuNoise) -> SMatrix<f64, 15, 15> {
        let mut all = *self;
        all.change_biases(bias);
        let (first, g, t) = (&all.first, &all.gyro, duration_s);
        let (qg, qa) = (noise.gyro_walk * noise.gyro_walk, noise.accelerometer_walk * noise.accelerometer_walk);
        // ∫(a − f)(b − g)ᵀ ds of constants a, b and functions f, g, from the integrals of f, g and f gᵀ.
        let around = |a: &Matrix3<f64>, f: &Matrix3<f64>, b: &Matrix3<f64>, g: &Matrix3<f64>, fg: &Matrix3<f64>| {
            (a * t - f) * b.transpose() - a * g.transpose() + fg
        };
        let (r, v, p) = (&bias.rotation, &bias.velocity, &bias.position);
        let (fr, fv, fp) = (&first.rotation, &first.velocity, &first.position);
        let (s, fs) = (&bias.twice, &first.twice);
        let [vv, pv, pp] = &all.force;
        let rr = around(r, fr, r, fr, &g.rr);
        let blocks = [
            (0, 0, rr * qg),
            (3, 0, around(v, fv, r, fr, &g.vr) * qg),
            (6, 0, around(p, fp, r, fr, &g.pr) * qg),
            (3, 3, around(v, fv, v, fv, &g.vv) * qg + around(r, fr, r, fr, vv) * qa),
            (6, 3, around(p, fp, v, fv, &g.pv) * qg + around(s, fs, r, fr, pv) * qa),
            (6, 6, around(p, fp, p, fp, &g.pp) * qg + around(s, fs, s, fs, pp) * qa),
            (9, 0, (fr - r * t).transpose() * qg),
            (9, 3, (fv - v * t).transpose() * qg),
            (9, 6, (fp - p * t).transpose() * qg),
            (12, 3, (fr - r * t).transpose() * qa),
            (12, 6, (fs - s * t).transpose() * qa),
        ];
        let mut covariance = SMatrix::<f64, 15, 15>::zeros();
        for (row, column, block) in &blocks {
            set(&mut covariance, *row, *column, block);
        }
        covariance.fixed_view_mut::<3, 3>(9, 9).fill_diagonal(qg * t);
        covariance.fixed_view_mut::<3, 3>(12, 12).fill_diagonal(qa * t);
        covariance
    }
}
