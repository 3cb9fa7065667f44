//! Tests of global localization as a whole.

mod found;
pub mod scene;
