//! Where the frame of the world lies in the map, where nobody has told: it is estimated with the map.
//!
//! Measurements say where the open submap's base B is as seen from the world, U = O⁻¹B, O the frame of the world in the
//! map and O⁻¹ = W the map in the world. With O = Ô Exp(ω) and B = B̂ Exp(β),
//!
//! ```math
//! U = \hat U\, \mathrm{Exp}(\upsilon), \quad \upsilon = \beta - \mathrm{Ad}(\hat U)^{-1} \omega, \quad
//! \omega = \mathrm{Ad}(\hat U)(\beta - \upsilon)
//! ```
//!
//! Two positions of the submap, or one pose, tell υ; before, nothing is known of ω, and after it the last equation says
//! all that is: it has what is known of β and, independent of it, of υ.

use super::near::{Near, in_map};
use super::outside::Outside;
use lienav_lie::Se2;
use lienav_slam::{CalibrationEstimate, CalibrationParameter, PoseEstimate};
use nalgebra::{DMatrix, Matrix3, MatrixXx3};

impl Near {
    /// The first row of ω.
    pub fn row_of_world(&self) -> usize {
        3 + 2 * self.landmarks.len()
    }

    /// The base as seen from the world; in the map where that is the world.
    pub fn seen_from_world(&self) -> Se2 {
        self.world.map_or(self.base, |world| world.inverse() * self.base)
    }

    /// Cov(·, υ) of all rows.
    pub fn with_seen_from_world(&self) -> MatrixXx3<f64> {
        let of_base = self.covariance.fixed_columns::<3>(0);
        match self.world {
            None => of_base.into_owned(),
            Some(_) => {
                let back = self.seen_from_world().inverse().adjoint();
                of_base - self.covariance.fixed_columns::<3>(self.row_of_world()) * back.transpose()
            }
        }
    }

    /// Cov(υ), of which `seen` is Cov(·, υ).
    pub fn of_seen_from_world(&self, seen: &MatrixXx3<f64>) -> Matrix3<f64> {
        let of_base = seen.fixed_rows::<3>(0);
        match self.world {
            None => of_base.into_owned(),
            Some(_) => {
                let back = self.seen_from_world().inverse().adjoint();
                let own: Matrix3<f64> = of_base - back * seen.fixed_rows::<3>(self.row_of_world());
                0.5 * (own + own.transpose())
            }
        }
    }

    /// The pose in the world of a robot at `local` as seen from the base, and the covariance of (x, y, θ) there.
    pub fn in_world(&self, local: &PoseEstimate) -> (Se2, Matrix3<f64>) {
        let base = self.seen_from_world();
        let own = self.of_seen_from_world(&self.with_seen_from_world());
        let turn = base.rotation().to_homogeneous();
        let covariance = in_map(&(base.rotation() * local.pose.p), &base, &own);
        (base * local.pose, covariance + turn * local.covariance * turn.transpose())
    }

    /// The world is in the map from now on, as `outside` has the base in it. `None`, and nothing is changed, if that
    /// leaves something open.
    pub fn georeference(&mut self, outside: &Outside) -> Option<()> {
        let own = outside.information.cholesky()?.inverse();
        let to_world = outside.at.adjoint();
        let n = self.covariance.nrows();
        let with_all = to_world * self.covariance.fixed_rows::<3>(0);
        let of_base = self.covariance.fixed_view::<3, 3>(0, 0).into_owned();
        let mut covariance = DMatrix::zeros(n + 3, n + 3);
        covariance.view_mut((0, 0), (n, n)).copy_from(&self.covariance);
        covariance.view_mut((n, 0), (3, n)).copy_from(&with_all);
        covariance.view_mut((0, n), (n, 3)).copy_from(&with_all.transpose());
        covariance.view_mut((n, n), (3, 3)).copy_from(&(to_world * (of_base + own) * to_world.transpose()));
        self.world = Some(self.base * outside.at.inverse());
        self.covariance = covariance;
        Some(())
    }

    /// Nothing is known of where the world lies.
    pub fn forget_world(&mut self) {
        if self.world.take().is_some() {
            let n = self.row_of_world();
            self.covariance = self.covariance.view((0, 0), (n, n)).into_owned();
        }
    }

    /// The map in the world, W = O⁻¹: x, y, m, and yaw, rad, with their standard deviations; `None` where nothing is
    /// known of it.
    pub fn world_estimates(&self) -> Option<[CalibrationEstimate; 3]> {
        use CalibrationParameter::{WorldX, WorldY, WorldYaw};
        let map = self.world?.inverse();
        let row = self.row_of_world();
        // W = Exp(−ω)Ŵ = Ŵ Exp(−Ad(Ŵ)⁻¹ω).
        let back = map.inverse().adjoint();
        let own = back * self.covariance.fixed_view::<3, 3>(row, row) * back.transpose();
        let covariance = in_map(&nalgebra::Vector2::zeros(), &map, &own);
        let of = |parameter, value, k: usize| CalibrationEstimate {
            parameter,
            value,
            std: covariance[(k, k)].max(0.0).sqrt(),
        };
        Some([of(WorldX, map.p.x, 0), of(WorldY, map.p.y, 1), of(WorldYaw, map.theta, 2)])
    }
}
