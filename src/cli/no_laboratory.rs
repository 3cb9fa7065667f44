//! Stands for the experiments with integrators in a build without the feature `lab`: names them, and says how to get
//! them.

use super::failure::Failure;
use super::reproduce::Args;

const ABOUT: &str =
    "in a build with the laboratory: `cargo run --release --no-default-features --features lab -- reproduce …`";

/// The names of the experiments, and how to get them.
pub(super) fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
    NAMES.iter().map(|&name| (name, ABOUT))
}

/// Says that the experiment is not part of this build.
pub(super) fn run(args: &Args) -> Result<(), Failure> {
    Err(Failure::WrongCall(format!(
        "'{name}' is an experiment with integrators, and this build of lienav is without them; run \
         `cargo run --release --no-default-features --features lab -- reproduce {name}`",
        name = args.experiment
    )))
}

/// All of them, and the filters' chapter.
pub(super) const ALL: (&str, &str) = ("all", ABOUT);

/// Says that this build has only the filters' chapter.
pub(super) fn run_all(args: &Args) -> Result<(), Failure> {
    run(args)
}

const NAMES: [&str; 9] = [
    "thesis-1",
    "thesis-2",
    "thesis-3",
    "thesis-4",
    "polar-so-n",
    "lie-integrators",
    "inertial",
    "stability-test",
    "two-spheres",
];
