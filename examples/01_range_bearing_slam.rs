//! SLAM with ranges and bearings, from a program of its own.
//!
//! A robot drives round a circle among eight posts at unknown places. Only `lienav_slam` is needed for this; the other
//! crates used here make the noise and draw the picture.
//!
//! | | |
//! |---|---|
//! | state | X = (p, θ) ∈ SE(2), pose of the base in the map; p_i ∈ R², posts in the map |
//! | input | u = (v_x, v_y, w), odometry in the base frame, m/s and rad/s, 10 Hz |
//! | noise of the input | n_u ~ N(0, diag(0.05, 0.02, 0.02)²) a sample |
//! | motion | X⁺ = X · Exp((u + n_u) Δt) |
//! | measurement | y_i = (‖z_i‖, ∠z_i) + n_y, z_i = X⁻¹ p_i, the post as the robot sees it; 5 Hz, up to 6 m |
//! | noise of the measurement | n_y ~ N(0, diag(0.05 m, 0.01 rad)²) |
//! | error | X_true = Exp(ξ) X̂, e_i = R(θ)(z_i,true − ẑ_i): transition I, ∂y_i/∂ξ = 0 at every estimate |
//!
//!     cargo run --no-default-features --example 01_range_bearing_slam

use lienav_eval::plot::{Figure, Line, figure};
use lienav_slam::{Config, Measurement, MeasurementKind, Odometry, Se2, Slam, Stamp};
use nalgebra::{Vector2, Vector3};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use std::error::Error;
use std::f64::consts::FRAC_PI_4;

const DT_S: f64 = 0.1;
const TWIST: Vector3<f64> = Vector3::new(0.8, 0.0, 0.2);
const TWIST_STD: Vector3<f64> = Vector3::new(0.05, 0.02, 0.02);
const RANGE_STD_M: f64 = 0.05;
const BEARING_STD_RAD: f64 = 0.01;
const LARGEST_RANGE_M: f64 = 6.0;

/// Runs the example; an error, or a panic, where it does not find what it is about.
pub fn main() -> Result<(), Box<dyn Error>> {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut normal = || -> f64 { StandardNormal.sample(&mut random) };

    // What the filter is told. Everything has a default; `cargo doc` and docs/parameters.md describe all of it.
    let mut config = Config::default();
    (config.motion.velocity_x_std, config.motion.velocity_y_std) = (TWIST_STD.x, TWIST_STD.y);
    config.motion.yaw_rate_std = TWIST_STD.z;
    (config.sensor.range_std_m, config.sensor.bearing_std_rad) = (RANGE_STD_M, BEARING_STD_RAD);
    let mut slam = Slam::new(config)?;

    let posts: Vec<Vector2<f64>> =
        (0..8).map(|k| Se2::new(0.0, 4.0, f64::from(k) * FRAC_PI_4).transform(&Vector2::new(6.0, 0.0))).collect();
    let mut truth = Se2::identity();
    let (mut true_path, mut estimated_path) = (Vec::new(), Vec::new());
    let mut squares = 0.0;
    for k in 0..=640_u32 {
        let stamp = Stamp::from_nanos(i64::from(k) * 100_000_000);
        if k > 0 {
            truth = truth * Se2::exp(&(TWIST * DT_S));
        }

        // Odometry speaks of the interval before its stamp.
        let noise = Vector3::new(normal(), normal(), normal()).component_mul(&TWIST_STD);
        let (velocity, yaw_rate) = ((TWIST + noise).xy(), TWIST.z + noise.z);
        slam.odometry(&Odometry { stamp, velocity, yaw_rate, covariance: None })?;

        if k % 2 == 0 {
            let seen: Vec<Measurement> = (0_u32..)
                .zip(&posts)
                .map(|(id, post)| (id, truth.transform_back(post)))
                .filter(|(_, z)| z.norm() < LARGEST_RANGE_M)
                .map(|(id, z)| {
                    let range = z.norm() + RANGE_STD_M * normal();
                    let bearing = z.y.atan2(z.x) + BEARING_STD_RAD * normal();
                    Measurement::new(Some(id), [range, bearing])
                })
                .collect();
            slam.features(stamp, MeasurementKind::RangeBearing, &seen)?;
        }

        // One step for each scan, in the order of their stamps.
        while let Some(step) = slam.poll() {
            let error = step.estimate.pose.p - truth.p;
            squares += error.norm_squared();
            true_path.push((truth.p.x, truth.p.y));
            estimated_path.push((step.estimate.pose.p.x, step.estimate.pose.p.y));
        }
    }

    let rmse = (squares / estimated_path.len() as f64).sqrt();
    println!(
        "{} clouds, {} posts in the map, position RMSE {rmse:.3} m",
        estimated_path.len(),
        slam.landmarks().count()
    );
    assert!(rmse < 0.15 && slam.landmarks().count() == 8, "the filter lost its way: {rmse} m");

    let map = slam.landmarks().map(|post| (post.position.x, post.position.y)).collect();
    let picture = figure(&Figure {
        title: "SLAM with ranges and bearings".into(),
        x_label: "x [m]".into(),
        y_label: "y [m]".into(),
        lines: vec![
            Line { name: "true way".into(), points: true_path, is_guide: true, ..Line::default() },
            Line { name: "estimated way".into(), points: estimated_path, ..Line::default() },
            Line { name: "estimated posts".into(), points: map, marked: true, ..Line::default() },
        ],
        ..Figure::default()
    })?;
    std::fs::create_dir_all("out/examples")?;
    std::fs::write("out/examples/01_range_bearing_slam.svg", picture)?;
    println!("picture: out/examples/01_range_bearing_slam.svg");
    Ok(())
}
