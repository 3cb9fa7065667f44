//! Stands for the experiments with integrators in a build without the feature `lab`: says how to get them.

use super::experiments::Args;
use super::failure::Failure;

/// Says that the experiment is not part of this build.
pub(super) fn run(args: &Args) -> Result<(), Failure> {
    Err(Failure::WrongCall(format!(
        "'{name}' is an experiment with integrators, and this build of lienav is without them; run \
         `cargo run --release --no-default-features --features lab -- reproduce {name}`",
        name = args.experiment
    )))
}

/// Says that this build has only the filters' chapter.
pub(super) fn run_all(args: &Args) -> Result<(), Failure> {
    run(args)
}
