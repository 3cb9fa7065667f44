//! Tests, by subject.

mod common;
mod preintegration;
mod propagation;
mod retraction;
