//! The example runs, and finds what it says it finds.

#[path = "../examples/07_pixels_and_an_imu.rs"]
mod pixels_and_an_imu;

#[test]
fn pixels_and_an_imu() {
    pixels_and_an_imu::main().unwrap();
}
