//! One-step methods that keep structure, one file per family. A method is written once against the structure it needs
//! and runs on every system of [`crate::dynamics`] that offers it. An implicit step that does not converge is an error
//! with its residual.

pub mod adaptive;
pub mod commutator_free;
mod convergence;
pub mod cotangent;
mod error;
mod field;
pub mod fixed_point;
pub mod floating_body;
pub mod linear_rk;
pub mod quaternion;
pub mod rattle;
pub mod rkmk;
pub mod shake;
pub mod stormer_verlet;
pub mod tableau;

pub use convergence::Convergence;
pub use error::IntegrationError;
pub use field::{AlgebraOf, EmbeddedMethod, LieGroupMethod, VectorField};
pub use floating_body::{FloatingBody, FloatingBodyMethod, FloatingBodyState, Inertia, InertiaError, Load};
pub use tableau::Tableau;
