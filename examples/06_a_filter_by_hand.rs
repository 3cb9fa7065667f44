//! A filter stepped by a program, whose state it can look at.
//!
//!     state        X = (p, θ) in SE(2) and landmarks p_i in the plane
//!     motion       X⁺ = X·(t, a),                        (δt, δa) ~ N(0, Q)
//!     measurement  y = (|z|, ∠z), and y = −20 log₁₀ |z| by radio, with z = R(θ)ᵀ(p_i − p)
//!
//! The program owns the loop: it predicts along a motion, corrects with what a sensor measured, looks at the innovation
//! and its covariance, and prints what the filter has learned of the landmarks. The second sensor is a type of its own.
//!
//!     cargo run --no-default-features --example 06_a_filter_by_hand

use lienav_slam::{
    Block, Component, Config, Filter, Increment, KalmanFilter, LandmarkMeasurement, Measurement, MeasurementKind, Se2,
    Sensor,
};
use nalgebra::{DMatrix, Matrix1, Matrix1x2, Matrix3, SMatrix, SVector, Vector1, Vector2, Vector3};

/// The strength of a radio beacon in decibels: y = −20 log₁₀ |z| + n.
#[derive(Debug)]
struct SignalStrength {
    std_db: f64,
}

impl LandmarkMeasurement<1> for SignalStrength {
    fn components(&self) -> [Component; 1] {
        [Component::Linear]
    }

    fn noise(&self) -> SMatrix<f64, 1, 1> {
        Matrix1::new(self.std_db * self.std_db)
    }

    fn predict(&self, z: &Vector2<f64>) -> SVector<f64, 1> {
        Vector1::new(-20.0 * z.norm().log10())
    }

    fn jacobian(&self, z: &Vector2<f64>) -> Option<SMatrix<f64, 1, 2>> {
        let square = z.norm_squared();
        (square > 1e-12).then(|| Matrix1x2::new(z.x, z.y) * (-20.0 / (square * std::f64::consts::LN_10)))
    }
}

/// Steps the filter, and prints what it knows.
///
/// # Errors
/// The filter does not have that name, or an input is refused.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut filter = KalmanFilter::new(Filter::named("default")?, Config::default())?;
    let radio = filter.add_sensor(Sensor::of_landmarks(SignalStrength { std_db: 0.5 }, Se2::identity()))?;

    let beacons = [(1_u32, Vector2::new(4.0, 2.0)), (2, Vector2::new(1.0, 5.0)), (3, Vector2::new(-3.0, 2.0))];
    let step = Se2::exp(&Vector3::new(0.1, 0.0, 0.03));
    let q = Matrix3::from_diagonal(&Vector3::new(1e-4, 1e-6, 1e-5));
    let mut truth = Se2::identity();

    println!("  step  numbers   NIS   σ(x) [m]  σ(heading) [rad]");
    for k in 0..200 {
        truth = truth * step;
        filter.predict(&Increment { motion: step, covariance: q, drift: None }, 0.1)?;

        let seen = beacons.map(|(id, p)| (id, truth.transform_back(&p)));
        let laser = seen.map(|(id, z)| Measurement::new(Some(id), [z.norm(), z.y.atan2(z.x)]));
        let strength = seen.map(|(id, z)| Measurement::new(Some(id), [-20.0 * z.norm().log10()]));
        let corrected = match k % 2 {
            0 => filter.correct(MeasurementKind::RangeBearing, &laser)?,
            _ => filter.correct(radio, &strength)?,
        };

        // The NIS is that of the innovation and its covariance.
        if let Some(factor) = corrected.innovation_covariance.clone().cholesky().filter(|_| corrected.dof > 0) {
            let nis = corrected.innovation.dot(&factor.solve(&corrected.innovation));
            assert!((nis - corrected.nis).abs() < 1e-9 * (1.0 + nis));
        }
        if k % 40 == 0 {
            let covariance = filter.covariance();
            let std = |row: usize| covariance[(row, row)].sqrt();
            println!("{k:6} {:8} {:6.2} {:9.4} {:12.5}", corrected.dof, corrected.nis, std(0), std(2));
        }
    }

    let (mean, covariance): (_, DMatrix<f64>) = (filter.mean(), filter.covariance());
    for (block, rows) in filter.blocks() {
        if let Block::Landmark(id) = block {
            let std = covariance.view((rows.start, rows.start), (2, 2)).trace().sqrt();
            println!(
                "landmark {id}: ({:.3}, {:.3}) m, standard deviation {std:.4} m",
                mean[rows.start],
                mean[rows.start + 1]
            );
        }
    }
    let error = (filter.pose().0.p - truth.p).norm();
    println!("after {:.0} s the pose is off by {error:.4} m", filter.time());
    Ok(())
}
