//! A tag in the image of a camera on the body: four corners, eight numbers.

use crate::lens::Lens;
use lienav_inertial::state::State;
use lienav_lie::{LieGroup, Se3, So3, hat};
use nalgebra::{Matrix3, Matrix6, SMatrix, SVector, Vector2, Vector3, Vector6};

/// Numbers of a tag in an image.
pub const NUMBERS: usize = 8;

/// A matrix with a row for each number of a tag in an image.
pub type ByPose = SMatrix<f64, NUMBERS, 6>;

/// A tag as a camera sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sight {
    /// The tag's identity, or that of the board of tags that it is on.
    pub id: u64,
    /// The camera.
    pub lens: Lens,
    /// Where it is: x_body = R_s x_camera + t_s.
    pub on_body: Se3,
    /// The [mount](lienav_inertial::state::State::mounts) that has it, where its place has errors.
    pub mount: Option<usize>,
    /// Where the square is on what `id` names, x_tag = R x_square + t: a tag by itself is the square; of several on one
    /// board, each has its own place.
    pub on_tag: Se3,
    /// Length of an edge of the square, m.
    pub size_m: f64,
    /// The corners, px: those at (−, −), (+, −), (+, +) and (−, +) half an edge in the square's (x, y), z = 0.
    pub corners: [Vector2<f64>; 4],
    /// Standard deviation of each coordinate, px.
    pub sigma: f64,
}

/// A pose of a tag relative to the body that fits its corners.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// x_body = R x_tag + z.
    pub pose: Se3,
    /// |residual|² in units of the noise; with the true pose, χ² of 8 degrees of freedom, and of 2 after a fit.
    pub cost: f64,
    /// Information of (δz, φ), with R_true = Exp(φ) R, in the axes of the body.
    pub information: Matrix6<f64>,
}

impl Sight {
    /// The same by the camera where a state has it on the body.
    #[must_use]
    pub fn placed(&self, state: &State) -> Self {
        let on_body = self.mount.and_then(|k| state.mounts.get(k)).copied().unwrap_or(self.on_body);
        Self { on_body, ..*self }
    }

    /// Where corner `k` is on the tag, m.
    pub fn corner(&self, k: usize) -> Vector3<f64> {
        const SIGNS: [[f64; 2]; 4] = [[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]];
        let half = 0.5 * self.size_m;
        let on_square = Vector3::new(SIGNS[k][0] * half, SIGNS[k][1] * half, 0.0);
        self.on_tag.rotation * on_square + self.on_tag.translation
    }

    /// Whether numbers and noise are such that they can be of a tag: finite, a convex quadrangle with edges of some
    /// pixels.
    pub fn is_valid(&self) -> bool {
        const LARGEST_PX: f64 = 1e5;
        const SHORTEST_PX: f64 = 2.0;
        const LARGEST_BOARD_M: f64 = 100.0;
        let c = &self.corners;
        let is_finite = c.iter().flat_map(|corner| corner.iter()).all(|x| x.abs() < LARGEST_PX);
        let edge = |k: usize| c[(k + 1) % 4] - c[k];
        let turn = |k: usize| edge(k).perp(&edge((k + 1) % 4));
        let is_convex = (0..4).all(|k| turn(k) > 0.0) || (0..4).all(|k| turn(k) < 0.0);
        is_finite
            && is_convex
            && (0..4).all(|k| edge(k).norm() > SHORTEST_PX)
            && (1e-3..1e3).contains(&self.sigma)
            && (1e-3..100.0).contains(&self.size_m)
            && self.on_tag.translation.iter().all(|x| x.abs() < LARGEST_BOARD_M)
            && self.on_tag.rotation.orthogonality_error() < 1e-6
    }

    /// Residuals in units of the noise if the tag is at this pose relative to the body, and the derivative of what is
    /// expected by (δz, φ); `None` where a corner is not imaged.
    pub fn see(&self, pose: &Se3) -> Option<(SVector<f64, NUMBERS>, ByPose)> {
        let (mut residual, mut by_pose) = (SVector::<f64, NUMBERS>::zeros(), ByPose::zeros());
        let to_camera: Matrix3<f64> = self.on_body.rotation.matrix().transpose();
        for (k, corner) in self.corners.iter().enumerate() {
            let arm = pose.rotation * self.corner(k);
            let x = to_camera * (arm + pose.translation - self.on_body.translation);
            let (expected, by_x) = self.lens.project(&x)?;
            let by_point = by_x * to_camera / self.sigma;
            residual.fixed_rows_mut::<2>(2 * k).copy_from(&((corner - expected) / self.sigma));
            by_pose.fixed_view_mut::<2, 3>(2 * k, 0).copy_from(&by_point);
            by_pose.fixed_view_mut::<2, 3>(2 * k, 3).copy_from(&(by_point * -hat(&arm)));
        }
        Some((residual, by_pose))
    }

    /// The pose nearest to a start that fits the corners best (Levenberg and Marquardt); `None` where it is lost.
    pub fn fit(&self, start: &Se3) -> Option<Fit> {
        fit(&[(*self, Se3::identity())], start)
    }
}

/// The same of several sights of one tag, each with the pose of its body in a common frame, in which the tag's pose is.
pub fn fit(sights: &[(Sight, Se3)], start: &Se3) -> Option<Fit> {
    const ITERATIONS: usize = 15;
    const CLOSE: f64 = 1e-4;
    let mut now = terms(sights, start)?;
    let (mut pose, mut damping) = (*start, 1e-4);
    for _ in 0..ITERATIONS {
        let (cost, information, vector) = now;
        let mut damped = information;
        (0..6).for_each(|k| damped[(k, k)] *= 1.0 + damping);
        let step = damped.cholesky()?.solve(&vector);
        let next = moved(&pose, &step);
        match terms(sights, &next).filter(|terms| terms.0 <= cost) {
            Some(terms) => {
                (pose, now, damping) = (next, terms, damping * 0.1);
                if step.dot(&(information * step)) < CLOSE {
                    break;
                }
            }
            None if damping > 1e6 => break,
            None => damping *= 10.0,
        }
    }
    let (cost, information, _) = now;
    (cost.is_finite() && pose.translation.iter().all(|x| x.is_finite())).then_some(Fit { pose, cost, information })
}

/// A pose after a correction (δz, φ).
pub fn moved(pose: &Se3, by: &Vector6<f64>) -> Se3 {
    let [shift, turn] = [0, 3].map(|row| Vector3::new(by[row], by[row + 1], by[row + 2]));
    let rotation = lienav_inertial::state::nav::orthogonal(&(So3::exp(&turn) * pose.rotation));
    Se3::new(rotation, pose.translation + shift)
}

/// Cost, information and HᵀR⁻¹r of all sights.
fn terms(sights: &[(Sight, Se3)], pose: &Se3) -> Option<(f64, Matrix6<f64>, Vector6<f64>)> {
    let (mut cost, mut information, mut vector) = (0.0, Matrix6::zeros(), Vector6::zeros());
    for (sight, body) in sights {
        let (residual, mut h) = sight.see(&(body.inverse() * *pose))?;
        // From the axes of this body to those of the common frame.
        let turn = body.rotation.matrix().transpose();
        for first in [0, 3] {
            let block = h.fixed_view::<NUMBERS, 3>(0, first) * turn;
            h.fixed_view_mut::<NUMBERS, 3>(0, first).copy_from(&block);
        }
        cost += residual.norm_squared();
        information += h.tr_mul(&h);
        vector += h.tr_mul(&residual);
    }
    cost.is_finite().then_some((cost, information, vector))
}
