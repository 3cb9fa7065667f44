//! Lie groups: elements, exponential maps and their differentials. Fixed sizes are on the stack and nothing allocates;
//! SO(n) is there for n chosen at run time too.

#[cfg(test)]
mod accuracy;
mod action;
mod angle;
mod group;
#[cfg(test)]
mod laws;
pub mod polar;
mod product;
mod quat;
pub mod se2;
pub mod se3;
pub mod series;
mod so2;
pub mod so3;
mod so_n;
mod sphere;
mod square;
mod vector_space;

pub use action::{Coadjoint, HomogeneousSpace};
pub use group::LieGroup;
pub use product::Translation;
pub use quat::Quat;
pub use se2::{Se2, rotation, skew, v_matrix, wrap_angle};
pub use se3::Se3;
pub use so_n::{Rotation, SoDyn, SoN};
pub use so2::So2;
pub use so3::{So3, hat, vee};
pub use sphere::{S2, Ts2};
pub use square::Square;
pub use vector_space::VectorSpace;
