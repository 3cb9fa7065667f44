//! Orientation from a gyroscope and an accelerometer.
//!
//! A sensor that is at rest for five seconds, then swings about two axes for a minute. `lienav_attitude` gives roll,
//! pitch and the bias of the gyroscope with their covariances; the heading is relative to the start.
//!
//! | | |
//! |---|---|
//! | state | R ∈ SO(3), body to world with z up; b ∈ R³, bias of the gyroscope, rad/s |
//! | input | ω + b + n_ω, rad/s, 200 Hz; n_ω ~ N(0, (0.005 rad/s)²) a sample |
//! | motion | Ṙ = R ω^ |
//! | measurement | f = Rᵀ(a + g e_z) + n_f, specific force, m/s²; a, the acceleration of the body, is unknown |
//! | noise of the measurement | n_f ~ N(0, (0.05 m/s²)²) a sample |
//!
//!     cargo run --no-default-features --example 05_attitude

use lienav_attitude::{Attitude, Config, ImuSample};
use lienav_base::stamp::Stamp;
use lienav_eval::plot::{Figure, Line, figure};
use nalgebra::{UnitQuaternion, Vector3};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use std::error::Error;

const RATE_HZ: f64 = 200.0;
const REST_S: f64 = 5.0;
const GRAVITY: f64 = 9.80665;
const BIAS: Vector3<f64> = Vector3::new(0.01, -0.02, 0.015);

/// The true angular velocity in the body frame, rad/s.
fn angular_velocity(t: f64) -> Vector3<f64> {
    let t = (t - REST_S).max(0.0);
    Vector3::new(0.6 * (0.9 * t).sin(), 0.4 * (0.5 * t).sin(), 0.2 * (0.3 * t).sin())
}

/// Runs the example; an error, or a panic, where it does not find what it is about.
pub fn main() -> Result<(), Box<dyn Error>> {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut noise = |std: f64| -> Vector3<f64> { std * Vector3::from_fn(|_, _| StandardNormal.sample(&mut random)) };

    let mut attitude = Attitude::new(Config::default())?;
    let mut truth = UnitQuaternion::from_euler_angles(0.1, -0.05, 0.0);
    let (mut errors, mut bands) = (Vec::new(), Vec::new());
    for k in 0..(65.0 * RATE_HZ) as i64 {
        let t = k as f64 / RATE_HZ;
        if k > 0 {
            truth *= UnitQuaternion::from_scaled_axis(angular_velocity(t - 0.5 / RATE_HZ) / RATE_HZ);
        }
        attitude.imu(&ImuSample {
            stamp: Stamp::from_nanos((t * 1e9).round() as i64),
            angular_velocity: angular_velocity(t) + BIAS + noise(0.005),
            specific_force: truth.inverse() * Vector3::new(0.0, 0.0, GRAVITY) + noise(0.05),
        })?;
        if let Some(estimate) = attitude.estimate()
            && k % 20 == 0
        {
            // How far the estimated vertical is from the true one.
            let (up, estimated) = (truth.inverse() * Vector3::z(), estimate.orientation.inverse() * Vector3::z());
            errors.push((t, up.angle(&estimated).to_degrees()));
            let variances = estimate.orientation_covariance.diagonal();
            bands.push((t, 3.0 * (variances.x + variances.y).sqrt().to_degrees()));
        }
    }

    let estimate = attitude.estimate().ok_or("no estimate")?;
    let moving: Vec<f64> = errors.iter().filter(|(t, _)| *t > REST_S).map(|(_, error)| error * error).collect();
    let rmse = (moving.iter().sum::<f64>() / moving.len() as f64).sqrt();
    let bias_error = (estimate.gyro_bias - BIAS).xy().norm();
    println!("inclination RMSE {rmse:.3}°, bias of x and y off by {bias_error:.5} rad/s");
    assert!(rmse < 0.5 && bias_error < 0.002, "inclination {rmse}°, bias {bias_error} rad/s");

    let picture = figure(&Figure {
        title: "Inclination of a swinging sensor".into(),
        x_label: "t [s]".into(),
        y_label: "error [°]".into(),
        lines: vec![
            Line { name: "error".into(), points: errors, ..Line::default() },
            Line { name: "3σ".into(), points: bands, is_guide: true, ..Line::default() },
        ],
        ..Figure::default()
    })?;
    std::fs::create_dir_all("out/examples")?;
    std::fs::write("out/examples/05_attitude.svg", picture)?;
    println!("picture: out/examples/05_attitude.svg");
    Ok(())
}
