//! What the methods of [`crate::integrate`] are run on: rigid bodies, tops, pendulums, dipoles, quadrotors, waves.

pub mod inertial;
pub mod pivoted_body;
pub mod three_balls;
