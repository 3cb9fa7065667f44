//! What the methods of [`crate`] are run on: rigid bodies, tops, pendulums, dipoles, quadrotors, elastic arms, waves.

mod dipole_array;
mod dipole_on_a_stick;
pub mod elastic_arm;
mod free_body;
pub mod hamiltonian_chain;
pub mod heavy_top;
pub mod inertial;
pub mod kdv;
pub mod nls;
pub mod pendulum_chain;
pub mod pivoted_body;
pub mod quadrotors;
pub mod semilinear;
mod spherical_pendulum;
mod stability_body;
pub mod three_balls;

pub use dipole_array::{DipoleArray, Needle};
pub use dipole_on_a_stick::DipoleOnAStick;
pub use free_body::{FreeBody, FreeBodyN};
pub use spherical_pendulum::{DoubleSphericalPendulum, SphericalPendulum};
pub use stability_body::StabilityBody;
