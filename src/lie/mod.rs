//! The groups and their maps.

mod se2;

pub use se2::{Se2, rotation, skew, v_matrix, wrap_angle};
