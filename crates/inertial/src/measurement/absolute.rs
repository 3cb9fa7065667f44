//! Position and pose in the world: satellite navigation, motion capture, registration to a map.

use super::{At, Linearized, Measurement};
use crate::covariance::NAV;
use crate::state::errors::{POSITION, ROTATION};
use lienav_lie::{LieGroup, Se3, So3, hat};
use nalgebra::{Matrix3, Matrix6, SMatrix, Vector3, Vector6};

/// z = p + R t_s + n, the place of an antenna in the world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AbsolutePosition {
    /// t_s, m: the antenna on the body.
    pub lever: Vector3<f64>,
    /// z, m, in the world.
    pub position: Vector3<f64>,
    /// Covariance, m², in the world.
    pub covariance: Matrix3<f64>,
}

/// δ(p + R l) = ξ_p − (p̂ + R̂ l)^ ξ_R, 3 × 15, and p̂ + R̂ l.
fn place(at: &At, lever: &Vector3<f64>) -> (SMatrix<f64, 3, NAV>, Vector3<f64>) {
    let place = at.nav.position + at.nav.rotation * *lever;
    let mut by_nav = SMatrix::<f64, 3, NAV>::zeros();
    by_nav.fixed_view_mut::<3, 3>(0, ROTATION).copy_from(&-hat(&place));
    by_nav.fixed_view_mut::<3, 3>(0, POSITION).fill_with_identity();
    (by_nav, place)
}

impl Measurement for AbsolutePosition {
    fn linearize(&self, at: &At) -> Option<Linearized> {
        let (by_nav, place) = place(at, &self.lever);
        Some(Linearized::of_nav(&(self.position - place), &by_nav, &self.covariance))
    }
}

/// The pose of a sensor in the world, Z = (Exp(n_θ) R R_s, p + R t_s + n_p): noise about the axes of the world, as in
/// geometry_msgs/PoseWithCovariance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AbsolutePose {
    /// Where the sensor is on the body.
    pub mount: Se3,
    /// Z.
    pub pose: Se3,
    /// Covariance of (n_p, n_θ), m² and rad².
    pub covariance: Matrix6<f64>,
}

impl Measurement for AbsolutePose {
    /// The residual of the rotation is ρ = Log(Z (R̂ R_s)ᵀ), with the derivative J_r(ρ)⁻¹ by ξ_R.
    fn linearize(&self, at: &At) -> Option<Linearized> {
        let (of_place, place) = place(at, &self.mount.translation);
        let expected = at.nav.rotation * self.mount.rotation;
        let turn = (self.pose.rotation * expected.inverse()).log();
        let apart = self.pose.translation - place;
        let residual = Vector6::new(apart.x, apart.y, apart.z, turn.x, turn.y, turn.z);
        let mut by_nav = SMatrix::<f64, 6, NAV>::zeros();
        by_nav.fixed_rows_mut::<3>(0).copy_from(&of_place);
        for k in 0..3 {
            let axis = Vector3::from_fn(|i, _| if i == k { 1.0 } else { 0.0 });
            by_nav.fixed_view_mut::<3, 1>(3, ROTATION + k).copy_from(&So3::dexp_right_inv(&turn, &axis));
        }
        Some(Linearized::of_nav(&residual, &by_nav, &self.covariance))
    }
}
