use thiserror::Error;

/// Why a step of an integrator could not be made. The state before it is untouched.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
pub enum IntegrationError {
    /// An implicit step did not converge: the step size is too large, or the tolerance below what rounding leaves.
    #[error(
        "the implicit step of h = {step} at t = {time} did not converge: residual {residual:e} after {iterations} \
         iterations, {tolerance:e} wanted; take a smaller step or a looser tolerance"
    )]
    NotConverged {
        /// Time at the beginning of the step, in the problem's unit.
        time: f64,
        /// The step size.
        step: f64,
        /// Norm of the last residual or increment, as the method's documentation says.
        residual: f64,
        /// What it had to come below.
        tolerance: f64,
        /// How many iterations were made.
        iterations: usize,
    },
    /// The state stopped being finite: an explicit method beyond its stability limit, or a collision.
    #[error("the step of h = {step} at t = {time} gave numbers that are not finite; take a smaller step")]
    NotFinite {
        /// Time at the beginning of the step.
        time: f64,
        /// The step size.
        step: f64,
    },
    /// The error estimate could not be brought below the tolerance with the least step allowed.
    #[error("step control went below the least step {least} at t = {time}; loosen the tolerance")]
    StepTooSmall {
        /// Time at the beginning of the step.
        time: f64,
        /// The least step that was allowed.
        least: f64,
    },
}
