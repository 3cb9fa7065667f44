//! The methods that are put to the test. To add one, add a line to [`contestants`].

use super::adapters::{body_method, cotangent_method, field_method, floating_method, polar_method, vrkmk_method};
use crate::integrate::commutator_free::CF4;
use crate::integrate::cotangent::SymplecticLieGroup;
use crate::integrate::quaternion::{LagrangianQuaternionIntegrator, QuaternionIntegrator};
use crate::integrate::rattle::Rattle;
use crate::integrate::rkmk::RKMK4;
use crate::integrate::shake::Shake;
use crate::integrate::stormer_verlet::StormerVerlet;
use crate::integrate::tableau::{GAUSS4, GAUSS6, IMPLICIT_MIDPOINT};
use crate::integrate::{
    BodyState, ExplicitLieNewmark, ImplicitRkmk, IntegrationError, KoziaraBicanic, LieMidpoint, ModifiedCrouchGrossman,
    PartitionedRkmk, RotationMap, TorqueGradient, TrapezoidalLieNewmark, VariationalLieVerlet,
};

/// A body that every method of the list can be run on.
pub trait TestBody: TorqueGradient + Clone + 'static {}

impl<B: TorqueGradient + Clone + 'static> TestBody for B {}

/// A method on its way: each call makes one step from the time it is given and tells the state it came to.
pub type Stepper = Box<dyn FnMut(f64) -> Result<BodyState, IntegrationError>>;

/// Makes a method ready to step from a state with a step size.
pub type Start<B> = fn(&B, &BodyState, f64) -> Result<Stepper, IntegrationError>;

/// What the text finds of the energy in the test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drift {
    /// It stays within bounds.
    None,
    /// It falls.
    Falls,
    /// It rises.
    Rises,
}

/// A method that is put to the test.
pub struct Contestant<B> {
    /// As its text calls it.
    pub name: &'static str,
    /// Its order of accuracy.
    pub order: u32,
    /// Whether it is symplectic by construction, and so cannot drift.
    pub is_symplectic: bool,
    /// What Ortolan 2011 reports, of the methods tested there.
    pub printed: Option<Drift>,
    /// Makes it ready.
    pub start: Start<B>,
}

/// All of them; first the seven of the text, in its order.
pub fn contestants<B: TestBody>() -> Vec<Contestant<B>> {
    const EXP: RotationMap = RotationMap::Exponential;
    const STORMER_VERLET: fn(RotationMap) -> StormerVerlet = |map| StormerVerlet { map, ..StormerVerlet::default() };
    vec![
        of("ELN", 2, |b, s, h| body_method(&ExplicitLieNewmark::default(), b, s, h)).printed(Drift::Falls),
        of("TLN", 2, |b, s, h| body_method(&TrapezoidalLieNewmark::default(), b, s, h)).printed(Drift::Falls),
        of("LIEMID[EA]", 2, |b, s, h| body_method(&LieMidpoint, b, s, h)).printed(Drift::Rises),
        of("PRK", 2, |b, s, h| body_method(&PartitionedRkmk::default(), b, s, h)).printed(Drift::Falls),
        of("MCG", 2, |b, s, h| body_method(&ModifiedCrouchGrossman, b, s, h)).printed(Drift::Rises),
        of("NEW3", 2, |b, s, h| body_method(&KoziaraBicanic, b, s, h)).printed(Drift::Rises),
        of("VLV", 2, |b, s, h| body_method(&VariationalLieVerlet, b, s, h)).printed(Drift::None).symplectic(),
        of("ELN, exp", 2, |b, s, h| body_method(&ExplicitLieNewmark { map: EXP }, b, s, h)).printed(Drift::Falls),
        of("TLN, exp", 2, |b, s, h| body_method(&TrapezoidalLieNewmark { map: EXP }, b, s, h)).printed(Drift::Falls),
        of("quaternion VI", 2, |b, s, h| floating_method(&QuaternionIntegrator::default(), b, s, h)).symplectic(),
        of("quaternion VI, Lagrangian", 2, |b, s, h| {
            floating_method(&LagrangianQuaternionIntegrator::default(), b, s, h)
        })
        .symplectic(),
        of("RATTLE", 2, |b, s, h| floating_method(&Rattle::default(), b, s, h)).symplectic(),
        of("SHAKE", 2, |b, s, h| floating_method(&Shake::default(), b, s, h)).symplectic(),
        of("Störmer–Verlet, Cayley", 2, |b, s, h| floating_method(&STORMER_VERLET(RotationMap::Cayley), b, s, h))
            .symplectic(),
        of("Störmer–Verlet, exp", 2, |b, s, h| floating_method(&STORMER_VERLET(RotationMap::Exponential), b, s, h))
            .symplectic(),
        of("VPD midpoint", 2, |b, s, h| polar_method(&IMPLICIT_MIDPOINT, b, s, h)).symplectic(),
        of("VPD Gauss 4", 4, |b, s, h| polar_method(&GAUSS4, b, s, h)).symplectic(),
        of("VPD Gauss 6", 6, |b, s, h| polar_method(&GAUSS6, b, s, h)).symplectic(),
        of("VRKMK midpoint", 2, |b, s, h| vrkmk_method(&IMPLICIT_MIDPOINT, b, s, h)).symplectic(),
        of("VRKMK Gauss 4", 4, |b, s, h| vrkmk_method(&GAUSS4, b, s, h)).symplectic(),
        of("VRKMK Gauss 6", 6, |b, s, h| vrkmk_method(&GAUSS6, b, s, h)).symplectic(),
        of("T*G midpoint", 2, |b, s, h| cotangent_method(SymplecticLieGroup::MIDPOINT, b, s, h)).symplectic(),
        of("RKMK4", 4, |b, s, h| field_method(&RKMK4, b, s, h)),
        of("RKMKGL4", 4, |b, s, h| field_method(&ImplicitRkmk { tableau: GAUSS4 }, b, s, h)),
        of("CF4", 4, |b, s, h| field_method(&CF4, b, s, h)),
    ]
}

fn of<B>(name: &'static str, order: u32, start: Start<B>) -> Contestant<B> {
    Contestant { name, order, is_symplectic: false, printed: None, start }
}

impl<B> Contestant<B> {
    fn symplectic(self) -> Self {
        Self { is_symplectic: true, ..self }
    }
    fn printed(self, drift: Drift) -> Self {
        Self { printed: Some(drift), ..self }
    }
}
