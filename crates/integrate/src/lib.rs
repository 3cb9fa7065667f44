//! One-step methods that keep structure, one file per family. A method is written once against the structure it needs
//! and runs on every system of [`crate::dynamics`] that offers it. An implicit step that does not converge is an error
//! with its residual.

pub mod adaptive;
pub mod attitude;
pub mod commutator_free;
mod convected;
mod convergence;
pub mod cotangent;
pub mod dynamics;
mod error;
pub mod exponential;
mod field;
pub mod fixed_point;
pub mod floating_body;
#[cfg(test)]
mod floating_body_tests;
mod implicit_rkmk;
mod lie_newmark;
mod lie_verlet;
pub mod linear_rk;
mod partitioned_rkmk;
pub mod polar;
pub mod quaternion;
pub mod rattle;
mod rigid_body;
#[cfg(test)]
mod rigid_body_tests;
pub mod rkmk;
mod rotation_map;
mod settling;
pub mod shake;
pub mod stormer_verlet;
pub mod tableau;
pub mod two_spheres;
pub mod vrkmk;

pub use convected::{KoziaraBicanic, LieMidpoint, ModifiedCrouchGrossman};
pub use convergence::Convergence;
pub use error::IntegrationError;
pub use field::{AlgebraOf, EmbeddedMethod, LieGroupMethod, VectorField};
pub use floating_body::{FloatingBody, FloatingBodyMethod, FloatingBodyState, Inertia, InertiaError, Load};
pub use implicit_rkmk::ImplicitRkmk;
pub use lie_newmark::{ExplicitLieNewmark, TrapezoidalLieNewmark};
pub use lie_verlet::VariationalLieVerlet;
pub use partitioned_rkmk::PartitionedRkmk;
pub use rigid_body::{BodyMethod, BodyState, RigidBody, TorqueGradient};
pub use rotation_map::RotationMap;
pub use tableau::Tableau;
