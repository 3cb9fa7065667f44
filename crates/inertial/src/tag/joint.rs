//! What six numbers of the state do to the pose of a tag relative to the body.
//!
//! Of a tag in the state, y = (e_i, a_i); of one whose place in the world is known, y = (ξ_R, ξ_p). All that the corners
//! of a tag say of a state is in y: the maximum a posteriori is found in six numbers, and the rest follows by its
//! covariance with y.

use super::landmark::TagRows;
use crate::state::State;
use crate::state::errors::{POSITION, ROTATION};
use lienav_lie::{LieGroup, Se3, So3, hat};
use nalgebra::{Matrix3, Matrix6, SMatrix, Vector3, Vector6};

/// Six numbers and the pose of a tag that depends on them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Joint {
    /// Their rows in the state.
    pub rows: [usize; 6],
    /// Their mean.
    pub mean: Vector6<f64>,
    /// Their covariance.
    pub prior: Matrix6<f64>,
    body: Se3,
    tag: Se3,
    /// Of a tag in the state.
    turned: Option<Turned>,
}

/// The rotation of the body that a correction of a tag brings with it, ξ_R = ψ₀ + G (y − mean).
#[derive(Clone, Copy, Debug, PartialEq)]
struct Turned {
    first: Vector3<f64>,
    by: SMatrix<f64, 3, 6>,
}

impl Turned {
    fn at(&self, from_mean: &Vector6<f64>) -> Vector3<f64> {
        self.first + self.by * from_mean
    }
}

impl Joint {
    /// Of a tag in the state; `None` where its covariance is not positive definite.
    pub fn of_state(state: &State, tag: &TagRows) -> Option<Self> {
        let [e, a] = tag.rows;
        let rows = [e, e + 1, e + 2, a, a + 1, a + 2];
        let p = &state.covariance;
        let prior = Matrix6::from_fn(|i, j| p.get(rows[i], rows[j]));
        let with_turn = SMatrix::<f64, 6, 3>::from_fn(|i, j| p.get(rows[i], ROTATION + j));
        let turned = Turned { first: Vector3::zeros(), by: prior.cholesky()?.solve(&with_turn).transpose() };
        Some(Self { rows, mean: Vector6::zeros(), prior, body: body(state), tag: tag.pose, turned: Some(turned) })
    }

    /// Of a tag whose pose in the world is known.
    pub fn of_known(state: &State, tag: &Se3) -> Self {
        let [r, p] = [ROTATION, POSITION];
        let rows = [r, r + 1, r + 2, p, p + 1, p + 2];
        let prior = Matrix6::from_fn(|i, j| state.covariance.get(rows[i], rows[j]));
        Self { rows, mean: Vector6::zeros(), prior, body: body(state), tag: *tag, turned: None }
    }

    /// A body at this pose, of which next to nothing is known, and a tag whose pose in the world is known.
    pub fn alone(body: &Se3, tag: &Se3) -> Self {
        /// A radian and ten metres.
        const WIDE: [f64; 6] = [1.0, 1.0, 1.0, 100.0, 100.0, 100.0];
        let prior = Matrix6::from_diagonal(&Vector6::from(WIDE));
        Self { rows: [0; 6], mean: Vector6::zeros(), prior, body: *body, tag: *tag, turned: None }
    }

    /// The same after six other numbers of the state got this posterior: y_k = P L u, and P ← P − P_·k A P_k· with
    /// A = L S⁻¹ Lᵀ.
    pub fn given(&self, state: &State, other: &Self, by: &Vector6<f64>, a: &Matrix6<f64>) -> Option<Self> {
        let p = &state.covariance;
        let cross = Matrix6::from_fn(|i, j| p.get(self.rows[i], other.rows[j]));
        let prior = self.prior - cross * a * cross.transpose();
        let prior = 0.5 * (prior + prior.transpose());
        let mut given = Self { mean: self.mean + cross * by, prior, ..*self };
        if self.turned.is_some() {
            let turn = SMatrix::<f64, 3, 6>::from_fn(|i, j| p.get(ROTATION + i, other.rows[j]));
            let own = SMatrix::<f64, 3, 6>::from_fn(|i, j| p.get(ROTATION + i, self.rows[j]));
            let with_turn = own - turn * a * cross.transpose();
            let by_y = prior.cholesky()?.solve(&with_turn.transpose()).transpose();
            given.turned = Some(Turned { first: turn * by, by: by_y });
        }
        Some(given)
    }

