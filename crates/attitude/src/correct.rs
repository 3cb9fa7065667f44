//! Kalman updates of a belief: position or velocity about zero, gyroscope bias measured while stationary (zero-rate
//! update), heading.

use super::DropReason;
use super::belief::{Belief, Columns, Error, GYRO, LEVER, NU, RHO, SCALE, SIZE, XI};
use super::state::State;
use nalgebra::{Matrix3, SVector, Vector3};

/// What is measured: three numbers that are zero but for noise.
pub struct Measured {
    /// P Hᵀ.
    columns: Columns,
    /// H P Hᵀ.
    pub covariance: Matrix3<f64>,
    /// What the belief expects to be measured: the value of the estimate and H m.
    pub expected: Vector3<f64>,
}

impl Measured {
    /// The position beside that of what turns about a point, p − S r. The vector is zero but for noise. Noise that has
    /// no direction is the same in the axes of the truth and in those of the estimate, exp(−ξ) p = p̂ + ρ: H = I at ρ.
    /// The derivative of p itself, ρ + ξ × p̂, would show a heading, which nothing shows here, the better the larger p̂
    /// is.
    pub fn position(state: &State, belief: &Belief) -> Self {
        let (p, s) = (&belief.covariance, &state.swept);
        let columns: Columns = p.fixed_columns::<3>(RHO) - p.fixed_columns::<3>(LEVER) * s.transpose();
        let covariance = columns.fixed_rows::<3>(RHO) - s * columns.fixed_rows::<3>(LEVER);
        let mean = belief.mean.fixed_rows::<3>(RHO) - s * belief.mean.fixed_rows::<3>(LEVER);
        Self { columns, covariance, expected: state.residual_position() + mean }
    }

    /// The velocity, in the same sense.
    pub fn velocity(state: &State, belief: &Belief) -> Self {
        Self::block(belief, NU, &state.velocity)
    }

    /// The gyroscope's bias less `rate`.
    pub fn gyro_bias(state: &State, belief: &Belief, rate: &Vector3<f64>) -> Self {
        Self::block(belief, GYRO, &(state.gyro_bias - rate))
    }

    fn block(belief: &Belief, at: usize, value: &Vector3<f64>) -> Self {
        let columns: Columns = belief.covariance.fixed_columns::<3>(at).into_owned();
        let covariance = columns.fixed_rows::<3>(at).into_owned();
        Self { columns, covariance, expected: value + belief.mean.fixed_rows::<3>(at) }
    }

    /// P ← P − W Wᵀ with W = P Hᵀ L⁻ᵀ, S = L Lᵀ, which stays symmetric to the last bit; m ← m + W L⁻¹ r.
    ///
    /// # Errors
    /// No positive definite innovation covariance.
    pub fn correct(&self, belief: &mut Belief, noise: &Vector3<f64>) -> Result<(), DropReason> {
        let s = self.covariance + Matrix3::from_diagonal(noise);
        let l = s.cholesky().ok_or(DropReason::Singular)?.unpack();
        let (i0, i1, i2) = (1.0 / l[(0, 0)], 1.0 / l[(1, 1)], 1.0 / l[(2, 2)]);
        let forward = |x: [f64; 3]| {
            let a = x[0] * i0;
            let b = (x[1] - l[(1, 0)] * a) * i1;
            [a, b, (x[2] - l[(2, 0)] * a - l[(2, 1)] * b) * i2]
        };
        let mut w = Columns::zeros();
        for row in 0..SIZE {
            let solved = forward([self.columns[(row, 0)], self.columns[(row, 1)], self.columns[(row, 2)]]);
            for (k, x) in solved.into_iter().enumerate() {
                w[(row, k)] = x;
            }
        }
        for k in 0..3 {
            let column: SVector<f64, SIZE> = w.column(k).into_owned();
            belief.covariance.ger(-1.0, &column, &column, 1.0);
        }
        let whitened = Vector3::from(forward([-self.expected.x, -self.expected.y, -self.expected.z]));
        belief.mean += w * whitened;
        Ok(())
    }

    /// The same, but the gyroscope's bias about `axis`, a unit vector of the body, is left as it is (Schmidt–Kalman
    /// update), if there is one.
    ///
    /// # Errors
    /// No positive definite innovation covariance.
    pub fn correct_but(
        &self,
        belief: &mut Belief,
        noise: &Vector3<f64>,
        axis: Option<&Vector3<f64>>,
    ) -> Result<(), DropReason> {
        let Some(axis) = axis else { return self.correct(belief, noise) };
        let before = *belief;
        self.correct(belief, noise)?;
        // P of the gain taken, which differs from the best one along the axis alone.
        let of_rates = [GYRO, SCALE, SCALE + 3, SCALE + 6];
        for i in of_rates {
            for j in of_rates {
                let change = before.covariance.fixed_view::<3, 3>(i, j) - belief.covariance.fixed_view::<3, 3>(i, j);
                let shown = axis.dot(&(change * axis));
                let sum = belief.covariance.fixed_view::<3, 3>(i, j) + axis * axis.transpose() * shown;
                belief.covariance.fixed_view_mut::<3, 3>(i, j).copy_from(&sum);
            }
            let moved = belief.mean.fixed_rows::<3>(i) - before.mean.fixed_rows::<3>(i);
            let left = axis * axis.dot(&moved);
            let mut part = belief.mean.fixed_rows_mut::<3>(i);
            part -= left;
        }
        Ok(())
    }

    /// Log-likelihood of what was measured with this noise, but for a constant.
    pub fn log_likelihood(&self, noise: &Vector3<f64>) -> f64 {
        let s = self.covariance + Matrix3::from_diagonal(noise);
        s.cholesky().map_or(f64::NEG_INFINITY, |factor| {
            let l = factor.l_dirty().diagonal();
            -l.product().ln() - 0.5 * self.expected.dot(&factor.solve(&self.expected))
        })
    }
}

/// The heading is off by `angle`, with this variance: ξ_z is measured. Roll and pitch are left as they are, for a field
/// that is bent must not tilt the horizon: their gain is zero, and the covariance is that of the gain taken.
pub fn correct_heading(belief: &mut Belief, angle: f64, variance: f64) {
    let column: Error = belief.covariance.column(XI + 2).into_owned();
    let s = column[XI + 2] + variance;
    if s <= 0.0 {
        return;
    }
    let mut gain = column / s;
    gain[XI] = 0.0;
    gain[XI + 1] = 0.0;
    let cross = gain * column.transpose();
    belief.covariance += gain * gain.transpose() * s - cross - cross.transpose();
    belief.mean += gain * (angle - belief.mean[XI + 2]);
}
