//! Tests, by subject.

mod common;
mod laws;
mod measurements;
mod preintegration;
mod propagation;
mod retraction;
