//! Shen 2019, chapter 1: the basics on vector spaces, symplectic, constrained and Poisson.

mod canonical;
mod constrained;
mod poisson;

use super::parts::{Part, Reproduction};

pub(super) const REPRODUCTION: Reproduction = Reproduction::of_parts(
    "thesis-1",
    "Shen 2019, chapter 1: symplectic Euler to Galerkin, RATTLE and SHAKE with any constraint, Poisson systems",
    PARTS,
);

const PARTS: &[Part] = &[
    (|extent, _| canonical::oscillator(extent), 0.2),
    (|extent, _| canonical::planet(extent), 0.2),
    (|extent, _| canonical::three_bodies(extent), 0.2),
    (|extent, _| constrained::rods(extent), 0.2),
    (|extent, _| poisson::lotka_volterra(extent), 0.05),
    (|extent, _| poisson::oscillator(extent), 0.05),
    (|extent, _| poisson::ablowitz_ladik(extent), 0.1),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Experiment, Extent};
    use lienav_integrate::IntegrationError;

    fn value(experiment: &Experiment, method: &str, key: &str) -> f64 {
        let of = experiment.methods.iter().find(|m| m.name == method).unwrap_or_else(|| panic!("{method}"));
        of.values.iter().find(|(k, _)| *k == key).unwrap_or_else(|| panic!("{method} {key}")).1
    }

    #[test]
    fn what_is_symplectic_keeps_its_energy_in_bounds_and_what_is_poisson_its_structure() {
        let report = REPRODUCTION.run(Extent::Quick, &|_| (), |_, _| Ok::<_, IntegrationError>(())).unwrap();
        let [oscillator, planet, bodies, rods, lotka, _, ring] = &report.experiments[..] else { panic!("seven") };
        for experiment in [planet, rods] {
            for method in &experiment.methods {
                let order = |key| value(experiment, &method.name, key);
                let difference = order("order_observed") - order("order_expected");
                assert!(difference.abs() < 0.25, "{}, {}: {difference}", experiment.name, method.name);
            }
        }
        assert!(value(oscillator, "Störmer–Verlet", "symplectic_defect") < 1e-7);
        assert!(value(oscillator, "RK 4", "symplectic_defect") > 1e-7);
        assert!(value(bodies, "Störmer–Verlet", "angular_momentum_error_max") < 1e-11);
        assert!(value(bodies, "RK 4", "angular_momentum_error_max") > 1e-11);
        assert!(value(rods, "RATTLE", "constraint_error_max") < 1e-13);
        for experiment in [lotka, ring] {
            assert!(value(experiment, "Strang splitting", "structure_defect") < 1e-6);
            assert!(value(experiment, "implicit midpoint", "structure_defect") > 1e-6);
        }
    }
}
