//! Tests of global localization as a whole.

mod alike;
mod found;
mod laws;
mod oracle;
pub mod scene;
