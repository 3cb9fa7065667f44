//! What the methods of [`crate::integrate`] are run on: rigid bodies, tops, pendulums, dipoles, quadrotors, waves.

pub mod elastic_arm;
pub mod kdv;
pub mod nls;
pub mod semilinear;
