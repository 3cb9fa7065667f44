//! The same scene through three filters: why coordinates matter.
//!
//! A pair of cameras 0.5 m apart sees features by two bearings. The thesis triangulates them to a position, which is
//! biased in range; the default filter takes the bearings as they are, in charts that stay where a feature was first
//! seen.
//!
//! | | |
//! |---|---|
//! | state, input, motion | as in `01_range_bearing_slam` |
//! | measurement | y = (β_left, β_right) + n, bearings from (0, ±0.25 m); 10 Hz, up to 5 m, ±60° |
//! | noise | n ~ N(0, σ² I), σ = 0.02 rad (Q_z = 4·10⁻⁴ of Shen 2019, § 5.5) |
//! | thesis | z = triangulation(y), H = I, R = Q_z J Jᵀ at the measured point |
//! | default | H = ∂y/∂z at the estimate, corrections add up in (1/r, β) |
//!
//!     cargo run --no-default-features --example 02_stereo

use lienav_eval::errors::Errors;
use lienav_eval::plot::{Subject, comparison};
use lienav_eval::{run, simulated};
use lienav_io::truth::{MAX_TRUTH_GAP_S, Truth};
use lienav_sim::Scenario;
use lienav_slam::{Centre, Chart, Charts, Config, Correction, Errors as ErrorCoordinates, Filter, StereoModel};
use std::error::Error;

/// Runs the example; an error, or a panic, where it does not find what it is about.
pub fn main() -> Result<(), Box<dyn Error>> {
    let scenario = Scenario::named("thesis-circle-10hz-low-q4")?;
    let recording = simulated::recording(&scenario)?;
    let truth = Truth::new(&recording.truth, &recording.true_landmarks, MAX_TRUTH_GAP_S);
    let given = recording.config.clone().unwrap_or_default();

    // A filter is a value: this one is the default without its fixed lag.
    let charts = Charts { kind: Chart::InverseRange, centre: Centre::FirstSight };
    let correction = Correction::Charts { charts, split: true, iterations: 2, fixed_lag: 0 };
    let composed = Filter { errors: ErrorCoordinates::Invariant(correction), stereo: StereoModel::Bearings };
    assert_eq!(Some(("anchored", composed)), Filter::TABLE.into_iter().find(|(_, filter)| *filter == composed));

    let mut runs = Vec::new();
    for name in ["thesis-ekf", "thesis-reduced", "default"] {
        let config = Config { filter: name.into(), ..given.clone() };
        let run = run::run(&recording, &config, |_| ())?;
        let errors = Errors::new(&run, &truth);
        let nees: Vec<f64> = errors.nees().collect();
        let (rmse, nees) = (errors.position_rmse().unwrap_or(f64::NAN), nees.iter().sum::<f64>() / nees.len() as f64);
        println!("{name:>15}: position RMSE {rmse:6.3} m, NEES {nees:7.1} (3 is right)");
        runs.push((run, errors, rmse));
    }
    assert!(runs[2].2 < runs[0].2 && runs[2].2 < runs[1].2, "the default is the best of the three on this scene");

    let subjects: Vec<Subject> = runs.iter().map(|(run, errors, _)| Subject { run, truth: &truth, errors }).collect();
    std::fs::create_dir_all("out/examples")?;
    std::fs::write("out/examples/02_stereo.svg", comparison(&subjects)?)?;
    println!("picture: out/examples/02_stereo.svg");
    Ok(())
}
