//! The methods that are put to the test. To add one, add a line to [`contestants`].

use super::adapters::{
    body_method, cotangent_method, field_method, floating_method, polar_method, polar_method_by_lagrangian,
    vrkmk_method,
};
use super::stepper::{Stepper, TestBody};
use lienav_integrate::commutator_free::{CF3, CF4, CF32A, CF32B, CF43, CROUCH_GROSSMAN3};
use lienav_integrate::cotangent::SymplecticLieGroup;
use lienav_integrate::quaternion::{Iteration, LagrangianQuaternionIntegrator, QuaternionIntegrator};
use lienav_integrate::rattle::Rattle;
use lienav_integrate::rkmk::{
    LIE_EULER, LIE_EULER_HEUN, RKMK3, RKMK3_KUTTA, RKMK4, RKMK4_SERIES, RKMK32, RKMK43, RKMK54, Rkmk4TwoCommutators,
};
use lienav_integrate::shake::{Shake, ShakeSolver};
use lienav_integrate::stormer_verlet::StormerVerlet;
use lienav_integrate::tableau::{GAUSS4, GAUSS6, IMPLICIT_MIDPOINT, KUTTA3};
use lienav_integrate::{
    BodyState, Convergence, EnergyMomentum, ExplicitLieNewmark, ImplicitRkmk, IntegrationError, KoziaraBicanic,
    LieMidpoint, ModifiedCrouchGrossman, PartitionedRkmk, RotationMap, TrapezoidalLieNewmark, VariationalLieVerlet,
};

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

/// Which methods are drawn together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// The seven of the text.
    OfTheText,
    /// Its methods with the exponential in place of the Cayley map.
    OtherMap,
    /// All of order 1, whose errors would hide those of the others.
    FirstOrder,
    /// Symplectic methods of order 2.
    Symplectic,
    /// Symplectic methods of order 3.
    SymplecticOfThirdOrder,
    /// Symplectic methods of orders 4 and 6.
    SymplecticOfHighOrder,
    /// Lie group methods for any vector field, of orders 2 and 3.
    VectorField,
    /// The same of orders 4 to 6.
    VectorFieldOfHighOrder,
}

impl Family {
    /// All of them, the text's first.
    pub const ALL: [Self; 8] = [
        Self::OfTheText,
        Self::OtherMap,
        Self::FirstOrder,
        Self::Symplectic,
        Self::SymplecticOfThirdOrder,
        Self::SymplecticOfHighOrder,
        Self::VectorField,
        Self::VectorFieldOfHighOrder,
    ];

    /// For file names; nothing of the text's own methods.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::OfTheText => "",
            Self::OtherMap => "-exponential",
            Self::FirstOrder => "-order-1",
            Self::Symplectic => "-symplectic",
            Self::SymplecticOfThirdOrder => "-symplectic-order-3",
            Self::SymplecticOfHighOrder => "-symplectic-high-order",
            Self::VectorField => "-lie-group",
            Self::VectorFieldOfHighOrder => "-lie-group-high-order",
        }
    }
}

impl<B> Contestant<B> {
    /// With which others it is drawn.
    pub fn family(&self) -> Family {
        match (self.printed, self.name.ends_with(", exp"), self.is_symplectic, self.order) {
            (Some(_), false, ..) => Family::OfTheText,
            (Some(_), true, ..) => Family::OtherMap,
            (None, _, _, ..2) => Family::FirstOrder,
            (None, _, true, 2) => Family::Symplectic,
            (None, _, true, 3) => Family::SymplecticOfThirdOrder,
            (None, _, true, _) => Family::SymplecticOfHighOrder,
            (None, _, false, ..4) => Family::VectorField,
            (None, _, false, _) => Family::VectorFieldOfHighOrder,
        }
    }
}

/// All of them; first the seven of the text, in its order.
pub fn contestants<B: TestBody>() -> Vec<Contestant<B>> {
    let mut all = of_ortolan();
    all.extend(variational());
    all.extend(symplectic_of_any_order());
    all.extend(for_vector_fields());
    all.extend(energy_momentum());
    all
}

fn of_ortolan<B: TestBody>() -> Vec<Contestant<B>> {
    const EXP: RotationMap = RotationMap::Exponential;
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
    ]
}

/// Shen 2019, chapter 3.
fn variational<B: TestBody>() -> Vec<Contestant<B>> {
    fn quaternion(iteration: Iteration) -> QuaternionIntegrator {
        QuaternionIntegrator { iteration, convergence: Convergence::default() }
    }
    fn stormer_verlet(map: RotationMap) -> StormerVerlet {
        StormerVerlet { map, convergence: Convergence::default() }
    }
    fn shake(solver: ShakeSolver) -> Shake {
        Shake { solver, convergence: Convergence::default() }
    }
    let all = vec![
        of("quaternion (3.23), by (3.25)", 2, |b, s, h| floating_method(&quaternion(Iteration::Linear), b, s, h)),
        of("quaternion (3.23), by (3.26)", 2, |b, s, h| floating_method(&quaternion(Iteration::Cross), b, s, h)),
        of("quaternion (3.23), by Newton", 2, |b, s, h| floating_method(&quaternion(Iteration::Newton), b, s, h)),
        of("quaternion (3.22)", 2, |b, s, h| floating_method(&LagrangianQuaternionIntegrator::default(), b, s, h)),
        of("RATTLE (3.28)", 2, |b, s, h| floating_method(&Rattle::default(), b, s, h)),
        of("SHAKE", 2, |b, s, h| floating_method(&shake(ShakeSolver::Chord), b, s, h)),
        of("SHAKE, by Newton", 2, |b, s, h| floating_method(&shake(ShakeSolver::Newton), b, s, h)),
        of("Störmer–Verlet, Cayley", 2, |b, s, h| floating_method(&stormer_verlet(RotationMap::Cayley), b, s, h)),
        of("Störmer–Verlet, exp", 2, |b, s, h| floating_method(&stormer_verlet(RotationMap::Exponential), b, s, h)),
    ];
    all.into_iter().map(Contestant::symplectic).collect()
}

