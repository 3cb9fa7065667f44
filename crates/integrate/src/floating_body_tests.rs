//! What every method for floating bodies claims: symplectic, symmetric, of order two, momenta kept, errors for steps
//! that cannot be made.

use super::quaternion::{Iteration, LagrangianQuaternionIntegrator, QuaternionIntegrator};
use super::rattle::Rattle;
use super::shake::{Shake, ShakeSolver};
use super::stormer_verlet::StormerVerlet;
use super::{Convergence, FloatingBody, FloatingBodyMethod, FloatingBodyState, Inertia, IntegrationError, RotationMap};
use crate::dynamics::pivoted_body::PivotedBody;
use crate::dynamics::three_balls::ThreeBalls;
use nalgebra::{Matrix3, SMatrix, SVector, UnitQuaternion, Vector3};

/// A claim, to be checked of each method.
trait Claim {
    fn check<M: FloatingBodyMethod>(&self, method: &M);
}

fn of_all(claim: &impl Claim) {
    let convergence = Convergence::default();
    for iteration in [Iteration::Linear, Iteration::Cross, Iteration::Newton] {
        claim.check(&QuaternionIntegrator { iteration, convergence });
    }
    claim.check(&LagrangianQuaternionIntegrator::default());
    claim.check(&Rattle::default());
    for map in [RotationMap::Cayley, RotationMap::Exponential] {
        claim.check(&StormerVerlet { map, convergence });
    }
    for solver in [ShakeSolver::Chord, ShakeSolver::Newton] {
        claim.check(&Shake { solver, convergence });
    }
}

fn top() -> PivotedBody {
    PivotedBody {
        inertia: Inertia::new(Matrix3::new(1.0, 0.1, 0.0, 0.1, 1.4, -0.2, 0.0, -0.2, 0.9)).unwrap(),
        moment_of_mass: Vector3::new(0.1, 0.0, 0.5),
        gravity: Vector3::new(0.0, 0.0, -1.0),
    }
}

fn top_state() -> FloatingBodyState {
    FloatingBodyState::turning(UnitQuaternion::from_euler_angles(0.6, 0.3, 0.0), Vector3::new(0.3, -0.4, 2.0))
}

fn after<M: FloatingBodyMethod, B: FloatingBody>(
    method: &M,
    body: &B,
    initial: &FloatingBodyState,
    h: f64,
    steps: usize,
) -> FloatingBodyState {
    let mut state = method.start(body, initial, h).unwrap();
    (0..steps).for_each(|k| assert!(method.step(body, &mut state, k as f64 * h, h).is_ok()));
    method.observe(body, &state, h)
}

/// −dθ of θ = Π·η at a state, in left-trivialized coordinates (η, π): π₂·η₁ − π₁·η₂ + Π·(η₁ × η₂).
fn symplectic_form(angular_momentum: &Vector3<f64>) -> SMatrix<f64, 6, 6> {
    let mut form = SMatrix::<f64, 6, 6>::zeros();
    form.fixed_view_mut::<3, 3>(0, 0).copy_from(&-angular_momentum.cross_matrix());
    form.fixed_view_mut::<3, 3>(0, 3).fill_with_identity();
    form.fixed_view_mut::<3, 3>(3, 0).copy_from(&-Matrix3::<f64>::identity());
    form
}

struct Symplectic;

impl Claim for Symplectic {
    fn check<M: FloatingBodyMethod>(&self, method: &M) {
        let (body, initial, h, small) = (top(), top_state(), 0.2, 1e-5);
        let moved = |delta: SVector<f64, 6>| {
            let turn = UnitQuaternion::from_scaled_axis(delta.fixed_rows::<3>(0).into_owned());
            let momentum = initial.body_angular_momentum + delta.fixed_rows::<3>(3);
            after(method, &body, &FloatingBodyState::turning(initial.attitude * turn, momentum), h, 1)
        };
        let end = moved(SVector::zeros());
        let mut tangent = SMatrix::<f64, 6, 6>::zeros();
        for k in 0..6 {
            let [plus, minus] = [small, -small].map(|s| moved(SVector::ith(k, s)));
            let turn = |state: &FloatingBodyState| (end.attitude.inverse() * state.attitude).scaled_axis();
            let momentum = plus.body_angular_momentum - minus.body_angular_momentum;
            tangent.fixed_view_mut::<3, 1>(0, k).copy_from(&((turn(&plus) - turn(&minus)) / (2.0 * small)));
            tangent.fixed_view_mut::<3, 1>(3, k).copy_from(&(momentum / (2.0 * small)));
        }
        let (before, behind) =
            (symplectic_form(&initial.body_angular_momentum), symplectic_form(&end.body_angular_momentum));
        let defect = (tangent.transpose() * behind * tangent - before).amax();
        assert!(defect < 1e-8, "{}: {defect:e}", method.name());
    }
}

