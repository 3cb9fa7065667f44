//! A measurement type of one's own: the signal strength of radio beacons.
//!
//!     state        R ∈ SO(3), v, p, biases; errors X_true = Exp(ξ) X̂ in the axes of the world
//!     measurement  y = −20 log₁₀ |p_a − p| + n,  n ~ N(0, σ²), dB, of beacons at known places p_a
//!     derivative   δy = (20 / ln 10) uᵀδp / |p_a − p| with u the direction to the beacon and δp = ξ_p − p̂^ ξ_R
//!
//! A type is one function: residual and derivative. The program compares the derivative with differences, then moves a
//! body round with its inertial sensor alone, and with the beacons, and prints what each filter knows of its position.
//!
//!     cargo run --release --manifest-path crates/inertial/Cargo.toml --example 08_a_measurement_in_space

use lienav_base::stamp::Stamp;
use lienav_inertial::covariance::{NAV, NavMatrix};
use lienav_inertial::filter::Filter;
use lienav_inertial::imu::{Biases, GRAVITY, Imu, ImuNoise, ImuSample};
use lienav_inertial::measurement::{At, Linearized, Measurement};
use lienav_inertial::preintegration::integrator::Integrator;
use lienav_inertial::preintegration::samples::Interpolation;
use lienav_inertial::state::State;
use lienav_inertial::state::errors::{POSITION, ROTATION};
use lienav_inertial::state::nav::Nav;
use lienav_inertial::step::Step;
use lienav_lie::{LieGroup, So3, hat};
use nalgebra::{Matrix1, SMatrix, SVector, Vector1, Vector3};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The strength of a beacon's signal.
struct SignalStrength {
    /// Where the beacon is, m, in the world.
    beacon: Vector3<f64>,
    /// y, dB.
    strength_db: f64,
    /// σ, dB.
    std_db: f64,
}

impl SignalStrength {
    fn expected_db(beacon: &Vector3<f64>, position: &Vector3<f64>) -> f64 {
        -20.0 * (beacon - position).norm().log10()
    }
}

impl Measurement for SignalStrength {
    fn linearize(&self, at: &At) -> Option<Linearized> {
        let (position, apart) = (&at.nav.position, self.beacon - at.nav.position);
        let range = apart.norm();
        // On the beacon there is no direction.
        if range.is_nan() || range < 1e-3 {
            return None;
        }
        let by_position = (apart / (range * range) * (20.0 / std::f64::consts::LN_10)).transpose();
        let mut by_nav = SMatrix::<f64, 1, NAV>::zeros();
        by_nav.fixed_view_mut::<1, 3>(0, POSITION).copy_from(&by_position);
        by_nav.fixed_view_mut::<1, 3>(0, ROTATION).copy_from(&(-by_position * hat(position)));
        let residual = Vector1::new(self.strength_db - Self::expected_db(&self.beacon, position));
        Some(Linearized::of_nav(&residual, &by_nav, &Matrix1::new(self.std_db * self.std_db)))
    }
}

const RATE_HZ: f64 = 200.0;
const BEACONS: [[f64; 3]; 4] = [[6.0, 0.0, 2.0], [0.0, 7.0, 0.5], [-5.0, -4.0, 3.0], [2.0, -6.0, 1.0]];

/// Round in a circle, up and down, looking ahead.
fn truth_at(t: f64) -> (So3, Vector3<f64>) {
    let angle = 0.5 * t;
    let place = Vector3::new(2.0 * angle.cos(), 2.0 * angle.sin(), 0.3 * (2.0 * angle).sin());
    (So3::exp(&(Vector3::z() * angle)), place)
}

fn sample_at(t: f64) -> Imu {
    const E: f64 = 1e-4;
    let [before, now, after] = [-E, 0.0, E].map(|e| truth_at(t + e));
    let acceleration = (after.1 - 2.0 * now.1 + before.1) / (E * E);
    let rate = (before.0.inverse() * after.0).log() / (2.0 * E);
    Imu::new(rate, now.0.rotate_back(&(acceleration + Vector3::z() * GRAVITY)))
}