/// Shen, Tran & Leok 2022, and the methods on T*G of Celledoni et al. 2021.
fn symplectic_of_any_order<B: TestBody>() -> Vec<Contestant<B>> {
    fn cotangent(theta: f64) -> SymplecticLieGroup {
        SymplecticLieGroup { theta }
    }
    let all = vec![
        of("VPD 2", 2, |b, s, h| polar_method(&IMPLICIT_MIDPOINT, b, s, h)),
        of("VPD 3", 3, |b, s, h| polar_method(&KUTTA3, b, s, h)),
        of("VPD 4", 4, |b, s, h| polar_method(&GAUSS4, b, s, h)),
        of("VPD 6", 6, |b, s, h| polar_method(&GAUSS6, b, s, h)),
        of("VPD 2, Lagrangian", 2, |b, s, h| polar_method_by_lagrangian(&IMPLICIT_MIDPOINT, b, s, h)),
        of("VPD 3, Lagrangian", 3, |b, s, h| polar_method_by_lagrangian(&KUTTA3, b, s, h)),
        of("VPD 4, Lagrangian", 4, |b, s, h| polar_method_by_lagrangian(&GAUSS4, b, s, h)),
        of("VPD 6, Lagrangian", 6, |b, s, h| polar_method_by_lagrangian(&GAUSS6, b, s, h)),
        of("VRKMK 2", 2, |b, s, h| vrkmk_method(&IMPLICIT_MIDPOINT, b, s, h)),
        of("VRKMK 3", 3, |b, s, h| vrkmk_method(&KUTTA3, b, s, h)),
        of("VRKMK 4", 4, |b, s, h| vrkmk_method(&GAUSS4, b, s, h)),
        of("VRKMK 6", 6, |b, s, h| vrkmk_method(&GAUSS6, b, s, h)),
        of("SLGI θ = 0", 1, |b, s, h| cotangent_method(cotangent(0.0), b, s, h)),
        of("SLGI θ = 1/2", 2, |b, s, h| cotangent_method(cotangent(0.5), b, s, h)),
        of("SLGI θ = 1", 1, |b, s, h| cotangent_method(cotangent(1.0), b, s, h)),
    ];
    all.into_iter().map(Contestant::symplectic).collect()
}

/// Celledoni et al. 2021, section 2: each with constant steps, of pairs the method that is gone on with.
fn for_vector_fields<B: TestBody>() -> Vec<Contestant<B>> {
    vec![
        of("RKMK Euler", 1, |b, s, h| field_method(&LIE_EULER, b, s, h)),
        of("RKMK Heun 2", 2, |b, s, h| field_method(&LIE_EULER_HEUN, b, s, h)),
        of("RKMK Heun 3", 3, |b, s, h| field_method(&RKMK3, b, s, h)),
        of("RKMK Kutta 3", 3, |b, s, h| field_method(&RKMK3_KUTTA, b, s, h)),
        of("RKMK 3(2)", 3, |b, s, h| field_method(&RKMK32, b, s, h)),
        of("Crouch–Grossman 3", 3, |b, s, h| field_method(&CROUCH_GROSSMAN3, b, s, h)),
        of("CF 3", 3, |b, s, h| field_method(&CF3, b, s, h)),
        of("CF 3(2) A", 3, |b, s, h| field_method(&CF32A, b, s, h)),
        of("CF 3(2) B", 3, |b, s, h| field_method(&CF32B, b, s, h)),
        of("RKMK Gauss 2", 2, |b, s, h| field_method(&ImplicitRkmk { tableau: IMPLICIT_MIDPOINT }, b, s, h)),
        of("RKMK4", 4, |b, s, h| field_method(&RKMK4, b, s, h)),
        of("RKMK4, series", 4, |b, s, h| field_method(&RKMK4_SERIES, b, s, h)),
        of("RKMK4, two commutators", 4, |b, s, h| field_method(&Rkmk4TwoCommutators, b, s, h)),
        of("RKMK 4(3)", 4, |b, s, h| field_method(&RKMK43, b, s, h)),
        of("RKMK 5(4)", 5, |b, s, h| field_method(&RKMK54, b, s, h)),
        of("CF 4", 4, |b, s, h| field_method(&CF4, b, s, h)),
        of("CF 4(3)", 4, |b, s, h| field_method(&CF43, b, s, h)),
        of("RKMKGL4", 4, |b, s, h| field_method(&ImplicitRkmk { tableau: GAUSS4 }, b, s, h)),
        of("RKMKGL6", 6, |b, s, h| field_method(&ImplicitRkmk { tableau: GAUSS6 }, b, s, h)),
    ]
}

/// Of table 2.1 of Ortolan 2011, what its text describes in words.
fn energy_momentum<B: TestBody>() -> Vec<Contestant<B>> {
    const EXP: RotationMap = RotationMap::Exponential;
    vec![
        of("energy-momentum, Cayley", 2, |b, s, h| body_method(&EnergyMomentum::default(), b, s, h)),
        of("energy-momentum, exponential", 2, |b, s, h| body_method(&EnergyMomentum { map: EXP }, b, s, h)),
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
