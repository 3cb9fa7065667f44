//! What the variational integrators of a rigid body share: the body, its state, and the form of a method.
//!
//! H(x, R, p, Π) = |p|²/2m + Π·J⁻¹Π/2 + V(x, R), with R from the body to the world frame: Ṙ = RΩ^, Π = JΩ in the body
//! frame, Π̇ = Π × Ω + τ; x, p = mẋ and the force in the world frame.

use super::IntegrationError;
use lienav_lie::So3;
use nalgebra::{Matrix3, SymmetricEigen, UnitQuaternion, Vector3};
use thiserror::Error;

/// A rigid body in a potential of its position and attitude.
pub trait FloatingBody {
    /// m. A body that turns about a fixed point leaves the force zero; its mass is then of no account.
    fn mass(&self) -> f64;
    /// J about the centre of mass, or about the fixed point.
    fn inertia(&self) -> &Inertia;
    /// V(x, R).
    fn potential(&self, position: &Vector3<f64>, attitude: &So3) -> f64;
    /// What the potential does to the body: F = −∂V/∂x, and τ with dV(R)·Rη^ = −τ·η.
    fn load(&self, position: &Vector3<f64>, attitude: &So3) -> Load;

    /// The energy H of a state.
    fn energy(&self, state: &FloatingBodyState) -> f64 {
        let attitude = So3::from(state.attitude.to_rotation_matrix());
        state.momentum.norm_squared() / (2.0 * self.mass())
            + self.inertia().kinetic_energy(&state.body_angular_momentum)
            + self.potential(&state.position, &attitude)
    }
}

/// A force and a torque.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Load {
    /// In the world frame.
    pub force_world: Vector3<f64>,
    /// About the centre of mass (or the fixed point), in the body frame.
    pub torque_body: Vector3<f64>,
}

/// Position, attitude and momenta of a rigid body, as they go into a method and come out of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FloatingBodyState {
    /// x of the centre of mass, in the world frame.
    pub position: Vector3<f64>,
    /// R, body to world. Kept as the method made it: of unit norm as far as the method holds it.
    pub attitude: UnitQuaternion<f64>,
    /// p = mẋ, in the world frame.
    pub momentum: Vector3<f64>,
    /// Π = JΩ, in the body frame.
    pub body_angular_momentum: Vector3<f64>,
}

impl FloatingBodyState {
    /// A body that turns about the origin.
    pub fn turning(attitude: UnitQuaternion<f64>, body_angular_momentum: Vector3<f64>) -> Self {
        Self { position: Vector3::zeros(), attitude, momentum: Vector3::zeros(), body_angular_momentum }
    }

    /// x × p + RΠ, about the origin of the world frame.
    pub fn angular_momentum_world(&self) -> Vector3<f64> {
        self.position.cross(&self.momentum) + self.attitude * self.body_angular_momentum
    }
}

/// A one-step method for rigid bodies, with a state of its own kind.
pub trait FloatingBodyMethod {
    /// What the method carries from step to step.
    type State: Clone;

    /// As tables print it.
    fn name(&self) -> &'static str;
    /// The state of the method at the beginning.
    ///
    /// # Errors
    /// As [`step`](Self::step), where beginning takes a step.
    fn start<B: FloatingBody>(
        &self,
        body: &B,
        initial: &FloatingBodyState,
        h: f64,
    ) -> Result<Self::State, IntegrationError>;
    /// One step of size h from `time`; the number of iterations it took. On error the state is as it was.
    ///
    /// # Errors
    /// An implicit equation without a solution (more than half a turn in a step) or numbers that are not finite.
    fn step<B: FloatingBody>(
        &self,
        body: &B,
        state: &mut Self::State,
        time: f64,
        h: f64,
    ) -> Result<usize, IntegrationError>;
    /// The state of the body; h is the step size it was made with.
    fn observe<B: FloatingBody>(&self, body: &B, state: &Self::State, h: f64) -> FloatingBodyState;
    /// How far the state is from the manifold: ||q| − 1| of a quaternion, ‖RᵀR − I‖ (Frobenius) of a matrix.
    fn constraint_error(&self, state: &Self::State) -> f64;
}

/// The inertia J of a rigid body, with its inverse.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Inertia {
    matrix: Matrix3<f64>,
    inverse: Matrix3<f64>,
}

