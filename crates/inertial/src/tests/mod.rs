//! Tests, by subject.

mod clones;
pub mod common;
mod hostile;
mod laws;
mod measurements;
mod preintegration;
mod propagation;
mod rest;
mod retraction;
#[path = "../../examples/simulator/mod.rs"]
mod simulator;
mod sparse_tags;
mod start;
mod window;
