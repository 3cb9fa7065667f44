//! The examples run, and find what they say they find.

#[path = "../examples/01_range_bearing_slam.rs"]
mod range_bearing_slam;

#[path = "../examples/02_stereo.rs"]
mod stereo;

#[path = "../examples/03_a_sensor_of_your_own.rs"]
mod a_sensor_of_your_own;

#[path = "../examples/04_monte_carlo.rs"]
mod monte_carlo;

#[path = "../examples/05_attitude.rs"]
mod attitude;

#[path = "../examples/06_a_filter_by_hand.rs"]
mod a_filter_by_hand;

#[test]
fn slam_with_ranges_and_bearings() {
    range_bearing_slam::main().unwrap();
}

#[test]
fn stereo_through_three_filters() {
    stereo::main().unwrap();
}

#[test]
fn a_sensor_written_outside() {
    a_sensor_of_your_own::main().unwrap();
}

#[test]
fn monte_carlo_of_three_filters() {
    monte_carlo::main().unwrap();
}

#[test]
fn attitude_of_a_swinging_sensor() {
    attitude::main().unwrap();
}

#[test]
fn a_filter_that_a_program_steps() {
    a_filter_by_hand::main().unwrap();
}
