//! One-step methods that keep structure, one file per family. A method is written once against the structure it needs
//! and runs on every system of [`crate::dynamics`] that offers it. An implicit step that does not converge is an error
//! with its residual.

mod error;
mod convergence;
pub mod floating_body;
pub mod quaternion;
pub mod rattle;
pub mod shake;
pub mod stormer_verlet;

pub use error::IntegrationError;
pub use convergence::Convergence;
pub use floating_body::{FloatingBody, FloatingBodyMethod, FloatingBodyState, Inertia, InertiaError, Load};
