//! Whether a filter's covariance means what it says: many runs, and the NEES in its band.
//!
//! | | |
//! |---|---|
//! | scene | `esde` (Brossard, Barrau, Bonnabel 2019): a circle of 3.33 m, 15 landmarks, relative positions, known start |
//! | NEES | ε = δᵀ P⁻¹ δ, δ = (x, y, θ) − estimate; E ε = 3 for a filter that is consistent |
//! | band | the mean of N runs is χ²(3N)/N: the 95 % interval of that |
//! | differences | paired: every filter sees the same runs; intervals by bootstrap over runs |
//!
//!     cargo run --no-default-features --example 04_monte_carlo

use lienav_eval::monte_carlo::{Experiment, Report, to_text};
use lienav_eval::plot::run_mean_nees;
use lienav_sim::Scenario;
use std::error::Error;

/// Runs the example; an error, or a panic, where it does not find what it is about.
pub fn main() -> Result<(), Box<dyn Error>> {
    let experiment = Experiment {
        scenario: Scenario::named("esde")?,
        filters: ["ekf", "reduced", "default"].map(str::to_owned).to_vec(),
        settings: Vec::new(),
        sensors: Vec::new(),
        runs: 20,
        seed: 1,
    };
    let outcome = experiment.run(|| ())?;
    let report = Report::new(&outcome).without_times();
    println!("{}", to_text(&report));

    let nees = |k: usize| report.filters[k].get("nees_mean").and_then(|value| value.value).unwrap_or(f64::NAN);
    assert!(nees(0) > nees(2), "the EKF is more overconfident than the default filter");

    std::fs::create_dir_all("out/examples")?;
    std::fs::write("out/examples/04_monte_carlo.svg", run_mean_nees(&outcome)?)?;
    println!("picture: out/examples/04_monte_carlo.svg");
    Ok(())
}