#[test]
fn every_method_is_symplectic() {
    of_all(&Symplectic);
}

struct Symmetric;

impl Claim for Symmetric {
    fn check<M: FloatingBodyMethod>(&self, method: &M) {
        let (body, initial, h) = (ThreeBalls::default(), ThreeBalls::initial_state(), 0.1);
        let there = after(method, &body, &initial, h, 20);
        let back = after(method, &body, &there, -h, 20);
        let apart = (back.position - initial.position).norm()
            + back.attitude.angle_to(&initial.attitude)
            + (back.body_angular_momentum - initial.body_angular_momentum).norm();
        assert!(apart < 1e-12, "{}: {apart:e}", method.name());
    }
}

#[test]
fn every_method_is_undone_by_the_step_back() {
    of_all(&Symmetric);
}

struct KeepsMomentum;

impl Claim for KeepsMomentum {
    fn check<M: FloatingBodyMethod>(&self, method: &M) {
        let (body, initial) = (ThreeBalls::default(), ThreeBalls::initial_state());
        let end = after(method, &body, &initial, 0.1, 500);
        let error = (end.angular_momentum_world() - initial.angular_momentum_world()).norm();
        assert!(error < 2e-12, "{}: {error:e}", method.name());
        let end = after(method, &top(), &top_state(), 0.1, 500);
        let error = (end.angular_momentum_world() - top_state().angular_momentum_world()).z;
        assert!(error.abs() < 2e-12, "{}: {error:e}", method.name());
    }
}

#[test]
fn every_method_keeps_the_momentum_of_a_symmetry() {
    of_all(&KeepsMomentum);
}

struct OfOrderTwo;

impl Claim for OfOrderTwo {
    fn check<M: FloatingBodyMethod>(&self, method: &M) {
        let end = |steps: usize| after(method, &top(), &top_state(), 1.0 / steps as f64, steps);
        let ends = [64, 128, 256].map(end);
        let change = |a: &FloatingBodyState, b: &FloatingBodyState| a.attitude.angle_to(&b.attitude);
        let order = (change(&ends[0], &ends[1]) / change(&ends[1], &ends[2])).log2();
        assert!((order - 2.0).abs() < 0.1, "{}: {order}", method.name());
    }
}

/// That all go to the same limit is what the reproduction of the chapter shows.
#[test]
fn every_method_is_of_order_two() {
    of_all(&OfOrderTwo);
}

struct RefusesWhatItCannotDo;

impl Claim for RefusesWhatItCannotDo {
    fn check<M: FloatingBodyMethod>(&self, method: &M) {
        let spinning = FloatingBodyState { body_angular_momentum: Vector3::new(30.0, 50.0, -20.0), ..top_state() };
        let refused = method.start(&top(), &spinning, 1.0).and_then(|mut state| {
            let step = method.step(&top(), &mut state, 7.0, 1.0);
            step.map(|_| ())
        });
        assert!(matches!(refused, Err(IntegrationError::NotConverged { step: 1.0, .. })), "{}", method.name());
        let lost = FloatingBodyState { momentum: Vector3::new(f64::NAN, 0.0, 0.0), ..ThreeBalls::initial_state() };
        let body = ThreeBalls::default();
        let refused =
            method.start(&body, &lost, 0.1).and_then(|mut state| method.step(&body, &mut state, 0.0, 0.1).map(|_| ()));
        assert!(matches!(refused, Err(IntegrationError::NotFinite { .. })), "{}", method.name());
    }
}

#[test]
fn a_step_that_cannot_be_made_is_an_error() {
    of_all(&RefusesWhatItCannotDo);
}
