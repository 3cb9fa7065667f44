//! Chapter 2 of Shen 2019, geometric exponential integrators: tables 2.3 and 2.4, figures 2.1–2.8, and an elastic arm.
//!
//! The text gives no initial data, no tolerance of its iterations and no rule for what it calls the largest step; what
//! is chosen here, and where that makes numbers differ, is in `docs/lab/exponential.md`.

mod arm;
mod cost;
mod largest_step;
mod long_time;
mod methods;
mod printed;
mod problems;
mod structure;

use super::parts::{Part, Reproduction};

/// `lienav reproduce thesis-2`.
pub(super) const REPRODUCTION: Reproduction = Reproduction::of_parts(
    "thesis-2",
    "tables 2.3-2.4 and figures 2.1-2.8 of Shen 2019, chapter 2: geometric exponential integrators; an elastic arm",
    PARTS,
);

const PARTS: &[Part] = &[
    (|extent, _| structure::run(extent), 0.01),
    (|extent, progress| Ok(largest_step::nls(extent, progress)), 0.25),
    (|extent, _| long_time::nls(extent), 0.05),
    (|extent, _| cost::nls(extent), 0.05),
    (|extent, progress| Ok(largest_step::kdv(extent, progress)), 0.45),
    (|extent, _| long_time::kdv(extent), 0.1),
    (|extent, _| cost::kdv(extent), 0.07),
    (|extent, _| arm::run(extent), 0.02),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Extent;
    use lienav_integrate::IntegrationError;

    fn value(report: &serde_json::Value, experiment: &str, method: &str, key: &str) -> f64 {
        report[experiment][method][key].as_f64().unwrap_or_else(|| panic!("{experiment} {method} {key}"))
    }

    #[test]
    fn a_quick_run_shows_what_the_chapter_claims() {
        let mut kept = Vec::new();
        let finished = |report: &crate::Report, new: usize| {
            kept.push((report.experiments.len(), new));
            Ok::<_, IntegrationError>(())
        };
        let report = REPRODUCTION.run(Extent::Quick, &|_| (), finished).unwrap();
        // Each part is told of when it is finished, and is kept whatever becomes of the rest.
        assert_eq!(kept, (1..=8).map(|part| (part, 1)).collect::<Vec<_>>());
        let json = report.to_json();
        for (method, order) in [("exponential midpoint", 2.0), ("DISEX", 5.0), ("energy-preserving exponential", 2.0)] {
            let observed = value(&json, "nls-small", method, "order_observed");
            assert!((observed - order).abs() < 0.2, "{method}: {observed}");
        }
        for method in ["exponential midpoint", "DISEX"] {
            assert!(value(&json, "nls-small", method, "poisson_defect_max") < 1e-9);
        }
        assert!(value(&json, "nls-long-time", "energy-preserving exponential", "energy_error_max") < 1e-12);
        assert!(value(&json, "kdv-long-time", "energy-preserving exponential", "energy_error_max") < 1e-12);
        let slope = |method: &str| value(&json, "nls-largest-step", method, "step_scaling_slope");
        assert_eq!(slope("energy-preserving exponential"), 0.0);
        assert!(slope("midpoint, fixed point") < -1.5);
        let figures: Vec<_> = report.experiments.iter().flat_map(|e| &e.figures).map(|f| f.file.as_str()).collect();
        for file in (1..=8).map(|n| format!("figure-2.{n}")) {
            assert!(figures.iter().any(|figure| figure.starts_with(&file)), "{file} of {figures:?}");
        }
    }
}
