//! SHAKE for a rigid body whose attitude is a quaternion in ℝ⁴, held on the unit sphere by a multiplier.

use super::floating_body::{FloatingBody, FloatingBodyMethod, FloatingBodyState, Load};
use super::{Convergence, Inertia, IntegrationError};
use lienav_lie::So3;
use nalgebra::{Matrix3x4, Matrix4, Matrix4x3, Quaternion, SMatrix, SVector, UnitQuaternion, Vector3, Vector4};

/// SHAKE with the constraint |q|² = 1, the third method of Shen 2019, table 3.1: the variational integrator of
/// constrained mechanics (1.39) with the discrete Lagrangian (3.16) on ℝ⁴ × ℝ⁴ (Wendlandt and Marsden 1997),
///
/// p₀ = (4/h) q₁(0, Jv) + (h/2)∇V(q₀) + λ₀q₀,  |q₁|² = 1,  v = Im(q₀*q₁);
/// p₁ = (4/h) q₀(0, Jv) − (h/2)∇V(q₁) − λ₁q₁,  q₁·p₁ = 0.
///
/// The first line is solved for q₁ and λ₀ together, five equations with five unknowns. The motion is that of the
/// quaternion method. Order two; symplectic; keeps momenta; the norm is as good as the last iteration leaves it, and
/// does not drift. The momentum comes from Im(q₀*q₁) of rounded quaternions, so each step puts some 10⁻¹⁶·4J/h into
/// it, which the quaternion method, working with the increment, does not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shake {
    /// How the five equations are solved.
    pub solver: ShakeSolver,
    /// Where the iteration ends. The residual is that of all five equations, the first four multiplied by h/4.
    pub convergence: Convergence,
}

/// How SHAKE's equations for q₁ and λ₀ are solved; the result is the same to rounding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShakeSolver {
    /// Newton's method with the Jacobian at q₀, λ = 0, where its inverse is J⁻¹ on the imaginary part of q₀*(·): more
    /// iterations, each of them cheap, as the SHAKE of molecular dynamics does it.
    Chord,
    /// Newton's method: elimination with a 5 × 5 matrix in every iteration.
    Newton,
}

impl Default for Shake {
    fn default() -> Self {
        Self { solver: ShakeSolver::Chord, convergence: Convergence::default() }
    }
}

/// State of [`Shake`].
#[derive(Clone, Copy, Debug)]
pub struct ShakeState {
    position: Vector3<f64>,
    momentum: Vector3<f64>,
    // (x, y, z, w), as nalgebra has them.
    attitude: Vector4<f64>,
    // p = 2q(0, Π), tangent to the sphere.
    attitude_momentum: Vector4<f64>,
    load: Load,
}

impl FloatingBodyMethod for Shake {
    type State = ShakeState;

    fn name(&self) -> &'static str {
        match self.solver {
            ShakeSolver::Chord => "SHAKE, |q| = 1",
            ShakeSolver::Newton => "SHAKE, |q| = 1, by Newton",
        }
    }

    fn start<B: FloatingBody>(
        &self,
        body: &B,
        initial: &FloatingBodyState,
        _h: f64,
    ) -> Result<ShakeState, IntegrationError> {
        let attitude = initial.attitude.coords;
        Ok(ShakeState {
            position: initial.position,
            momentum: initial.momentum,
            attitude,
            attitude_momentum: times_vector(&attitude) * initial.body_angular_momentum * 2.0,
            load: body.load(&initial.position, &rotation(&attitude)),
        })
    }

    fn step<B: FloatingBody>(
        &self,
        body: &B,
        state: &mut ShakeState,
        time: f64,
        h: f64,
    ) -> Result<usize, IntegrationError> {
        let half = 0.5 * h;
        let q0 = state.attitude;
        // The tangent part of −∇V is q(0, 2τ); the normal part goes into the multiplier.
        let kicked = state.attitude_momentum + times_vector(&q0) * state.load.torque_body * h;
        let (q1, iterations) = self.solve(body.inertia(), &q0, &(kicked * (0.25 * h)), (time, h))?;

        let p = state.momentum + state.load.force_world * half;
        let position = state.position + p * (h / body.mass());
        let load = body.load(&position, &rotation(&q1));
        let momentum = p + load.force_world * half;
        let v = times_vector(&q0).tr_mul(&q1);
        let ahead =
            times_vector(&q0) * (body.inertia().matrix() * v) * (4.0 / h) + times_vector(&q1) * load.torque_body * h;
        let attitude_momentum = ahead - q1 * q1.dot(&ahead);
        if !(momentum.norm_squared() + attitude_momentum.norm_squared()).is_finite() {
            return Err(IntegrationError::NotFinite { time, step: h });
        }
        *state = ShakeState { position, momentum, attitude: q1, attitude_momentum, load };
        Ok(iterations)
    }

    fn observe<B: FloatingBody>(&self, _body: &B, state: &ShakeState, _h: f64) -> FloatingBodyState {
        FloatingBodyState {
            position: state.position,
            attitude: unit(&state.attitude),
            momentum: state.momentum,
            body_angular_momentum: times_vector(&state.attitude).tr_mul(&state.attitude_momentum) * 0.5,
        }
    }

    fn constraint_error(&self, state: &ShakeState) -> f64 {
        0.5 * (state.attitude.norm_squared() - 1.0).abs()
    }
}