    /// Standard deviation of the rotation between body and tag, rad.
    pub fn rotation_sigma(&self) -> f64 {
        let (_, by_y) = self.pose(&self.mean);
        let covariance: Matrix6<f64> = by_y * self.prior * by_y.transpose();
        covariance.fixed_view::<3, 3>(3, 3).trace().max(0.0).sqrt()
    }

    /// The pose of the tag relative to the body for these numbers, and the derivative of (δz, φ) by them.
    pub fn pose(&self, y: &Vector6<f64>) -> (Se3, Matrix6<f64>) {
        let mut derivative = Matrix6::zeros();
        let [first, last] = halves(y);
        let Some(turned) = &self.turned else {
            // T = Exp(y) T̂, and T⁺ = Exp(J dy) T.
            let moved = Se3::exp(y) * self.body;
            let back: Matrix3<f64> = moved.rotation.matrix().transpose();
            for k in 0..6 {
                let [turn, shift] = halves(&Se3::dexp(y, &unit(k)));
                derivative
                    .fixed_view_mut::<3, 1>(0, k)
                    .copy_from(&(-(back * (turn.cross(&self.tag.translation) + shift))));
                derivative.fixed_view_mut::<3, 1>(3, k).copy_from(&(-(back * turn)));
            }
            return (moved.inverse() * self.tag, derivative);
        };
        // After a correction the body is turned by E = Exp(ψ), and p_i − p = E r̂ + J(ψ) e: z = R̂ᵀ(r̂ + J(−ψ) e).
        let psi = -turned.at(&(y - self.mean));
        let back: Matrix3<f64> = self.body.rotation.matrix().transpose();
        let r = self.tag.translation - self.body.translation;
        let z = back * (r + So3::dexp(&psi, &first));
        let rotation = So3::from_matrix_unchecked(back) * (So3::exp(&last) * self.tag.rotation);
        let by_psi = hat(&first) * turned.by * 0.5;
        for k in 0..6 {
            let [e, a] = halves(&unit(k));
            let shift = So3::dexp(&psi, &e) + by_psi.column(k);
            derivative.fixed_view_mut::<3, 1>(0, k).copy_from(&(back * shift));
            derivative.fixed_view_mut::<3, 1>(3, k).copy_from(&(back * So3::dexp(&last, &a)));
        }
        (Se3::new(rotation, z), derivative)
    }

    /// The numbers for which the tag has this pose relative to the body.
    pub fn numbers_of(&self, pose: &Se3) -> Vector6<f64> {
        let Some(turned) = &self.turned else {
            return (self.tag * pose.inverse() * self.body.inverse()).log();
        };
        let a = (self.body.rotation * pose.rotation * self.tag.rotation.inverse()).log();
        let moved = self.body.rotation * pose.translation - (self.tag.translation - self.body.translation);
        let mut y = stacked(&moved, &a);
        // e depends on the rotation, which depends on e; that converges fast.
        for _ in 0..5 {
            let e = So3::dexp_inv(&-turned.at(&(y - self.mean)), &moved);
            y = stacked(&e, &a);
        }
        y
    }
}

fn body(state: &State) -> Se3 {
    Se3::new(state.nav.rotation, state.nav.position)
}

fn halves(y: &Vector6<f64>) -> [Vector3<f64>; 2] {
    [0, 3].map(|k| Vector3::new(y[k], y[k + 1], y[k + 2]))
}

fn stacked(a: &Vector3<f64>, b: &Vector3<f64>) -> Vector6<f64> {
    Vector6::new(a.x, a.y, a.z, b.x, b.y, b.z)
}

fn unit(k: usize) -> Vector6<f64> {
    Vector6::from_fn(|i, _| if i == k { 1.0 } else { 0.0 })
}
