//! # lienav-lab
//!
//! A paper on geometric integrators prints orders, drifts and figures. This crate runs the published experiments again
//! with the methods of `lienav-integrate` and puts the new numbers beside the printed ones. It is for those who study
//! or extend these methods; a robot does not need it. `lienav reproduce NAME` runs an experiment from the command
//! line, in a build with the feature `lab`.
//!
//! The order that a method shows, measured as the experiments measure it:
//!
//! ```
//! use lienav_integrate::rkmk::RKMK4;
//! use lienav_integrate::{LieGroupMethod, VectorField};
//! use lienav_lab::measure;
//! use lienav_lie::{HomogeneousSpace, So3};
//! use nalgebra::Vector3;
//!
//! struct Turning;
//! impl VectorField<So3> for Turning {
//!     fn generator(&self, time: f64, _: &So3) -> Vector3<f64> {
//!         Vector3::new(time.sin(), 1.0, time)
//!     }
//! }
//! let end = |steps: u32| {
//!     let h = 1.0 / f64::from(steps);
//!     (0..steps).try_fold(So3::identity(), |r, k| RKMK4.step(&Turning, &r, f64::from(k) * h, h))
//! };
//! let reference = end(512)?;
//! let mut errors = Vec::new();
//! for steps in [4, 8, 16, 32] {
//!     errors.push((1.0 / f64::from(steps), end(steps)?.distance(&reference)));
//! }
//! assert!((measure::order_observed(&errors) - 4.0).abs() < 0.2);
//! # Ok::<(), lienav_integrate::IntegrationError>(())
//! ```
//!
//! # Where to go on
//!
//! - [`REPRODUCTIONS`] lists the experiments; each [`Reproduction`] gives a [`Report`] of numbers, tables and figures,
//!   part by part.
//! - [`keep`] runs one part by part into a folder and goes on where it was ended; [`write_page`] links all of them.
//! - [`to_text`] prints a report, [`write()`] writes it with its figures.
//! - [`measure`] has what the experiments share: observed orders, drifts, the time of a step.
//! - [`mod@stability_test`] is the long-time test for a method of your own.
//! - The tables of the filters' chapter are in `lienav-eval` (`thesis5`). `docs/lab/integrators.md` and
//!   `docs/lab/exponential.md` describe methods and experiments. The numbered examples use filters;
//!   `examples/05_attitude.rs` uses an integrator.

#![forbid(unsafe_code)]

mod axonometric;
mod figures;
mod folder;
mod inertial;
mod inertial_form;
mod keep;
mod lie_integrators;
mod looks;
pub mod measure;
mod page;
mod parts;
mod polar_so_n;
mod report;
pub mod stability_test;
mod text;
mod thesis1;
mod thesis2;
mod thesis3;
mod thesis4;
mod two_spheres;

pub use folder::{write, write_part};
pub use inertial::{RecordingError, recorded_gyroscope};
pub use keep::{KeepError, keep};
pub use lienav_eval::plot::{Figure, Line};
pub use page::{Picture, Section, write_page};
pub use parts::{Part, Reproduction};
pub use report::{Experiment, Extent, Failure, MethodResult, Progress, Report, Table};
pub use text::{number, to_text};

/// All experiments with integrators, in the order they are listed.
pub const REPRODUCTIONS: &[Reproduction] = &[
    thesis1::REPRODUCTION,
    thesis2::REPRODUCTION,
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
