//! The methods that are put to the test. To add one, add a line to [`contestants`].

use crate::integrate::{
    BodyMethod, BodyState, ExplicitLieNewmark, IntegrationError, KoziaraBicanic, LieMidpoint, ModifiedCrouchGrossman,
    PartitionedRkmk, Reconstruction, TorqueGradient, TrapezoidalLieNewmark, VariationalLieVerlet,
};

/// A body that every method of the list can be run on.
pub trait TestBody: TorqueGradient + Clone + 'static {}

impl<B: TorqueGradient + Clone + 'static> TestBody for B {}

/// A method on its way: each call makes one step from the time it is given and tells the state it came to.
pub type Stepper = Box<dyn FnMut(f64) -> Result<BodyState, IntegrationError>>;

/// What the text says of the energy in the test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drift {
    /// It stays within bounds.
    None,
    /// It falls.
    Falls,
    /// It rises.
    Rises,
    /// The text does not test this method.
    Unsaid,
}

/// A method that is put to the test.
pub struct Contestant<B> {
    /// As the text calls it.
    pub name: &'static str,
    /// Its order of accuracy.
    pub order: u32,
    /// What the text reports.
    pub drift: Drift,
    /// What the text says of its cost, in multiples of ELN's.
    pub printed_cost: Option<&'static str>,
    /// Makes it ready to step from a state with a step size.
    pub start: Box<dyn Fn(&B, &BodyState, f64) -> Result<Stepper, IntegrationError>>,
}

/// All of them; first the seven of the text, in its order.
pub fn contestants<B: TestBody>() -> Vec<Contestant<B>> {
    let reconstruction = Reconstruction::Exponential;
    vec![
        one_step("ELN", 2, Drift::Falls, ExplicitLieNewmark::default()).costs("1"),
        one_step("TLN", 2, Drift::Falls, TrapezoidalLieNewmark::default()).costs("up to 12 × the rest"),
        one_step("LIEMID[EA]", 2, Drift::Rises, LieMidpoint),
        one_step("PRK", 2, Drift::Falls, PartitionedRkmk::default()),
        one_step("MCG", 2, Drift::Rises, ModifiedCrouchGrossman),
        one_step("NEW3", 2, Drift::Rises, KoziaraBicanic),
        one_step("VLV", 2, Drift::None, VariationalLieVerlet),
        one_step("ELN, exp", 2, Drift::Falls, ExplicitLieNewmark { reconstruction }),
        one_step("TLN, exp", 2, Drift::Falls, TrapezoidalLieNewmark { reconstruction }),
    ]
}

/// A method without a memory.
fn one_step<B: TestBody>(
    name: &'static str,
    order: u32,
    drift: Drift,
    method: impl BodyMethod<B> + Copy + 'static,
) -> Contestant<B> {
    let start = move |body: &B, state: &BodyState, h: f64| {
        let (body, mut state) = (body.clone(), *state);
        let stepper: Stepper = Box::new(move |time| {
            state = method.step(&body, &state, time, h)?;
            Ok(state)
        });
        Ok(stepper)
    };
    Contestant { name, order, drift, printed_cost: None, start: Box::new(start) }
}

impl<B> Contestant<B> {
    fn costs(self, printed: &'static str) -> Self {
        Self { printed_cost: Some(printed), ..self }
    }
}
