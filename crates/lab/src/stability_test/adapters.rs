//! The body of the test as each family of methods wants to see it, and methods of each family as steppers.

use super::stepper::{Stepper, TestBody};
use lienav_integrate::cotangent::SymplecticLieGroup;
use lienav_integrate::polar::{PolarState, PolarVariational};
use lienav_integrate::vrkmk::{Spatial, Vrkmk};
use lienav_integrate::{
    AlgebraOf, BodyMethod, BodyState, FloatingBody, FloatingBodyMethod, FloatingBodyState, Inertia, IntegrationError,
    LieGroupMethod, Load, RigidBody, Tableau, VectorField,
};
use lienav_lie::{Quat, So3, Translation, vee};
use nalgebra::{Matrix3, Vector3};

/// A method for rigid bodies that turn.
pub fn body_method<B: TestBody>(
    method: &(impl BodyMethod<B> + Copy + 'static),
    body: &B,
    state: &BodyState,
    h: f64,
) -> Result<Stepper, IntegrationError> {
    let (method, body, mut state) = (*method, body.clone(), *state);
    Ok(Box::new(move |time| {
        state = method.step(&body, &state, time, h)?;
        Ok(state)
    }))
}

/// (R, Ω), moved by rotations from the left and by addition.
pub type Point = (So3, Translation<Vector3<f64>>);

/// A body as a vector field there: rotations act from the left, so the velocity is that in space.
#[derive(Clone, Copy)]
pub struct BodyField<B>(pub B);

impl<B: RigidBody> VectorField<Point> for BodyField<B> {
    fn generator(&self, _: f64, (attitude, Translation(omega)): &Point) -> AlgebraOf<Point> {
        let Self(body) = self;
        let torque = body.momentum(omega).cross(omega) + body.torque(attitude);
        (*attitude * *omega, torque.component_div(&body.moments()))
    }
}

/// A Lie group method for vector fields.
pub fn field_method<B: TestBody>(
    method: &(impl LieGroupMethod<Point, BodyField<B>> + Copy + 'static),
    body: &B,
    state: &BodyState,
    h: f64,
) -> Result<Stepper, IntegrationError> {
    let (method, field) = (*method, BodyField(body.clone()));
    let mut point = (state.attitude, Translation(state.angular_velocity));
    Ok(Box::new(move |time| {
        point = method.step(&field, &point, time, h)?;
        let (attitude, Translation(angular_velocity)) = point;
        Ok(BodyState { attitude, angular_velocity })
    }))
}

/// A symplectic method on T*SO(3), with momenta in space.
pub fn cotangent_method<B: TestBody>(
    method: SymplecticLieGroup,
    body: &B,
    state: &BodyState,
    h: f64,
) -> Result<Stepper, IntegrationError> {
    spatial(body, state, move |system, point, time| Ok(method.step(system, point, time, h)?.0))
}

/// The VRKMK method of a tableau whose weights do not vanish.
pub fn vrkmk_method<B: TestBody, const S: usize>(
    tableau: &Tableau<S>,
    body: &B,
    state: &BodyState,
    h: f64,
) -> Result<Stepper, IntegrationError> {
    let method = Vrkmk::new(tableau).ok_or(no_method(h))?;
    spatial(body, state, move |system, point, time| Ok(method.step(system, point, time, h)?.0))
}

type SpatialPoint = (So3, Vector3<f64>);

fn spatial<B: TestBody>(
    body: &B,
    state: &BodyState,
    step: impl Fn(&Spatial<B>, &SpatialPoint, f64) -> Result<SpatialPoint, IntegrationError> + 'static,
) -> Result<Stepper, IntegrationError> {
    let system = Spatial(body.clone());
    let mut point = system.state(&state.attitude, &state.angular_velocity);
    Ok(Box::new(move |time| {
        point = step(&system, &point, time)?;
        let (attitude, momentum) = point;
        let angular_velocity = attitude.rotate_back(&momentum).component_div(&system.0.moments());
        Ok(BodyState { attitude, angular_velocity })
    }))
}

/// What is not met with the tableaux of the list: a weight that vanishes leaves no numbers to go on with.
fn no_method(step: f64) -> IntegrationError {
    IntegrationError::NotFinite { time: 0.0, step }
}

/// A body in a potential of position and attitude that stays where it is.
struct PinnedBody<B> {
    body: B,
    inertia: Inertia,
}

impl<B: RigidBody> FloatingBody for PinnedBody<B> {
    /// Of no account without a force.
    fn mass(&self) -> f64 {
        1.0
    }
    fn inertia(&self) -> &Inertia {
        &self.inertia
    }
    fn potential(&self, _: &Vector3<f64>, attitude: &So3) -> f64 {
        self.body.potential(attitude)
    }
    #[inline]
    fn load(&self, _: &Vector3<f64>, attitude: &So3) -> Load {
        Load { force_world: Vector3::zeros(), torque_body: self.body.torque(attitude) }
    }
}

/// A variational method for bodies that also move.
pub fn floating_method<B: TestBody>(
    method: &(impl FloatingBodyMethod + Copy + 'static),
    body: &B,
    state: &BodyState,
    h: f64,
) -> Result<Stepper, IntegrationError> {
    let inertia = Inertia::principal_unchecked(body.moments());
    let (method, body) = (*method, PinnedBody { body: body.clone(), inertia });
    let momentum = body.body.momentum(&state.angular_velocity);
    let start = FloatingBodyState::turning(Quat::from(state.attitude).unit_quaternion(), momentum);
    let mut state = method.start(&body, &start, h)?;
    Ok(Box::new(move |time| {
        method.step(&body, &mut state, time, h)?;
        let FloatingBodyState { attitude, body_angular_momentum, .. } = method.observe(&body, &state, h);
        let angular_velocity = body_angular_momentum.component_div(&body.body.moments());
        Ok(BodyState { attitude: Quat::from(attitude).to_so3(), angular_velocity })
    }))
}

/// The variational method by polar decomposition of a tableau whose weights do not vanish, on the Hamiltonian side.
pub fn polar_method<B: TestBody, const S: usize>(
    tableau: &Tableau<S>,
    body: &B,
    state: &BodyState,
    h: f64,
) -> Result<Stepper, IntegrationError> {
    polar(tableau, body, state, h, PolarVariational::step)
}

/// The same on the Lagrangian side.
pub fn polar_method_by_lagrangian<B: TestBody, const S: usize>(
    tableau: &Tableau<S>,
    body: &B,
    state: &BodyState,
    h: f64,
) -> Result<Stepper, IntegrationError> {
    polar(tableau, body, state, h, PolarVariational::step_lagrangian)
}

type PolarStep<B, const S: usize> = fn(
    &mut PolarVariational<Matrix3<f64>, S>,
    &B,
    &mut PolarState<Matrix3<f64>>,
    f64,
    f64,
) -> Result<usize, IntegrationError>;

fn polar<B: TestBody, const S: usize>(
    tableau: &Tableau<S>,
    body: &B,
    state: &BodyState,
    h: f64,
    step: PolarStep<B, S>,
) -> Result<Stepper, IntegrationError> {
    let mut method = PolarVariational::new(tableau, &Matrix3::zeros()).ok_or(no_method(h))?;
    let body = body.clone();
    let mut state = PolarState::of_body(&body, &state.attitude, &state.angular_velocity);
    Ok(Box::new(move |time| {
        step(&mut method, &body, &mut state, time, h)?;
        let angular_velocity = vee(&state.momentum).component_div(&body.moments());
        Ok(BodyState { attitude: So3::from_matrix_unchecked(state.attitude), angular_velocity })
    }))
}
