//! What is known from outside of where the open submap lies in the map: measurements of the pose, of a satellite
//! receiver for example.
//!
//! A measurement y = h(X) + n of the robot's pose X = B X_l, X_l as seen from the base B of the open submap, is one of
//! the base, which the submap itself does not know: with B = B̂ Exp(β) and H the Jacobian of h by (x, y, θ),
//!
//! ```math
//! y - h(\hat B \hat X_l) = H \begin{pmatrix} R(\hat B) & J R(\hat B) \hat x_l \\ 0 & 1 \end{pmatrix} \beta + n', \quad
//! \mathrm{Cov}(n') = R + H\,P_l\,H^T
//! ```
//!
//! P_l the covariance of X_l, turned into the axes of the map. β has a joint Gaussian with landmarks, which is told
//! ([`Near::correct`]). What all measurements of a submap have said is kept as the information of β, and is said again
//! where that Gaussian is asked for anew; when the submap is closed, it goes to the least squares as a way from the
//! origin of the map to the base. That errors of X_l are the same from one measurement to the next is neglected: beside
//! those of measurements they are small.

use super::near::Near;
use super::problem::{Placed, Problem, WORLD, world_of};
use super::submap::{Gaussian, Submap};
use super::symmetric::Symmetric;
use lienav_lie::{Se2, skew};
use lienav_slam::ExternalMeasurement;
use nalgebra::{DMatrix, Matrix3, Vector3};

/// What is less than this share of the information in another direction is nothing.
const NOTHING: f64 = 1e-12;

/// What is known of a base: with B = `at` Exp(β), ½ βᵀΛβ − ηᵀβ.
#[derive(Clone, Copy, Debug)]
pub struct Outside {
    /// About where the base is.
    pub at: Se2,
    /// Λ, of which some directions may be zero.
    pub information: Matrix3<f64>,
    /// η.
    pub vector: Vector3<f64>,
}

impl Outside {
    /// Nothing.
    pub fn none(at: Se2) -> Self {
        Self { at, information: Matrix3::zeros(), vector: Vector3::zeros() }
    }

    /// Whether it is nothing.
    pub fn is_none(&self) -> bool {
        self.information == Matrix3::zeros()
    }

    /// The same about another pose, near by.
    pub fn about(&self, at: Se2) -> Self {
        let moved = (self.at.inverse() * at).log();
        // at Exp(β) = self.at Exp(moved) Exp(β), to first order in β.
        let by_moved = Se2::left_jacobian(&-moved).try_inverse().unwrap_or_else(Matrix3::identity);
        let information = by_moved.transpose() * self.information * by_moved;
        let vector = by_moved.transpose() * (self.vector - self.information * moved);
        Self { at, information: 0.5 * (information + information.transpose()), vector }
    }

    /// About what it says for sure.
    pub fn settled(&self) -> Self {
        self.about(self.mean())
    }

    /// Learns from a measurement, whose residual is at `at`.
    pub fn learn(&mut self, measured: &BaseMeasurement) -> Option<()> {
        let weighted = measured.by_base.transpose() * measured.noise.try_inverse()?;
        self.information += weighted * measured.by_base;
        self.vector += weighted * measured.residual;
        Some(())
    }

    /// As measurements of β with the noise one: rows of H, and the residual of each.
    fn rows(&self) -> (Matrix3<f64>, Vector3<f64>) {
        let submaps = self.information.symmetric_eigen();
        let largest = submaps.eigenvalues.amax();
        let (mut rows, mut residual) = (Matrix3::zeros(), Vector3::zeros());
        for k in 0..3 {
            let value = submaps.eigenvalues[k];
            if value > NOTHING * largest {
                let direction = submaps.eigenvectors.column(k);
                rows.row_mut(k).copy_from(&(direction.transpose() * value.sqrt()));
                residual[k] = direction.dot(&self.vector) / value.sqrt();
            }
        }
        (rows, residual)
    }

