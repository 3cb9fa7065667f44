//! What the methods of [`crate::integrate`] are run on: rigid bodies, tops, pendulums, dipoles, quadrotors, waves.

pub mod heavy_top;
pub mod inertial;
pub mod pendulum_chain;
pub mod quadrotors;
