//! What an error of the state is, and the linear maps between such coordinates.
//!
//! The errors of all filters are linear functions of the left errors at a linearization point x̂,
//!
//! ```math
//! R = \mathrm{Exp}(ξ_R) \hat R,  v = \hat v + ξ_v + ξ_R × \hat v,  p = \hat p + ξ_p + ξ_R × \hat p,
//! p_i - p = \hat r_i + e_i + ξ_R × \hat r_i
//! ```
//!
//! with r̂_i = p̂_i − p̂: on SE₂₊ₙ(3), X_true = Exp(ξ) X̂, and e_i = ξ_i − ξ_p (Barrau and Bonnabel 2017). Biases go by
//! differences. A filter in other coordinates has transition S(x̂⁺) Φ S(x̂)⁻¹ and measurement matrix H S(x̂)⁻¹, where Φ
//! and H are those of the left errors; this file has S.

use super::nav::Nav;
use crate::covariance::{NAV, NavMatrix};
use lienav_lie::hat;
use nalgebra::{Matrix3, SMatrix, Vector3};

/// First row of ξ_R, or of the rotation's error about the axes of the world.
pub const ROTATION: usize = 0;
/// First row of the velocity.
pub const VELOCITY: usize = 3;
/// First row of the position.
pub const POSITION: usize = 6;
/// First row of the gyroscope's bias.
pub const GYRO_BIAS: usize = 9;
/// First row of the accelerometer's bias.
pub const FORCE_BIAS: usize = 12;

/// The coordinates of a filter's errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Errors {
    /// (ξ_R, ξ_v, ξ_p, δb_g, δb_a; e_i). Measurements of landmarks have columns of landmarks alone.
    #[default]
    Left,
    /// (ξ_R, δu, δp, δb_g, δb_a; δz_i) with u = Rᵀv and z_i = Rᵀ(p_i − p): x_N = (p, ξ_R about gravity) by differences,
    /// x_O = (ξ_R across gravity, u, biases, z_i). Shen 2019, section 5.3, in space.
    Reduced,
    /// (ξ_R, δv, δp, δb_g, δb_a; δp_i), all by differences but for the rotation.
    Additive,
}

impl Errors {
    /// S of the navigation state at a linearization point.
    pub fn from_left(self, at: &Nav) -> NavMatrix {
        let mut s = NavMatrix::identity();
        match self {
            Self::Left => {}
            Self::Reduced => {
                put(&mut s, VELOCITY, VELOCITY, &at.rotation.matrix().transpose());
                put(&mut s, POSITION, ROTATION, &-hat(&at.position));
            }
            Self::Additive => {
                put(&mut s, VELOCITY, ROTATION, &-hat(&at.velocity));
                put(&mut s, POSITION, ROTATION, &-hat(&at.position));
            }
        }
        s
    }

    /// S⁻¹.
    pub fn from_left_inverse(self, at: &Nav) -> NavMatrix {
        let mut s = NavMatrix::identity();
        match self {
            Self::Left => {}
            Self::Reduced => {
                put(&mut s, VELOCITY, VELOCITY, at.rotation.matrix());
                put(&mut s, POSITION, ROTATION, &hat(&at.position));
            }
            Self::Additive => {
                put(&mut s, VELOCITY, ROTATION, &hat(&at.velocity));
                put(&mut s, POSITION, ROTATION, &hat(&at.position));
            }
        }
        s
    }

    /// S of a landmark at p̂_i: its error is A e_i + C nav with the navigation state in the coordinates of the filter;
    /// A and C.
    pub fn landmark_from_left(self, at: &Nav, landmark: &Vector3<f64>) -> (Matrix3<f64>, SMatrix<f64, 3, NAV>) {
        let mut by_nav = SMatrix::<f64, 3, NAV>::zeros();
        match self {
            Self::Left => (Matrix3::identity(), by_nav),
            Self::Reduced => (at.rotation.matrix().transpose(), by_nav),
            Self::Additive => {
                // δp_i = e_i + ξ_p − p̂_i^ ξ_R and δp = ξ_p − p̂^ ξ_R.
                by_nav.fixed_view_mut::<3, 3>(0, ROTATION).copy_from(&-hat(&(landmark - at.position)));
                by_nav.fixed_view_mut::<3, 3>(0, POSITION).fill_with_identity();
                (Matrix3::identity(), by_nav)
            }
        }
    }
}

/// Sets a block of three by three.
pub fn put(matrix: &mut NavMatrix, row: usize, column: usize, block: &Matrix3<f64>) {
    matrix.fixed_view_mut::<3, 3>(row, column).copy_from(block);
}

/// Three rows of a list of numbers.
pub fn part(numbers: &[f64], row: usize) -> Vector3<f64> {
    Vector3::new(numbers[row], numbers[row + 1], numbers[row + 2])
}
