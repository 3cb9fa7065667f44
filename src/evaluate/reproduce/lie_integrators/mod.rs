//! `lienav reproduce lie-integrators`: the experiments of Celledoni, Çokaj, Leone, Murari and Owren 2021.

mod heavy_top;
mod pendulums;
mod quadrotors;
mod runs;
mod symplectic;
mod variable_step;

use super::{Extent, Progress, Report, Reproduction};
use crate::integrate::IntegrationError;

pub(super) const REPRODUCTION: Reproduction = Reproduction {
    name: "lie-integrators",
    about: "Celledoni et al. 2021: heavy top, pendulum chains, quadrotors by RKMK, commutator-free and symplectic methods",
    run,
};

fn run(extent: Extent, progress: Progress<'_>) -> Result<Report, IntegrationError> {
    let parts = [
        heavy_top::free_body,
        heavy_top::canonical,
        heavy_top::lie_poisson,
        symplectic::symplectic,
        pendulums::convergence,
        pendulums::constraints,
        variable_step::two_pendulums,
        variable_step::chains,
        quadrotors::convergence,
        quadrotors::tracking,
    ];
    let mut report = Report::default();
    for (index, part) in parts.iter().enumerate() {
        report.experiments.push(part(extent)?);
        progress((index + 1) as f64 / parts.len() as f64);
    }
    Ok(report)
}

#[cfg(test)]
mod tests;
