//! G. Ortolan, "Topics on geometric integration", Padova 2011, part II: Lie group methods on products of spheres.

mod case;
mod contestants;
mod convergence;
mod long_run;
mod several_starts;

use super::parts::{Part, Reproduction};
use case::Case;
use lienav_integrate::dynamics::{DipoleArray, DoubleSphericalPendulum, SphericalPendulum};

pub(super) const REPRODUCTION: Reproduction = Reproduction::of_parts(
    "two-spheres",
    "Ortolan 2011, part II: pendulums and magnetic dipoles on spheres, figures 7.1-7.9, tables 7.1-7.3",
    PARTS,
);

const PARTS: &[Part] = &[
    (|extent, progress| single_pendulum().experiment(extent, progress), 0.15),
    (|extent, progress| double_pendulum().experiment(extent, progress), 0.25),
    (|extent, progress| several_starts::experiment(extent, progress), 0.2),
    (|extent, progress| dipoles().experiment(extent, progress), 0.4),
];

fn single_pendulum() -> Case<1, SphericalPendulum> {
    Case {
        name: "spherical-pendulum",
        about: "Ortolan 2011, 7.2.1: a spherical pendulum, m = 2 kg, l = 2 m, g = 9.81 m/s²",
        figures: ["7.1", "7.2", "7.3"],
        table: "7.1",
        printed_energy: ["bounded", "drift", "drift", "bounded"],
        system: SphericalPendulum::new(2.0, 2.0, 9.81),
        start: SphericalPendulum::initial_state(),
        printed_s: [0.34, 17.41, 83.17, 2.72],
        coarsest: 2,
        has_vertical_symmetry: true,
    }
}

fn double_pendulum() -> Case<2, DoubleSphericalPendulum> {
    Case {
        name: "double-spherical-pendulum",
        about: "Ortolan 2011, 7.2.2: a double spherical pendulum, m = 2 and 1 kg, l = 1 m, g = 9.81 m/s²",
        figures: ["7.4", "7.5", "7.6"],
        table: "7.2",
        printed_energy: ["like RATTLE, not preserved", "drift", "drift", "bounded"],
        system: DoubleSphericalPendulum::new([2.0, 1.0], [1.0, 1.0], 9.81),
        start: DoubleSphericalPendulum::initial_state(),
        printed_s: [19.71, 44.67, 166.57, 12.64],
        coarsest: 4,
        has_vertical_symmetry: true,
    }
}

fn dipoles() -> Case<16, DipoleArray<16>> {
    Case {
        name: "magnetic-dipoles",
        about: "Ortolan 2011, 7.2.3: 16 magnetic needles on a square grid (the text gives no step and no length for \
                this run: those of the other two)",
        figures: ["7.7", "7.8", "7.9"],
        table: "7.3",
        printed_energy: ["bounded", "drift", "drift", "bounded"],
        system: DipoleArray::square(),
        start: DipoleArray::initial_state(),
        printed_s: [118.74, 289.28, 1785.53, 125.22],
        coarsest: 4,
        has_vertical_symmetry: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Experiment, Extent};

    fn value(experiment: &Experiment, method: &str, key: &str) -> f64 {
        let of_method = experiment.methods.iter().find(|m| m.name == method).unwrap();
        of_method.values.iter().find(|(k, _)| *k == key).unwrap_or_else(|| panic!("{method} {key}")).1
    }

    #[test]
    fn the_double_pendulum_shows_what_the_text_says_of_orders_and_constraints() {
        let experiment = double_pendulum().experiment(Extent::Quick, &|_| ()).unwrap();
        for method in &experiment.methods {
            let of = |key| value(&experiment, &method.name, key);
            assert!(
                (of("order_observed") - of("order_expected")).abs() < 0.15,
                "{}: {}",
                method.name,
                of("order_observed")
            );
            assert!(of("constraint_error_max") < 1e-13, "{}", method.name);
        }
        let orthogonality = |method| value(&experiment, method, "orthogonality_error_max");
        assert!(["ELN", "RATTLE", "RKMK4 by SE(3)"].iter().all(|method| orthogonality(method) < 1e-12));
        assert!(["RKMK4", "RKMKGL4"].iter().all(|method| orthogonality(method) > 1e-9));
        let momentum = |method| value(&experiment, method, "momentum_error_max");
        assert!(momentum("RATTLE") < 1e-11 && momentum("ELN") > 1e-5);
        assert_eq!((experiment.tables.len(), experiment.figures.len()), (2, 7));
    }
}
