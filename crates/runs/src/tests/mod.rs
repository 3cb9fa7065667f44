//! Tests of filters under faults, on simulated and recorded runs.

mod faults;
mod found;
mod gap;
mod known_map;
mod mrclam;
mod parts;
mod saved;
mod stamps;
mod while_driving;
