//! What the methods of [`crate::integrate`] are run on: rigid bodies, tops, pendulums, dipoles, quadrotors, waves.

mod pivoted_body;
mod three_balls;

pub use pivoted_body::PivotedBody;
pub use three_balls::ThreeBalls;
