//! One-step methods that keep structure, one file per family. A method is written once against the structure it needs
//! and runs on every system of [`crate::dynamics`] that offers it. An implicit step that does not converge is an error
//! with its residual.

pub mod adaptive;
pub mod commutator_free;
pub mod cotangent;
mod error;
mod field;
pub mod fixed_point;
pub mod linear_rk;
pub mod rkmk;
pub mod tableau;

pub use error::IntegrationError;
pub use field::{AlgebraOf, EmbeddedMethod, LieGroupMethod, VectorField};
pub use tableau::Tableau;
