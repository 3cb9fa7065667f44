//! Lie groups: elements, exponential maps and their differentials. Fixed sizes are on the stack and nothing allocates;
//! SO(n) is there for n chosen at run time too.

mod group;
pub mod se2;
mod vector_space;

pub use group::LieGroup;
pub use se2::{Se2, rotation, skew, v_matrix, wrap_angle};
pub use vector_space::VectorSpace;
