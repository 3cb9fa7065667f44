//! G. Ortolan, "Topics on geometric integration", Padova 2011, part II: Lie group methods on products of spheres.

mod case;
mod contestants;
mod convergence;
mod long_run;

use super::report::{Extent, Progress, Report, Reproduction};
use crate::dynamics::{DipoleArray, DoubleSphericalPendulum, SphericalPendulum};
use crate::integrate::IntegrationError;
use case::Case;

pub(super) const REPRODUCTION: Reproduction = Reproduction {
    name: "two-spheres",
    about: "Ortolan 2011, part II: pendulums and magnetic dipoles on spheres, figures 7.1-7.9, tables 7.1-7.3",
    run,
};

fn run(extent: Extent, progress: Progress<'_>) -> Result<Report, IntegrationError> {
    let single = Case {
        name: "spherical-pendulum",
        about: "Ortolan 2011, 7.2.1: a spherical pendulum, m = 2 kg, l = 2 m",
        figures: ["7.1", "7.2", "7.3"],
        table: "7.1",
        system: SphericalPendulum::new(2.0, 2.0, 9.81),
        start: SphericalPendulum::initial_state(),
        printed_s: [0.34, 17.41, 83.17, 2.72],
        coarsest: 2,
        has_vertical_symmetry: true,
    };
    let single = single.experiment(extent, &|done| progress(0.15 * done))?;
    let double = Case {
        name: "double-spherical-pendulum",
        about: "Ortolan 2011, 7.2.2: a double spherical pendulum, m = 2 and 1 kg, l = 1 m",
        figures: ["7.4", "7.5", "7.6"],
        table: "7.2",
        system: DoubleSphericalPendulum::new([2.0, 1.0], [1.0, 1.0], 9.81),
        start: DoubleSphericalPendulum::initial_state(),
        printed_s: [19.71, 44.67, 166.57, 12.64],
        coarsest: 4,
        has_vertical_symmetry: true,
    };
    let double = double.experiment(extent, &|done| progress(0.15 + 0.25 * done))?;
    let dipoles = Case {
        name: "magnetic-dipoles",
        about: "Ortolan 2011, 7.2.3: 16 magnetic needles on a square grid (the text gives no step and no length for this \
                run: those of the other two)",
        figures: ["7.7", "7.8", "7.9"],
        table: "7.3",
        system: DipoleArray::square(),
        start: DipoleArray::initial_state(),
        printed_s: [118.74, 289.28, 1785.53, 125.22],
        coarsest: 4,
        has_vertical_symmetry: false,
    };
    let dipoles = dipoles.experiment(extent, &|done| progress(0.4 + 0.6 * done))?;
    Ok(Report { experiments: vec![single, double, dipoles] })
}
