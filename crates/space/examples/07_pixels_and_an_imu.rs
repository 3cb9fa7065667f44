//! A camera and an inertial sensor in a hand: a program makes its own samples and pixels, and asks where it is.
//!
//!     state        R ∈ SO(3), v, p, landmarks p_i, biases b_g, b_a
//!     sensor       ω_m = ω + b_g + n_g,  a_m = Rᵀ(v̇ − g) + b_a + n_a          at 200 Hz
//!     measurement  y = π(R_cᵀ(Rᵀ(p_i − p) − t_c)) + n,  n ~ N(0, 1 px² I)      at 20 Hz, of 40 posts of a hall
//!
//! The body stands for 1.5 s, and is carried round in a circle. The program prints how far the estimate is from the truth,
//! beside the three standard deviations that the filter states, at the newest sample.
//!
//!     cargo run --release --manifest-path crates/space/Cargo.toml --example 07_pixels_and_an_imu

use lienav_base::stamp::Stamp;
use lienav_lie::{LieGroup, Se3, So3};
use lienav_space::{Config, Frame, Imu, ImuSample, PixelNoise, Seen, Sensor, Slam3d, Value};
use nalgebra::{Matrix3, Vector2, Vector3};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const RATE_HZ: f64 = 200.0;
const GRAVITY: f64 = 9.80665;
const FOCAL_PX: f64 = 450.0;
const CENTRE_PX: [f64; 2] = [376.0, 240.0];

/// Standing, then faster and faster round, looking ahead and swaying.
fn body_at(t: f64) -> Se3 {
    let moving = (t - 1.5).max(0.0);
    let angle = 0.25 * moving * moving / (1.0 + 0.4 * moving);
    let sway = 0.05 * (1.7 * angle).sin();
    let rotation = So3::exp(&(Vector3::z() * angle)) * So3::exp(&Vector3::new(sway, -sway, 0.0));
    Se3::new(rotation, Vector3::new(2.0 * angle.sin(), 2.0 - 2.0 * angle.cos(), 0.3 * (1.0 - angle.cos())))
}

/// The camera looks along x of the body.
fn camera() -> Se3 {
    let columns = [-Vector3::y(), -Vector3::z(), Vector3::x()];
    Se3::new(So3::from_matrix_unchecked(Matrix3::from_columns(&columns)), Vector3::new(0.08, 0.0, 0.02))
}

/// Posts on the walls of a hall.
fn post(id: u64) -> Vector3<f64> {
    let angle = 0.157 * id as f64;
    Vector3::new(6.0 * angle.cos(), 1.0 + 6.0 * angle.sin(), -1.2 + 0.7 * (id % 5) as f64)
}

/// White noise, as the sum of twelve even draws.
fn normal(rng: &mut ChaCha8Rng) -> f64 {
    (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0
}

fn sample_at(t: f64, rng: &mut ChaCha8Rng) -> ImuSample {
    const E: f64 = 1e-4;
    let [before, now, after] = [-E, 0.0, E].map(|e| body_at(t + e));
    let rate = (before.rotation.inverse() * after.rotation).log() / (2.0 * E);
    let acceleration = (after.translation - 2.0 * now.translation + before.translation) / (E * E);
    let force = now.rotation.rotate_back(&(acceleration + Vector3::z() * GRAVITY));
    let mut noise = |density: f64| Vector3::from_fn(|_, _| density * RATE_HZ.sqrt() * normal(rng));
    let (gyro, accelerometer) = (Vector3::new(0.002, -0.001, 0.0015), Vector3::new(0.03, -0.02, 0.04));
    ImuSample {
        stamp: Stamp::from_secs(t),
        value: Imu::new(rate + gyro + noise(2e-4), force + accelerometer + noise(2e-3)),
    }
}

fn frame_at(t: f64, rng: &mut ChaCha8Rng) -> Frame {
    let seen = (0..40).filter_map(|id| {
        let x = (body_at(t) * camera()).inverse().transform(&post(id));
        let pixel = Vector2::new(x.x, x.y) * (FOCAL_PX / x.z) + Vector2::from(CENTRE_PX);
        let noise = Vector2::from_fn(|_, _| normal(rng));
        let is_seen = x.z > 0.3 && (0.0..752.0).contains(&pixel.x) && (0.0..480.0).contains(&pixel.y);
        is_seen.then_some(Seen { id, sensor: 0, value: Value::Pixel(pixel + noise) })
    });
    Frame { stamp: Stamp::from_secs(t), seen: seen.collect() }
}

/// Runs the filter, and prints errors beside standard deviations.
///
/// # Errors
/// A setting or an input is refused.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut config = Config::default();
    (config.imu.gyro_noise, config.imu.accelerometer_noise) = (2e-4, 2e-3);
    let mut slam = Slam3d::new(config)?;
    slam.set_sensor(
        0,
        Sensor {
            mount: camera(),
            focal: Vector2::repeat(FOCAL_PX),
            centre: Vector2::from(CENTRE_PX),
            baseline_m: 0.0,
            pixels: PixelNoise { own: [1.0; 2], common: [0.0; 2] },
        },
    )?;
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let (mut used, mut gated) = (0, 0);
    println!("  t [s]  error [m]  3 σ [m]  error [°]  3 σ [°]  landmarks  used  beyond the gate");
    for k in 0..=(20.0 * RATE_HZ) as u64 {
        let t = k as f64 / RATE_HZ;
        if k % 10 == 0 {
            // Frames from before the start are dropped and counted.
            slam.push_frame(&frame_at(t, &mut rng))?;
        }
        slam.push_imu(&sample_at(t, &mut rng))?;
        while let Some(step) = slam.poll() {
            used += step.accepted;
            gated += step.gated;
        }
        if k % 400 == 0
            && let Some(estimate) = slam.pose()
        {
            let truth = body_at(t);
            let apart = (truth.translation - estimate.pose.translation).norm();
            let turn = (truth.rotation * estimate.pose.rotation.inverse()).log().norm();
            let sigma = |first: usize| 3.0 * estimate.covariance.fixed_view::<3, 3>(first, first).trace().sqrt();
            println!(
                "{t:7.1}{apart:11.3}{:9.3}{:11.2}{:9.2}{:11}{used:6}{gated:17}",
                sigma(0),
                turn.to_degrees(),
                sigma(3).to_degrees(),
                slam.landmarks().len()
            );
            (used, gated) = (0, 0);
        }
    }
    let last = slam.pose().ok_or("the filter has not begun")?;
    let apart = body_at(20.0).translation - last.pose.translation;
    let spread = last.covariance.fixed_view::<3, 3>(0, 0).into_owned();
    let square = spread.cholesky().map(|factor| apart.dot(&factor.solve(&apart))).ok_or("an invalid covariance")?;
    println!(
        "in the end: {:.3} m from the truth, squared Mahalanobis distance {square:.1} (3 in the mean)",
        apart.norm()
    );
    if apart.norm() > 0.2 || square > 16.0 {
        return Err(format!("the estimate is {:.3} m off, with a squared distance of {square:.1}", apart.norm()).into());
    }
    Ok(())
}
