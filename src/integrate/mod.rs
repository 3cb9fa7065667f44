//! One-step methods that keep structure, one file per family. A method is written once against the structure it needs
//! and runs on every system of [`crate::dynamics`] that offers it. An implicit step that does not converge is an error
//! with its residual.

mod error;
pub mod exponential;

pub use error::IntegrationError;
