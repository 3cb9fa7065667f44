//! Published experiments, run again and held against what was printed.
//!
//! The tables of the filters' chapter are [`thesis5`]. Every experiment with integrators is a [`Reproduction`] of
//! [`REPRODUCTIONS`]: it gives a [`Report`] of numbers, tables and figures, part by part, which is printed
//! ([`to_text`]), written ([`write()`]) and drawn the same way for all. [`measure`] holds what they have in common: observed orders, drifts, times.

mod figures;
mod folder;
mod inertial;
mod lie_integrators;
pub mod measure;
mod parts;
mod polar_so_n;
mod report;
pub mod stability_test;
mod text;
mod thesis2;
mod thesis3;
mod thesis4;
mod two_spheres;

pub use folder::{write, write_part};
pub use lienav_eval::plot::{Figure, Line};
pub use parts::{Part, Reproduction};
pub use report::{Experiment, Extent, Failure, MethodResult, Progress, Report, Table};
pub use text::{number, to_text};

/// All experiments with integrators, in the order they are listed.
pub const REPRODUCTIONS: &[Reproduction] = &[
    Reproduction::whole(&thesis2::REPRODUCTION),
    thesis3::REPRODUCTION,
    thesis4::REPRODUCTION,
    polar_so_n::REPRODUCTION,
    lie_integrators::REPRODUCTION,
    inertial::REPRODUCTION,
    stability_test::REPRODUCTION,
    two_spheres::REPRODUCTION,
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_name_is_there_once_and_says_what_it_is_in_one_line() {
        let all: Vec<_> = REPRODUCTIONS.iter().map(|reproduction| (reproduction.name, reproduction.about)).collect();
        assert_eq!(all.iter().map(|(name, _)| name).collect::<BTreeSet<_>>().len(), all.len());
        assert!(all.iter().all(|(name, about)| !name.contains(' ') && !about.is_empty() && !about.contains('\n')));
    }
}