    /// What it says for sure: `at`, moved where Λ has a direction.
    fn mean(&self) -> Se2 {
        let (rows, residual) = self.rows();
        let mut moved = Vector3::zeros();
        for k in 0..3 {
            let square = rows.row(k).norm_squared();
            if square > 0.0 {
                moved += rows.row(k).transpose() * (residual[k] / square);
            }
        }
        self.at * Se2::exp(&moved)
    }

    /// As a way from `origin` to the base.
    pub fn motion(&self, origin: &Se2) -> Submap {
        let about = self.settled();
        let exit = origin.inverse() * about.at;
        // X = Exp(ξ)X̂ = X̂ Exp(Ad(X̂)⁻¹ξ).
        let to_base = exit.inverse().adjoint();
        let information = to_base.transpose() * about.information * to_base;
        let information = Symmetric::new(&DMatrix::from_column_slice(3, 3, information.as_slice()));
        let (ids, places, covariance) = (Vec::new(), Vec::new(), DMatrix::zeros(0, 0));
        Submap::of_information(Gaussian { exit, ids, places, covariance }, information)
    }

    /// Of such a way.
    pub fn of_motion(origin: &Se2, motion: &Submap) -> Self {
        let to_motion = motion.exit.adjoint();
        let whole: Matrix3<f64> = motion.information().whole().fixed_view::<3, 3>(0, 0).into_owned();
        Self {
            at: *origin * motion.exit,
            information: to_motion.transpose() * whole * to_motion,
            vector: Vector3::zeros(),
        }
    }
}

/// A measurement of the base of the open submap; rows beyond its numbers are zero, and their noise is one.
#[derive(Clone, Copy, Debug)]
pub struct BaseMeasurement {
    residual: Vector3<f64>,
    by_base: Matrix3<f64>,
    noise: Matrix3<f64>,
}

impl BaseMeasurement {
    /// A measurement that was expected of the robot at `base * local`, whose pose as seen from the base has the
    /// covariance `of_local` of (x, y, θ).
    pub fn new(measurement: &ExternalMeasurement, base: &Se2, (local, of_local): (&Se2, &Matrix3<f64>)) -> Self {
        let (turn, arm) = (base.rotation(), base.rotation() * skew(&local.p));
        let by_base = Matrix3::new(turn[(0, 0)], turn[(0, 1)], arm.x, turn[(1, 0)], turn[(1, 1)], arm.y, 0.0, 0.0, 1.0);
        let turned = turn.to_homogeneous();
        let own = measurement.by_pose * turned * of_local * turned.transpose() * measurement.by_pose.transpose();
        let noise = padded(&(measurement.noise + own), measurement.dim);
        Self { residual: measurement.residual, by_base: measurement.by_pose * by_base, noise }
    }
}

/// The first rows and columns of a covariance, with ones behind.
fn padded(covariance: &Matrix3<f64>, dim: usize) -> Matrix3<f64> {
    Matrix3::from_fn(|i, j| match i.max(j) < dim {
        true => covariance[(i, j)],
        false => f64::from(u8::from(i == j)),
    })
}

/// The squared distance of a measurement from what is expected where the pose has this covariance of (x, y, θ) in the
/// map; `None` if it has none.
pub fn distance(measurement: &ExternalMeasurement, of_pose: &Matrix3<f64>) -> Option<f64> {
    let spread = measurement.noise + measurement.by_pose * of_pose * measurement.by_pose.transpose();
    Some(measurement.residual.dot(&(padded(&spread, measurement.dim).try_inverse()? * measurement.residual)))
}

impl Near {
    /// Learns from a measurement of the base, and keeps in `known` what it has said. `None`, and nothing is changed, if
    /// its noise is none.
    pub fn tell(&mut self, measured: &BaseMeasurement, known: &mut Outside) -> Option<()> {
        let mut outside = known.about(self.seen_from_world());
        outside.learn(measured)?;
        self.correct(&measured.residual, &measured.by_base, &measured.noise, self.world.is_some())?;
        *known = outside.about(self.seen_from_world());
        Some(())
    }

