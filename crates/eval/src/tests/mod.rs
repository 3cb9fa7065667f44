//! Tests of filters under faults, on simulated and recorded runs.

mod faults;
mod gap;
mod saved;
mod stamps;
