//! Covariance of an increment: white noise of the samples, and the random walks of the biases within the interval.

use super::Step;
use super::bias::BiasIntegrals;
use crate::imu::ImuNoise;
use lienav_lie::hat;
use nalgebra::{Matrix3, SMatrix, Vector3};

/// Covariance of ζ by white noise.
///
/// White noise is alike for all axes, so that ΔR n is white noise of the same density, and the covariance is made of
/// integrals of Δv and Δp alone: with V = [Δv]× and W = (T − s)[Δv]× + [Δp]×,
/// ζ = −∫(I, V, W) n_g ds − ∫(0, I, (T − s)I) n_a ds.
#[derive(Clone, Copy, Debug, Default)]
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

/// [a]× [b]×ᵀ = (a·b)I − b aᵀ.
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
        self.position += (pv + pv.transpose() + self.velocity * h) * h + product(&w, &w) * gyro + one(force * h * h / 3.0);
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
#[derive(Clone, Copy, Debug, Default)]
pub struct WalkIntegrals {
    /// ∫F(T − s) B(s) ds, in the blocks of B.
    first: BiasIntegrals,
    /// ∫F B_g B_gᵀ Fᵀ ds, lower triangle.
    gyro: Second,
    /// ∫F B_a B_aᵀ Fᵀ ds of (ζ_v, ζ_p).
    force: [Matrix3<f64>; 3],
}

/// Blocks of a symmetric 9 × 9 matrix.
#[derive(Clone, Copy, Debug, Default)]
struct Second {
    rr: Matrix3<f64>,
    vr: Matrix3<f64>,
    pr: Matrix3<f64>,
    vv: Matrix3<f64>,
    pv: Matrix3<f64>,
    pp: Matrix3<f64>,
}

impl WalkIntegrals {
    /// Adds a step of h seconds, at whose ends the bias integrals are these: a change of the bias at its middle.
    #[inline]
    pub fn add(&mut self, h: f64, before: &BiasIntegrals, after: &BiasIntegrals) {
        let mean = BiasIntegrals {
            rotation: (before.rotation + after.rotation) * 0.5,
            velocity: (before.velocity + after.velocity) * 0.5,
            position: (before.position + before.velocity * h + after.position) * 0.5,
            twice: (before.twice + before.rotation * h + after.twice) * 0.5,
        };
        let (first, g) = (&mut self.first, &mut self.gyro);
        first.position += (first.velocity + mean.position) * h;
        first.twice += (first.rotation + mean.twice) * h;
        first.velocity += mean.velocity * h;
        first.rotation += mean.rotation * h;

        let [vv, pv, pp] = &mut self.force;
        let rotation = mean.rotation * mean.rotation.transpose() * h;
        let turned = mean.rotation.transpose() * h;
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

    /// Covariance of (ζ, δb_g, δb_a) at the end, 15 × 15, by the random walks alone.
    pub fn covariance(&self, duration_s: f64, bias: &BiasIntegrals, noise: &ImuNoise) -> SMatrix<f64, 15, 15> {
        let mut p = SMatrix::<f64, 15, 15>::zeros();
        let b = bias.jacobian();
        let mean = b * duration_s - self.first.jacobian();
        let (qg, qa) = (noise.gyro_walk * noise.gyro_walk, noise.accelerometer_walk * noise.accelerometer_walk);
        // −∫(B(T) − F B)(B(T) − F B)ᵀ ds + ∫F B Bᵀ Fᵀ ds, with the Jacobians, which are −B.
        let first = self.first.jacobian();
        let around = |column: usize| {
            let (b, f) = (b.fixed_columns::<3>(column), first.fixed_columns::<3>(column));
            let cross: SMatrix<f64, 9, 9> = b * f.transpose();
            b * b.transpose() * duration_s - cross - cross.transpose()
        };
        let g = &self.gyro;
        let mut second = SMatrix::<f64, 9, 9>::zeros();
        for (row, column, block) in
            [(0, 0, g.rr), (3, 0, g.vr), (6, 0, g.pr), (3, 3, g.vv), (6, 3, g.pv), (6, 6, g.pp)]
        {
            set(&mut second, row, column, &block);
        }
        let mut own = (second + around(0)) * qg;
        let mut second = SMatrix::<f64, 9, 9>::zeros();
        let [vv, pv, pp] = self.force;
        for (row, column, block) in [(3, 3, vv), (6, 3, pv), (6, 6, pp)] {
            set(&mut second, row, column, &block);
        }
        own += (second + around(3)) * qa;
        p.fixed_view_mut::<9, 9>(0, 0).copy_from(&own);
        for (column, density) in [(0, qg), (3, qa)] {
            let cross = mean.fixed_columns::<3>(column) * density;
            p.fixed_view_mut::<9, 3>(0, 9 + column).copy_from(&cross);
            p.fixed_view_mut::<3, 9>(9 + column, 0).copy_from(&cross.transpose());
            p.fixed_view_mut::<3, 3>(9 + column, 9 + column).fill_diagonal(density * duration_s);
        }
        p
    }
}
