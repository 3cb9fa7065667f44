//! A window of poses in a program: a camera that follows hundreds of corners for a moment each, and an inertial sensor.
//!
//! `cargo run --release --example 09_window` in `crates/space`. The filter is called `window`; all else is as with any
//! other. The corners here are on a wall; the body stands for two seconds, then swings before it.

use lienav_base::stamp::Stamp;
use lienav_lie::{LieGroup, Se3, So3};
use lienav_space::{Config, Frame, Imu, ImuSample, PixelNoise, Seen, Sensor, Slam3d, Value};
use nalgebra::{Matrix3, Vector2, Vector3};

const GRAVITY: f64 = 9.80665;
const FOCAL_PX: f64 = 400.0;
/// A tracker of corners loses each of them after so many frames; it then finds the point under another identity.
const TRACK: u64 = 10;

/// Position and acceleration after t seconds.
fn motion(t: f64) -> (Vector3<f64>, Vector3<f64>) {
    let s = (t - 2.0).max(0.0);
    let swing = |size: f64, rate: f64| {
        let now = if s > 0.0 { rate * rate * (rate * s).cos() } else { 0.0 };
        (size * (1.0 - (rate * s).cos()), size * now)
    };
    let [x, y, z] = [swing(0.2, 0.7), swing(0.8, 1.1), swing(0.3, 1.7)];
    (Vector3::new(x.0, y.0, z.0), Vector3::new(x.1, y.1, z.1))
}

/// Something like noise, between −1 and 1.
fn noise(k: u64) -> f64 {
    let mut x = k.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^= x >> 27;
    (x >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut config = Config { filter: "window".into(), ..Config::default() };
    // A landmark that a frame does not see is gone: tracks do not come back.
    config.map.tracks_end = true;
    let mut slam = Slam3d::new(config)?;
    // x of the camera is −y of the body, y is −z, z is x.
    let looks_ahead = Matrix3::new(0.0, 0.0, 1.0, -1.0, 0.0, 0.0, 0.0, -1.0, 0.0);
    let mount = Se3::new(So3::from_matrix_unchecked(looks_ahead), Vector3::zeros());
    let pixels = PixelNoise { own: [1.0; 2], common: [0.0; 2] };
    slam.set_sensor(0, Sensor { mount, focal: Vector2::repeat(FOCAL_PX), pixels, ..Sensor::default() })?;

    for k in 0..4000_u64 {
        let t = k as f64 / 200.0;
        let stamp = Stamp::from_secs(t);
        let (position, acceleration) = motion(t);
        if k % 10 == 0 {
            let frame = k / 10;
            let corner = |point: u64| {
                let place =
                    Vector3::new(5.0 + noise(3 * point), 3.0 * noise(3 * point + 1), 2.0 * noise(3 * point + 2));
                let x = mount.inverse().transform(&(place - position));
                // Uniform between −1.7 and 1.7 px: a standard deviation of one.
                let px = [0, 1].map(|c| 1.7 * noise(1000 * frame + 2 * point + c));
                let pixel = x.xy() / x.z * FOCAL_PX + Vector2::from(px);
                let track = point + 1000 * ((frame + 7 * point) / TRACK);
                Seen { id: track, sensor: 0, value: Value::Pixel(pixel) }
            };
            slam.push_frame(&Frame { stamp, seen: (0..150).map(corner).collect() })?;
        }
        let value = Imu::new(Vector3::zeros(), acceleration + Vector3::z() * GRAVITY);
        slam.push_imu(&ImuSample { stamp, value })?;
        while let Some(step) = slam.poll() {
            if step.has_frame && k % 200 == 0 {
                let estimate = step.estimate;
                let error = (estimate.pose.translation - motion(estimate.stamp.secs()).0).norm();
                let sigma = estimate.covariance.fixed_view::<3, 3>(0, 0).trace().sqrt();
                println!("{t:5.1} s: {error:.4} m off, {sigma:.4} m are likely, {} parts in the state", step.landmarks);
            }
        }
    }
    let pose = slam.pose().ok_or("no pose")?;
    let error = (pose.pose.translation - motion(pose.stamp.secs()).0).norm();
    let sigma = pose.covariance.fixed_view::<3, 3>(0, 0).trace().sqrt();
    assert!(error < 3.0 * sigma && sigma < 0.1, "{error} m off, {sigma} m are likely");
    Ok(())
}
