//! Tests, by subject.

mod preintegration;
