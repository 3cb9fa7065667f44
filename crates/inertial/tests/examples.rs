//! The example runs, and finds what it says it finds.

#[path = "../examples/08_a_measurement_in_space.rs"]
mod a_measurement_in_space;

#[test]
fn a_measurement_in_space() {
    a_measurement_in_space::main().unwrap();
}
