//! What six numbers of the state do to the pose of a tag relative to the body.
//!
//! Of a tag in the state, y = (e_i, a_i); of one whose place in the world is known, y = (ξ_R, ξ_p); where the place of the
//! camera is not known well, it is a part of them ([`numbers`](crate::numbers)). All that the corners
//! of a tag say of a state is in y: the maximum a posteriori is found in six numbers, and the rest follows by its
//! covariance with y.

use crate::landmark::TagRows;
use crate::numbers::Numbers;
use lienav_inertial::state::State;
use lienav_inertial::state::errors::{POSITION, ROTATION};
use lienav_lie::{LieGroup, Se3, So3, hat};
use nalgebra::{Matrix3, Matrix6, SMatrix, Vector3, Vector6};

/// Six numbers and the pose of a tag that depends on them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Joint {
    /// What they are in the state.
    pub numbers: Numbers,
    /// Their mean.
    pub mean: Vector6<f64>,
    /// Their covariance.
    pub prior: Matrix6<f64>,
    body: Se3,
    tag: Se3,
    kind: Kind,
}

/// What the numbers are.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// The body's, before a tag whose place is known: T = Exp(y) X̂.
    Known,
    /// Those of a tag of the state.
    InState(Turned),
    /// Those of a tag of the state less those of the sensor: the tag is seen at Exp(y) T̂.
    Seen,
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
    /// Of a tag in the state, seen by the sensor of a mount, where that has errors; `None` where its covariance is not
    /// positive definite.
    pub fn of_state(state: &State, tag: &TagRows, mount: Option<usize>) -> Option<Self> {
        let [e, a] = tag.rows;
        if let Some(numbers) = mount.and_then(|k| Numbers::of_tag_and_mount(state, tag, k)) {
            let prior = numbers.with(&numbers, &state.covariance);
            let kind = Kind::Seen;
            return Some(Self { numbers, mean: Vector6::zeros(), prior, body: body(state), tag: tag.pose, kind });
        }
        let numbers = Numbers::rows([e, e + 1, e + 2, a, a + 1, a + 2]);
        let prior = numbers.with(&numbers, &state.covariance);
        let with_turn = numbers.with_rotation(&state.covariance).transpose();
        let kind =
            Kind::InState(Turned { first: Vector3::zeros(), by: prior.cholesky()?.solve(&with_turn).transpose() });
        Some(Self { numbers, mean: Vector6::zeros(), prior, body: body(state), tag: tag.pose, kind })
    }

    /// Of a tag whose pose in the world is known, seen by the sensor of a mount, where that has errors.
    pub fn of_known(state: &State, tag: &Se3, mount: Option<usize>) -> Self {
        let [r, p] = [ROTATION, POSITION];
        let with_mount = mount.and_then(|k| Numbers::of_body_and_mount(state, k));
        let numbers = with_mount.unwrap_or_else(|| Numbers::rows([r, r + 1, r + 2, p, p + 1, p + 2]));
        let prior = numbers.with(&numbers, &state.covariance);
        Self { numbers, mean: Vector6::zeros(), prior, body: body(state), tag: *tag, kind: Kind::Known }
    }

    /// A body at this pose, of which next to nothing is known, and a tag whose pose in the world is known.
    pub fn alone(body: &Se3, tag: &Se3) -> Self {
        /// A radian and ten metres.
        const WIDE: [f64; 6] = [1.0, 1.0, 1.0, 100.0, 100.0, 100.0];
        let prior = Matrix6::from_diagonal(&Vector6::from(WIDE));
        let numbers = Numbers::rows([0; 6]);
        Self { numbers, mean: Vector6::zeros(), prior, body: *body, tag: *tag, kind: Kind::Known }
    }

    /// The same after six other numbers of the state got this posterior: y_k = P L u, and P ← P − P_·k A P_k· with
    /// A = L S⁻¹ Lᵀ.
    pub fn given(&self, state: &State, other: &Self, by: &Vector6<f64>, a: &Matrix6<f64>) -> Option<Self> {
        let p = &state.covariance;
        let cross = self.numbers.with(&other.numbers, p);
        let prior = self.prior - cross * a * cross.transpose();
        let prior = 0.5 * (prior + prior.transpose());
        let mut given = Self { mean: self.mean + cross * by, prior, ..*self };
        if let Kind::InState(_) = self.kind {
            let [turn, own] = [other, self].map(|one| one.numbers.with_rotation(p));
            let with_turn = own - turn * a * cross.transpose();
            let by_y = prior.cholesky()?.solve(&with_turn.transpose()).transpose();
            given.kind = Kind::InState(Turned { first: turn * by, by: by_y });
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
        if self.kind == Kind::Seen {
            let seen = Se3::exp(y) * self.tag;
            let back: Matrix3<f64> = self.body.rotation.matrix().transpose();
            for k in 0..6 {
                let [turn, shift] = halves(&Se3::dexp(y, &unit(k)));
                let moved = back * (turn.cross(&seen.translation) + shift);
                derivative.fixed_view_mut::<3, 1>(0, k).copy_from(&moved);
                derivative.fixed_view_mut::<3, 1>(3, k).copy_from(&(back * turn));
            }
            return (self.body.inverse() * seen, derivative);
        }
        let Kind::InState(turned) = &self.kind else {
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
        let turned = match &self.kind {
            Kind::Known => return (self.tag * pose.inverse() * self.body.inverse()).log(),
            Kind::Seen => return (self.body * *pose * self.tag.inverse()).log(),
            Kind::InState(turned) => turned,
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
