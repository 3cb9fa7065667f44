//! A robot on a level floor.

use super::bearing::across;
use super::{At, Linearized, Measurement};
use crate::covariance::NAV;
use crate::state::errors::{POSITION, ROTATION};
use lienav_lie::hat;
use nalgebra::{Matrix3, SMatrix, Vector3};

/// The height and the inclination of the body stay what they are on the floor: p_z = h + n_h, and the vertical is seen
/// from the body in the direction of u, but for two small angles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Planar {
    /// h, m: the height of the body's origin.
    pub height_m: f64,
    /// Its standard deviation, m.
    pub height_sigma_m: f64,
    /// u, a unit vector: up, in the axes of the body.
    pub up: Vector3<f64>,
    /// Standard deviation of each of the angles, rad.
    pub tilt_sigma: f64,
}

impl Measurement for Planar {
    /// δ(Rᵀ e_z) = R̂ᵀ e_z^ ξ_R, which is zero for a turn about the vertical; δp_z = ξ_pz − (p̂^ ξ_R)_z.
    fn linearize(&self, at: &At) -> Option<Linearized> {
        let basis = across(&self.up);
        let turn = at.nav.rotation.matrix().transpose();
        let lean = basis * turn.column(2);
        let residual = Vector3::new(self.height_m - at.nav.position.z, -lean.x, -lean.y);
        let mut by_nav = SMatrix::<f64, 3, NAV>::zeros();
        by_nav[(0, POSITION + 2)] = 1.0;
        by_nav.fixed_view_mut::<1, 3>(0, ROTATION).copy_from(&-hat(&at.nav.position).row(2));
        by_nav.fixed_view_mut::<2, 3>(1, ROTATION).copy_from(&(basis * turn * hat(&Vector3::z())));
        let (h, t) = (self.height_sigma_m.powi(2), self.tilt_sigma.powi(2));
        Some(Linearized::of_nav(&residual, &by_nav, &Matrix3::from_diagonal(&Vector3::new(h, t, t))))
    }
}
