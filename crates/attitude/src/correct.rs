//! Kalman updates: position or velocity about zero, gyroscope bias measured while stationary (zero-rate update),
//! heading.

use super::DropReason;
use super::state::{Columns, Covariance, Error, GYRO, NU, SCALE, SIZE, State, XI};
use nalgebra::{Matrix3, SVector, Vector3};

impl State {
    /// p = 0, with variances `believed` by axis over the interval since the last correction. The gyroscope's bias
    /// about the axis `considered`, a unit vector of the body, is left as it is (Schmidt–Kalman update).
    ///
    /// # Errors
    /// No positive definite innovation covariance.
    pub fn correct_position(
        &mut self,
        believed: &Vector3<f64>,
        considered: Option<&Vector3<f64>>,
    ) -> Result<(), DropReason> {
        let residual = -self.residual_position();
        let columns = self.residual_columns();
        let covariance = self.residual_covariance(&columns);
        self.correct_to_zero(&columns, &covariance, residual, believed, considered)
    }

    /// Zero-velocity update: v = 0, with a variance by axis over the interval since the last correction.
    ///
    /// # Errors
    /// No positive definite innovation covariance.
    pub fn correct_velocity(&mut self, believed: f64) -> Result<(), DropReason> {
        let residual = -self.velocity;
        let columns: Columns = self.covariance.fixed_columns::<3>(NU).into_owned();
        let covariance = columns.fixed_rows::<3>(NU).into_owned();
        self.correct_to_zero(&columns, &covariance, residual, &Vector3::repeat(believed), None)
    }

    /// The vector x at `at` is zero but for noise. Noise that has no direction is the same in the axes of the truth and
    /// in those of the estimate, exp(−ξ) x = x̂ + ν: H = I at `at` and zero elsewhere. The derivative of x itself,
    /// ν + ξ × x̂, would show a heading, which nothing shows here, the better the larger x̂ is.
    fn correct_to_zero(
        &mut self,
        columns: &Columns,
        covariance: &Matrix3<f64>,
        residual: Vector3<f64>,
        believed: &Vector3<f64>,
        considered: Option<&Vector3<f64>>,
    ) -> Result<(), DropReason> {
        let s = covariance + Matrix3::from_diagonal(believed);
        let of_rates = [GYRO, SCALE, SCALE + 3, SCALE + 6];
        let block = |p: &Covariance, i: usize, j: usize| -> Matrix3<f64> { p.fixed_view::<3, 3>(i, j).into_owned() };
        let before = considered.map(|_| self.covariance);
        let mut correction = update(&mut self.covariance, columns, &s, &residual)?;
        if let (Some(axis), Some(before)) = (considered, before) {
            // P of the gain taken, which differs from the best one along the axis alone.
            for i in of_rates {
                for j in of_rates {
                    let after = block(&self.covariance, i, j);
                    let shown = axis.dot(&((block(&before, i, j) - after) * axis));
                    let sum = after + axis * axis.transpose() * shown;
                    self.covariance.fixed_view_mut::<3, 3>(i, j).copy_from(&sum);
                }
                let left = axis * axis.dot(&correction.fixed_rows::<3>(i));
                let mut part = correction.fixed_rows_mut::<3>(i);
                part -= left;
            }
        }
        self.retract(&correction);
        Ok(())
    }

    /// The gyroscope's bias is `rate` with this variance. Left out where it does not pass the gate.
    ///
    /// # Errors
    /// Not credible, or no positive definite innovation covariance.
    pub fn correct_bias(&mut self, rate: &Vector3<f64>, variance: f64, gate: f64) -> Result<(), DropReason> {
        let columns: Columns = self.covariance.fixed_columns::<3>(GYRO).into_owned();
        let s = columns.fixed_rows::<3>(GYRO) + Matrix3::from_diagonal_element(variance);
        let residual = rate - self.gyro_bias;
        let factor = s.cholesky().ok_or(DropReason::Singular)?;
        if residual.dot(&factor.solve(&residual)) > gate {
            return Err(DropReason::NotAtRest);
        }
        let correction = update(&mut self.covariance, &columns, &s, &residual)?;
        self.retract(&correction);
        Ok(())
    }

    /// The heading is off by `angle`, with this variance: ξ_z is measured. Roll and pitch are left as they are, for a
    /// field that is bent must not tilt the horizon: their gain is zero, and the covariance is that of the gain taken.
    pub fn correct_heading(&mut self, angle: f64, variance: f64) {
        let column: Error = self.covariance.column(XI + 2).into_owned();
        let s = column[XI + 2] + variance;
        if s <= 0.0 {
            return;
        }
        let mut gain = column / s;
        gain[XI] = 0.0;
        gain[XI + 1] = 0.0;
        let cross = gain * column.transpose();
        self.covariance += gain * gain.transpose() * s - cross - cross.transpose();
        self.retract(&(gain * angle));
    }
}

/// P ← P − W Wᵀ with W = P Hᵀ L⁻ᵀ, S = L Lᵀ, which stays symmetric to the last bit; the correction is W L⁻¹ r.
fn update(
    covariance: &mut Covariance,
    columns: &Columns,
    s: &Matrix3<f64>,
    residual: &Vector3<f64>,
) -> Result<Error, DropReason> {
    let l = s.cholesky().ok_or(DropReason::Singular)?.unpack();
    let (i0, i1, i2) = (1.0 / l[(0, 0)], 1.0 / l[(1, 1)], 1.0 / l[(2, 2)]);
    let forward = |x: [f64; 3]| {
        let a = x[0] * i0;
        let b = (x[1] - l[(1, 0)] * a) * i1;
        [a, b, (x[2] - l[(2, 0)] * a - l[(2, 1)] * b) * i2]
    };
    let mut w = Columns::zeros();
    for row in 0..SIZE {
        let solved = forward([columns[(row, 0)], columns[(row, 1)], columns[(row, 2)]]);
        for (k, x) in solved.into_iter().enumerate() {
            w[(row, k)] = x;
        }
    }
    for k in 0..3 {
        let column: SVector<f64, SIZE> = w.column(k).into_owned();
        covariance.ger(-1.0, &column, &column, 1.0);
    }
    let [a, b, c] = forward([residual.x, residual.y, residual.z]);
    Ok(w * Vector3::new(a, b, c))
}