/// Why a matrix is not the inertia of a body.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
pub enum InertiaError {
    /// Not symmetric, or not finite.
    #[error("the inertia is not a symmetric matrix of finite numbers; give Ixx, Ixy, Ixz, Ixy, Iyy, …")]
    NotSymmetric,
    /// A principal moment is not positive, or greater than the other two together.
    #[error(
        "no body has the principal moments of inertia {0}, {1}, {2}: each must be positive and at most the sum of the \
         others"
    )]
    Impossible(f64, f64, f64),
}

impl Inertia {
    /// From the matrix.
    ///
    /// # Errors
    /// Where no body has it. A flat body, whose greatest moment is the sum of the others, is allowed.
    pub fn new(matrix: Matrix3<f64>) -> Result<Self, InertiaError> {
        let is_symmetric = (matrix - matrix.transpose()).norm() <= 1e-9 * matrix.norm();
        if !is_symmetric || !matrix.norm().is_finite() {
            return Err(InertiaError::NotSymmetric);
        }
        let matrix = 0.5 * (matrix + matrix.transpose());
        let mut moments = SymmetricEigen::new(matrix).eigenvalues;
        moments.as_mut_slice().sort_by(f64::total_cmp);
        let impossible = InertiaError::Impossible(moments.x, moments.y, moments.z);
        if moments.x <= 0.0 || moments.z > (moments.x + moments.y) * (1.0 + 1e-9) {
            return Err(impossible);
        }
        Ok(Self { matrix, inverse: matrix.try_inverse().ok_or(impossible)? })
    }

    /// From the principal moments, the axes of the body frame being the principal ones.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn principal(moments: Vector3<f64>) -> Result<Self, InertiaError> {
        Self::new(Matrix3::from_diagonal(&moments))
    }

    /// From principal moments that are known to be those of a body.
    pub fn principal_unchecked(moments: Vector3<f64>) -> Self {
        let inverse = Matrix3::from_diagonal(&moments.map(f64::recip));
        Self { matrix: Matrix3::from_diagonal(&moments), inverse }
    }

    /// J.
    pub fn matrix(&self) -> &Matrix3<f64> {
        &self.matrix
    }

    /// J⁻¹.
    pub fn inverse(&self) -> &Matrix3<f64> {
        &self.inverse
    }

    /// J_d = ∫ρρᵀdm = tr(J)/2·I − J, the nonstandard inertia matrix of Shen 2019, (3.3).
    pub fn nonstandard(&self) -> Matrix3<f64> {
        Matrix3::from_diagonal_element(0.5 * self.matrix.trace()) - self.matrix
    }

    /// Ω = J⁻¹Π.
    pub fn body_angular_velocity(&self, body_angular_momentum: &Vector3<f64>) -> Vector3<f64> {
        self.inverse * body_angular_momentum
    }

    /// Π·J⁻¹Π/2.
    pub fn kinetic_energy(&self, body_angular_momentum: &Vector3<f64>) -> f64 {
        0.5 * body_angular_momentum.dot(&self.body_angular_velocity(body_angular_momentum))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inertia_that_no_body_has_is_refused() {
        assert!(Inertia::principal(Vector3::new(1.0, 2.0, 3.0)).is_ok());
        assert!(matches!(Inertia::principal(Vector3::new(1.0, 2.0, 3.1)), Err(InertiaError::Impossible(..))));
        assert!(matches!(Inertia::principal(Vector3::new(0.0, 1.0, 1.0)), Err(InertiaError::Impossible(..))));
        let mut skewed = Matrix3::identity();
        skewed[(0, 1)] = 0.1;
        assert_eq!(Inertia::new(skewed), Err(InertiaError::NotSymmetric));
        assert_eq!(Inertia::principal(Vector3::new(1.0, f64::NAN, 1.0)), Err(InertiaError::NotSymmetric));
        assert_eq!(Inertia::principal(Vector3::new(1.0, f64::INFINITY, 1.0)), Err(InertiaError::NotSymmetric));
    }

    #[test]
    fn the_nonstandard_inertia_is_the_second_moment_of_mass() {
        let points = [Vector3::new(1.0, 0.5, -0.2), Vector3::new(-0.3, 0.8, 0.4), Vector3::new(0.1, -0.6, 0.9)];
        let second: Matrix3<f64> = points.iter().map(|p| p * p.transpose()).sum();
        let inertia: Matrix3<f64> =
            points.iter().map(|p| Matrix3::from_diagonal_element(p.norm_squared()) - p * p.transpose()).sum();
        assert!((Inertia::new(inertia).unwrap().nonstandard() - second).norm() < 1e-14);
    }
}