    /// Learns what is known from outside of the base, as seen from the world where that is in the map.
    pub fn tell_again(&mut self, outside: &Outside) {
        self.tell_of(outside, self.world.is_some());
    }

    /// Learns what is known of the base from outside, in the map or in the world.
    fn tell_of(&mut self, outside: &Outside, is_of_world: bool) {
        if !outside.is_none() {
            let at = if is_of_world { self.seen_from_world() } else { self.base };
            let (rows, residual) = outside.about(at).rows();
            // Noise of one has an inverse.
            let _ = self.correct(&residual, &rows, &Matrix3::identity(), is_of_world);
        }
    }

    /// Learns what a submap behind these says that is none but a way from outside, to the base.
    pub fn informed_by(mut self, placed: &Placed, origin: &Se2) -> Self {
        if !placed.is_of_world {
            self.tell_of(&Outside::of_motion(origin, &placed.submap), false);
        } else if self.world.is_some() {
            self.tell_of(&Outside::of_motion(&Se2::identity(), &placed.submap), true);
        }
        self.closed += 1;
        self
    }

    /// Learns r = H β + n, or r = H υ + n where it is seen from the world: of the base and, with it, of all landmarks.
    fn correct(
        &mut self,
        residual: &Vector3<f64>,
        by_base: &Matrix3<f64>,
        noise: &Matrix3<f64>,
        is_of_world: bool,
    ) -> Option<()> {
        let (crossed, spread) = if is_of_world {
            let seen = self.with_seen_from_world();
            let own = self.of_seen_from_world(&seen);
            (seen * by_base.transpose(), by_base * own * by_base.transpose() + noise)
        } else {
            let crossed = self.covariance.fixed_columns::<3>(0) * by_base.transpose();
            let spread = by_base * crossed.fixed_rows::<3>(0) + noise;
            (crossed, spread)
        };
        let root = spread.cholesky()?;
        let gain = root.solve(&crossed.transpose()).transpose();
        let moved = &gain * residual;
        self.covariance.gemm(-1.0, &gain, &crossed.transpose(), 1.0);
        let transposed = self.covariance.transpose();
        self.covariance += transposed;
        self.covariance *= 0.5;
        self.base = self.base * Se2::exp(&moved.fixed_rows::<3>(0).into_owned());
        for (a, place) in self.places.iter_mut().enumerate() {
            *place += moved.fixed_rows::<2>(3 + 2 * a);
        }
        let row = self.row_of_world();
        self.world = self.world.map(|world| world * Se2::exp(&moved.fixed_rows::<3>(row).into_owned()));
        self.choose_frames();
        Some(())
    }
}

impl Problem {
    /// Adds what is known from outside of where its last pose is: in the map, or in the world, which is at `world` in
    /// the map. Says whether poses have other numbers now.
    pub fn tell_of_base(&mut self, outside: &Outside, world: Option<&Se2>) -> bool {
        let Some(world) = world.filter(|_| !outside.is_none()) else {
            self.tell(outside);
            return false;
        };
        let known = world_of(&self.submaps);
        if known.is_none() && self.begin_with_world(*world).is_none() {
            return false;
        }
        let (motion, exit) = (outside.motion(&Se2::identity()), self.bases.len() - 1);
        let base = known.or(Some(WORLD));
        self.push(Placed { base, is_of_world: true, ..Placed::of_outside(motion, exit) });
        self.closed += 1;
        known.is_none()
    }

    /// The same in the map. That of a first pose that is known exactly is nothing new.
    pub fn tell(&mut self, outside: &Outside) {
        let exit = self.bases.len() - 1;
        if exit > 0 && !outside.is_none() {
            self.push(Placed::of_outside(outside.motion(&self.bases[0]), exit));
            self.closed += 1;
        }
    }
}