/// White noise, as the sum of twelve even draws.
fn normal(rng: &mut ChaCha8Rng) -> f64 {
    (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0
}

/// The largest difference between the derivative and central differences along the twelve errors of rotation, velocity,
/// position and the biases of the gyroscope.
fn derivative_error(state: &State) -> f64 {
    const E: f64 = 1e-6;
    let one = SignalStrength { beacon: BEACONS[0].into(), strength_db: -15.0, std_db: 1.0 };
    let residual = |nav: &Nav| {
        let at = At { nav, landmarks: &[], at_first: false, calibration: &state.calibration, rate: &state.rate };
        one.linearize(&at).map(|found| (found.residual[0], found.by_nav))
    };
    let Some((_, by_nav)) = residual(&state.nav) else { return f64::INFINITY };
    let moved = |axis: usize, e: f64| {
        let mut nav = state.nav;
        let step = Vector3::from_fn(|i, _| if i == axis % 3 { e } else { 0.0 });
        match axis / 3 {
            0 => {
                let turn = So3::exp(&step);
                (nav.rotation, nav.velocity) = (turn * nav.rotation, turn * nav.velocity);
                nav.position = turn * nav.position;
            }
            1 => nav.velocity += step,
            2 => nav.position += step,
            _ => nav.biases.gyro += step,
        }
        residual(&nav).map_or(f64::NAN, |(residual, _)| residual)
    };
    // The residual falls where the expectation rises.
    let along = |axis: usize| (moved(axis, -E) - moved(axis, E)) / (2.0 * E) - by_nav[(0, axis)];
    (0..12).map(along).fold(0.0, |most: f64, error| most.max(error.abs()))
}

/// Moves the body for 30 s; gives the error of the position, m, and its standard deviation, every five.
fn run(has_beacons: bool) -> Result<Vec<(f64, f64)>, Box<dyn std::error::Error>> {
    let filter = Filter::DEFAULT;
    let noise = ImuNoise { gyro: 2e-4, accelerometer: 2e-3, gyro_walk: 1e-6, accelerometer_walk: 1e-5 };
    let (rotation, position) = truth_at(0.0);
    let velocity = Vector3::new(0.0, 1.0, 0.3);
    let nav = Nav { rotation, velocity, position, biases: Biases::default() };
    let sigma = [0.005, 0.02, 0.05, 0.001, 0.02];
    let covariance = NavMatrix::from_diagonal(&SVector::from_fn(|i, _| f64::powi(sigma[i / 3], 2)));
    let (mut state, mut step) = (State::new(nav, &covariance, 0, &filter), Step::new(filter));
    state.gravity = GRAVITY;
    let mut integrator = Integrator::new(state.nav.biases, noise, Interpolation::Cubic);
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    let mut rows = Vec::new();
    for k in 0..=(30.0 * RATE_HZ) as u64 {
        let (t, stamp) = (k as f64 / RATE_HZ, Stamp::from_secs(k as f64 / RATE_HZ));
        let mut scatter = |density: f64| Vector3::from_fn(|_, _| density * RATE_HZ.sqrt() * normal(&mut rng));
        let clean = sample_at(t);
        let value = Imu::new(clean.rate + scatter(noise.gyro), clean.force + scatter(noise.accelerometer));
        integrator.push(ImuSample { stamp, value })?;
        if k == 0 || k % 40 != 0 {
            continue;
        }
        step.predict(&mut state, &integrator.take(stamp)?);
        let truth = truth_at(t).1;
        let heard = BEACONS.map(Vector3::from).map(|beacon| {
            let strength_db = SignalStrength::expected_db(&beacon, &truth) + 0.5 * normal(&mut rng);
            SignalStrength { beacon, strength_db, std_db: 0.5 }
        });
        if has_beacons {
            let all = heard.each_ref().map(|one| one as &dyn Measurement);
            step.correct(&mut state, &all)?;
        }
        integrator.set_biases(state.nav.biases);
        if k % 1000 == 0 {
            let spread = state.pose_covariance(&filter).fixed_view::<3, 3>(0, 0).trace().sqrt();
            rows.push(((truth - state.nav.position).norm(), spread));
        }
    }
    if derivative_error(&state) > 1e-6 {
        return Err(format!("the derivative is off by {:.1e}", derivative_error(&state)).into());
    }
    Ok(rows)
}

/// Prints a table of both filters.
///
/// # Errors
/// An input is refused, or the beacons do not help.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (alone, heard) = (run(false)?, run(true)?);
    println!("          inertial sensor alone    with signal strengths");
    println!("  t [s]    error [m]      σ [m]    error [m]      σ [m]");
    for (k, (a, b)) in alone.iter().zip(&heard).enumerate() {
        println!("{:7}{:13.3}{:11.3}{:13.3}{:11.3}", 5 * (k + 1), a.0, a.1, b.0, b.1);
    }
    let (Some(a), Some(b)) = (alone.last(), heard.last()) else { return Err("no rows".into()) };
    let is_true = heard.iter().all(|(error, sigma)| *error < 3.5 * sigma);
    if b.1 > 0.3 * a.1 || !is_true {
        return Err(format!("σ {:.3} m alone, {:.3} m with beacons, {:.3} m off", a.1, b.1, b.0).into());
    }
    Ok(())
}