impl Shake {
    /// q₁ with q₁(0, Jv) + λq₀ = b, |q₁|² = 1.
    fn solve(
        &self,
        inertia: &Inertia,
        q0: &Vector4<f64>,
        b: &Vector4<f64>,
        at: (f64, f64),
    ) -> Result<(Vector4<f64>, usize), IntegrationError> {
        let im: Matrix3x4<f64> = times_vector(q0).transpose();
        // Straight on along the tangent.
        let v = inertia.inverse() * (im * b);
        let ahead = q0 + times_vector(q0) * v;
        let guess = SVector::<f64, 5>::new(ahead.x, ahead.y, ahead.z, ahead.w, 0.0);
        let (x, iterations) = self.convergence.iterate(guess, 1.0 + b.norm_squared(), at, |x| {
            let (q1, lambda) = (x.fixed_rows::<4>(0).into_owned(), x[4]);
            let y = inertia.matrix() * (im * q1);
            let force = b - times_vector(&q1) * y - q0 * lambda;
            let constraint = 0.5 * (1.0 - q1.norm_squared());
            let (change, multiplier_change) = match self.solver {
                ShakeSolver::Chord => {
                    (times_vector(q0) * (inertia.inverse() * (im * force)) + q0 * constraint, q0.dot(&force))
                }
                ShakeSolver::Newton => newton(inertia, q0, &q1, &y, &force, constraint),
            };
            let q1 = q1 + change;
            let next = SVector::<f64, 5>::new(q1.x, q1.y, q1.z, q1.w, lambda + multiplier_change);
            (next, force.norm_squared() + constraint * constraint)
        })?;
        Ok((x.fixed_rows::<4>(0).into_owned(), iterations))
    }
}

/// Changes of q₁ and λ by the Jacobian at q₁; numbers that are not finite where it is singular.
fn newton(
    inertia: &Inertia,
    q0: &Vector4<f64>,
    q1: &Vector4<f64>,
    y: &Vector3<f64>,
    force: &Vector4<f64>,
    constraint: f64,
) -> (Vector4<f64>, f64) {
    let im: Matrix3x4<f64> = times_vector(q0).transpose();
    let mut jacobian = SMatrix::<f64, 5, 5>::zeros();
    jacobian.fixed_view_mut::<4, 4>(0, 0).copy_from(&(by_vector(y) + times_vector(q1) * inertia.matrix() * im));
    jacobian.fixed_view_mut::<4, 1>(0, 4).copy_from(q0);
    jacobian.fixed_view_mut::<1, 4>(4, 0).copy_from(&q1.transpose());
    let residual = SVector::<f64, 5>::new(force.x, force.y, force.z, force.w, constraint);
    let change = jacobian.lu().solve(&residual).unwrap_or(SVector::repeat(f64::NAN));
    (change.fixed_rows::<4>(0).into_owned(), change[4])
}

fn unit(q: &Vector4<f64>) -> UnitQuaternion<f64> {
    UnitQuaternion::new_unchecked(Quaternion::from(*q))
}

fn rotation(q: &Vector4<f64>) -> So3 {
    So3::from(unit(q).to_rotation_matrix())
}

/// F(q)ᵀ with F(q)ᵀv = q(0, v).
fn times_vector(q: &Vector4<f64>) -> Matrix4x3<f64> {
    Matrix4x3::new(q.w, -q.z, q.y, q.z, q.w, -q.x, -q.y, q.x, q.w, -q.x, -q.y, -q.z)
}

/// The matrix of q ↦ q(0, y).
fn by_vector(y: &Vector3<f64>) -> Matrix4<f64> {
    let mut matrix = Matrix4::zeros();
    matrix.fixed_view_mut::<3, 3>(0, 0).copy_from(&-y.cross_matrix());
    matrix.fixed_view_mut::<3, 1>(0, 3).copy_from(y);
    matrix.fixed_view_mut::<1, 3>(3, 0).copy_from(&-y.transpose());
    matrix
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dynamics::three_balls::ThreeBalls;
    use crate::quaternion::QuaternionIntegrator;

    #[test]
    fn the_matrices_are_products_of_quaternions() {
        let q = Quaternion::new(0.5, -0.3, 0.2, 0.7);
        let v = Vector3::new(0.4, 1.2, -0.6);
        let product = (q * Quaternion::from_imag(v)).coords;
        assert!((times_vector(&q.coords) * v - product).norm() < 1e-15);
        assert!((by_vector(&v) * q.coords - product).norm() < 1e-15);
    }

    #[test]
    fn it_moves_the_body_as_the_quaternion_method_does() {
        let (body, initial, h) = (ThreeBalls::default(), ThreeBalls::initial_state(), 0.05);
        let quaternion = QuaternionIntegrator::default();
        for solver in [ShakeSolver::Chord, ShakeSolver::Newton] {
            let shake = Shake { solver, ..Shake::default() };
            let mut constrained = shake.start(&body, &initial, h).unwrap();
            let mut intrinsic = quaternion.start(&body, &initial, h).unwrap();
            for k in 0..1000 {
                let time = f64::from(k) * h;
                shake.step(&body, &mut constrained, time, h).unwrap();
                quaternion.step(&body, &mut intrinsic, time, h).unwrap();
                assert!(shake.constraint_error(&constrained) < 1e-15);
            }
            let (a, b) = (shake.observe(&body, &constrained, h), quaternion.observe(&body, &intrinsic, h));
            let apart = [
                (a.position - b.position).norm(),
                a.attitude.angle_to(&b.attitude),
                (a.body_angular_momentum - b.body_angular_momentum).norm(),
            ];
            assert!(apart.iter().all(|distance| *distance < 1e-11), "{solver:?} {apart:?}");
        }
    }
}
