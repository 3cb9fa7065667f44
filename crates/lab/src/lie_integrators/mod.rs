//! `lienav reproduce lie-integrators`: the experiments of Celledoni, Çokaj, Leone, Murari and Owren 2021.

mod heavy_top;
mod pendulums;
mod quadrotors;
mod runs;
mod symplectic;
mod variable_step;

use super::{Part, Reproduction};

pub(super) const REPRODUCTION: Reproduction = Reproduction::of_parts(
    "lie-integrators",
    "Celledoni et al. 2021: heavy top, pendulum chains, quadrotors by RKMK, commutator-free and symplectic methods",
    PARTS,
);

const PARTS: &[Part] = &[
    (|extent, _| heavy_top::free_body(extent), 0.1),
    (|extent, _| heavy_top::canonical(extent), 0.1),
    (|extent, _| heavy_top::lie_poisson(extent), 0.1),
    (|extent, _| symplectic::symplectic(extent), 0.1),
    (|extent, _| pendulums::convergence(extent), 0.1),
    (|extent, _| pendulums::constraints(extent), 0.1),
    (|extent, _| variable_step::two_pendulums(extent), 0.1),
    (|extent, _| variable_step::chains(extent), 0.1),
    (|extent, _| quadrotors::convergence(extent), 0.1),
    (|extent, _| quadrotors::tracking(extent), 0.1),
];

#[cfg(test)]
mod tests;
