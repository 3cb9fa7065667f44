//! A method that is put to the test, as a closure that makes its steps, and the bodies that it can be run on.

use lienav_integrate::{BodyState, IntegrationError, TorqueGradient};

/// A body that every method of the list can be run on.
pub trait TestBody: TorqueGradient + Clone + 'static {}

impl<B: TorqueGradient + Clone + 'static> TestBody for B {}

/// A method on its way: each call makes one step from the time it is given and tells the state it came to.
pub type Stepper = Box<dyn FnMut(f64) -> Result<BodyState, IntegrationError>>;
